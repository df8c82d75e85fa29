"""Formulas of the blocks world in controlled English, by the grammar of logic.yaml."""

from __future__ import annotations

import re
from functools import cache
from random import Random
from typing import NamedTuple

from tablemend.errors import TablemendError
from tablemend.tasks.logic.formula import (
    DATA,
    Formula,
    Name,
    Term,
    Variable,
    match,
    parse_formula,
    walk,
)

GRAMMAR: str = DATA["grammar"]
NATURAL = 0.9
"""How often the line with the fewest clauses is taken: *every cube*, not *every block x*."""
_TERM = re.compile(r"[a-z]\d*")


class EnglishError(TablemendError):
    """A formula that the grammar cannot say."""


class Wording(NamedTuple):
    """A formula in English; ``ambiguous`` where a line of the grammar leaves open what is meant."""

    text: str
    ambiguous: bool


class _Line(NamedTuple):
    """An alternative of the grammar."""

    words: tuple[str, ...]
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
            found.append(_Line(parts, parse_formula(meaning), line.startswith("!")))
    return tuple(found)


def say(formula: Formula, rng: Random) -> str:
    """The formula in English, in one of its wordings with one reading, which ``rng`` chooses.

    Names and variables are single small letters.

    Raises:
        EnglishError: the grammar has no words for it.
    """
    return word(formula, rng, ambiguous=False).text


def word(formula: Formula, rng: Random, *, ambiguous: bool) -> Wording:
    """As :func:`say`; ``ambiguous`` prefers wordings that leave open what was meant."""
    found = _say("D", formula, rng, ambiguous)
    if found is None:
        raise EnglishError("the formula has other predicates or names than those of the grammar")
    words, is_open = found
    text = re.sub(r" (?=[.,:])", "", " ".join(words))
    return Wording(re.sub(r"(?:^|(?<=\. ))\w", lambda match: match[0].upper(), text), is_open)


def _say(
    kind: str, meant: Formula | Term, rng: Random, ambiguous: bool
) -> tuple[list[str], bool] | None:
    """The words of a phrase, and whether they are ambiguous; ``None`` where it has none."""
    if isinstance(meant, Name | Variable):
        return ([meant.name], False) if _TERM.fullmatch(meant.name) else None
    lines = [line for line in _lines(kind) if ambiguous or not line.ambiguous]
    rng.shuffle(lines)
    if rng.random() < NATURAL:
        lines.sort(key=lambda line: line.rank)
    for line in sorted(lines, key=lambda line: not line.ambiguous):
        if (found := match(line.meaning, meant)) is None:
            continue
        said, is_open = list[str](), line.ambiguous
        for one in line.words:
            part = _say(one[0], found[one], rng, ambiguous) if one in found else ([one], False)
            if part is None:
                break
            said += part[0]
            is_open |= part[1]
        else:
            return said, is_open
    return None
