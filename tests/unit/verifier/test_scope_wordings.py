"""Wordings of conditions: which rows stay, and what is said where one was not read."""

from __future__ import annotations

import pytest

from tablemend.evidence.source import Source
from tablemend.faithfulness.staf import verify_answer
from tablemend.mitigations.mend import mend_answer
from tablemend.mitigations.repair_table import repair_table
from tablemend.tables.table import Table
from tablemend.verifier.scope import read_scope

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
    "AB": [
        'where "Year" is 2031',
        'where "Year" is 2031 sorted by "Points" in descending order',
        'where "Year" is "2031"',
        'whose "Year" is 2031',
        'for the "Year" 2031',
        "for the year 2031 only",
        'with "Year" 2031',
        'in "Year" 2031',
        "of 2031",
        "in 2031",
        "where Year = 2031",
        "where the year is 2031",
        'where "Year" is not 2029',
        "excluding 2029",
        "who competed after 2029",
        "who competed on or after 2031",
        "since 2030",
        "from 2030 to 2032",
        'where "Year" is 2030 or later',
        'where "Year" is 2031 or 2032',
    ],
    "CD": ["who competed before 2031", "who competed on or before 2029", "not in 2031"],
    "AC": [
        'where "Points" is greater than 200',
        'with at least 200 "Points"',
        "with more than 200 points",
        'where "Points" >= 200',
        "where points > 200",
        "whose points are above 200",
        'where "Points" is 200 or more',
        'with "Points" no less than 200',
        'where "Country" is "Norvik"',
        "where Country = Norvik",
        "whose country is Norvik",
        "with country Norvik",
        'with Norvik as "Country"',
        'where "Country" is neither Lund nor Orvo',
        'where "Country" is neither "Lund" nor "Orvo"',
    ],
    "BC": ['where "Points" lies between 180 and 220', "with points between 180 and 220"],
    "BD": [
        'where "Country" is not "Norvik"',
        "whose country is not Norvik",
        'with "Country" other than "Norvik"',
        'where "Country" is either Lund or Orvo',
        'where "Country" is either "Lund" or "Orvo"',
        'whose "Country" is one of Lund, Orvo or Selm',
        'whose "Country" is in ("Lund", "Orvo")',
        "with no more than 200 points",
        "with fewer than 200 points",
    ],
    "A": [
        'where "Year" is 2031 and "Country" is "Norvik"',
        'where "Year" is 2031 and "Points" is at least 200',
        "where the year is 2031 and the country is Norvik",
        'with "Year" 2031 and at least 200 points',
        "with more than 200 points in 2031",
    ],
}


@pytest.mark.parametrize("query", BOTH)
@pytest.mark.parametrize(
    ("kept", "words"), [(kept, one) for kept, words in WORDINGS.items() for one in words]
)
def test_rows_out_of_scope_are_dropped_and_no_others(kept: str, words: str, query: str) -> None:
    asked = query.format(words)
    found = repair_table(ANSWER, CONTEXT, asked)
    assert sorted(str(row[0])[0] for row in found.table.rows) == list(kept), asked
    assert not found.before.notes
    in_scope = {v.claim.row: v.verdict for v in found.before.verdicts if v.claim.column is None}
    assert [in_scope[row] for row, one in enumerate("ABCD") if one in kept] == ["supported"] * len(
        kept
    )


@pytest.mark.parametrize(
    ("words", "kept"),
    [
        ("from Norvik", "AC"),
        ("from Lund or Orvo", "BD"),
        ("not from Norvik", "BD"),
        ("except those from Norvik", "BD"),
    ],
)
def test_a_place_behind_the_rows_noun_is_that_column(words: str, kept: str) -> None:
    found = repair_table(ANSWER, CONTEXT, BOTH[0].format(words))
    assert sorted(str(row[0])[0] for row in found.table.rows) == list(kept)


UNREAD = [
    ("who can juggle", "who can juggle"),
    ("with a coach", "with a coach"),
    ("that won a medal", "that won a medal"),
    ("aged 20 to 30", "aged 20 to 30"),
    ("with the top 3 scores", "with the top 3 scores"),
    ('where "Country" is Lund or "Year" is 2031', '"Country" is Lund or "Year" is 2031'),
    ("without a licence", "without a licence"),
]


@pytest.mark.parametrize("query", BOTH)
@pytest.mark.parametrize(("words", "said"), UNREAD)
def test_what_was_not_read_is_said(words: str, said: str, query: str) -> None:
    asked = query.format(words)
    found = verify_answer(ANSWER, Source(text=CONTEXT), asked)
    (note,) = found.notes
    assert said in note and note in found.to_json()["notes"]
    rows = [one for one in found.verdicts if one.claim.column is None]
    assert {one.verdict for one in rows} == {"unscored"}
    assert all("was not read" in one.reason for one in rows)
    assert all(one.verdict == "supported" for one in found.verdicts if one not in rows)
    assert repair_table(ANSWER, CONTEXT, asked).table.rows == ANSWER.rows


@pytest.mark.parametrize("words", ['where "Country" is NVK', "for Country Norvik"])
def test_a_value_that_stands_nowhere_and_a_name_rule_out_no_row(words: str) -> None:
    found = repair_table(ANSWER, CONTEXT, BOTH[0].format(words))
    assert found.table.rows == ANSWER.rows
    rows = [one.verdict for one in found.before.verdicts if one.claim.column is None]
    assert "contradicted" not in rows


def test_a_condition_beside_one_that_was_not_read_still_counts() -> None:
    asked = BOTH[0].format("that smile and have at least 200 points")
    found = repair_table(ANSWER, CONTEXT, asked)
    assert [row[0] for row in found.table.rows] == ["Ama Dru", "Cor Pim"]
    assert "that smile" in found.before.notes[0]


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


def test_the_name_of_an_event_may_be_what_the_text_is_about() -> None:
    query = BOTH[0].format("of the Ulm Cup")
    assert read_scope(query, ANSWER).topics == ("Ulm Cup",)
    about = "The Ulm Cup was held twice. " + CONTEXT
    found = verify_answer(ANSWER, Source(text=about), query)
    assert {one.verdict for one in found.verdicts} == {"supported"}
    assert "taken for what the whole text is about" in found.verdicts[0].reason
    mixed = CONTEXT.replace("Ama Dru of Norvik", "Ama Dru of Norvik, at the Ulm Cup,")
    rows = [
        one.verdict
        for one in verify_answer(ANSWER, Source(text=mixed), query).verdicts
        if one.claim.column is None
    ]
    assert rows == ["supported", "unscored", "unscored", "unscored"]


def test_a_year_in_a_title_is_open_where_a_row_is_set_in_another() -> None:
    found = verify_answer(ANSWER, Source(text=CONTEXT), BOTH[0].format("of the 2031 season"))
    assert "2031 season" in found.notes[0]
    rows = [one for one in found.verdicts if one.claim.column is None]
    assert [one.verdict for one in rows] == ["supported", "supported", "unscored", "unscored"]


def test_a_value_of_others_alone_is_not_in_the_source() -> None:
    rows = [list(row) for row in ANSWER.rows]
    rows[1][1] = "Orvo"
    found = verify_answer(Table.of(COLUMNS, rows), Source(text=CONTEXT))
    (wrong,) = (one for one in found.verdicts if one.wrong)
    assert (wrong.verdict, wrong.error_type, wrong.claim.row) == ("not_in_source", "REL", 1)


def test_a_time_that_is_set_before_is_not_missing() -> None:
    text = "The cup was held in 2031. " + CONTEXT.replace("In 2031, ", "")
    found = repair_table(ANSWER, text)
    year = {v.claim.row: v.verdict for v in found.before.verdicts if v.claim.column == "Year"}
    assert year == {0: "unscored", 1: "unscored", 2: "supported", 3: "supported"}
    assert not found.edits


@pytest.mark.parametrize(
    ("table", "query", "note"),
    [
        (Table.of(COLUMNS, []), "", "no filled row"),
        (Table.of(("Athlete", "Points", "Points"), [["Ama Dru", "240", "9"]]), "", "'Points'"),
        (ANSWER, "List the athletes.", "no list of columns"),
    ],
)
def test_odd_answers_are_told_in_one_line(table: Table, query: str, note: str) -> None:
    found = verify_answer(table, Source(text=CONTEXT), query)
    (said,) = found.notes
    assert note in said and "\n" not in said
    assert not [one for one in found.verdicts if one.wrong]


def test_context_and_query_are_given_by_name() -> None:
    with pytest.raises(TypeError):
        mend_answer("| a |", CONTEXT, "List the athletes.")  # type: ignore[misc]
