"""Texts that cannot be read: in another script than their tables, or in no English."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterator
from functools import cached_property, lru_cache

from tablemend.evidence.source import Source

_MOSTLY = 0.5
_WORD = re.compile(r"[^\W\d_]+")
_BEFORE = re.compile(r"([^\W\d_]+)[ '\u2019]$")
# Words of the grammar that English lacks, of European languages in Latin script.
_OTHERS = frozenset(
    "le les des du une est sont dans pour avec qui que sur par ses aux et ont nous vous "
    "der das und ist nicht den dem ein eine mit von zu auf sich auch wurde werden bei im "
    "una es por para del se su y lo como fue tiene ha il gli di che della dei nel sono "
    "os da dos em na uma foi het een van en voor op zijn werd met niet ook "
    "och att det som var ett av til er ikke på för med nie się jest oraz przez ve bir ile".split()
)
_ARTICLES = frozenset("le la les un une der die das el il het een".split())
_ENGLISH = frozenset(
    "the and of to in is was for with by at from that this it are were be been have not but or "
    "all more most than other each between over under about after before during only no both "
    "while also first second third one two three they their its which who when had by".split()
)


class Scripts:
    """Tells the sentences of a text that no table can be read by.

    Args:
        text: the text.
        source: the tables.
    """

    def __init__(self, text: str, source: Source) -> None:
        self._text = text
        self._source = source

    def unread(self, start: int, end: int) -> str:
        """Why a sentence is not scored: its script, its language; empty where it can be read."""
        if self.is_foreign(start, end):
            return "the text is in another script than the tables"
        if self.is_other_language(start, end):
            return "the text is not in English"
        return ""

    def is_foreign(self, start: int, end: int) -> bool:
        """Whether at least half of a sentence's letters are of scripts that no cell is in."""
        if self._text.isascii():
            return False
        letters = Counter(_scripts(self._text[start:end]))
        if set(letters) <= {"LATIN"}:
            return False
        unknown = sum(count for script, count in letters.items() if script not in self._known)
        return unknown >= _MOSTLY * letters.total()

    def is_other_language(self, start: int, end: int) -> bool:
        """Whether a sentence has the little words of another language, and not those of English.

        What is a part of a name ("Vincent van Gogh") or stands in the tables counts for neither;
        where the sentence leaves it open, the whole text tells.
        """
        english, other = self._little_words(start, end)
        if english or not other:
            return False
        if self._text.islower():  # names are not told from words
            return other > 2
        return other > 1 or not self._is_english

    @cached_property
    def _is_english(self) -> bool:
        english, other = self._little_words(0, len(self._text))
        return english > 0 or not other

    def _little_words(self, start: int, end: int) -> tuple[int, int]:
        """How many words of English grammar, and how many of another, a part of the text has."""
        english = other = 0
        for match in _WORD.finditer(self._text, start, end):
            word = match[0]
            low = word.casefold()
            if low in _ENGLISH:
                english += 1
            elif low not in self._said:
                first = match.start() == start and low in _ARTICLES
                other += first or (word in _OTHERS and not self._is_name(*match.span()))
        return english, other

    def _is_name(self, start: int, end: int) -> bool:
        """Whether a little word is of a name: "Vincent van Gogh", "Lee et al."."""
        if self._text.startswith(" al.", end):
            return True
        before = _BEFORE.search(self._text, max(0, start - 24), start)
        after = self._text[end : end + 2]
        return bool(before and before[1][0].isupper() and after[1:].isupper())

    @cached_property
    def _said(self) -> frozenset[str]:
        """The words of headers and cells in small letters."""
        return frozenset(word for text in self._texts() for word in _WORD.findall(text.casefold()))

    @cached_property
    def _known(self) -> frozenset[str]:
        """The scripts of headers and cells; Latin where the tables have no letters."""
        found: set[str] = set()
        for text in self._texts():
            found.update(["LATIN"] if text.isascii() else _scripts(text))
        return frozenset(found or {"LATIN"})

    def _texts(self) -> Iterator[str]:
        for grid in self._source.grids:
            yield from (grid.caption, *(column.header for column in grid.columns))
            for line in grid.lines:
                yield from (grid.cell(line.index, column.index) for column in grid.columns)


def _scripts(text: str) -> Iterator[str]:
    """The script of every letter, as Unicode names it: LATIN, CYRILLIC, CJK."""
    return (_script(character) for character in text if character.isalpha())


@lru_cache(maxsize=1 << 12)
def _script(letter: str) -> str:
    return "LATIN" if letter.isascii() else unicodedata.name(letter, "").partition(" ")[0]
