"""Writing a ToRR set: examples of each data set, with demonstrations of other tables."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from random import Random
from typing import Any

from tablemend.config import HUB, SMALL_WORLD
from tablemend.datasets.build import build
from tablemend.datasets.splits import SPLITS, Split, split_of
from tablemend.datasets.torr.readers import READERS, Read, belongs, lookups
from tablemend.datasets.torr.settings import TorrSet
from tablemend.errors import TablemendError
from tablemend.foreign import load_json
from tablemend.runs import Store, hash_text, write_jsonl
from tablemend.tables.table import TableError
from tablemend.tasks.torr.sample import Demonstration, TableQuestion
from tablemend.tasks.torr.task import FORMS

ENGINE = "torr-1"
UNREADABLE = (KeyError, TypeError, ValueError, IndexError, AttributeError, TableError, SyntaxError)
"""What a record of another form raises."""


def make_dataset(settings: TorrSet) -> dict[str, Any]:
    """Write the splits, or find them written; the counts, as in ``counts.json``.

    Raises:
        TablemendError: none of the sets is there, or a folder that holds something else.
    """
    there = {name: place for name in settings.sets if (place := settings.place(name))}
    if not there:
        raise TablemendError(
            f"none of {', '.join(settings.sets)} is in {settings.data}: see data= and files="
        )
    noted = {"engine_version": ENGINE, **settings.model_dump(mode="json", exclude={"out", "kind"})}

    def write(store: Store) -> dict[str, Any]:
        counts = Counter[str]()
        found: dict[Split, list[TableQuestion]] = {split: [] for split in SPLITS}
        for name in settings.sets:
            if name in there:
                for split, samples in _examples(name, there[name], settings, counts).items():
                    found[split] += samples
                    counts[f"{split} {name}"] = len(samples)
            else:
                counts[f"missing {name}"] = 1
        for split, samples in found.items():
            if samples:
                lines = [one.to_json() for one in samples]
                write_jsonl(Path(settings.out) / f"{split}.jsonl", lines)
        return dict(sorted(counts.items()))

    return build(Path(settings.out), noted, write)


def describe(counts: Mapping[str, int], settings: TorrSet) -> Iterator[str]:
    """What came of a set, in lines for a person."""
    for name in settings.sets:
        if f"missing {name}" in counts:
            yield f"{name}: skipped, no {settings.files.get(name) or 'file of it in data='}"
            continue
        parts = [f"{n} {split}" for split in SPLITS if (n := counts.get(f"{split} {name}"))]
        left = counts.get(f"unreadable {name}", 0)
        large = counts.get(f"larger {name}", 0)
        yield (
            f"{name}: {', '.join(parts) or 'no example'}"
            + f", {large} of larger tables left out" * bool(large)
            + f", {left} unreadable" * bool(left)
        )
    yield f"written to {settings.out}"


def _examples(
    name: str, place: str, settings: TorrSet, counts: Counter[str]
) -> dict[Split, list[TableQuestion]]:
    """The examples of one set, by split; of one table no more than its share."""
    pools: dict[Split, list[Read]] = {split: [] for split in SPLITS}
    for record in _records(place, settings):
        try:
            own = list(READERS[name](record)) if belongs(name, record) else []
        except UNREADABLE:
            counts[f"unreadable {name}"] += 1
            continue
        for one in own:
            if (
                settings.cells
                and (len(one.table.rows) + 1) * len(one.table.columns) > settings.cells
            ):
                counts[f"larger {name}"] += 1
                continue
            pools[split_of(hash_text(f"{name} {one.key}"), settings.shares)].append(one)
    types = tuple(sorted({t for pool in pools.values() for one in pool for t in _types(name, one)}))
    most: dict[Split, int] = {
        "train": settings.train,
        "validation": settings.train,
        "test": settings.n,
    }
    found: dict[Split, list[TableQuestion]] = {}
    for split, pool in pools.items():
        rng = Random(f"torr:{settings.seed}:{name}:{split}")
        drawn = rng.sample(pool, min(most[split], len(pool)))
        shown = _demonstrations(name, settings) if split == "test" else 0
        found[split] = [
            _sample(name, one, types, _draw(pools["train"], shown, rng)) for one in drawn
        ]
    return found


def _types(name: str, one: Read) -> list[str]:
    return one.references[0].split(", ") if name == "turl_cta" else []


def _demonstrations(name: str, settings: TorrSet) -> int:
    given = settings.demonstrations
    return int(FORMS[name]["demonstrations"]) if given is None else given


def _draw(pool: Sequence[Read], count: int, rng: Random) -> list[Demonstration]:
    drawn = rng.sample(pool, min(count, len(pool)))
    return [Demonstration(one.table, one.fields, one.references[0]) for one in drawn]


def _sample(
    name: str, one: Read, types: Sequence[str], shown: Sequence[Demonstration]
) -> TableQuestion:
    key = hash_text(f"{name} {one.key}")
    return TableQuestion(
        name, one.table, one.fields, one.references, tuple(shown), key, tuple(types)
    )


def _records(place: str, settings: TorrSet) -> Iterator[Any]:
    """The records of a file, of the Hub, or generated: enough for every split.

    Raises:
        TablemendError: it cannot be read.
    """
    if place == SMALL_WORLD:
        yield from islice(lookups(settings.seed), 4 * (settings.n + settings.train))
        return
    if place.startswith(HUB):
        from tablemend.config import Source
        from tablemend.tasks.sources import hub_records

        yield from hub_records(Source(source=place, split="test"))
        return
    try:
        with Path(place).open(encoding="utf-8") as file:
            if place.endswith(".json"):
                yield from json.load(file)
            else:
                yield from (load_json(line) for line in file if line.strip())
    except (ValueError, RecursionError) as error:
        raise TablemendError(f"{place} is no JSON: {error}") from error
