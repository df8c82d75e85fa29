"""What words of comparison are about where no column is named: "heavier" is about weights."""

from __future__ import annotations

import re
from collections.abc import Sequence

from tablemend.verification.indexing import Heading
from tablemend.verification.lexicon import terms
from tablemend.verification.phrases.shape import Cell, Part, Shape


def _terms(words: str) -> frozenset[str]:
    return frozenset(term for word in words.split() for term in terms(word))


_ABOUT: tuple[tuple[re.Pattern[str], frozenset[str]], ...] = (
    (re.compile(r"outscor|scorer"), _terms("points goals score")),
    (re.compile(r"heav|light|weigh"), _terms("weight mass")),
    (re.compile(r"pric|cheap|expensive|cost"), _terms("price cost")),
    (re.compile(r"warm|hot"), _terms("high temperature maximum")),
    (re.compile(r"cold|cool"), _terms("low temperature minimum")),
    (re.compile(r"wet|rain|drier|driest"), _terms("rain precipitation rainfall")),
    (re.compile(r"windi"), _terms("wind")),
    (re.compile(r"outs[oe]ld|selling|sold"), _terms("sales units")),
    (re.compile(r"gross"), _terms("gross")),
    (re.compile(r"populous"), _terms("population")),
    (re.compile(r"old|young"), _terms("age")),
    (re.compile(r"tall|short"), _terms("height")),
    (
        re.compile(r"larg|big|small"),
        _terms("size population area parameters params employees capacity"),
    ),
    (re.compile(r"beat|edged|ahead|behind|overt|victor|defeat"), _terms("points votes")),
)
_INVERSE = _terms("rank pos position place ranking seed finish")
_GOOD_WHEN_LOW = _terms(
    "loss error perplexity latency wer rmse mae mse churn time conceded price cost weight defects"
)
_PACE = re.compile(r"faster|slower|fastest|slowest")
_CLOCKED, _SPEED = _terms("time duration latency seconds minutes"), _terms("speed pace mph kmh")
_JUDGING = re.compile(
    r"better|worse|outperform|underperform|beat|ahead|behind|topped|edg|trail|lag"
)


def measure_columns(shape: Shape, word: str) -> frozenset[int] | None:
    """Columns, of a transposed table rows, that a word is about; ``None`` where it says nothing."""
    for pattern, about in _ABOUT:
        if pattern.search(word):
            index = shape.linking.index.terms
            number = shape.grid.number
            found = {
                heading.row if shape.grid.transposed else heading.column
                for heading, said in index.items()
                if heading.grid == number
                and said & about
                and (heading.row >= 0 if shape.grid.transposed else heading.column in shape.numeric)
            }
            return frozenset(found)
    return None


def default_measure(shape: Shape, parts: Sequence[Part], word: str) -> list[Part]:
    """What is compared where the sentence names no column: by the word, else the only numbers."""
    found = measure_columns(shape, word)
    if not found or len(found) != 1:
        return []
    if shape.grid.transposed:
        return [Part("R", -1, -1, rows=found)]
    return [Part("C", -1, -1, columns=found)]


def is_inverse(shape: Shape, cell: Cell, word: str) -> bool | None:
    """Whether a word turns round with what it is about; ``None`` where that is not clear.

    "Ahead" in a column of places is the smaller number; "better" in one of errors may be.
    """
    named = shape.terms(cell)
    if _PACE.match(word):
        return True if named & _CLOCKED else False if named & _SPEED else None
    if named & _INVERSE:
        return True
    if named & _GOOD_WHEN_LOW and _JUDGING.search(word):
        return None
    return False


def is_place(shape: Shape, cell: Cell) -> bool:
    """Whether a cell says a place in a ranking."""
    return bool(shape.terms(cell) & _INVERSE)


def heading_terms(shape: Shape, column: int) -> frozenset[str]:
    """The terms of a column's header."""
    return shape.linking.index.terms.get(Heading(shape.grid.number, -1, column), frozenset())
