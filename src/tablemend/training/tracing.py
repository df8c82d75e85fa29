"""What a training step holds in memory beside weights and optimizer, found without weights.

The step itself runs: the architecture's own code in transformers, PEFT's adapters, autocast,
checkpointing and TRL's fused head, on tensors that have shapes and no content (torch's
``FakeTensorMode``). A dispatch mode adds up the storages that are alive. So nothing is modelled
that the libraries would do otherwise, except kernels: attention keeps query, key, value, output
and one number a row, as every fused kernel does (FlashAttention: Dao et al. 2022, section 3.1).

Layers of one kind cost the same, so two shallow models give the line on which the deep one lies.
"""

from __future__ import annotations

import copy
import warnings
import weakref
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import astuple, dataclass, field
from types import SimpleNamespace
from typing import Any, Literal
from unittest import mock

import torch
from peft import PeftModel, get_peft_model
from torch import Tensor, nn
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.autograd.graph import saved_tensors_hooks
from torch.utils._python_dispatch import TorchDispatchMode
from transformers import AutoModelForCausalLM, PretrainedConfig
from transformers.initialization import no_init_weights
from trl.kernels import ChunkedLogProbFunction, chunked_logprob
from trl.trainer import utils as trl_utils

from tablemend.recipe.training import Lora
from tablemend.training.arguments import CHECKPOINTING
from tablemend.training.models import freeze_unused, lora_config
from tablemend.training.quiet import silence

FUSED_OUTPUTS = ("log_probs", "entropy", "is_top1")
"""What SFTTrainer asks of the fused head (trl 1.16, ``SFTTrainer.__init__``); DPOTrainer and
GRPOTrainer ask for one more or less, a number a token."""

COPYING, SMALL = 5, 1024
"""Tensors that TRL's offloading copies at a time, and bytes from which on it takes one."""


@dataclass(frozen=True, slots=True)
class Step:
    """One forward and backward pass on one device.

    Attributes:
        config: the architecture.
        dtype: of the weights.
        lora: adapters; ``None`` trains all weights.
        one_type: adapters have the type of the weights, as where those are divided; PEFT makes
            them float32 otherwise.
        autocast: compute in bfloat16.
        checkpointing: layers keep their input alone.
        offloaded: what is kept waits in the machine's memory.
        attention: name of the kernel in transformers.
        rows, length: of the batch, in sequences and tokens.
        supervised: tokens a row that bear loss.
        padded: rows of several lengths, so that attention takes a mask.
        head: TRL's fused head by its Triton kernels, the same in torch's operations (where no
            Triton runs; it scores every token), or our trainer's, which makes logits where a
            target is.
        reference: what else scores the rows in every pass: the model without its adapters, or a
            second one.
        accumulated: gradients of an earlier pass are there already.
    """

    config: PretrainedConfig = field(compare=False)
    dtype: torch.dtype
    lora: Lora | None
    one_type: bool
    autocast: bool
    checkpointing: bool
    attention: str
    rows: int
    length: int
    supervised: int
    padded: bool = False
    head: Literal["triton", "torch", "columns"] = "triton"
    reference: Literal["start", "copy"] | None = None
    accumulated: bool = True
    offloaded: bool = False


@dataclass(frozen=True, slots=True)
class Held:
    """Bytes beside weights (and gradients, where they are there before), at the most.

    Attributes:
        forward: until the last layer is done; what is kept for the backward pass.
        head: while logits and their gradient are computed.
        first: in the backward pass of the layers, at its begin (the last layer).
        middle: in that of the layers between.
        last: at its end (the first layer).
        reference: while the reference scores the rows, beside its weights.
    """

    forward: int
    head: int
    first: int
    middle: int
    last: int
    reference: int = 0

    @property
    def own(self) -> int:
        """The most without the reference."""
        return max(self.forward, self.head, self.first, self.middle, self.last)

    @property
    def peak(self) -> int:
        """The most at any time."""
        return max(self.own, self.reference)

    def between(self, other: Held, share: float) -> Held:
        """Where so much of the layers is held as in the other."""
        pairs = zip(astuple(self), astuple(other), strict=True)
        return Held(*(round(own + share * (its - own)) for own, its in pairs))


def held(step: Step) -> Held:
    """What a step holds."""
    return Held(*deepened(step.config, lambda kinds: astuple(_trace(step, kinds))))


def deepened(
    config: PretrainedConfig, trace: Callable[[Sequence[str]], tuple[int, ...]]
) -> tuple[int, ...]:
    """Bytes of the deep model from shallow ones: one with each kind of layer, and one more of each.

    Gemma 3 has two kinds, layers with a sliding window and without; most models have one.

    Args:
        config: the architecture.
        trace: bytes of a model with these layers.
    """
    kinds = layer_kinds(config)
    first, last = kinds[0], kinds[-1]  # what is kept ends at the one and begins at the other
    base = [first, *sorted(set(kinds)), last]
    if len(kinds) <= len(base):
        return trace(kinds)
    shallowest = found = trace(base)
    for kind in sorted(set(kinds)):
        missing = kinds.count(kind) - base.count(kind)
        if missing:
            deeper = trace([first, kind, *base[1:]])
            found = tuple(
                whole + missing * (two - one)
                for whole, one, two in zip(found, shallowest, deeper, strict=True)
            )
    return found


def layer_kinds(config: PretrainedConfig) -> list[str]:
    """The kind of each layer's attention."""
    text = config.get_text_config()
    alike = ["full_attention"] * text.num_hidden_layers
    return list(getattr(text, "layer_types", None) or alike)


def shallow(config: PretrainedConfig, kinds: Sequence[str]) -> PretrainedConfig:
    """The same architecture with other layers, and with one in a part that sees pictures."""
    changed = copy.deepcopy(config)
    text = changed.get_text_config()
    text.num_hidden_layers = len(kinds)
    if getattr(text, "layer_types", None):
        text.layer_types = list(kinds)
    if getattr(changed, "vision_config", None) is not None:
        changed.vision_config.num_hidden_layers = 1
    return changed


def empty_model(
    config: PretrainedConfig, dtype: torch.dtype, lora: Lora | None, *, one_type: bool = False
) -> Any:
    """The model that a training would have, on the meta device: shapes and no content."""
    with torch.device("meta"), no_init_weights():
        model = AutoModelForCausalLM.from_config(config, dtype=dtype)
        model.tie_weights()
        freeze_unused(model)
        if lora is None:
            return model
        with warnings.catch_warnings():  # PEFT 0.21 asks transformers 5 by an old name
            warnings.simplefilter("ignore", FutureWarning)
            silence()
            return get_peft_model(
                model, lora_config(lora, model), autocast_adapter_dtype=not one_type
            )


def on_cpu(model: nn.Module) -> None:
    """Turn meta tensors into ones of the device that is simulated; what is tied stays tied."""
    made: dict[int, Any] = {}
    for module in model.modules():
        for name, weight in module._parameters.items():
            if weight is not None and id(weight) not in made:
                tensor = torch.empty(weight.shape, dtype=weight.dtype)
                made[id(weight)] = nn.Parameter(tensor, requires_grad=weight.requires_grad)
            module._parameters[name] = None if weight is None else made[id(weight)]
        for name, buffer in module._buffers.items():
            if buffer is not None:
                module._buffers[name] = torch.empty(buffer.shape, dtype=buffer.dtype)


class Alive(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Adds up the bytes of the storages that operations make, until they are freed."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.bytes = 0
        self.most: dict[str, int] = {}
        self.phase = "forward"
        self._known: dict[int, Any] = {}

    def enter(self, phase: str) -> None:
        """From here on the most is noted under this name."""
        self.phase = phase
        self.most[phase] = max(self.most.get(phase, 0), self.bytes)

    def ignore(self, tensors: Iterable[Tensor]) -> None:
        """Tensors that are counted elsewhere."""
        for tensor in tensors:
            self._watch(tensor, 0)

    def _watch(self, tensor: Tensor, size: int) -> None:
        storage = tensor.untyped_storage()
        key = storage._cdata
        if key in self._known:
            return

        def freed(_: Any) -> None:
            self.bytes -= size
            del self._known[key]

        self._known[key] = weakref.ref(storage, freed)
        self.bytes += size

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        for tensor in torch.utils._pytree.tree_leaves(result):
            if isinstance(tensor, Tensor):
                self._watch(tensor, tensor.untyped_storage().nbytes())
        self.most[self.phase] = max(self.most.get(self.phase, 0), self.bytes)
        return result


def _trace(step: Step, kinds: Sequence[str]) -> Held:
    config = shallow(step.config, kinds)
    model = empty_model(config, step.dtype, step.lora, one_type=step.one_type)
    other = empty_model(config, step.dtype, None) if step.reference == "copy" else None
    with FakeTensorMode(allow_non_fake_inputs=True):
        alive = Alive()
        base = ready(model, step.attention, alive)
        if step.checkpointing:
            enable = getattr(base, f"{CHECKPOINTING}_enable")
            enable({"use_reentrant": False, "preserve_rng_state": False})
            if step.lora is not None:
                base.enable_input_require_grads()
        if other is not None:
            ready(other, step.attention, alive)
        trained = [weight for weight in model.parameters() if weight.requires_grad]
        if step.accumulated:
            for weight in trained:
                weight.grad = torch.zeros_like(weight)
            alive.ignore(weight.grad for weight in trained if weight.grad is not None)
        _mark_layers(base.get_decoder().layers, alive)
        ids = torch.zeros(step.rows, step.length, dtype=torch.int64)
        offload = _Offload(model.parameters())
        with alive, _no_kernels(step.head), offload if step.offloaded else nullcontext():
            mask = None
            if step.padded:
                mask = torch.ones(step.rows, 1, step.length, step.length, dtype=torch.bool)
            batch = {"input_ids": ids, "attention_mask": mask, "use_cache": False}
            loss = _loss(step, base, batch, alive)
            if step.reference is not None:
                alive.enter("reference")
                with torch.no_grad(), nullcontext() if other else model.disable_adapter():
                    _log_probs(step, other or base, batch)
                alive.enter("backward")
            loss.backward()  # type: ignore[no-untyped-call]
            del loss
    copying = COPYING * offload.largest  # there until they are copied
    most = {phase: size + copying for phase, size in alive.most.items()}
    return Held(
        forward=most["forward"],
        head=max(most.get("head", 0), most["backward"]),
        first=most.get("first", 0),
        middle=most.get("middle", 0),
        last=most.get("last", 0),
        reference=most.get("reference", 0),
    )


def ready(model: Any, attention: str, alive: Alive) -> Any:
    """An empty model in training, its weights counted elsewhere; returns it without its adapters'
    wrapper.
    """
    on_cpu(model)
    base = model.get_base_model() if isinstance(model, PeftModel) else model
    base.set_attn_implementation(attention)
    model.train()
    alive.ignore(model.parameters())
    alive.ignore(model.buffers())
    return base


class _Offload(saved_tensors_hooks):
    """Keeps shapes in place of what is kept for the backward pass, as TRL moves it elsewhere.

    Like ``trl.models.activation_offloading.OffloadActivations`` (1.16): weights and small tensors
    stay, and so does one that is kept again while its copy may not be done.

    Attributes:
        largest: bytes of the largest tensor that is moved.
    """

    def __init__(self, weights: Iterable[Tensor]) -> None:
        self.largest = 0
        self._weights = {weight.untyped_storage()._cdata for weight in weights}
        self._latest: deque[Any] = deque(maxlen=COPYING)
        super().__init__(self._pack, self._unpack)

    def _pack(self, tensor: Tensor) -> Any:
        storage, size = tensor.untyped_storage(), tensor.numel() * tensor.itemsize
        again = any(each() is storage for each in self._latest)
        if size < SMALL or storage._cdata in self._weights or again:
            return tensor
        self._latest.append(weakref.ref(storage))
        self.largest = max(self.largest, size)
        return tensor.shape, tensor.dtype

    @staticmethod
    def _unpack(kept: Any) -> Tensor:
        return kept if isinstance(kept, Tensor) else torch.empty(kept[0], dtype=kept[1])


def _mark_layers(layers: nn.ModuleList, alive: Alive) -> None:
    """Say when the gradient arrives at the last layer, at those between and at the first."""

    def marks(phase: str) -> Any:
        def hook(module: nn.Module, inputs: Any, output: Any) -> None:
            hidden = output[0] if isinstance(output, tuple) else output
            if hidden.requires_grad:
                hidden.register_hook(lambda _: alive.enter(phase))

        return hook

    layers[0].register_forward_hook(marks("last"))
    for layer in layers[1:-1]:
        layer.register_forward_hook(marks("middle"))
    if len(layers) > 1:
        layers[-1].register_forward_hook(marks("first"))


def computed_in(autocast: bool) -> Any:
    """The context that accelerate wraps around a forward pass."""
    return torch.autocast("cpu", torch.bfloat16) if autocast else nullcontext()


def _loss(step: Step, model: Any, batch: dict[str, Any], alive: Alive) -> Tensor:
    """The trainer's loss: TRL's fused head, or the head of :class:`~.trainer.Trainer`."""
    if step.head != "columns":
        scores = _log_probs(step, model, batch, alive)
        loss: Tensor = -scores.sum()
        alive.enter("backward")
        return loss
    with computed_in(step.autocast):
        columns = torch.arange(step.length - step.supervised, step.length)
        logits = model(**batch, logits_to_keep=columns).logits
        alive.enter("head")
    logits = logits.float()  # accelerate gives back what autocast made as float32
    wanted = torch.zeros(logits.shape[:2], dtype=torch.int64)
    total = nn.functional.cross_entropy(
        logits.flatten(0, 1).float(), wanted.flatten(), reduction="sum"
    )
    del logits
    alive.enter("backward")
    return total


def _log_probs(step: Step, model: Any, batch: dict[str, Any], alive: Alive | None = None) -> Tensor:
    """The log-probabilities of the tokens with loss, by TRL's fused head (its ``_fused_forward``
    picks them by their values, which are not there).
    """
    with computed_in(step.autocast):
        hidden = model.base_model(**batch).last_hidden_state
        if alive is not None:
            alive.enter("head")
        chosen = hidden[:, -step.supervised :].reshape(-1, hidden.shape[-1]).clone()
        head = model.get_output_embeddings()
        softcap = getattr(model.config.get_text_config(), "final_logit_softcapping", None)
        scores: Tensor = ChunkedLogProbFunction.apply(
            chosen,
            head.weight,
            head.bias,
            torch.zeros(len(chosen), dtype=torch.int64),
            1.0,
            trl_utils._CHUNKED_LOGPROB_CHUNK_SIZE,
            softcap,
            1.0,
            FUSED_OUTPUTS,
        )[0]
    return scores


@contextmanager
def _no_kernels(head: str) -> Iterator[None]:
    """TRL's head without its Triton kernels, which work in place and allocate nothing."""

    class Kernel:
        def __getitem__(self, _: object) -> Any:
            return lambda *_, **__: None

    if head != "triton":
        yield
        return
    with mock.patch.multiple(
        chunked_logprob,
        create=True,
        triton=SimpleNamespace(cdiv=lambda *_: 1),
        _use_triton=lambda _: True,
        _forward_kernel=Kernel(),
        _backward_kernel=Kernel(),
        _addmm_fp32=lambda *_: None,  # on CUDA into what is there
    ):
        yield
