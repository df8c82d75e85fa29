"""Queries by program, and the program that reads them: the same phrases both ways."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import replace
from datetime import date, timedelta
from random import Random
from string import Formatter

from tablemend.datasets.tablehallu.columns import (
    ORDERED,
    TypedTable,
    clean_cell,
    read_date,
    read_number,
    type_columns,
)
from tablemend.datasets.tablehallu.query import (
    OPENINGS,
    SCHEMAS,
    SORTS,
    list_columns,
    phrase_bound,
)
from tablemend.datasets.tablehallu.scope import Bound
from tablemend.datasets.tablehallu.sentences import label_of
from tablemend.detector.keys import primary_key
from tablemend.detector.query import sort_rule_from_query
from tablemend.records import Condition, Constraints, SortOrder
from tablemend.tables.table import Table

MISTAKES = ("cell-in-query", "column-left-out", "columns-shuffled", "no-sort", "other-sort")
MISREADINGS = ("wrong-sort", "wrong-range", "unknown-column", "empty-condition", "no-scope")

_PHRASES = tuple(
    re.compile(pattern)
    for pattern in (
        r'(?:whose|where) "(?P<name>[^"]+)" is from (?P<low>.+?) to (?P<high>.+?) \(inclusive\)',
        r'(?:whose|where) "(?P<name>[^"]+)" lies between (?P<low>.+?) and (?P<high>.+?),'
        r" both included",
        r'with "(?P<name>[^"]+)" from (?P<low>.+?) to (?P<high>.+?), ends included',
        r'where "(?P<name>[^"]+)" is at least (?P<low>.+?) and at most (?P<high>.+)',
        r'(?:whose "(?P<name>[^"]+)" is|with "(?P<alias>[^"]+)" at) (?P<high>.+) or'
        r" (?:earlier|less)",
        r'(?:whose "(?P<name>[^"]+)" is|with "(?P<alias>[^"]+)" at) (?P<low>.+) or (?:later|more)',
        r'with (?P<values>[^"]+) as "(?P<name>[^"]+)"',
        r'(?:whose|where) "(?P<name>[^"]+)" is (?P<values>.+)',
        r'with "(?P<name>[^"]+)" at (?P<values>.+)',
    )
)
_NEXT_PHRASE = re.compile(r' and (?=(?:whose|where) "|with )')
_RANGE = re.compile(
    r"(?:from|between) (?P<low>\d[\d,.]*) (?:to|and|until|through) (?P<high>\d[\d,.]*\d)"
)


def type_shown(table: Table) -> TypedTable:
    """The typed columns of a table that a prompt shows."""
    rows = [tuple(map(clean_cell, row)) for row in table.rows]
    columns, orders = type_columns(table.columns, rows)
    clean = Table(table.columns, tuple(rows))
    return TypedTable(clean, tuple(columns), primary_key(table), tuple(orders), "", ())


def write_query(
    table: Table, sort: str, order: SortOrder, mistake: str | None, rng: Random
) -> tuple[str, bool]:
    """A query for a table; whether it has the mistake.

    The scope is a range, or a category that all rows share, of which every row has a value and
    which leaves room outside.
    """
    typed = type_shown(table)
    bounds = _bounds(typed, rng)
    key = table.columns[typed.key]
    subject = _plural(label_of(key))
    scope = " and ".join(phrase_bound(bound, typed, rng) for bound in bounds)
    columns = list(table.columns)
    made = mistake in MISTAKES
    if mistake == "column-left-out":
        named = {sort, *(bound.condition.column for bound in bounds)}
        columns.remove(rng.choice([name for name in columns[1:] if name not in named] or columns))
    if mistake == "columns-shuffled":
        columns.reverse()
    if mistake == "other-sort":
        order = _turned(order)
    opening = rng.choice(OPENINGS).replace("{subject}", subject).replace("{scope}", scope)
    schema = rng.choice(SCHEMAS).replace("{columns}", list_columns(columns))
    sorting = rng.choice(SORTS).replace("{order}", order).replace("{sort}", sort)
    parts = [opening, schema, "" if mistake == "no-sort" else sorting]
    if mistake == "cell-in-query":
        parts.insert(1, f"Do not forget {rng.choice(table.column(key))}.")
    return " ".join(part for part in parts if part), made


def _plural(label: str) -> str:
    if label.endswith(("s", "x", "ch", "sh")):
        return f"{label}es" if not label.endswith("series") else label
    if label.endswith("y") and label[-2:-1] not in "aeiou":
        return f"{label[:-1]}ies"
    return f"{label}s"


def _bounds(typed: TypedTable, rng: Random) -> list[Bound]:
    """One or two conditions that all rows meet; none where no column allows any."""
    ranges, categories = [], []
    for index, column in enumerate(typed.columns):
        cells = [row[index] for row in typed.table.rows]
        if index == typed.key or None in cells:
            continue
        places = [value for value in typed.orders[index] if value is not None]
        if column.kind in ORDERED and len(places) == len(cells):
            ranges.append(_range(typed, index, places, rng))
        elif len(set(cells)) == 1 and column.kind not in ORDERED and '"' not in (cells[0] or ""):
            name = column.name
            shared = cells[0] or ""
            categories.append(
                Bound(
                    index, "category", Condition(name, values=(shared,)), values=frozenset({shared})
                )
            )
    times = [bound for bound in ranges if bound.kind != "number"]
    if times and rng.random() < 0.5:
        ranges = times
    found = rng.sample(ranges, min(len(ranges), 2 if rng.random() < 0.3 else 1))
    if categories and (not found or rng.random() < 0.5):
        found = [rng.choice(categories), *found[:1]]
    return found


def _range(typed: TypedTable, index: int, values: Sequence[float], rng: Random) -> Bound:
    """A range with round ends around all values, open on one side in a quarter of cases."""
    column = typed.columns[index]
    low, high = min(values), max(values)
    if column.kind == "year":
        low, high = low - rng.randint(0, 2), high + rng.randint(0, 2)
    elif column.kind == "date":
        first, last = (date.fromordinal(int(value)) for value in (low, high))
        low = first.replace(day=1).toordinal()
        following = (last.replace(day=1) + timedelta(days=32)).replace(day=1)
        high = following.toordinal() - 1
    else:
        size = max(high - low, abs(high) / 10, 1e-6)
        unit = 10.0 ** math.floor(math.log10(size)) / 5
        low = round(math.floor(round(low / unit, 9)) * unit, 9)
        high = round(math.ceil(round(high / unit, 9)) * unit, 9)
    # Open above only where much can lie below.
    side = rng.random()
    if side < 0.12:
        return Bound(index, column.kind, Condition(column.name), None, high)
    if side > 0.88 and column.kind != "number":
        return Bound(index, column.kind, Condition(column.name), low, None)
    return Bound(index, column.kind, Condition(column.name), low, high)


def read_query(query: str, table: Table) -> Constraints:
    """The constraints of a query in this language; of other queries as much as can be read."""
    typed = type_shown(table)
    rule = sort_rule_from_query(query, table.columns)
    parts = _opening(query)
    subject, scope = parts if parts else ("", "")
    conditions: list[Condition] = []
    spoken: list[str] = []
    named: list[str] = []
    for phrase in filter(None, _NEXT_PHRASE.split(scope)):
        for pattern in _PHRASES:
            if match := pattern.fullmatch(phrase):
                break
        else:
            continue
        found = match.groupdict()
        name = found["name"] or found["alias"]
        if "values" in found:
            values = _listed(found["values"])
            numbers = _written(found["values"])
            if numbers and _column_kind(typed, name) in ORDERED:
                conditions.append(Condition(name, numbers, numbers))
                spoken.append(found["values"])
            else:
                conditions.append(Condition(name, values=values))
                named.extend(values)
        else:
            low, high = (found.get(end) for end in ("low", "high"))
            conditions.append(Condition(name, _written(low), _written(high)))
            spoken.append(_span(match, phrase))
    if not parts and (free := _free_range(query, typed)):
        conditions.append(free[0])
        spoken.append(free[1])
    return Constraints(
        (subject or _plural(label_of(table.columns[typed.key])), *named),
        "; ".join(spoken) or None,
        rule.column if rule else table.columns[0],
        rule.order if rule else "ascending",
        tuple(conditions),
    )


def _turned(order: SortOrder) -> SortOrder:
    return "descending" if order == "ascending" else "ascending"


def misread(constraints: Constraints, mistake: str) -> Constraints | None:
    """The constraints with one thing wrong; ``None`` where there is nothing to get wrong."""
    if mistake == "wrong-sort":
        return replace(constraints, sort_order=_turned(constraints.sort_order))
    if mistake == "no-scope":
        return replace(constraints, entity_scope=())
    if mistake == "empty-condition" and constraints.conditions:
        first, *rest = constraints.conditions
        return replace(constraints, conditions=(Condition(first.column), *rest))
    if mistake == "unknown-column":
        return replace(
            constraints,
            conditions=(*constraints.conditions, Condition("Registry Number", "1", "9")),
        )
    if mistake == "wrong-range" and constraints.conditions:
        first, *rest = constraints.conditions
        end = first.low or first.high
        wrong = replace(first, low=end, high=end) if end else replace(first, values=("Elsewhere",))
        return replace(constraints, conditions=(wrong, *rest))
    return None


def _opening(query: str) -> tuple[str, str] | None:
    """Subject and scope of a query that begins with one of our openings."""
    for opening in OPENINGS:
        pattern = "".join(
            re.escape(literal) + (f"(?P<{slot}>.+?)" if slot else "")
            for literal, slot, _, _ in Formatter().parse(opening)
        ).replace("(?P<scope>.+?)", '(?P<scope>(?:(?:whose|where) "|with ).+?)')
        if match := re.match(pattern + r"(?= |$)", query):
            return match["subject"], match["scope"]
    return None


def _listed(text: str) -> tuple[str, ...]:
    """``A, B or C`` as its values."""
    head, joint, last = text.rpartition(" or ")
    return (*head.split(", "), last) if joint else (text,)


def _span(match: re.Match[str], phrase: str) -> str:
    """The words of the range, from its first to its last end."""
    places = [match.span(end) for end in ("low", "high") if match.groupdict().get(end)]
    start, end = min(places)[0], max(places)[1]
    tail = phrase[end:] if len(places) == 1 else ""
    return phrase[start:end] + tail


def _written(text: str | None) -> str | None:
    """An end as plain digits or as an ISO date; ``None`` where it is neither."""
    if text is None:
        return None
    day = read_date(text)
    if day is not None:
        return date.fromordinal(int(day)).isoformat()
    number = read_number(text)
    return None if number is None else format(number[0], ".15g")


def _column_kind(typed: TypedTable, name: str) -> str:
    return next((column.kind for column in typed.columns if column.name == name), "text")


def _free_range(query: str, typed: TypedTable) -> tuple[Condition, str] | None:
    """A range in plain words, and the first column whose values all lie in it."""
    for match in _RANGE.finditer(query):
        low, high = (read_number(match[end].rstrip(".,")) for end in ("low", "high"))
        if low is None or high is None:
            continue
        for column, values in zip(typed.columns, typed.orders, strict=True):
            if all(value is not None and low[0] <= value <= high[0] for value in values):
                ends = (format(low[0], ".15g"), format(high[0], ".15g"))
                return Condition(column.name, *ends), match[0]
    return None
