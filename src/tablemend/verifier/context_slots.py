"""What stands in the place beside a name where a column's values stand: "Ann Fay of Norvik".

A text need not name an attribute to give it. Where the values of other rows stand beside their
names behind the same words (*of*, *from*, a bracket, a comma), a name in that place is the value.
"""

from __future__ import annotations

import re
from collections import defaultdict
from functools import cached_property
from typing import NamedTuple

from tablemend.values.blanks import is_blank
from tablemend.values.cells import equal_values, read_value
from tablemend.values.inclusion import includes
from tablemend.values.sentences import Span
from tablemend.values.words import content_words
from tablemend.verifier.context_answer import AnswerReader
from tablemend.verifier.scope import AREAS, NAME

_GAP = re.compile(r"(?:'s|\u2019s)?[\s(,\u2013-]*(?:[a-z]+ ){0,3}")
_LONGEST = 20
_ENOUGH = 2  # other rows that show what a place is for
_PLACE_GAPS = frozenset({" of ", " from ", " ("})  # one row does where the column is of places
_LOOKED_AT = 20


class Slot(NamedTuple):
    """What stands in a column's place beside a name, and the sentence."""

    said: str
    sentence: int


class Slots:
    """The places of all columns of an answer.

    Args:
        answer: the answer beside its context.
    """

    def __init__(self, answer: AnswerReader) -> None:
        self._answer = answer
        self._found: dict[tuple[int, int], Slot | None] = {}

    def instead(self, row: int, column: int) -> Slot | None:
        """What stands where a cell's value would; ``None`` where that is the cell, or not plain."""
        if (row, column) not in self._found:
            self._found[row, column] = self._read(row, column)
        return self._found[row, column]

    def _read(self, row: int, column: int) -> Slot | None:
        cell, name = self._answer.table.rows[row][column], self._answer.name(row)
        value = read_value(cell)
        if is_blank(cell) or value.number is not None or value.dates or not name:
            return None
        found: list[Slot] = []
        for gap, rows in self._gaps[column].items():
            shown = rows - {row}
            is_place = gap in _PLACE_GAPS and self._is_of_places(column)
            if len(shown) >= (1 if is_place else _ENOUGH):
                found += self._behind(name, gap)
        if not found or len({slot.said for slot in found}) > 1:
            return None
        said = read_value(found[0].said)
        same = equal_values(value, said) or includes(value, said) or includes(said, value)
        return None if same else found[0]

    def _behind(self, name: str, gap: str) -> list[Slot]:
        reader = self._answer.reader
        found = []
        for span in reader.name_spans.get(name, [])[:_LOOKED_AT]:
            if reader.text.startswith(gap, span.end):
                match = NAME.match(reader.text, span.end + len(gap))
                if match and not self._is_entity(match[0]):
                    found.append(Slot(match[0], reader.sentence_at(span.start)))
        return found

    def _is_entity(self, said: str) -> bool:
        return said in self._answer.rows_of

    @cached_property
    def _gaps(self) -> dict[int, dict[str, set[int]]]:
        """For each column the words between names and values, and the rows where they stand."""
        gaps: dict[int, dict[str, set[int]]] = defaultdict(lambda: defaultdict(set))
        text = self._answer.reader.text
        for row in self._answer.rows:
            names = self._answer.reader.name_spans.get(self._answer.name(row), [])[:_LOOKED_AT]
            for column in self._answer.filled(row):
                value = read_value(self._answer.table.rows[row][column])
                if value.number is not None or value.dates:
                    continue
                starts = {span.start for span in self._answer.find(row, column)}
                for name in names:
                    for start in starts:
                        if gap := _gap(text, name, start):
                            gaps[column][gap].add(row)
        return gaps

    def _is_of_places(self, column: int) -> bool:
        words = content_words(self._answer.table.columns[column])
        return bool(words) and words[-1] in AREAS


def _gap(text: str, name: Span, start: int) -> str:
    """The words between a name and a value behind it; empty where these are too many."""
    if not name.end < start <= name.end + _LONGEST:
        return ""
    gap = text[name.end : start]
    return gap if _GAP.fullmatch(gap) else ""
