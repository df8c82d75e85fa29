"""Topics of rows: drawn without replacement while they last; the number alone decides.

The built-in topics are templates filled from the lists of ``topics.yaml`` (TableHallu, A.1.1).
Their years are drawn anew when all other fillings of a sub-category have been used; topics of a
user's own begin again.
"""

from __future__ import annotations

import json
import re
from functools import cache
from hashlib import sha256
from itertools import product
from pathlib import Path
from random import Random
from string import Formatter
from typing import Any, NamedTuple, Protocol

import yaml

from tablemend.datasets.tablehallu.topics import SUB_CATEGORIES
from tablemend.errors import TablemendError

OWN = "Own topics"
"""Category and domain of a user's topics."""


def _spans(first: int) -> tuple[str, ...]:
    return tuple(
        f"from {start} to {start + length}"
        for start in range(first, 2020, 5)
        for length in (4, 9, 14)
        if start + length < 2024
    )


YEARS = {"span": _spans(1960), "recent": _spans(1995)}
"""The slots of years: topics that differ in them alone are not counted as different."""


class Topic(NamedTuple):
    """What a kernel is to be about; the names are the paper's (TableHallu, A.1.1)."""

    text: str
    category: str
    domain: str


class Topics(Protocol):
    """A topic for every number."""

    digest: str
    """What the topics depend on, to be noted."""
    count: int
    """Topics that differ in more than their years."""

    def topic(self, number: int) -> Topic:
        """Topic of row ``number``."""


def open_topics(path: str | None, seed: int) -> Topics:
    """The topics of a file, or the built-in ones.

    Raises:
        TablemendError: the file cannot be read, holds no topic or one twice; with its line.
    """
    return PoolTopics(seed) if path is None else OwnTopics(_read(Path(path)), seed)


def split_key(text: str) -> str:
    """Hash by which a topic's split is decided; it is the same for all years of a topic."""
    return sha256(re.sub(r"\b\d{4}\b", "#", text.casefold()).encode()).hexdigest()[:16]


@cache
def templates() -> dict[str, tuple[str, ...]]:
    """What the tables of each sub-category can be about, with slots."""
    return {name: tuple(texts) for name, texts in _data()["templates"].items()}


@cache
def lists() -> dict[str, tuple[str, ...]]:
    """What fills the slots, those of years too."""
    filled = {name: tuple(words.split(" | ")) for name, words in _data()["lists"].items()}
    return YEARS | filled


@cache
def _data() -> dict[str, Any]:
    text = Path(__file__).with_name("topics.yaml").read_text(encoding="utf-8")
    return dict(yaml.safe_load(text))


def slots_of(template: str) -> tuple[str, ...]:
    """Names of the slots of a template."""
    return tuple(name for _, name, _, _ in Formatter().parse(template) if name)


def _fill(template: str) -> list[str]:
    """The template filled in every way; its years stay open."""
    slots = slots_of(template)
    words = [(f"{{{slot}}}",) if slot in YEARS else lists()[slot] for slot in slots]
    return [template.format(**dict(zip(slots, chosen, strict=True))) for chosen in product(*words)]


class PoolTopics:
    """The built-in topics; sub-categories take turns.

    Args:
        seed: another seed takes the topics in another order.
    """

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self._order = cache(self._shuffle)
        self.digest = f"pool/{_digest([templates(), lists()])}"
        self.count = sum(len(self._order(sub.name, 0)) for sub in SUB_CATEGORIES)

    def topic(self, number: int) -> Topic:
        """Topic of row ``number``."""
        turn, place = divmod(number, len(SUB_CATEGORIES))
        sub = SUB_CATEGORIES[place]
        round_, turn = divmod(turn, len(self._order(sub.name, 0)))
        text = self._order(sub.name, round_)[turn]
        rng = Random(f"years:{self._seed}:{number}")
        for slot, spans in YEARS.items():
            text = text.replace(f"{{{slot}}}", rng.choice(spans))
        return Topic(text, sub.category, sub.domain)

    def _shuffle(self, name: str, round_: int) -> list[str]:
        """All topics of a sub-category; templates take turns while they have one left."""
        rng = Random(f"topics:{self._seed}:{name}:{round_}")
        left = [_fill(template) for template in templates()[name]]
        for filled in left:
            rng.shuffle(filled)
        order = []
        while left:
            rng.shuffle(left)
            order += [filled.pop() for filled in left]
            left = [filled for filled in left if filled]
        return order


class OwnTopics:
    """A user's topics in a shuffled order, again and again."""

    def __init__(self, topics: list[Topic], seed: int) -> None:
        self._topics, self._seed = topics, seed
        self._order = cache(self._shuffle)
        self.digest = f"own/{_digest(topics)}"
        self.count = len({split_key(topic.text) for topic in topics})

    def topic(self, number: int) -> Topic:
        """Topic of row ``number``."""
        round_, turn = divmod(number, len(self._topics))
        return self._topics[self._order(round_)[turn]]

    def _shuffle(self, round_: int) -> list[int]:
        order = list(range(len(self._topics)))
        Random(f"topics:{self._seed}:{round_}").shuffle(order)
        return order


def _digest(content: Any) -> str:
    return sha256(json.dumps(content, ensure_ascii=False).encode()).hexdigest()[:16]


def _read(path: Path) -> list[Topic]:
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except UnicodeDecodeError as error:
        raise TablemendError(f"topics={path}: not UTF-8 text at byte {error.start}") from error
    except OSError as error:
        raise TablemendError(f"topics={path}: {error.strerror}") from error
    topics: dict[str, Topic] = {}
    for number, line in enumerate(map(str.strip, lines), 1):
        if line in topics:
            raise TablemendError(f"topics={path}: line {number} has an earlier topic again")
        if line:
            topics[line] = Topic(line, OWN, OWN)
    if not topics:
        raise TablemendError(f"topics={path} holds no topic: write one a line")
    return list(topics.values())
