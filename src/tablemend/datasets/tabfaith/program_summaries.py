"""Examples by program: the number of one alone decides what it is."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from random import Random
from typing import NamedTuple

from tablemend.datasets.build import Record
from tablemend.datasets.splits import split_of
from tablemend.datasets.tabfaith import injection, verbaliser
from tablemend.datasets.tabfaith.domains import DOMAINS, Domain
from tablemend.datasets.tabfaith.examples import Label, TabFaithExample
from tablemend.datasets.tabfaith.injection import inject
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
    """What an example is to be, by its number over all domains."""
    sizes = tuple(map(settings.sizes.of, DOMAINS))
    unfaithful = number in _unfaithful(sizes, 1 - settings.faithful, settings.seed)
    for domain, size in zip(DOMAINS, sizes, strict=True):
        if number < size:
            return Planned(domain, number, unfaithful)
        number -= size
    raise IndexError(number)


@lru_cache(maxsize=8)
def _unfaithful(sizes: Sequence[int], share: float, seed: int) -> frozenset[int]:
    """The numbers of unfaithful examples, every domain having its share of them.

    Drawn: topics take turns, so that every third number would always be of the same ones.
    """
    found, start = set[int](), 0
    for size in sizes:
        count = round((start + size) * share) - round(start * share)
        drawn = Random(f"unfaithful:{seed}:{start}").sample(range(start, start + size), count)
        found |= {*drawn}
        start += size
    return frozenset(found)


def make_records(settings: TabFaith, opened: Opened, numbers: Sequence[int]) -> Iterator[Record]:
    """The records of these numbers, in their order."""
    return map_in_workers(_RecordMaker, (settings, opened), numbers, settings.workers)


def record_of(
    settings: TabFaith,
    number: int,
    found: Found,
    made: Summary,
    label: Label,
    by: tuple[str, str],
    notes: Mapping[str, int],
) -> Record:
    """The record of an example; ``by`` is what labelled it and what wrote it.

    What it holds is counted, beside the notes of what was drawn in vain.
    """
    table, domain = found.table, plan_example(settings, number).domain
    example = TabFaithExample(
        domain=domain,
        table=table,
        summary=made.text,
        facts=made.facts,
        label=label,
        errors=made.errors,
        labelled_by=by[0],
        source=found.where,
        source_hash=table.content_hash(),
        seed=settings.seed,
        engine=by[1],
    )
    types = (f"type {error.type}" for error in made.errors)
    counts = Counter([f"domain {domain} {label}", f"label {label}", *types])
    counts["facts"], counts["errors"] = len(made.facts), len(made.errors)
    counts["cells"] = len(table.rows) * len(table.columns)
    if made.errors:
        counts[f"summaries with {len(made.errors)} errors"] = 1
    return {
        "number": number,
        "notes": notes,
        "split": split_of(example.source_hash, settings.shares),
        "counts": counts,
        "line": to_line(example.to_json()),
    }


class _RecordMaker:
    def __init__(self, settings: TabFaith, opened: Opened) -> None:
        self._settings, self._opened = settings, opened

    def __call__(self, number: int) -> Record:
        """A faithful summary, or one with as many errors as are drawn, else fewer."""
        settings, notes = self._settings, Counter[str]()
        planned = plan_example(settings, number)
        rng = Random(f"tabfaith:{settings.seed}:{planned.domain}:{planned.number}")
        counts = range(settings.min_errors, settings.max_errors + 1)
        most = rng.choices(counts, [_LESS**n for n in counts])[0]
        wanted = range(most, counts[0] - 1, -1) if planned.unfaithful else (0,)
        for count in wanted:
            for found, opened, summary in self._summaries(planned, most, rng, notes):
                made = inject(summary, opened, [settings.weights] * count, rng)
                if made is not None:
                    label: Label = "unfaithful" if made.errors else "faithful"
                    by = "construction", ENGINE
                    return record_of(settings, number, found, made, label, by, notes)
            notes["no table tried has room for all errors: fewer were injected"] += 1
        dropped = f"{planned.domain}: no table tried has room for it"
        return {"number": number, "dropped": dropped, "notes": notes}

    def _summaries(
        self, planned: Planned, errors: int, rng: Random, notes: Counter[str]
    ) -> Iterator[tuple[Found, Verbaliser, Summary]]:
        """Faithful summaries of several tables; no other example of a generator begins with these.

        They have a sentence for each error, and are as long where none is injected. What does not
        work at once is counted in the notes.
        """
        settings, tables = self._settings, self._opened[planned.domain]
        most = settings.max_sentences
        lengths = min(max(settings.min_sentences, errors), most), most
        step = 1 if tables.count is not None else settings.sizes.of(planned.domain)
        for attempt in range(_TABLES):
            found = tables[planned.number + attempt * step]
            try:
                opened = Verbaliser(found.table)
            except Unsayable as error:
                notes[f"a table passed over: {error}"] += 1
                continue
            for _ in range(2):
                try:
                    yield found, opened, opened.summarise(rng, lengths)
                except Unsayable as error:
                    notes[f"a summary passed over: {error}"] += 1
