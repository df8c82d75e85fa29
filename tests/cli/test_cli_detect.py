"""``tablemend detect``, run as a user runs it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tablemend.cli import main
from tablemend.detector.algorithm import DETECTOR_VERSION
from tablemend.tables.table import Table
from tablemend.tables.write import write_table

GOLD = Table.of(
    ["Name", "Year", "City"],
    [["Alder", "1990", "Oslo"], ["Birch", "1995", None], ["Cedar", "2001", "Lima"]],
)
QUERY = "Sort the table by 'Year' in ascending order."
KEYS = (
    "format_error out_of_range order_mismatch attribute blank_filling entity_fabrication "
    "constraint_violation context_violation hallucinated row_recall cell_recall "
    "order_checked findings "
    "detector_version abstained unscored detector"
).split()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "gold.json").write_text(write_table(GOLD, "json"), encoding="utf-8")
    (tmp_path / "context.txt").write_text("Alder, Birch and Cedar; the elm too.", encoding="utf-8")
    (tmp_path / "query.txt").write_text(QUERY, encoding="utf-8")
    return tmp_path


def run(folder: Path, answer: str, *options: str) -> int:
    (folder / "answer.txt").write_text(answer, encoding="utf-8")
    files = {"answer": "answer.txt", "context": "context.txt", "gold": "gold.json"}
    return main(["detect", *(f"--{key}={folder / file}" for key, file in files.items()), *options])


def run_json(
    folder: Path, capsys: pytest.CaptureFixture[str], answer: str, *options: str
) -> dict[str, Any]:
    assert run(folder, answer, "--json", *options) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    assert list(found) == KEYS
    return found


WRONG = """Here you are:
####
| Name | Year | City |
|---|---|---|
| Cedar | 2001 | Rome |
| Birch | 1995 | Bonn |
| Alder | 1990 | Oslo |
| Elm | 1999 | Kyoto |
| Fir | 1998 | N/A |
"""


def test_json_counts_every_type(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = run_json(folder, capsys, WRONG, "--query", QUERY)
    counts = [found[key] for key in KEYS[:6]]
    assert counts == [0, 1, 1, 1, 1, 1]
    assert found["constraint_violation"] and found["context_violation"] and found["hallucinated"]
    assert found["row_recall"] == 1.0
    assert found["cell_recall"] == pytest.approx(7 / 8)
    assert len(found["findings"]) == 5
    assert found["detector_version"] == DETECTOR_VERSION
    assert (found["unscored"], found["abstained"]) == ("", False)
    assert found["order_checked"] and not run_json(folder, capsys, WRONG)["order_checked"]
    other = write_table(Table.of(["Year"], [["1990"]]), "json")
    assert not run_json(folder, capsys, other, "--query", QUERY)["order_checked"]
    assert run_json(folder, capsys, WRONG, "--query-file", str(folder / "query.txt")) == found


def test_a_person_reads_what_where_and_why(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(folder, WRONG, "--query", QUERY) == 0
    out = capsys.readouterr().out
    assert "attribute distortion: row 1, 'City'" in out
    assert "    expected: Lima\n    got:      Rome" in out
    assert "entity fabrication: row 5: 'Fir' is neither in the gold table nor in the context" in out
    assert "row recall            1.000 (3 of 3)" in out
    assert "ascending by 'Year'" in out
    assert f"tablemend {DETECTOR_VERSION}, lexical-5" in out
    assert run(folder, write_table(GOLD, "markdown")) == 0
    out = capsys.readouterr().out
    assert out.startswith("Nothing wrong was found.")
    assert "not checked: no --query" in out


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is always full")
def test_a_full_disk_is_one_line(folder: Path) -> None:
    (folder / "answer.txt").write_text(WRONG, encoding="utf-8")
    files = {"answer": "answer.txt", "context": "context.txt", "gold": "gold.json"}
    command = [sys.executable, "-m", "tablemend.cli", "detect"]
    command += [f"--{key}={folder / file}" for key, file in files.items()]
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 1
    assert "no space left" in done.stderr and "Traceback" not in done.stderr


def test_refuses_what_cannot_be_scored_by(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def error(*options: str) -> str:
        assert main(["detect", *options]) == 2
        captured = capsys.readouterr()
        assert captured.out == ""
        assert captured.err.startswith("error: ") and captured.err.count("\n") == 1
        return captured.err

    answer, context = folder / "answer.txt", folder / "context.txt"
    answer.write_text(WRONG, encoding="utf-8")
    rest = [f"--answer={answer}", f"--context={context}"]
    assert "nowhere.md" in error(*rest, "--gold=nowhere.md")
    twice = folder / "twice.md"
    twice.write_text("| A | A |\n|---|---|\n| 1 | 2 |\n", encoding="utf-8")
    assert "'A' more than once" in error(*rest, f"--gold={twice}")
    prose = folder / "prose.md"
    prose.write_text("no table here\n", encoding="utf-8")
    assert "prose.md" in error(*rest, f"--gold={prose}")
    gold = f"--gold={folder / 'gold.json'}"
    assert "absent.txt" in error(f"--answer={folder / 'absent.txt'}", rest[1], gold)
    assert "--context" in error(rest[0], gold)
    query = folder / "query.txt"
    assert f"--query-file {query}" in error(*rest, gold, f"--query={query}")
    answer.write_bytes(b"\xff\xfe\x00")
    assert "not UTF-8" in error(*rest, gold)


def batch(folder: Path, lines: list[object]) -> str:
    path = folder / "batch.jsonl"
    path.write_text("\n".join(json.dumps(line) for line in lines) + "\n", encoding="utf-8")
    return f"--batch={path}"


def test_a_batch_gives_rates_with_intervals(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    clean = {"answer": write_table(GOLD, "markdown"), "gold": GOLD.to_json(), "context": ""}
    wrong = {**clean, "answer": WRONG, "gold": write_table(GOLD, "csv"), "query": QUERY}
    option = batch(folder, [clean, clean, clean, wrong])
    assert main(["detect", option, "--json"]) == 0
    rates = json.loads(capsys.readouterr().out)
    assert rates["total_hallu"]["rate"] == rates["order_mismatch"]["rate"] == 0.25
    assert rates["total_hallu"]["n"] == 4
    assert 0.0 < rates["total_hallu"]["low"] < 0.25 < rates["total_hallu"]["high"] < 1.0
    assert rates["format_error"]["rate"] == 0.0
    assert [row["order_checked"] for row in rates["answers"]] == [False, False, False, True]
    assert [len(row["findings"]) for row in rates["answers"]] == [0, 0, 0, 5]
    assert main(["detect", option]) == 0
    out = capsys.readouterr().out
    assert "total hallu           0.250  [" in out and "order checked         1 of 4" in out


@pytest.mark.parametrize(
    "line",
    [
        {"answer": "x", "context": "y"},
        {"answer": 1, "gold": GOLD.to_json(), "context": ""},
        {"answer": "x", "gold": "no table", "context": ""},
        {"answer": "x", "gold": {"columns": ["A"]}, "context": ""},
        {"answer": "x", "gold": {"columns": ["A"], "rows": [["1", "2"]]}, "context": ""},
        {"answer": "x", "gold": {"columns": "AB", "rows": ["12"]}, "context": ""},
        {"answer": "x", "gold": {"columns": ["A"], "rows": None}, "context": ""},
        {"answer": "x", "gold": 5, "context": ""},
        ["answer"],
        None,
    ],
)
def test_a_bad_batch_line_is_named(
    line: object, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    good = {"answer": "x", "gold": GOLD.to_json(), "context": ""}
    assert main(["detect", batch(folder, [good, line])]) == 2
    assert "batch.jsonl, line 2: " in capsys.readouterr().err


@pytest.mark.parametrize("command", ["detect", "verify", "mend"])
@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("[" * 100_000, "JSON nested too deeply"),
        ('{"gold": ' + "9" * 5_000 + "}", "JSON nested too deeply, or too long a number"),
        ("{", "not JSON (Expecting property name enclosed in double quotes, column 2)"),
    ],
)
def test_what_json_cannot_read_is_one_line(
    folder: Path, capsys: pytest.CaptureFixture[str], command: str, line: str, message: str
) -> None:
    (folder / "odd.jsonl").write_text(line + "\n", encoding="utf-8")
    assert main([command, f"--batch={folder / 'odd.jsonl'}"]) == 2
    shown = capsys.readouterr().err
    assert f"line 1: {message}" in shown and shown.count("\n") == 1
