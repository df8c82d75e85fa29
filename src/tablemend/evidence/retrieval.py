"""BM25 indices over the cells of tables and the sentences of a text (TabFaith 4.1, step 2)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from tablemend.evidence.grid import Grid
from tablemend.records import Evidence
from tablemend.values.numbers import Number, plain_digits
from tablemend.values.places import Places, singular
from tablemend.values.sentences import sentence_spans
from tablemend.values.text import tokens_of
from tablemend.values.units import ONE, Unit

LONGEST_CELL = 2_000
"""Characters of a cell, and of a claim, that are indexed."""

_LENGTH_WEIGHT = 0.3
"""BM25's b: long headers say more, they do not dilute what they say (chosen on HiTab)."""

_COMMON = frozenset(
    "a an and are as at be been but by did do does for from had has have he her his i in into is "
    "it its of on or she so than that the their them there these they this those to was we were "
    "what when where which while who will with".split()
)


class CellIndex:
    """The filled cells of tables, indexed.

    Args:
        grids: the tables.
    """

    def __init__(self, grids: Sequence[Grid]) -> None:
        self._grids = grids
        self._places: list[tuple[int, int, int]] = []
        documents: list[list[str]] = []
        for which, grid in enumerate(grids):
            headers = [list(_words(column.header)) for column in grid.columns]
            for line in grid.lines:
                names = [word for name in grid.names(line.index) for word in _words(name)]
                for column in grid.columns:
                    value = grid.value(line.index, column.index)
                    if value.blank:
                        continue
                    self._places.append((which, line.index, column.index))
                    documents.append([*names, *headers[column.index]])
                    if value.number is not None:
                        unit = grid.unit(line.index, column.index)
                        documents[-1] += _number_tokens(value.number, unit)
                    elif column.kind == "number":  # else it stands among the names
                        documents[-1] += _words(value.text)
        self._index = _Bm25(documents)

    def find(self, statement: str, k: int) -> list[Evidence]:
        """The best ``k`` cells, the best first."""
        places = [self._places[place] for place in self._index.find(statement, k)]
        return [self._grids[which].evidence(row, column) for which, row, column in places]


class SentenceIndex:
    """The sentences of a text, indexed.

    Args:
        text: the text.
    """

    def __init__(self, text: str) -> None:
        self._text = text
        self._spans = sentence_spans(text)
        documents = [_query(text[span.start : span.end]) for span in self._spans]
        self._index = _Bm25(documents)

    def find(self, statement: str, k: int) -> list[Evidence]:
        """The best ``k`` sentences, the best first."""
        spans = [self._spans[place] for place in self._index.find(statement, k)]
        return [
            Evidence(self._text[span.start : span.end], start=span.start, end=span.end)
            for span in spans
        ]


class _Bm25:
    """BM25 over token lists; silent, and content with fewer documents than are asked for."""

    def __init__(self, documents: list[list[str]]) -> None:
        self._model: Any = None
        if any(documents):
            import bm25s  # a quarter of a second that the program verifier need not pay

            self._model = bm25s.BM25(b=_LENGTH_WEIGHT)
            self._model.index(documents, show_progress=False)
            self._known = {token for document in documents for token in document}

    def find(self, statement: str, k: int) -> list[int]:
        """Indices of the best ``k`` documents that share a token, the best first."""
        if self._model is None or k < 1:
            return []
        query = [token for token in dict.fromkeys(_query(statement)) if token in self._known]
        if not query:
            return []
        scores = self._model.get_scores(query)
        import numpy as np

        least = np.partition(scores, -k)[-k] if k < len(scores) else 0
        # Of equal scores the first in the table's order.
        found = (scores >= max(least, 0)).nonzero()[0]
        best = sorted(found.tolist(), key=lambda place: (-scores[place], place))
        return [place for place in best[:k] if scores[place] > 0]


def _words(text: str) -> tuple[str, ...]:
    return _words_cached(text) if len(text) <= LONGEST_CELL else _words_cached(text[:LONGEST_CELL])


@lru_cache(maxsize=1 << 14)
def _words_cached(text: str) -> tuple[str, ...]:
    return tuple(singular(word) for word in tokens_of(text).words if word not in _COMMON)


def _query(statement: str) -> list[str]:
    """Words, and the numbers that the text states."""
    statement = statement[:LONGEST_CELL]
    words = list(_words_cached(statement))
    for stated in Places(statement).numbers:
        words += _number_tokens(stated.number, Unit())
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
