"""The order of rows, the same on any number of processes and after an interruption."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from random import Random
from typing import Any

import torch
from transformers import TrainerCallback
from trl.trainer.utils import RepeatSampler

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
        """Called by accelerate before each pass."""
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
        """Called before each pass."""
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
        """Set the epoch on the loader that skips nothing yet."""
        train_dataloader.set_epoch(int(state.epoch))
