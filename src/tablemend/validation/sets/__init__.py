"""The sets with human labels: one reader each, from its records to items."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any, Literal, get_args

from tablemend.errors import TablemendError
from tablemend.runs import read_jsonl
from tablemend.validation.items import Item
from tablemend.validation.sets.basketball import accuracy_shared_task
from tablemend.validation.sets.ratings import d2t_human_ratings
from tablemend.validation.sets.science import scigen, scitab
from tablemend.validation.sets.spans import d2t_span_annotation, quintd
from tablemend.validation.sets.statements import infotabs, logicnlg, tabfact

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


def read_set(name: SetName, data: Path) -> list[Item]:
    """The items of a set, of both halves.

    Args:
        name: the set.
        data: folder of all sets.

    Raises:
        TablemendError: the file is not there, or a record is not as its README says.
    """
    file, reader = READERS[name]
    path = data / file
    if not path.is_file():
        raise TablemendError(f"no file {path}: give data=FOLDER, or leave {name} out of sets=")
    items: list[Item] = []
    for number, record in enumerate(read_jsonl(path), 1):
        try:
            items += reader(record)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise TablemendError(
                f"{path}:{number} is no record of {name} ({type(error).__name__}: {error}): "
                "see the README beside it"
            ) from error
    return items


def draw(items: Sequence[Item], n: int) -> list[Item]:
    """At most ``n`` items, the same ones on every machine, in their order."""
    if len(items) <= n:
        return list(items)
    chosen = sorted(items, key=lambda item: sha256(f"{item.set} {item.id}".encode()).digest())[:n]
    kept = {item.id for item in chosen}
    return [item for item in items if item.id in kept]
