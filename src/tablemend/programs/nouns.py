"""What a sentence calls the columns and rows of a table: labels, their number and article."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import yaml

from tablemend.values.cells import read_value

MAX_NAME = 60

WORDS = {
    name: frozenset(words.split())
    for name, words in yaml.safe_load(
        Path(__file__).with_suffix(".yaml").read_text("utf-8")
    ).items()
}
"""Words of headers by what they mean."""
EVENTS = WORDS["events"]
_JOINING = WORDS["joining"]
_NO_START = _JOINING - {"the"}
_COMMON = WORDS["common"] | _JOINING
_PARTICIPLES = WORDS["participles"]
_ENDS = _JOINING | WORDS["ends"]
_NO_END = ("with", "against")
_MEDALS = ("gold", "silver", "bronze")
_ODD = re.compile(r'[@"{}|<>\\\n;:!?=~^*†‡]|\.\.|\s-\s|,.*,|https?')
_UNSAID = re.compile(rf"%|\. |{_ODD.pattern}")
_BRACKETS = re.compile(r"\s*[(\[][^()\[\]]*[)\]]")
_ACRONYM = re.compile(r"[A-Z][a-z]?[A-Z]+")
_WORD = re.compile(r"[^\W\d_]{2}")
_LETTER = re.compile(r"[^\W\d_]")
_SPOKEN_VOWEL = frozenset("AEFHILMNORSX")
_SPOKEN_CONSONANT = ("uni", "use", "eu", "one")


def label_of(header: str) -> str:
    """The header as it reads inside a sentence: small if all its words are common ones."""
    common = all(word.lower() in _COMMON for word in header.split())
    return header.lower() if common else header


def with_article(label: str) -> str:
    """The label with *a* or *an*, as its first word is spoken."""
    first = label.split()[0]
    if first.lower().startswith(_SPOKEN_CONSONANT):
        return f"a {label}"
    spelled_out = first.isupper() and len(first) > 1
    vowel = first[0] in _SPOKEN_VOWEL if spelled_out else first[0].lower() in "aeiou"
    return f"{'an' if vowel else 'a'} {label}"


def is_plural(label: str) -> bool:
    """Whether the last word of a label is a plural."""
    last = label.split()[-1].casefold()
    return (
        len(last) > 3
        and last.isalpha()
        and last.endswith("s")
        and not last.endswith(("ss", "us", "is"))
        and last not in WORDS["singular"]
    )


def plural_of(noun: str) -> str:
    """``countries`` of ``country``."""
    if noun.endswith("y") and noun[-2:-1] not in "aeiou":
        return f"{noun[:-1]}ies"
    return f"{noun}es" if noun.endswith(("s", "x", "ch", "sh")) else f"{noun}s"


def measure_label(path: Sequence[str]) -> str:
    """What a sentence calls a column: its header without the unit; empty where it has no words.

    Args:
        path: the levels of the header, from the top.
    """
    parts = [part for level in path if (part := _BRACKETS.sub("", level).strip())]
    if not parts or len(parts) > 2:
        return ""
    header = parts[0] if len(parts) == 1 else f"{parts[1]} ({parts[0]})"
    header = header.rstrip(" %,$")
    if len(header) > 50 or not _WORD.match(header) or _UNSAID.search(header):
        return ""
    label = spoken(header)
    words = label.casefold().split()
    if len(words) == 2 and words[0] in ("year", "date") and words[1] in EVENTS:
        return words[1]  # "was enacted in 1961"
    if not words or _JOINING.intersection((words[0], words[-1])) or words[-1] in _NO_END:
        return ""
    return f"{label} medals" if label in _MEDALS else label


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
    return folded in WORDS["also_common"] or label_of(word) == folded


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
        and not _ODD.search(text)
        and text.split()[0].casefold() not in _NO_START
    )


def is_said(text: str) -> bool:
    """Whether a cell of text can stand as a value within a sentence."""
    return len(text) <= 40 and is_name(text)


def is_counted_label(label: str) -> bool:
    """Whether a whole number of it can be said: "5 deals won", but no "5 earnings"."""
    words = label.split()
    return len(words) < 4 and not WORDS["amounts"].intersection(words) and is_plural_label(label)


def is_event(label: str) -> bool:
    """Whether a date under it says when something happened: "built", "first elected"."""
    return label.split()[-1].casefold() in EVENTS | _PARTICIPLES


def takes_article(label: str) -> bool:
    """Whether "a" can stand before a label: not before plurals, "money" or "first elected"."""
    last = label.split()[-1].casefold()
    unsure = is_plural_label(label) or is_mixed_label(label)
    return not unsure and last not in WORDS["uncountable"] | _PARTICIPLES | EVENTS


def is_mixed_label(label: str) -> bool:
    """Whether it is open if a label is a plural: "goals against"; not so "sales cycle"."""
    words = label.split()
    singular = is_plural_label(label) or not any(map(is_plural, words))
    return not singular and not (_is_common(words[-1]) and words[-1] not in _JOINING)


def noun_of(header: str) -> str:
    """``team`` for the header "Team"; empty where the header is not one or two common words."""
    label = spoken(header.strip())
    words = label.split()
    usual = (
        0 < len(words) < 3
        and all(word.isalpha() and word.islower() for word in words)
        and not is_plural(label)
    )
    return label if usual and not (WORDS["no_nouns"] | _JOINING).intersection(words) else ""
