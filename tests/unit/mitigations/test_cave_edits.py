"""Edits of a text: each has its place in the original, and nothing else changes."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tablemend.mitigations.edits import Edit, add_edit, apply_edits, narrowed


def edit(start: int, end: int, old: str, new: str, reason: str = "why") -> Edit:
    return Edit(span=(start, end), old=old, new=new, reason=reason, method="test/1", type="NUM")


def test_edits_change_their_own_words_alone() -> None:
    text = "Alba has 5 points and Sella 7."
    edits = [edit(28, 29, "7", "eight"), edit(9, 10, "5", "41")]
    assert apply_edits(text, edits) == "Alba has 41 points and Sella eight."
    with pytest.raises(ValueError, match="is not alone"):
        apply_edits(text, [edit(8, 9, "5", "6")])
    with pytest.raises(ValueError, match="is not alone"):
        apply_edits(text, [edit(9, 10, "5", "6"), edit(9, 17, "5 points", "6")])


def test_a_second_edit_of_the_same_words_becomes_one_with_the_first() -> None:
    text = "Alba has 5 points and Sella 7."
    first = add_edit(text, (), edit(9, 10, "5", "forty"))
    second = add_edit(text, first, edit(5, 14, "has forty", "had 41", "again"))
    assert second == (edit(5, 10, "has 5", "had 41", "why; again"),)
    assert add_edit(text, second, edit(5, 11, "had 41", "has 5")) == ()


def test_an_edit_is_narrowed_to_the_words_that_change() -> None:
    wide = edit(0, 17, "Alba has 5 points", "Alba has 41 points")
    assert narrowed(wide) == edit(9, 10, "5", "41")
    assert narrowed(edit(3, 6, "a b", "a b c")) == edit(6, 6, "", " c")
    assert narrowed(edit(3, 9, "12.4 %", "12.5 %")) == edit(3, 7, "12.4", "12.5")


@given(st.text("ab ", min_size=1, max_size=30), st.data())
def test_edits_one_after_the_other_are_the_edits_of_the_original(
    text: str, data: st.DataObject
) -> None:
    now, edits = text, ()
    for _ in range(4):
        start = data.draw(st.integers(0, len(now)))
        end = data.draw(st.integers(start, len(now)))
        new = data.draw(st.text("xy", max_size=3))
        edits = add_edit(text, edits, edit(start, end, now[start:end], new))
        now = now[:start] + new + now[end:]
        assert apply_edits(text, edits) == now
        places = [one.span for one in edits]
        assert all(one[1] < other[0] for one, other in pairwise(places))
