"""Formulas of the blocks world in controlled English, and how many readings what is said has.

The grammar is in logic.yaml. :func:`readings` reads its own sentences alone: it marks generated
outputs that are ambiguous (of 392 with an ambiguous wording 26 have one reading all the same).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import islice
from random import Random
from typing import Any, NamedTuple

from tablemend.errors import TablemendError
from tablemend.foreign import shown
from tablemend.tasks.logic.formula import (
    DATA,
    SLOT,
    Formula,
    Name,
    Slots,
    Term,
    Variable,
    build,
    canonical,
    free_variables,
    match,
    parse_formula,
    walk,
)

GRAMMAR: str = DATA["grammar"]
NATURAL = 0.9
"""How often the line with the fewest clauses is taken: *every cube*, not *every block x*."""
MOST_READINGS = 64
"""Of one phrase, and too many to go on."""
MOST_WORDS = 150
"""Of one text, with its punctuation: the time to read it grows with their fourth power."""
_TERM = re.compile(r"[a-z]\d*")


class EnglishError(TablemendError):
    """A text that the grammar does not read, or a formula that it cannot say."""


class _Line(NamedTuple):
    """An alternative of the grammar; ``literals`` are the words that it must have."""

    words: tuple[str, ...]
    literals: frozenset[str]
    meaning: Formula
    ambiguous: bool

    @property
    def rank(self) -> tuple[int, int]:
        """The fewest whole sentences within first, then the largest meaning."""
        clauses = sum(word[0] == "S" and word[1:].isdigit() for word in self.words)
        return clauses, -len(list(walk(self.meaning)))


@cache
def _lines(kind: str) -> tuple[_Line, ...]:
    found = []
    for line in GRAMMAR.strip().splitlines():
        own, _, alternatives = line.removeprefix("! ").partition(" | ")
        for alternative in alternatives.split(" ; ") if own == kind else ():
            words, meaning = alternative.split(" | ")
            parts = tuple(word.strip("{}") for word in words.split())
            literals = frozenset(word for word in words.split() if "{" not in word)
            found.append(_Line(parts, literals, parse_formula(meaning), line.startswith("!")))
    return tuple(found)


def say(formula: Formula, rng: Random, *, ambiguous: bool = False) -> str:
    """The formula in English, in one of its wordings, which ``rng`` chooses.

    Names and variables are single small letters; ``ambiguous`` uses wordings that leave open what
    was meant, where there are some.

    Raises:
        EnglishError: the grammar has no words for it.
    """
    words = _say("D", formula, rng, ambiguous)
    if words is None:
        raise EnglishError("the formula has other predicates or names than those of the grammar")
    text = re.sub(r" (?=[.,:])", "", " ".join(words))
    return re.sub(r"(?:^|(?<=\. ))\w", lambda match: match[0].upper(), text)


def readings(text: str) -> tuple[Formula, ...]:
    """All readings of a text that differ by more than names of variables and flat brackets.

    Raises:
        EnglishError: they are too many to find them all, or the text is too long for that.
    """
    words = re.findall(r"\w+|[^\w\s]", text.lower())
    if len(words) > MOST_WORDS:
        raise EnglishError(f"{shown(text[:200])[:60]!r} has more than {MOST_WORDS} words")

    @cache
    def phrases(kind: str, start: int, end: int) -> tuple[Any, ...]:
        """What a stretch of the text says, as a phrase of this kind."""
        if kind in "TX":
            word = words[start]
            is_variable = word[0] in "uvwxyz"
            if end > start + 1 or not _TERM.fullmatch(word) or (kind == "X" and not is_variable):
                return ()
            return (Variable(word) if is_variable else Name(word),)
        there = set(words[start:end])
        found = (
            build(line.meaning, slots)
            for line in _lines(kind)
            if line.literals <= there
            for slots in fill(line.words, start, end)
        )
        forms: dict[Any, Any] = {}
        for one in found:  # brackets that make no difference are no further readings
            forms.setdefault(canonical(one) if kind in "SD" else one, one)
            if kind in "SD" and len(forms) == MOST_READINGS:
                break
        return tuple(islice(forms.values(), MOST_READINGS))

    def fill(line: Sequence[str], start: int, end: int) -> Iterator[Slots]:
        """The ways in which the words of a line make up a stretch of the text."""
        if not line or start >= end:
            yield from [{}] if not line and start == end else []
            return
        word, *others = line
        if not SLOT.fullmatch(word):
            yield from fill(others, start + 1, end) if words[start] == word else ()
            return
        for middle in range(start + 1 if others else end, end - len(others) + 1):
            for value in phrases(word[0], start, middle):
                yield from ({word: value, **more} for more in fill(others, middle, end))

    found: tuple[Formula, ...] = phrases("D", 0, len(words)) if words else ()
    if len(found) == MOST_READINGS:
        raise EnglishError(f"{shown(text)[:60]!r} has {MOST_READINGS} readings or more")
    fewest = min((len(free_variables(one)) for one in found), default=0)
    return tuple(one for one in found if len(free_variables(one)) == fewest)


def _say(kind: str, meant: Formula | Term, rng: Random, ambiguous: bool) -> list[str] | None:
    """The words of a phrase; ``None`` where it has none."""
    if isinstance(meant, Name | Variable):
        return [meant.name] if _TERM.fullmatch(meant.name) else None
    lines = [line for line in _lines(kind) if ambiguous or not line.ambiguous]
    rng.shuffle(lines)
    if rng.random() < NATURAL:
        lines.sort(key=lambda line: line.rank)
    for line in sorted(lines, key=lambda line: not line.ambiguous):
        if (found := match(line.meaning, meant)) is None:
            continue
        said: list[str] = []
        for word in line.words:
            part = _say(word[0], found[word], rng, ambiguous) if word in found else [word]
            if part is None:
                break
            said += part
        else:
            return said
    return None
