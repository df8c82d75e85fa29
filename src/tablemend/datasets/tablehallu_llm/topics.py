"""Topics of rows: drawn without replacement while they last; the number alone decides.

The built-in topics are templates filled from lists (TableHallu, A.1.1). Their years are drawn
anew when all other fillings of a sub-category have been used; topics of a user's own begin again.
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
from typing import Protocol

from tablemend.datasets.tablehallu.topics import SUB_CATEGORIES
from tablemend.datasets.tablehallu_llm.drafts import Topic
from tablemend.datasets.tablehallu_llm.topic_lists import LISTS, TEMPLATES, YEARS
from tablemend.errors import TablemendError
from tablemend.values.foreign import load_json

OWN = "Own topics"
"""Category and domain of a user's topic that names none."""


class Topics(Protocol):
    """A topic for every number."""

    @property
    def digest(self) -> str:
        """What the topics depend on, to be noted."""

    @property
    def count(self) -> int:
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


class PoolTopics:
    """The built-in topics; sub-categories take turns.

    Args:
        seed: another seed takes the topics in another order.
    """

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self._order = cache(self._shuffle)

    @property
    def digest(self) -> str:
        """Hash of templates and lists."""
        content = json.dumps([TEMPLATES, LISTS], ensure_ascii=False)
        return f"pool/{sha256(content.encode()).hexdigest()[:16]}"

    @property
    def count(self) -> int:
        """Topics of all sub-categories together."""
        return sum(len(self._order(sub.name, 0)) for sub in SUB_CATEGORIES)

    def topic(self, number: int) -> Topic:
        """Topic of row ``number``."""
        turn, place = divmod(number, len(SUB_CATEGORIES))
        sub = SUB_CATEGORIES[place]
        round_, turn = divmod(turn, len(self._order(sub.name, 0)))
        text = self._order(sub.name, round_)[turn]
        rng = Random(f"years:{self._seed}:{number}")
        for slot in YEARS:
            text = text.replace(f"{{{slot}}}", rng.choice(LISTS[slot]))
        return Topic(text, sub.category, sub.domain)

    def _shuffle(self, name: str, round_: int) -> list[str]:
        """All topics of a sub-category; templates take turns while they have one left."""
        rng = Random(f"topics:{self._seed}:{name}:{round_}")
        left = [_fill(template) for template in TEMPLATES[name]]
        for filled in left:
            rng.shuffle(filled)
        order = []
        while left:
            rng.shuffle(left)
            order += [filled.pop() for filled in left]
            left = [filled for filled in left if filled]
        return order


def _fill(template: str) -> list[str]:
    """The template filled in every way; its years stay open."""
    slots = slots_of(template)
    words = [(f"{{{slot}}}",) if slot in YEARS else LISTS[slot] for slot in slots]
    return [template.format(**dict(zip(slots, chosen, strict=True))) for chosen in product(*words)]


def slots_of(template: str) -> tuple[str, ...]:
    """Names of the slots of a template."""
    return tuple(name for _, name, _, _ in Formatter().parse(template) if name)


class OwnTopics:
    """A user's topics in a shuffled order, again and again."""

    def __init__(self, topics: list[Topic], seed: int) -> None:
        self._topics = topics
        self._seed = seed
        self._order = cache(self._shuffle)

    @property
    def digest(self) -> str:
        """Hash of the topics."""
        content = json.dumps(self._topics, ensure_ascii=False)
        return f"own/{sha256(content.encode()).hexdigest()[:16]}"

    @property
    def count(self) -> int:
        """Topics in the file."""
        return len({split_key(topic.text) for topic in self._topics})

    def topic(self, number: int) -> Topic:
        """Topic of row ``number``."""
        round_, turn = divmod(number, len(self._topics))
        return self._topics[self._order(round_)[turn]]

    def _shuffle(self, round_: int) -> list[int]:
        order = list(range(len(self._topics)))
        Random(f"topics:{self._seed}:{round_}").shuffle(order)
        return order


def _read(path: Path) -> list[Topic]:
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except UnicodeDecodeError as error:
        raise TablemendError(f"topics={path}: not UTF-8 text at byte {error.start}") from error
    except OSError as error:
        raise TablemendError(f"topics={path}: {error.strerror}") from error
    found: dict[str, int] = {}
    topics = []
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        topic = _topic(line.strip(), f"topics={path}: line {number}")
        if topic.text in found:
            raise TablemendError(
                f"topics={path}: line {number} has the topic of line {found[topic.text]} again"
            )
        found[topic.text] = number
        topics.append(topic)
    if not topics:
        raise TablemendError(f"topics={path} holds no topic: write one a line")
    return topics


def _topic(line: str, where: str) -> Topic:
    if not line.startswith("{"):
        return Topic(line, OWN, OWN)
    try:
        data = load_json(line)
    except (ValueError, RecursionError) as error:
        raise TablemendError(f"{where} is neither text nor JSON: {error}") from error
    unknown = sorted(set(data) - {"text", "category", "domain"})
    if unknown:
        raise TablemendError(f"{where}: no field {unknown[0]!r}; there are text, category, domain")
    values = [data.get("text"), data.get("category", OWN), data.get("domain", OWN)]
    text, category, domain = (value.strip() if isinstance(value, str) else "" for value in values)
    if not (text and category and domain):
        raise TablemendError(f"{where}: text, category and domain are texts, and text is needed")
    return Topic(text, category, domain)
