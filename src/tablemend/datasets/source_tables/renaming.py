"""Tables under other names: a model that sees few tables learns each by heart.

Words are exchanged for words of the model's vocabulary, for those of other tables and for made-up
ones, and the cells of most columns change places.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from random import Random
from typing import NamedTuple

from tablemend.datasets.source_tables.columns import ORDERED, TypedTable, is_name
from tablemend.datasets.source_tables.names import GIVEN
from tablemend.datasets.source_tables.sources import SourceTable
from tablemend.errors import TablemendError, install
from tablemend.tables.table import Table
from tablemend.values.cells import is_blank, read_value
from tablemend.values.dates import MONTH_NAMES

SHUFFLED = 0.7
"""Share of the columns behind that of the names."""
OF_VOCABULARY, OF_TABLES = 0.35, 0.3
"""Shares of the words; the others are the beginning of one with a piece or two behind it."""
_WORD = re.compile(r"[^\W\d_]{3,}")
_GIVEN = frozenset(GIVEN)
_MONTHS = frozenset({*MONTH_NAMES, *(month[:3] for month in MONTH_NAMES)})


def is_exchanged(word: str) -> bool:
    """Whether a word has a capital, and is neither a month, a number, a blank nor a total."""
    return (
        word[0].isupper()
        and is_name(word)
        and not (word in _MONTHS or is_blank(word))
        and read_value(word).number is None
    )


def read_words(folder: str) -> Vocabulary:
    """The words of a model's vocabulary that can stand for others, and its pieces.

    Raises:
        TablemendError: there are none; see
            :func:`read_vocabulary`.
    """
    words, pieces = read_vocabulary(folder, "rename")
    if not (names := tuple(filter(is_exchanged, words))):
        raise TablemendError(f"rename: no word of {folder} can be a name: name another model")
    return Vocabulary(names, pieces)


def names_in(texts: Iterable[str]) -> list[str]:
    """The words in texts that are exchanged, sorted."""
    return sorted({word for text in texts for word in _WORD.findall(text) if is_exchanged(word)})


class Renaming:
    """One table's exchange: a word is replaced by the same other word wherever it stands."""

    def __init__(self, vocabulary: Vocabulary, words: Sequence[str], rng: Random) -> None:
        self._vocabulary, self._words, self._rng = vocabulary, words, rng
        self._renamed: dict[str, str] = {}

    def name(self, text: str) -> str:
        """A text with other words in place of its names."""
        return _WORD.sub(lambda match: self._exchange(match[0]), text)

    def table(self, read: SourceTable, typed: TypedTable) -> SourceTable:
        """A table as typed and cleaned, with other names, and its cells and rows in other places.

        Headers stay, and numbers, years and dates; of the title the words that no cell has.
        """
        table, rng = typed.table, self._rng
        columns = []
        for index, column in enumerate(typed.columns):
            cells = [row[index] for row in table.rows]
            if index != typed.key and rng.random() < SHUFFLED:
                rng.shuffle(cells)
            if column.kind not in ORDERED:
                cells = [cell and self.name(cell) for cell in cells]
            columns.append(cells)
        rows = list(zip(*columns, strict=True))
        rng.shuffle(rows)
        title = _WORD.sub(lambda match: self._renamed.get(match[0], match[0]), table.title)
        renamed = Table(table.columns, tuple(rows), title)
        return read._replace(table=renamed, topic=title or read.topic, key=typed.key)

    def _exchange(self, word: str) -> str:
        if word not in self._renamed:
            self._renamed[word] = self._draw(word) if is_exchanged(word) else word
        return self._renamed[word]

    def _draw(self, word: str) -> str:
        rng, (words, pieces), share = self._rng, self._vocabulary, self._rng.random()
        if word in _GIVEN:  # persons are known by these
            return rng.choice(GIVEN)
        if self._words and share < OF_TABLES:
            return rng.choice(self._words)
        if not pieces or share < OF_TABLES + OF_VOCABULARY:
            return rng.choice(words)
        ends = (rng.choice(pieces) for _ in range(rng.randint(1, 2)))
        return rng.choice(words)[: rng.randint(2, 6)] + "".join(ends)


_TOKEN = re.compile(r"[Ġ▁]([A-Z][a-z]+)")
"""Behind a space, as byte-level BPE and SentencePiece write it."""
_PIECE = re.compile(r"[a-z]{2,5}")


class Vocabulary(NamedTuple):
    """What is read of a tokenizer.

    Attributes:
        words: tokens that are a word with a capital.
        pieces: tokens of small letters that go on with a word.
    """

    words: tuple[str, ...]
    pieces: tuple[str, ...] = ()


def read_vocabulary(folder: str, setting: str) -> Vocabulary:
    """The vocabulary of the model in a folder, which a setting names.


    Raises:
        TablemendError: there is no ``tokenizer.json``, it cannot be read, or it has no words.
    """
    try:
        from tokenizers import Tokenizer
    except ImportError as error:
        raise TablemendError(f"{setting}: needs the extra: {install('train')}") from error
    file = Path(folder) / "tokenizer.json"
    if not file.is_file():
        raise TablemendError(f"{setting}: there is no {file}: name the folder of a model")
    try:
        tokens = Tokenizer.from_file(str(file)).get_vocab()
    except Exception as error:  # tokenizers raises nothing narrower
        raise TablemendError(f"{setting}: {file} cannot be read: {error}") from error
    words = sorted(found[1] for token in tokens if (found := _TOKEN.fullmatch(token)))
    if not words:
        raise TablemendError(
            f"{setting}: {file} has no words behind a space: name another model, or leave it out"
        )
    return Vocabulary(tuple(words), tuple(sorted(filter(_PIECE.fullmatch, tokens))))
