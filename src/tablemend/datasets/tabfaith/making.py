"""One example of a TabFaith set: its number alone decides what it is."""

from __future__ import annotations

from collections import Counter
from random import Random
from typing import NamedTuple

from tablemend.datasets.tabfaith import injection, verbaliser
from tablemend.datasets.tabfaith.domains import DOMAINS, Domain
from tablemend.datasets.tabfaith.examples import TabFaithExample
from tablemend.datasets.tabfaith.injection import Injector, Unfaithful
from tablemend.datasets.tabfaith.settings import TabFaith
from tablemend.datasets.tabfaith.sheet import Unverbalisable
from tablemend.datasets.tabfaith.sources import Found, Tables
from tablemend.datasets.tabfaith.summary import Summary
from tablemend.datasets.tabfaith.verbaliser import Verbaliser
from tablemend.records import ClaimError

ENGINE = f"{verbaliser.VERSION}+{injection.VERSION}"
_TABLES = 24
"""Tables that are tried for the wanted errors, two summaries of each."""
_LESS = 0.55
"""How much rarer each further error is."""


class Task(NamedTuple):
    """An example to be made.

    Attributes:
        domain: of its table.
        number: within the domain.
        unfaithful: whether errors are to be injected.
    """

    domain: Domain
    number: int
    unfaithful: bool


def task_of(settings: TabFaith, number: int) -> Task:
    """The task of an example by its number over all domains.

    The unfaithful ones are spread evenly, so that every domain has its share of them.
    """
    share = 1 - settings.faithful
    unfaithful = round((number + 1) * share) - round(number * share) == 1
    place = number
    for domain in DOMAINS:
        if place < settings.sizes.of(domain):
            return Task(domain, place, unfaithful)
        place -= settings.sizes.of(domain)
    raise IndexError(number)


class Maker:
    """Makes examples.

    Args:
        settings: what to make.
        tables: those of each domain.

    Attributes:
        notes: what did not work at once, counted.
    """

    def __init__(self, settings: TabFaith, tables: dict[Domain, Tables]) -> None:
        self._settings, self._tables = settings, tables
        self._sentences = settings.min_sentences, settings.max_sentences
        self.notes: Counter[str] = Counter()

    def make(self, number: int) -> TabFaithExample | None:
        """Example ``number``; ``None`` where no table tried has room for it."""
        task = task_of(self._settings, number)
        rng = Random(f"tabfaith:{self._settings.seed}:{task.domain}:{task.number}")
        return self._plant(task, rng) if task.unfaithful else self._summarise(task, rng)

    def _summarise(self, task: Task, rng: Random) -> TabFaithExample | None:
        for attempt in range(_TABLES):
            found, opened = self._open(task, attempt)
            if opened is None:
                continue
            for _ in range(2):
                summary = self._say(opened, rng)
                if summary is not None:
                    return self._example(task, found, summary)
        return None

    def _plant(self, task: Task, rng: Random) -> TabFaithExample | None:
        """An unfaithful example of the types that were drawn, else of others, else with fewer."""
        settings = self._settings
        counts = range(settings.min_errors, settings.max_errors + 1)
        count = rng.choices(counts, [_LESS**n for n in counts])[0]
        weights = settings.mix.weights
        types = rng.choices(list(weights), list(weights.values()), k=count)
        for attempt in range(_TABLES):
            found, opened = self._open(task, attempt)
            for _ in range(2 if opened is not None else 0):
                assert opened is not None
                injected = self._try(opened, types, rng)
                if injected is not None:
                    return self._example(task, found, injected)
        self.notes["no table tried has room for the errors drawn: others were injected"] += 1
        for fewer in range(count, settings.min_errors - 1, -1):
            for attempt in range(_TABLES):
                found, opened = self._open(task, attempt)
                if opened is None or (summary := self._say(opened, rng)) is None:
                    continue
                injected = self._injector(opened, summary).plant_mixed(fewer, rng, weights)
                if injected is not None:
                    return self._example(task, found, injected)
        return None

    def _try(self, opened: Verbaliser, types: list[ClaimError], rng: Random) -> Unfaithful | None:
        summary = self._say(opened, rng)
        return None if summary is None else self._injector(opened, summary).plant(types, rng)

    def _open(self, task: Task, attempt: int) -> tuple[Found, Verbaliser | None]:
        """The table of an attempt: no other example of a generator begins with it."""
        tables = self._tables[task.domain]
        found = tables[task.number + attempt * self._settings.sizes.of(task.domain)]
        if tables.count is not None and attempt:
            found = tables[task.number + attempt]
        try:
            return found, Verbaliser(found.table)
        except Unverbalisable as error:
            self.notes[f"a table passed over: {error}"] += 1
            return found, None

    def _say(self, opened: Verbaliser, rng: Random) -> Summary | None:
        try:
            return opened.summarise(rng, self._sentences)
        except Unverbalisable as error:
            self.notes[f"a summary passed over: {error}"] += 1
            return None

    @staticmethod
    def _injector(opened: Verbaliser, summary: Summary) -> Injector:
        return Injector(summary, opened.sheet, opened.recomputation)

    def _example(self, task: Task, found: Found, said: Summary | Unfaithful) -> TabFaithExample:
        errors = said.errors if isinstance(said, Unfaithful) else ()
        return TabFaithExample(
            domain=task.domain,
            table=found.table,
            summary=said.text,
            facts=said.facts,
            label="unfaithful" if errors else "faithful",
            errors=errors,
            labelled_by="construction",
            source=found.where,
            source_hash=found.table.content_hash(),
            seed=self._settings.seed,
            engine=ENGINE,
        )
