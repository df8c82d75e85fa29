"""Made-up names of real words (``names.yaml``), and when two names are too much alike."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path
from random import Random
from typing import NamedTuple

import yaml

from tablemend.values.cells import equal_values, read_value
from tablemend.values.inclusion import includes
from tablemend.values.text import strip_accents

_LISTS: dict[str, str] = yaml.safe_load(Path(__file__).with_name("names.yaml").read_text("utf-8"))
GIVEN, FAMILY, TOWNS = (tuple(_LISTS[kind].split()) for kind in ("given", "family", "towns"))
_BRACKETS = re.compile(r"\s*\([^()]*\)")
_WORD = re.compile(r"\w+")
_ROMAN = {"ii": "2", "iii": "3", "iv": "4", "vi": "6", "vii": "7", "viii": "8", "ix": "9"}


def invent_person(rng: Random) -> str:
    """A given and a family name."""
    return f"{rng.choice(GIVEN)} {rng.choice(FAMILY)}"


class NameForms(NamedTuple):
    """What a name is compared by: its letters and digits in one, and its words."""

    plain: str
    words: frozenset[str]


@lru_cache(maxsize=1 << 14)
def forms_of(name: str) -> NameForms:
    """The forms of a name, without case, accents and punctuation, Roman numbers in figures."""
    words = [_ROMAN.get(word, word) for word in _WORD.findall(strip_accents(name).casefold())]
    return NameForms("".join(words), frozenset(words))


@lru_cache(maxsize=1 << 14)
def is_like(one: str, other: str) -> bool:
    """Whether two values are equal or one includes the other, to the detector or word for word."""
    words, others = forms_of(one).words, forms_of(other).words
    if words and others and (words <= others or others <= words):
        return True
    first, second = read_value(one), read_value(other)
    return equal_values(first, second) or includes(first, second)


class NameGuard:
    """Which names are too similar to those of the gold rows (TableHallu, A.2.2, rule 4).

    Similar is: equal but for case and punctuation, one edit apart after the first letter, or
    all words of one among the words of the other. An *identical* name is not similar: it is
    the same entity, which the scope distinguishes.
    """

    def __init__(self, names: Iterable[str]) -> None:
        self._names = frozenset(names)
        self._forms = [forms_of(name) for name in self._names]
        self._forms += [forms_of(bare) for n in self._names if (bare := _BRACKETS.sub("", n)) != n]
        self._words: frozenset[str] = frozenset().union(*(form.words for form in self._forms))
        self._by_first: dict[str, list[str]] = {}
        for form in self._forms:
            self._by_first.setdefault(form.plain[:1], []).append(form.plain)

    def is_similar(self, name: str, forms: NameForms | None = None) -> bool:
        """Whether a distractor of this name could be taken for a gold entity."""
        if name in self._names:
            return False
        plain, words = forms or forms_of(name)
        for gold in self._by_first.get(plain[:1], ()):
            if abs(len(gold) - len(plain)) <= 1 and _within_one_edit(gold, plain):
                return True
        if words and self._words.isdisjoint(words):
            return False
        return any(words <= form.words or form.words <= words for form in self._forms)


def _within_one_edit(one: str, other: str) -> bool:
    """Whether one letter added, removed or changed at most makes the names equal."""
    same = 0
    for left, right in zip(one, other, strict=False):
        if left != right:
            break
        same += 1
    short, long = sorted((one[same:], other[same:]), key=len)
    return short == long[1:] or short[1:] == long[1:]
