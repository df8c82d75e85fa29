"""Scripts: a text in another script than its tables names nothing that can be looked up."""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Iterator
from functools import cached_property, lru_cache

from tablemend.evidence.source import Source

_MOSTLY = 0.5


class Scripts:
    """Tells the sentences of a text that no table can be read by.

    Args:
        text: the text.
        source: the tables.
    """

    def __init__(self, text: str, source: Source) -> None:
        self._text = text
        self._source = source

    def is_foreign(self, start: int, end: int) -> bool:
        """Whether at least half of a sentence's letters are of scripts that no cell is in."""
        if self._text.isascii():
            return False
        letters = Counter(_scripts(self._text[start:end]))
        if set(letters) <= {"LATIN"}:
            return False
        unknown = sum(count for script, count in letters.items() if script not in self._known)
        return unknown >= _MOSTLY * letters.total()

    @cached_property
    def _known(self) -> frozenset[str]:
        """The scripts of headers and cells; Latin where the tables have no letters."""
        found: set[str] = set()
        for grid in self._source.grids:
            texts = [grid.caption, *(column.header for column in grid.columns)]
            texts += [grid.cell(line.index, c.index) for line in grid.lines for c in grid.columns]
            for text in texts:
                found.update(["LATIN"] if text.isascii() else _scripts(text))
        return frozenset(found or {"LATIN"})


def _scripts(text: str) -> Iterator[str]:
    """The script of every letter, as Unicode names it: LATIN, CYRILLIC, CJK."""
    return (_script(character) for character in text if character.isalpha())


@lru_cache(maxsize=1 << 12)
def _script(letter: str) -> str:
    return "LATIN" if letter.isascii() else unicodedata.name(letter, "").partition(" ")[0]
