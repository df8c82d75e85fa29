"""The recipe as the arguments of TRL's trainers."""

from __future__ import annotations

from pathlib import Path
from typing import Any, TypeVar

import torch
from accelerate import PartialState
from transformers import TrainingArguments
from trl import SFTConfig

from tablemend.errors import TablemendError
from tablemend.recipe.experiment import Experiment, Trained
from tablemend.training import launch

ConfigT = TypeVar("ConfigT", bound=TrainingArguments)
CHECKPOINTING = (
    "activation_checkpointing"
    if "activation_checkpointing" in TrainingArguments.__dataclass_fields__
    else "gradient_checkpointing"
)
"""What the installed transformers calls it: the old name is deprecated, and vLLM takes no
transformers that has the new one."""


def options_of(config: Trained, folder: str, validate: bool) -> dict[str, Any]:
    """The recipe as what all of TRL's configurations take.

    Raises:
        TablemendError: the batch does not divide over the devices, or a kill could lose every
            checkpoint.
    """
    train = config.train
    assert train.precision != "auto"  # stage.set_up settles it
    if train.trl.get("save_total_limit") == 1:
        raise TablemendError(
            "train.trl.save_total_limit=1 would delete a checkpoint before the next one is whole: "
            "give 2 or more"
        )
    return {
        "report_to": "none",
        "project": "tablemend",
        "run_name": Path(folder).parent.name,
        "dataloader_pin_memory": torch.accelerator.is_available(),
        "use_cpu": PartialState().device.type == "cpu",
        "save_total_limit": 2,  # the older one stays until the newer is marked complete
        "ddp_find_unused_parameters": False,  # all that trains is used in every pass
        "accelerator_config": {"use_configured_state": launch.keeps_state()},
        **train.trl,
        "output_dir": folder,
        "seed": config.seed,
        "data_seed": config.seed,
        "num_train_epochs": train.epochs or 1.0,
        "max_steps": train.max_steps or -1,
        "per_device_train_batch_size": train.micro_batch,
        "per_device_eval_batch_size": train.micro_batch,
        "gradient_accumulation_steps": launch.accumulation(train, PartialState().num_processes),
        "learning_rate": train.learning_rate,
        "bf16": train.precision == "bfloat16",
        CHECKPOINTING: train.gradient_checkpointing,
        "save_strategy": "steps",
        "save_steps": train.save_every,
        "save_only_model": False,
        "ignore_data_skip": False,
        "logging_strategy": "steps",
        "logging_steps": train.log_every,
        "eval_strategy": "steps" if validate else "no",
        "eval_steps": train.save_every if validate else None,
        "prediction_loss_only": True,
        "include_num_input_tokens_seen": "non_padding",
    }


def make_config(cls: type[ConfigT], options: dict[str, Any]) -> ConfigT:
    """TRL's configuration.

    Raises:
        TablemendError: TRL refuses a value.
    """
    try:
        arguments: ConfigT = cls(**options)
    except (TypeError, ValueError) as error:
        raise TablemendError(f"train.trl: {error}") from error
    if arguments.device.type == "cpu":
        # transformers 5.17 would load optimizers onto cpu:0, which torch 2.13 does not know; no
        # issue found. Remove when a training resumes on a CPU without it (test_training_sft.py).
        arguments._setup_devices = torch.device("cpu")
    return arguments


def sft_arguments(config: Experiment, folder: str, validate: bool) -> SFTConfig:
    """The recipe as the arguments of supervised fine-tuning.

    Raises:
        TablemendError: the batch does not divide over the devices, or TRL refuses a value.
    """
    train = config.train
    options = options_of(config, folder, validate) | {
        "packing": train.packing,
        "packing_strategy": "bfd",  # drops no token: every row fits, see build_rows
        "max_length": config.longest_row if train.packing else None,
        "dataset_kwargs": None if train.packing else {"skip_prepare_dataset": True},
        "pad_to_multiple_of": None if config.model.attn == "sdpa" else "auto",
    }
    return make_config(SFTConfig, options)
