"""Each pair of ``tests/data/faith_pairs.yaml`` is as Algorithm 1 of FAITH has it.

A record: the masked value, an answer, what :func:`compare` has to say, and ``why``. The headings
say what the pairs below them test.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from tablemend.tasks.faith.sample import compare

FILE = Path(__file__).parents[3] / "data" / "faith_pairs.yaml"
GROUPS: dict[str, list[dict[str, Any]]] = yaml.safe_load(FILE.read_text("utf-8"))
PAIRS = [pair for pairs in GROUPS.values() for pair in pairs]
TRUTHS = list(dict.fromkeys(pair["truth"] for pair in PAIRS))
KEYS = {"truth", "answer", "value", "unit", "scale", "tolerant", "why"}
THOUSANDS = st.integers(1, 9_999_999)
"""Amounts of money in thousands of dollars, which have an exact spelling in millions too."""


def spellings(thousands: int) -> list[str]:
    """An amount of money as reports write it, none of them rounded."""
    millions, billions = f"{thousands / 1e3:,.3f}", f"{thousands / 1e6:.6f}"
    return [
        f"${thousands:,},000",
        f"{thousands}000 dollars",
        f"${thousands:,} thousand",
        f"US${thousands:,}K",
        f"${millions} million",
        f"USD {millions} million",
        f"{millions} million U.S. dollars",
        f"approximately ${millions}M",
        f"**${millions}\u00a0million**",
        f"${billions} billion",
        f"{billions} bn USD",
    ]


@pytest.mark.parametrize(
    "pair",
    [
        pytest.param(pair, id=f"{group}: {pair['truth']} ~ {pair['answer'] or 'nothing'}")
        for group, pairs in GROUPS.items()
        for pair in pairs
    ],
)
def test_a_pair_is_as_judged_by_hand(pair: dict[str, Any]) -> None:
    match = compare(pair["truth"], pair["answer"])
    judged = (pair["value"], pair["unit"], pair.get("scale", False))
    assert (match.value, match.unit, match.scale) == judged, pair["why"]
    assert match.tolerant == pair.get("tolerant", match.tolerant), pair["why"]
    assert match.right == (pair["value"] and pair["unit"])


@pytest.mark.parametrize("truth", TRUTHS)
def test_every_truth_is_met_by_itself_by_value_and_unit(truth: str) -> None:
    match = compare(truth, truth)
    assert match.right and match.tolerant and not match.scale


def test_the_table_has_enough_pairs_of_both_outcomes_and_each_of_them_once() -> None:
    assert len(PAIRS) >= 120
    right = sum(pair["value"] and pair["unit"] for pair in PAIRS)
    assert 60 <= right <= len(PAIRS) - 60
    for outcome in ("value", "unit"):
        assert {pair[outcome] for pair in PAIRS} == {True, False}
    assert sum(pair.get("scale", False) for pair in PAIRS) >= 10
    assert max(Counter((pair["truth"], pair["answer"]) for pair in PAIRS).values()) == 1


def test_every_pair_says_what_it_is_and_why_in_known_words() -> None:
    for pair in PAIRS:
        assert set(pair) <= KEYS and {"truth", "answer", "value", "unit", "why"} <= set(pair)
        assert not (pair["value"] and (pair.get("scale") or pair.get("tolerant") is False)), pair


def test_a_truth_without_a_number_is_refused() -> None:
    with pytest.raises(ValueError, match="no number in 'several million'"):
        compare("several million", "$5 million")


@given(THOUSANDS)
def test_every_spelling_of_an_amount_of_money_is_the_same_amount(thousands: int) -> None:
    first, *others = spellings(thousands)
    for other in others:
        assert compare(first, other).right, (first, other)
        assert compare(other, first).right, (other, first)


@given(THOUSANDS, st.integers(1, 9))
def test_another_last_digit_is_another_amount_in_every_spelling(tens: int, last: int) -> None:
    thousands, wrong = tens * 10 + last, tens * 10 + last % 9 + 1
    for truth, answer in zip(spellings(thousands), reversed(spellings(wrong)), strict=True):
        match = compare(truth, answer)
        assert not match.value and not match.scale and match.unit, (truth, answer)
