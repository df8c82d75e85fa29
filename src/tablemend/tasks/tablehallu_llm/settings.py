"""What the language-model engine can be asked for: its settings, and the topics of its rows.

Topics are drawn without replacement while they last; the number of a row alone decides. The
built-in ones are templates filled from the lists of ``topics.yaml`` (TableHallu, A.1.1). Their
years are drawn anew when all other fillings of a sub-category have been used; topics of a user's
own begin again.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import product
from pathlib import Path
from random import Random
from string import Formatter
from typing import Annotated, Literal, NamedTuple

import yaml
from pydantic import Field

from tablemend.backends.names import ModelString
from tablemend.config import SMALL_WORLD, load
from tablemend.config.load import ConfigError, keys_text, kind_named, recipes_of, usage_text
from tablemend.config.section import BackendOptions, Count, OnOff, nearest
from tablemend.datasets.source_tables.sources import SUB_CATEGORIES
from tablemend.datasets.splits import Shares
from tablemend.errors import TablemendError
from tablemend.runs import hash_text
from tablemend.tables.read import load_text
from tablemend.tables.table import TableError
from tablemend.tasks.tablehallu.settings import ContextSettings, Shape, Synthesis

Thinks = Annotated[Literal["on", "off"] | None, OnOff]
ENGINES = ("program", "llm")
FREE = frozenset(
    "kind n out concurrency estimate_only topics "
    "generator verifier generator_options verifier_options".split()
)
"""Settings that change no row, or that are noted in another form."""
OF_ORDER = {
    "kernel-first": "verifier verifier_options verifier_thinking topics min_expansion".split(),
    "query-last": [*ContextSettings.model_fields, "batch"],
}
"""Settings that one of the orders alone reads."""


class LlmSynthesis(ContextSettings):
    """A data set of adversarial examples, written and verified by language models."""

    kind: Literal["llm-synthesis"] = "llm-synthesis"
    """What a recipe is for."""
    engine: Literal["llm"] = "llm"
    """How examples are made; `llm` follows the three stages of the paper (section 3.2)."""
    order: Literal["kernel-first", "query-last"] = "kernel-first"
    """kernel-first: a model writes the gold table and its query, then distractors around it, as in
    the paper; query-last: a program draws a context of groups of rows from the tables of `source`,
    any of which a query can ask for, and a model words it."""
    generator: ModelString
    """The model that writes: `openai:MODEL@URL`, `vllm:MODEL`, `hf:MODEL` or
    `scripted:FILE`."""
    verifier: ModelString | None = None
    """The model that verifies; null: the one that writes."""
    generator_options: BackendOptions = BackendOptions()
    """How the generator is asked."""
    verifier_options: BackendOptions | None = None
    """How the verifier is asked; null: as the generator where it is the same model, else by the
    defaults."""
    n: Count = Field(default=1000, ge=1)
    """Number of rows (contexts with query-last), over all splits; one that is given up is counted,
    not replaced. With a larger n the same folder is continued."""
    out: str = "data/tablehallu-llm"
    """Folder to write into; an interrupted run in it is continued."""
    seed: int = Field(default=0, ge=0)
    """Seed of everything that is drawn at random."""
    difficulty: Literal["paper", "easy", "medium", "hard", "mixed"] = "easy"
    """Length of the adversarial context over the gold one that is asked for, with query-last groups
    of rows in it: 10, 20 or 30 times; mixed: a third each; paper (query-last alone): 5."""
    min_expansion: float = Field(default=0.4, gt=0, le=1)
    """Least share of that length that is taken; models write less than they are asked for."""
    shape: Shape = Shape(max_rows=8, min_columns=5)
    """Size of the gold table; both ends are included (TableHallu, E)."""
    shares: Shares = Shares()
    """Split of the rows, by their topic; with query-last by their table."""
    temperature: float = Field(default=0.6, ge=0, le=2)
    """Temperature of both models; the paper's."""
    max_new_tokens: int = Field(default=30_000, ge=16)
    """Longest answer in tokens, thinking included; the paper's."""
    generator_thinking: Thinks = None
    """Whether the generator thinks first; null asks for nothing."""
    verifier_thinking: Thinks = None
    """Whether the verifier thinks first; null asks for nothing."""
    retries: int = Field(default=2, ge=0, le=20)
    """Times that a stage is asked again with the reasons for its rejection, verifiers' included."""
    topics: str | None = None
    """File with topics of your own, one a line; null: the built-in ones."""
    batch: int = Field(default=8, ge=1)
    """Passages of a context that one request asks for, with query-last."""
    concurrency: int = Field(default=32, ge=1, le=4096)
    """Rows in the making at the same time."""
    estimate_only: bool = False
    """Print the estimate of tokens and cost from the rows that are there, and stop."""

    @property
    def verifying(self) -> tuple[str, BackendOptions]:
        """The model that verifies, and how it is asked."""
        model = self.verifier or self.generator
        same = self.generator_options if model == self.generator else None
        return model, self.verifier_options or same or BackendOptions()

    @property
    def drawing(self) -> Synthesis:
        """What the program engine draws contexts by; n is fixed, so that none depends on it."""
        names = "seed", "difficulty", "shape", "shares", *ContextSettings.model_fields
        return Synthesis(n=1_000_000, **{name: getattr(self, name) for name in names})

    def conflicts(self) -> Iterator[tuple[str, str]]:
        """Settings that the order does not read."""
        (other,) = OF_ORDER.keys() - {self.order}
        for name in OF_ORDER[other]:
            if name in self.model_fields_set and getattr(self, name) is not None:
                yield name, f"order={self.order} has no such setting, only order={other}"
        if self.order == "kernel-first":
            if self.difficulty == "paper":
                yield "difficulty", "only order=query-last has 'paper'"
        elif self.source == SMALL_WORLD:
            yield "source", "the small world has words of its own: give tables, or `pool`"
        else:
            yield from self.unread(self.source)


def read_settings(argv: Sequence[str] | None = None) -> Synthesis | LlmSynthesis:
    """The settings of data_gen/tablehallu.py: ``engine=``, or the recipe's kind, says whose.

    ``--help`` and ``--check`` print and exit with status 0.

    Raises:
        ConfigError: with every problem found.
    """
    tokens = list(sys.argv[1:] if argv is None else argv)
    if {"--help", "-h"} & set(tokens):  # both engines on one page
        recipes = [*recipes_of(Synthesis), *recipes_of(LlmSynthesis)]
        print(usage_text("[engine=program|llm | recipe=NAME] [key.sub=value ...]", recipes))
        for engine, settings in (("program", Synthesis), ("llm", LlmSynthesis)):
            print(f"\nengine={engine}\n\n{keys_text(settings)}")
        raise SystemExit(0)
    named = [token.partition("=")[2] for token in tokens if token.startswith("engine=")]
    for name in named:
        if name not in ENGINES:
            known, hint = " or ".join(map(repr, ENGINES)), nearest(name, ENGINES)
            raise ConfigError([f"engine: {known}, not {name!r}{hint} (command line)"])
    kind = kind_named(tokens)
    llm = kind == "llm-synthesis" or (kind is None and named[-1:] == ["llm"])
    return load(LlmSynthesis, tokens) if llm else load(Synthesis, tokens)


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
        own = "Own topics"
        return Topics([Group("", own, own, [_read_topics(Path(path))])], seed)
    data = yaml.safe_load(Path(__file__).with_name("topics.yaml").read_bytes())

    def fill(template: str) -> list[str]:
        """The template filled in every way; its years stay open."""
        slots = [name for _, name, _, _ in Formatter().parse(template) if name]
        lists = [
            [f"{{{slot}}}"] if slot in YEARS else data["lists"][slot].split(" | ") for slot in slots
        ]
        return [template.format(**dict(zip(slots, one, strict=True))) for one in product(*lists)]

    groups = [
        Group(sub.name, sub.category, sub.domain, list(map(fill, data["templates"][sub.name])))
        for sub in SUB_CATEGORIES
    ]
    return Topics(groups, seed)


def _read_topics(path: Path) -> list[str]:
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


def split_key(text: str) -> str:
    """Hash by which a topic's split is decided; it is the same for all years of a topic."""
    return hash_text(re.sub(r"\b\d{4}\b", "#", text.casefold()))
