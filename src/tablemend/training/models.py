"""The model that a training starts from, and the adapters on it."""

from __future__ import annotations

import re
from typing import Any

import torch
from accelerate import PartialState
from peft import LoraConfig, get_peft_model_state_dict
from peft.utils.transformers_weight_conversion import (
    convert_peft_config_for_transformers,
    get_model_conversion_mapping,
)
from torch import nn
from transformers import (
    AutoModelForCausalLM,
    BitsAndBytesConfig,
    PretrainedConfig,
    PreTrainedModel,
    TrainingArguments,
)
from transformers import PreTrainedTokenizerBase as Tokenizer
from transformers.initialization import no_init_weights

from tablemend.recipe.experiment import Trained
from tablemend.recipe.training import Lora
from tablemend.runs import say
from tablemend.training import checkpoints, on_cpu
from tablemend.training.packing import refuse_packing
from tablemend.training.requirements import check_targets, compile_layers

ROUTERS = ("gate", "router")
"""What layers that choose experts are called in transformers; their own makers train none of them
with adapters (Qwen's guide to fine-tuning)."""


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
    on_cpu.prepare(model, config.train.precision)
    if config.train.compile:
        compile_layers(model)
    if config.train.method == "full" and model.dtype != torch.float32:
        print(
            f"warning: all weights are trained in {model.dtype}, where small updates round to "
            "nothing: set model.dtype=float32 (twice the memory), or train.method=lora"
        )
    return model


def refuse_recipe(config: Trained, architecture: PretrainedConfig) -> None:
    """Refuse adapters and packing that an architecture does not take; reads no weights.

    Raises:
        TablemendError: see :func:`.refuse_packing` and :func:`.check_targets`.
    """
    if config.train.packing:
        refuse_packing(architecture)
    lora = config.train.lora
    if lora is not None and not isinstance(lora.target_modules, str):
        with torch.device("meta"), no_init_weights():
            model = AutoModelForCausalLM.from_config(architecture)
        check_targets(model, lora.target_modules, _unused(model))


def trainer_parts(
    config: Trained, tokenizer: Tokenizer, arguments: TrainingArguments
) -> dict[str, Any]:
    """What every trainer is built from; the arguments come first: the model asks them for ZeRO-3.

    Raises:
        TablemendError: the weights cannot be loaded, or have no layer that an adapter names.
    """
    model, lora = trainable_model(config), config.train.lora
    return {
        "recipe": config.train,
        "model": model,
        "args": arguments,
        "processing_class": tokenizer,
        "peft_config": lora_config(lora, model, config.model.revision) if lora else None,
    }


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


def lora_config(
    lora: Lora, model: PreTrainedModel | None = None, revision: str | None = None
) -> LoraConfig:
    """The recipe's adapters, as PEFT says them.

    Args:
        lora: the recipe's section.
        model: gets none in what a text never passes through, and with ``all-linear`` none on
            what chooses its experts.
        revision: of the base, noted in the saved adapter, so that all who load it find that base.
    """
    targets = lora.target_modules
    left_out: list[str] = []
    if model is not None:
        left_out = _unused(model)
        if isinstance(targets, str):  # a router is trained only where it is named
            left_out += [
                name for name, _ in model.named_modules() if name.rpartition(".")[2] in ROUTERS
            ]
    outside = "|".join(re.escape(name) for name in left_out)
    found = LoraConfig(
        task_type="CAUSAL_LM",
        revision=revision,
        r=lora.r,
        lora_alpha=lora.alpha,
        lora_dropout=lora.dropout,
        target_modules=targets if isinstance(targets, str) else list(targets),
        exclude_modules=rf"({outside})(\..*)?" if outside else None,
    )
    if model is not None and isinstance(targets, str):
        # PEFT (0.21) adds the router of some architectures to all-linear by itself
        conversions = get_model_conversion_mapping(model)
        convert_peft_config_for_transformers(found, model, conversions)
        named = found.target_parameters or ()
        found.target_parameters = [one for one in named if one.split(".")[0] not in ROUTERS] or None
    return found
