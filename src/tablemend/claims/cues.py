"""The words by which a statement compares, ranks, counts, adds up, or places things in time.

One lexicon for both who takes a text apart (the kind of a claim) and who verifies it (what is to
be computed). It reads running English, tokenised English ("113 - 107 , at home") and English
whose verbs are lemmatised ("mira oss be in the top 5").
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

from tablemend.claims.cue_words import (
    COMPARATIVES,
    CUE_KINDS,
    FACTORS,
    NUMBERS,
    ORDINALS,
    RULES,
    SENSES,
    SUPERLATIVES,
    CueKind,
)
from tablemend.values.text import align

__all__ = ["CUE_KINDS", "SENSES", "Cue", "CueKind", "find_cues"]


class Cue(NamedTuple):
    """A cue word, or several that belong together ("second highest", "at least").

    Attributes:
        kind: what sort of operation it announces.
        sense: which one, within the kind; see :data:`SENSES`. Of superlatives, comparatives and
            ranks by an adjective it is the adjective: ``high`` of "highest", "higher" and
            "second highest".
        direction: +1 towards more, later or upwards, -1 towards less, earlier or downwards, 0
            where there is no side. "best" is +1 and "worst" -1: what good means, the column
            decides.
        start, end: its place in the text.
        number: the rank ("third": 3), the factor ("twice": 2), the count ("once": 1), the number
            of a quarter or half; ``None`` where it has none.
    """

    kind: CueKind
    sense: str
    direction: int
    start: int
    end: int
    number: int | None = None


_CUE = re.compile(
    r"(?<!\w)(?<!\w-)(?:"
    + "|".join(f"(?P<r{place}>{rule[3]})" for place, rule in enumerate(RULES))
    + r")(?!\w)"
)
# Marks that stand at the end or the beginning of another word.
_MARKS: tuple[tuple[CueKind, str, int, re.Pattern[str]], ...] = (
    ("negation", "not", 0, re.compile(r"n't\b")),
    ("hedge", "about", 0, re.compile(r"[~≈](?=\s?[$€£¥]?\d)")),
    ("hedge", "above", 1, re.compile(r"(?<=\d)\+(?![\w+])|[>≥](?=\s?[$€£¥]?\d)")),
    ("hedge", "below", -1, re.compile(r"[<≤](?=\s?[$€£¥]?\d)")),
)
_IN_NAMES = frozenset({"superlative", "rank", "comparative", "change"})
_ARTICLE = re.compile(r"(?:with\s+)?(?:the|an?|its|his|her|their|'s)\s+")
_CAPITAL_AFTER = re.compile(r"[ -][A-Z][a-z]")
_WORD = re.compile(r"[a-z]+|\d+")
_NUMBERED = frozenset({"quarter", "half", "period", "century", "multiple", "multiply"})


@lru_cache(maxsize=4096)
def find_cues(text: str) -> tuple[Cue, ...]:
    """Every cue of a text, in order and without overlap; the longest reading at a place wins.

    A number alone is no cue, nor is a date: :class:`~tablemend.values.places.Places` finds them.
    """
    aligned = align(text)
    found = [cue for match in _CUE.finditer(aligned) if not _in_name(text, cue := _cue(match))]
    for kind, sense, direction, pattern in _MARKS:
        found += [Cue(kind, sense, direction, *m.span()) for m in pattern.finditer(aligned)]
    return tuple(sorted(found, key=lambda cue: cue.start))


def _in_name(text: str, cue: Cue) -> bool:
    """Whether a cue is a word of a name: "Trail Blazers", "Most Valuable Player"."""
    if cue.kind not in _IN_NAMES or not text[cue.start].isupper() or cue.sense == "place":
        return False
    return _CAPITAL_AFTER.match(text, cue.end) is not None


def _cue(match: re.Match[str]) -> Cue:
    kind, sense, direction, _ = RULES[int((match.lastgroup or "r0")[1:])]
    start, end = match.span()
    if article := _ARTICLE.match(match.string, start, end):
        start = article.end()
    words = _WORD.findall(match.string, start, end)
    if not sense or (kind == "rank" and sense == "within" and not direction):
        adjective, direction = next(
            scale[word]
            for word in reversed(words)
            for scale in (SUPERLATIVES, COMPARATIVES)
            if word in scale
        )
        sense = sense or adjective
    numbered = kind in ("rank", "count") or sense in _NUMBERED
    return Cue(kind, sense, direction, start, end, _number(words) if numbered else None)


def _number(words: list[str]) -> int | None:
    """What the words of a cue count: the first number, ordinal or factor among them."""
    for word in words:
        if word.isdigit():
            return int(word)
        for scale in (NUMBERS, ORDINALS, FACTORS):
            if word in scale:
                return scale[word]
    return None
