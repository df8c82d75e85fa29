"""Made-up names of real words (``names.yaml``), and when two names are too much alike."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import combinations
from pathlib import Path
from random import Random
from typing import NamedTuple

import yaml

from tablemend.values.cells import equal_values, includes, read_value
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


def distinct_names(names: Iterable[str]) -> list[str]:
    """The names, each once, without those too similar to an earlier one (TableHallu, A.2.2, rule
    4): equal but for case and punctuation, one edit apart after the first letter, or all words of
    one among the words of the other, brackets aside.
    """
    kept: dict[str, None] = {}
    edited, whole, parts = set[str](), set[frozenset[str]](), set[frozenset[str]]()
    for name in names:
        bare = _BRACKETS.sub("", name)
        own = [forms_of(name), *([forms_of(bare)] if bare and bare != name else [])]
        edits = {edit for form in own for edit in _edits(form.plain)}
        words = [(form.words, _subsets(form.words)) for form in own if form.words]
        if name in kept or not edited.isdisjoint(edits):
            continue
        if any(set_ in parts or not whole.isdisjoint(subsets) for set_, subsets in words):
            continue
        kept[name] = None
        edited |= edits
        for set_, subsets in words:
            whole.add(set_)
            parts |= subsets
    return list(kept)


def _edits(plain: str) -> Iterator[str]:
    """What a name and any that is one edit away have in common."""
    yield plain
    for place in range(1, len(plain)):
        yield plain[:place] + plain[place + 1 :]


def _subsets(words: frozenset[str]) -> set[frozenset[str]]:
    """All of few words; of many the single ones and all of them."""
    sizes = range(1, len(words) + 1) if len(words) < 6 else (1, len(words))
    return {frozenset(some) for size in sizes for some in combinations(sorted(words), size)}
