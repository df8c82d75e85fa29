"""Programs: what can be asked of a table, as plain immutable data.

A column is its place in a :class:`~tablemend.programs.table.TypedTable`. A program says nothing of
which way the table is turned: the same program runs over rows and, on ``table.turned``, over
columns ("revenue was highest in 2021" of a table whose headers are years).
"""

from __future__ import annotations

from dataclasses import dataclass, fields, is_dataclass
from decimal import Decimal
from typing import Any, Literal

from tablemend.values.units import PLAIN, Unit

Relation = Literal["<", "<=", ">", ">="]
Order = Literal["max", "min"]
"""Which end counts first; of dates ``max`` is the latest."""
AggregateOp = Literal["sum", "mean", "median", "max", "min", "product"]
GroupOp = Literal["sum", "mean", "max", "min", "count"]
QuantifierName = Literal["all", "none", "only", "most", "few", "half"]
Hedge = Literal["", "about", "over", "under"]

Role = Literal[
    "entity",
    "other",  # the entity that it is compared with
    "column",
    "against",  # the column that it is compared with
    "period",
    "until",  # the later of two periods
    "value",
    "cue",  # the highest, more than, rose
    "quantifier",  # all, most, none
    "threshold",
    "category",
]
"""What words are in a statement."""


@dataclass(frozen=True, slots=True)
class Condition:
    """What a row must meet.

    Attributes:
        column: its place.
        relation: how the cell stands to ``value``; a text is equal to it or not, or has its words.
        value: a number in what the cells' ``value`` counts in; or the key of a text or date
            (:func:`~tablemend.programs.table.key_of`).
    """

    column: int
    relation: Relation | Literal["=", "!=", "has"]
    value: float | str


@dataclass(frozen=True, slots=True)
class Rows:
    """The rows that meet all conditions; totals only where they are all that does."""

    conditions: tuple[Condition, ...] = ()


@dataclass(frozen=True, slots=True)
class Rank:
    """The one row with the n-th value of a column; undefined for a tie."""

    rows: Rows
    column: int
    order: Order = "max"
    n: int = 1


@dataclass(frozen=True, slots=True)
class Value:
    """What the one row of a set, or all alike, has in a column; in the key column its name."""

    rows: Rows | Rank
    column: int


@dataclass(frozen=True, slots=True)
class Count:
    """How many rows there are."""

    rows: Rows


@dataclass(frozen=True, slots=True)
class Aggregate:
    """One number of a column; the highest and lowest are defined for ties too."""

    op: AggregateOp
    rows: Rows
    column: int


@dataclass(frozen=True, slots=True)
class Difference:
    """Left less right."""

    left: Expression
    right: Expression


@dataclass(frozen=True, slots=True)
class Ratio:
    """Left by right: "twice"; in percent: "a share of 45 %"."""

    left: Expression
    right: Expression
    percent: bool = False


@dataclass(frozen=True, slots=True)
class Change:
    """From left to right; in percent of the size of left, where ``percent``."""

    left: Expression
    right: Expression
    percent: bool = False


@dataclass(frozen=True, slots=True)
class GroupBy:
    """The group with the n-th value of an aggregate: the region with the highest total sales.

    Attributes:
        by: the column whose cells name the groups.
        op: what is worked out of each group.
        column: of these cells; of no use for ``count``.
    """

    by: int
    op: GroupOp
    column: int
    order: Order = "max"
    n: int = 1
    rows: Rows = Rows()


@dataclass(frozen=True, slots=True)
class Compare:
    """Whether left stands so to right."""

    left: Expression
    relation: Relation
    right: Expression


@dataclass(frozen=True, slots=True)
class Between:
    """Where a number lies: "within", "above" or "below" limits; both ends belong to them.

    Attributes:
        limits: the cell that states them ("3.5-5.1"); either may be open.
    """

    left: Value
    limits: Value


@dataclass(frozen=True, slots=True)
class Quantifier:
    """Whether so many of the rows meet a condition.

    ``most`` are more than half, ``few`` less than half, ``half`` just so many; ``only``: these
    rows do and no others.
    """

    quantifier: QuantifierName
    rows: Rows
    condition: Condition


@dataclass(frozen=True, slots=True)
class Trend:
    """Whether a column goes one way from each period to the next.

    Attributes:
        when: the column of periods.
        relation: of each value to the one before.
    """

    rows: Rows
    column: int
    when: int
    relation: Relation = ">"


Expression = Value | Aggregate
"""What a program works with: a cell, or one number of a column."""
Program = (
    Value
    | Count
    | Aggregate
    | Difference
    | Ratio
    | Change
    | GroupBy
    | Compare
    | Between
    | Quantifier
    | Trend
)


@dataclass(frozen=True, slots=True)
class Amount:
    """A number as a text states it.

    Attributes:
        value: its scale applied.
        unit: as stated.
        step: what its last digit counts: "45 million" 1e6, "3.20" 0.01; rounding within half of
            it is no error; 0 for a number that is exact.
        hedge: "about" allows a little more, "over" and "under" are bounds that are nearly reached.
    """

    value: float
    unit: Unit = PLAIN
    step: float = 0.0
    hedge: Hedge = ""


@dataclass(frozen=True, slots=True)
class Statement:
    """That a program's result is said to be something.

    Attributes:
        program: what is asked.
        stated: a number; a name, text or date; ``within`` and so on; or whether it is so.
    """

    program: Program
    stated: Amount | str | bool


def to_json(node: Any) -> Any:
    """A program or statement in a JSON-serialisable form that :func:`from_json` reads back."""
    if isinstance(node, Unit):
        return {"Unit": [str(node.scale), node.symbol, node.currency]}
    if is_dataclass(node):
        return {type(node).__name__: [to_json(getattr(node, f.name)) for f in fields(node)]}
    return [to_json(part) for part in node] if isinstance(node, tuple) else node


def from_json(data: Any) -> Any:
    """The inverse of :func:`to_json`.

    Raises:
        ValueError: not such a form.
    """
    if isinstance(data, list):
        return tuple(map(from_json, data))
    if not isinstance(data, dict):
        return data
    try:
        ((name, parts),) = data.items()
        if name == "Unit":
            return Unit(Decimal(parts[0]), *parts[1:])
        return _CLASSES[name](*map(from_json, parts))
    except (KeyError, TypeError, ArithmeticError) as error:
        raise ValueError(f"no program: {error}") from None


_CLASSES = {
    kind.__name__: kind
    for kind in (
        *(Condition, Rows, Rank, Amount, Statement),
        *(Value, Count, Aggregate, Difference, Ratio, Change, GroupBy),
        *(Compare, Between, Quantifier, Trend),
    )
}
