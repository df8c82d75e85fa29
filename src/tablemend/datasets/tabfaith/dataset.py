"""Writing a TabFaith set: examples by number in one resumable store, then files a split.

The folder holds ``train``, ``validation`` and ``test`` as JSONL, ``manifest.json`` (settings,
versions, surroundings), ``counts.json`` (what was made, passed over and left out) and a card.
Splits are made by the content hash of the table, so no table stands in two.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

from tablemend.datasets.build import build, note_tables
from tablemend.datasets.splits import SPLITS, split_of
from tablemend.datasets.tabfaith.card import card_of
from tablemend.datasets.tabfaith.domains import DOMAINS
from tablemend.datasets.tabfaith.making import (
    ENGINE,
    Opened,
    Record,
    make_example,
    plan_example,
    record_of,
)
from tablemend.datasets.tabfaith.settings import TabFaith
from tablemend.datasets.tabfaith.sources import open_tables
from tablemend.datasets.tablehallu.dataset import reason_kind
from tablemend.errors import TablemendError
from tablemend.runs import (
    Store,
    hash_file,
    replace_file,
    surroundings,
    write_json,
    write_text,
)
from tablemend.workers import map_in_workers

MANIFEST = "manifest.json"
FREE = ("workers", "out", "generator_options")
"""Settings that change nothing in the files."""
NO_ROOM = "no table tried has room for it"


def make_dataset(settings: TabFaith, progress: Callable[[int], object]) -> dict[str, Any]:
    """Make a set, or go on with it, or find it finished.

    Args:
        settings: what to make and where; with a generator a model writes the summaries.
        progress: called with the number of examples that are newly done.

    Returns:
        The counts, as in ``counts.json``.

    Raises:
        TablemendError: a source has no table that can be summarised, there is no such model or
            verifier, nothing could be made, or the folder holds another data set or is being
            written.
        Stopped: a model's server is gone; the same command goes on.
    """
    engine, make = ENGINE, _make_records
    if settings.generator is not None:
        from tablemend.datasets.tabfaith import model_summaries  # loads the verifiers

        engine, make = model_summaries.engine(), model_summaries.make_records

    def make_files(store: Store) -> dict[str, Any]:
        opened, skipped, digest = _open_sources(settings)
        note_tables(store, digest, "sources")
        missing = [number for number in range(settings.sizes.total) if number not in store]
        progress(settings.sizes.total - len(missing))
        for record in make(settings, opened, missing):
            store.put(record)
            progress(1)
        return _finish(settings, engine, store, skipped)

    return build(Path(settings.out), _noted(settings, engine), make_files)


def _noted(settings: TabFaith, engine: str) -> dict[str, Any]:
    """What the files of a set depend on."""
    given = settings.model_dump(mode="json", exclude={*FREE, "kind"})
    if settings.generator is not None:  # the same model may answer from another address
        given["generator"] = settings.generator.partition("@")[0]
    return {"engine_version": engine, **given}


def _open_sources(settings: TabFaith) -> tuple[Opened, dict[str, dict[str, int]], str]:
    """The tables of each domain, why others were left out, and a hash of those of users."""
    opened: Opened = {}
    skipped: dict[str, dict[str, int]] = {}
    digest = sha256()
    for domain in DOMAINS:
        opened[domain], reasons = open_tables(settings, domain)
        by_kind: Counter[str] = Counter()
        for reason, count in reasons.items():
            by_kind[reason_kind(reason)] += count
        skipped[domain] = dict(by_kind.most_common())
        for number in range(opened[domain].count or 0):
            digest.update(opened[domain][number].table.content_hash().encode())
    return opened, skipped, digest.hexdigest()[:16]


def _make_records(settings: TabFaith, opened: Opened, numbers: Sequence[int]) -> Iterator[Record]:
    """By program, in the order of the numbers."""
    return map_in_workers(_RecordMaker, (settings, opened), numbers, settings.workers)


class _RecordMaker:
    def __init__(self, settings: TabFaith, opened: Opened) -> None:
        self._settings, self._opened = settings, opened

    def __call__(self, number: int) -> Record:
        settings, notes = self._settings, Counter[str]()
        domain = plan_example(settings, number).domain
        example = make_example(settings, self._opened[domain], number, notes)
        return record_of(number, domain, example, NO_ROOM, notes)


def _finish(
    settings: TabFaith, engine: str, store: Store, skipped: dict[str, dict[str, int]]
) -> dict[str, Any]:
    """Write the splits, the manifest and the card; the counts."""
    out = Path(settings.out)
    counts, dropped, notes = Counter[str](), Counter[str](), Counter[str]()
    paths = {split: out / f"{split}.jsonl" for split in SPLITS}
    files = {split: path.with_suffix(".tmp").open("wb") for split, path in paths.items()}
    for number in range(settings.sizes.total):
        record = store[number]
        notes.update(record["notes"])
        if "dropped" in record:
            dropped[record["dropped"]] += 1
            continue
        example = record["example"]
        split = split_of(example["source_hash"], settings.shares)
        files[split].write((json.dumps(example, ensure_ascii=False) + "\n").encode())
        counts[f"split {split}"] += 1
        _count(example, counts)
    for split, file in files.items():
        file.close()
        if counts[f"split {split}"]:
            replace_file(Path(file.name), paths[split])
        else:
            Path(file.name).unlink()
    made = settings.sizes.total - sum(dropped.values())
    if not made:
        reasons = "; ".join(f"{n} x {reason}" for reason, n in dropped.most_common(3))
        raise TablemendError(
            f"none of {settings.sizes.total} examples could be made ({reasons}); give other "
            f"sources or settings, and another out= or delete {out}"
        )
    found: dict[str, Any] = {
        "examples": {"asked": settings.sizes.total, "made": made},
        "counts": dict((+counts).most_common()),
        "dropped": dict(dropped.most_common()),
        "notes": dict(notes.most_common()),
        "skipped": {domain: reasons for domain, reasons in skipped.items() if reasons},
    }
    hashes = {path.name: hash_file(path) for path in sorted(paths.values()) if path.exists()}
    write_json(
        out / MANIFEST,
        {"settings": _noted(settings, engine), "files": hashes, "surroundings": surroundings()},
    )
    write_text(out / "README.md", card_of(settings, engine, found))
    return found


def _count(example: Record, counts: Counter[str]) -> None:
    counts[f"domain {example['domain']} {example['label']}"] += 1
    counts[f"label {example['label']}"] += 1
    counts["facts"] += len(example["facts"])
    counts["cells"] += len(example["table"]["rows"]) * len(example["table"]["columns"])
    counts["errors"] += len(example["errors"])
    if example["errors"]:
        counts[f"summaries with {len(example['errors'])} errors"] += 1
    for error in example["errors"]:
        counts[f"type {error['type']}"] += 1
