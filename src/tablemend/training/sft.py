"""Supervised fine-tuning, phase by phase; ``train/sft.py`` tells them in order."""

from __future__ import annotations

import gc
import os
import shutil
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from accelerate import PartialState
from accelerate.utils import parse_flag_from_env
from datasets import Dataset, Features, List, Value
from peft import LoraConfig, PeftModel, get_peft_model_state_dict
from transformers import PreTrainedTokenizerBase as Tokenizer
from transformers import TrainerCallback, TrainerControl, TrainerState, TrainingArguments
from transformers.trainer_utils import align_special_tokens
from transformers.utils import logging as transformers_logging

from tablemend.backends.checkpoints import local_folder
from tablemend.config import HUB, Experiment, Lora, Train
from tablemend.errors import TablemendError
from tablemend.records import Example
from tablemend.renderer import prompt_ids
from tablemend.runs import Run, disk_errors, hash_text
from tablemend.tasks import tablehallu
from tablemend.tasks.sources import read_examples
from tablemend.training import checkpoints
from tablemend.training.budget import Budget
from tablemend.training.data import (
    Row,
    Rows,
    build_rows,
    check_end_of_turn,
    check_rows,
    contexts,
    refuse_shared_tables,
    render,
)
from tablemend.training.trainer import Trainer, sft_arguments

STAGE = "sft"
CHECKED_ROWS = 32
"""Rows whose masks and prefixes are verified before every training."""
FIXED = ("seed", "model", "data.train", "format", "thinking", "train")
"""What must not change between an interruption and the resumption."""


@dataclass(frozen=True)
class Prepared:
    """The training data as ids, verified.

    Attributes:
        train, validation: rows; validation is ``None`` where the recipe has none.
        facts: what the manifest says of them.
    """

    train: Rows
    validation: Rows | None
    facts: dict[str, Any]


def set_up() -> None:
    """Join the other processes, and share this machine's cores among them where no GPU is.

    ``accelerate launch`` sets OMP_NUM_THREADS to 1 unless it is told that it runs on a CPU.

    Raises:
        TablemendError: several processes were launched that do not see one another; each would
            train alone and write over the others.
    """
    on_cpu = not torch.accelerator.is_available() or parse_flag_from_env("ACCELERATE_USE_CPU")
    state = PartialState(cpu=on_cpu)  # the first call decides for the whole process
    launched = int(os.environ.get("WORLD_SIZE", "1"))
    if state.num_processes != launched:
        raise TablemendError(
            f"{launched} processes were launched, {state.num_processes} found one another: "
            "check the accelerate config"
        )
    transformers_logging.disable_progress_bar()
    if state.device.type == "cpu":
        cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
        here = int(os.environ.get("LOCAL_WORLD_SIZE", "1"))
        torch.set_num_threads(max(1, (cores or 1) // here))


def begin(config: Experiment, run: Run, overwrite: bool) -> bool:
    """Open the run folder; ``False`` where this training is finished already.

    Raises:
        TablemendError: the folder holds a training with other settings or from other weights.
    """
    state = PartialState()
    if state.is_main_process:
        if overwrite:
            shutil.rmtree(run.path / STAGE, ignore_errors=True)
            shutil.rmtree(run.model, ignore_errors=True)
            (run.path / f"{STAGE}.yaml").unlink(missing_ok=True)
        run.begin(STAGE, config, FIXED)
        if not overwrite and local_folder(config.model.path):
            revision = checkpoints.revision_of(config.model.path)
            refuse_changes(run, {"model_revision": revision}, config.model.path)
        for path in checkpoints.remove_partial(run.path / STAGE):
            print(f"{path} is half-written: deleted")
    state.wait_for_everyone()
    return not checkpoints.is_complete(run.model)


def refuse_changes(run: Run, facts: Mapping[str, Any], where: str) -> None:
    """Refuse to go on with, or to take for finished, what began with other weights or data.

    Raises:
        TablemendError: a fact that the manifest holds otherwise.
    """
    noted = run.recorded(STAGE)
    for name, value in facts.items():
        if noted.get(name, value) != value:
            raise TablemendError(
                f"{run.path} was started with another {name}: {where} has changed since. "
                "Give run=NAME for a new run, or overwrite=true to start this one anew"
            )


def prepare(config: Experiment, tokenizer: Tokenizer) -> Prepared:
    """Read, render and verify the data.

    Raises:
        TablemendError: no data, shared tables, or ids that do not say what they should.
    """
    check_end_of_turn(tokenizer)
    examples = read_examples(config.data.train)
    validation = read_examples(config.data.validation) if config.data.validation else None
    if validation is not None:
        refuse_shared_tables(examples, validation, "validation")
    if PartialState().is_main_process and not _is_remote(config):
        refuse_shared_tables(examples, read_examples(config.data.test), "test")
    _check_first(config, tokenizer, examples[:CHECKED_ROWS])
    rows = build_rows(tokenizer, examples, config)
    held_out = build_rows(tokenizer, validation, config) if validation is not None else None
    facts = {
        "examples": len(examples),
        "rows": len(rows.rows),
        "dropped": dict(rows.dropped),
        "rows_hash": rows.content_hash(),
        "template_hash": hash_text(str(tokenizer.chat_template)),
        "prompt_hash": tablehallu.prompt_hash(),
    }
    return Prepared(rows, held_out, facts)


def _is_remote(config: Experiment) -> bool:
    return config.data.test.source.startswith(HUB)


def _check_first(config: Experiment, tokenizer: Tokenizer, examples: Sequence[Example]) -> None:
    """The masks of the first rows, and their prefixes against every fine-tuned arm's prompts."""
    arms = [arm for arm in config.evaluation.arms.values() if arm.model == "sft" and not arm.after]
    for kind in contexts(config):
        rows = [render(tokenizer, example, kind, config) for example in examples]
        targets = [
            tablehallu.target(example, kind, config.thinking, config.format) for example in examples
        ]
        check_rows(tokenizer, rows, targets)
        for example, row in zip(examples, rows, strict=True):
            for arm in arms:
                chat = tablehallu.messages(example, kind, arm.prompt, config.format)
                prompt = prompt_ids(tokenizer, chat, config.thinking_of(arm) != "off")
                assert row.input_ids[: len(prompt)] == prompt, "training prefix is not the prompt"


def build_trainer(
    config: Experiment, run: Run, tokenizer: Tokenizer, prepared: Prepared
) -> Trainer:
    """Load the model and put it, the rows and the schedule into a Trainer."""
    model = checkpoints.load_model(config.model)
    _warn_of_rounding(config, model.dtype)
    state = PartialState()
    arguments = sft_arguments(
        config, str(run.path / STAGE), state.num_processes, prepared.validation is not None
    )
    return Trainer(
        recipe=config.train,
        budget=Budget(config.train.minutes),
        model=model,
        args=arguments,
        train_dataset=as_dataset(prepared.train.rows),
        eval_dataset=as_dataset(prepared.validation.rows) if prepared.validation else None,
        processing_class=tokenizer,
        peft_config=_lora(config.train.lora) if config.train.lora else None,
    )


def _warn_of_rounding(config: Experiment, dtype: torch.dtype) -> None:
    if config.train.method == "full" and dtype != torch.float32:
        print(
            f"warning: all weights are trained in {dtype}, where small updates round to nothing: "
            "set model.dtype=float32 (twice the memory), or train.method=lora"
        )


def _lora(lora: Lora) -> LoraConfig:
    targets = lora.target_modules
    return LoraConfig(
        task_type="CAUSAL_LM",
        r=lora.r,
        lora_alpha=lora.alpha,
        lora_dropout=lora.dropout,
        target_modules=targets if isinstance(targets, str) else list(targets),
    )


def as_dataset(rows: Sequence[Row]) -> Dataset:
    """The columns that SFTTrainer takes from data that is tokenised already."""
    ids = List(Value("int32"))
    return Dataset.from_dict(
        {"input_ids": [row.input_ids for row in rows], "labels": [row.labels for row in rows]},
        features=Features({"input_ids": ids, "labels": ids}),
    )


def train(trainer: Trainer, run: Run) -> dict[str, Any]:
    """Train from the last whole checkpoint on; return what the manifest says of it.

    Raises:
        TablemendError: the device ran out of memory.
        OSError: the disk is full.
    """
    trainer.add_callback(_MarkComplete())
    last = checkpoints.last_complete(run.path / STAGE)
    if last is not None and trainer.accelerator.is_main_process:
        print(f"resuming from {last}")
    start = time.monotonic()
    with refusals(trainer.recipe, run):
        trainer.train(resume_from_checkpoint=str(last) if last else None)
    seconds = time.monotonic() - start
    state = trainer.state
    tokens = int(state.num_input_tokens_seen)
    losses = [
        entry[key] for entry in state.log_history for key in ("loss", "train_loss") if key in entry
    ]
    return {
        "steps": state.global_step,
        "epochs": state.epoch,
        "seconds_of_last_call": round(seconds, 1),
        "seconds": round(trainer.budget.elapsed, 1),
        "tokens": tokens,
        "tokens_per_second": round(tokens / max(trainer.budget.elapsed, 1e-9), 1),
        "last_loss": losses[-2] if len(losses) > 1 else losses[-1],  # the last is the mean
        "resumed_from": str(last) if last else None,
        "log": state.log_history,
    }


class _MarkComplete(TrainerCallback):  # type: ignore[misc]
    """Marks a checkpoint once everything of it is written."""

    def on_save(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **_: Any
    ) -> None:
        PartialState().wait_for_everyone()
        if args.should_save:
            checkpoints.mark_complete(Path(args.output_dir) / f"checkpoint-{state.global_step}")


@contextmanager
def refusals(train: Train, run: Run) -> Iterator[None]:
    """Turn what a library raises for a full memory or disk into what a user can act on."""
    with disk_errors(run.path):
        try:
            yield
        except torch.OutOfMemoryError as error:
            raise TablemendError(
                f"the device is out of memory: lower train.micro_batch={train.micro_batch} (the "
                "result stays the same), set train.gradient_checkpointing=true, or "
                "train.method=lora"
            ) from error


def save(trainer: Trainer, config: Experiment, run: Run, tokenizer: Tokenizer, row: Row) -> str:
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
    expected = _trained_names(trainer)
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
            answer = checkpoints.generate_once(partial, config.model, row.prompt)
        checkpoints.mark_complete(partial)
        shutil.rmtree(run.model, ignore_errors=True)  # there only where it was damaged
        partial.replace(run.model)
    PartialState().wait_for_everyone()
    return answer


def _trained_names(trainer: Trainer) -> set[str]:
    """Names of the tensors that a saved folder must hold."""
    if trainer.recipe.lora is not None:
        return set(get_peft_model_state_dict(trainer.model))
    return {name for name, _ in trainer.model.named_parameters()}  # a tied head has no own name


def _release(trainer: Trainer) -> None:
    """Give the device's memory back, so that the saved model can be loaded."""
    trainer.model = trainer.model_wrapped = trainer.optimizer = trainer.lr_scheduler = None
    trainer.callback_handler.model = trainer.callback_handler.optimizer = None
    trainer.accelerator.free_memory()
    gc.collect()
    if torch.cuda.is_available():
        torch.cuda.empty_cache()


def merge(folder: Path, config: Experiment, tokenizer: Tokenizer) -> None:
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


def model_revision(config: Experiment, trainer: Trainer) -> str:
    """What exactly the training starts from."""
    return checkpoints.revision_of(config.model.path, trainer.model)


def record(run: Run, facts: dict[str, Any]) -> None:
    """Write the manifest, once for all processes.

    Raises:
        TablemendError: a checkpoint waits to be continued that saw other training rows.
    """
    if PartialState().is_main_process:
        if checkpoints.last_complete(run.path / STAGE) is not None:
            refuse_changes(run, {"rows_hash": facts["rows_hash"]}, "data.train")
        run.record(STAGE, facts)


def report(run: Run, facts: dict[str, Any]) -> None:
    """The last line on the screen, once for all processes."""
    if PartialState().is_main_process:
        dropped = sum(facts["dropped"].values())
        print(
            f"{run.model}: {facts['steps']} steps, {facts['tokens']} tokens in "
            f"{facts['seconds']} s, last loss {facts['last_loss']}, {dropped} examples dropped"
        )
