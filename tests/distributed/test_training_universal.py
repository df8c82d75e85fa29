"""What is put together for another number of processes, or one line says why not.

Trainings that go on so: test_training_launch_strategies.py.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

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
