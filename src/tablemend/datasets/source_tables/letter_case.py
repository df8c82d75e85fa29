"""Capitals and spaces put back into tables that a source has written in small letters throughout.

The lists of words are beside those of sentences. What is no name stays as it is.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from importlib.resources import files

import yaml

from tablemend.tables.table import Cell
from tablemend.values.dates import MONTH_NAMES

_WORDS: dict[str, str] = yaml.safe_load(
    files("tablemend.datasets.tablehallu").joinpath("sentences.yaml").read_text("utf-8")
)["case"]
_PROPER, _SMALL, _ACRONYMS, _TITLES = (
    frozenset(_WORDS[name].split()) for name in ("proper", "small", "acronyms", "titles")
)
_LETTERS = re.compile(r"[^\W\d_]+")
_NO_VOWEL = re.compile(r"[b-df-hj-np-tv-xz]{2,4}")
_SPACE = re.compile(r" (?=[,;:!?%)\]]|'s\b)|(?<=[(\[]) |(?<=\w) (?=- \w)|(?<=\w -) (?=\w)|(?<=^-) ")
MONTH = re.compile(rf"\b(?:{'|'.join(month[:3] for month in MONTH_NAMES)})", re.I)
_MONTH = re.compile(rf"\b(?:{'|'.join(MONTH_NAMES)})\b|^[wldt](?=,? \d|$)", re.I)


def is_small(rows: Iterable[Sequence[Cell]]) -> bool:
    """Whether no cell has a capital, and some have letters."""
    text = " ".join(cell for row in rows for cell in row if cell)
    return text == text.lower() != text.upper()


def with_capitals(
    headers: Sequence[str], rows: Sequence[tuple[Cell, ...]], key: int
) -> list[tuple[Cell, ...]]:
    """The rows of a table in small letters as they are usually written.

    Args:
        headers: of its columns.
        rows: its cells.
        key: the column of names; others are known by their headers.
    """
    short = sum(len(row[key] or "") <= 3 for row in rows)
    of_names = str.upper if 2 * short > len(rows) else with_capital  # "cin", "was": of teams
    proper = [not _PROPER.isdisjoint(header.lower().split()) for header in headers]
    writers: list[Callable[[str], str]] = [
        with_capital if is_proper else _closed for is_proper in proper
    ]
    writers[key] = of_names
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
