"""TabFaith sets: the command, several processes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tablemend.tasks.tabfaith.data import TabFaith, make_dataset


def bytes_of(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_any_number_of_workers_writes_the_same_bytes(tmp_path: Path) -> None:
    for workers in (1, 2):
        sizes = {"general": 4, "financial": 2, "clinical": 2, "operations": 2}
        given = {"out": str(tmp_path / str(workers)), "sizes": sizes, "workers": workers}
        make_dataset(TabFaith.model_validate(given), lambda _: None)
    assert bytes_of(tmp_path / "1") == bytes_of(tmp_path / "2")


def test_help_and_check_print_and_make_nothing(tmp_path: Path) -> None:
    script = Path(__file__).parents[2] / "data_gen" / "tabfaith.py"
    done = subprocess.run(
        [sys.executable, script, "recipe=tabfaith", f"out={tmp_path / 'x'}", "--check"],
        capture_output=True,
        text=True,
        cwd=script.parents[1],
    )
    assert done.returncode == 0 and "general: 1600" in done.stdout
    assert not (tmp_path / "x").exists()
    done = subprocess.run(
        [sys.executable, script, "sources.general=/no/such"], capture_output=True, text=True
    )
    assert done.returncode == 2 and done.stderr.count("\n") == 1
    assert done.stderr.startswith("error: sources.general=/no/such: no such file")
