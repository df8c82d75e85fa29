"""Pairs rated in a spreadsheet, and what the measures make of it."""

from __future__ import annotations

import csv
from pathlib import Path
from random import Random

import pytest

from tablemend.errors import TablemendError
from tablemend.runs import write_jsonl
from tablemend.tasks.logic.annotating import SheetCommand, read_answers, write_sheet
from tablemend.tasks.logic.hotel import describe, make_hotel
from tablemend.tasks.logic.pair import Pair, read_annotations
from tests.support.scripts import run_script

HOTEL = [
    describe(make_hotel(Random(number)), relation, Random(number))
    for number, relation in enumerate(("too_strong", "contradictory", "too_weak"))
]
LOGIC = Pair("logic", "∃x Cube(x)", "=There is a cube.", "a", ("well_matched",))
Row = dict[str, str]


@pytest.fixture
def run(tmp_path: Path) -> Path:
    write_jsonl(tmp_path / "pairs.jsonl", [one.to_json() for one in (*HOTEL, LOGIC)])
    list(write_sheet(_command(tmp_path)))
    return tmp_path


def _command(folder: Path, **changes: object) -> SheetCommand:
    about = {"data": str(folder / "pairs.jsonl"), "run": str(folder / "run"), **changes}
    return SheetCommand.model_validate(about)


def _rows(run: Path) -> list[Row]:
    with (run / "run" / "pairs.csv").open(encoding="utf-8-sig", newline="") as file:
        return list(csv.DictReader(file))


def _fill(run: Path, name: str, rows: list[Row], separator: str = ",") -> Path:
    path = run / f"{name}.csv"
    with path.open("w", encoding="utf-8-sig", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]), delimiter=separator)
        writer.writeheader()
        writer.writerows(rows)
    return path


def _read(run: Path, name: str) -> list[str]:
    return list(read_answers(_command(run, answers=str(run / f"{name}.csv"))))


@pytest.mark.parametrize("separator", [",", ";"])
def test_filled_sheets_become_annotations(run: Path, separator: str) -> None:
    rows = _rows(run)
    assert [row["input"] for row in rows] == [one.input for one in (*HOTEL, LOGIC)]
    assert rows[3]["output"] == "'=There is a cube."  # no spreadsheet calculates it
    for row, pair in zip(rows, (*HOTEL, LOGIC), strict=True):
        row["relation"] = pair.labels[0]
        if pair.domain == "hotel":
            row["divergent_output"] = "\n".join(pair.output[a:b] for a, b in pair.divergent_output)
            row["wrong"] = "NONE"
            row["slider"] = "5"
    rows[1]["relation"] = ""
    rows[3]["ambiguities"] = "other"
    _fill(run, "ann", rows, separator)
    assert _read(run, "ann")[0] == "ann: 3 of 4 pairs"
    found = read_annotations(run / "run" / "annotations.jsonl")
    assert [one.relation for one in found] == ["too_strong", "too_weak", "well_matched"]
    assert found[0].divergent_output == HOTEL[0].divergent_output and found[0].slider == 5
    assert found[0].wrong == () and found[0].divergent_input is None
    assert found[0].path["wrong"] and "ambiguous" not in found[0].path
    assert found[2].path["ambiguous"] and found[2].ambiguities == ("other",)


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"relation": "stronger"}, "no relation 'stronger': write one of well_matched"),
        ({"relation": "not_well_formed"}, "no relation 'not_well_formed'"),  # of formulas alone
        ({"slider": "8"}, "row 2: That is no number from 1 to 7"),
        ({"wrong": "never said"}, "not in the text"),
        ({"pair": "x"}, "x is no pair of this run"),
        ({"pair": HOTEL[1].id}, "stands there twice"),
    ],
)
def test_a_bad_row_is_refused_in_one_line(run: Path, change: Row, why: str) -> None:
    first, *others = _rows(run)
    path = _fill(run, "ann", [first | {"relation": "too_weak"} | change, *others])
    with pytest.raises(TablemendError, match=why) as error:
        _read(run, "ann")
    assert str(error.value).startswith(str(path)) and "\n" not in str(error.value)


def test_questions_that_the_paper_lacks_are_left_out(run: Path) -> None:
    rows = [row | {"relation": "Too weak"} for row in _rows(run)]
    path = _fill(run, "ann", rows)
    list(read_answers(_command(run, answers=str(path), added=False)))
    found = read_annotations(run / "run" / "annotations.jsonl")
    assert all("tautology" not in one.path for one in found)
    _fill(run, "ann", [row | {"relation": "tautologous"} for row in rows])
    with pytest.raises(TablemendError, match="no relation 'tautologous'"):
        list(read_answers(_command(run, answers=str(path), added=False)))


def test_the_script_writes_a_sheet_reads_it_and_its_run_is_measured(
    run: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    own = f"run={run / 'again'}"
    new = [f"data={run / 'pairs.jsonl'}", "n=3", own]
    assert run_script("eval/annotation_sheet.py", new, monkeypatch) == 0
    assert "3 pairs" in capsys.readouterr().out
    assert "divergent" in (run / "again" / "guidelines.md").read_text().casefold()
    assert run_script("eval/annotation_sheet.py", new, monkeypatch) == 2
    _fill(run, "ann", [row | {"relation": "too_weak"} for row in _rows(run)[:3]])
    answers = [own, f"answers={run}/a*.csv"]
    assert run_script("eval/annotation_sheet.py", answers, monkeypatch) == 0
    assert run_script("eval/annotation_report.py", [own], monkeypatch) == 0
    assert "3 annotations of 1 sheets" in capsys.readouterr().out
    assert run_script("eval/annotation_sheet.py", [own, "answers=no-*.csv"], monkeypatch) == 2
    assert "no file" in capsys.readouterr().err
