"""The phases of a training, from a valid recipe to a verified checkpoint; read this first.

What differs between methods is a :class:`Method`: :mod:`.sft`, :mod:`.dpo`, :mod:`.grpo` and
:mod:`.distil` have one each.
"""

from __future__ import annotations

import os
import platform
import shutil
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, TypeVar

import torch
from accelerate import PartialState
from accelerate.utils.memory import clear_device_cache
from transformers import PreTrainedTokenizerBase as Tokenizer
from transformers import TrainerCallback, TrainerControl, TrainerState, TrainingArguments
from transformers.integrations.deepspeed import unset_hf_deepspeed_config
from transformers.utils import logging as transformers_logging

from tablemend.backends.checkpoints import Checkpoint, local_folder
from tablemend.backends.loading import has_bfloat16, read_config
from tablemend.errors import TablemendError
from tablemend.recipe.experiment import STAGES, TrainingRecipe
from tablemend.recipe.training import Train
from tablemend.runs import Run, disk_errors, say, sole_writer
from tablemend.training import adapters, checkpoints, launch, models
from tablemend.training.adapters import PROMPTS
from tablemend.training.architectures import check_window
from tablemend.training.launch import filter_warnings
from tablemend.training.models import refuse_kernel, refuse_recipe, refuse_start, trained_shapes
from tablemend.training.trainer import read_rates, summarise_rates

Facts = dict[str, Any]
C = TypeVar("C", bound=TrainingRecipe)
FIXED = tuple("seed task model data.train format thinking train dpo grpo distil".split())
"""What must not change between an interruption and the resumption."""
FREE = frozenset(
    """train.micro_batch train.gradient_checkpointing train.compile train.log_every train.save_every
    dpo.precompute_reference train.trl.activation_offloading train.trl.dataloader_num_workers
    train.trl.dataloader_pin_memory train.trl.dataloader_persistent_workers
    train.trl.dataloader_prefetch_factor train.trl.disable_tqdm train.trl.log_level
    train.trl.logging_first_step train.trl.report_to train.trl.run_name
    train.trl.save_total_limit train.trl.torch_empty_cache_steps""".split()
)
"""What may change all the same: it decides what a step takes, not what it does."""
CHANGED = "went_on_with"
"""In the manifest: the changes of :data:`FREE` with which a training went on."""
REPLACED = ".replaced"
"""Folder of the run folder for what ``overwrite=true`` replaces, until the new training begins."""


@dataclass(frozen=True, slots=True)
class PreparedData:
    """The data of a training as ids, verified.

    Attributes:
        train, validation: what the method's trainer is built with; ``validation`` is ``None``
            where the recipe has none.
        prompts: ids of prompts: logits are compared on them where an adapter is merged.
        facts: what the manifest says of the data.
    """

    train: Any
    validation: Any
    prompts: Sequence[Sequence[int]]
    facts: Facts


@dataclass(frozen=True, slots=True)
class Method:
    """What a training does that others do not.

    Attributes:
        prepare: reads, renders and verifies the data, in the main process alone.
        build_trainer: puts the model, the data and the schedule into a trainer.
        show: the first rows as coloured text.
        check: refuses what cannot be trained here, before anything is written.
        summarise: facts of the finished training that only this method has.
        report: its last lines on the screen.
        start: refuses a loaded model that there is no use in training.
    """

    prepare: Callable[[Any, Run, Tokenizer], PreparedData]
    build_trainer: Callable[[Any, Run, Tokenizer, PreparedData], Any]
    show: Callable[[Any, Tokenizer], Iterator[str]]
    check: Callable[[Any], None] = lambda config: None
    summarise: Callable[[Facts], Mapping[str, Any]] = lambda facts: {}
    report: Callable[[Facts], Iterator[str]] = lambda facts: iter(())
    start: Callable[[Any], None] = lambda trainer: None


def train(config: Any, method: Method) -> None:
    """Data, model, steps, checkpoint; the same call continues where an earlier one stopped.

    Raises:
        TablemendError: see each phase.
    """
    config = set_up(config)
    models.check_method(config)
    if config.show:
        for row in method.show(config, checkpoints.load_tokenizer(config.model)):
            print(row)
        return
    method.check(config)
    run = Run.of(config)
    with alone(run):
        if begin(config, run, config.overwrite):
            _train_once(config, pinned(config, run), method, run)


def _train_once(config: TrainingRecipe, pinned: TrainingRecipe, method: Method, run: Run) -> None:
    tokenizer = checkpoints.load_tokenizer(pinned.model)
    prepared = launch.on_main_process(lambda: method.prepare(config, run, tokenizer))
    rated = launch.on_main_process(lambda: read_rates(config, tokenizer))
    trainer = method.build_trainer(pinned, run, tokenizer, prepared)
    method.start(trainer)
    model = pinned.model
    revision = launch.on_main_process(lambda: checkpoints.revision_of(model.path, model.revision))
    facts = {**prepared.facts, "model_revision": revision}
    if rated is not None:
        facts |= rated.attach(trainer)
    record(run, config.stage, facts)
    facts |= run_steps(trainer, config, run)
    facts |= method.summarise(facts)
    save(trainer, pinned, run, tokenizer, prepared.prompts[:PROMPTS], facts)
    report(run, facts, method.report(facts))


def set_up(config: C) -> C:
    """Join the other processes, and settle what the recipe leaves to the device.

    Returns:
        the recipe with a type of numbers in place of each ``auto`` that the device decides.

    Raises:
        TablemendError: a launch that could not be trained or saved.
    """
    filter_warnings()
    launch.init_distributed()
    transformers_logging.disable_progress_bar()
    state = PartialState()
    threads = launch.share_cores() if state.device.type == "cpu" else None
    settled = launch.settle_precision(config, state.device.type)
    if state.is_main_process:
        for line in launch.describe_precision(config, settled, state.device.type, threads):
            say(line)
    return settled


def run_steps(trainer: Any, config: TrainingRecipe, run: Run) -> dict[str, Any]:
    """Train from the last whole checkpoint on; return what the manifest says of it.

    Raises:
        TablemendError: the device ran out of memory.
        OSError: the disk is full.
    """
    last = checkpoints.last_complete(checkpoints_of(run, config.stage))
    if last is not None:
        launch.check_checkpoint(last)
        if trainer.accelerator.is_main_process:
            print(f"resuming from {last}")
    start = time.monotonic()
    with checkpoints.own_names(trainer.model), refusals(config.train, run):
        trainer.add_callback(_MarkComplete(trained_shapes(trainer.model, config)))
        trainer.train(resume_from_checkpoint=str(last) if last else None)
    seconds = time.monotonic() - start
    state, device, on_gpu = trainer.state, trainer.args.device.type, torch.cuda.is_available()
    tokens = int(state.num_input_tokens_seen)
    losses = [
        entry[key] for entry in state.log_history for key in ("loss", "train_loss") if key in entry
    ]
    return {
        "device": torch.cuda.get_device_name() if on_gpu else platform.machine(),
        "precision": config.train.precision,
        "weights_dtype": config.model.dtype,
        "bfloat16_instructions": has_bfloat16(device),
        **({"threads": torch.get_num_threads()} if device == "cpu" else {}),
        "strategy": launch.from_environment(os.environ).strategy,
        "steps": state.global_step,
        "epochs": state.epoch,
        "seconds_of_last_call": round(seconds, 1),
        "seconds": round(trainer.progress.elapsed, 1),
        "tokens": tokens,
        "tokens_per_second": round(tokens / max(trainer.progress.elapsed, 1e-9), 1),
        "train_loss": losses[-1],
        "last_loss": losses[-2] if len(losses) > 1 else losses[-1],  # the last is the mean
        "resumed_from": str(last) if last else None,
        **summarise_rates(trainer),
        "log": state.log_history,
    }


class _MarkComplete(TrainerCallback):  # type: ignore[misc]
    """Marks a checkpoint once everything of it is written and its weights are whole.

    An adapter may be zero as long as no step had a gradient: in GRPO while all answers earn the
    same. Under FSDP2 weights are in torch's own format, which has no tensor by name.
    """

    def __init__(self, expected: checkpoints.Shapes) -> None:
        self.expected = expected

    def on_save(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **_: Any
    ) -> None:
        PartialState().wait_for_everyone()
        folder = Path(args.output_dir) / f"checkpoint-{state.global_step}"
        trained = any(entry.get("grad_norm") for entry in state.log_history)
        # a disk may be slower than NCCL waits
        launch.on_main_process(lambda: self._mark(folder, trained))

    def _mark(self, folder: Path, trained: bool) -> None:
        if any(folder.glob("*.safetensors")):
            checkpoints.check_shapes(folder, self.expected)
            if trained:
                checkpoints.check_adapter(folder)
        launch.record_launch(folder)
        checkpoints.mark_complete(folder)


@contextmanager
def refusals(train: Train, run: Run) -> Iterator[None]:
    """Turn what a library raises for a full memory or disk into what a user can act on."""
    with disk_errors(run.path):
        try:
            yield
        except torch.OutOfMemoryError as error:
            raise TablemendError(
                f"the device is out of memory: lower train.micro_batch={train.micro_batch} (the "
                "result stays the same), set train.gradient_checkpointing=true, then "
                "train.trl.activation_offloading=true (SFT, DPO), or train.method=lora; --check "
                "says what fits on which card"
            ) from error


def report(run: Run, facts: dict[str, Any], more: Iterable[str] = ()) -> None:
    """The last lines on the screen, once for all processes."""
    if PartialState().is_main_process:
        dropped = sum(facts["dropped"].values())
        print(
            f"{run.model}: {facts['steps']} steps, {facts['tokens']} tokens in "
            f"{facts['seconds']} s, last loss {facts['last_loss']}, {dropped} examples dropped"
        )
        if "best_step" in facts:
            print(f"best of {facts['evaluations']} evaluations: step {facts['best_step']}")
        for line in more:
            print(line)


def checkpoints_of(run: Run, stage: str) -> Path:
    """Folder of the checkpoints between the first step and the last."""
    return run.path / stage


@contextmanager
def alone(run: Run) -> Iterator[None]:
    """Be the only command that writes into the run folder.

    A launcher that is killed leaves its processes behind, and they train on. What
    ``overwrite=true`` replaces is put back where this command ends before its training begins.

    Raises:
        TablemendError: another command writes there; raised in the main process alone.
    """
    if not PartialState().is_main_process:
        yield
        return
    with sole_writer(run.path):
        try:
            yield
        except BaseException:
            _put_back(run)
            raise


def begin(config: TrainingRecipe, run: Run, overwrite: bool) -> bool:
    """Open the run folder; ``False``, with a line, where this training is finished already.

    Raises:
        TablemendError: the folder holds a training with other settings or from other weights, or
            this one cannot be trained as it was launched, with its attention kernel, or from
            where it starts.
    """
    launch.refuse_launch(config.train)
    refuse_kernel(config.model.attn)
    if local_folder(config.model.path) is not None:
        _refuse_start(config)
    launch.on_main_process(lambda: _open(config, run, overwrite))
    finished = checkpoints.is_complete(run.model)
    if finished and PartialState().is_main_process:
        print(f"finished: {run.model} (overwrite=true starts anew)")
    return not finished


def _open(config: TrainingRecipe, run: Run, overwrite: bool) -> None:
    """Put the run folder in order, or refuse it."""
    stage = config.stage
    _put_back(run)  # an earlier command was killed before its training began
    for other in STAGES.values():
        # another training's model would pass for this one's, or be deleted
        if other != stage and (run.path / f"{other}.yaml").is_file():
            raise TablemendError(
                f"{run.path} holds another training ({other}.yaml) and its model: give run=NAME "
                "for this one"
            )
    settings, aside = run.path / f"{stage}.yaml", run.path / REPLACED
    left = [path for path in (checkpoints_of(run, stage), run.model) if path.exists()]
    if overwrite:  # kept until the training that replaces it has its data and its model
        for path in (*left, settings):
            if path.exists():
                aside.mkdir(exist_ok=True)
                path.replace(aside / path.name)
    elif not (left or run.recorded(stage)):
        settings.unlink(missing_ok=True)  # of one whose data was refused: they bind nothing
    changes = run.begin(stage, config, FIXED, free=FREE)
    if changes and checkpoints.last_complete(checkpoints_of(run, stage)) is not None:
        print(f"goes on with other settings, which do not change the result: {'; '.join(changes)}")
        noted = run.recorded(stage)
        run.record(stage, {**noted, CHANGED: [*noted.get(CHANGED, ()), *changes]})
    if not overwrite and local_folder(config.model.path):
        revision = checkpoints.revision_of(config.model.path)
        run.refuse_changes(stage, {"model_revision": revision})
    for path in checkpoints.remove_partial(checkpoints_of(run, stage)):
        print(f"{path} is half-written: deleted")


def pinned(config: C, run: Run) -> C:
    """The recipe with the commit that its name on the Hub stands for, the same in all processes.

    A training that goes on keeps the commit that it began with, wherever the name has moved since.
    A folder stays what it is.

    Raises:
        TablemendError: neither the Hub nor the local cache knows the name, or the model is
            quantised.
    """
    if local_folder(config.model.path) is not None:
        return config
    noted = None
    if checkpoints.last_complete(checkpoints_of(run, config.stage)) is not None:
        noted = run.recorded(config.stage).get("model_revision")
    revision = noted or launch.on_main_process(lambda: checkpoints.commit_of(config.model))
    model = config.model.model_copy(update={"revision": revision})
    config = config.model_copy(update={"model": model})
    _refuse_start(config)
    return config


def _refuse_start(config: TrainingRecipe) -> None:
    refuse_start(config.model)
    architecture = read_config(Checkpoint(config.model.path, config.model.revision))
    refuse_recipe(config, architecture)
    check_window(config.model, architecture)


def _put_back(run: Run) -> None:
    aside = run.path / REPLACED
    for path in sorted(aside.iterdir()) if aside.is_dir() else ():
        new = run.path / path.name
        shutil.rmtree(new) if new.is_dir() else new.unlink(missing_ok=True)
        path.replace(new)
    if aside.is_dir():
        aside.rmdir()


def record(run: Run, stage: str, facts: dict[str, Any]) -> None:
    """Write the manifest, once for all processes.

    Raises:
        TablemendError: a checkpoint waits to be continued that saw other training rows, or that
            began with other weights.
    """
    if PartialState().is_main_process:
        if checkpoints.last_complete(checkpoints_of(run, stage)) is not None:
            begun = {"rows_hash", "model_revision", "evaluated_hash"} & facts.keys()
            run.refuse_changes(stage, {name: facts[name] for name in begun})
            noted = run.recorded(stage)
            if CHANGED in noted:
                facts = {CHANGED: noted[CHANGED], **facts}
        run.record(stage, facts)
        shutil.rmtree(run.path / REPLACED, ignore_errors=True)


def save(
    trainer: Any,
    config: TrainingRecipe,
    run: Run,
    tokenizer: Tokenizer,
    prompts: Sequence[Sequence[int]],
    facts: Mapping[str, Any],
) -> None:
    """Save, verify, reload and generate once; only then does ``runs/<name>/model`` appear.

    Args:
        trainer: trained.
        config: its recipe, with the commit of a name on the Hub (:func:`pinned`).
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

    launch.on_main_process(write)


def _release(trainer: Any) -> None:
    """Give the device's memory back, so that the saved model can be loaded."""
    kept = ("model", "optimizer", "lr_scheduler")  # a schedule knows its optimizer
    for name in (*kept, "model_wrapped", "deepspeed", "ref_model", "_precompute_engine"):
        setattr(trainer, name, None)
    for name in kept:
        setattr(trainer.callback_handler, name, None)
    trainer.accelerator.free_memory()
    clear_device_cache(garbage_collection=True)
