"""Writing a TabFaith set: parts by any number of workers, resumable, joined in order at the end.

The folder holds ``train``, ``validation`` and ``test`` as JSONL, ``manifest.json`` (settings,
versions, surroundings), ``counts.json`` (what was made, passed over and left out) and a card.
Splits are made by the content hash of the table, so no table stands in two.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any

from tablemend.datasets.tabfaith.card import write_card
from tablemend.datasets.tabfaith.domains import DOMAINS, Domain
from tablemend.datasets.tabfaith.examples import TabFaithExample
from tablemend.datasets.tabfaith.making import ENGINE, Maker, task_of
from tablemend.datasets.tabfaith.settings import TabFaith
from tablemend.datasets.tabfaith.sources import Tables, open_tables
from tablemend.datasets.tablehallu.dataset import (
    COUNTS,
    PARTS,
    SETTINGS,
    TABLES,
    check_folder,
    is_finished,
    make_once,
    map_in_workers,
    reason_kind,
)
from tablemend.datasets.tablehallu.engine import split_of
from tablemend.datasets.tablehallu.files import join_parts
from tablemend.datasets.tablehallu.settings import SPLITS
from tablemend.errors import TablemendError
from tablemend.runs import hash_file, surroundings, write_json, write_jsonl, write_text

MANIFEST = "manifest.json"
FREE = ("workers", "out", "generator_options")
"""Settings that change nothing in the files."""

Opened = dict[Domain, Tables]


def make_dataset(settings: TabFaith, progress: Callable[[int], object]) -> dict[str, Any]:
    """Make a set by program, or go on with it, or find it finished.

    Args:
        settings: what to make and where; without a generator.
        progress: called with the number of examples that are newly done.

    Returns:
        The counts, as in ``counts.json``.

    Raises:
        TablemendError: a source has no table that can be summarised, or the folder holds another
            data set or is being written.
    """
    out = Path(settings.out)
    check_folder(out, noted(settings, ENGINE))
    if is_finished(out):
        progress(settings.sizes.total)
    return make_once(out, lambda: _make(settings, progress))


def _make(settings: TabFaith, progress: Callable[[int], object]) -> None:
    opened, skipped = begin(settings, ENGINE)
    for part in _make_parts(settings, opened):
        progress(part["asked"])
    finish(settings, ENGINE, skipped)


def noted(settings: TabFaith, engine: str) -> dict[str, Any]:
    """What the files of a set depend on."""
    given = settings.model_dump(mode="json", exclude=set(FREE) | {"kind"})
    if settings.generator is not None:  # the same model may answer from another address
        given["generator"] = settings.generator.partition("@")[0]
    return {"engine_version": engine, **given}


def begin(settings: TabFaith, engine: str) -> tuple[Opened, dict[str, dict[str, int]]]:
    """Open all sources, note settings and tables, or compare the tables with those noted.

    Raises:
        TablemendError: a source has changed since the set was begun.
    """
    out = Path(settings.out)
    opened: Opened = {}
    skipped: dict[str, dict[str, int]] = {}
    digest = sha256()
    for domain in DOMAINS:
        opened[domain], reasons = open_tables(settings, domain)
        skipped[domain] = _by_kind(reasons)
        for number in range(opened[domain].count or 0):
            digest.update(opened[domain][number].table.content_hash().encode())
    path = out / TABLES
    if not path.exists():
        write_json(out / SETTINGS, noted(settings, engine))
        write_json(path, {"hash": digest.hexdigest()[:16]})
    elif json.loads(path.read_text("utf-8"))["hash"] != digest.hexdigest()[:16]:
        raise TablemendError(
            f"the tables of sources have changed since out={out} was begun; give another out="
        )
    return opened, skipped


def _by_kind(reasons: Counter[str]) -> dict[str, int]:
    found: Counter[str] = Counter()
    for reason, count in reasons.items():
        found[reason_kind(reason)] += count
    return dict(found.most_common())


def _make_parts(settings: TabFaith, opened: Opened) -> Iterator[dict[str, Any]]:
    """Every part in order, those found finished first."""
    missing = []
    for number in range(parts_of(settings)):
        done = state_of(settings, number)
        if done.exists():
            yield json.loads(done.read_text("utf-8"))
        else:
            missing.append(number)
    if settings.workers == 1 or len(missing) < 2:
        yield from (write_part(settings, opened, number) for number in missing)
        return
    workers = min(settings.workers, len(missing))
    yield from map_in_workers(_in_worker, missing, workers, _start_worker, (settings, opened))


_WORK: list[tuple[TabFaith, Opened]] = []  # one in each worker process


def _start_worker(settings: TabFaith, opened: Opened) -> None:
    _WORK.append((settings, opened))


def _in_worker(number: int) -> dict[str, Any]:
    settings, opened = _WORK[0]
    return write_part(settings, opened, number)


def parts_of(settings: TabFaith) -> int:
    """How many parts a set has."""
    return -(-settings.sizes.total // settings.shard_size)


def numbers_of(settings: TabFaith, part: int) -> range:
    """The examples of a part."""
    start = part * settings.shard_size
    return range(start, min(start + settings.shard_size, settings.sizes.total))


def state_of(settings: TabFaith, part: int) -> Path:
    """The counts of a part, written when its examples are."""
    return Path(settings.out) / PARTS / f"{part:06d}.json"


def write_part(settings: TabFaith, opened: Opened, part: int) -> dict[str, Any]:
    """Make and write part ``part`` and then its counts: one without counts is made again."""
    maker = Maker(settings, opened)
    examples: list[TabFaithExample] = []
    dropped: Counter[str] = Counter()
    for number in numbers_of(settings, part):
        example = maker.make(number)
        if example is None:
            dropped[f"{task_of(settings, number).domain}: no table tried has room for it"] += 1
        else:
            examples.append(example)
    return save_part(settings, part, examples, dropped, maker.notes)


def save_part(
    settings: TabFaith,
    part: int,
    examples: list[TabFaithExample],
    dropped: Counter[str],
    notes: Counter[str],
) -> dict[str, Any]:
    """Write the examples of a part, split by table, and its counts."""
    folder = Path(settings.out) / PARTS
    folder.mkdir(parents=True, exist_ok=True)
    counts: Counter[str] = Counter()
    for split in SPLITS:
        own = [one for one in examples if split_of(one.source_hash, settings) == split]
        if own:
            write_jsonl(folder / f"{split}-{part:06d}.jsonl", [one.to_json() for one in own])
            counts[f"split {split}"] = len(own)
    for example in examples:
        counts[f"domain {example.domain} {example.label}"] += 1
        counts[f"label {example.label}"] += 1
        counts["facts"] += len(example.facts)
        counts["cells"] += len(example.table.rows) * len(example.table.columns)
        counts["errors"] += len(example.errors)
        if example.errors:
            counts[f"summaries with {len(example.errors)} errors"] += 1
        for error in example.errors:
            counts[f"type {error.type}"] += 1
    state = {
        "asked": len(numbers_of(settings, part)),
        "made": len(examples),
        "counts": dict(counts),
        "dropped": dict(dropped),
        "notes": dict(notes),
    }
    write_json(state_of(settings, part), state)
    return state


def finish(settings: TabFaith, engine: str, skipped: dict[str, dict[str, int]]) -> None:
    """Join the parts, write manifest and card, and then the counts.

    Raises:
        TablemendError: nothing was made.
    """
    out = Path(settings.out)
    totals: dict[str, Counter[str]] = {name: Counter() for name in ("counts", "dropped", "notes")}
    made = 0
    for number in range(parts_of(settings)):
        part = json.loads(state_of(settings, number).read_text("utf-8"))
        made += part["made"]
        for name, found in totals.items():
            found.update(part[name])
    counts: dict[str, Any] = {
        "examples": {"asked": settings.sizes.total, "made": made},
        **{name: dict(found.most_common()) for name, found in totals.items()},
        "skipped": {domain: reasons for domain, reasons in skipped.items() if reasons},
    }
    if not made:
        reasons = "; ".join(f"{n} x {reason}" for reason, n in totals["dropped"].most_common(3))
        raise TablemendError(
            f"none of {settings.sizes.total} examples could be made ({reasons}); give other "
            f"sources or settings, and another out= or delete {out}"
        )
    for split in SPLITS:
        join_parts(out, PARTS, split, "jsonl")
    files = {path.name: hash_file(path) for path in sorted(out.glob("*.jsonl"))}
    write_json(
        out / MANIFEST,
        {"settings": noted(settings, engine), "files": files, "surroundings": surroundings()},
    )
    write_text(out / "README.md", write_card(settings, engine, counts))
    write_json(out / COUNTS, counts)
