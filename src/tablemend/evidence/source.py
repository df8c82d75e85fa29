"""What claims are verified against: tables, a running text, or both; and where to look in it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, Generic, TypeVar

from tablemend.evidence.grid import Grid
from tablemend.records import Evidence
from tablemend.tables.table import Table
from tablemend.values.numbers import Number, plain_digits
from tablemend.values.places import Places
from tablemend.values.text import Span, sentence_spans, singular, tokens_of
from tablemend.values.units import ONE, PLAIN, Unit

TOP = 3
"""Cells, and sentences, that a claim is scored by (TabFaith 4.1, step 2)."""


@dataclass(frozen=True)
class Source:
    """The truth for a document.

    Attributes:
        tables: one or more tables; a JSON document becomes several.
        text: a context in prose; empty where the tables are all there is.
        query: what an answer table, or one value, was asked for; empty for a summary.
    """

    tables: tuple[Table, ...] = ()
    text: str = ""
    query: str = ""

    @cached_property
    def grids(self) -> tuple[Grid, ...]:
        """The tables, read for verification."""
        return tuple(Grid(table, number) for number, table in enumerate(self.tables))

    def find_cells(self, statement: str, k: int = TOP) -> list[Evidence]:
        """The ``k`` cells that have most to do with a statement; see :meth:`Index.find`."""
        found = self._cells.find(statement, k)
        return [self.grids[table].evidence(row, column) for table, row, column in found]

    def find_sentences(self, statement: str, k: int = TOP) -> list[Evidence]:
        """The ``k`` sentences of the text that have most to do with a statement."""
        return [
            Evidence(self.text[start:end], start=start, end=end)
            for start, end in self._sentences.find(statement, k)
        ]

    @cached_property
    def _cells(self) -> Index[CellPlace]:
        return Index(_cells(self.grids))

    @cached_property
    def _sentences(self) -> Index[Span]:
        spans = sentence_spans(self.text)
        return Index((span, _tokens(self.text[span.start : span.end])) for span in spans)


Piece = TypeVar("Piece")
CellPlace = tuple[int, int, int]
"""Number of the table, row, column."""

LONGEST_CELL = 2_000
"""Characters of a cell, and of a claim, that are indexed."""

_LENGTH_WEIGHT = 0.3
"""BM25's b: long headers say more, they do not dilute what they say (chosen on HiTab)."""

_COMMON = frozenset(
    "a an and are as at be been but by did do does for from had has have he her his i in into is "
    "it its of on or she so than that the their them there these they this those to was we were "
    "what when where which while who will with".split()
)


class Index(Generic[Piece]):
    """Pieces of evidence, found by their words and numbers.

    Args:
        tokens: of each piece, in the source's order.
    """

    def __init__(self, tokens: Iterable[tuple[Piece, list[str]]]) -> None:
        found = list(tokens)
        self._pieces = [piece for piece, _ in found]
        documents = [own for _, own in found]
        self._known = {token for own in documents for token in own}
        if self._known:
            import bm25s  # a quarter of a second that the program verifier need not pay

            self._model: Any = bm25s.BM25(b=_LENGTH_WEIGHT)
            self._model.index(documents, show_progress=False)

    def find(self, statement: str, k: int) -> list[Piece]:
        """The ``k`` pieces that share most with a statement, the best first; of equals the first.

        Fewer come back where fewer share a word or a number with it.
        """
        query = [token for token in dict.fromkeys(_tokens(statement)) if token in self._known]
        if not query:
            return []
        scores = self._model.get_scores(query)
        best = (-scores).argsort(kind="stable")[: max(k, 0)]
        return [self._pieces[place] for place in best if scores[place] > 0]


def _cells(grids: Sequence[Grid]) -> Iterator[tuple[CellPlace, list[str]]]:
    """The filled cells of tables: by their rows' names, columns' headers, and values."""
    for number, grid in enumerate(grids):
        headers = [_words(column.header) for column in grid.columns]
        for line in grid.lines:
            names = [word for name in grid.names(line.index) for word in _words(name)]
            for column in grid.columns:
                value = grid.value(line.index, column.index)
                if value.blank:
                    continue
                tokens = [*names, *headers[column.index]]
                if value.number is not None:
                    tokens += _number_tokens(value.number, grid.unit(line.index, column.index))
                elif column.kind == "number":  # else it stands among the names
                    tokens += _words(value.text)
                yield (number, line.index, column.index), tokens


def _words(text: str) -> tuple[str, ...]:
    return _words_of_short(text[:LONGEST_CELL])


@lru_cache(maxsize=1 << 14)
def _words_of_short(text: str) -> tuple[str, ...]:
    return tuple(singular(word) for word in tokens_of(text).words if word not in _COMMON)


def _tokens(statement: str) -> list[str]:
    """Words, and the numbers that the text states."""
    words = list(_words(statement))
    for stated in Places(statement[:LONGEST_CELL]).numbers:
        words += _number_tokens(stated.number, PLAIN)
    return words


def _number_tokens(number: Number, unit: Unit) -> list[str]:
    """A number as tokens: its digits, and its size to three and to two digits.

    So "$120.8 billion" finds 120824 under "in millions"; the last token, without the size, finds
    it where no unit is stated.
    """
    scaled = number.value * unit.scale if number.unit.scale == ONE else number.value
    tokens = [plain_digits(abs(number.value))]
    if scaled:
        three = f"{abs(scaled):.2e}"
        tokens += [f"={three}", f"={abs(scaled):.1e}", f"~{three.partition('e')[0]}"]
    return tokens
