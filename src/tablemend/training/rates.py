"""The task's rates on held-out answers while a model trains, and what is kept by them."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

import torch
from accelerate import PartialState
from accelerate.utils import gather_object
from transformers import PreTrainedTokenizerBase as Tokenizer
from transformers.trainer_utils import IntervalStrategy

from tablemend.backends.checkpoints import Checkpoint
from tablemend.backends.hf import HFModel
from tablemend.backends.loading import stop_ids
from tablemend.backends.requests import Prompt, Sampling
from tablemend.errors import TablemendError
from tablemend.recipe.experiment import Trained
from tablemend.recipe.training import Evaluate
from tablemend.renderer import prompt_ids
from tablemend.runs import hash_text
from tablemend.tasks.all_tasks import TASKS
from tablemend.tasks.task import Sample, Submission, TaskOptions
from tablemend.training.architectures import to_fit
from tablemend.training.drawing import drawing_model

CHOSEN_BY = "eval_selection"
"""Of the log: what the best checkpoint has least of."""
Asked = tuple[Sample, str, tuple[int, ...]]  # a sample, how it is shown, its prompt


@dataclass(frozen=True)
class Rates:
    """Greedy answers of the model that trains, scored by program: no other model is loaded."""

    config: Trained
    evaluate: Evaluate
    longest: int
    asked: Sequence[Asked]

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
        self, asked: Sequence[Asked], texts: Sequence[str | None]
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


def read(config: Trained, tokenizer: Tokenizer) -> Rates | None:
    """What ``train.evaluate`` asks for; ``None`` without that section.

    Raises:
        TablemendError: no prompt leaves room for an answer.
    """
    evaluate, source = config.train.evaluate, config.data.validation
    if evaluate is None or source is None:
        return None
    task, longest = config.task_of(), evaluate.max_new_tokens or config.evaluation.max_new_tokens
    room = config.model.context_length - longest
    asked: list[Asked] = []
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


class Rated:
    """The part of a trainer that evaluates, put before TRL's class."""

    rates: Rates | None = None

    def evaluate(self: Any, *args: Any, **options: Any) -> dict[str, float]:
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

    def _determine_best_metric(self: Any, metrics: dict[str, float], trial: Any) -> bool:
        if self.rates is not None:
            self.state.best_global_step, self.state.best_metric, _ = best_of(self.state.log_history)
            self.control.should_training_stop |= self.is_stale
        return bool(self.state.best_global_step == self.state.global_step)

    @property
    def is_stale(self: Any) -> bool:
        """Whether ``train.evaluate.patience`` evaluations in a row brought no better model."""
        patience = self.recipe.evaluate.patience if self.recipe.evaluate else None
        return patience is not None and best_of(self.state.log_history)[2] >= patience


def summary(trainer: Any) -> dict[str, Any]:
    """What the manifest says of the evaluations; refuses to take another model for the best."""
    log = [entry for entry in trainer.state.log_history if CHOSEN_BY in entry]
    if not log:
        return {}
    best, *_ = best_of(log)
    if trainer.args.load_best_model_at_end and trainer.state.best_model_checkpoint is None:
        raise TablemendError(f"checkpoint-{best}, the best, is gone: give overwrite=true")
    seconds = sum(entry["eval_seconds"] for entry in log)
    return {"evaluations": len(log), "evaluation_seconds": round(seconds, 1), "best_step": best}
