"""TabFaith sets: the command, several processes."""

from __future__ import annotations

from pathlib import Path

from tablemend.tasks.tabfaith.data import TabFaith, make_dataset
from tests.support.scripts import run_captured


def bytes_of(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_any_number_of_workers_writes_the_same_bytes(tmp_path: Path) -> None:
    for workers in (1, 2):
        sizes = {"general": 4, "financial": 2, "clinical": 2, "operations": 2}
        given = {"out": str(tmp_path / str(workers)), "sizes": sizes, "workers": workers}
        make_dataset(TabFaith.model_validate(given), lambda _: None)
    assert bytes_of(tmp_path / "1") == bytes_of(tmp_path / "2")


def test_help_and_check_print_and_make_nothing(tmp_path: Path) -> None:
    command = "data_gen/tabfaith.py"
    done = run_captured(command, "recipe=tabfaith", f"out={tmp_path / 'x'}", "--check")
    assert done.returncode == 0 and "general: 1600" in done.stdout
    assert not (tmp_path / "x").exists()
    done = run_captured(command, "sources.general=/no/such")
    assert done.returncode == 2 and done.stderr.count("\n") == 1
    assert done.stderr.startswith("error: sources.general=/no/such: no such file")
