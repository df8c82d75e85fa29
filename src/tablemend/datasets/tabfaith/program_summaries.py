"""Examples by program: the number of one alone decides what it is."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from random import Random
from typing import NamedTuple

from tablemend.datasets.build import Record
from tablemend.datasets.splits import split_of
from tablemend.datasets.tabfaith import injection, verbaliser
from tablemend.datasets.tabfaith.domains import DOMAINS, Domain
from tablemend.datasets.tabfaith.examples import TabFaithExample
from tablemend.datasets.tabfaith.injection import Injector
from tablemend.datasets.tabfaith.settings import TabFaith
from tablemend.datasets.tabfaith.sources import Found, Tables
from tablemend.datasets.tabfaith.summary import Summary
from tablemend.datasets.tabfaith.verbaliser import Verbaliser
from tablemend.programs.speaker import Unsayable
from tablemend.runs import to_line
from tablemend.workers import map_in_workers

ENGINE = f"{verbaliser.VERSION}+{injection.VERSION}"
_TABLES = 24
"""Tables that are tried for the wanted errors, two summaries of each."""
_LESS = 0.55
"""How much rarer each further error is."""

Opened = dict[Domain, Tables]


class Planned(NamedTuple):
    """An example to be made.

    Attributes:
        domain: of its table.
        number: within the domain.
        unfaithful: whether errors are to be injected.
    """

    domain: Domain
    number: int
    unfaithful: bool


def plan_example(settings: TabFaith, number: int) -> Planned:
    """What an example is to be, by its number over all domains.

    The unfaithful ones are spread evenly, so that every domain has its share of them.
    """
    share = 1 - settings.faithful
    unfaithful = round((number + 1) * share) - round(number * share) == 1
    place = number
    for domain in DOMAINS:
        if place < settings.sizes.of(domain):
            return Planned(domain, place, unfaithful)
        place -= settings.sizes.of(domain)
    raise IndexError(number)


def make_records(settings: TabFaith, opened: Opened, numbers: Sequence[int]) -> Iterator[Record]:
    """The records of these numbers, in their order."""
    return map_in_workers(_RecordMaker, (settings, opened), numbers, settings.workers)


class _RecordMaker:
    def __init__(self, settings: TabFaith, opened: Opened) -> None:
        self._settings, self._opened = settings, opened

    def __call__(self, number: int) -> Record:
        settings, notes = self._settings, Counter[str]()
        domain = plan_example(settings, number).domain
        example = make_example(settings, self._opened[domain], number, notes)
        if example is None:
            dropped = f"{domain}: no table tried has room for it"
            return {"number": number, "dropped": dropped, "notes": notes}
        return record_of(settings, number, example, notes)


def record_of(
    settings: TabFaith, number: int, example: TabFaithExample, notes: Mapping[str, int]
) -> Record:
    """The record of an example: what it holds is counted."""
    table, errors = example.table, example.errors
    counts = Counter(
        {
            f"domain {example.domain} {example.label}": 1,
            f"label {example.label}": 1,
            "facts": len(example.facts),
            "cells": len(table.rows) * len(table.columns),
            "errors": len(errors),
        }
    )
    counts.update(f"type {error.type}" for error in errors)
    if errors:
        counts[f"summaries with {len(errors)} errors"] = 1
    return {
        "number": number,
        "notes": notes,
        "split": split_of(example.source_hash, settings.shares),
        "counts": counts,
        "line": to_line(example.to_json()),
    }


def make_example(
    settings: TabFaith, tables: Tables, number: int, notes: Counter[str]
) -> TabFaithExample | None:
    """Example ``number``; ``None`` where no table tried has room for it.

    An unfaithful one has as many errors as are drawn, else fewer.

    Args:
        settings: what to make.
        tables: those of its domain.
        number: over all domains.
        notes: what does not work at once is counted here.
    """
    planned = plan_example(settings, number)
    rng = Random(f"tabfaith:{settings.seed}:{planned.domain}:{planned.number}")

    def made(found: Found, written: Summary) -> TabFaithExample:
        return TabFaithExample(
            domain=planned.domain,
            table=found.table,
            summary=written.text,
            facts=written.facts,
            label="unfaithful" if written.errors else "faithful",
            errors=written.errors,
            labelled_by="construction",
            source=found.where,
            source_hash=found.table.content_hash(),
            seed=settings.seed,
            engine=ENGINE,
        )

    def summaries(each: int, errors: int = 0) -> Iterator[tuple[Found, Verbaliser, Summary]]:
        least = min(max(settings.min_sentences, errors), settings.max_sentences)
        lengths = least, settings.max_sentences
        return _summaries(settings, tables, planned.number, each, lengths, rng, notes)

    if not planned.unfaithful:
        return next((made(found, summary) for found, _, summary in summaries(2)), None)
    counts = range(settings.min_errors, settings.max_errors + 1)
    count = rng.choices(counts, [_LESS**n for n in counts])[0]
    for fewer in range(count, settings.min_errors - 1, -1):
        for found, opened, summary in summaries(2, fewer):
            injected = Injector(summary, opened).inject_mixed(fewer, rng, settings.weights)
            if injected is not None:
                return made(found, injected)
        notes["no table tried has room for all errors: fewer were injected"] += 1
    return None


def _summaries(
    settings: TabFaith,
    tables: Tables,
    number: int,
    each: int,
    lengths: tuple[int, int],
    rng: Random,
    notes: Counter[str],
) -> Iterator[tuple[Found, Verbaliser, Summary]]:
    """Faithful summaries of several tables; no other example of a generator begins with these."""
    step = 1 if tables.count is not None else settings.sizes.of(tables.domain)
    for attempt in range(_TABLES):
        found = tables[number + attempt * step]
        try:
            opened = Verbaliser(found.table)
        except Unsayable as error:
            notes[f"a table passed over: {error}"] += 1
            continue
        for _ in range(each):
            try:
                summary = opened.summarise(rng, lengths)
            except Unsayable as error:
                notes[f"a summary passed over: {error}"] += 1
                continue
            yield found, opened, summary
