"""What a sentence calls the columns and rows of a table, and what it leaves unsaid."""

from __future__ import annotations

import re
from importlib.resources import files

import yaml

from tablemend.datasets.tablehallu.columns import clean_cell, words_of
from tablemend.datasets.tablehallu.sentences import EVENTS, JOINING, is_plural, label_of
from tablemend.evidence.grid import Grid
from tablemend.values.cells import read_value

MAX_NAME = 60

ODD = re.compile(r'[@"{}|<>\\\n;:!?=~^*†‡]|\.\.|\s-\s|,.*,|https?')
_BRACKETS = re.compile(r"\s*[(\[][^()\[\]]*[)\]]")
MEDALS = ("gold", "silver", "bronze")
"""Headers under which a number is one of medals."""
_ACRONYM = re.compile(r"[A-Z][a-z]?[A-Z]+")
WORDS = {
    name: frozenset(words.split())
    for name, words in yaml.safe_load(
        files(__package__).joinpath("labels.yaml").read_text("utf-8")
    ).items()
}
"""Words of headers by what they mean."""
_PARTICIPLES = WORDS["participles"]
_ENDS = JOINING | WORDS["ends"]
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
    if len(words) == 2 and words[0] in ("year", "date") and words[1] in EVENTS:
        return words[1]  # "was enacted in 1961"
    if not words or JOINING.intersection((words[0], words[-1])) or words[-1] == "with":
        return ""
    return label


def spoken(header: str) -> str:
    """The header in small letters, but for acronyms, if its other words are common ones."""
    words = header.split()
    if all(_ACRONYM.fullmatch(word) or _is_common(word) for word in words):
        return " ".join(
            word if len(words) > 1 and _ACRONYM.fullmatch(word) else _lowered(word)
            for word in words
        )
    return label_of(header)


def _is_common(word: str) -> bool:
    folded = word.lower()
    return folded in WORDS["common"] or label_of(word) == folded


def _lowered(word: str) -> str:
    return word.lower() if _is_common(word) else word


def is_plural_label(label: str) -> bool:
    """Whether what a column is called is a plural: "deals won", "votes in favour", "points"."""
    words = label.split()
    inner = (i for i, word in enumerate(words) if i and (word in _ENDS or word.startswith("(")))
    head = words[: next(inner, len(words))]
    while len(head) > 1 and head[-1].casefold() in _PARTICIPLES:
        head = head[:-1]
    return head[-1] == "species" or (head[-1] != "COGS" and is_plural(head[-1]))


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


def is_counted_label(label: str) -> bool:
    """Whether a whole number of it can be said: "5 deals won", but no "5 earnings"."""
    words = label.split()
    return len(words) < 4 and not WORDS["amounts"].intersection(words) and is_plural_label(label)


def takes_article(label: str) -> bool:
    """Whether "a" can stand before a label: not before plurals, "money" or "first elected"."""
    last = label.split()[-1].casefold()
    unsure = is_plural_label(label) or is_mixed_label(label)
    return not unsure and last not in WORDS["uncountable"] | _PARTICIPLES | EVENTS


def is_mixed_label(label: str) -> bool:
    """Whether it is open if a label is a plural: "goals against"; not so "sales cycle"."""
    words = label.split()
    singular = is_plural_label(label) or not any(map(is_plural, words))
    return not singular and not (_is_common(words[-1]) and words[-1] not in JOINING)


def noun_of(header: str) -> str:
    """``team`` for the header "Team"; empty where the header is not one or two common words."""
    label = spoken(header.strip())
    words = label.split()
    usual = (
        0 < len(words) < 3
        and all(word.isalpha() and word.islower() for word in words)
        and not is_plural(label)
    )
    return label if usual and not (WORDS["no_nouns"] | JOINING).intersection(words) else ""


def spoken_name(noun: str, name: str) -> str:
    """An entity within a sentence: "net income" of a table of metrics, proper names as they are."""
    return spoken(name) if noun in ("metric", "measure", "indicator") else name
