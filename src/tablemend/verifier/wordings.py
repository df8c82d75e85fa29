"""Phrases of queries and of contexts, read from ``wordings.yaml``, as patterns and as sets."""

from __future__ import annotations

import re
from pathlib import Path

import yaml

_PHRASES: dict[str, str] = yaml.load(
    Path(__file__).with_suffix(".yaml").read_text(encoding="utf-8"), yaml.CSafeLoader
)


def any_of(*names: str) -> str:
    """A pattern of any of the phrases under these names; ``*`` is the rest of a word."""
    found = [phrase for name in names for phrase in _PHRASES[name].split(", ")]
    patterns = (
        re.escape(phrase).replace(r"\*", r"\w*").replace(r"\ ", r"\s+")
        for phrase in sorted(found, key=len, reverse=True)
    )
    return f"(?:{'|'.join(patterns)})"


def words_of(*names: str) -> frozenset[str]:
    """All words of these phrases."""
    return frozenset(re.findall(r"[^\s,]+", " ".join(_PHRASES[name] for name in names)))


def called(header: str) -> list[str]:
    """What a sentence may call a row whose name stands under a header, beside that header."""
    keys = (f"row {word}" for word in header.lower().split())
    return [noun for key in keys for noun in _PHRASES.get(key, "").split(", ") if noun]
