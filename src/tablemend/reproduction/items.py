"""How each table of a paper is made again, as data: ``items.yaml``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from importlib.resources import files
from itertools import product
from typing import Any, Literal

import yaml

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
    """The first of the systems that a cell names that is asked as it says.

    Args:
        pick: of the cell.
        systems: by name, how each is asked.
    """
    wanted = {key: pick[key] for key in ("thinking", "format") if key in pick}
    for name in pick.get("system", ()):
        asked = systems.get(name)
        if asked is not None and all(asked.get(key) in own for key, own in wanted.items()):
            return str(name)
    return None


@cache
def _read() -> dict[str, Any]:
    text = files("tablemend.reproduction").joinpath("items.yaml").read_text(encoding="utf-8")
    return dict(yaml.safe_load(text))


@cache
def paper_of(name: str) -> Paper:
    """A paper's items."""
    own = _read()[name]
    paper = Paper(**own)
    return replace(paper, items={place: Item(**one) for place, one in own["items"].items()})


def data_commands() -> dict[str, list[str]]:
    """Of each data set that needs nothing of a user: the script that makes it, and its settings."""
    return dict(_read()["data"])


def models() -> dict[str, Any]:
    """Of each published model: ``hosted``, or its name on the Hub and billions of parameters."""
    return dict(_read()["models"])
