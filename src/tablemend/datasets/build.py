"""Making a data set: its examples by number, by any number of processes, resumable.

While it is being made, what came of each number lies in a store; the files of the splits, the card
and last of all the counts are written when every number is there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from tablemend.errors import TablemendError
from tablemend.runs import MOVE_AWAY, Store, read_object, refuse_other, write_json
from tablemend.workers import map_in_workers

COUNTS = "counts.json"
SETTINGS = "settings.json"
MADE = "examples.store"
"""What came of each number, until the data set is finished; no suffix that ``datasets`` reads."""

_TABLES = "tables"


def build(
    out: Path, settings: dict[str, Any], make: Callable[[Store], dict[str, Any]]
) -> dict[str, Any]:
    """The counts of a data set, which is made where it is not there yet.

    Args:
        out: its folder.
        settings: all that its files depend on.
        make: writes its files, given the store of what was made before; returns the counts.

    Raises:
        TablemendError: the folder holds something else, a data set of other settings, or one that
            another process is making.
    """
    if not (out / COUNTS).exists():
        refuse_other_files(out, MADE)
        try:
            with Store(out / MADE, "number", settings) as store:
                if not (out / COUNTS).exists():  # by another process, meanwhile
                    counts = make(store)
                    write_json(out / SETTINGS, settings)
                    write_json(out / COUNTS, counts)
        finally:  # a refusal leaves no folder
            with suppress(OSError):
                out.rmdir()
    refuse_other(read_object(out / SETTINGS, MOVE_AWAY), settings, f"out={out}")
    (out / MADE).unlink(missing_ok=True)
    return read_object(out / COUNTS, MOVE_AWAY)


def refuse_other_files(out: Path, begun: str) -> None:
    """Refuse a folder of something else: with files, but without the one of a data set begun.

    Raises:
        TablemendError: it is one.
    """
    if not out.exists() or (out / begun).exists():
        return
    if not out.is_dir() or any(not path.name.startswith(".") for path in out.iterdir()):
        raise TablemendError(f"out={out} holds something else; give another out=")


def note_tables(store: Store, digest: str, source: str) -> None:
    """Note the hash of the source tables, or compare it with the one noted.

    Raises:
        TablemendError: the source has changed since the data set was begun.
    """
    if _TABLES not in store:
        store.put({"number": _TABLES, "hash": digest})
    elif store[_TABLES]["hash"] != digest:
        raise TablemendError(
            f"the tables of {source} have changed since {store.path.parent} was begun; give "
            "another out="
        )


def make_numbers(
    store: Store,
    total: int,
    open_maker: Callable[..., Callable[[int], dict[str, Any]]],
    arguments: tuple[Any, ...],
    workers: int,
) -> Iterator[dict[str, Any]]:
    """Make what is not in the store yet, in order; each record as it is stored.

    Args:
        store: of what was made.
        total: numbers from 0 on.
        open_maker: of a module; called once in each process, gives what makes the record of a
            number.
        arguments: what it is called with.
        workers: how many processes.

    Raises:
        TablemendError: a process died.
    """
    missing = [number for number in range(total) if number not in store]
    for record in map_in_workers(open_maker, arguments, missing, workers):
        store.put(record)
        yield record
