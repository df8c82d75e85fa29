"""Fictional tables of the built-in topics (``topics.yaml``), for when there is no table at all."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import yaml

from tablemend.datasets.source_tables.columns import write_day
from tablemend.datasets.source_tables.invented_names import FAMILY, GIVEN, TOWNS, invent_person
from tablemend.tables.table import Cell, Table

ROWS = 40
ENTITIES_OF_PANEL = 11
APART = 10**9
"""Rounds between the numbers of tables and of those beside them."""
FIRMS = ("{} Brothers", "{} Partners", "{} & Sons", "{} Limited", "{} Union")


_SLOTS = {"{town}": TOWNS, "{family}": FAMILY, "{given}": GIVEN}


@dataclass(frozen=True, slots=True)
class Field:
    """How the cells of one column are made.

    Attributes:
        name: the header.
        kind: what is drawn: ``year``, ``day`` or ``number`` from ``low`` to ``high``; one of
            ``options`` for a ``choice``; a made-up one for ``person``, ``place`` and ``firm``.
        low, high, decimals, unit: of a number; the unit is written behind it.
    """

    name: str
    kind: str
    low: float = 0
    high: float = 0
    decimals: int = 0
    unit: str = ""
    options: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SubCategory:
    """One kind of table.

    Attributes:
        templates: what the query calls the entities; ``{place}`` and ``{entity}`` are filled.
        key: header of the column that names the entities.
        names: pattern of an entity's name; ``{town}``, ``{family}``, ``{given}`` and ``{person}``
            are filled.
        fields: the other columns.
        panel: the same entities return in several years.
    """

    category: str
    domain: str
    name: str
    templates: tuple[str, ...]
    key: str
    names: tuple[str, ...]
    fields: tuple[Field, ...]
    panel: bool


def _read_field(name: str, text: str) -> Field:
    if "|" in text:
        return Field(name, "choice", options=tuple(text.split("|")))
    kind, *rest = text.split()
    low, high, decimals, unit = (*rest, *("0", "0", "0", "")[len(rest) :])
    return Field(name, kind, float(low), float(high), int(decimals), unit)


def _read_topics() -> tuple[SubCategory, ...]:
    text = Path(__file__).with_name("topics.yaml").read_text(encoding="utf-8")
    categories: dict[str, dict[str, dict[str, dict[str, Any]]]] = yaml.safe_load(text)
    return tuple(
        SubCategory(
            category,
            domain,
            name,
            tuple(given["queries"]),
            given["key"],
            tuple(given["names"]),
            tuple(_read_field(*field) for field in given["fields"].items()),
            given.get("panel", False),
        )
        for category, domains in categories.items()
        for domain, names in domains.items()
        for name, given in names.items()
    )


SUB_CATEGORIES = _read_topics()


class FictionalTable(NamedTuple):
    """A table and its place in the topic pool.

    Attributes:
        topic: the filled template; it is also what a query calls the rows.
    """

    table: Table
    topic: str
    category: str
    domain: str


def make_table(seed: int, number: int) -> FictionalTable:
    """Table ``number`` of the pool; sub-categories take turns."""
    rng = Random(f"pool:{seed}:{number}")
    sub = SUB_CATEGORIES[number % len(SUB_CATEGORIES)]
    topic = rng.choice(sub.templates).format(place=rng.choice(TOWNS), entity=rng.choice(FAMILY))
    places = rng.sample(TOWNS, 12)
    rows = _panel_rows(sub, places, rng) if sub.panel else _rows(sub, places, rng)
    columns = [sub.key, *(field.name for field in sub.fields)]
    return FictionalTable(Table.of(columns, rows, topic), topic, sub.category, sub.domain)


def related_number(number: int) -> int:
    """Number of a table beside table ``number``: of its category, with another kind of entity."""
    own = SUB_CATEGORIES[number % len(SUB_CATEGORIES)]
    others = [
        place
        for place, sub in enumerate(SUB_CATEGORIES)
        if sub.category == own.category and sub.key != own.key
    ]
    count = len(SUB_CATEGORIES)
    return (number // count + APART) * count + others[number // count % len(others)]


def more_names(number: int, count: int, rng: Random) -> list[str]:
    """Names of other entities like those of table ``number``."""
    return _entities(SUB_CATEGORIES[number % len(SUB_CATEGORIES)], count, rng)


def _rows(sub: SubCategory, places: list[str], rng: Random) -> list[list[Cell]]:
    names = _entities(sub, ROWS, rng)
    return [[name, *(_cell(field, places, rng) for field in sub.fields)] for name in names]


def _panel_rows(sub: SubCategory, places: list[str], rng: Random) -> list[list[Cell]]:
    """Every entity in several years; the first field is the year."""
    first = sub.fields[0]
    rows: list[list[Cell]] = []
    for name in _entities(sub, ENTITIES_OF_PANEL, rng):
        years = range(int(first.low), int(first.high) + 1)
        for year in sorted(rng.sample(years, rng.randint(2, 5))):
            others = [_cell(field, places, rng) for field in sub.fields[1:]]
            rows.append([name, str(year), *others])
    return rows


def _entities(sub: SubCategory, count: int, rng: Random) -> list[str]:
    names: dict[str, None] = {}
    while len(names) < count:
        pattern = rng.choice(sub.names)
        for slot, words in _SLOTS.items():
            while slot in pattern:
                pattern = pattern.replace(slot, rng.choice(words), 1)
        names[pattern.replace("{person}", invent_person(rng))] = None
    return list(names)


def _cell(field: Field, places: list[str], rng: Random) -> str:
    match field.kind:
        case "year":
            return str(rng.randint(int(field.low), int(field.high)))
        case "day":
            first = date(int(field.low), 1, 1).toordinal()
            last = date(int(field.high), 12, 31).toordinal()
            return write_day(date.fromordinal(rng.randint(first, last)))
        case "number":
            return _number(field, rng)
        case "choice":
            return rng.choice(field.options)
        case "person":
            return invent_person(rng)
        case "place":
            return rng.choice(places)
        case _:
            return rng.choice(FIRMS).format(rng.choice(FAMILY))


def _number(field: Field, rng: Random) -> str:
    """Small values are more frequent than large ones where the range is wide."""
    share = rng.random()
    if field.low > 0 and field.high / field.low > 50:
        value = field.low * (field.high / field.low) ** share
    else:
        value = field.low + (field.high - field.low) * share
    return f"{value:,.{field.decimals}f}{field.unit}"
