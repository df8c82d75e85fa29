"""Answers that the model which trains draws itself: their prompts, and our own batched generation.

``generate`` runs all answers of a step until the last one ends, and copies all keys and values at
every token. :class:`~tablemend.backends.hf.HFModel` does neither: the answers of the tiny model
took an eighth of the time (LAB_LOG.md).
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import product
from typing import Any

import torch
from torch.distributed.fsdp import FSDPModule
from transformers import PreTrainedTokenizerBase as Tokenizer
from trl.models.utils import unwrap_model_for_generation

from tablemend.backends.hf import HFModel
from tablemend.backends.requests import Prompt, Sampling
from tablemend.errors import TablemendError
from tablemend.recipe.experiment import DrawingExperiment
from tablemend.records import Finding, Judgement
from tablemend.renderer import prompt_text
from tablemend.runs import hash_text
from tablemend.tasks.all_tasks import TASKS
from tablemend.tasks.task import Sample, Submission, TaskOptions
from tablemend.thinking import open_thought, opened_thought
from tablemend.training.architectures import to_fit
from tablemend.training.arguments import options_of
from tablemend.training.data import CHECKED, check_prompt
from tablemend.training.order import PromptOrder

CUT = Judgement((Finding("format_error", None, None, None, None, "cut"),))


@dataclass(frozen=True, slots=True)
class Asked:
    """One prompt: a sample as it is shown; where there is a teacher, the ids that it reads."""

    sample: Sample
    view: str
    prompt: str
    ids: tuple[int, ...]
    teacher: tuple[int, ...] = ()


def ask(
    tokenizer: Tokenizer,
    config: DrawingExperiment,
    samples: Iterable[Sample],
    dropped: Counter[str],
) -> tuple[list[Asked], dict[str, Any]]:
    """Render the prompts; those that leave no room for an answer are dropped and counted.

    Returns:
        The prompts, and what the manifest says of them.

    Raises:
        TablemendError: fewer prompts than one step takes.
    """
    task = config.task_of()
    room = config.longest_row - config.drawing.max_new_tokens
    asked: list[Asked] = []
    shortest = 0
    for sample, view in product(samples, config.shown):
        texts, ids = [], []
        # a teacher reads the task's first view
        for seen in (view, *task.views)[: 1 if config.distil is None else 2]:
            chat = task.messages(sample, seen, config.train.prompt)
            texts.append(prompt_text(tokenizer, chat, config.thinking != "off"))
            ids.append(tuple(tokenizer.encode(texts[-1], add_special_tokens=False)))
        length = max(map(len, ids))
        shortest = min(shortest or length, length)
        if length > room:
            dropped[f"prompt longer than {room} tokens"] += 1
        else:
            asked.append(Asked(sample, view, texts[0], *ids))
    needed = config.train.global_batch // config.group
    if not asked and shortest:
        most = config.drawing.max_new_tokens
        raise TablemendError(
            f"no prompt of data.train leaves room for an answer, the shortest has {shortest} "
            f"tokens: lower {config.kind}.max_new_tokens={most}, or "
            f"{to_fit(config.model, shortest + most)}"
        )
    if len(asked) < needed:
        raise TablemendError(
            f"data.train gives {len(asked)} prompts, one step takes {needed} (train.global_batch"
            f"{' / grpo.group' if config.group > 1 else ''}): give more examples, or lower "
            "train.global_batch"
        )
    digest = hashlib.sha256()
    for number, one in enumerate(asked):
        if number < CHECKED:
            check_prompt(tokenizer, one.sample, one.view, one.ids, config)
        digest.update(f"{one.sample.id}{one.view}{one.ids}{one.teacher or ''}".encode())
    facts = {
        "rows": len(asked),
        "dropped": dict(dropped),
        "rows_hash": digest.hexdigest()[:16],
        "template_hash": hash_text(str(tokenizer.chat_template)),
        **task.versions(),
    }
    return asked, facts


def draw(model: HFModel, prompts: Sequence[Sequence[int]], sampling: Sampling) -> list[list[int]]:
    """One answer for each prompt, in its order, with the token that ends it.

    Each answer's stream is seeded from torch's generator: a resumed training draws the same.

    Args:
        model: the model as it is now; dropout is off while it draws.
        prompts: ids of each.
        sampling: temperature, and the most tokens of an answer.
    """
    seeds = torch.randint(2**62, (len(prompts),)).tolist()
    asked = [
        Prompt(str(number), tuple(ids), seed)
        for number, (ids, seed) in enumerate(zip(prompts, seeds, strict=True))
    ]
    training = model.model.training
    model.model.eval()
    try:
        # layers compiled for training (train.compile) would be compiled again for every cache
        with torch.compiler.set_stance("force_eager"):
            answers = {
                answer.prompt.id: list(answer.ids)
                for answer in model.draw(asked, sampling, batch_size=len(asked))
            }
    finally:
        model.model.train(training)
    return [answers[prompt.id] for prompt in asked]


def share_hallucinated(judged: Iterable[Judgement]) -> float:
    """The share of answers with a finding, of those scored."""
    scored = [one.hallucinated for one in judged if not one.unscored]
    return sum(scored) / max(1, len(scored))


def drawing_options(config: DrawingExperiment, folder: str) -> dict[str, Any]:
    """What every trainer that draws answers is told beside :func:`.arguments.options_of`."""
    drawing = config.drawing
    options = options_of(config, folder, validate=False)
    if drawing.engine != "transformers":
        options.setdefault("vllm_max_model_length", config.longest_row)
    return options | {
        "include_num_input_tokens_seen": "no",  # TRL, or our trainer, counts prompts and answers
        "remove_unused_columns": False,
        "num_generations": config.group,
        "max_completion_length": drawing.max_new_tokens,
        "temperature": drawing.temperature,
        "use_vllm": drawing.engine != "transformers",
        "vllm_mode": "server" if drawing.engine == "vllm-server" else "colocate",
        "vllm_server_base_url": drawing.server,
    }


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


class Draws:
    """What every trainer does alike that draws answers, put before TRL's class."""

    accelerator: Any
    processing_class: Any
    eos_token_ids: Sequence[int]

    def __init__(
        self, *, config: DrawingExperiment, asked: Sequence[Asked], **options: Any
    ) -> None:
        self.asked = asked
        self.opened = opened_thought(options["processing_class"], asked[0].ids)
        self.drawing = config.drawing
        self.section = config.kind
        # scored by program at every step
        self.task = TASKS[config.task](TaskOptions(config.format))
        super().__init__(**options)
        if config.drawing.engine != "transformers":
            # vLLM would end answers where the files of the checkpoint say; here as in training
            ends = {"stop_token_ids": list(self.eos_token_ids), "ignore_eos": True}
            vllm = self.vllm_generation  # type: ignore[attr-defined]
            vllm.generation_kwargs = {**vllm.generation_kwargs, **ends}

    def _get_train_sampler(self, *_: Any) -> PromptOrder:
        sampler: PromptOrder = super()._get_train_sampler()  # type: ignore[misc]
        sampler.__class__ = PromptOrder  # TRL's, but for what a pass begins with
        return sampler

    def draw(self, prompt_ids: Sequence[Sequence[int]], most: int) -> list[list[int]]:
        """The ids of an answer of at most so many tokens to each prompt, by transformers.

        Raises:
            TablemendError: the device is out of memory.
        """
        sampling = Sampling(most, self.drawing.temperature)
        # autocast in every call of the model would cast its weights anew for each token
        with drawing_model(self) as model, self.accelerator.autocast():
            own = HFModel(model, self.processing_class, frozenset(self.eos_token_ids))
            try:
                return draw(own, prompt_ids, sampling)
            except torch.OutOfMemoryError as error:
                raise TablemendError(
                    f"the device is out of memory with {len(prompt_ids)} answers drawn at once: "
                    f"lower train.global_batch or {self.section}.max_new_tokens={most}, launch "
                    f"more processes, or set {self.section}.engine=vllm-colocate"
                ) from error

    def text_of(self, ids: Sequence[int]) -> str | None:
        """The answer as evaluation reads it; ``None`` where it was cut, or is a thought alone."""
        if not ids or ids[-1] not in self.eos_token_ids:
            return None
        text = str(self.processing_class.decode(list(ids[:-1]), skip_special_tokens=False))
        text = f"{self.opened}{text}"
        return None if self.opened and open_thought(text) >= 0 else text

    def hallucinated(self, texts: Sequence[str | None], asked: Sequence[Asked]) -> float:
        """The share of answers with a finding; one that was cut (``None``) has one."""
        whole = [
            Submission(one.sample, one.view, text)
            for text, one in zip(texts, asked, strict=True)
            if text is not None
        ]
        with self.task.scorer() as scorer:
            found = iter(list(scorer.score(whole)))
        return share_hallucinated([CUT if text is None else next(found) for text in texts])
