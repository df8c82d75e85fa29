"""Names (``names.yaml``): made-up ones, which are too much alike, and as they are usually written.

Some sources write tables in small letters throughout, or leave the countries of pictures of flags
in front of names: "Ukraine Natalia Esina". What is no name stays as it is.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from itertools import combinations
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import yaml

from tablemend.tables.table import Cell
from tablemend.values.cells import equal_values, includes, read_value
from tablemend.values.dates import MONTHS
from tablemend.values.text import strip_accents

_LISTS: dict[str, Any] = yaml.safe_load(Path(__file__).with_suffix(".yaml").read_text("utf-8"))
GIVEN, FAMILY, TOWNS = (tuple(str(_LISTS[kind]).split()) for kind in ("given", "family", "towns"))
_PROPER, _SMALL, _ACRONYMS, _TITLES = (
    frozenset(_LISTS["case"][name].split()) for name in ("proper", "small", "acronyms", "titles")
)
_COUNTRIES = "|".join(sorted(_LISTS["countries"], key=len, reverse=True))
_FLAG = re.compile(rf"({_COUNTRIES}|{'|'.join(_LISTS['codes'].split())}) (?=[^\W\d_a-z]\S+)")
_BRACKETS = re.compile(r"\s*\([^()]*\)")
_WORD = re.compile(r"\w+")
_LETTERS = re.compile(r"[^\W\d_]+")
_NO_VOWEL = re.compile(r"[b-df-hj-np-tv-xz]{2,4}")
_SPACE = re.compile(r" (?=[,;:!?%)\]]|'s\b)|(?<=[(\[]) |(?<=\w) (?=- \w)|(?<=\w -) (?=\w)|(?<=^-) ")
MONTH = re.compile(rf"\b(?:{'|'.join(month[:3] for month in MONTHS)})", re.I)
_MONTH = re.compile(rf"\b(?:{'|'.join(MONTHS)})\b|^[wldt](?=,? \d|$)", re.I)
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
        # What a name and any that is one edit away have in common.
        edits = {plain[:n] + plain[n + 1 :] for plain, _ in own for n in range(1, len(plain))}
        edits |= {plain for plain, _ in own}
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


def _subsets(words: frozenset[str]) -> set[frozenset[str]]:
    """All of few words; of many the single ones and all of them."""
    sizes = range(1, len(words) + 1) if len(words) < 6 else (1, len(words))
    return {frozenset(some) for size in sizes for some in combinations(sorted(words), size)}


def is_small(rows: Iterable[Sequence[Cell]]) -> bool:
    """Whether no cell has a capital, and some have letters."""
    text = " ".join(cell for row in rows for cell in row if cell)
    return text == text.lower() != text.upper()


def with_capitals(
    headers: Sequence[str], rows: Sequence[tuple[Cell, ...]], key: int
) -> list[tuple[Cell, ...]]:
    """The rows of a table in small letters as they are usually written.

    ``key`` is the column of names; others are known by their headers.
    """
    short = sum(len(row[key] or "") <= 3 for row in rows)
    writers: list[Callable[[str], str]] = [
        _closed if _PROPER.isdisjoint(header.lower().split()) else with_capital
        for header in headers
    ]
    writers[key] = str.upper if 2 * short > len(rows) else with_capital  # "cin", "was": of teams
    return [
        tuple(cell and write(cell) for cell, write in zip(row, writers, strict=True))
        for row in rows
    ]


def with_capital(name: str) -> str:
    """A name in small letters as it is usually written: ``San Diego Chargers``."""
    text = _closed(name)

    def write(match: re.Match[str]) -> str:
        word, start = match[0], match.start()
        if text[match.end() : match.end() + 1] == "." and len(word) == 1:
            return word.upper()
        if word in _ACRONYMS or (_NO_VOWEL.fullmatch(word) and word not in _TITLES):
            return word.upper()
        is_inner = start > 1 and text[start - 1] == "'" and text[start - 2 : start - 1] not in "od"
        if is_inner or (start and word in _SMALL) or text[start - 1 : start].isdigit():
            return word
        return word.capitalize()

    return _LETTERS.sub(write, text)


def _closed(text: str) -> str:
    """Without the spaces before punctuation, and with the names of months as they are written."""
    return _MONTH.sub(lambda match: match[0].capitalize(), _SPACE.sub("", text))


def without_flags(cells: Sequence[Cell]) -> list[Cell]:
    """The cells of a column without what flags left in front of nearly all of them.

    Several countries stand there, one of them repeatedly, and what follows are names of their own:
    not "Kenya Airways, Japan Airlines, Ethiopia Airlines".
    """
    filled = [cell for cell in cells if cell]
    flags = [match for cell in filled if (match := _FLAG.match(cell))]
    countries = Counter(match[1] for match in flags)
    if len(countries) < 2 or max(countries.values()) < 2 or len(flags) < 0.85 * len(filled):
        return list(cells)
    rests = {match.string[match.end() :].removesuffix(f", {match[1]}") for match in flags}
    kinds = Counter(rest.split()[-1] for rest in rests)
    if max(kinds.values()) > max(2, len(rests) / 3) or len(rests) < 0.9 * len({*filled}):
        return list(cells)
    return [_FLAG.sub("", cell, count=1) if cell and _FLAG.match(cell) else cell for cell in cells]
