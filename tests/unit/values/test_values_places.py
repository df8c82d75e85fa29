"""Sentences, and where a running text states a value."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tablemend.values.places import Places
from tablemend.values.text import align, paragraph_spans, sentence_spans
from tablemend.values.units import header_unit


def sentences(text: str) -> list[str]:
    return [text[start:end] for start, end in sentence_spans(text)]


def test_sentences_keep_abbreviations_and_numbers_whole() -> None:
    said = [
        "Dr. Mara Venn joined the U.S. Army in 1998.",
        "She earns $1.2 million at Norvik Inc. and lives in St. Ives.",
        "The No. 5 mill was built by J. R. Holm.",
        "Approx. 40 km away lies Corran.",
        "Hale v. The State was decided by J. R. Holm in the U.S. Supreme Court.",
        "Its owner is Lohust Corp.",
        "The trial is in Phase I.",
        "For now it sails at 5 p.m.",
        "It is late.",
        "The jump came to 8.42 m.",
        "Holm's load was 5 kg.",
        "Is it open?",
    ]
    assert sentences(" ".join(said)) == said
    assert sentences("One.\n\nTwo words\n\nThree") == ["One.", "Two words", "Three"]
    assert sentences(" \n\n ") == []


@settings(max_examples=100, deadline=None)
@given(st.text(max_size=80))
def test_spans_are_in_order_and_hold_all_that_is_printed(text: str) -> None:
    for spans in (sentence_spans(text), paragraph_spans(text)):
        position = 0
        for start, end in spans:
            assert position <= start < end and not text[position:start].strip()
            assert text[start:end] == text[start:end].strip()
            position = end
        assert not text[position:].strip()
    assert len(align(text)) == len(text)


@pytest.mark.parametrize(
    ("cell", "header", "text", "found"),
    [
        ("1200", "Seats", "It seats 1,200 people.", "1,200"),
        ("1,200,000", "Visitors", "It drew 1.2 million visitors.", "1.2 million"),
        ("5.2", "Revenue (USD million)", "It made $5.2 million.", "$5.2 million"),
        ("5.2", "Revenue (USD million)", "It made $5,200,000.", "$5,200,000"),
        ("62.5", "Length (m)", "It is 62.5 m long.", "62.5 m"),
        ("5", "Growth (%)", "It grew by 5 percent.", "5 percent"),
        ("-3.2", "Growth (%)", "The economy contracted by 3.2%.", "3.2%"),
        ("-3.2", "Growth (%)", "Growth was \u22123.2%.", "\u22123.2%"),
        ("12", "Goals", "It scored twelve goals.", "twelve"),
        ("3", "Rank", "It ranked third.", "third"),
        ("0", "Losses", "It had no losses.", "no"),
        ("1998", "Opened", "It opened on 4 March 1998.", "4 March 1998"),
        ("2021-03-04", "Opened", "It opened on March 4, 2021.", "March 4, 2021"),
        ("March 2021", "Opened", "It opened on 2021-03-04.", "2021-03-04"),
        ("S\u00e3o Jo\u00e3o", "City", "It is in Sao Joao.", "Sao Joao"),
        ("Zo\u00eb", "City", "caf\u00e9 \u2014 ZO\u00cb!", "ZO\u00cb"),
        ("Fighter", "Type", "Both are fighters.", "fighters"),
        ("U.S.", "Country", "It is the US firm.", "US"),
        ("Norvik Inc. (NVK)", "Firm", "The firm Norvik Inc. grew.", "Norvik Inc"),
        ("Q2 2021", "Quarter", "In Q2 2021 it grew, after Q1 2021.", "Q2 2021"),
        ("Selby Town", "Club", "Selby Town's captain left.", "Selby Town"),
        ("A-", "Rating", "It holds an A- rating.", "A-"),
        ("7", "", "It has 17 seats and 7.5 rooms.", None),
        ("3", "", "It opened on 3 May 1998.", None),
        ("1234567", "", "It drew 1.2 million visitors.", None),
        ("male", "", "The female lead won.", None),
        ("2021-03-04", "", "It opened in March 2021.", None),
        ("-3.2", "", "It grew by 3.2 %.", None),
        ("A-", "", "A second one.", None),
        ("5 km", "", "It weighs 5 kg.", None),
        ("n/a", "", "n/a", None),
    ],
)
def test_a_value_is_found_as_it_is_spelled_and_no_other(
    cell: str, header: str, text: str, found: str | None
) -> None:
    spans = Places(text).find(cell, header_unit(header))
    assert [text[start:end] for start, end in spans] == ([found] if found else [])


def test_many_names_that_begin_alike_are_found_in_time() -> None:
    count = 4000
    text = " ".join(f"Player {number} scored {number + 7} points." for number in range(count))
    places = Places(text)
    start = time.process_time()
    for number in range(count):
        assert len(places.find(f"Player {number}")) == 1
        assert places.find(str(number + 7))
    assert time.process_time() - start < 5
