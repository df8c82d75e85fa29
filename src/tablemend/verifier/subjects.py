"""Which part of a sentence speaks of which row: "A is in B and C in D", "A and B won 5 and 7"."""

from __future__ import annotations

from itertools import pairwise

from tablemend.verifier.frame import Frame
from tablemend.verifier.mentions import Phrase

_LEADS = frozenset("and while whereas but or".split())
_ARTICLES = frozenset({"the", "a", "an"})


def own_clauses(frame: Frame) -> tuple[tuple[int, int], ...]:
    """Clauses that say the same sort of thing of a row each, from its name on; none or several."""
    names = [p for p in frame.phrases if _names_one_row(frame, p)]
    cells = [p for p in frame.phrases if all(m.column != frame.view.key for m in p.mentions)]
    ends = [*(p.first for p in names[1:]), len(frame.words)]
    cuts: list[int] = []
    for (one, other), end in zip(pairwise(names), ends[1:], strict=True):
        said = _columns(frame, cells, one.last, other.first)
        if said & _columns(frame, cells, other.last, end) and _leads(frame, other.first):
            cuts += [other.first] if cuts else [one.first, other.first]
    return tuple(pairwise([*cuts, len(frame.words)])) if cuts else ()


def _names_one_row(frame: Frame, phrase: Phrase) -> bool:
    return phrase.mentions[0].column == frame.view.key and len(phrase.mentions[0].rows) == 1


def _columns(frame: Frame, cells: list[Phrase], first: int, last: int) -> set[int]:
    """The columns of what is said behind a name; a mere list of names says nothing."""
    inside = [p for p in cells if first <= p.first and p.last <= last]
    said = [p for p in inside if not _LEADS.issuperset(frame.words[first : p.first])]
    return {m.column for p in said for m in p.mentions}


def _leads(frame: Frame, place: int) -> bool:
    """Whether a new clause can begin at a name."""
    while place > 0 and frame.words[place - 1] in _ARTICLES:
        place -= 1
    before = frame.between(place - 1, place) if place else ""
    return place > 0 and (frame.words[place - 1] in _LEADS or "," in before or ";" in before)


def in_brackets(frame: Frame, one: tuple[int, int], other: tuple[int, int]) -> bool:
    """Whether one of two opens a bracket right behind the other: "East (1,780 units)"."""
    low, high = sorted((one, other))
    return low[1] == high[0] and "(" in frame.between(high[0] - 1, high[0])
