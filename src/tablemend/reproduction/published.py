"""Figures of the papers as published, as data: they are shown and never computed with."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

import yaml

from tablemend.errors import TablemendError

PAPERS = {
    "tablehallu": "reproduction/published/tablehallu.yaml",
    "tabfaith": "reproduction/published/tabfaith.yaml",
    "faith": "reproduction/published/faith.yaml",
    "torr": "reproduction/published/torr.yaml",
    "logic-annotation": "tasks/logic/published.yaml",
}
"""Short name of each paper, and the file with its figures."""
PLACES = ("table", "figure", "section")


@dataclass(frozen=True)
class Published:
    """A table or figure of a paper; several parts may have the same place.

    Attributes:
        place: ``table 4``, ``figure 8``, ``section C``.
        title: what it shows.
        head: of its columns, the first one names the rows; empty where no number can be read.
        rows: by label, a value a column; ``None`` where the paper has none.
        unit: of the values; empty where the columns have several.
        n: samples behind each value, where the paper says so.
        note: what a reader must know.
        unread: why no number can be read.
    """

    place: str
    title: str
    head: tuple[str, ...] = ()
    rows: Mapping[str, tuple[float | str | None, ...]] | None = None
    unit: str = ""
    n: int | None = None
    note: str = ""
    unread: str = ""

    def cells(self) -> Iterator[tuple[str, str, float | str]]:
        """Row, column and value of every figure."""
        for label, values in (self.rows or {}).items():
            for column, value in zip(self.head[1:], values, strict=True):
                if value not in (None, ""):
                    yield label, column, value


@cache
def published(paper: str) -> tuple[str, tuple[Published, ...]]:
    """A paper's title, and its tables and figures in their order.

    Raises:
        TablemendError: a row that is not as long as its head, two of one name, or neither numbers
            nor the reason why there are none.
    """
    path = PAPERS[paper]
    data = yaml.safe_load(files("tablemend").joinpath(path).read_text(encoding="utf-8"))
    found = []
    for entry in data["tables"]:
        kind = next(name for name in PLACES if name in entry)
        place, head = f"{kind} {entry.pop(kind)}", tuple(entry.pop("head", ()))
        rows = entry.pop("rows", [])
        table = {str(label): tuple(values) for label, *values in rows}
        wrong = [label for label, values in table.items() if len(values) != len(head) - 1]
        if wrong or len(table) < len(rows) or bool(rows) == bool(entry.get("unread")):
            raise TablemendError(f"{path}: {place} has no, unequal or repeated rows: {wrong}")
        found.append(Published(place, head=head, rows=table, **entry))
    return data["paper"], tuple(found)


def places(paper: str) -> list[str]:
    """``table 1``, ``figure 3`` and so on, each once."""
    return list(dict.fromkeys(one.place for one in published(paper)[1]))
