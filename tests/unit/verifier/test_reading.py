"""What a text states: amounts with their hedges and pairs, periods, idioms of headers."""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tablemend.values.numbers import parse_number
from tablemend.values.units import header_unit
from tablemend.verifier.lexicon import header_terms, stem, terms
from tablemend.verifier.number_agreement import compare
from tablemend.verifier.reading import Reading


def amounts(text: str) -> list[tuple[str, Decimal, str, str]]:
    return [
        (text[a.start : a.digits_end], a.value, a.hedge or a.role, a.pair)
        for a in Reading(text).amounts
        if a.role != "article"
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("It sold 1.2 million cars.", [("1.2", Decimal(1200000), "value", "")]),
        ("She had about 30 points.", [("30", Decimal(30), "about", "")]),
        ("It rose to just over $5.", [("$5", Decimal(5), "just over", "")]),
        ("at least three goals", [("three", Decimal(3), "at least", "")]),
        ("up to 12 hours", [("12", Decimal(12), "at most", "")]),
        ("in the third round", [("third", Decimal(3), "ordinal", "")]),
        ("a pair of steals", [("a pair", Decimal(2), "value", "")]),
        ("no steals", [("no", Decimal(0), "value", "")]),
        ("no other team", []),
        ("one of the best in this one.", []),
        ("COVID-19 cases", []),
        ("won 113 - 107", [("113", 113, "value", "score"), ("107", 107, "value", "score")]),
        ("on 11-of-20 shooting", [("11", 11, "value", "of"), ("20", 20, "value", "of")]),
        ("more draws than B, 8 to 6", [("8", 8, "value", "versus"), ("6", 6, "value", "versus")]),
        ("between 3 and 5", [("3", 3, "value", "range"), ("5", 5, "value", "range")]),
        ("in 2019", [("2019", 2019, "year", "")]),
        ("it amounted to 1834", [("1834", 1834, "value", "")]),
    ],
)
def test_amounts(text: str, expected: list[tuple[str, Decimal, str, str]]) -> None:
    assert amounts(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("on Friday, March 5, 2021", [("weekday", "friday"), ("date", "2021-03-05")]),
        ("at 5:30 pm", [("clock", "17:30")]),
        ("in the third quarter of 2020", [("quarter", "2020-q3")]),
        ("in 2023 Q4 and Q1 2024", [("quarter", "2023-q4"), ("quarter", "2024-q1")]),
        ("since 1999", [("year", "1999")]),
        ("on June 19 and 20", [("date", "--06-19"), ("date", "--06-20")]),
        ("it may march on", []),
        ("in May", [("month name", "--05")]),
        ("a ratio of 45:10", []),
    ],
)
def test_periods(text: str, expected: list[tuple[str, str]]) -> None:
    assert [(m.kind, m.readings[0]) for m in Reading(text).moments] == expected


@settings(max_examples=60, deadline=None)
@given(st.text(max_size=80))
def test_every_place_is_one_of_the_text(text: str) -> None:
    reading = Reading(text)
    for found in (*reading.amounts, *reading.moments):
        assert 0 <= found.start < found.end <= len(text)


@pytest.mark.parametrize(
    ("header", "words"),
    [
        ("PTS", "points"),
        ("REB", "boards"),
        ("homeScore", "home score"),
        ("OREB", "offensive rebounds"),
        ("Revenue ($ millions)", "revenue"),
        ("p.e.i", "pei"),
        ("TO", "turnover"),
        ("Date of birth", "date born"),
    ],
)
def test_headers_and_words_share_their_terms(header: str, words: str) -> None:
    said = {term for word in words.split() for term in terms(word)}
    assert set(header_terms(header)) == said


def test_other_words_stay_apart() -> None:
    assert set(header_terms("Wins")).isdisjoint(header_terms("Losses"))
    assert stem("cities") == stem("city") != stem("citizen")
    assert header_terms("Min") != header_terms("Minimum")


@pytest.mark.parametrize(
    ("said", "cell", "header", "outcome"),
    [
        ("12", "12.4", "", "same"),
        ("12", "12.7", "", "near"),
        ("13", "12.4", "", "different"),
        ("12.4", "12", "", "different"),
        ("1.2 million", "1,234,567", "", "same"),
        ("1.3 million", "1,234,567", "", "different"),
        ("12%", "12.4", "Growth %", "same"),
        ("48%", "0.48", "", "same"),
        ("$5.2 million", "5,200", "Revenue ($ thousands)", "same"),
        ("$5.2 million", "6,100", "Revenue ($ thousands)", "different"),
        ("5 km", "5000 m", "", "same"),
        ("5 km", "5 kg", "", "unit"),
        ("$5", "€5", "", "unit"),
        ("1,200", "1,234", "", "near"),
        ("about 1,200", "1,234", "", "same"),
        ("about 50", "30", "", "different"),
        ("over 50", "53", "", "same"),
        ("over 50", "49", "", "different"),
        ("over 50", "90", "", "near"),
        ("just over 50", "90", "", "different"),
        ("over 23.4 million", "26,600,000", "", "different"),
        ("at least 5", "9", "", "same"),
        ("at most 5", "9", "", "different"),
        ("It fell by 5", "-5", "", "same"),
        ("It rose by 5", "-5", "", "different"),
    ],
)
def test_agreement_to_the_stated_precision(said: str, cell: str, header: str, outcome: str) -> None:
    (amount,) = Reading(f"was {said} here").amounts
    number = parse_number(cell)
    assert number is not None
    assert compare(amount, number, header_unit(header)) == outcome
