"""What is put together for another number of processes, or one line says why not.

Trainings that go on so: test_training_launch_strategies.py.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
import torch

from tablemend.errors import TablemendError
from tablemend.training import universal


@pytest.mark.skipif(sys.platform != "linux", reason="deepspeed is installed on Linux alone")
def test_shares_that_cannot_be_put_together_are_one_line_and_leave_nothing(tmp_path: Path) -> None:
    folder = tmp_path / "checkpoint-10"
    (folder / "global_step10").mkdir(parents=True)
    (folder / "latest").write_text("global_step10\n")
    before = sorted(folder.rglob("*"))
    with pytest.raises(TablemendError, match="checkpoint-10 cannot be read by another") as error:
        universal.convert(folder)
    assert "FileNotFoundError" in str(error.value) and "\n" not in str(error.value)
    assert sorted(folder.rglob("*")) == before


@pytest.mark.parametrize("fused", [True, False])
def test_every_group_of_weights_counts_its_own_steps(fused: bool) -> None:
    """A fused kernel reads the counter on the device of its weights; meta stands for a GPU."""
    weights = [torch.nn.Parameter(torch.zeros(2, device="meta")) for _ in range(2)]
    optimizer = torch.optim.AdamW([{"params": [weight]} for weight in weights], fused=False)
    optimizer.defaults["fused"] = fused
    shared = torch.tensor(10.0)
    for weight in weights:
        optimizer.state[weight] = {"step": shared, "exp_avg": torch.zeros_like(weight)}
    universal.own_steps(optimizer)
    one, other = (optimizer.state[weight]["step"] for weight in weights)
    assert one is not other and {one.device.type, other.device.type} == {"meta" if fused else "cpu"}
    if not fused:
        one += 1
        assert other == shared == 10
