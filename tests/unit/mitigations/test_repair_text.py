"""Repair of a summary: what is replaced, what is offered only, what is left alone."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

import pytest

from tablemend.evidence.source import Source
from tablemend.mitigations.repair_text import VERSION, repair_text
from tablemend.records import Claim, Verdict, Verification
from tablemend.tables.table import Table
from tablemend.values.text import Span, sentence_spans

CLUBS = Source(
    (Table.of(["Club", "Points", "City"], [["Lions", "41", "Oslo"], ["Bears", "38", "Bergen"]]),)
)


def verifier(*wanted: tuple[str, str, tuple[str, ...]]) -> Callable[[str, Source], Verification]:
    """Calls words wrong: pattern of a sentence, words at fault, what is expected."""

    def verify(text: str, source: Source) -> Verification:
        verdicts = []
        for span in sentence_spans(text):
            said = text[span.start : span.end]
            claim = Claim(said, span.start, span.end, "numeric", said)
            verdict = Verdict(claim, "supported")
            for pattern, words, expected in wanted:
                at = text.find(words, span.start, span.end)
                if re.search(pattern, said) and at >= 0:
                    fault = (Span(at, at + len(words)),)
                    row = 1 if "Bears" in said else 0
                    cell = (source.grids[0].evidence(row, 1),)
                    verdict = Verdict(claim, "contradicted", "NUM", cell, "so", fault, expected)
            verdicts.append(verdict)
        return Verification(tuple(verdicts), "test")

    return verify


def test_one_place_with_one_value_is_replaced_and_nothing_else() -> None:
    text = "The Lions won 44 points.  The Bears won 38 points, too."
    mended = repair_text(text, CLUBS, verifier(("Lions", "44", ("41",))))
    assert mended.text == "The Lions won 41 points.  The Bears won 38 points, too."
    (edit,) = mended.edits
    assert (edit.old, edit.new, edit.span) == ("44", "41", (14, 16))
    assert (edit.method, edit.type, edit.reason) == (VERSION, "NUM", "so")
    assert mended.after is not None and mended.after.staf == 1.0
    assert mended.usage.calls == 0


@pytest.mark.parametrize("expected", [(), ("41", "38")])
def test_none_or_several_values_are_doubt(expected: tuple[str, ...]) -> None:
    text = "The Lions won 44 points."
    mended = repair_text(text, CLUBS, verifier(("Lions", "44", expected)))
    assert (mended.text, mended.edits, mended.after) == (text, (), mended.before)


def test_two_verdicts_that_disagree_are_doubt() -> None:
    text = "The Lions won 44 points."
    scorer = verifier(("Lions", "44", ("41",)))

    def both(text: str, source: Source) -> Verification:
        found = scorer(text, source)
        return replace(
            found,
            verdicts=(*found.verdicts, *(replace(v, expected=("38",)) for v in found.verdicts)),
        )

    assert repair_text(text, CLUBS, both).edits == ()


def test_an_edit_that_does_not_verify_better_is_undone_and_the_others_stay() -> None:
    text = "The Lions won 44 points. The Bears won 17 points."
    scorer = verifier(("Lions", "44", ("41",)), ("Bears", "17", ("38",)), ("Bears", "38", ("39",)))
    mended = repair_text(text, CLUBS, scorer)
    assert mended.text == "The Lions won 41 points. The Bears won 17 points."
    assert [edit.old for edit in mended.edits] == ["44"]
    assert [(edit.old, edit.new) for edit in mended.undone] == [("17", "38")]


@pytest.mark.parametrize("question", ["Did the Lions reach 44 points?", "Were Lions points 44?"])
def test_a_question_stays_as_it_is(question: str) -> None:
    text = f'{question} "{question}" The Lions won 44 points.'
    mended = repair_text(text, CLUBS)
    assert mended.text == f'{question} "{question}" The Lions won 41 points.'


@pytest.mark.parametrize("text", ["", "   ", "東京は1位です。", "<b>44</b>", "44 " * 300])
def test_odd_texts_are_left_as_they_are(text: str) -> None:
    assert repair_text(text, CLUBS).text == text
    assert repair_text("The Lions won 44 points.", Source()).edits == ()


MONTHS = Table.of(
    ["Month", "Rainfall (mm)", "Sunny days"],
    [["March", "38", "11"], ["April", "45", "9"], ["May", "61", "17"], ["June", "72", "20"]],
)
PLAYERS = Table.of(
    ["Player", "Team", "Points", "Rebounds", "Assists"],
    [
        ["Ann Lee", "Reds", "24", "8", "3"],
        ["Sue Roth", "Reds", "31", "5", "6"],
        ["Eve Hart", "Blues", "17", "12", "0"],
    ],
)


@pytest.mark.parametrize(
    ("table", "text", "old", "new"),
    [
        (MONTHS, "Rainfall in April was 54 mm.", "54", "45"),
        (MONTHS, "Rainfall was lowest in March, at 36 mm.", "36", "38"),
        (PLAYERS, "Ann Lee had 24 points, six rebounds and three assists.", "six", "eight"),
        (PLAYERS, "Ann Lee and Sue Roth had 57 points combined.", "57", "55"),
    ],
)
def test_a_value_is_replaced_where_nothing_else_can_be_wrong(
    table: Table, text: str, old: str, new: str
) -> None:
    mended = repair_text(text, Source((table,)))
    assert [(edit.old, edit.new) for edit in mended.edits] == [(old, new)]
    assert mended.notes == ()


@pytest.mark.parametrize(
    ("table", "text", "offered"),
    [
        (
            MONTHS,
            "Rainfall was lowest in April at 38 mm.",
            ('"45" for "38"', '"March" for "April"'),
        ),
        (MONTHS, "Rainfall in April was 38 mm.", ('"45" for "38"', '"March" for "April"')),
        (PLAYERS, "Sue Roth had 24 points.", ('"31" for "24"', '"Ann Lee" for "Sue Roth"')),
        (PLAYERS, "In her last five games Ann Lee had 29 points.", ('"24" for "29"',)),
        (PLAYERS, "Ann Lee works for the Blues.", ('"Reds" for "Blues"',)),
    ],
)
def test_where_a_name_or_a_scope_may_be_wrong_all_corrections_are_offered(
    table: Table, text: str, offered: tuple[str, ...]
) -> None:
    mended = repair_text(text, Source((table,)))
    assert (mended.text, mended.edits) == (text, ())
    assert any(all(one in note for one in offered) for note in mended.notes), mended.notes


@pytest.mark.parametrize(
    "words",
    ["7-day mean of 7 points", "3 per 100 points", "4x1.5 points", "90+6 points", "24/7 points"],
)
def test_a_part_of_a_word_or_of_a_unit_is_no_value(words: str) -> None:
    text = f"The Lions had a {words}."
    number = words.split(" points")[0].rpartition(" ")[2] if "per" in words else words.split()[0]
    fault = re.search(r"\d+", number if "per" in words else words)
    assert fault is not None
    scorer = verifier(("Lions", fault[0], ("41",)))
    mended = repair_text(text, CLUBS, scorer)
    assert (mended.text, mended.edits, mended.notes) == (text, (), ())
