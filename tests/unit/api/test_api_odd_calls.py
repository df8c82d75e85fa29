"""Odd calls of detect, verify and mend: the right reading, or one TablemendError of one line."""

from __future__ import annotations

import random
from collections.abc import Callable
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest

import tablemend
from tablemend.errors import DEFECT, TablemendError
from tablemend.tables.table import Table

RECORDS = [{"Team": "Alba", "Points": 41}, {"Team": "Sella", "Points": 37}]
FRAME = pd.DataFrame(RECORDS)
TEXT = "Alba won 41 points. Sella won 39 points."
CONTEXT = "Alba won 41 points. Sella won 37 points."
ANSWER = "| Team | Points |\n|---|---|\n| Alba | 41 |\n| Sella | 39 |\n"
CALLS = 500


def _endless() -> list[Any]:
    own: list[Any] = [{"Team": "Alba"}]
    own[0]["rows"] = own
    return own


class _Silent:
    def __str__(self) -> str:
        raise RuntimeError("no words")


ODD: tuple[Any, ...] = (
    *(None, True, 0, -1, 1.5, float("nan"), float("inf"), 10**4400, b"Team,Points\nAlba", b"\xff"),
    *("", " ", "\n", "\x00", "a\x00b", "\ud800", "Alba \udc00 won", "\ufeff", "[", "{", "|"),
    *("<table>", "x" * 5000, "9" * 5000, "Alba won " + "9" * 5000 + " points.", "[" * 5000),
    *("no-such.csv", "Team,Points\nAlba,\ud800", '[{"Team": "\\ud800"}]', "[[[]]]", "{}", "[]"),
    *("null", "1", [], {}, (), set(), [None], [1, 2], [[]], [[1], [2]], [{}], [{}, {}]),
    *(({"Team": "Alba"},), [{"Team": float("nan"), "Points": None}], {"a": {"a": {}}}),
    *([{b"Team": b"Alba", b"Points": 41}], [{("Team", 1): "Alba", None: 41}], {1, 2}, range(3)),
    *([{1: "Alba", "1": "Sella"}], [{"a.b": 1, "a": {"b": 2}}], [{"Team": "\ud800"}]),
    *([{"\ud800": 1}], [{"Team": 10**4400}], [{"Team": _Silent()}], _endless(), {"rows": 1}),
    *([{"Team": np.int64(4), "Points": np.float32(0.1)}], [{np.str_("Team"): np.array([1, 2])}]),
    *(np.array([[1, 2], [3, 4]]), np.int64(3), np.nan, pd.NA, pd.NaT, pd.Series([1, 2])),
    *(pd.DataFrame(), FRAME.set_index("Team", drop=False), FRAME.T, FRAME.iloc[:0]),
    *(FRAME.rename(columns={"Team": ("a", "b")}), FRAME.rename(columns={"Team": np.nan})),
    *(FRAME.assign(Points=[pd.NA, 1]), FRAME.assign(Points=[10**4400, 1])),
    *(FRAME.assign(Team=["\ud800", 1]), FRAME.assign(Points=pd.Categorical(["a", "b"]))),
    *(FRAME.assign(Points=[{"a": 1}, [2]]), pd.concat([FRAME, FRAME], axis=1)),
    *(FRAME.set_index("Team").rename_axis("Points"), FRAME.set_index("Points").T),
    *(FRAME.set_index(["Team", "Points"], drop=False), pd.DataFrame({"Team": []})),
    *(
        pd.DataFrame([[1]], columns=[b"\xff"]),
        Table.of(["Team"], [["\ud800"]]),
        Table.of([1], [[2]]),
    ),
    *(Table.of(["Team", "Team"], [["a", "b"]]), Path("no-such.csv"), Path("a\x00b"), Path()),
    *(SimpleNamespace(columns=1), object(), print, int, {"Team": ["Alba"], "Points": [41]}),
    *({"name": "Café", "hours": {"Monday": "9-5"}}, datetime(2024, 5, 31), date(2024, 5, 31)),
    *(Decimal("NaN"), Decimal("sNaN"), 1j, [RECORDS], [RECORDS, RECORDS]),
    *({"a": RECORDS, "b": RECORDS}, {"columns": 1, "rows": 2}),
)
USUAL: dict[Callable[..., Any], dict[str, Any]] = {
    tablemend.detect: {
        "answer": ANSWER,
        "gold": RECORDS,
        "context": CONTEXT,
        "query": "List teams.",
    },
    tablemend.verify: {"text": ANSWER, "context": CONTEXT, "query": "List teams."},
    tablemend.mend: {"text_or_table": TEXT, "table_or_context": RECORDS},
}


def _call(function: Callable[..., Any], given: dict[str, Any]) -> Any:
    """What a call gives; ``None`` where it is refused in one line."""
    try:
        return function(**given)
    except TablemendError as error:
        assert "\n" not in str(error) and DEFECT not in str(error), (given, str(error))
        assert str(error), given
        return None


def test_odd_calls_end_in_a_result_or_in_one_error() -> None:
    stream = random.Random(39)
    results = 0
    for _ in range(CALLS):
        function = stream.choice(list(USUAL))
        given = dict(USUAL[function])
        if function is tablemend.verify and stream.random() < 0.5:
            given = {"text": TEXT, "table": RECORDS}
        if function is tablemend.mend and stream.random() < 0.5:
            given = {"text_or_table": ANSWER, "table_or_context": CONTEXT, "query": ""}
        extra = {tablemend.detect: "similarity", tablemend.mend: "verifier"}.get(
            function, "verifier"
        )
        for name in stream.sample([*given, extra], stream.choice((1, 1, 2))):
            given[name] = stream.choice(ODD)
        results += _call(function, given) is not None
    assert 0.1 < results / CALLS < 0.9


@pytest.mark.parametrize(
    ("given", "columns", "row"),
    [
        (FRAME.set_index("Team", drop=False), ["Team", "Points"], ["Alba", "41"]),
        (FRAME.set_index("Team").rename_axis("Club"), ["Club", "Points"], ["Alba", "41"]),
        (FRAME[FRAME.Points < 40], ["Team", "Points"], ["Sella", "37"]),
        (FRAME.rename_axis("Place"), ["Place", "Team", "Points"], ["0", "Alba", "41"]),
        (FRAME.set_index(["Team", "Points"]).assign(Won=[1, 2]), ["Team", "Points", "Won"], None),
        (FRAME.rename(columns={"Points": ("Points", "2023")}), ["Team", "Points, 2023"], None),
        (FRAME.assign(Points=[float("nan"), 3.5]), ["Team", "Points"], ["Alba", None]),
        (
            FRAME.astype({"Points": "float32"}).assign(Points=[0.1, 2]),
            ["Team", "Points"],
            ["Alba", "0.1"],
        ),
        (
            FRAME.assign(Points=pd.to_datetime(["2024-05-31"] * 2)),
            ["Team", "Points"],
            ["Alba", "2024-05-31"],
        ),
        ([{"Team": np.str_("Alba"), "Points": np.int64(41)}], ["Team", "Points"], ["Alba", "41"]),
        ([{b"Team": b"Alba", ("Points", "2023"): 41}], ["Team", "Points, 2023"], ["Alba", "41"]),
        (
            [{"Team": "Alba", "Points": float("nan"), "Won": True}],
            ["Team", "Points", "Won"],
            ["Alba", None, "true"],
        ),
        (({"Team": "Alba", "Points": Decimal("4.10")},), ["Team", "Points"], ["Alba", "4.10"]),
        ({"Team": ["Alba", "Sella"], "Points": [41, 37]}, ["Team", "Points"], ["Alba", "41"]),
        ([["Team", "Points"], ["Alba", 41]], ["Team", "Points"], ["Alba", "41"]),
        (
            {
                "name": "Joe's",
                "hours": {"Monday": "9-17", "Friday": "9-20"},
                "tags": ["pizza", "bar"],
            },
            ["name", "hours.Monday", "hours.Friday", "tags"],
            ["Joe's", "9-17", "9-20", "pizza; bar"],
        ),
        (
            [{"name": "Joe's", "at": {"city": {"zip": "12345"}}, "stars": [{"n": 4}, {"n": 5}]}],
            ["name", "at.city.zip", "stars.1.n", "stars.2.n"],
            ["Joe's", "12345", "4", "5"],
        ),
    ],
)
def test_python_objects_are_read_as_they_are_meant(
    given: Any, columns: list[str], row: list[str | None] | None
) -> None:
    from tablemend.tables.jsontable import table_of

    table = table_of(given)
    assert list(table.columns) == columns
    assert row is None or list(table.rows[0]) == row


def test_an_answer_may_be_a_table() -> None:
    wrong = [{"Team": "Alba", "Points": 41}, {"Team": "Sella", "Points": 39}]
    for answer in (wrong, pd.DataFrame(wrong), {"Team": ["Alba", "Sella"], "Points": [41, 39]}):
        (error,) = tablemend.detect(answer, RECORDS).errors
        assert (error.row, error.column, error.word) == (1, "Points", "39")
        found = tablemend.verify(answer, context=CONTEXT)
        assert [(one.row, one.column) for one in found.errors] == [(1, "Points")]
        mended = tablemend.mend(answer, CONTEXT)
        assert mended.table is not None and mended.table.rows[1] == ("Sella", "37")
    assert tablemend.detect([], RECORDS).abstained
    with pytest.raises(TablemendError, match="text: wanted a text"):
        tablemend.verify(wrong, RECORDS)


def test_opening_hours_are_looked_up() -> None:
    business = {"name": "Joe's", "hours": {"Monday": "9:00-17:00"}, "stars": 4.5}
    found = tablemend.verify("Joe's has 3.5 stars.", business)
    assert [one.word for one in found.errors] == ["3.5"]


def test_a_parameter_that_there_is_not_is_a_type_error() -> None:
    with pytest.raises(TypeError, match="unexpected keyword"):
        tablemend.detect(ANSWER, RECORDS, contxt="")  # type: ignore[call-arg]
