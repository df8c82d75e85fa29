"""``tablemend detect``, run as a user runs it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tablemend.cli.app import main
from tablemend.detector.algorithm import DETECTOR_VERSION
from tablemend.tables.read import write_table
from tablemend.tables.table import Table

GOLD = Table.of(
    ["Name", "Year", "City"],
    [["Alder", "1990", "Oslo"], ["Birch", "1995", None], ["Cedar", "2001", "Lima"]],
)
QUERY = "Sort the table by 'Year' in ascending order."


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "gold.json").write_text(write_table(GOLD, "json"), encoding="utf-8")
    (tmp_path / "context.txt").write_text("Alder, Birch and Cedar; the elm too.", encoding="utf-8")
    (tmp_path / "query.txt").write_text(QUERY, encoding="utf-8")
    return tmp_path


def run(folder: Path, answer: str, *options: str) -> int:
    (folder / "answer.txt").write_text(answer, encoding="utf-8")
    files = [str(folder / name) for name in ("answer.txt", "gold.json")]
    return main(["detect", *files, f"--context={folder / 'context.txt'}", *options])


def run_json(
    folder: Path, capsys: pytest.CaptureFixture[str], answer: str, *options: str
) -> dict[str, Any]:
    assert run(folder, answer, "--json", *options) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
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


def test_a_gold_table_of_its_header_alone(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    empty = write_table(Table.of(GOLD.columns, []), "json")
    (folder / "gold.json").write_text(empty, encoding="utf-8")
    found = run_json(folder, capsys, "| Name | Year | City |\n|---|---|---|", "--min-score=0.9")
    assert (found["errors"], found["score"], found["abstained"]) == ([], None, False)
    assert list(run_json(folder, capsys, WRONG)["counts"].values()) == [0, 4, 0, 0, 0, 1]
    assert run(folder, WRONG, "--fail-on=error") == 3
    assert run(folder, "There are no such rows.", "--min-score=0.9") == 1


def test_json_counts_every_type(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = run_json(folder, capsys, WRONG, "--query", QUERY)
    assert list(found["counts"].values()) == [0, 1, 1, 1, 1, 1]
    assert found["row_recall"] == 1.0
    assert found["score"] == pytest.approx(7 / 8)
    assert len(found["errors"]) == 5
    assert DETECTOR_VERSION in found["scorer"]
    assert (found["unscored"], found["abstained"]) == ([], False)
    (order,) = run_json(folder, capsys, WRONG)["unscored"]
    assert (order["text"], order["reason"]) == ("order mismatch", "no query was given")
    other = write_table(Table.of(["Year"], [["1990"]]), "json")
    assert run_json(folder, capsys, other, "--query", QUERY)["coverage"]["scored"] == 1
    wrong = next(one for one in found["errors"] if one["type"] == "attribute")
    (cell,) = wrong["evidence"]
    assert (wrong["row"], wrong["word"], wrong["expected"]) == (0, "Rome", ["Lima"])
    assert (cell["row"], cell["column"], cell["value"]) == (2, "City", "Lima")
    assert run_json(folder, capsys, WRONG, "--query-file", str(folder / "query.txt")) == found


def test_a_person_reads_what_where_and_why(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(folder, WRONG, "--query", QUERY) == 0
    out = capsys.readouterr().out
    assert "| Cedar | 2001 | [[Rome]] |" in out
    assert "error: attribute distortion: row 1, 'City': 'Rome', expected 'Lima'" in out
    assert "entity fabrication: row 5: 'Fir'" in out
    assert "Fir' is neither in the gold table nor in the context" in out
    assert "cell recall 0.88, 6 of 6 error types checked" in out
    assert run(folder, write_table(GOLD, "markdown")) == 0
    out = capsys.readouterr().out
    assert "Nothing wrong was found." in out
    assert "unscored: order mismatch: no query was given" in out


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is always full")
def test_a_full_disk_is_one_line(folder: Path) -> None:
    (folder / "answer.txt").write_text(WRONG, encoding="utf-8")
    command = [sys.executable, "-m", "tablemend", "detect"]
    command += [str(folder / name) for name in ("answer.txt", "gold.json")]
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
    rest = [f"--context={context}", str(answer)]
    assert "nowhere.md" in error(*rest, "nowhere.md")
    twice = folder / "twice.md"
    twice.write_text("| A | A |\n|---|---|\n| 1 | 2 |\n", encoding="utf-8")
    assert "'A' more than once" in error(*rest, str(twice))
    prose = folder / "prose.md"
    prose.write_text("no table here\n", encoding="utf-8")
    assert "prose.md" in error(*rest, str(prose))
    gold = str(folder / "gold.json")
    assert "absent.txt" in error(str(folder / "absent.txt"), gold)
    assert "give ANSWER and GOLD" in error(rest[1])
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
    captured = capsys.readouterr()
    answers = [json.loads(line) for line in captured.out.splitlines()]
    assert [one["coverage"]["scored"] for one in answers] == [5, 5, 5, 6]
    assert [len(one["errors"]) for one in answers] == [0, 0, 0, 5]
    assert "total hallu           0.250  [" in captured.err
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
