"""The many ways to write that a cell is empty (TableHallu, C.1: one canonical blank)."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import yaml

from tablemend.values.text import clean

_MARKS = re.compile(r"(?:[-_.?/\u2026\u2205'\"\s\u274c]|\{\s*\}|\[\s*\])*\Z")
_DATA: dict[str, Any] = yaml.safe_load(Path(__file__).with_suffix(".yaml").read_text("utf-8"))
_CODES = frozenset(_DATA["codes"].split())
_PHRASE = re.compile("|".join(_DATA["phrases"]).format(**_DATA["words"]), re.IGNORECASE)
# "N/A (not reported)", "N/A - not stated", "Not stated/unknown"; both halves must be blanks.
_TWICE = re.compile(r"(.+?)(?: ?[(\[](.+)[)\]]|(?: - |(?<![nN])/|; ?)(.+))")

# How any of these begins: most cells are told from a blank by their first letters.
_BEGINNING = re.compile(r"[\W_]|n|un|bl|em|mi|pe|tb|to|da|de|in|va|fi|re|ye", re.IGNORECASE)


def is_blank(cell: str | None) -> bool:
    """Whether a cell says only that there is no value.

    ``no`` and ``0`` are values. ``none`` is a blank, as in the paper's list.
    """
    if cell is None or not cell:
        return True
    if not _BEGINNING.match(cell):
        return False
    if len(cell) > 80:
        return not cell.strip()
    return _says_blank(clean(cell))


def _says_blank(text: str) -> bool:
    if _MARKS.match(text):
        return True
    text = (text.rstrip("^*\u2020\u2021\u00a7") or text).strip(" .\"'")
    if text[:1] + text[-1:] in ("()", "[]"):
        text = text[1:-1].strip()
    if text in _CODES or not text:
        return True
    if _PHRASE.fullmatch(text):
        return True
    said_twice = _TWICE.fullmatch(text)
    return said_twice is not None and all(_says_blank(part) for part in said_twice.groups("-"))
