"""A pass has every row once, in every number of processes, and goes on after an interruption."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from accelerate import skip_first_batches
from accelerate.data_loader import prepare_data_loader
from torch.utils.data import DataLoader, Sampler
from transformers import TrainerState

from tablemend.training.order import LengthGrouped, Passes, PromptOrder

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
