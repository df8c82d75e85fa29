"""What is read from a query, and which rows of an answer stay by it."""

from __future__ import annotations

import pytest

from tablemend.evidence.source import Source
from tablemend.mitigations.repair_table import repair_table
from tablemend.tables.table import Table
from tablemend.tasks.tablehallu.engine import examples as make_examples
from tablemend.tasks.tablehallu.settings import Synthesis
from tablemend.values.cells import read_value
from tablemend.values.units import header_unit
from tablemend.verifier.query_parser import read_scope
from tablemend.verifier.staf import verify_documents
from tests.support import llm_kernels

CONTEXT = """In 2031, Ama Dru of Norvik scored 240 points.
In 2031, Bel Ost of Lund scored 190 points.
In 2029, Cor Pim of Norvik scored 210 points.
In 2029, Dag Rys of Orvo scored 170 points."""
COLUMNS = ("Athlete", "Country", "Points", "Year")
ANSWER = Table.of(
    COLUMNS,
    [
        ["Ama Dru", "Norvik", "240", "2031"],
        ["Bel Ost", "Lund", "190", "2031"],
        ["Cor Pim", "Norvik", "210", "2029"],
        ["Dag Rys", "Orvo", "170", "2029"],
    ],
)
LISTED = 'with the columns "Athlete", "Country", "Points", "Year"'
BOTH = (f"Make a table of the athletes {{}} {LISTED}.", f"List the athletes {LISTED}, {{}}.")

WORDINGS = {
    "AB": """where "Year" is 2031
        where "Year" is 2031 sorted by "Points" in descending order
        where "Year" is "2031"
        for the "Year" 2031
        for the year 2031 only
        in "Year" 2031
        in 2031
        where Year = 2031
        where the year is 2031
        where "Year" is not 2029
        excluding 2029
        who competed after 2029
        who competed on or after 2031
        since 2030
        from 2030 to 2032
        in the 2030s
        for the years 2030 to 2032
        where "Year" is 2030 or later
        where "Year" is 2031 or 2032""",
    "CD": """who competed before 2031
        who competed on or before 2029
        not in 2031""",
    "AC": """where "Points" is greater than 200
        with at least 200 "Points"
        with more than 200 points
        where "Points" >= 200
        whose points are above 200
        where "Points" is 200 or more
        with "Points" no less than 200
        where "Country" is "Norvik"
        where Country = Norvik
        whose country is Norvik
        with country Norvik
        with Norvik as "Country"
        where "Country" is neither Lund nor Orvo""",
    "BC": """where "Points" lies between 180 and 220
        with points between 180 and 220""",
    "BD": """where "Country" is not "Norvik"
        with "Country" other than "Norvik"
        where "Country" is either "Lund" or "Orvo"
        whose "Country" is one of Lund, Orvo or Selm
        whose "Country" is in ("Lund", "Orvo")
        with no more than 200 points
        with fewer than 200 points""",
    "A": """where "Year" is 2031 and "Country" is "Norvik"
        where "Year" is 2031 and "Points" is at least 200
        where the year is 2031 and the country is Norvik
        with "Year" 2031 and at least 200 points
        with more than 200 points in 2031""",
}


def kept(query: str) -> str:
    """The rows that repair leaves, by their first letters."""
    return "".join(sorted(str(row[0])[0] for row in repair_table(ANSWER, CONTEXT, query)[0].rows))


@pytest.mark.parametrize("query", BOTH)
@pytest.mark.parametrize(
    ("rows", "words"),
    [(rows, one.strip()) for rows, words in WORDINGS.items() for one in words.splitlines()],
)
def test_rows_out_of_scope_are_dropped_and_no_others(rows: str, words: str, query: str) -> None:
    assert kept(query.format(words)) == rows
    found = verify_documents([(ANSWER, Source(text=CONTEXT, query=query.format(words)))])[0]
    assert not found.notes
    supported = [one for one in found.verdicts if one.claim.column is None and not one.wrong]
    assert {one.verdict for one in supported} == {"supported"} and len(supported) == len(rows)


@pytest.mark.parametrize(
    ("words", "rows"),
    [
        ("from Norvik", "AC"),
        ("from Lund or Orvo", "BD"),
        ("not from Norvik", "BD"),
        ("that smile and have at least 200 points", "AC"),
        ('where "Country" is NVK', "ABCD"),
        ("for Country Norvik", "ABCD"),
    ],
)
def test_places_behind_the_rows_noun_and_what_rules_out_no_row(words: str, rows: str) -> None:
    assert kept(BOTH[0].format(words)) == rows


@pytest.mark.parametrize("query", BOTH)
@pytest.mark.parametrize(
    "said",
    [
        "who can juggle",
        "with a coach",
        "that won a medal",
        "aged 20 to 30",
        "with the top 3 scores",
        '"Country" is Lund or "Year" is 2031',
        "without a licence",
    ],
)
def test_what_was_not_read_is_named_and_decides_nothing(said: str, query: str) -> None:
    asked = query.format(f"where {said}" if said[0] == '"' else said)
    found = verify_documents([(ANSWER, Source(text=CONTEXT, query=asked))])[0]
    (note,) = found.notes
    assert said in note
    rows = [one for one in found.verdicts if one.claim.column is None]
    assert {one.verdict for one in rows} == {"unscored"}
    assert all("was not read" in one.reason for one in rows)
    assert all(one.verdict == "supported" for one in found.verdicts if one not in rows)
    assert kept(asked) == "ABCD"


@pytest.mark.parametrize(
    "query",
    [
        f"Please make a table of the athletes {LISTED}, in this order, based on the context.",
        f"Make a table that lists the athletes {LISTED}. Do not add other columns.",
        f'Tabulate the athletes {LISTED}. If a value is missing, write "-". Sort the table by '
        '"Points" from highest to lowest.',
        f"Using only the given text, show the athletes {LISTED}, with one row per athlete.",
    ],
)
def test_what_asks_for_no_rows_is_no_condition(query: str) -> None:
    scope = read_scope(query, ANSWER)
    assert (scope.conditions, scope.unread, scope.topics) == ((), (), ())


@pytest.mark.parametrize(
    ("words", "context", "rows"),
    [
        ("of the Ulm Cup", "The Ulm Cup was held twice. " + CONTEXT, "ssss"),
        ("of the Ulm Cup", CONTEXT.replace("Dru of", "Dru, at the Ulm Cup, of"), "suuu"),
        ("of the 2031 season", CONTEXT, "ssuu"),
    ],
)
def test_an_event_may_be_what_the_text_is_about(words: str, context: str, rows: str) -> None:
    found = verify_documents([(ANSWER, Source(text=context, query=BOTH[0].format(words)))])[0]
    assert words.removeprefix("of the ") in found.notes[0]
    assert "".join(v.verdict[0] for v in found.verdicts if v.claim.column is None) == rows


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ("List the points of Ama Dru and Cor Pim.", "AC"),
        ("List athletes such as Ama Dru and Cor Pim with points.", ""),
        ("List all athletes (e.g. Ama Dru, Cor Pim) with points.", ""),
        ("List the athletes, including Ama Dru and Cor Pim.", ""),
        ("List the athletes and mark Ama Dru and Cor Pim in bold.", ""),
        ("List the athletes; put Ama Dru and Cor Pim at the end.", ""),
        ("List the athletes, Ama Dru and Cor Pim first.", ""),
    ],
)
def test_names_that_are_wanted_and_names_that_are_examples(query: str, names: str) -> None:
    assert "".join(sorted(name[0] for name in read_scope(query, ANSWER).entities)) == names
    assert kept(query) == names or not names


@pytest.mark.parametrize(
    ("words", "columns"),
    [
        ("with their points and country", ("Points", "Country")),
        ("with year, points", ("Year", "Points")),
        ("with points and a coach", ()),
        ("with country Norvik", ()),
    ],
)
def test_columns_that_are_listed_in_plain_words(words: str, columns: tuple[str, ...]) -> None:
    assert read_scope(f"Make a table of the athletes {words}.", ANSWER).columns == columns


FILMS = Table.of(
    ["Film", "Released", "Revenue (USD million)", "Studio", "Awards"],
    [["Alba", "2012", "40", "Norvik", "3"], ["Sella", "2014", "5.5", "Lund", "1"]],
)


@pytest.mark.parametrize(
    ("words", "label", "cells"),
    [
        ("released between 2010 and 2015", "Released", {"4 March 2015": True, "2016": False}),
        ("released after 2010", "Released", {"2010": False, "2011": True}),
        ("released before March 2010", "Released", {"2010": None, "2009": True}),
        (
            "with revenue above $5 million",
            "Revenue (USD million)",
            {"5.5": True, "5": False, "x": None},
        ),
        ("with at least 2 awards", "Awards", {"2": True, "1": False}),
        ("released by Orvo with 2 to 3 awards", "Awards", {"2": True, "4": False}),
        ('whose "Awards" is 2 or less', "Awards", {"2": True, "3": False}),
        ('with "Awards" from 1 to 3', "Awards", {"3": True, "4": False}),
        (
            'whose "Studio" is Norvik or Lund',
            "Studio",
            {"Lund": True, "Orvo": False, "Lund Ltd": None},
        ),
    ],
)
def test_what_meets_a_condition(words: str, label: str, cells: dict[str, bool | None]) -> None:
    (found,) = read_scope(f"Make a table of the films {words}.", FILMS).conditions
    assert found.label == label
    assert {cell: found.meets(read_value(cell), header_unit(label)) for cell in cells} == cells


@pytest.mark.parametrize(
    "words", ["the 2014 Polar Games", "the five best films", "films longer than 5"]
)
def test_what_is_not_plain_is_no_condition(words: str) -> None:
    assert not read_scope(f"Make a table of {words}.", FILMS).conditions


def test_the_queries_of_programs_and_people_are_read() -> None:
    right = wrong = 0
    for example in make_examples(Synthesis.model_validate({"n": 60, "seed": 1})):
        scope = read_scope(example.query, example.gold_table)
        assert scope.columns == example.gold_table.columns and not scope.computed
        # A column that the answer leaves out has the words of the query: "price", "launched".
        names = {name.lower(): name for name in example.gold_table.columns}
        found = {
            (names.get(one.label.lower()), bool(one.low), bool(one.high))
            for one in scope.conditions
        }
        wanted = {
            (names.get(one.column.lower()), bool(one.low), bool(one.high))
            for one in example.constraints.conditions
            if not (one.values and scope.entities)
        }
        right += found == wanted
        wrong += not found <= wanted
    assert right >= 54 and wrong <= 2
    for case in llm_kernels.CASES:
        table = case.draft.table
        for one in read_scope(case.query, table).conditions:
            cells = table.column(one.label) if one.label in table.columns else ()
            met = [one.meets(read_value(cell), header_unit(one.label)) for cell in cells]
            assert False not in met, case.query
