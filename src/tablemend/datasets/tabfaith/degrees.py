"""Which adjectives a quantity takes: most wins, the longest sales cycle, the highest rate."""

from __future__ import annotations

import re
from typing import NamedTuple

from tablemend.datasets.tabfaith import templates
from tablemend.datasets.tabfaith.sheet import Measure

_LASTING = re.compile(
    r"\b(?:cycle|duration|stay|runtime|running time|delay|wait|tenure|term)\b", re.I
)
_SIZED = re.compile(
    r"\b(?:area|size|population|budget|funding|inventory|capacity|staff|fleet|workforce|deal"
    r"|crowd|audience|pipeline|loan|stock|membership)\b",
    re.I,
)
_MANY = re.compile(
    r"\b(?:units|copies|tickets|passengers|visitors|viewers|subscribers|users|customers|votes)\b",
    re.I,
)
_PHYSICAL = re.compile(r"\b(?:mass|weight|distance|depth|length|diameter|volume)\b", re.I)


class Degrees(NamedTuple):
    """Words for more and less of a quantity, and for most and least of it."""

    more: tuple[str, ...]
    less: tuple[str, ...]
    most: tuple[str, ...]
    least: tuple[str, ...]


COUNTED = Degrees(templates.MORE, templates.FEWER, templates.MOST, templates.FEWEST)
LASTING = Degrees(templates.LONGER, templates.SHORTER, templates.LONGEST, templates.SHORTEST)
SIZED = Degrees(templates.LARGER, templates.SMALLER, templates.LARGEST, templates.SMALLEST)
PHYSICAL = Degrees(templates.GREATER, templates.SMALLER, templates.GREATEST, templates.SMALLEST)
MANY = Degrees(templates.HIGHER, templates.LOWER, templates.MOST, templates.FEWEST)
"""Things in millions: "the most units sold", but no "40 million more units sold"."""
GRADED = Degrees(templates.HIGHER, templates.LOWER, templates.HIGHEST, templates.LOWEST)


def degrees_of(measure: Measure | None) -> Degrees:
    """The adjectives that go with a measure; ``None`` for a column that is a period."""
    if measure is None:
        return GRADED
    if measure.counted:
        return COUNTED
    if re.search(r"\b(?:rate|turnover|ratio)\b", measure.label, re.I):
        return GRADED
    for words, degrees in (
        (_MANY, MANY),
        (_LASTING, LASTING),
        (_SIZED, SIZED),
        (_PHYSICAL, PHYSICAL),
    ):
        if words.search(measure.label):
            return degrees
    return GRADED
