"""Is a row's key in the context? It decides between out-of-range and entity fabrication."""

from __future__ import annotations

import re
from functools import cached_property, lru_cache
from itertools import combinations

from tablemend.detector.similarity import TITLES, in_full, initialisms, standard_tokens
from tablemend.values.cells import read_value
from tablemend.values.dates import covers_date, same_date, split_dates
from tablemend.values.numbers import Number, quantities, same_amount
from tablemend.values.text import fold, split_tokens, tokens_of

_SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[^a-z])|\n+")
_BRACKETS = re.compile(r"\s*[(\[][^()\[\]]*[)\]]")
_LITTLE_WORDS = frozenset("the a an of and in".split())
_CAPITALS = re.compile(r"\b[A-Z]{3,6}\d?\b")
# "United States of America"
_NAME = re.compile(r"[A-Z]\w*(?:[ -](?:(?:of|the|and|for) ){0,2}[A-Z0-9]\w*){1,6}")


class Context:
    """A source text, indexed only as far as questions require.

    Args:
        text: the text that was shown to the model.
    """

    def __init__(self, text: str) -> None:
        self.text = text

    def mentions(self, key: str) -> bool:
        """Whether the context names this key, in this or another spelling.

        Text: its words in sequence, at word borders, numbers and usual abbreviations in any
        spelling; else without a bracketed addition ("South Korea (ROK)") or title ("Dr."); else
        all its words close together in one sentence ("Merkel, Angela"); else its initialism, or
        the name that it is one of. A number or a date is found in any spelling of the same value.
        """
        value = read_value(key)
        words = tokens_of(value.text).words
        if not words:
            return False
        if number := value.number:
            stated = any(same_amount(number, one) for one in self._numbers)
            return stated or self._has_sequence(words)
        if any(same_date(value.dates, d) or covers_date(value.dates, d) for d in self._dates):
            return True
        content = [word for word in words if word not in _LITTLE_WORDS]
        return (
            self._has_sequence(words)
            or self._has_sequence(tokens_of(_BRACKETS.sub("", value.text)).words)
            or self._has_sequence(standard_tokens(value.text).words[in_full(words[0]) in TITLES :])
            or (len(content) > 1 and self._has_close_together(content))
            or (key.isupper() and words[0] in self._initials)
            or not self._capitals.isdisjoint(initialisms(words))
        )

    def _has_sequence(self, words: tuple[str, ...]) -> bool:
        sought = f" {' '.join(words)} "
        return bool(words) and (sought in self._plain or sought in self._spelled)

    def _has_close_together(self, words: list[str]) -> bool:
        return self._vocabulary.issuperset(words) and any(
            _close_together(words, sentence) for sentence in self._sentences
        )

    @cached_property
    def _plain(self) -> str:
        return f" {' '.join(split_tokens(self.text).words)} "

    @cached_property
    def _vocabulary(self) -> frozenset[str]:
        return frozenset(self._plain.split())

    @cached_property
    def _spelled(self) -> str:
        return f" {' '.join(standard_tokens(fold(self.text)).words)} "

    @cached_property
    def _sentences(self) -> list[tuple[str, ...]]:
        return [split_tokens(sentence).words for sentence in _SENTENCE.split(self.text)]

    @cached_property
    def _numbers(self) -> list[Number]:
        return quantities(self.text)

    @cached_property
    def _dates(self) -> set[tuple[str, ...]]:
        return set(split_dates(self.text)[0])

    @cached_property
    def _capitals(self) -> set[str]:
        return {word.casefold() for word in _CAPITALS.findall(self.text)}

    @cached_property
    def _initials(self) -> set[str]:
        """Of every run of words in a name: "the New Democratic Party and the Greens"."""
        found = _NAME.findall(self.text)
        names = [split_tokens(name).words for name in found]
        names += [standard_tokens(fold(name)).words for name in found]
        runs = (name[a:b] for name in names for a, b in combinations(range(len(name) + 1), 2))
        return {letters for run in runs for letters in initialisms(run) if len(letters) > 2}


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
