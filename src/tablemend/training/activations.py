"""What a model's layers keep in a training step, found without weights.

The layers' forward and backward pass runs in the architecture's own code, with PEFT's adapters,
autocast and checkpointing, on tensors that have shapes and no content (torch's ``FakeTensorMode``);
a dispatch mode adds up the storages that are alive. Layers of one kind cost the same, so two
shallow models give the line on which the deep one lies.
"""

from __future__ import annotations

import copy
import warnings
import weakref
from collections.abc import Iterable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import Any

import torch
from peft import PeftModel, get_peft_model
from torch import Tensor
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.utils._python_dispatch import TorchDispatchMode
from transformers import AutoModelForCausalLM, PretrainedConfig
from transformers.initialization import no_init_weights

from tablemend.recipe.training import Lora
from tablemend.training.arguments import CHECKPOINTING
from tablemend.training.models import freeze_unused, lora_config
from tablemend.training.quiet import silence


@dataclass(frozen=True, slots=True)
class Pass:
    """One forward and backward pass of the layers on one device.

    Attributes:
        config: the architecture.
        dtype: of the weights.
        lora: adapters; ``None`` trains all weights.
        one_type: adapters have the type of the weights; PEFT makes them float32 otherwise.
        autocast: compute in bfloat16.
        checkpointing: layers keep their input alone.
        attention: name of the kernel in transformers.
        rows, length: of the batch, in sequences and tokens.
        padded: rows of several lengths, so that attention takes a mask.
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
    padded: bool = False


@dataclass(frozen=True, slots=True)
class Kept:
    """Bytes beside weights and gradients.

    Attributes:
        forward: when the last layer is done: what is kept for the backward pass.
        most: at any time; in the backward pass of the last layer.
    """

    forward: int
    most: int


def kept(step: Pass, most_layers: int | None = None) -> Kept:
    """What the layers keep: of the deep model, from shallow ones.

    One has each kind of layer (Gemma 3 has two, with a sliding window and without), the others one
    more of a kind.

    Args:
        step: the pass.
        most_layers: so many layers' tensors are on the device at a time (the others are moved
            elsewhere); ``None``: those of all.
    """
    kinds = layer_kinds(step.config)
    base = [kinds[0], *sorted(set(kinds)), kinds[-1]]
    if len(kinds) <= len(base):
        return traced(step, kinds)
    shallow = traced(step, base)
    forward, most = shallow.forward, shallow.most
    for kind in sorted(set(kinds)):
        missing = min(kinds.count(kind), most_layers or len(kinds)) - base.count(kind)
        if missing > 0:
            deeper = traced(step, [kinds[0], kind, *base[1:]])
            forward += missing * (deeper.forward - shallow.forward)
            most += missing * (deeper.most - shallow.most)
    return Kept(forward, most)


def layer_kinds(config: PretrainedConfig) -> list[str]:
    """The kind of each layer's attention."""
    text = config.get_text_config()
    alike = ["full_attention"] * text.num_hidden_layers
    return list(getattr(text, "layer_types", None) or alike)


def with_layers(config: PretrainedConfig, kinds: Sequence[str]) -> PretrainedConfig:
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
        with warnings.catch_warnings():
            silence()
            return get_peft_model(
                model, lora_config(lora, model), autocast_adapter_dtype=not one_type
            )


class _Alive(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Adds up the bytes of the storages that operations make, until they are freed."""

    def __init__(self, counted_elsewhere: Iterable[Tensor]) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.bytes = self.most = 0
        self._known: dict[int, Any] = {}
        for tensor in counted_elsewhere:
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
        self.most = max(self.most, self.bytes)
        return result


def traced(step: Pass, kinds: Sequence[str]) -> Kept:
    """What a model with these layers keeps."""
    config = with_layers(step.config, kinds)
    model = empty_model(config, step.dtype, step.lora, one_type=step.one_type)
    with FakeTensorMode(allow_non_fake_inputs=True):
        base = model.get_base_model() if isinstance(model, PeftModel) else model
        model.to_empty(device="cpu")  # the device that is simulated
        base.tie_weights()
        base.set_attn_implementation(step.attention)
        decoder = base.get_decoder().train()
        if step.checkpointing:
            enable = getattr(base, f"{CHECKPOINTING}_enable")
            enable({"use_reentrant": False, "preserve_rng_state": False})
        trained = [weight for weight in model.parameters() if weight.requires_grad]
        for weight in trained:
            weight.grad = torch.zeros_like(weight)
        known = (*model.parameters(), *model.buffers(), *(weight.grad for weight in trained))
        width = decoder.config.hidden_size
        with _Alive(tensor for tensor in known if tensor is not None) as alive:
            rows, length = step.rows, step.length
            mask = torch.ones(rows, 1, length, length, dtype=torch.bool) if step.padded else None
            # as the embedding gives it, which asks for a gradient where layers are checkpointed
            given = torch.zeros(rows, length, width, dtype=step.dtype)
            given.requires_grad_(step.lora is None or step.checkpointing)
            with torch.autocast("cpu", torch.bfloat16) if step.autocast else nullcontext():
                last = decoder(
                    inputs_embeds=given, attention_mask=mask, use_cache=False
                ).last_hidden_state
            forward = alive.bytes
            last.backward(torch.zeros_like(last))
    return Kept(forward, alive.most)
