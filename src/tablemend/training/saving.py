"""The finished checkpoint: saved, verified, reloaded, and only then there."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from accelerate.utils.memory import clear_device_cache
from transformers import PreTrainedTokenizerBase as Tokenizer
from transformers.integrations.deepspeed import unset_hf_deepspeed_config

from tablemend.recipe.experiment import Trained
from tablemend.runs import Run, say
from tablemend.training import adapters, checkpoints, launch
from tablemend.training.models import trained_shapes
from tablemend.training.run_folder import record
from tablemend.training.stage import refusals


def save(
    trainer: Any,
    config: Trained,
    run: Run,
    tokenizer: Tokenizer,
    prompts: Sequence[Sequence[int]],
    facts: Mapping[str, Any],
) -> None:
    """Save, verify, reload and generate once; only then does ``runs/<name>/model`` appear.

    Args:
        trainer: trained.
        config: its recipe, with the commit of a name on the Hub (``run_folder.pinned``).
        run: where the model goes.
        tokenizer: saved with it.
        prompts: ids on which the logits are compared where an adapter is merged; after the first
            one the saved model writes an answer.
        facts: of the training and of its start, for the manifest. It is written before the folder
            appears, which is the sign that nothing is left to be done.

    Raises:
        TablemendError: what was saved is not a whole, working checkpoint.
        OSError: the disk is full.
    """
    partial = run.path / ".model.partial"
    expected = trained_shapes(trainer.model, config)
    weights = launch.whole_weights(trainer)
    unset_hf_deepspeed_config()  # or from_pretrained waits for all processes to load a shard

    def write() -> None:
        nonlocal weights
        say(f"saving and checking {run.model}")
        shutil.rmtree(partial, ignore_errors=True)
        with refusals(config.train, run):
            trainer.model.save_pretrained(partial, state_dict=weights)
            tokenizer.save_pretrained(partial)
        weights = None  # a whole model
        checkpoints.check_weights(partial, expected)
        _release(trainer)
        noted = dict(facts)
        with refusals(config.train, run):
            if config.train.lora is None:
                checkpoints.check_generation(partial, tokenizer)
            elif config.train.lora.save == "merged":
                revision = facts["model_revision"]
                noted["merging"] = asdict(
                    adapters.merge_in_place(partial, config, run, prompts, revision)
                )
            noted["first_answer"] = checkpoints.generate_once(partial, config.model, prompts[0])
        checkpoints.mark_complete(partial)
        record(run, config.stage, noted)
        checkpoints.put_in_place(run.model, partial)  # an old one is there where it was damaged

    launch.once(write)


def _release(trainer: Any) -> None:
    """Give the device's memory back, so that the saved model can be loaded."""
    kept = ("model", "optimizer", "lr_scheduler")  # a schedule knows its optimizer
    for name in (*kept, "model_wrapped", "deepspeed", "ref_model", "_precompute_engine"):
        setattr(trainer, name, None)
    for name in kept:
        setattr(trainer.callback_handler, name, None)
    trainer.accelerator.free_memory()
    clear_device_cache(garbage_collection=True)
