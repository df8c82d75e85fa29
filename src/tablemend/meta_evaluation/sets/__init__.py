"""The sets with human labels: one reader each, from its records to items."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any, Literal, TypeVar, get_args

from tablemend.errors import TablemendError
from tablemend.meta_evaluation.items import Item
from tablemend.meta_evaluation.sets.basketball import accuracy_shared_task
from tablemend.meta_evaluation.sets.ratings import d2t_human_ratings
from tablemend.meta_evaluation.sets.science import scigen, scitab
from tablemend.meta_evaluation.sets.spans import d2t_span_annotation, quintd
from tablemend.meta_evaluation.sets.statements import infotabs, logicnlg, tabfact
from tablemend.values.foreign import load_json

T = TypeVar("T")
SetName = Literal[
    "quintd",
    "d2t_span_annotation",
    "scigen",
    "accuracy_shared_task",
    "d2t_human_ratings",
    "tabfact",
    "scitab",
    "infotabs",
    "logicnlg",
]
SETS: tuple[SetName, ...] = get_args(SetName)
Reader = Callable[[dict[str, Any]], Iterator[Item]]
READERS: dict[SetName, tuple[str, Reader]] = {
    "quintd": ("quintd/open.jsonl", quintd),
    "d2t_span_annotation": ("d2t_span_annotation/open.jsonl", d2t_span_annotation),
    "scigen": ("scigen/open.human_eval.jsonl", scigen),
    "accuracy_shared_task": ("accuracy_shared_task/open.jsonl", accuracy_shared_task),
    "d2t_human_ratings": ("d2t_human_ratings/open.jsonl", d2t_human_ratings),
    "tabfact": ("tabfact/open.jsonl", tabfact),
    "scitab": ("scitab/open.jsonl", scitab),
    "infotabs": ("infotabs/open.jsonl", infotabs),
    "logicnlg": ("logicnlg/open.jsonl", logicnlg),
}
"""Set -> its file below the data folder, and how one record becomes items."""


def read_records(
    path: Path, read: Callable[[Any], T], unread: Callable[[str, Exception], object]
) -> Iterator[T]:
    """What comes of every line of JSON; one that cannot be read is named, and the others go on.

    Args:
        path: the file.
        read: makes something of a record.
        unread: takes the place and the error of a line of which nothing can be made.
    """
    with path.open("rb") as file:
        for number, line in enumerate(file, 1):
            try:
                found = read(load_json(line))
            except (*_UNREADABLE, TablemendError) as error:
                unread(f"{path}:{number}", error)
            else:
                yield found


_UNREADABLE = (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError)


def read_set(name: SetName, data: Path, left_out: list[str] | None = None) -> list[Item]:
    """The items of a set, of both halves.

    Args:
        name: the set.
        data: folder of all sets.
        left_out: takes one line for every record that cannot be read; without it the first one is
            refused.

    Raises:
        TablemendError: the file is not there, or no record or (without ``left_out``) one of them
            is not as its README says.
    """
    file, reader = READERS[name]
    path = data / file
    if not path.is_file():
        raise TablemendError(f"no file {path}: give data=FOLDER, or leave {name} out of sets=")
    found: list[str] = []

    def unread(place: str, error: Exception) -> None:
        found.append(f"{place} is no record of {name} ({type(error).__name__}: {error})")
        if left_out is None:
            raise TablemendError(f"{found[0]}: see the README beside it") from error

    own = list(read_records(path, lambda record: list(reader(record)), unread))
    if found and not own:
        raise TablemendError(f"{found[0]}, nor is any other: see the README beside it")
    if left_out is not None:
        left_out += found
    return [item for items in own for item in items]


def draw(items: Sequence[Item], n: int) -> list[Item]:
    """At most ``n`` items, the same ones on every machine, in their order."""
    if len(items) <= n:
        return list(items)
    chosen = sorted(items, key=lambda item: sha256(f"{item.set} {item.id}".encode()).digest())[:n]
    kept = {item.id for item in chosen}
    return [item for item in items if item.id in kept]
