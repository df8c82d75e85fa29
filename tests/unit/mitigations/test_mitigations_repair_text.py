"""Repair of a summary: what is replaced, how it is spelled, what is left alone."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal

import pytest

from tablemend.evidence.source import Source
from tablemend.mitigations.repair_text import VERSION, find_edits, repair_text
from tablemend.mitigations.spelling import Bound, spell_alike
from tablemend.records import Claim, Evidence, Verdict, Verification
from tablemend.tables.table import Table
from tablemend.values.sentences import Span, sentence_spans

CLUBS = Source(
    (Table.of(["Club", "Points", "City"], [["Lions", "41", "Oslo"], ["Bears", "38", "Bergen"]]),)
)


@pytest.mark.parametrize(
    ("old", "new", "worded"),
    [
        ("17%", "12.4%", "12%"),
        ("17.2%", "12.4", "12.4%"),
        ("$1,452.40", "998.5", "$998.50"),
        ("460,000", "$341K", "341,000"),
        ("$460,000", "$341K", "$341,000"),
        ("$1.2 million", "900", "$900 million"),
        ("$1.2 million", "$0.9 million", "$0.9 million"),
        ("eight", "2", "two"),
        ("Eight", "2", "Two"),
        ("twelve", "41", "forty-one"),
        ("eight", "1,204", "1204"),
        ("4", "0.48", "0.48"),
        ("-3.5", "2.1", "2.1"),
        ("(3.5)", "2.1", "(2.1)"),
        ("3.5", "-2.1", "-2.1"),
        ("third", "5", "fifth"),
        ("3rd", "2nd", "2nd"),
        ("10th", "11", "11th"),
        ("900", "1200", "1,200"),
        ("1900", "1200", "1200"),
        ("Q3 2022", "Q1 2021", "Q1 2021"),
        ("the third quarter of 2022", "Q1 2021", "the first quarter of 2021"),
        ("March 4, 2021", "2020-05-06", "May 6, 2020"),
        ("March 2021", "2020-05", "May 2020"),
        ("2019", "2021", "2021"),
        ("Lions", "Bears", "Bears"),
        ("Lions", "bears", "Bears"),
        ("51 days", "38", "38 days"),
        ("-$21 million", "-$39 million", "-$39 million"),
        ("-0.020", "-0.028", "-0.028"),
        ("$1.5", "2", "$2"),
        ("$1.50", "2", "$2.00"),
        ("1.5", "2", "2"),
        ("25.6", "16.0", "16.0"),
        ("95", "85 mg/dL", "85"),
        ("197", "94 fL", "94"),
        ("3%", "1.4%", "1%"),
        ("3%", "0.4%", "0.4%"),
    ],
)
def test_values_are_worded_as_the_words_they_replace(old: str, new: str, worded: str) -> None:
    assert spell_alike(old, new) == worded


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("17", "Bears"),
        ("Lions", "38"),
        ("5 km", "3 kg"),
        ("March 2021", "Q1 2021"),
        ("3 to 5", "4"),
    ],
)
def test_what_cannot_be_worded_is_refused(old: str, new: str) -> None:
    assert spell_alike(old, new) is None


@pytest.mark.parametrize(
    ("old", "new", "bound", "worded"),
    [
        ("9,500", "17174", "under", "17,200"),
        ("$38,500", "$54,802", "over", "$54,800"),
        ("$2.09 million", "$2,376K", "under", "$2.38 million"),
        ("50", "41", "over", "40"),
        ("$100,000", "180812", "under", "$181,000"),
        ("$73,600", "54812", "about", "$54,800"),
        ("70", "4", "about", "4"),
        ("$1.80 million", "$2,573K", "about", "$2.57 million"),
        ("50", "40", "over", None),
        ("50", "4", "over", None),
    ],
)
def test_bounds_are_kept(old: str, new: str, bound: Bound, worded: str | None) -> None:
    assert spell_alike(old, new, bound=bound) == worded


def test_a_value_without_a_scale_is_taken_in_the_nearest() -> None:
    million, thousand = Decimal(10**6), Decimal(1000)
    assert spell_alike("$41.5 million", "5.93e+07", scales=(Decimal(1),)) == "$59.3 million"
    assert spell_alike("$23.4 million", "25193.3", scales=(thousand,)) == "$25.2 million"
    assert spell_alike("$23.4 million", "25.1", scales=(million,)) == "$25.1 million"


def test_a_fall_is_written_without_its_sign_and_digits_as_the_text_groups_them() -> None:
    assert spell_alike("3.5%", "-2.1", decline=True) == "2.1%"
    assert spell_alike("900", "1200", grouped=False) == "1200"


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
                    verdict = Verdict(
                        claim, "contradicted", "NUM", reason="so", spans=fault, expected=expected
                    )
            verdicts.append(verdict)
        return Verification(tuple(verdicts), "test")

    return verify


def test_one_place_with_one_value_is_replaced_and_nothing_else() -> None:
    text = "The Lions won 44 points.  The Bears won 38 points, too."
    mended = repair_text(text, CLUBS, verifier(("Lions", "44", ("41",))))
    assert mended.text == "The Lions won 41 points.  The Bears won 38 points, too."
    (edit,) = mended.edits
    assert (edit.old, edit.new, edit.start, edit.end) == ("44", "41", 14, 16)
    assert (edit.method, edit.error_type, edit.reason) == (VERSION, "NUM", "so")
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


@pytest.mark.parametrize(
    ("text", "words", "expected"),
    [
        ("The Lions had the highest score.", "highest", "lowest"),  # no name
        ("The Lions won 44 points.", "44", "Oslo"),  # no number
        ("Just over 41,000 saw Lions win 44 games.", "44", "41,250"),  # said already
    ],
)
def test_what_is_not_edited(text: str, words: str, expected: str) -> None:
    mended = repair_text(text, CLUBS, verifier(("Lions", words, (expected,))))
    assert (mended.text, mended.edits) == (text, ())


def test_an_edit_that_does_not_verify_better_is_undone_and_the_others_stay() -> None:
    text = "The Lions won 44 points. The Bears won 17 points."
    scorer = verifier(("Lions", "44", ("41",)), ("Bears", "17", ("38",)), ("Bears", "38", ("39",)))
    mended = repair_text(text, CLUBS, scorer)
    assert mended.text == "The Lions won 41 points. The Bears won 17 points."
    assert [edit.old for edit in mended.edits] == ["44"]
    assert [(edit.old, edit.new) for edit in mended.undone] == [("17", "38")]


def test_a_bound_goes_by_the_cell_and_not_by_what_is_rounded_already() -> None:
    source = Source((Table.of(["Name", "Votes"], [["Lewis", "202,806,871"], ["Iger", "5"]]),))
    text = "Lewis had votes of just over 142 million."
    scorer = verifier(("142", "142", ("203",)))

    def with_cell(text: str, source: Source) -> Verification:
        found = scorer(text, source)
        cell = (source.grids[0].evidence(0, 1),)
        return replace(found, verdicts=tuple(replace(v, evidence=cell) for v in found.verdicts))

    assert repair_text(text, source, with_cell).text == text.replace("142", "202")


def test_of_two_cells_the_one_that_is_not_said_beside_is_meant() -> None:
    source = Source((Table.of(["Year", "Votes"], [["2001", "51"], ["2002", "68"]]),))
    text = "Votes, at 40 in 2001, rose to 68 in 2002."
    scorer = verifier(("40", "40", ("68",)))

    def with_cells(text: str, source: Source) -> Verification:
        cells = tuple(source.grids[0].evidence(row, 1) for row in (0, 1))
        found = scorer(text, source)
        return replace(found, verdicts=tuple(replace(v, evidence=cells) for v in found.verdicts))

    assert repair_text(text, source, with_cells).text == text.replace("40", "51")
    assert repair_text(text, source, scorer).edits == ()


def test_with_the_program_verifier() -> None:
    text = "The Lions, from Oslo, won 44 points. The Bears won 38 points."
    mended = repair_text(text, CLUBS)
    assert mended.text == "The Lions, from Oslo, won 41 points. The Bears won 38 points."
    right = repair_text(mended.text, CLUBS)
    assert (right.text, right.edits) == (mended.text, ())


@pytest.mark.parametrize("text", ["", "   ", "東京は1位です。", "<b>44</b>", "44 " * 300])
def test_odd_texts_are_left_as_they_are(text: str) -> None:
    assert repair_text(text, CLUBS).text == text
    assert repair_text("The Lions won 44 points.", Source()).edits == ()


TOWNS = Source(
    (
        Table.of(
            ["Town", "Homes", "Rain"],
            [["Lund", "8,853", "12.5"], ["Moss", "4,100", "7.4"], ["Vik", "900", "16.8"]],
        ),
    )
)


@pytest.mark.parametrize(
    ("said", "number", "kept"),
    [
        ("Nine of the three towns had homes of more than 700.", "Nine", True),
        ("Three entries had homes of more than 9,100.", "9,100", True),
        ("Lund had homes of 8,853 on 2014 - 11 - 19.", "19", True),
        ("Lund had homes of more than 9,100.", "9,100", False),
        ("The homes of Lund came to 9,100.", "9,100", False),
    ],
)
def test_a_number_that_counts_bounds_or_dates_is_no_cell(
    said: str, number: str, kept: bool
) -> None:
    """What counts rows, or is a bound for them, is not replaced by one cell's value."""
    span = Span(said.index(number), said.index(number) + len(number))
    claim = Claim(said, 0, len(said), "numeric", said, span)
    evidence = (TOWNS.grids[0].evidence(0, 1),)
    wrong = Verdict(claim, "contradicted", "NUM", evidence, "", (span,), ("8,853",))
    edits = find_edits(said, TOWNS, Verification((wrong,), ""))
    assert len(edits) == (0 if kept else 1)


@pytest.mark.parametrize(
    ("text", "words", "expected", "place"),
    [
        ("North grew 10% in 2031.", "10%", "132", (0, 1)),  # a level is no change
        ("North sold 12,600 parcels.", "12,600", "3.8", (1, 1)),  # of another size
        ("There was one clerk per 12 parcels.", "12", "3.8", (1, 1)),  # a side of a ratio
        ("There was one clerk per 12 parcels.", "one", "3.8", (1, 1)),
    ],
)
def test_a_number_of_another_kind_or_size_is_no_mend(
    text: str, words: str, expected: str, place: tuple[int, int]
) -> None:
    row, column = place
    start = text.index(words)
    span = Span(start, start + len(words))
    source = Source((Table.of(("Area", "2031"), [["North", "132"], ["Parcels", "3.8"]]),))
    claim = Claim(text, 0, len(text), "numeric", text)
    evidence = (Evidence(f"Row, Column: {expected}", 0, row, column),)
    verdict = Verdict(claim, "contradicted", "NUM", evidence, "", (span,), (expected,))
    assert find_edits(text, source, Verification((verdict,), "test")) == []
