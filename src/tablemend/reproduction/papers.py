"""The papers' tables as data: the published figures, and how each is made again (items.yaml)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from itertools import product
from typing import Any, Literal

import yaml

from tablemend.errors import TablemendError

Pick = Mapping[str, Any]
"""Which number stands in a cell; the keys are explained in items.yaml."""


@dataclass(frozen=True)
class Item:
    """A table or figure; every field is explained at the head of items.yaml."""

    needs: Literal["comparison", "robustness", "data", "run", "nothing"] = "comparison"
    nothing: str = ""
    recipe: str = ""
    cell: Pick = field(default_factory=dict)
    rows: Mapping[str, Any] = field(default_factory=dict)
    columns: Mapping[str, Any] = field(default_factory=dict)
    parts: str = ""
    contexts: tuple[str, ...] = ()
    file: str = ""
    each: tuple[str, ...] = ()
    by: tuple[str, ...] = ()
    names: Mapping[str, str] = field(default_factory=dict)
    add: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    set: tuple[str, ...] = ()
    beside: str = ""
    scale: int = 100
    note: str = ""

    def cells(self) -> Iterator[tuple[str, str, Pick]]:
        """Row, column and what is picked, of a table of answers; without rows, of each column."""
        for (row, one), (column, other) in product(
            (self.rows or {"": {}}).items(), self.columns.items()
        ):
            yield row, column, {**self.cell, **one, **other}


@dataclass(frozen=True)
class Paper:
    """A paper: the task and the usual recipe, what runs on the embedded base, and its items."""

    task: str
    recipe: str
    small: str
    items: Mapping[str, Item]


def choose(pick: Pick, systems: Mapping[str, Mapping[str, Any]]) -> str | None:
    """The first of the systems that a cell names that is asked as it says; ``systems`` says how
    each is asked.
    """
    wanted = {key: pick[key] for key in ("thinking", "format") if key in pick}
    for name in pick.get("system", ()):
        asked = systems.get(name)
        if asked is not None and all(asked.get(key) in own for key, own in wanted.items()):
            return str(name)
    return None


@cache
def items_file() -> dict[str, Any]:
    """``items.yaml``: a key for each paper, and two more.

    ``data``: of each data set that needs nothing of a user, the script that makes it and its
    settings. ``models``: of each published model ``hosted``, or its name on the Hub and billions
    of parameters.
    """
    text = files("tablemend.reproduction").joinpath("items.yaml").read_text(encoding="utf-8")
    return dict(yaml.safe_load(text))


@cache
def paper_of(name: str) -> Paper:
    """A paper's items."""
    own = items_file()[name]
    items = {place: Item(**one) for place, one in own["items"].items()}
    return Paper(**{**own, "items": items})


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
class PublishedTable:
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
def published(paper: str) -> tuple[str, tuple[PublishedTable, ...]]:
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
        found.append(PublishedTable(place, head=head, rows=table, **entry))
    return data["paper"], tuple(found)
