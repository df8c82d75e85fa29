"""The pre-training: batches, optimizers, loop.

A plain loop, because nothing here needs a trainer: Muon on the matrices and AdamW on the rest
(Jordan et al., 2024), weighted token loss, bfloat16 autocast where the CPU has instructions for
it, a warm-up, a plateau and a linear decay. Exercises are made on the fly from their number, so
that the data need no disk and a resumed run sees what an uninterrupted one would.
"""

from __future__ import annotations

import copy
import math
import shutil
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from random import Random
from typing import Any

import torch
from torch import Tensor, nn
from torch.optim import AdamW, Muon, Optimizer
from transformers import PreTrainedTokenizerFast, Qwen3ForCausalLM

from tablemend.errors import TablemendError
from tablemend.renderer import prompt_ids, target_ids
from tablemend.runs import disk_errors, replace_file
from tablemend.tasks.tablehallu.small_world import ENGINE, Size
from tablemend.training import checkpoints
from tablemend.training.launch import choose_precision
from tiny_base.config import Pretraining, Schedule
from tiny_base.model import build_model
from tiny_base.skills import SKILLS, practice
from tiny_base.tokenizer import train_tokenizer

POOL = 768  # exercises that are sorted by length together, then cut into batches
TOKENIZER_EXERCISES = 4000
TEST_EXERCISES = 512
BUILD = "build"
"""Folder of this code in the checkpoint that is committed."""


@dataclass(frozen=True, slots=True)
class Batch:
    """Right-padded exercises: ``ids`` and ``weights`` are (exercises, tokens)."""

    ids: Tensor
    weights: Tensor
    skills: tuple[str, ...]


def size_at(progress: float, full: Size, ease_in: float) -> Size:
    """Small contexts first: the upper bounds grow linearly until ``ease_in`` of the run."""
    share = min(1.0, progress / ease_in)

    def grow(low: int, bounds: tuple[int, int]) -> tuple[int, int]:
        high = round(low + share * (bounds[1] - low))
        return min(bounds[0], high), high

    return replace(
        full,
        rows=grow(1, full.rows),
        attributes=grow(2, full.attributes),
        groups=grow(2, (2, full.groups))[1],
    )


def shares_at(progress: float, shares: Mapping[str, float], ease_in: float) -> dict[str, float]:
    """Shares of the skills: copying gives way to the others until ``ease_in`` of the run."""
    return {**shares, "repeat": shares["repeat"] * max(0.0, 1 - progress / ease_in)}


def batches(
    tokenizer: PreTrainedTokenizerFast,
    schedule: Schedule,
    shares: Mapping[str, float],
    full: Size,
    seed: int,
) -> Iterator[tuple[float, Batch]]:
    """Batches of similar length, each with the progress (0 to 1) it stands at.

    The last one reaches ``schedule.tokens``. Size, shares and weights change once in ``POOL``
    exercises.

    Raises:
        TablemendError: an exercise is longer than the tokenizer's ``model_max_length``.
    """
    seen, index = 0, 0
    while True:
        progress = seen / schedule.tokens
        size = size_at(progress, full, schedule.ease_in)
        weight = schedule.context_weight * max(0.0, 1 - progress / schedule.context_fade)
        now = shares_at(progress, shares, schedule.ease_in)
        rows = [_row(tokenizer, seed, number, now, size) for number in range(index, index + POOL)]
        index += POOL
        for batch in _cut(rows, schedule.batch_tokens, weight, Random(f"{seed}:{index}")):
            yield seen / schedule.tokens, batch
            seen += batch.ids.numel()
            if seen >= schedule.tokens:
                return


Row = tuple[list[int], list[int], str]


def _row(
    tokenizer: PreTrainedTokenizerFast,
    seed: int,
    number: int,
    shares: Mapping[str, float],
    size: Size,
) -> Row:
    exercise = practice(seed, number, shares, size)
    prompt = prompt_ids(tokenizer, exercise.messages, exercise.thinking != "off")
    target = target_ids(tokenizer, exercise.target)
    length, window = len(prompt) + len(target), tokenizer.model_max_length
    if length > window:
        raise TablemendError(
            f"an exercise of the skill {exercise.skill} has {length} tokens, context_length is "
            f"{window}: raise it, or lower world.rows or world.groups"
        )
    return prompt, target, exercise.skill


def _cut(rows: list[Row], batch_tokens: int, weight: float, rng: Random) -> list[Batch]:
    rows = sorted(rows, key=lambda row: len(row[0]) + len(row[1]))
    cuts: list[list[Row]] = [[]]
    for row in rows:
        width = len(row[0]) + len(row[1])  # rows are sorted, so this one is the widest yet
        if cuts[-1] and width * (len(cuts[-1]) + 1) > batch_tokens:
            cuts.append([])
        cuts[-1].append(row)
    rng.shuffle(cuts)
    return [collate(cut, weight) for cut in cuts]


def collate(rows: Sequence[Row], context_weight: float) -> Batch:
    """Pad on the right; padding weighs nothing, targets 1, prompts ``context_weight``."""
    width = max(len(prompt) + len(target) for prompt, target, _ in rows)
    ids = torch.zeros(len(rows), width, dtype=torch.long)
    weights = torch.zeros(len(rows), width)
    for number, (prompt, target, _) in enumerate(rows):
        end = len(prompt) + len(target)
        ids[number, :end] = torch.tensor(prompt + target)
        weights[number, : len(prompt)] = context_weight
        weights[number, len(prompt) : end] = 1.0
    return Batch(ids, weights, tuple(skill for _, _, skill in rows))


def build_optimizers(model: nn.Module, schedule: Schedule) -> tuple[Optimizer, Optimizer]:
    """Muon for the matrices inside the layers, AdamW for embeddings and gains.

    Muon orthogonalises the update of a matrix (Jordan et al., 2024).
    """
    matrices: list[nn.Parameter] = []
    rest: list[nn.Parameter] = []
    for name, weight in model.named_parameters():
        (rest if weight.ndim != 2 or "embed" in name else matrices).append(weight)
    return (
        Muon(matrices, lr=schedule.muon_lr, weight_decay=0.01),
        AdamW(rest, lr=schedule.adam_lr, betas=(0.9, 0.98), weight_decay=0.0),
    )


def rate_at(progress: float, schedule: Schedule) -> float:
    """Factor on the peak learning rates: warm-up, plateau, linear decay to zero."""
    if progress < schedule.warmup:
        return max(progress, 1e-4) / schedule.warmup
    return min(1.0, max(0.0, 1 - progress) / schedule.decay)


def weighted_loss(model: Qwen3ForCausalLM, batch: Batch) -> Tensor:
    """Cross-entropy of the weighted tokens, divided by the sum of their weights."""
    weights = batch.weights[:, 1:]
    chosen = weights > 0
    outputs = model.model(input_ids=batch.ids, use_cache=False)
    hidden = outputs.last_hidden_state[:, :-1][chosen]
    losses = nn.functional.cross_entropy(
        model.lm_head(hidden).float(), batch.ids[:, 1:][chosen], reduction="none"
    )
    chosen_weights = weights[chosen]
    return (losses * chosen_weights).sum() / chosen_weights.sum()


@torch.no_grad()
def exact_match(model: Qwen3ForCausalLM, batch: Batch) -> dict[str, tuple[int, int]]:
    """Per skill: targets that greedy decoding would write exactly, and targets in all.

    Teacher forcing is enough: greedy decoding writes the target exactly if and only if every
    target token is the most likely one after the true prefix.
    """
    hidden = model.model(input_ids=batch.ids, use_cache=False).last_hidden_state[:, :-1]
    wrong = model.lm_head(hidden).argmax(-1) != batch.ids[:, 1:]
    right = ~(wrong & (batch.weights[:, 1:] == 1.0)).any(dim=1)
    counts: dict[str, tuple[int, int]] = {}
    for skill, is_right in zip(batch.skills, right.tolist(), strict=True):
        hits, total = counts.get(skill, (0, 0))
        counts[skill] = (hits + is_right, total + 1)
    return counts


@dataclass(frozen=True, slots=True)
class Progress:
    """One line of the training log.

    ``loss`` is the mean since the line before, ``None`` without a step in between; ``exact``
    is the share of held-out exact matches by skill.
    """

    step: int
    tokens: int
    seconds: float
    loss: float | None
    exact: dict[str, float]


def full_size(config: Pretraining) -> Size:
    """The size that examples grow to."""
    return Size(**config.world.model_dump())


def build_tokenizer(config: Pretraining) -> PreTrainedTokenizerFast:
    """The tokenizer of a recipe, trained on its first exercises."""
    shares, size = config.skills.model_dump(), full_size(config)
    exercises = (practice(config.seed, n, shares, size) for n in range(TOKENIZER_EXERCISES))
    texts = (f"{e.messages[0]['content']}\n{e.target}" for e in exercises)
    return train_tokenizer(texts, config.vocab_size, config.context_length)


class Trainer:
    """Trains one tiny base; its state can be saved and loaded between any two steps."""

    def __init__(self, config: Pretraining, tokenizer: PreTrainedTokenizerFast) -> None:
        self.config = config
        self.tokenizer = tokenizer
        self.model = build_model(config.shape, tokenizer, config.context_length, config.seed)
        self.optimizers = build_optimizers(self.model, config.schedule)
        self.shares = config.skills.model_dump()
        self.step = 0
        self.tokens = 0
        self.seconds = 0.0

    def state(self) -> dict[str, Any]:
        """Everything that a resumed run needs, and what it must find unchanged."""
        return {
            **self._origin(),
            "model": self.model.state_dict(),
            "optimizers": [optimizer.state_dict() for optimizer in self.optimizers],
            "step": self.step,
            "tokens": self.tokens,
            "seconds": self.seconds,
        }

    def save_state(self, path: Path) -> None:
        """Write :meth:`state` to a file, or leave the file of before.

        Raises:
            OSError: the disk is full.
        """
        temporary = path.with_suffix(".tmp")
        try:
            with disk_errors(path.parent):
                torch.save(self.state(), temporary)
            replace_file(temporary, path)
        finally:
            temporary.unlink(missing_ok=True)

    def _computing(self) -> torch.autocast:
        half = choose_precision(self.config.precision, "cpu") == "bfloat16"
        return torch.autocast("cpu", torch.bfloat16, enabled=half)

    def _origin(self) -> dict[str, str]:
        """What gives the weights their meaning, beside the recipe."""
        return {"engine": ENGINE, "tokenizer": self.tokenizer.backend_tokenizer.to_str()}

    def load_state(self, state: dict[str, Any]) -> None:
        """Continue where :meth:`state` was taken.

        Raises:
            TablemendError: it was taken with another small world or another tokenizer.
        """
        changed = [name for name, value in self._origin().items() if state.get(name) != value]
        if changed:
            raise TablemendError(
                f"the saved state is of another {' and '.join(changed)}: the code has changed "
                "since. Give run=NAME for a new run, or overwrite=true to start this one anew"
            )
        self.model.load_state_dict(state["model"])
        for optimizer, saved in zip(self.optimizers, state["optimizers"], strict=True):
            optimizer.load_state_dict(saved)
        self.step, self.tokens, self.seconds = state["step"], state["tokens"], state["seconds"]

    def steps(self) -> Iterator[float]:
        """Take one step after the other; yields each step's loss.

        Raises:
            TablemendError: a loss or a gradient is not finite; the weights are still those of
                the step before.
        """
        config = self.config
        stream = batches(
            self.tokenizer, config.schedule, self.shares, full_size(config), config.seed
        )
        peaks = (config.schedule.muon_lr, config.schedule.adam_lr)
        self.model.train()
        for progress, batch in islice(stream, self.step, None):
            start = time.monotonic()
            factor = rate_at(progress, config.schedule)
            for optimizer, peak in zip(self.optimizers, peaks, strict=True):
                optimizer.param_groups[0]["lr"] = peak * factor
            with self._computing():
                loss = weighted_loss(self.model, batch)
            torch.autograd.backward(loss)  # typed, unlike loss.backward()
            norm = nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
            if not (math.isfinite(loss.item()) and math.isfinite(norm.item())):
                raise TablemendError(
                    f"step {self.step + 1}: loss {loss.item()}, gradient norm {norm.item()}: the "
                    "training diverged; lower schedule.muon_lr or schedule.adam_lr"
                )
            for optimizer in self.optimizers:
                optimizer.step()
                optimizer.zero_grad()
            self.step += 1
            self.tokens += batch.ids.numel()
            self.seconds += time.monotonic() - start
            yield loss.item()

    def test(self, losses: Sequence[float]) -> Progress:
        """Exact matches on held-out exercises of full size, as many of every skill."""
        config = self.config
        shares = dict.fromkeys(SKILLS, 1.0)
        rows = [
            _row(self.tokenizer, config.seed + 1, number, shares, full_size(config))
            for number in range(TEST_EXERCISES)
        ]
        self.model.eval()
        exact: dict[str, tuple[int, int]] = {}
        with self._computing():
            for batch in _cut(rows, 16_384, 0.0, Random(0)):
                for skill, (hits, total) in exact_match(self.model, batch).items():
                    known_hits, known = exact.get(skill, (0, 0))
                    exact[skill] = (known_hits + hits, known + total)
        self.model.train()
        shown = {skill: round(hits / total, 4) for skill, (hits, total) in sorted(exact.items())}
        mean = round(sum(losses) / len(losses), 4) if losses else None
        return Progress(self.step, self.tokens, round(self.seconds, 1), mean, shown)

    def save(self, folder: Path) -> None:
        """Write model (bfloat16 safetensors), tokenizer and chat template; all or nothing.

        Raises:
            TablemendError: see :func:`check_out`.
            OSError: the disk is full.
        """
        check_out(folder)
        folder = folder.resolve()  # of a link, what it leads to is replaced
        partial = folder.with_name(f".{folder.name}.partial")
        shutil.rmtree(partial, ignore_errors=True)
        model = copy.deepcopy(self.model).to(torch.bfloat16)
        model.set_attn_implementation("sdpa")
        try:
            with disk_errors(folder.parent):
                model.save_pretrained(partial)
                self.tokenizer.save_pretrained(partial)
            checkpoints.mark_complete(partial)
            if (folder / BUILD).is_dir():  # it is none of the files that make a checkpoint whole
                shutil.copytree(folder / BUILD, partial / BUILD)
            checkpoints.put_in_place(folder, partial)
        except BaseException:
            shutil.rmtree(partial, ignore_errors=True)
            raise


def check_out(folder: Path) -> None:
    """Refuse a folder that a checkpoint must not replace.

    Raises:
        TablemendError: it holds files and is not a checkpoint, or it is no folder.
    """
    names = {path.name for path in folder.iterdir()} if folder.is_dir() else {folder.name}
    if folder.exists() and names - {BUILD} and not (folder / "config.json").is_file():
        raise TablemendError(f"out={folder} holds something else than a checkpoint: give another")
