"""Writing a data set of the program engine.

The folder holds ``train``, ``validation`` and ``test`` as JSONL, ``counts.json``,
``settings.json``, ``skipped.jsonl`` (every place without a usable table, with the reason) and a
data set card. A run that was interrupted goes on, and its files are the same as if it had never
stopped.
"""

from __future__ import annotations

import gc
import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tablemend.config import SMALL_WORLD
from tablemend.datasets.build import build, make_numbers, note_tables
from tablemend.datasets.splits import SPLITS, Shares, split_of
from tablemend.datasets.tablehallu import small_world
from tablemend.datasets.tablehallu.card import card_of, sizes_of
from tablemend.datasets.tablehallu.engine import (
    ENGINE,
    Skipped,
    Usable,
    find_tables,
    hash_tables,
    open_maker,
)
from tablemend.datasets.tablehallu.files import encode, split_files
from tablemend.datasets.tablehallu.settings import Synthesis
from tablemend.datasets.tablehallu.sources import open_source
from tablemend.errors import TablemendError
from tablemend.runs import Store, write_jsonl, write_text

SKIPPED = "skipped.jsonl"
FREE = {"workers", "out"}
"""Settings that change nothing in the files."""


def make_dataset(settings: Synthesis, progress: Callable[[int], object]) -> dict[str, Any]:
    """Make a data set, or go on with it, or find it finished.

    Args:
        settings: what to make and where.
        progress: called with the number of examples that are newly done.

    Returns:
        The counts, as in ``counts.json``.

    Raises:
        TablemendError: the source has no usable table or gives no example, or the folder holds
            another data set or is being written.
    """
    engine = small_world.ENGINE if settings.source == SMALL_WORLD else ENGINE
    noted = {"engine_version": engine, **settings.model_dump(mode="json", exclude=FREE)}
    return build(Path(settings.out), noted, lambda store: _make(settings, store, progress))


def _make(settings: Synthesis, store: Store, progress: Callable[[int], object]) -> dict[str, Any]:
    usable: list[Usable] = []
    skipped: list[Skipped] = []
    if settings.source != SMALL_WORLD:
        usable, skipped = find_tables(open_source(settings), settings)
    note_tables(store, hash_tables(usable), f"source={settings.source}")
    progress(len(store) - 1)
    for _ in make_numbers(store, settings.n, RecordMaker, (settings, usable), settings.workers):
        progress(1)
    rejected, splits, sizes = Counter[str](), Counter[str](), Counter[str]()
    out = Path(settings.out)
    with split_files(out) as write:
        for number in range(settings.n):
            record = store[number]
            rejected.update(record["rejected"])
            if "line" in record:
                write(record["line"], record["split"])
                splits[record["split"]] += 1
                sizes.update(record["sizes"])
    made = splits.total()
    if not made:
        reasons = "; ".join(f"{n} x {reason}" for reason, n in rejected.most_common())
        raise TablemendError(
            f"source={settings.source}: none of {settings.n} examples could be made ({reasons}); "
            f"give other settings, and another out= or delete {settings.out}"
        )
    counts = {
        "examples": {"asked": settings.n, "made": made, "given_up": settings.n - made},
        "splits": {split: splits[split] for split in SPLITS if splits[split]},
        **_count_tables(settings, usable, skipped),
        "rejected": dict(sorted(rejected.items(), key=lambda item: (-item[1], item[0]))),
        "sizes": dict(sorted(sizes.items())),
    }
    write_jsonl(out / SKIPPED, [entry._asdict() for entry in skipped])
    write_text(out / "README.md", card_of(settings, counts))
    return counts


class RecordMaker:
    """Makes the record of a number: its example, and what came of the draws."""

    def __init__(self, settings: Synthesis, usable: list[Usable]) -> None:
        self._maker = open_maker(settings, usable)
        self._shares: Shares = settings.shares

    def __call__(self, number: int) -> dict[str, Any]:
        """The record; without a line where no valid example was drawn."""
        self._maker.rejected.clear()
        gc.disable()  # examples hold no cycles; looking for some costs an eighth of the time
        try:
            example = self._maker.make(number)
        finally:
            gc.enable()
        record: dict[str, Any] = {"number": number, "rejected": dict(self._maker.rejected)}
        if example is not None:
            record["split"] = split_of(example.source_hash, self._shares)
            record["sizes"] = sizes_of(example)
            record["line"] = encode(example)
        return record


def _count_tables(
    settings: Synthesis, usable: list[Usable], skipped: list[Skipped]
) -> dict[str, Any]:
    splits = Counter(split_of(table.source_hash, settings.shares) for table in usable)
    reasons = Counter(reason_kind(entry.reason) for entry in skipped)
    return {
        "tables": {
            "usable": len(usable),
            "skipped": len(skipped),
            "splits": {split: splits[split] for split in SPLITS if splits[split]},
        },
        "skipped": dict(reasons.most_common()),
    }


def reason_kind(reason: str) -> str:
    """A reason without its numbers, to count by."""
    return re.sub(r"\d+", "#", reason)[:80]
