"""The model that a training starts from, and the adapters on it."""

from __future__ import annotations

import re
from typing import Any

import torch
from accelerate import PartialState
from peft import LoraConfig, get_peft_model_state_dict
from transformers import (
    BitsAndBytesConfig,
    PreTrainedModel,
    TrainingArguments,
)
from transformers import PreTrainedTokenizerBase as Tokenizer

from tablemend.recipe.experiment import Trained
from tablemend.recipe.training import Lora
from tablemend.runs import say
from tablemend.training import checkpoints, on_cpu
from tablemend.training.requirements import (
    ROUTERS,
    compile_layers,
    leave_routers_alone,
    unused_modules,
)


def trainable_model(config: Trained) -> PreTrainedModel:
    """The weights of model.path: on the CPU, or in 4 bits on this process's GPU.

    Parts that a text never passes through (a vision tower) are frozen.

    Raises:
        TablemendError: they cannot be loaded.
    """
    options: dict[str, Any] = {}
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
    for name in unused_modules(model):
        model.get_submodule(name).requires_grad_(False)


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
        left_out = unused_modules(model)
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
        leave_routers_alone(found, model)
    return found
