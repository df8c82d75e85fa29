"""Is a row's key in the context? It decides between out-of-range and entity fabrication."""

from __future__ import annotations

import re
from functools import cached_property, lru_cache

from tablemend.values.cells import Value, read_value
from tablemend.values.dates import covers_date, same_date, split_dates
from tablemend.values.numbers import Number, quantities, same_number
from tablemend.values.text import fold, split_tokens, strip_accents, tokens_of

_SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[^a-z])|\n+")
_BRACKETS = re.compile(r"\s*[(\[][^()\[\]]*[)\]]")
_LITTLE_WORDS = frozenset("the a an of and in".split())


class Context:
    """A source text, indexed only as far as questions require.

    Args:
        text: the text that was shown to the model.
    """

    def __init__(self, text: str) -> None:
        self.text = text

    def mentions(self, key: str) -> bool:
        """Whether the context names this key, in this or another spelling.

        Text: its tokens in sequence, at token borders; else without a bracketed addition
        ("South Korea (ROK)"); else all its words close together in one sentence ("Merkel,
        Angela"). A number or a date is found in any spelling of the same value.
        """
        value = read_value(key)
        if value.blank:
            return False
        if value.number is not None:
            return self._states_number(value, value.number)
        if value.dates and self._states_date(value):
            return True
        return self._names(value.text)

    def _names(self, text: str) -> bool:
        words = tokens_of(text).words
        bare = tokens_of(_BRACKETS.sub("", text)).words
        content = [word for word in words if word not in _LITTLE_WORDS]
        if bare == words and any(map(self._surely_lacks, content)):
            return False
        if self._has_sequence(words) or self._has_sequence(bare):
            return True
        if len(content) < 2 or not self._vocabulary.issuperset(content):
            return False
        return any(_close_together(content, sentence) for sentence in self._sentences)

    def _surely_lacks(self, word: str) -> bool:
        """A cheap no: no such letters anywhere, so no such token."""
        return word.isalpha() and word not in self._letters

    @cached_property
    def _letters(self) -> str:
        return strip_accents(fold(self.text)).replace(".", "").replace("&", "and")

    def _has_sequence(self, words: tuple[str, ...]) -> bool:
        return (
            bool(words)
            and self._vocabulary.issuperset(words)
            and f" {' '.join(words)} " in self._stream
        )

    def _states_number(self, value: Value, number: Number) -> bool:
        if self._has_sequence(tokens_of(value.text).words):
            return True
        return any(same_number(number, stated) for stated in self._numbers)

    def _states_date(self, value: Value) -> bool:
        return any(
            same_date(value.dates, stated) or covers_date(value.dates, stated)
            for stated in self._dates
        )

    @cached_property
    def _stream(self) -> str:
        return f" {' '.join(split_tokens(self.text).words)} "

    @cached_property
    def _vocabulary(self) -> frozenset[str]:
        return frozenset(self._stream.split())

    @cached_property
    def _sentences(self) -> list[tuple[str, ...]]:
        return [split_tokens(sentence).words for sentence in _SENTENCE.split(self.text)]

    @cached_property
    def _numbers(self) -> list[Number]:
        return quantities(self.text)

    @cached_property
    def _dates(self) -> set[tuple[str, ...]]:
        return set(split_dates(self.text)[0])


def _close_together(words: list[str], sentence: tuple[str, ...]) -> bool:
    """All words, in any order, within a window two words wider than they are."""
    wanted = set(words)
    if not wanted.issubset(sentence):
        return False
    width = len(words) + 2
    return any(
        wanted.issubset(sentence[start : start + width])
        for start, word in enumerate(sentence)
        if word in wanted
    )


@lru_cache(maxsize=32)
def index_context(text: str) -> Context:
    """A :class:`Context`; the systems of one example share it."""
    return Context(text)
