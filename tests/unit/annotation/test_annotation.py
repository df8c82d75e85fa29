"""What annotators get and give back: sample, texts, sheet, answer files."""

from __future__ import annotations

import csv
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tablemend.annotation.answers import gather, read_answers
from tablemend.annotation.content import segments
from tablemend.annotation.sample import choose, read_data
from tablemend.annotation.sheet import guard, unguard
from tablemend.records import Example
from tests.support.annotators import (
    Choices,
    all_answers,
    export_sheet,
    write_answers,
    write_data,
)

# ---- the sample ----


def test_the_sample_is_seeded_nested_and_disjoint_by_skip(folder: Path) -> None:
    data = read_data(str(folder))
    ten, twenty = choose(data, 10, seed=0), choose(data, 20, seed=0)
    assert ten == twenty[:10] and len(set(twenty)) == 20
    assert choose(data, 10, seed=0, skip=10) == twenty[10:]
    assert choose(data, 10, seed=1) != ten


def test_hash_and_sample_do_not_depend_on_order(tmp_path: Path, examples: list[Example]) -> None:
    one = read_data(str(write_data(tmp_path / "one", examples)))
    other = read_data(str(write_data(tmp_path / "other", examples[::-1])))
    assert one.hash == other.hash
    assert choose(one, 9, seed=4) == choose(other, 9, seed=4)


def test_what_cannot_be_exported_is_refused_in_one_line(
    folder: Path, tmp_path: Path, refused: Callable[..., str]
) -> None:
    out = tmp_path / "page.html"
    assert "40 examples in its split test; --n 41" in refused(
        "export", folder, "--n", "41", "--out", out
    )
    assert "after --skip 35" in refused("export", folder, "--n=6", "--skip=35", "--out", out)
    assert "at least 1" in refused("export", folder, "--n", "0", "--out", out)
    assert "validation.jsonl" in refused("export", folder, "--split", "validation", "--out", out)
    assert "leave --split out" in refused(
        "export", folder / "test.jsonl", "--split", "test", "--out", out
    )
    assert "--revision" in refused("export", folder, "--revision", "abc", "--out", out)
    assert "generated anew" in refused("export", "small-world", "--out", out)
    assert "no file or folder" in refused("export", tmp_path / "none", "--out", out)
    assert "has no marks" in refused("export", folder, "--csv", "--no-marks", "--out", out)
    assert not out.exists()
    out.write_text("answers typed in by hand")
    assert "may hold answers" in refused("export", folder, "--n", "5", "--out", out)
    assert out.read_text() == "answers typed in by hand"


# ---- what annotators see ----


def test_segments_join_to_the_context_and_hold_the_facts(examples: list[Example]) -> None:
    for example in examples:
        for context in ("clean", "adversarial"):
            parts = segments(example, context, marks=True)
            assert "".join(part[0] for part in parts) == example.context(context)
            marked = [part for part in parts if len(part) == 5]
            assert len(marked) == sum(
                context == "adversarial" or fact.clean is not None for fact in example.facts
            )
            values = {(fact.row, fact.column, fact.value) for fact in example.facts}
            assert {(part[1], part[3], part[0]) for part in marked} <= values
            assert segments(example, context, marks=False) == [(example.context(context),)]


# ---- the sheet ----


def save_sheet(path: Path, rows: list[dict[str, str]], **form: Any) -> Path:
    with path.open("w", encoding=form.pop("encoding", "utf-8"), newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]), **form)
        writer.writeheader()
        writer.writerows(rows)
    return path


def test_a_sheet_cuts_nothing_and_holds_no_formula(tmp_path: Path, examples: list[Example]) -> None:
    long = "=1+2 " + "word " * 9000
    evil = replace(examples[0], query='=HYPERLINK("x")', topic="@SUM(1)", adversarial_context=long)
    rows = export_sheet(write_data(tmp_path / "data", [evil]), tmp_path / "sheet.csv", n=1)
    assert all(len(cell) <= 16_001 for row in rows for cell in row.values())
    assert rows[0]["query"] == '\'=HYPERLINK("x")' and rows[0]["topic"] == "'@SUM(1)"
    names = [name for name in rows[0] if name.startswith("adversarial_context")]
    assert names == [
        "adversarial_context",
        "adversarial_context 2",
        "adversarial_context 3",
    ]
    assert "".join(unguard(rows[2][name]) for name in names) == long


@pytest.mark.parametrize(
    "text",
    [
        *("=1", "+1", "-1", "@x", "\tx", "\rx", "'=1", "''-", "'a", "a=1", "", "\t=1", " =1"),
        *("x;=cmd()", "x; =1;'-2", 'x;"=1', "a\n@b", "a\t+1", "a;b", "a; 'b", "5 - 3; a=b"),
    ],
)
def test_guarded_cells_come_back(text: str) -> None:
    assert unguard(guard(text)) == text
    for part in re.split("[;\t\r\n]", guard(text)):
        assert not part.strip(' "').startswith(("=", "+", "-", "@", "\t", "\r"))


@pytest.mark.parametrize(
    "form", [{}, {"delimiter": ";"}, {"delimiter": "\t"}, {"encoding": "utf-8-sig"}]
)
def test_a_sheet_comes_back_as_spreadsheets_save_it(
    folder: Path, tmp_path: Path, form: dict[str, str]
) -> None:
    rows = export_sheet(folder, tmp_path / "sheet.csv")
    for row, answer in zip(rows, ["yes", "NO", " u ", "", "Y", "unsure"], strict=False):
        row["answer"] = answer
    rows[1]["note"] = '\'-3 is wrong;\nsee\t"row" 2'
    saved = save_sheet(tmp_path / "Anna Kowalska.csv", rows, **form)
    votes = read_answers(saved).votes
    assert [vote.choice for vote in votes[:7]] == [
        "yes",
        "no",
        "unsure",
        None,
        "yes",
        "unsure",
        None,
    ]
    assert {vote.annotator for vote in votes} == {"anna kowalska"}
    assert votes[1].note == '-3 is wrong;\nsee\t"row" 2'
    assert gather([read_answers(saved)], read_data(str(folder)))


# ---- answers that are refused ----


def test_bad_answer_files_are_refused_in_one_line(
    folder: Path, tmp_path: Path, refused: Callable[..., str]
) -> None:
    data = read_data(str(folder))
    good = all_answers(data)
    name = next(iter(good))

    def line(choices: Choices = good, **changes: Any) -> str:
        path = write_answers(tmp_path / "a.json", data, "anna", choices, **changes)
        return refused("report", folder, path)

    assert "is about the data set 0123, " in line(data="0123")
    assert "no example 'nobody'" in line({**good, "nobody": {"query": "yes"}})
    assert "answers.0.answer" in line({name: {"query": "maybe"}})
    assert "answers.0.step" in line({name: {"quest": "yes"}})
    assert "version" in line(version=2)
    assert "annotator" in line(annotator=" ")
    assert "color" in line(color="red")
    assert "no answer yet" in line(all_answers(data, None))
    (tmp_path / "a.json").write_text("{")
    assert "a.json: Invalid JSON" in refused("report", folder, tmp_path / "a.json")
    (tmp_path / "a.json").write_text("[" * 100_000)
    assert "a.json" in refused("report", folder, tmp_path / "a.json")
    (tmp_path / "a.txt").write_text("yes")
    assert ".json or .csv" in refused("report", folder, tmp_path / "a.txt")
    assert "cannot read the answers" in refused("report", folder, tmp_path / "none.json")


def test_bad_sheets_are_refused_in_one_line(
    folder: Path, tmp_path: Path, refused: Callable[..., str]
) -> None:
    rows = export_sheet(folder, tmp_path / "sheet.csv", n=3)
    path = tmp_path / "a.csv"

    def line(**changes: str) -> str:
        save_sheet(path, [*rows[:2], {**rows[2], **changes}, *rows[3:]])
        return refused("report", folder, path)

    assert "answer 'perhaps' is none of yes, no, unsure" in line(answer="perhaps")
    assert "step 'last'" in line(step="last")
    assert "no example 'x'" in line(example="#x", answer="yes")
    assert "holds 2 values" in line(data="#0")
    path.write_text("")
    assert "is empty" in refused("report", folder, path)
    path.write_text("example,step\n1,2\n")
    assert "needs one column 'answer'" in refused("report", folder, path)
    path.write_text("example,step,answer,note,annotator,data\n1,2\n")
    assert "line 2: 2 cells under 6 columns" in refused("report", folder, path)
    path.write_bytes(
        "example,step,answer,note,annotator,data\nx,query,yes,\xe9,,y\n".encode("latin-1")
    )
    assert "CSV UTF-8" in refused("report", folder, path)
