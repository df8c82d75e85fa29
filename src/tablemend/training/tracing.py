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
import weakref
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any
from unittest import mock

import torch
from peft import PeftModel, get_peft_model
from torch import Tensor, nn
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.utils._python_dispatch import TorchDispatchMode
from transformers import AutoModelForCausalLM, PretrainedConfig
from transformers.initialization import no_init_weights
from trl.kernels import ChunkedLogProbFunction, chunked_logprob
from trl.trainer import utils as trl_utils

from tablemend.config import Lora
from tablemend.training.models import freeze_unused, lora_config

FUSED_OUTPUTS = ("log_probs", "entropy", "is_top1")
"""What SFTTrainer asks of the fused head (trl 1.16, ``SFTTrainer.__init__``)."""


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
        attention: name of the kernel in transformers.
        rows, length: of the batch, in sequences and tokens.
        supervised: tokens a row that bear loss.
        padded: rows of several lengths, so that attention takes a mask.
        fused: TRL's head (GPU); else our trainer's, which makes logits where a target is.
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
    fused: bool = True
    accumulated: bool = True


@dataclass(frozen=True, slots=True)
class Held:
    """Bytes beside weights (and gradients, where they are there before), at the most.

    Attributes:
        forward: until the last layer is done; what is kept for the backward pass.
        head: while logits and their gradient are computed.
        first: in the backward pass of the layers, at its begin (the last layer).
        middle: in that of the layers between.
        last: at its end (the first layer).
    """

    forward: int
    head: int
    first: int
    middle: int
    last: int

    @property
    def peak(self) -> int:
        """The most at any time."""
        return max(self.forward, self.head, self.first, self.middle, self.last)

    def more_like(self, one: Held, deeper: Held, layers: int) -> Held:
        """With so many layers more, each of which costs what ``deeper`` has beyond ``one``."""
        return Held(
            self.forward + layers * (deeper.forward - one.forward),
            self.head + layers * (deeper.head - one.head),
            self.first + layers * (deeper.first - one.first),
            self.middle + layers * (deeper.middle - one.middle),
            self.last + layers * (deeper.last - one.last),
        )


def held(step: Step) -> Held:
    """What a step holds, from shallow models: one with each kind of layer, and one more of each.

    Gemma 3 has two kinds, layers with a sliding window and without; most models have one.
    """
    kinds = layer_kinds(step.config)
    first, last = kinds[0], kinds[-1]  # what is kept ends at the one and begins at the other
    base = [first, *sorted(set(kinds)), last]
    if len(kinds) <= len(base):
        return _trace(step, kinds)
    shallowest = found = _trace(step, base)
    for kind in sorted(set(kinds)):
        missing = kinds.count(kind) - base.count(kind)
        if missing:
            deeper = _trace(step, [first, kind, *base[1:]])
            found = found.more_like(shallowest, deeper, missing)
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
        return get_peft_model(model, lora_config(lora, model), autocast_adapter_dtype=not one_type)


def _on_cpu(model: nn.Module) -> None:
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


class _Alive(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Adds up the bytes of the storages that operations make, until they are freed."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.bytes = 0
        self.most: dict[str, int] = {}
        self.phase = "forward"
        self._known: dict[int, Any] = {}

    def enter(self, phase: str) -> None:
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
    model = empty_model(shallow(step.config, kinds), step.dtype, step.lora, one_type=step.one_type)
    with FakeTensorMode(allow_non_fake_inputs=True):
        _on_cpu(model)
        base = model.get_base_model() if isinstance(model, PeftModel) else model
        base.set_attn_implementation(step.attention)
        model.train()
        if step.checkpointing:
            base.activation_checkpointing_enable(
                {"use_reentrant": False, "preserve_rng_state": False}
            )
            if step.lora is not None:
                base.enable_input_require_grads()
        alive = _Alive()
        trained = [weight for weight in model.parameters() if weight.requires_grad]
        if step.accumulated:
            for weight in trained:
                weight.grad = torch.zeros_like(weight)
            alive.ignore(weight.grad for weight in trained if weight.grad is not None)
        alive.ignore(model.parameters())
        alive.ignore(model.buffers())
        _mark_layers(base.get_decoder().layers, alive)
        ids = torch.zeros(step.rows, step.length, dtype=torch.int64)
        mask = None
        if step.padded:
            mask = torch.ones(step.rows, 1, step.length, step.length, dtype=torch.bool)
        with alive, _no_kernels():
            loss = _loss(step, base, ids, mask, alive)
            loss.backward()  # type: ignore[no-untyped-call]
            del loss
    most = alive.most
    head = max(most.get("head", 0), most["backward"])
    return Held(
        forward=most["forward"],
        head=head,
        first=most.get("first", 0),
        middle=most.get("middle", 0),
        last=most.get("last", 0),
    )


def _mark_layers(layers: nn.ModuleList, alive: _Alive) -> None:
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


def _loss(step: Step, model: Any, ids: Tensor, mask: Tensor | None, alive: _Alive) -> Tensor:
    """The trainer's loss: TRL's fused head, or the head of :class:`~.trainer.Trainer`."""
    autocast = torch.autocast("cpu", torch.bfloat16) if step.autocast else nullcontext()
    options = {"input_ids": ids, "attention_mask": mask, "use_cache": False}
    if not step.fused:
        with autocast:
            columns = torch.arange(step.length - step.supervised, step.length)
            logits = model(**options, logits_to_keep=columns).logits
            alive.enter("head")
        logits = logits.float()  # accelerate gives back what autocast made as float32
        wanted = torch.zeros(logits.shape[:2], dtype=torch.int64)
        total = nn.functional.cross_entropy(
            logits.flatten(0, 1).float(), wanted.flatten(), reduction="sum"
        )
        del logits
        alive.enter("backward")
        return total
    with autocast:
        hidden = model.base_model(**options).last_hidden_state
        alive.enter("head")
        chosen = hidden[:, -step.supervised :].reshape(-1, hidden.shape[-1]).clone()
        head = model.get_output_embeddings()
        softcap = getattr(model.config.get_text_config(), "final_logit_softcapping", None)
        scores = ChunkedLogProbFunction.apply(
            chosen,
            head.weight,
            head.bias,
            torch.zeros(len(chosen), dtype=torch.int64),
            1.0,
            trl_utils._CHUNKED_LOGPROB_CHUNK_SIZE,
            softcap,
            1.0,
            FUSED_OUTPUTS,
        )
        loss: Tensor = -scores[0].sum()
        del hidden, chosen, scores
    alive.enter("backward")
    return loss


@contextmanager
def _no_kernels() -> Iterator[None]:
    """TRL's head without its Triton kernels, which work in place and allocate nothing."""

    class Kernel:
        def __getitem__(self, _: object) -> Any:
            return lambda *_, **__: None

    with mock.patch.multiple(
        chunked_logprob,
        create=True,
        triton=SimpleNamespace(cdiv=lambda *_: 1),
        _use_triton=lambda _: True,
        _forward_kernel=Kernel(),
        _backward_kernel=Kernel(),
    ):
        yield
