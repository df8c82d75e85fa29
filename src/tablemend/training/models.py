"""The model that a training starts from, and the adapters on it."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from importlib.util import find_spec
from typing import Any

import torch
from accelerate import PartialState
from accelerate.utils import parse_flag_from_env
from peft import LoraConfig, get_peft_model_state_dict
from peft.tuners.tuners_utils import check_target_module_exists
from torch import nn
from transformers import BitsAndBytesConfig, PreTrainedModel
from transformers.pytorch_utils import Conv1D
from transformers.utils import is_kernels_available

from tablemend.errors import TablemendError, install
from tablemend.recipe.experiment import Trained
from tablemend.recipe.training import Lora
from tablemend.runs import say
from tablemend.training import checkpoints

ADAPTABLE = (
    nn.Linear,
    nn.Embedding,
    nn.Conv1d,
    nn.Conv2d,
    nn.Conv3d,
    nn.MultiheadAttention,
    Conv1D,
)
"""What PEFT can put an adapter on (0.21, ``peft.tuners.lora.layer.dispatch_default``)."""


def check_method(config: Trained) -> None:
    """Refuse kernels, 4-bit weights and moved activations where there is no place for them.

    Raises:
        TablemendError: no GPU, no package for it, or a launch that shards 4-bit weights.
    """
    if config.model.kernels and not torch.accelerator.is_available():
        raise TablemendError(
            "model.kernels=true needs a GPU, and there is none here: set model.kernels=false"
        )
    if config.model.kernels and not is_kernels_available():
        raise TablemendError(f"model.kernels=true needs the package kernels: {install('gpu')}")
    trl = config.train.trl
    kept = trl.get("gradient_checkpointing_kwargs") or {}
    offloads = trl.get("activation_offloading") or kept.get("offload")
    if offloads and not torch.accelerator.is_available():
        raise TablemendError(
            "train.trl: activations are moved from a GPU into the machine's memory, and there is "
            "no GPU here: leave activation_offloading and offload out"
        )
    if config.train.method != "qlora":
        return
    if not torch.cuda.is_available():
        raise TablemendError(
            "train.method=qlora needs a CUDA GPU, where bitsandbytes keeps weights in 4 bits, and "
            "there is none here: set train.method=lora"
        )
    if find_spec("bitsandbytes") is None:
        raise TablemendError(
            f"train.method=qlora needs bitsandbytes: {install('qlora')}, or set train.method=lora"
        )
    stage = os.environ.get("ACCELERATE_DEEPSPEED_ZERO_STAGE")
    if parse_flag_from_env("ACCELERATE_USE_FSDP") or stage == "3":
        raise TablemendError(
            "train.method=qlora keeps whole 4-bit weights on every GPU: launch it with "
            "accelerate_configs/ddp.yaml or zero2.yaml, or set train.method=lora"
        )


def trainable_model(config: Trained) -> PreTrainedModel:
    """The weights of model.path: on the CPU, or in 4 bits on this process's GPU.

    Parts that a text never passes through (a vision tower) are frozen.

    Raises:
        TablemendError: they cannot be loaded.
    """
    options: dict[str, Any] = {"use_kernels": config.model.kernels}
    if config.train.method == "qlora":
        # the settings of QLoRA (Dettmers et al. 2023, sections 3 and 4)
        options["quantization_config"] = BitsAndBytesConfig(
            load_in_4bit=True,
            bnb_4bit_quant_type="nf4",
            bnb_4bit_use_double_quant=True,
            bnb_4bit_compute_dtype=torch.bfloat16,
        )
        options["device_map"] = {"": PartialState().local_process_index}
    say(f"loading the weights of {config.model.path}")
    model = checkpoints.load_model(config.model, **options)
    freeze_unused(model)
    _warn_of_rounding(config, model.dtype)
    return model


def trained_shapes(model: PreTrainedModel, config: Trained) -> checkpoints.Shapes:
    """The tensors that a saved checkpoint must hold; of adapters, theirs alone."""
    if config.train.lora is None:
        return checkpoints.saved_shapes(model)
    saved = get_peft_model_state_dict(model, state_dict=checkpoints.without_values(model))
    return {name: tuple(weight.shape) for name, weight in saved.items()}


def freeze_unused(model: PreTrainedModel) -> None:
    """Train nothing that a text never passes through: DDP would wait for its gradients."""
    for name in _unused(model):
        model.get_submodule(name).requires_grad_(False)


def _unused(model: PreTrainedModel) -> list[str]:
    """The outermost modules with weights that lie outside decoder, embedding and head."""
    ends = (model.get_input_embeddings(), model.get_output_embeddings(), model.get_decoder())
    used = {id(weight) for end in ends if end is not None for weight in end.parameters()}

    def below(module: nn.Module, prefix: str) -> list[str]:
        found = []
        for name, child in module.named_children():
            weights = [id(weight) for weight in child.parameters()]
            if weights and not used.intersection(weights):
                found.append(prefix + name)
            elif not used.issuperset(weights):
                found += below(child, f"{prefix}{name}.")
        return found

    return below(model, "")


def _warn_of_rounding(config: Trained, dtype: torch.dtype) -> None:
    if config.train.method == "full" and dtype != torch.float32:
        print(
            f"warning: all weights are trained in {dtype}, where small updates round to nothing: "
            "set model.dtype=float32 (twice the memory), or train.method=lora"
        )


def lora_config(
    lora: Lora, model: PreTrainedModel | None = None, revision: str | None = None
) -> LoraConfig:
    """The recipe's adapters, as PEFT says them.

    Args:
        lora: the recipe's section.
        model: gets none in what a text never passes through, and is looked through for the
            targets, before PEFT does.
        revision: of the base, noted in the saved adapter, so that all who load it find that base.

    Raises:
        TablemendError: target_modules names nothing in the model that takes an adapter.
    """
    targets = lora.target_modules
    unused = _unused(model) if model is not None else []
    outside = "|".join(re.escape(name) for name in unused)
    found = LoraConfig(
        task_type="CAUSAL_LM",
        revision=revision,
        r=lora.r,
        lora_alpha=lora.alpha,
        lora_dropout=lora.dropout,
        target_modules=targets if isinstance(targets, str) else list(targets),
        exclude_modules=rf"({outside})\..*" if outside else None,
    )
    if model is not None and not isinstance(targets, str):
        _check_targets(found, model, targets)
    return found


def _check_targets(config: LoraConfig, model: PreTrainedModel, targets: Sequence[str]) -> None:
    """PEFT would end in a traceback inside TRL's trainer, and pass over one name among others."""
    named = {
        name: module
        for name, module in model.named_modules()
        if check_target_module_exists(config, name)
    }
    wrong = [name for name, module in named.items() if not isinstance(module, ADAPTABLE)]
    missing = [
        target for target in targets if not any(f".{name}".endswith(f".{target}") for name in named)
    ]
    if not missing and not wrong:
        return
    linear = dict.fromkeys(
        name.rpartition(".")[2]
        for name, module in model.get_decoder().named_modules()
        if isinstance(module, nn.Linear | Conv1D)
    )
    what = f"names no layer with {', '.join(missing)}"
    if wrong:
        what = f"names {wrong[0]}, which takes no adapter"
    raise TablemendError(
        f"train.lora.target_modules=[{', '.join(targets)}] {what}: the linear layers are "
        f"{', '.join(linear)}, and all-linear means all of them"
    )
