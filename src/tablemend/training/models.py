"""The model that a training starts from, and the adapters on it."""

from __future__ import annotations

from typing import Any

import torch
from peft import LoraConfig
from transformers import PreTrainedModel

from tablemend.config import Lora
from tablemend.config.experiment import Trained
from tablemend.training import checkpoints


def trainable_model(config: Trained) -> PreTrainedModel:
    """The weights of model.path, on the CPU.

    Raises:
        TablemendError: they cannot be loaded.
    """
    model = checkpoints.load_model(config.model)
    _warn_of_rounding(config, model.dtype)
    return model


def model_revision(config: Trained, trainer: Any) -> str:
    """What exactly the training starts from."""
    return checkpoints.revision_of(config.model.path, trainer.model)


def _warn_of_rounding(config: Trained, dtype: torch.dtype) -> None:
    if config.train.method == "full" and dtype != torch.float32:
        print(
            f"warning: all weights are trained in {dtype}, where small updates round to nothing: "
            "set model.dtype=float32 (twice the memory), or train.method=lora"
        )


def lora_config(lora: Lora) -> LoraConfig:
    """The recipe's adapters, as PEFT says them."""
    targets = lora.target_modules
    return LoraConfig(
        task_type="CAUSAL_LM",
        r=lora.r,
        lora_alpha=lora.alpha,
        lora_dropout=lora.dropout,
        target_modules=targets if isinstance(targets, str) else list(targets),
    )
