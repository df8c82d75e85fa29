"""The wording of summaries, read from templates.yaml, which says what its marks mean."""

from __future__ import annotations

import re
from importlib.resources import files
from typing import NamedTuple

import yaml

from tablemend.datasets.tabfaith.sheet import Measure

_DATA = yaml.safe_load(files(__package__).joinpath("templates.yaml").read_text("utf-8"))
Pool = tuple[str, ...]

TEMPLATES: dict[str, Pool] = {name: tuple(pool) for name, pool in _DATA["sentences"].items()}
PAIRS: dict[str, tuple[Pool, Pool]] = {
    name: (tuple(more), tuple(less)) for name, (more, less) in _DATA["pairs"].items()
}
"""Cues of more and of less; earlier is less."""
ALL, NONE = map(tuple, _DATA["contraries"][0])
MOST_OF, FEWER_THAN_HALF = map(tuple, _DATA["contraries"][1])
CONTRARIES: tuple[tuple[Pool, Pool], ...] = (
    *PAIRS.values(),
    *((tuple(one), tuple(other)) for one, other in _DATA["contraries"]),
)
ORDINALS: Pool = tuple(_DATA["ordinals"])
EVERY: Pool = tuple(_DATA["every"])
EXPECTED: Pool = tuple(_DATA["expected"])
FLAGGED = "flagged"
"""What stands for the label of a column of flags."""

_SIGNS = {
    cue: sign
    for pair in PAIRS.values()
    for sign, pool in zip((1, -1), pair, strict=True)
    for cue in pool
    if cue != "at most"  # not taken for either, so that no sentence with it is kept
}


def sign_of(cue: str) -> int:
    """1 for a cue of more, -1 for one of less, 0 for neither; "rose every year" is one of more."""
    cue = cue.casefold()
    return next((sign for known, sign in _SIGNS.items() if f"{cue} ".startswith(f"{known} ")), 0)


class Degrees(NamedTuple):
    """Pairs of words for more and less of a quantity, and for most and least of it."""

    compare: tuple[Pool, Pool]
    most: tuple[Pool, Pool]


_BY_LABEL = [
    (
        re.compile(rf"\b(?:{entry['words']})\b", re.I),
        Degrees(PAIRS[entry["compare"]], PAIRS[entry["most"]]),
    )
    for entry in _DATA["degrees"]
]


def degrees_of(measure: Measure | None) -> Degrees:
    """The adjectives that go with a measure; ``None`` for a column that is a period."""
    if measure is not None and measure.counted:
        return Degrees(PAIRS["more"], PAIRS["most"])
    label = "" if measure is None else measure.label
    plain = Degrees(PAIRS["higher"], PAIRS["highest"])
    return next((degrees for words, degrees in _BY_LABEL if words.search(label)), plain)
