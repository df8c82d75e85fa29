"""What every trainer has: schedule, order of rows, progress, and the task's rates meanwhile."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from random import Random
from statistics import fmean
from typing import Any

import torch
from accelerate import PartialState
from accelerate.utils import gather_object
from torch.distributed.fsdp import FSDPModule
from torch.optim.lr_scheduler import LambdaLR
from transformers import PreTrainedTokenizerBase as Tokenizer
from transformers import (
    PrinterCallback,
    TrainerCallback,
    TrainerControl,
    TrainerState,
    TrainingArguments,
)
from transformers.trainer import DEFAULT_PROGRESS_CALLBACK
from transformers.trainer_callback import ExportableState
from transformers.trainer_utils import IntervalStrategy
from trl.models.utils import unwrap_model_for_generation
from trl.trainer.utils import RepeatSampler

from tablemend.backends.checkpoints import Checkpoint
from tablemend.backends.hf import HFModel
from tablemend.backends.loading import stop_ids
from tablemend.backends.requests import Prompt, Sampling
from tablemend.errors import TablemendError
from tablemend.recipe.experiment import TrainingRecipe
from tablemend.recipe.training import Evaluate, Train
from tablemend.renderer import prompt_ids
from tablemend.runs import hash_text, say
from tablemend.tasks.all_tasks import TASKS
from tablemend.tasks.task import Sample, Submission, TaskOptions
from tablemend.training.architectures import to_fit
from tablemend.training.launch import Trim


def rate_factor(progress: float, train: Train) -> float:
    """Factor on the peak learning rate at a share of the training, 0 to 1."""
    if progress < train.warmup:
        return max(progress, 1e-3) / train.warmup  # not 0 at the first step
    if train.scheduler == "constant":
        return 1.0
    done = (progress - train.warmup) / (1 - train.warmup)
    return 1 - done if train.scheduler == "linear" else (1 + math.cos(math.pi * done)) / 2


class TrainerMixin:
    """What every trainer here does alike, put before TRL's class; the schedule is our own."""

    model: Any
    args: Any
    accelerator: Any
    train_dataset: Any
    eval_dataset: Any
    state: Any
    control: Any
    log: Any
    rates: Rates | None = None

    def __init__(self, *, recipe: Train, **options: Any) -> None:
        self.recipe = recipe
        self.progress = Progress()
        self.optimizer: torch.optim.Optimizer | None = None
        self.lr_scheduler: LambdaLR | None = None
        super().__init__(**options, callbacks=[Passes(), self.progress, Trim()])  # type: ignore[call-arg]
        for theirs in (PrinterCallback, DEFAULT_PROGRESS_CALLBACK):
            self.remove_callback(theirs)  # type: ignore[attr-defined]

    def _run_epoch(self, **options: Any) -> None:
        """One pass; none after the last step or an early stop: the parent would take one more.

        It (transformers 5.17; no issue found) takes a step before it asks whether to stop, and a
        training that was killed after its last checkpoint is resumed there.
        """
        self.progress.give_back(self)
        if self.state.global_step >= self.state.max_steps or self.is_stale:
            self.control.should_training_stop = True
            return
        super()._run_epoch(**options)  # type: ignore[misc]

    def _save_checkpoint(self, *given: Any) -> None:
        self.progress.keep(self)
        super()._save_checkpoint(*given)  # type: ignore[misc]

    def create_scheduler(
        self, num_training_steps: int, optimizer: torch.optim.Optimizer | None = None
    ) -> LambdaLR:
        """The recipe's course of the learning rate."""

        def factor(step: int) -> float:
            return rate_factor(min(1.0, step / num_training_steps), self.recipe)

        chosen = optimizer or self.optimizer
        assert chosen is not None  # the Trainer makes it first
        self.lr_scheduler = LambdaLR(chosen, factor)
        self._created_lr_scheduler = True
        return self.lr_scheduler

    def evaluate(self, *args: Any, **options: Any) -> dict[str, float]:
        """The held-out loss where there is one, then the rates beside it."""
        metrics: dict[str, float] = {}
        trains = self.model.training
        if self.eval_dataset is not None:
            metrics = super().evaluate(*args, **options)  # type: ignore[misc]
        if self.rates is not None:
            self.model.eval()  # by which TRL knows what it counted in training
            loss = {"eval_loss": metrics["eval_loss"]} if metrics else {}
            self.log(metrics := self.rates.measure(self) | loss)
            self.control.should_evaluate = False
        self.model.train(trains)
        return metrics

    def _determine_best_metric(self, metrics: dict[str, float], trial: Any) -> bool:
        if self.rates is not None:
            self.state.best_global_step, self.state.best_metric, _ = best_of(self.state.log_history)
            self.control.should_training_stop |= self.is_stale
        return bool(self.state.best_global_step == self.state.global_step)

    @property
    def is_stale(self) -> bool:
        """Whether ``train.evaluate.patience`` evaluations in a row brought no better model."""
        patience = self.recipe.evaluate.patience if self.recipe.evaluate else None
        return patience is not None and best_of(self.state.log_history)[2] >= patience

    def create_model_card(self, *_: Any, **__: Any) -> None:
        """No card beside each checkpoint: TRL's asks the Hub about the base model."""


CHOSEN_BY = "eval_selection"
"""Of the log: what the best checkpoint has least of."""
EvalPrompt = tuple[Sample, str, tuple[int, ...]]  # a sample, how it is shown, its prompt


@dataclass(frozen=True)
class Rates:
    """Greedy answers of the model that trains, scored by program: no other model is loaded."""

    config: TrainingRecipe
    evaluate: Evaluate
    longest: int
    asked: Sequence[EvalPrompt]

    def attach(self, trainer: Any) -> dict[str, Any]:
        """Let a trainer evaluate; what the manifest says of the prompts."""
        trainer.rates, arguments = self, trainer.args
        arguments.eval_strategy, arguments.eval_steps = IntervalStrategy.STEPS, self.evaluate.every
        arguments.load_best_model_at_end = self.evaluate.load_best
        if self.evaluate.load_best and arguments.save_total_limit:
            arguments.save_total_limit += 1  # else the one before goes while the next is written
        shown = "".join([str(self.longest), *(f"{one.id}{ids}" for one, _, ids in self.asked)])
        return {"evaluated": len(self.asked), "evaluated_hash": hash_text(shown)}

    def measure(self, trainer: Any) -> dict[str, float]:
        """The rates by their names in the log; all processes call it and get the same."""
        begun, state = time.monotonic(), PartialState()
        own = self.asked[state.process_index :: state.num_processes]
        prompts = [Prompt(str(number), ids) for number, (*_, ids) in enumerate(own)]
        tokenizer, named = trainer.processing_class, trainer.model.generation_config.eos_token_id
        ends = stop_ids(named, tokenizer, Checkpoint(self.config.model.path))
        at_once = self.config.evaluation.options.batch_size
        with torch.compiler.set_stance("force_eager"), drawing_model(trainer) as model:
            own_model = HFModel(model, tokenizer, ends)
            drawn = own_model.generate(prompts, Sampling(self.longest), at_once)
            answers = {one.id: one.text if one.finish_reason == "stop" else None for one in drawn}
        values = gather_object(list(self.values(own, [answers[one.id] for one in prompts])))
        names = dict.fromkeys(name for each in values for name in each)
        rates = {name: fmean(each[name] for each in values if name in each) for name in names}
        rates["seconds"] = time.monotonic() - begun
        return {f"eval_{name}": round(rate, 6) for name, rate in rates.items()}

    def values(
        self, asked: Sequence[EvalPrompt], texts: Sequence[str | None]
    ) -> Iterator[dict[str, float]]:
        """What each answer adds to each rate; ``None`` is one that was cut."""
        task = TASKS[self.config.task](TaskOptions(self.config.format))
        metrics = [metric for metric in task.metrics if metric.kind not in ("event", "distractor")]
        unscored = "cut at the token limit" if task.format is None else ""  # as in a comparison
        pairs = zip(asked, texts, strict=True)
        answers = [
            Submission(*one[:2], text or "", unscored * (text is None)) for one, text in pairs
        ]
        with task.scorer() as scorer:
            for text, judgement in zip(texts, scorer.score(answers), strict=True):
                values = {"cut": float(text is None), "selection": 1.0}
                unread = text is None or judgement.abstained or judgement.counts["format_error"]
                for metric in metrics:
                    value = metric.value(judgement)
                    if judgement.unscored and metric.kind != "unscored":
                        continue
                    if value is None:  # a gold table without rows has no recall
                        if metric.name == self.evaluate.metric and not unread:
                            del values["selection"]
                        continue
                    values[metric.name] = value
                    if metric.name == self.evaluate.metric and not unread:
                        values["selection"] = 1 - value if metric.kind == "share" else value
                yield values


def read_rates(config: TrainingRecipe, tokenizer: Tokenizer) -> Rates | None:
    """What ``train.evaluate`` asks for; ``None`` without that section.

    Raises:
        TablemendError: no prompt leaves room for an answer.
    """
    evaluate, source = config.train.evaluate, config.data.validation
    if evaluate is None or source is None:
        return None
    task, longest = config.task_of(), evaluate.max_new_tokens or config.evaluation.max_new_tokens
    room = config.model.context_length - longest
    asked: list[EvalPrompt] = []
    shortest = 0
    shown = ((one, view) for one in task.samples(source) for view in config.shown_to(one.id))
    for sample, view in shown:
        if len(asked) == evaluate.n:
            break
        chat = task.messages(sample, view, config.train.prompt)
        ids = tuple(prompt_ids(tokenizer, chat, config.thinking != "off"))
        shortest = min(shortest or len(ids), len(ids))
        if len(ids) <= room:
            asked.append((sample, view, ids))
    if not asked:
        lower = f"lower train.evaluate.max_new_tokens={longest}, or "
        raise TablemendError(
            f"no prompt of data.validation leaves room for an answer, the shortest has {shortest} "
            f"tokens: {lower * (shortest < config.model.context_length)}"
            f"{to_fit(config.model, shortest + longest)}"
        )
    return Rates(config, evaluate, longest, asked)


def best_of(log: Sequence[Mapping[str, Any]]) -> tuple[int, float, int]:
    """The best evaluation: lowest :data:`CHOSEN_BY`, of equals lowest held-out loss, then latest.

    Returns:
        its step (0: none), its value, and the evaluations since the last better than all before.
    """
    best, lowest, stale = 0, (float("inf"), float("inf")), 0
    for entry in log:
        if CHOSEN_BY in entry and entry["step"]:
            found = entry[CHOSEN_BY], entry.get("eval_loss", 0.0)
            stale = 0 if found < lowest else stale + 1
            if found <= lowest:
                best, lowest = entry["step"], found
    return best, lowest[0], stale


def summarise_rates(trainer: Any) -> dict[str, Any]:
    """What the manifest says of the evaluations; refuses to take another model for the best."""
    log = [entry for entry in trainer.state.log_history if CHOSEN_BY in entry]
    if not log:
        return {}
    best, *_ = best_of(log)
    if trainer.args.load_best_model_at_end and trainer.state.best_model_checkpoint is None:
        raise TablemendError(f"checkpoint-{best}, the best, is gone: give overwrite=true")
    seconds = sum(entry["eval_seconds"] for entry in log)
    return {"evaluations": len(log), "evaluation_seconds": round(seconds, 1), "best_step": best}


@contextmanager
def drawing_model(trainer: Any) -> Iterator[Any]:
    """The trainer's model with all its weights in place, so that processes need not wait.

    ZeRO-3 and FSDP2 bring weights together at every call of the model, in all processes at once;
    while answers are drawn, each process makes as many calls as its own answers take.
    """
    with unwrap_model_for_generation(
        trainer.model_wrapped,
        trainer.accelerator,
        gradient_checkpointing_kwargs=trainer.args.gradient_checkpointing_kwargs,
    ) as model:
        shards = [module for module in model.modules() if isinstance(module, FSDPModule)]
        if not shards:
            yield model
            return
        plugin = trainer.accelerator.state.fsdp_plugin
        try:
            for module in shards:
                module.set_reshard_after_forward(False, recurse=False)
                module.unshard()
            yield model
        finally:
            for module in shards:
                module.reshard()
                if module is not model:  # the outermost keeps its weights for the backward pass
                    module.set_reshard_after_forward(plugin.reshard_after_forward, recurse=False)


PAUSE = 10.0
"""Least seconds between two lines."""
SHOWN = {"loss": "loss", "reward": "reward", "eval_loss": "held-out loss"}
SHOWN |= {"eval_total_hallu": "TotalHallu", "eval_row_recall": "row recall"}
"""What is shown of the log, and its name."""


class Progress(TrainerCallback, ExportableState):  # type: ignore[misc]
    """Step, loss (or reward), tokens a second and time left, from the main process alone.

    What this command has not trained itself, before an interruption, counts for no speed.

    Args:
        clock: in seconds.

    Attributes:
        elapsed: seconds trained, over all interruptions together, as of the last step.
        sums: what the Trainer adds up and no checkpoint keeps, as of the last one: of the losses
            of all steps (``loss``), of tokens (``tokens``).
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self.clock = clock
        self.elapsed = 0.0
        self.sums: dict[str, float] = {}
        self._resumed = False
        self._values: dict[str, float] = {}

    def state(self) -> dict[str, Any]:
        """What a checkpoint keeps, in the form that the Trainer asks for."""
        return {"args": {}, "attributes": {"elapsed": self.elapsed, "sums": self.sums}}

    def keep(self, trainer: Any) -> None:
        """Note the sums for the checkpoint that is about to be saved; all processes call it."""
        pending = trainer.accelerator.gather(trainer._tr_loss.detach().reshape(1)).mean().item()
        tokens = getattr(trainer, "_total_train_tokens", 0)
        self.sums = {"loss": trainer._total_loss_scalar + pending, "tokens": tokens}

    def give_back(self, trainer: Any) -> None:
        """Add what the checkpoint had to the Trainer's sums, which begin at its resumption."""
        if self._resumed:
            trainer._total_loss_scalar += self.sums.get("loss", 0.0)
            tokens = getattr(trainer, "_total_train_tokens", 0) + self.sums.get("tokens", 0)
            trainer._total_train_tokens = tokens
            state = trainer.state  # whose log_every and save_every are the checkpoint's
            state.compute_steps(trainer.args, state.max_steps)
            self._resumed = False

    def on_train_begin(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **_: Any
    ) -> None:
        saved = state.stateful_callbacks.get(type(self).__name__)
        if isinstance(saved, dict) and state.global_step > 0:
            self.elapsed = saved["attributes"]["elapsed"]
            self.sums, self._resumed = saved["attributes"].get("sums", {}), True
        self._begun, self._elapsed_before = self.clock(), self.elapsed
        self._last = self._begun - PAUSE
        self._steps_before, self._tokens_before = state.global_step, state.num_input_tokens_seen
        before = f", {state.global_step:,} of them done" if state.global_step else ""
        if state.is_world_process_zero and not args.disable_tqdm:
            say(f"training: {state.max_steps:,} steps{before}")

    def on_step_end(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **_: Any
    ) -> None:
        self.elapsed = self._elapsed_before + self.clock() - self._begun

    def on_log(
        self,
        args: TrainingArguments,
        state: TrainerState,
        control: TrainerControl,
        logs: Mapping[str, float] | None = None,
        **_: Any,
    ) -> None:
        found = {SHOWN[key]: value for key, value in (logs or {}).items() if key in SHOWN}
        self._values |= found
        if "reward" in self._values:
            self._values.pop("loss", None)  # GRPO's says nothing
        if not found or not state.is_world_process_zero or args.disable_tqdm:
            return
        now = "held-out loss" in found or state.global_step == state.max_steps
        if now or self.clock() - self._last >= PAUSE:
            self._last = self.clock()
            say(self.line(state))

    def line(self, state: TrainerState) -> str:
        """How far the training is."""
        parts = [f"step {state.global_step:,} of {state.max_steps:,}"]
        parts += [f"{name} {value:.4g}" for name, value in self._values.items()]
        steps, seconds = state.global_step - self._steps_before, self.clock() - self._begun
        if steps and seconds:
            tokens = state.num_input_tokens_seen - self._tokens_before
            left = (state.max_steps - state.global_step) * seconds / steps
            parts += [f"{tokens / seconds:,.0f} tokens/s", f"{timedelta(seconds=round(left))} left"]
        return ", ".join(parts)


POOL = 50
"""Batches that are sorted together: enough to leave next to no padding, few enough to mix."""


def length_groups(
    lengths: Sequence[int], batch: int, seed: int, epoch: int, whole: bool = False
) -> Iterator[int]:
    """Indices in an order where every optimizer step holds rows of similar length.

    Shuffles, sorts by length within pools of many batches, and shuffles the batches. Depends
    on nothing but its arguments: not on the number of devices, not on a global generator.

    Args:
        lengths: tokens of each row.
        batch: rows per optimizer step, over all devices.
        seed: of the run.
        epoch: number of the pass, so that each has an order of its own.
        whole: leave out of each pass as many rows, drawn anew, as fill no step.
    """
    rng = Random(f"{seed}/{epoch}")
    order = list(range(len(lengths)))
    rng.shuffle(order)
    if whole:
        order = order[: len(order) // batch * batch]
    pool = batch * POOL
    batches: list[list[int]] = []
    for start in range(0, len(order), pool):
        chunk = sorted(order[start : start + pool], key=lambda index: -lengths[index])
        batches += [chunk[at : at + batch] for at in range(0, len(chunk), batch)]
    # A last batch that is not full stays last, so that it does not shift the others.
    last = [batches.pop()] if len(batches[-1]) < batch else []
    rng.shuffle(batches)
    for indices in batches + last:
        yield from indices


class LengthGrouped(torch.utils.data.Sampler[int]):
    """Rows in the order of :func:`length_groups`; each epoch has its own.

    Args:
        lengths: tokens of each row.
        batch: rows per optimizer step, over all devices.
        seed: of the run.
        fillers: how many rows without loss stand behind the others, and end every epoch.
        whole: leave out of each pass the rows that fill no step.
    """

    def __init__(
        self, lengths: Sequence[int], batch: int, seed: int, fillers: int = 0, whole: bool = False
    ) -> None:
        self.lengths = lengths
        self.batch = batch
        self.seed = seed
        self.fillers = fillers
        self.whole = whole
        self.epoch = 0

    def set_epoch(self, epoch: int) -> None:
        self.epoch = epoch

    def __len__(self) -> int:
        rows = len(self.lengths)
        return rows // self.batch * self.batch if self.whole else rows + self.fillers

    def __iter__(self) -> Iterator[int]:
        yield from length_groups(self.lengths, self.batch, self.seed, self.epoch, self.whole)
        yield from range(len(self.lengths), len(self.lengths) + self.fillers)


class PromptOrder(RepeatSampler):  # type: ignore[misc]
    """TRL's order of prompts, of which each pass has its own wherever it begins.

    TRL's (1.16) is the first pass's again in whatever pass a training is resumed; no issue found.
    Remove when RepeatSampler has a set_epoch.
    """

    def set_epoch(self, epoch: int) -> None:
        if self.shuffle:
            self.generator.manual_seed(self.seed + epoch)


class Passes(TrainerCallback):  # type: ignore[misc]
    """Tells the order of rows which pass it is.

    In several processes accelerate (1.15) does not reach it through the sampler that skips what a
    resumed pass has done: that pass would go on in the order of the first. Remove when
    https://github.com/huggingface/accelerate/issues/3242 is closed.
    """

    def on_epoch_begin(
        self, args: Any, state: Any, control: Any, *, train_dataloader: Any, **_: Any
    ) -> None:
        train_dataloader.set_epoch(int(state.epoch))
