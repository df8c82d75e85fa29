"""What a training needs and this machine or the model lacks: refused in one line."""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from importlib.util import find_spec

import torch
from accelerate import PartialState
from accelerate.utils import parse_flag_from_env
from peft import LoraConfig
from peft.utils.transformers_weight_conversion import (
    convert_peft_config_for_transformers,
    get_model_conversion_mapping,
)
from torch import nn
from transformers import AutoModelForCausalLM, PretrainedConfig, PreTrainedModel
from transformers.initialization import no_init_weights
from transformers.pytorch_utils import Conv1D
from transformers.utils import (
    is_flash_attn_2_available,
    is_flash_attn_3_available,
    is_kernels_available,
)

from tablemend.backends.checkpoints import Checkpoint
from tablemend.backends.loading import read_config
from tablemend.errors import TablemendError, install
from tablemend.recipe.experiment import Model, Trained
from tablemend.training.packing import refuse_packing

LINEAR = nn.Linear | Conv1D
ADAPTABLE = LINEAR | nn.Embedding | nn.MultiheadAttention
"""What PEFT (0.21, ``dispatch_default``) can put an adapter on in a language model."""


def check_method(config: Trained) -> None:
    """Refuse compiling, 4-bit weights and moved activations where they cannot be had.

    Raises:
        TablemendError: no GPU, no package for it, or a launch that shards 4-bit weights.
    """
    if config.train.trl.get("activation_offloading") and not torch.accelerator.is_available():
        raise TablemendError(
            "train.trl.activation_offloading moves activations from a GPU into the machine's "
            "memory, and there is no GPU here: leave it out"
        )
    compiler = os.environ.get("CXX", "g++")
    if config.train.compile and not (torch.accelerator.is_available() or shutil.which(compiler)):
        raise TablemendError(
            f"train.compile=true needs a C++ compiler on a CPU, and there is no {compiler} here: "
            "install one, name it in CXX, or set train.compile=false"
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


def refuse_kernel(name: str) -> None:
    """Refuse an attention kernel that cannot train here, before anything is read.

    Raises:
        TablemendError: no flash attention is installed, or flex attention has no GPU.
    """
    flash = {
        "flash_attention_2": is_flash_attn_2_available(),
        "flash_attention_3": is_flash_attn_3_available(),
    }
    if not (flash.get(name, True) or is_kernels_available()):
        raise TablemendError(
            f"model.attn={name} is not installed: {install('gpu')} (kernels, which fetches it from "
            "the Hub), or set model.attn=sdpa or flex_attention"
        )
    if name == "flex_attention" and PartialState().device.type == "cpu":
        raise TablemendError(
            "model.attn=flex_attention has no backward pass on CPUs: set model.attn=sdpa"
        )


def refuse_start(config: Model) -> None:
    """Refuse weights that no training can begin with; reads no weights.

    Raises:
        TablemendError: no checkpoint, an adapter (what is trained would be its base, without it),
            or quantised weights.
    """
    checkpoint = Checkpoint(config.path, config.revision)
    if checkpoint.adapter_base is not None:
        raise TablemendError(
            f"model.path={config.path} is an adapter, and a training would begin with its "
            "base: merge it first (train/merge.py), or train the start with lora.save: merged"
        )
    if getattr(read_config(checkpoint), "quantization_config", None):
        raise TablemendError(
            f"{config.path} is quantised: trained weights would be rounded away in it. Set "
            "model.path to the unquantised model; train.method=qlora loads that in 4 bits"
        )


def compile_layers(model: PreTrainedModel) -> None:
    """Compile the decoder's layers in place, for rows of any length; they share one graph.

    Raises:
        TablemendError: the model names no layers.
    """
    names = set(model._no_split_modules or ())
    layers = [one for one in model.get_decoder().modules() if type(one).__name__ in names]
    if not layers:
        raise TablemendError(f"{type(model).__name__} names no layers: set train.compile=false")
    for layer in layers:
        layer.compile(dynamic=True)


def check_targets(model: PreTrainedModel, targets: Sequence[str], unused: Sequence[str]) -> None:
    """PEFT or TRL would end in a traceback after the weights are read, pass over one name among
    others, or train one side alone of embeddings that are tied.

    Raises:
        TablemendError: naming the target, and what there is.
    """
    head, inputs = model.get_output_embeddings(), model.get_input_embeddings()
    for target in targets:
        at = [part for name, part in model.named_modules() if f".{name}".endswith(f".{target}")]
        if any(part is head for part in at):
            raise TablemendError(
                f"train.lora.target_modules names {target}, the head, whose weight TRL's loss "
                "(1.16) reads past an adapter: leave it out, or set train.method=full"
            )
        if (
            any(part is inputs for part in at)
            and model.config.get_text_config().tie_word_embeddings
        ):
            raise TablemendError(
                f"train.lora.target_modules names {target}, which is one weight with the head "
                "(tie_word_embeddings), and the adapter would change one of the two: leave it "
                "out, or set train.method=full"
            )
    outside = tuple(f"{name}." for name in unused)
    adaptable = [
        f".{name}"
        for name, layer in model.named_modules()
        if isinstance(layer, ADAPTABLE) and not name.startswith(outside)
    ]
    for target in targets:
        if not any(name.endswith(f".{target}") for name in adaptable):
            inside = model.get_decoder().named_modules()
            linear = [name.rpartition(".")[2] for name, one in inside if isinstance(one, LINEAR)]
            raise TablemendError(
                f"train.lora.target_modules=[{', '.join(targets)}] names {target}, which is no "
                f"layer that takes an adapter: the linear layers are "
                f"{', '.join(dict.fromkeys(linear))}, and all-linear means all of them"
            )


def refuse_recipe(config: Trained, architecture: PretrainedConfig) -> None:
    """Refuse adapters and packing that an architecture does not take; reads no weights.

    Raises:
        TablemendError: see :func:`.refuse_packing` and :func:`.check_targets`.
    """
    if config.train.packing:
        refuse_packing(architecture)
    lora = config.train.lora
    if lora is not None and not isinstance(lora.target_modules, str):
        try:
            with torch.device("meta"), no_init_weights():
                model = AutoModelForCausalLM.from_config(architecture)
        except ValueError:  # transformers does not know it: refused once it is loaded
            return
        check_targets(model, lora.target_modules, unused_modules(model))


def unused_modules(model: PreTrainedModel) -> list[str]:
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


ROUTERS = ("gate", "router")
"""What layers that choose experts are called in transformers; their own makers train none of them
with adapters (Qwen's guide to fine-tuning)."""


def leave_routers_alone(found: LoraConfig, model: PreTrainedModel) -> None:
    """Take out the router that PEFT (0.21) adds to all-linear in some architectures by itself."""
    convert_peft_config_for_transformers(found, model, get_model_conversion_mapping(model))
    named = found.target_parameters or ()
    found.target_parameters = [one for one in named if one.split(".")[0] not in ROUTERS] or None
