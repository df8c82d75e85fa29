"""Every annotator sees every input once; every pair has as many annotators as any other."""

from __future__ import annotations

from collections import Counter

import pytest

from tablemend.annotation.latin_square import assign
from tablemend.datasets.logic.pair import Pair
from tablemend.errors import TablemendError


def _pairs(inputs: int, systems: int) -> list[Pair]:
    return [
        Pair("hotel", f"Name: {number}", f"{system} on {number}", system)
        for number in range(inputs)
        for system in "abcdefgh"[:systems]
    ]


@pytest.mark.parametrize(("inputs", "systems", "annotators"), [(5, 5, 15), (7, 3, 6), (4, 1, 2)])
def test_the_square_is_balanced(inputs: int, systems: int, annotators: int) -> None:
    square = assign(_pairs(inputs, systems), annotators)
    assert len(square) == annotators
    for own in square:
        assert len({pair.input for pair in own}) == len(own) == inputs
        shares = Counter(pair.system for pair in own)
        assert max(shares.values()) - min(shares[one] for one in "abcdefgh"[:systems]) <= 1
    seen = Counter(pair.id for own in square for pair in own)
    assert len(seen) == inputs * systems
    assert set(seen.values()) == {annotators // systems}


def test_orders_differ_and_are_seeded() -> None:
    pairs = _pairs(8, 2)
    square = assign(pairs, 4, seed=1)
    assert square == assign(pairs, 4, seed=1) != assign(pairs, 4, seed=2)
    assert len({tuple(pair.input for pair in own) for own in square}) == 4


def test_what_makes_no_square_is_refused() -> None:
    pairs = _pairs(3, 2)
    with pytest.raises(TablemendError, match="no output of b for the input 'Name: 0'"):
        assign([pairs[0], *pairs[2:]], 2)
    with pytest.raises(TablemendError, match="two outputs of a for one input"):
        assign([*pairs, Pair("hotel", "Name: 0", "another", "a")], 2)
