"""What distractors break, and which of them an answer took in."""

from __future__ import annotations

import pytest

from tablemend.datasets.tablehallu.distractor_types import taken_in, types_of
from tablemend.records import Condition, Constraints, Example, Fact, Finding, Mention, Share
from tablemend.tables.table import Table

GOLD = {"Ship": "Ada", "Year": "1990", "Crew": "12", "Port": "Oslo"}
PLACE = Mention(0, 1, 0, 1)


def example(conditions: list[Condition], *rows: tuple[dict[str, str], str]) -> Example:
    """One gold row, and distractor rows: what they change, and the column they violate."""
    facts = [Fact(0, "Ada", c, v, None, PLACE, PLACE) for c, v in GOLD.items()]
    for number, (changed, violates) in enumerate(rows):
        cells = {**GOLD, **changed}
        facts += [
            Fact(number, cells.get("Ship", "Eddystone"), c, v, violates, None, PLACE)
            for c, v in cells.items()
        ]
    constraints = Constraints((), None, "Year", "ascending", tuple(conditions))
    table = Table.of(list(GOLD), [list(GOLD.values())])
    texts = ("ships", "", "", "", constraints, table, "", "", "easy", tuple(facts), "", "", "", 0)
    return Example(*texts)


YEAR, CREW = Condition("Year", "1985", "1992"), Condition("Crew", "10", "20")
PORT, KIND = Condition("Port", values=("Oslo",)), Condition("Flag", values=("red",))


@pytest.mark.parametrize(
    ("conditions", "changed", "violates", "type"),
    [
        ([YEAR], {"Year": "1995"}, "Year", "temporal"),
        ([Condition("Year", "1985-01-02", None)], {"Year": "1 May 1980"}, "Year", "temporal"),
        ([CREW], {"Crew": "1,950"}, "Crew", "numerical"),
        ([PORT], {"Port": "Bergen"}, "Port", "geographic"),
        ([KIND], {"Flag": "blue"}, "Flag", "categorical"),
        ([YEAR, PORT], {"Year": "1995", "Port": "Bergen"}, "Port", "both"),
        ([YEAR, PORT], {"Lighthouse": "Eddystone"}, "Lighthouse", "entity"),
    ],
)
def test_types(
    conditions: list[Condition], changed: dict[str, str], violates: str, type: str
) -> None:
    assert types_of(example(conditions, (changed, violates))) == {0: type}


def found(kind: str, column: str | None, got: str) -> Finding:
    return Finding(kind, 0, column, None, got, "")


@pytest.mark.parametrize(
    ("finding", "taken"),
    [
        (found("out_of_range", None, "Bea"), {"temporal"}),
        (found("out_of_range", None, "Cleo"), {"both"}),
        (found("out_of_range", None, "Ada"), {"temporal"}),
        (found("attribute", "Port", "Bergen"), {"both"}),
        (found("attribute", "Crew", "12"), set()),
        (found("attribute", "Crew", "99"), set()),
        (found("entity_fabrication", None, "Dora"), set()),
    ],
)
def test_what_an_answer_took_in(finding: Finding, taken: set[str]) -> None:
    rows = (
        ({"Ship": "Bea", "Year": "1995"}, "Year"),
        ({"Year": "1999", "Crew": "14"}, "Year"),
        ({"Ship": "Cleo", "Year": "1999", "Port": "Bergen"}, "Port"),
    )
    shares = taken_in(example([YEAR, PORT], *rows), [finding])
    wanted = {f"distractor_{type}": Share(int(type in taken), 1) for type in ("temporal", "both")}
    assert shares == wanted
