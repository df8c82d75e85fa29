"""A pass has every row once, in every number of processes, and goes on after an interruption."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from accelerate import Accelerator, skip_first_batches
from accelerate.data_loader import prepare_data_loader
from torch.utils.data import DataLoader, Sampler
from transformers import AutoTokenizer, TrainerState

import random_training
from tablemend.recipe.experiment import DpoCommand, SftCommand
from tablemend.training.data import IGNORED
from tablemend.training.order import LengthGrouped, Passes, PromptOrder
from tablemend.training.preference import differ
from tests.support.short_trainings import short, small_data

ROWS = list(range(48))


@pytest.mark.parametrize("processes", [1, 2])
@pytest.mark.parametrize(
    "order",
    [lambda: LengthGrouped(ROWS, 8, seed=0), lambda: PromptOrder(ROWS, 2, 4, seed=0)],
    ids=["rows", "prompts"],
)
def test_a_resumed_pass_keeps_its_order(order: Callable[[], Sampler[int]], processes: int) -> None:

    def shards(epoch: int, skipped: int) -> list[list[int]]:
        read = []
        for index in range(processes):
            loader = DataLoader(ROWS, batch_size=2, sampler=order())
            loader = prepare_data_loader(
                loader, num_processes=processes, process_index=index, put_on_device=False
            )
            state = TrainerState(epoch=epoch + 0.5)
            Passes().on_epoch_begin(None, state, None, train_dataloader=loader)
            # as transformers' Trainer does
            rest = skip_first_batches(loader, skipped) if skipped else loader
            rest.set_epoch(epoch)
            read.append([batch.tolist() for batch in rest])
        return read

    assert shards(2, 0) != shards(0, 0)
    assert shards(2, 4) == [shard[4:] for shard in shards(2, 0)]


LENGTHS = [20 + 7 * n % 13 for n in range(29)]  # two steps of 12 rows, and 5 are left
Pass = tuple[list[float], Counter[tuple[int, ...]]]
Train = Callable[..., Pass]


@pytest.fixture
def train(tiny_model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Train:
    """The losses of a pass of so many processes, one by one, and the rows that bear them."""
    tokenizer = AutoTokenizer.from_pretrained(tiny_model)

    def build(kind: str, micro: int) -> Any:
        torch.manual_seed(0)
        given = ("train.global_batch=12", f"train.micro_batch={micro}", "dpo.sft_weight=0")
        if kind == "dpo":
            given = (*given, "dpo.precompute_reference=false")
            config = short(DpoCommand, tiny_model, tmp_path, small_data(4), *given)
            pairs = [(length, 9, 6) for length in LENGTHS]
            trainer = random_training.random_preference_trainer(
                config, tokenizer, pairs, str(tmp_path)
            )
            for weight in trainer.model.parameters():  # else it is the reference
                weight.data += 0.05 * torch.randn_like(weight)
            return trainer
        packing = (f"train.packing={kind == 'packed'}", "train.max_length=60")
        config = short(SftCommand, tiny_model, tmp_path, small_data(4), *given[:2], *packing)
        lengths = LENGTHS if kind == "sft" else [n for n in LENGTHS for _ in range(2)]
        return random_training.random_trainer(
            config, tokenizer, lengths, [n // 2 for n in lengths], str(tmp_path)
        )

    @torch.no_grad()
    def run(kind: str, processes: int, micro: int) -> Pass:
        monkeypatch.setattr(Accelerator, "num_processes", processes)
        trainer = build(kind, micro)
        loaders = [
            prepare_data_loader(
                DataLoader(
                    trainer.train_dataset,
                    batch_size=micro,
                    sampler=trainer._get_train_sampler(),
                    collate_fn=trainer.data_collator,
                ),
                num_processes=processes,
                process_index=index,
                put_on_device=False,
            )
            for index in range(processes)
        ]
        losses, rows = [], Counter[tuple[int, ...]]()
        passes = [batch for together in zip(*loaders, strict=True) for batch in together]
        for at in range(0, len(passes), 12 // micro):
            step = passes[at : at + 12 // micro]
            if kind == "dpo":
                bear = [differ(batch).repeat(2) for batch in step]
                count = torch.stack([each.sum() // 2 for each in bear]).sum()
            else:
                bear = [(batch["labels"] != IGNORED).any(1) for batch in step]
                count = sum((batch["labels"][:, 1:] != IGNORED).sum() for batch in step)
            parts = [trainer.compute_loss(trainer.model, dict(each), False, count) for each in step]
            losses.append(float(sum(parts)) / processes)
            rows.update(
                tuple(ids[ids != tokenizer.pad_token_id].tolist())
                for batch, bears in zip(step, bear, strict=True)
                for ids in batch["input_ids"][bears]
            )
        return losses, rows

    return run


@pytest.mark.parametrize("kind", ["sft", "packed", "dpo"])
def test_every_row_is_trained_once_and_counts_the_same(kind: str, train: Train) -> None:
    """accelerate would train rows again where sizes do not divide, and TRL's DPO weigh them."""
    alone, rows = train(kind, 1, 12)
    assert len(rows) % 12 and set(rows.values()) == {1} and len(alone) > 1
    for processes, micro in ((1, 4), (2, 3), (3, 2), (3, 4)):
        losses, seen = train(kind, processes, micro)
        assert seen == rows
        assert losses == pytest.approx(alone, rel=1e-5)
