"""A TabFaith set: what it can be asked for, where its tables come from, its examples, and its card.

The number of an example alone decides what it is.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import lru_cache, partial
from pathlib import Path
from random import Random
from typing import Any, Literal, NamedTuple

from pydantic import Field

from tablemend.config import HUB, Count, Section
from tablemend.datasets import build
from tablemend.datasets.build import Record, SkippedTable, ranked
from tablemend.datasets.card import command_of, counted_parts, table_of, write_card
from tablemend.datasets.source_tables.sources import Place, Source, make_table, open_source
from tablemend.datasets.splits import POOL, HubOptions, Shares, split_of
from tablemend.errors import TablemendError
from tablemend.programs.speaker import Unsayable, speakers
from tablemend.programs.table import TypedTable
from tablemend.records import CLAIM_ERRORS, ClaimError
from tablemend.runs import to_line
from tablemend.tables.html import read_filing
from tablemend.tables.table import Table, TableError
from tablemend.tasks.tabfaith.domains import DOMAINS, Domain
from tablemend.tasks.tabfaith.domains import SYNTHETIC as GENERATORS
from tablemend.tasks.tabfaith.summaries import ENGINE, Summary, Verbaliser, inject
from tablemend.tasks.tabfaith.task import TabFaithExample
from tablemend.workers import map_in_workers

SYNTHETIC = "synthetic"
MIX: dict[ClaimError, float] = {"NUM": 30.6, "REL": 23.8, "CMP": 23.1, "TMP": 13.4, "ATT": 9.1}
"""Shares of the types of errors in the paper's Table 1, in percent."""


class Sources(HubOptions):
    """Where the tables of each domain come from."""

    general: str = POOL
    """Tables of any topic: ToTTo or other tables as JSONL, a CSV file, a folder of either,
    `hub:owner/name`, or `pool` (built-in topics)."""
    financial: str = SYNTHETIC
    """`synthetic`, or filings and reports: a CSV, JSONL, HTML or text file, a folder of them, or
    `hub:owner/name`."""
    clinical: str = SYNTHETIC
    """`synthetic`, or files as above."""
    operations: str = SYNTHETIC
    """`synthetic`, or files as above."""

    def conflicts(self) -> Iterator[tuple[str, str]]:
        """Sources that a domain does not have."""
        if self.general == SYNTHETIC:
            yield "general", f"only the other domains are synthetic: write {POOL}"
        for name in ("financial", "clinical", "operations"):
            if getattr(self, name) == POOL:
                yield name, f"only general has the topic pool: write {SYNTHETIC}"
        yield from self.unread(*map(self.of, Sizes.model_fields))

    def of(self, domain: str) -> str:
        """The source of a domain."""
        return str(getattr(self, domain))


class Sizes(Section):
    """Number of examples in each domain (TabFaith, 3.2)."""

    general: Count = Field(default=1600, ge=0)
    """Tables of any topic, ToTTo in the paper."""
    financial: Count = Field(default=280, ge=0)
    """Quarterly earnings."""
    clinical: Count = Field(default=280, ge=0)
    """Laboratory panels."""
    operations: Count = Field(default=240, ge=0)
    """Sales, churn and stock."""

    def conflicts(self) -> Iterator[tuple[str, str]]:
        """Nothing at all."""
        if not self.total:
            yield "general", "no domain has an example to make"

    @property
    def total(self) -> int:
        """Over all domains."""
        return self.general + self.financial + self.clinical + self.operations

    def of(self, domain: Domain) -> int:
        """The number of a domain."""
        return int(getattr(self, domain))


class TabFaith(Section):
    """A set of tables with faithful and unfaithful summaries."""

    kind: Literal["tabfaith"] = "tabfaith"
    """What a recipe is for."""
    sources: Sources = Sources()
    """Where tables come from."""
    sizes: Sizes = Sizes()
    """How many examples each domain has."""
    faithful: float = Field(default=2 / 3, ge=0, le=1)
    """Share of faithful summaries; the paper has 1,600 of 2,400."""
    mix: dict[str, float] = Field(default_factory=dict)
    """Shares of the error types that are injected, on any scale: `mix.num=1 mix.tmp=0`; the others
    as in the paper's Table 1."""
    min_errors: int = Field(default=1, ge=1, le=5)
    """Fewest errors in an unfaithful summary."""
    max_errors: int = Field(default=5, ge=1, le=5)
    """Most errors in an unfaithful summary; fewer are more frequent."""
    min_sentences: int = Field(default=2, ge=1, le=8)
    """Fewest sentences."""
    max_sentences: int = Field(default=5, ge=1, le=8)
    """Most sentences."""
    shares: Shares = Shares()
    """Split of the tables."""
    seed: int = Field(default=0, ge=0)
    """Seed of everything that is drawn at random."""
    out: str = "data/tabfaith"
    """Folder to write into; an interrupted run in it is continued."""
    workers: int = Field(default=1, ge=1, le=256)
    """Processes; the data are the same for any number."""

    @property
    def weights(self) -> dict[ClaimError, float]:
        """The shares of all error types."""
        return {type: self.mix.get(type.lower(), MIX[type]) for type in CLAIM_ERRORS}

    def conflicts(self) -> Iterator[tuple[str, str]]:
        """Ranges that are upside down, and shares of no errors."""
        if self.min_errors > self.max_errors:
            yield "min_errors", f"more than max_errors={self.max_errors}"
        if self.min_sentences > self.max_sentences:
            yield "min_sentences", f"more than max_sentences={self.max_sentences}"
        types = [type.lower() for type in CLAIM_ERRORS]
        for name, share in self.mix.items():
            if name not in types:
                yield f"mix.{name}", f"no error type; there are {', '.join(types)}"
            elif share < 0:
                yield f"mix.{name}", "less than 0"
        if not any(self.weights.values()):
            yield "mix", "all shares are 0: one type at least must be wanted"


FREE = {"kind", "workers", "out"}
"""Settings that change nothing in the files."""
_LABELS = ("faithful", "unfaithful", "unscored")


def make_dataset(settings: TabFaith, progress: Callable[[int], object]) -> dict[str, Any]:
    """Make a set: :func:`~tablemend.datasets.build.build_resumable`.

    Args:
        settings: what to make and where.
        progress: called with the number of examples that are newly done.

    Raises:
        TablemendError: as above.
    """
    return build.build_resumable(
        Path(settings.out),
        {"engine_version": ENGINE, **settings.model_dump(mode="json", exclude=FREE)},
        settings.sizes.total,
        lambda: _open_sources(settings),
        lambda opened, numbers: map_in_workers(
            _RecordMaker, (settings, opened), numbers, settings.workers
        ),
        lambda counts: write_card(
            _parts(settings, counts),
            categories=["summarization", "text-classification"],
            tags=["table-to-text", "hallucination", "faithfulness"],
            files={split: f"{split}.jsonl" for split in counts["splits"]},
            record=TabFaithExample,
        ),
        progress,
    )


def _open_sources(settings: TabFaith) -> build.OpenedSource:
    """The tables of each domain, why others were left out, and a hash of those of users."""
    opened: Opened = {}
    skipped: list[build.SkippedTable] = []
    hashes: list[str] = []
    for domain in DOMAINS:
        opened[domain], left_out = open_tables(settings, domain)
        skipped += left_out
        hashes += (found.table.content_hash() for found in opened[domain])
    found = build.OpenedSource(opened, hashes, skipped)
    if all(opened[domain] for domain in DOMAINS if settings.sizes.of(domain)):
        build.refuse_empty_splits("sources", found, settings.shares)
    return found


def _parts(settings: TabFaith, counts: dict[str, Any]) -> Iterator[str]:
    found, examples = counts["counts"], counts["examples"]
    used = [domain for domain in DOMAINS if settings.sizes.of(domain)]
    yield "# Tables with faithful and unfaithful summaries"
    yield (
        f"{examples['made']} of {examples['asked']} examples, by `{ENGINE}`. Summaries are table "
        "programs in words, true by construction; each injected error is one slot of a program, "
        "edited until the statement is false."
    )
    yield command_of("tabfaith.py", settings, {"seed": settings.seed}, FREE)
    yield table_of(
        f"domain | {' | '.join(_LABELS)}",
        {
            domain: tuple(found.get(f"domain {domain} {label}", 0) for label in _LABELS)
            for domain in used
        },
    )
    yield table_of(
        "error | injected | %",
        {
            type: (found[name], f"{100 * found[name] / found['errors']:.1f}")
            for type in CLAIM_ERRORS
            if (name := f"type {type}") in found
        },
    )
    built_in = {
        SYNTHETIC: "synthetic; nothing in them is a fact",
        POOL: "fictional tables of the built-in topic pool",
    }
    sources = {domain: settings.sources.of(domain) for domain in used}
    yield "\n".join(f"- {to}: {built_in.get(name, f'`{name}`')}" for to, name in sources.items())
    yield from counted_parts(counts, {"cells": "cells", "facts": "facts", "errors": "errors"})


_TABLES = 24
"""Tables that are tried for the wanted errors, two summaries of each."""
_LESS = 0.55
"""How much rarer each further error is."""


class ExamplePlan(NamedTuple):
    """An example to be made.

    Attributes:
        domain: of its table.
        number: within the domain.
        unfaithful: whether errors are to be injected.
    """

    domain: Domain
    number: int
    unfaithful: bool


def plan_example(settings: TabFaith, number: int) -> ExamplePlan:
    """What an example is to be, by its number over all domains."""
    sizes = tuple(map(settings.sizes.of, DOMAINS))
    unfaithful = number in _unfaithful(sizes, 1 - settings.faithful, settings.seed)
    for domain, size in zip(DOMAINS, sizes, strict=True):
        if number < size:
            return ExamplePlan(domain, number, unfaithful)
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


class _RecordMaker:
    """Makes the record of an example by its number."""

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
                    return self._record(planned.domain, found, made) | {
                        "number": number,
                        "notes": notes,
                    }
            notes["no table tried has room for all errors: fewer were injected"] += 1
        dropped = f"{planned.domain}: no table tried has room for it"
        return {"number": number, "dropped": dropped, "notes": notes}

    def _record(self, domain: Domain, found: PlacedTable, made: Summary) -> Record:
        """The line of an example, its split, and the counts of what it holds."""
        table = found.table
        example = TabFaithExample(
            domain=domain,
            table=table,
            summary=made.text,
            facts=made.facts,
            label="unfaithful" if made.errors else "faithful",
            errors=made.errors,
            labelled_by="construction",
            source=found.where,
            source_hash=table.content_hash(),
            seed=self._settings.seed,
            engine=ENGINE,
        )
        types = (f"type {error.type}" for error in made.errors)
        counts = Counter([f"domain {domain} {example.label}", f"label {example.label}", *types])
        counts["facts"], counts["errors"] = len(made.facts), len(made.errors)
        counts["cells"] = len(table.rows) * len(table.columns)
        if made.errors:
            counts[f"summaries with {len(made.errors)} errors"] = 1
        return {
            "split": split_of(example.source_hash, self._settings.shares),
            "counts": counts,
            "line": to_line(example.to_json()),
        }

    def _summaries(
        self, planned: ExamplePlan, errors: int, rng: Random, notes: Counter[str]
    ) -> Iterator[tuple[PlacedTable, Verbaliser, Summary]]:
        """Faithful summaries of several tables; no other example of a generator begins with these.

        They have a sentence for each error, and are as long where none is injected. What does not
        work at once is counted in the notes.
        """
        settings, domain = self._settings, planned.domain
        most = settings.max_sentences
        lengths = min(max(settings.min_sentences, errors), most), most
        step = 1 if self._opened[domain] else settings.sizes.of(domain)
        for attempt in range(_TABLES):
            found = take_table(settings, self._opened, domain, planned.number + attempt * step)
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


POOL_ROWS = (6, 30)
"""Rows of a table of the pool."""
FILINGS = (".html", ".htm", ".txt")


class PlacedTable(NamedTuple):
    """A table and its place in a source."""

    table: Table
    where: str


Opened = dict[Domain, tuple[PlacedTable, ...]]
"""The tables of a user by domain; none where a generator makes them."""


def take_table(settings: TabFaith, opened: Opened, domain: Domain, number: int) -> PlacedTable:
    """A table of a domain by its number; those of a user begin anew at the end."""
    if found := opened[domain]:
        return found[number % len(found)]
    seed = settings.seed
    if settings.sources.of(domain) == POOL:
        table = make_table(seed, number).table
        rows = Random(f"{POOL}:{seed}:{number}").randint(*POOL_ROWS)
        return PlacedTable(replace(table, rows=table.rows[:rows]), f"{POOL}:{number}")
    return PlacedTable(GENERATORS[domain](seed, number), f"{SYNTHETIC}-{domain}:{number}")


def open_tables(
    settings: TabFaith, domain: Domain
) -> tuple[tuple[PlacedTable, ...], list[SkippedTable]]:
    """The tables of a user for a domain, and why others were left out.

    Of a user's tables the first that something can be said of are taken, as many as the domain
    has examples.

    Raises:
        TablemendError: nothing there can be read or summarised.
    """
    name, wanted = settings.sources.of(domain), settings.sizes.of(domain)
    skipped: list[SkippedTable] = []
    found: dict[str, PlacedTable] = {}
    if name in (POOL, SYNTHETIC) or not wanted:
        return (), skipped
    for where, read in _places(settings, domain, name):
        try:
            table = read()
            speakers(TypedTable.of(table))
            if (content := table.content_hash()) in found:
                raise TableError("the same table again")
            found[content] = PlacedTable(table, where)
        except TablemendError as error:
            skipped.append(SkippedTable(f"{domain}: {where}", str(error)))
        if len(found) == wanted:
            break
    if not found:
        reasons = ranked(Counter(one.reason for one in skipped), 3)
        said = "; ".join(f"{n} x {reason}" for reason, n in reasons.items()) or "empty"
        raise TablemendError(f"sources.{domain}={name}: no table that can be summarised ({said})")
    return (*found.values(),), skipped


def _places(
    settings: TabFaith, domain: Domain, name: str
) -> Iterator[tuple[str, Callable[[], Table]]]:
    """Every place of a source, and what reads its table."""
    if not name.startswith(HUB) and not Path(name).exists():
        built_in = POOL if domain == "general" else SYNTHETIC
        raise TablemendError(
            f"sources.{domain}={name}: no such file or folder; `{built_in}` is built in, and a "
            f"name on the Hub is written {HUB}NAME"
        )
    readers = dict.fromkeys(FILINGS, read_filing)
    try:
        source = open_source(name, settings.sources, texts=readers)
    except TablemendError as error:
        raise TablemendError(f"sources.{domain}: {error}") from error
    for place in source.places():
        yield place.where, partial(_read, source, place)


def _read(source: Source, place: Place) -> Table:
    """A table without the rows that repeat the header, and with single spaces."""
    table = source.read(place).table
    header, *body = (
        [" ".join((cell or "").split()) for cell in row] for row in (table.columns, *table.rows)
    )
    heads = [cell.casefold() for cell in header]
    rows = [
        row
        for row in body
        if not any(row)
        or any(cell and cell.casefold() != head for cell, head in zip(row, heads, strict=True))
    ]
    return Table.of(header, rows, " ".join(table.title.split()))
