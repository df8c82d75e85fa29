"""The cue words themselves, read from ``cue_words.yaml``."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, Literal, get_args

import yaml

from tablemend.values import number_words
from tablemend.values.dates import MONTHS
from tablemend.values.number_words import TENS, UP_TO_TWENTY

CueKind = Literal[
    "superlative",
    "rank",
    "comparative",
    "count",
    "quantifier",
    "aggregate",
    "change",
    "temporal",
    "negation",
    "hedge",
]
CUE_KINDS: tuple[CueKind, ...] = get_args(CueKind)

_FILE: dict[str, Any] = yaml.load(
    Path(__file__).with_suffix(".yaml").read_text(encoding="utf-8"), yaml.CSafeLoader
)
Scale = dict[str, tuple[str, int]]
"""Word -> its adjective and direction."""


def _scale(degree: int, others: dict[str, list[Any]]) -> Scale:
    found: Scale = {
        word: (adjective, degrees[0])
        for adjective, degrees in _FILE["adjectives"].items()
        for word in degrees[degree].split()
    }
    return found | {
        word: (adjective, way)
        for words, (adjective, way) in others.items()
        for word in words.split()
    }


SENSES: dict[CueKind, str] = _FILE["senses"]
NUMBERS = {word: value for value, word in enumerate(UP_TO_TWENTY) if value}
ORDINALS = {word: value for value, word in enumerate(number_words.ORDINALS, 1)}
FACTORS = {word: value for value, words in _FILE["factors"].items() for word in words.split()}
COMPARATIVES = _scale(1, _FILE["comparatives"])
SUPERLATIVES = _scale(2, _FILE["superlatives"])


def _any(words: Scale) -> str:
    return "|".join(sorted(words, key=len, reverse=True))


_NUMBER_WORD = "|".join(NUMBERS)
_PARTS: dict[str, str] = _FILE["parts"] | {
    "number_word": _NUMBER_WORD,
    "number": rf"(?:\d{{1,3}}|{_NUMBER_WORD})",
    "ordinal": rf"(?:\d+\s?(?:st|nd|rd|th)|{'|'.join(ORDINALS)})",
    "comparative": _any(COMPARATIVES),
    "superlative": _any(SUPERLATIVES),
    "clear_month": "|".join(name for name in MONTHS if name not in ("march", "may")),
    # "over 20", "about a million", "nearly $ 5", "at least one"
    "amount": (
        r"(?=\s*(?:[$€£¥~]|usd|an? (?:hundred|thousand|million|billion|dozen)|half\b|twice\b|"
        rf"a (?:third|quarter)\b|[-+.]?\d|(?:{_NUMBER_WORD}|{'|'.join(TENS[1:])}|hundred|zero)\b))"
    ),
}
_PART = re.compile(rf"<({'|'.join(_PARTS)})>")


def _pattern(written: str | list[str]) -> str:
    text = written if isinstance(written, str) else "|".join(written)
    return _PART.sub(lambda match: _PARTS[match[1]], text)


RULES: tuple[tuple[CueKind, str, int, str], ...] = tuple(
    (kind, sense, direction, _pattern(written))
    for kind, sense, direction, written in _FILE["rules"]
)
"""Kind, sense, direction and pattern; where two match at one place, the first is taken."""
