"""``import tablemend``: every form of input, typed results, one JSON, and clear refusals."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from pydantic import ValidationError

import tablemend
from tablemend import results
from tablemend.errors import TablemendError
from tablemend.tables.read import read_table

TABLE = "Team,Points\nAlba,41\nSella,37\nVey,12\n"
RECORDS = [{"Team": "Alba", "Points": 41}, {"Team": "Sella", "Points": 37}]
TEXT = "Alba won 41 points. Sella won 39 points. Vey was <i>kind</i>."
ANSWER = "So:\n\n| Team | Points |\n|---|---|\n| Alba | 41 |\n| Sella | 39 |\n| Xy | 3 |\n"
CONTEXT = "Alba won 41 points in 2019. Sella won 37 points in 2019."
QUERY = "List the teams and their points. Sort it by 'Points' in descending order."
SERIES: Any = pd.Series(["Sella"])
SCHEMA = Path(results.__file__).with_name("schema.json")


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "table.csv").write_text(TABLE, encoding="utf-8")
    (tmp_path / "summary.txt").write_text(TEXT, encoding="utf-8")
    monkeypatch.chdir(tmp_path)


def _workbook() -> Path:
    from openpyxl import Workbook

    book = Workbook()
    for row in (["Team", "Points", "City"], ["Alba", 41, "Oslo"], ["Sella", 37, "Rome"]):
        book.active.append(row)
    book.save("table.xlsx")
    return Path("table.xlsx")


FORMS: dict[str, Callable[[], Any]] = {
    "name": lambda: "table.csv",
    "path": lambda: Path("table.csv"),
    "CSV": lambda: TABLE,
    "Markdown": lambda: "| Team | Points |\n|---|---|\n| Sella | 37 |\n",
    "JSON": lambda: json.dumps(RECORDS),
    "records": lambda: RECORDS,
    "Table": lambda: read_table(TABLE),
    "DataFrame": lambda: pd.DataFrame(RECORDS),
    "DataFrame with an index": lambda: pd.DataFrame(RECORDS).set_index("Team"),
    "workbook": _workbook,
}


@pytest.mark.parametrize(
    ("package", "table", "verifier", "extra"),
    [
        ("openpyxl", "table.xlsx", "program", "xlsx"),
        ("openai", "table.csv", "llm:openai:m@http://127.0.0.1:9/v1", "api"),
    ],
)
def test_a_package_that_is_missing_is_named_with_what_brings_it(
    package: str, table: str, verifier: str, extra: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    _workbook()
    for name in ("tablemend.tables.csvtable", "tablemend.backends.openai_client"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    monkeypatch.setitem(sys.modules, package, None)
    wanted = rf"^{package} is not installed: pip install -e '\.\[{extra}\]' -c constraints\.txt$"
    with pytest.raises(TablemendError, match=wanted):
        tablemend.verify(TEXT, table, verifier=verifier)


@pytest.mark.parametrize("form", FORMS)
def test_a_table_may_come_in_any_form(form: str) -> None:
    (error,) = tablemend.verify(TEXT, FORMS[form]()).errors
    assert (error.type, error.word, error.expected) == ("NUM", "39", ("37",))
    assert error.span is not None and TEXT[slice(*error.span)] == error.got == "39"
    cell = next(one for one in error.evidence if one.column == "Points")
    assert (cell.table, cell.value) == (0, "37")
    assert cell.row == (0 if form == "Markdown" else 1)
    found = tablemend.detect("| Team | Points |\n|---|---|\n| Sella | 39 |\n", FORMS[form]())
    assert [one.type for one in found.errors] == [
        "attribute" if form != "workbook" else "format_error"
    ]


def test_what_is_checked_is_counted_beside_the_score() -> None:
    found = tablemend.verify(Path("summary.txt"), "table.csv")
    assert found.summary() == "STAF 0.50, 2 of 3 claims checked"
    (left,) = found.unscored
    assert "kind" in left.text and left.reason
    assert "".join(piece.text for piece in found.pieces()) == TEXT
    assert [piece.text for piece in found.pieces() if piece.mark] == ["39"]


def test_an_answer_is_compared_with_its_gold_table_and_what_was_not_is_said() -> None:
    found = tablemend.detect(ANSWER, RECORDS, CONTEXT, QUERY)
    assert [(one.type, one.row, one.column) for one in found.errors] == [
        ("attribute", 1, "Points"),
        ("entity_fabrication", 2, None),
    ]
    assert found.errors[0].evidence[0].row == 1 and found.errors[0].expected == ("37",)
    assert not found.unscored and found.coverage.scored == 6 and found.score == 0.75
    assert [[bool(one.mark) for one in row] for row in found.cells()] == [
        [False, False],
        [False, True],
        [True, True],
    ]
    alone = tablemend.detect(ANSWER, RECORDS)
    assert {one.text for one in alone.unscored} == {"order mismatch", "out of range"}
    empty = tablemend.detect("| Team | Points |\n|---|---|\n", RECORDS, CONTEXT, QUERY)
    assert empty.abstained and [one.reason for one in empty.unscored] == ["the answer has no row"]
    prose = tablemend.detect("I cannot.", RECORDS, CONTEXT, QUERY)
    assert prose.coverage.scored == 1 and prose.notes and prose.counts["format_error"] == 1


def test_texts_and_answer_tables_are_mended() -> None:
    mended = tablemend.mend(TEXT, RECORDS)
    assert mended.text == TEXT.replace("39", "37") and mended.original == TEXT
    (edit,) = mended.edits
    assert (edit.old, edit.new, edit.type) == ("39", "37", "NUM") and edit.reason
    assert (mended.score_before, mended.score, mended.errors) == (0.5, 1.0, ())
    for answer in (ANSWER, pd.DataFrame({"Team": ["Alba", "Sella", "Xy"], "Points": [41, 39, 3]})):
        mended = tablemend.mend(answer, CONTEXT, query=QUERY)
        assert mended.table is not None and mended.table.rows == (("Alba", "41"), ("Sella", "37"))


def test_a_model_rewrites_what_is_flagged(model_server: Callable[..., str]) -> None:
    mended = tablemend.mend("Alba won 41 points. Sella won 39 points.", TABLE, model=model_server())
    assert "37" in mended.text and mended.usage.calls == 1


@pytest.mark.parametrize(
    "found",
    [
        lambda: tablemend.verify(TEXT, TABLE),
        lambda: tablemend.verify(ANSWER, context=CONTEXT, query=QUERY),
        lambda: tablemend.mend(TEXT, TABLE),
        lambda: tablemend.mend(ANSWER, CONTEXT, QUERY),
        lambda: tablemend.detect(ANSWER, RECORDS, CONTEXT, QUERY),
    ],
)
def test_a_result_is_frozen_and_comes_back_from_its_json(found: Callable[[], Any]) -> None:
    result = found()
    data = json.loads(json.dumps(result.to_dict()))
    assert data["schema_version"] == 1 and results.read_result(data) == result
    with pytest.raises(ValidationError):
        result.score = 1.0


def test_the_committed_schema_is_that_of_the_types() -> None:
    assert json.loads(SCHEMA.read_text(encoding="utf-8")) == results.schema(), (
        "write tablemend.results.schema() to src/tablemend/schema.json"
    )


def test_what_a_notebook_shows_is_escaped() -> None:
    for page in (
        tablemend.verify(TEXT, TABLE)._repr_html_(),
        tablemend.mend(TEXT, TABLE).to_html(),
    ):
        assert "<i>kind" not in page and "&lt;i&gt;kind" in page
    answer = ANSWER.replace("Xy", "<script>alert(1)</script>")
    page = tablemend.detect(answer, RECORDS)._repr_html_()
    assert "<script>" not in page and "alert(1)" in page


def test_the_page_of_a_mended_table_marks_what_changed() -> None:
    answer = "| City | Pop |\n|---|---|\n| Berlin | 3 |\n| Hamburg | 18 |\n| Atlantis | 7 |\n"
    context = "Berlin has a pop of 3. Hamburg has a pop of 2. Munich has a pop of 1."
    page = tablemend.mend(answer, context, "List the cities with their pop.").to_html()
    assert ">18</del><ins" in page and ">2</ins>" in page
    assert ">Atlantis</del></td>" in page and ">7</del></td>" in page
    assert "<td>Berlin</td><td>3</td>" in page


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: tablemend.verify(TEXT, 5), "table: wanted a path, .*, not int"),
        (lambda: tablemend.verify(TEXT, []), "table: wanted a path, .*, not an empty list"),
        (lambda: tablemend.verify(TEXT, "absent.csv"), "table: absent.csv: no such file"),
        (lambda: tablemend.verify(TEXT, ""), "table: the text is empty"),
        (lambda: tablemend.verify(TEXT, [1, 2]), "table: JSON record 1 is not an object"),
        (lambda: tablemend.verify(5, TABLE), "text: wanted a text, or the path of a file, not int"),
        (lambda: tablemend.verify(SERIES, TABLE), "^text: wanted a text.*, not Series$"),
        (lambda: tablemend.verify(TEXT, SERIES), "^table: wanted a path.*, not Series$"),
        (lambda: tablemend.verify(TEXT, TABLE, verifier=None), "^verifier: .*, not NoneType$"),
        (lambda: tablemend.verify(TEXT), "give either table .* or context"),
        (lambda: tablemend.verify(TEXT, TABLE, query="q"), "query belongs to an answer table"),
        (lambda: tablemend.verify("no table", context="c"), "the answer holds no table"),
        (lambda: tablemend.verify(TEXT, TABLE, verifier="nil"), "did you mean nli"),
        (lambda: tablemend.detect(ANSWER, "A,A\n1,2\n"), "gold: .*'A' more than once"),
        (lambda: tablemend.detect(ANSWER, "just words\nand more"), "gold: no table found"),
        (lambda: tablemend.detect(Path("absent"), TABLE), "absent: no such file"),
        (lambda: tablemend.mend(ANSWER, RECORDS, query="q"), "mended by its context"),
        (lambda: tablemend.mend(ANSWER, CONTEXT), "no such file .*by its context, and a query"),
        (lambda: tablemend.mend(TEXT, TABLE, model="gpt"), "'gpt' names no engine"),
    ],
)
def test_wrong_input_is_one_line(call: Callable[[], Any], message: str) -> None:
    with pytest.raises(TablemendError, match=message) as caught:
        call()
    assert "\n" not in str(caught.value)


def test_a_text_is_never_taken_for_a_file_and_one_that_names_a_file_says_so() -> None:
    Path("summary.txt").write_text("Sella won 37 points.", "utf-8")
    found = tablemend.verify("summary.txt", TABLE)
    assert found.text == "summary.txt"
    assert found.notes[-1].startswith("'summary.txt' was taken as the text itself: give Path(")
    assert not tablemend.verify(Path("summary.txt"), TABLE).notes
    assert not tablemend.verify("Sella won 37 points." * 500, TABLE).notes


def test_a_result_is_printed_as_its_errors_and_its_score() -> None:
    found = tablemend.verify("Sella won 39 points.", "Team,Points\nSella,37\nAlba,41\n")
    error, score = str(found).splitlines()
    assert error == str(found.errors[0]) and score == found.summary()
