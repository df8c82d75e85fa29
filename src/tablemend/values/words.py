"""What the words of a column's name share with the words of a text."""

from __future__ import annotations

import re

from tablemend.values.places import singular
from tablemend.values.text import tokens_of

LITTLE_WORDS = frozenset(
    "a an and are as at by for from had has have in is its no number of on or per s the to total "
    "was were with".split()
)
_BRACKETS = re.compile(r"[(\[][^()\[\]]*[)\]]")
_ATTRIBUTES = frozenset(
    "attribute property field key name item feature metric parameter characteristic".split()
) | {""}
_VALUES = frozenset("value values detail details description information content".split()) | {""}
_VERB_ENDINGS = frozenset({"", "s", "d", "ed", "ing"})
_ENDINGS = _VERB_ENDINGS | frozenset(
    "al ally ance ation cation e ee ence er ers es ies ion ity ive ment n or r tion y".split()
)


def names_attributes(label: str) -> bool:
    """Whether a column's name, or none, says that its cells are attributes."""
    return label.strip().casefold() in _ATTRIBUTES


def names_values(label: str) -> bool:
    """Whether a column's name, or none, says that its cells are the values of attributes."""
    return label.strip().casefold() in _VALUES


def content_words(header: str) -> list[str]:
    """The words of a column's name that carry its meaning, without units in brackets."""
    words = tokens_of(_BRACKETS.sub(" ", header)).words
    return [singular(word) for word in words if word not in LITTLE_WORDS]


def akin(one: str, other: str) -> bool:
    """Whether two words are forms of one: "rank" and "ranked", "designer" and "designed"."""
    if one == other:
        return True
    same = 0
    for left, right in zip(one, other, strict=False):
        if left != right:
            break
        same += 1
    endings = {one[same:], other[same:]}
    return (same >= 4 and endings <= _VERB_ENDINGS) or (same >= 5 and endings <= _ENDINGS)
