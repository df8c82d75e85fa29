"""What the adjectives of computed claims ask for, read from ``vocabulary.yaml``."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import yaml

from tablemend.verifier.lexicon import terms


class Quality(NamedTuple):
    """What an adjective orders by.

    Attributes:
        about: terms of headers that it speaks of by itself; empty where a noun must say it.
        inverse: terms of headers for which its direction turns: "oldest" is the largest age and
            the smallest year, "fastest" the highest speed and the shortest time.
    """

    about: frozenset[str] = frozenset()
    inverse: frozenset[str] = frozenset()


_FILE: dict[str, Any] = yaml.load(
    Path(__file__).with_suffix(".yaml").read_text(encoding="utf-8"), yaml.CSafeLoader
)


def _headers(names: str) -> frozenset[str]:
    """The terms of the headers of some sorts: "age when"."""
    return frozenset(
        term
        for name in names.split()
        for word in _FILE["headers"][name].split()
        for term in terms(word)
    )


THINGS = frozenset(_FILE["things"].split())
EMPTY = frozenset(_FILE["empty"].split())
DISTINCT = frozenset(_FILE["distinct"].split())
LIMITING = frozenset(_FILE["limiting"].split())
RESULTS: dict[str, str] = {
    word: result for result, words in _FILE["results"].items() for word in words.split()
}
LOWER_IS_BETTER = _headers("lower_is_better")
RANKS = _headers("ranks")
QUALITIES = {
    adjective: Quality(_headers(said.get("about", "")), _headers(said.get("inverse", "")))
    for adjective, said in _FILE["qualities"].items()
}
_OPPOSITES: dict[str, str] = {}
for _pair in _FILE["opposites"]:
    _one, _other = _pair.split()
    _OPPOSITES.setdefault(_one, _other)
    _OPPOSITES.setdefault(_other, _one)


def opposite(words: str) -> str:
    """The words with their last word of direction turned round; empty where none has one."""
    parts = words.split()
    for place in reversed(range(len(parts))):
        if turned := _OPPOSITES.get(parts[place].casefold()):
            turned = turned.capitalize() if parts[place][0].isupper() else turned
            return " ".join([*parts[:place], turned, *parts[place + 1 :]])
    return ""
