"""Topics of rows: drawn without replacement while they last; the number alone decides.

The built-in topics are templates filled from the lists of ``topics.yaml`` (TableHallu, A.1.1).
Their years are drawn anew when all other fillings of a sub-category have been used; topics of a
user's own begin again.
"""

from __future__ import annotations

import json
import re
from functools import cache
from itertools import product
from pathlib import Path
from random import Random
from string import Formatter
from typing import Any, NamedTuple

import yaml

from tablemend.datasets.source_tables.sources import SUB_CATEGORIES
from tablemend.errors import TablemendError
from tablemend.runs import hash_text
from tablemend.tables.read import load_text
from tablemend.tables.table import TableError

OWN = "Own topics"  # category and domain of a user's

YEARS = {
    slot: [
        f"from {start} to {start + length}"
        for start in range(first, 2020, 5)
        for length in (4, 9, 14)
        if start + length < 2024
    ]
    for slot, first in (("span", 1960), ("recent", 1995))
}
"""The slots of years: topics that differ in them alone are not counted as different."""


class Topic(NamedTuple):
    """What a kernel is to be about; the names are the paper's (TableHallu, A.1.1)."""

    text: str
    category: str
    domain: str


class Group(NamedTuple):
    """Topics of one place in the hierarchy of the paper, by template; all take turns."""

    name: str
    category: str
    domain: str
    topics: list[list[str]]


class Topics:
    """A topic for every number; another seed takes them in another order.

    Attributes:
        digest: what the topics depend on, to be noted.
        count: topics that differ in more than their years.
    """

    def __init__(self, groups: list[Group], seed: int) -> None:
        self._groups, self._seed = groups, seed
        self._order = cache(self._shuffle)
        self.digest = hash_text(json.dumps(groups, ensure_ascii=False))
        filled = (filled for group in groups for filled in group.topics)
        self.count = len({split_key(text) for texts in filled for text in texts})

    def topic(self, number: int) -> Topic:
        """Topic of row ``number``."""
        turn, place = divmod(number, len(self._groups))
        group = self._groups[place]
        round_, turn = divmod(turn, len(self._order(place, 0)))
        text = self._order(place, round_)[turn]
        rng = Random(f"years:{self._seed}:{number}")
        for slot, spans in YEARS.items():
            text = text.replace(f"{{{slot}}}", rng.choice(spans))
        return Topic(text, group.category, group.domain)

    def _shuffle(self, place: int, round_: int) -> list[str]:
        """All topics of a group; templates take turns while they have one left."""
        group = self._groups[place]
        rng = Random(f"topics:{self._seed}:{group.name}:{round_}")
        left = [topics.copy() for topics in group.topics]
        for topics in left:
            rng.shuffle(topics)
        order = []
        while left:
            rng.shuffle(left)
            order += [topics.pop() for topics in left]
            left = [topics for topics in left if topics]
        return order


def open_topics(path: str | None, seed: int) -> Topics:
    """The topics of a file, or the built-in ones.

    Raises:
        TablemendError: the file cannot be read, holds no topic or one twice; with its line.
    """
    if path is not None:
        return Topics([Group("", OWN, OWN, [_read(Path(path))])], seed)
    groups = [
        Group(sub.name, sub.category, sub.domain, list(map(_fill, _data()["templates"][sub.name])))
        for sub in SUB_CATEGORIES
    ]
    return Topics(groups, seed)


def split_key(text: str) -> str:
    """Hash by which a topic's split is decided; it is the same for all years of a topic."""
    return hash_text(re.sub(r"\b\d{4}\b", "#", text.casefold()))


@cache
def _data() -> dict[str, Any]:
    return dict(yaml.safe_load(Path(__file__).with_name("topics.yaml").read_bytes()))


def _fill(template: str) -> list[str]:
    """The template filled in every way; its years stay open."""
    slots = [name for _, name, _, _ in Formatter().parse(template) if name]
    lists = _data()["lists"]
    words = [[f"{{{slot}}}"] if slot in YEARS else lists[slot].split(" | ") for slot in slots]
    return [template.format(**dict(zip(slots, chosen, strict=True))) for chosen in product(*words)]


def _read(path: Path) -> list[str]:
    try:
        lines = list(map(str.strip, load_text(path, may_be_empty=True).splitlines()))
    except TableError as error:
        raise TablemendError(f"topics={error}") from error
    topics: dict[str, int] = {}
    for number, line in enumerate(lines, 1):
        if line and topics.setdefault(line, number) != number:
            raise TablemendError(f"topics={path}: line {number} has an earlier topic again")
    if not topics:
        raise TablemendError(f"topics={path} holds no topic: write one a line")
    return list(topics)
