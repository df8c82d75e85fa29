"""Tables under other names and numbers: a model that sees few tables learns each by heart.

Words are exchanged for words of the model's vocabulary, for those of other tables and for made-up
ones. The cells of most columns change places, and some numbers get other digits.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from random import Random

from tablemend.datasets.tablehallu.letter_case import MONTH
from tablemend.datasets.tablehallu.sources import SourceTable
from tablemend.datasets.vocabulary import Vocabulary
from tablemend.tables.table import Cell, Table

SHUFFLED, OTHER_DIGITS = 0.7, 0.5
"""Shares of the columns behind the first, and of all."""
OF_VOCABULARY, OF_TABLES = 0.35, 0.3
"""Shares of the words; the others are the beginning of one with a piece or two behind it."""
WORD = re.compile(r"[^\W\d_a-z][^\W\d_]{2,}")
_NUMBER = re.compile(r"\d[\d,.]*\d\d")
_YEAR = re.compile(r"(?:1[5-9]|20)\d\d")


class Renaming:
    """One table's exchange: a word is replaced by the same word throughout.

    Args:
        vocabulary: of the model.
        words: of other tables' names.
        rng: what draws.
    """

    def __init__(self, vocabulary: Vocabulary, words: Sequence[str], rng: Random) -> None:
        self._vocabulary, self._words, self._rng = vocabulary, words, rng
        self._renamed: dict[str, str] = {}

    def name(self, text: str) -> str:
        """A text with other words in place of those with a capital."""
        return WORD.sub(lambda match: self._exchange(match[0]), text)

    def table(self, read: SourceTable) -> SourceTable:
        """A table with other words, other numbers, and its cells and rows in other places.

        Headers stay, and with them what a column is; dates stay too.
        """
        table, rng = read.table, self._rng
        columns = []
        for index, _ in enumerate(table.columns):
            cells = [row[index] for row in table.rows]
            if index and rng.random() < SHUFFLED:
                rng.shuffle(cells)
            columns.append(list(map(self._cell, cells, [rng.random() < OTHER_DIGITS] * len(cells))))
        rows = list(zip(*columns, strict=True))
        rng.shuffle(rows)
        title = WORD.sub(lambda match: self._renamed.get(match[0], match[0]), table.title)
        return read._replace(table=Table(table.columns, tuple(rows), title), topic=title)

    def _cell(self, cell: Cell, other_digits: bool) -> Cell:
        if cell is None or (MONTH.search(cell) and any(map(str.isdigit, cell))):
            return cell
        named = self.name(cell)
        return _NUMBER.sub(self._digits, named) if other_digits else named

    def _digits(self, number: re.Match[str]) -> str:
        """Other digits, the first of them not 0; years stay."""
        if _YEAR.fullmatch(number[0]):
            return number[0]
        rest = re.sub(r"\d", lambda _: str(self._rng.randint(0, 9)), number[0][1:])
        return f"{self._rng.randint(1, 9)}{rest}"

    def _exchange(self, word: str) -> str:
        if word not in self._renamed:
            rng, (words, pieces), share = self._rng, self._vocabulary, self._rng.random()
            if share < OF_VOCABULARY:
                other = rng.choice(words)
            elif share < OF_VOCABULARY + OF_TABLES and self._words:
                other = rng.choice(self._words)
            else:
                ends = (rng.choice(pieces) for _ in range(rng.randint(1, 2)))
                other = rng.choice(words)[: rng.randint(2, 6)] + "".join(ends)
            self._renamed[word] = other
        return self._renamed[word]
