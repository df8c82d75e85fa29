"""The finished checkpoint: saved, verified, reloaded, and only then there."""

from __future__ import annotations

import gc
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from accelerate import PartialState
from peft import PeftModel, get_peft_model_state_dict
from transformers import PreTrainedTokenizerBase as Tokenizer
from transformers.trainer_utils import align_special_tokens

from tablemend.config.experiment import Trained
from tablemend.runs import Run
from tablemend.training import checkpoints
from tablemend.training.stage import refusals


def save(
    trainer: Any, config: Trained, run: Run, tokenizer: Tokenizer, prompt: Sequence[int]
) -> str:
    """Save, verify, reload and generate once; only then does ``runs/<name>/model`` appear.

    Returns:
        The beginning of the answer to the first training prompt.

    Raises:
        TablemendError: what was saved is not a whole, working checkpoint.
        OSError: the disk is full.
    """
    partial = run.path / ".model.partial"
    lora = config.train.lora
    main = trainer.accelerator.is_main_process
    if main:
        shutil.rmtree(partial, ignore_errors=True)
    trainer.accelerator.wait_for_everyone()
    expected = _trained_names(trainer, config)
    with refusals(config.train, run):
        trainer.save_model(str(partial))
    answer = ""
    if main:
        (partial / "training_args.bin").unlink()  # a pickle that says less than sft.yaml
        checkpoints.check_weights(partial, expected)
        _release(trainer)
        with refusals(config.train, run):
            if lora is not None and lora.save == "merged":
                merge(partial, config, tokenizer)
            if lora is None or lora.save == "merged":
                checkpoints.check_generation(partial, tokenizer)
            answer = checkpoints.generate_once(partial, config.model, prompt)
        checkpoints.mark_complete(partial)
        shutil.rmtree(run.model, ignore_errors=True)  # there only where it was damaged
        partial.replace(run.model)
    PartialState().wait_for_everyone()
    return answer


def _trained_names(trainer: Any, config: Trained) -> set[str]:
    """Names of the tensors that a saved folder must hold."""
    if config.train.lora is not None:
        return set(get_peft_model_state_dict(trainer.model))
    return {name for name, _ in trainer.model.named_parameters()}  # a tied head has no own name


def _release(trainer: Any) -> None:
    """Give the device's memory back, so that the saved model can be loaded."""
    trainer.model = trainer.model_wrapped = trainer.optimizer = trainer.lr_scheduler = None
    trainer.callback_handler.model = trainer.callback_handler.optimizer = None
    trainer.accelerator.free_memory()
    gc.collect()
    if torch.cuda.is_available():
        torch.cuda.empty_cache()


def merge(folder: Path, config: Trained, tokenizer: Tokenizer) -> None:
    """Replace the adapter in a folder by the whole weights it makes of the base.

    Raises:
        TablemendError: the base cannot be loaded any more.
    """
    base = checkpoints.load_model(config.model)
    merged = PeftModel.from_pretrained(base, str(folder)).merge_and_unload()
    align_special_tokens(merged, tokenizer)
    for path in folder.glob("adapter_*"):
        path.unlink()
    merged.save_pretrained(folder)
