"""What a sentence calls the columns and rows of a table, and what it leaves unsaid."""

from __future__ import annotations

import re

from tablemend.evidence.grid import Grid
from tablemend.synthesis.columns import clean_cell, words_of
from tablemend.synthesis.sentences import JOINING, is_plural, label_of
from tablemend.values.cells import read_value

MAX_NAME = 60

ODD = re.compile(r'[@"{}|<>\\\n;:!?=~^*†‡]|\.\.|\s-\s|,.*,|https?')
_BRACKETS = re.compile(r"\s*[(\[][^()\[\]]*[)\]]")
MEDALS = ("gold", "silver", "bronze")
"""Headers under which a number is one of medals."""
_DASHBOARD = frozenset(
    """
    analyst average churn churned consensus cost customers cycle deal deals fill flag fiscal growth
    inventory lost margin measurement metric net new operating opportunities pipeline points range
    reference reported result retention sales segment start status sku stock stockout test turnover
    unit warehouse win won
    """.split()
)
_NO_NOUNS = frozenset("name title number date year result notes type status group".split())
_LETTER = re.compile(r"[^\W\d_]")


def measure_label(grid: Grid, column: int) -> str:
    """What a sentence calls a column: its header without the unit; empty where it has no words."""
    path = grid.columns[column].path
    levels = (_BRACKETS.sub("", clean_cell(level) or "").strip() for level in path)
    parts = [level for level in levels if level]
    if not parts or len(parts) > 2:
        return ""
    header = parts[0] if len(parts) == 1 else f"{parts[1]} ({parts[0]})"
    if len(header) > 50 or not _LETTER.search(header) or ODD.search(header) or ". " in header:
        return ""
    label = spoken(header.rstrip(" %,$"))
    words = label.casefold().split()
    if not words or JOINING.intersection((words[0], words[-1])) or words[-1] == "with":
        return ""
    return label


def spoken(header: str) -> str:
    """The header in small letters, if all its words are common ones or those of dashboards."""
    words = header.split()
    usual = all(word.lower() in _DASHBOARD or label_of(word) == word.lower() for word in words)
    return header.lower() if usual else label_of(header)


def is_name(text: str) -> bool:
    """Whether a cell can stand as a name within a sentence."""
    value = read_value(text)
    return (
        1 < len(text) <= MAX_NAME
        and value.number is None
        and not value.dates
        and _LETTER.search(text) is not None
        and not ODD.search(text)
        and words_of(text).strip() != ""
    )


def noun_of(header: str) -> str:
    """``team`` for the header "Team"; empty where the header is no single common word."""
    label = spoken(header.strip())
    usual = label.isalpha() and label.islower() and not is_plural(label)
    return label if usual and label not in _NO_NOUNS | JOINING else ""
