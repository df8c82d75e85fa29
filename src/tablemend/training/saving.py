"""The finished checkpoint: saved, verified, reloaded, and only then there."""

from __future__ import annotations

import gc
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from peft import PeftModel, get_peft_model_state_dict
from transformers import PreTrainedTokenizerBase as Tokenizer
from transformers.integrations.deepspeed import unset_hf_deepspeed_config
from transformers.trainer_utils import align_special_tokens

from tablemend.config.experiment import Trained
from tablemend.runs import Run
from tablemend.training import checkpoints, launch
from tablemend.training.stage import record, refusals


def save(
    trainer: Any,
    config: Trained,
    run: Run,
    tokenizer: Tokenizer,
    prompt: Sequence[int],
    facts: Mapping[str, Any] | None = None,
) -> str:
    """Save, verify, reload and generate once; only then does ``runs/<name>/model`` appear.

    Args:
        trainer: trained.
        config: its recipe.
        run: where the model goes.
        tokenizer: saved with it.
        prompt: ids after which the saved model writes an answer.
        facts: of the training, for the manifest. It is written before the folder appears, which
            is the sign that nothing is left to be done.

    Returns:
        The beginning of the answer to the first training prompt.

    Raises:
        TablemendError: what was saved is not a whole, working checkpoint.
        OSError: the disk is full.
    """
    partial = run.path / ".model.partial"
    lora = config.train.lora
    expected = _trained_names(trainer, config)
    weights = _whole_weights(trainer, config)
    unset_hf_deepspeed_config()  # or from_pretrained waits for all processes to load a shard
    answer = ""
    with launch.main_first() as is_main:
        if is_main:
            shutil.rmtree(partial, ignore_errors=True)
            with refusals(config.train, run):
                trainer.model.save_pretrained(partial, state_dict=weights)
                tokenizer.save_pretrained(partial)
            del weights
            checkpoints.check_weights(partial, expected)
            _release(trainer)
            with refusals(config.train, run):
                if lora is not None and lora.save == "merged":
                    merge(partial, config, tokenizer)
                if lora is None or lora.save == "merged":
                    checkpoints.check_generation(partial, tokenizer)
                answer = checkpoints.generate_once(partial, config.model, prompt)
            checkpoints.mark_complete(partial)
            if facts is not None:
                record(run, config.stage, {**facts, "first_answer": answer})
            checkpoints.put_in_place(run.model, partial)  # an old one is there where it was damaged
    return answer


def _trained_names(trainer: Any, config: Trained) -> set[str]:
    """Names of the tensors that a saved folder must hold."""
    if config.train.lora is not None:
        return set(get_peft_model_state_dict(trainer.model))
    return {name for name, _ in trainer.model.named_parameters()}  # a tied head has no own name


@torch.no_grad()
def _whole_weights(trainer: Any, config: Trained) -> dict[str, torch.Tensor] | None:
    """The trained weights of a sharded model, gathered one after the other; all processes call it.

    Returns:
        by name, on the CPU of the main process, empty elsewhere; ``None`` where every process
        holds whole weights, of which ``save_pretrained`` knows best.
    """
    strategy = launch.strategy_of(trainer.model_wrapped)
    if strategy not in launch.SHARDED:
        return None
    model = trainer.model
    persistent = set(model.state_dict())
    tensors = dict(model.named_parameters())  # names a tied weight once
    if config.train.lora is not None:
        tensors = {name: weight for name, weight in tensors.items() if weight.requires_grad}
    tensors |= {name: buffer for name, buffer in model.named_buffers() if name in persistent}
    whole = {}
    for name, tensor in tensors.items():
        with launch.gathered(tensor) as values:
            if trainer.accelerator.is_main_process:
                whole[name] = values.detach().to("cpu", copy=True)
    return whole


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
