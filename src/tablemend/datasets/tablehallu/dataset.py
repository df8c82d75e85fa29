"""Writing a data set: parts by any number of workers, resumable, joined in order at the end.

The folder holds ``train``, ``validation`` and ``test`` as JSONL or Parquet, ``counts.json``,
``skipped.jsonl`` (every place without a usable table, with the reason) and a data set card.
While it is being made, finished parts lie in ``parts/``; a run that was interrupted continues
from them, and its files are the same as if it had never stopped.
"""

from __future__ import annotations

import gc
import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import suppress
from hashlib import sha256
from multiprocessing import get_context
from pathlib import Path
from shutil import rmtree
from typing import Any, NamedTuple, TypeVar

from tablemend.config import SMALL_WORLD
from tablemend.datasets.tablehallu import small_world
from tablemend.datasets.tablehallu.card import write_card
from tablemend.datasets.tablehallu.engine import (
    ENGINE,
    Engine,
    Skipped,
    Tally,
    Usable,
    make_small,
    no_table,
    scan,
    split_of,
)
from tablemend.datasets.tablehallu.files import Writer, join_parts, open_writer
from tablemend.datasets.tablehallu.settings import POOL, SPLITS, Split, Synthesis
from tablemend.datasets.tablehallu.sources import open_source
from tablemend.errors import TablemendError
from tablemend.records import Example
from tablemend.runs import LOCK, sole_writer, write_json, write_jsonl, write_text
from tablemend.workers import map_in

T = TypeVar("T")

COUNTS = "counts.json"
SKIPPED = "skipped.jsonl"
TABLES = "tables.json"
PARTS = "parts"
SETTINGS = "settings.json"
FREE = ("workers", "out")
"""Settings that change nothing in the files."""


class Part(NamedTuple):
    """What a worker has written: a range of numbers, and what came of them."""

    number: int
    counts: dict[str, Any]


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
    out = Path(settings.out)
    check_folder(out, _noted(settings))
    if is_finished(out):
        progress(settings.n)
    return make_once(out, lambda: _make(settings, progress))


def is_finished(out: Path) -> bool:
    """Whether a set is done: its counts are written last."""
    return (out / COUNTS).exists()


def make_once(out: Path, make: Callable[[], None]) -> dict[str, Any]:
    """Make a set where it is not there yet, as the only process that does.

    Args:
        out: its folder.
        make: writes it, the counts last.

    Returns:
        The counts.

    Raises:
        TablemendError: another process is making it.
    """
    if not is_finished(out):
        with sole_writer(out):
            try:
                if not is_finished(out):  # by another process, meanwhile
                    make()
            finally:  # no data set holds a lock, and a refusal leaves no folder
                (out / LOCK).unlink(missing_ok=True)
                with suppress(OSError):
                    out.rmdir()
    rmtree(out / PARTS, ignore_errors=True)  # no longer needed, nor whole maybe
    return dict(json.loads((out / COUNTS).read_text("utf-8")))


def _make(settings: Synthesis, progress: Callable[[int], object]) -> None:
    out = Path(settings.out)
    tables, skipped = _find_tables(settings)
    _note_start(out, settings, tables, skipped)
    for part in _make_parts(settings, tables):
        progress(sum(part.counts[name] for name in ("made", "given_up")))
    counts = _count(settings, out, tables, skipped)
    if not counts["examples"]["made"]:
        reasons = "; ".join(f"{n} x {reason}" for reason, n in counts["rejected"].items())
        raise TablemendError(
            f"source={settings.source}: none of {settings.n} examples could be made ({reasons}); "
            f"give other settings, and another out= or delete {out}"
        )
    for split in SPLITS:
        join_parts(out, PARTS, split, settings.format)
    write_text(out / "README.md", write_card(settings, counts))
    write_json(out / COUNTS, counts)


def check_folder(out: Path, noted: dict[str, Any]) -> None:
    """Refuse a folder with another data set, or with anything else.

    Args:
        out: the folder.
        noted: the settings that its files depend on, as they are noted in :data:`SETTINGS`.

    Raises:
        TablemendError: names the settings that differ.
    """
    path = out / SETTINGS
    if not path.exists():
        if out.exists() and (not out.is_dir() or not all(map(_is_leftover, out.iterdir()))):
            raise TablemendError(f"out={out} holds something else; give another out=")
        return
    old = json.loads(path.read_text("utf-8"))
    changed = [
        f"{name} was {old.get(name)!r}, is {value!r}"
        for name, value in noted.items()
        if old.get(name) != value
    ]
    if changed:
        raise TablemendError(
            f"out={out} holds a data set with other settings ({'; '.join(changed)}); "
            "give another out=, or delete the folder"
        )


def _is_leftover(path: Path) -> bool:
    """Whether a file was left by an interruption: half-written, or the lock."""
    return path.name == LOCK or (path.name.startswith(".") and path.suffix == ".tmp")


def _noted(settings: Synthesis) -> dict[str, Any]:
    engine = small_world.ENGINE if settings.source == SMALL_WORLD else ENGINE
    return {"engine_version": engine, **settings.model_dump(mode="json", exclude=set(FREE))}


def _find_tables(settings: Synthesis) -> tuple[list[Usable], list[Skipped]]:
    """Look through the source; the pool and the small world have no end and need no look."""
    usable: list[Usable] = []
    skipped: list[Skipped] = []
    if settings.source in (POOL, SMALL_WORLD):
        return usable, skipped
    for entry in scan(open_source(settings), settings):
        if isinstance(entry, Usable):
            usable.append(entry)
        else:
            skipped.append(entry)
    if not usable:
        raise no_table(settings, skipped)
    return usable, skipped


def _note_start(
    out: Path, settings: Synthesis, usable: list[Usable], skipped: list[Skipped]
) -> None:
    """Note settings, tables and what was skipped, or compare the tables with those noted."""
    digest = sha256("".join(table.source_hash for table in usable).encode()).hexdigest()[:16]
    path = out / TABLES
    if not path.exists():
        write_json(out / SETTINGS, _noted(settings))  # first: by it the folder is known as ours
        write_jsonl(out / SKIPPED, [entry._asdict() for entry in skipped])
        write_json(path, {"usable": len(usable), "hash": digest})
    elif json.loads(path.read_text("utf-8"))["hash"] != digest:
        raise TablemendError(
            f"source={settings.source} has changed since out={out} was begun; give another out="
        )


def _make_parts(settings: Synthesis, tables: list[Usable]) -> Iterator[Part]:
    """Every part in order, those found finished first."""
    total = -(-settings.n // settings.shard_size)
    open_numbers = []
    for number in range(total):
        done = _state(settings, number)
        if done.exists():
            yield Part(number, json.loads(done.read_text("utf-8")))
        else:
            open_numbers.append(number)
    if settings.workers == 1 or len(open_numbers) < 2:
        maker = PartMaker(settings, tables)
        yield from map(maker.make, open_numbers)
        return
    workers = min(settings.workers, len(open_numbers))
    yield from map_in_workers(_make_part, open_numbers, workers, _start_worker, (settings, tables))


def map_in_workers(
    function: Callable[[int], T],
    numbers: Sequence[int],
    workers: int,
    start: Callable[..., None],
    arguments: tuple[Any, ...],
) -> Iterator[T]:
    """What a function makes of numbers, in their order, in processes of their own.

    Args:
        function: of a module, so that it can be sent to a process.
        numbers: what it is called with.
        workers: how many processes.
        start: called once in each, with the arguments.
        arguments: likewise.

    Raises:
        TablemendError: a process died.
    """
    # spawn: a forked worker would inherit locks of threads that it does not have.
    with ProcessPoolExecutor(
        workers, mp_context=get_context("spawn"), initializer=start, initargs=arguments
    ) as pool:
        try:
            yield from map_in(pool, function, numbers)
        except BrokenProcessPool as error:
            raise TablemendError(
                "a worker died, most likely for want of memory; the same command continues, "
                "with fewer workers= if it happens again"
            ) from error
        finally:
            pool.shutdown(cancel_futures=True)


_MAKERS: list[PartMaker] = []  # one in each worker process


def _start_worker(settings: Synthesis, tables: list[Usable]) -> None:
    _MAKERS.append(PartMaker(settings, tables))


def _make_part(number: int) -> Part:
    return _MAKERS[0].make(number)


def _state(settings: Synthesis, number: int) -> Path:
    return Path(settings.out) / PARTS / f"{number:06d}.json"


class PartMaker:
    """Makes parts from one source, which it keeps open."""

    def __init__(self, settings: Synthesis, tables: list[Usable]) -> None:
        self._settings = settings
        self._tables = tables
        self._engine: Engine | None = None

    def make(self, number: int) -> Part:
        """Write part ``number`` and then its counts: a part without counts is made again."""
        settings = self._settings
        start = number * settings.shard_size
        numbers = range(start, min(start + settings.shard_size, settings.n))
        tally = Tally()
        splits: Counter[str] = Counter()
        sizes: Counter[str] = Counter()
        writers: dict[Split, Writer] = {}
        folder = Path(settings.out) / PARTS
        folder.mkdir(parents=True, exist_ok=True)
        # Examples hold no cycles; looking for some costs an eighth of the time.
        gc.disable()
        try:
            for example in self._examples(numbers, tally):
                split = split_of(example.source_hash, settings)
                if split not in writers:
                    writers[split] = open_writer(folder, f"{split}-{number:06d}", settings.format)
                writers[split].write(example)
                splits[split] += 1
                sizes.update(_sizes(example))
            for writer in writers.values():
                writer.close()
        except BaseException:
            for writer in writers.values():
                writer.discard()
            raise
        finally:
            gc.enable()
        counts = {
            "made": tally.made,
            "given_up": tally.given_up,
            "rejected": dict(sorted(tally.rejected.items())),
            "splits": dict(splits),
            "sizes": dict(sorted(sizes.items())),
        }
        write_json(_state(settings, number), counts)
        return Part(number, counts)

    def _examples(self, numbers: range, tally: Tally) -> Iterator[Example]:
        if self._settings.source == SMALL_WORLD:
            yield from make_small(self._settings, numbers, tally)
            return
        if self._engine is None:
            self._engine = Engine(self._settings, self._tables)
        self._engine.tally = tally
        for number in numbers:
            if (example := self._engine.make(number)) is not None:
                yield example


def _sizes(example: Example) -> dict[str, int]:
    return {
        "gold_characters": len(example.gold_context),
        "adversarial_characters": len(example.adversarial_context),
        "rows": len(example.gold_table.rows),
        "columns": len(example.gold_table.columns),
        "facts": len(example.facts),
        f"difficulty {example.difficulty}": 1,
        f"domain {example.domain}": 1,
    }


def _count(
    settings: Synthesis, out: Path, tables: list[Usable], skipped: list[Skipped]
) -> dict[str, Any]:
    """Add up the parts."""
    made = given_up = 0
    rejected: Counter[str] = Counter()
    splits: Counter[str] = Counter()
    sizes: Counter[str] = Counter()
    for number in range(-(-settings.n // settings.shard_size)):
        part = json.loads(_state(settings, number).read_text("utf-8"))
        made += part["made"]
        given_up += part["given_up"]
        rejected.update(part["rejected"])
        splits.update(part["splits"])
        sizes.update(part["sizes"])
    table_splits = Counter(split_of(table.source_hash, settings) for table in tables)
    reasons = Counter(reason_kind(entry.reason) for entry in skipped)
    return {
        "examples": {"asked": settings.n, "made": made, "given_up": given_up},
        "splits": {split: splits[split] for split in SPLITS if splits[split]},
        "tables": {
            "usable": len(tables),
            "skipped": len(skipped),
            "splits": {split: table_splits[split] for split in SPLITS if table_splits[split]},
        },
        "skipped": dict(reasons.most_common()),
        "rejected": dict(rejected.most_common()),
        "sizes": dict(sizes),
    }


def reason_kind(reason: str) -> str:
    """A reason without its numbers, to count by."""
    return re.sub(r"\d+", "#", reason)[:80]
