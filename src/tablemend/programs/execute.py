"""Running programs: the result, the cells that decided it, or why there is none."""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import lru_cache
from itertools import pairwise
from statistics import median
from typing import Any, NamedTuple, TypeVar, cast

from tablemend.programs.program import (
    Aggregate,
    AggregateOp,
    Amount,
    Between,
    Change,
    Compare,
    Condition,
    Count,
    Difference,
    Expression,
    GroupBy,
    Order,
    Program,
    Quantifier,
    QuantifierName,
    Rank,
    Ratio,
    Rows,
    Statement,
    Trend,
    Value,
)
from tablemend.programs.table import Cell, TypedTable, key_of
from tablemend.values.numbers import Number, find_quantities, in_one_unit
from tablemend.values.units import ONE, PLAIN, Unit, same_currency

T = TypeVar("T")
Place = tuple[int, int]
_ABOUT = 0.03
_NEAR = 0.1
"""How far "over" and "under" may be from the number: a tenth of it."""
COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
AGGREGATES: dict[AggregateOp, Callable[[Sequence[float]], float]] = {
    "sum": math.fsum,
    "mean": lambda values: math.fsum(values) / len(values),
    "median": median,
    "max": max,
    "min": min,
    "product": math.prod,  # of numbers without a unit: none is squared
}


@dataclass(frozen=True, slots=True)
class Result:
    """What came out.

    Attributes:
        value: a number, in what :attr:`unit` counts with its scale applied, and of a date its
            order; a truth; ``within`` and so on; ``None`` where it is a text, or undefined.
        key: the standard form of a text or date; empty for everything else.
        text: a cell as written where it is one cell's.
        unit, measure, decimals: as of a :class:`~tablemend.programs.table.Cell`.
        cells: row and column, in the table as written, of what decided it; -1 for a header. The
            cell that gives the answer first.
        undefined: why there is no result: no such row, a tie, a text where a number is needed.
    """

    value: float | bool | str | None = None
    key: str = ""
    text: str = ""
    unit: Unit = PLAIN
    measure: str = ""
    decimals: int = 0
    cells: tuple[Place, ...] = ()
    undefined: str = ""


class Check(NamedTuple):
    """Whether a statement holds; ``None`` where its program has no result."""

    holds: bool | None
    result: Result


class _Undefined(Exception):
    """No result; the message is the reason."""


def execute(program: Program, table: TypedTable) -> Result:
    """Run a program; whatever the table holds, this ends in a :class:`Result`."""
    try:
        result = _run(program, table)
    except _Undefined as error:
        return Result(undefined=str(error))
    if isinstance(result.value, float) and not math.isfinite(result.value):
        return Result(undefined="no finite number")
    return result


def check(statement: Statement, table: TypedTable) -> Check:
    """Whether what is stated is what comes out, as far as it was rounded."""
    result, stated = execute(statement.program, table), statement.stated
    if result.undefined:
        return Check(None, result)
    if isinstance(stated, Amount):
        return Check(isinstance(result.value, float) and agrees(stated, result), result)
    if isinstance(stated, str) and result.key:
        return Check(result.key == key_of(stated), result)
    return Check(result.value == stated, result)


def rows_of(rows: Rows, table: TypedTable) -> tuple[int, ...]:
    """The places of the rows that meet all conditions, top to bottom."""
    if not rows.conditions:
        return table.body
    met = [
        place
        for place in range(len(table.rows))
        if all(_meets(condition, place, table) for condition in rows.conditions)
    ]
    return tuple(place for place in met if not table.rows[place].total) or tuple(met)


def _meets(condition: Condition, row: int, table: TypedTable) -> bool:
    cell, relation, value = table.cells[row][condition.column], condition.relation, condition.value
    if relation == "=":
        return cell.key == value
    if relation == "!=":
        return cell.kind != "blank" and cell.key != value
    if relation == "has":
        return re.search(rf"(?<!\w){re.escape(str(value))}(?!\w)", cell.text, re.I) is not None
    kind, own = ("date", cell.key) if isinstance(value, str) else ("number", cell.value)
    return cell.kind == kind and COMPARE[relation](own, value)


def _ranked(rank: Rank, table: TypedTable) -> int:
    found = _numbers(rank.rows, rank.column, table)
    top = find_nth([(cell.value, row) for row, cell in found], rank.order, rank.n)
    if not top:
        raise _Undefined(f"there are only {len(found)} rows to rank")
    if len(top) > 1:
        raise _Undefined("a tie")
    return top[0]


def find_nth(values: Iterable[tuple[float, T]], order: Order, n: int) -> list[T]:
    """What has the n-th value in an order; those with the same value share a place."""
    ordered = sorted(values, key=lambda item: item[0], reverse=order == "max")
    wanted = [value for value, _ in ordered[n - 1 : n]] if n > 0 else []
    return [item for value, item in ordered if value in wanted]


def _numbers(rows: Rows, column: int, table: TypedTable) -> list[tuple[int, Cell]]:
    """The rows of a set with their numbers, or dates, of one unit in a column; at least one."""
    cells = [(row, table.cells[row][column]) for row in rows_of(rows, table)]
    found = [(row, cell) for row, cell in cells if cell.kind in ("number", "date")]
    texts = sum(cell.kind == "text" for _, cell in cells)
    if not found or texts > len(found):
        raise _Undefined("no numbers" if cells else "no such row")
    first = found[0][1]
    if not all(_alike(cell, first) for _, cell in found):
        raise _Undefined("numbers of several units")
    return found


def _alike(one: Cell | Result, other: Cell | Result) -> bool:
    """Whether two numbers, or two dates, count in the same."""
    return (
        one.measure == other.measure
        and one.unit.symbol == other.unit.symbol
        and same_currency(one.unit.currency, other.unit.currency)
    )


def _run(program: Program, table: TypedTable) -> Result:
    match program:
        case Value():
            return _value(program, table)
        case Count(rows):
            column = rows.conditions[-1].column if rows.conditions else table.key
            cells = tuple(table.cells[place][column].place for place in rows_of(rows, table))
            return Result(float(len(cells)), cells=cells)
        case Aggregate():
            return _aggregate(program, table)
        case Difference():
            one, other, like = _two(program.left, program.right, table)
            return replace(like, value=one - other)
        case Ratio():
            one, other, like = _two(program.left, program.right, table)
            return _share(one, other, program.percent, like.cells)
        case Change():
            before, after, like = _two(program.left, program.right, table)
            if program.percent:
                return _share(after - before, abs(before), True, like.cells)
            return replace(like, value=after - before)
        case Compare():
            one, other, like = _two(program.left, program.right, table)
            return Result(COMPARE[program.relation](one, other), cells=like.cells)
        case Between():
            left = _number(program.left, table)
            value, stated = cast(float, left.value), _value(program.limits, table)
            low, high = read_range(stated.text)
            if low is None and high is None:
                raise _Undefined("no limits")
            return Result(locate(value, low, high), cells=(*left.cells, *stated.cells))
        case GroupBy():
            return _group_by(program, table)
        case Quantifier():
            return _quantifier(program, table)
        case Trend():
            return _trend(program, table)


def locate(value: float, low: float | None, high: float | None) -> str:
    """Where a number lies: ``within``, ``above`` or ``below`` limits that belong to it."""
    where = "below" if low is not None and value < low else "within"
    return "above" if high is not None and value > high else where


def _value(program: Value, table: TypedTable) -> Result:
    rank = program.rows if isinstance(program.rows, Rank) else None
    rows = (_ranked(rank, table),) if rank else rows_of(cast(Rows, program.rows), table)
    cells = [table.cells[row][program.column] for row in rows]
    if not cells:
        raise _Undefined("no such row")
    cell = cells[0]
    if cell.kind == "blank":
        raise _Undefined("the cell is empty")
    if any(other.key != cell.key or other.value != cell.value for other in cells[1:]):
        raise _Undefined(f"{len(cells)} rows with different values")
    decided = tuple(other.place for other in cells)
    if rank:
        own = table.cells[rows[0]][rank.column]
        others = (other.place for _, other in _numbers(rank.rows, rank.column, table))
        decided = tuple(dict.fromkeys((*decided, own.place, *others)))
    key = "" if cell.kind == "number" else cell.key
    value = None if cell.kind == "text" else cell.value
    return Result(value, key, cell.text, cell.unit, cell.measure, cell.decimals, decided)


def _aggregate(program: Aggregate, table: TypedTable) -> Result:
    cells = [cell for _, cell in _numbers(program.rows, program.column, table)]
    if cells[0].kind == "date" and program.op not in ("max", "min"):
        raise _Undefined("dates do not add up")
    value = AGGREGATES[program.op]([cell.value for cell in cells])
    places = tuple(cell.place for cell in cells)
    key = text = ""
    if program.op in ("max", "min"):
        best = next(cell for cell in cells if cell.value == value)
        key, text = (best.key if best.kind == "date" else ""), best.text
        places = tuple(dict.fromkeys((best.place, *places)))
    decimals = max(cell.decimals for cell in cells)
    return Result(value, key, text, cells[0].unit, cells[0].measure, decimals, places)


def _number(expression: Expression, table: TypedTable) -> Result:
    """The result of a part, which has to be a number or a date."""
    result = _run(expression, table)
    if result.value is None:
        raise _Undefined("a text where a number is needed")
    return result


def _two(left: Expression, right: Expression, table: TypedTable) -> tuple[float, float, Result]:
    """Both numbers, and their unit and cells; numbers of two units have none."""
    one, other = _number(left, table), _number(right, table)
    one_column = {column for _, column in one.cells} == {column for _, column in other.cells}
    # a filing has the currency's sign in the first row alone
    in_same = bool(one.unit.currency) == bool(other.unit.currency) or one_column
    if not _alike(one, other) or not in_same:
        raise _Undefined("numbers of several units")
    cells = tuple(dict.fromkeys((*one.cells, *other.cells)))
    scaled = one if one.unit.scale != ONE else other
    decimals = max(one.decimals, other.decimals)
    like = Result(None, "", "", scaled.unit, scaled.measure, decimals, cells)
    return cast(float, one.value), cast(float, other.value), like


def _share(one: float, other: float, percent: bool, cells: tuple[Place, ...]) -> Result:
    if not other:
        raise _Undefined("a division by zero")
    factor, unit = (100, Unit(symbol="%")) if percent else (1, PLAIN)
    return Result(factor * one / other, unit=unit, decimals=1, cells=cells)


def _group_by(program: GroupBy, table: TypedTable) -> Result:
    groups: dict[str, tuple[Cell, list[int]]] = {}
    for place in rows_of(program.rows, table):
        cell = table.cells[place][program.by]
        if cell.kind != "blank":
            groups.setdefault(cell.key, (cell, []))[1].append(place)
    found: list[tuple[float, tuple[Cell, tuple[Place, ...]]]] = []
    for key, (cell, places) in groups.items():
        own = Rows((*program.rows.conditions, Condition(program.by, "=", key)))
        if program.op == "count":
            found.append((float(len(places)), (cell, (cell.place,))))
            continue
        result = _aggregate(Aggregate(program.op, own, program.column), table)
        found.append((cast(float, result.value), (cell, result.cells)))
    top = find_nth(found, program.order, program.n)
    if len(found) < 2 or not top:
        raise _Undefined(f"there are only {len(found)} groups")
    if len(top) > 1:
        raise _Undefined("a tie")
    cell, cells = top[0]
    return Result(None, cell.key, cell.text, cells=cells)


def _quantifier(program: Quantifier, table: TypedTable) -> Result:
    condition, rows = program.condition, rows_of(program.rows, table)
    if not rows:
        raise _Undefined("no such row")
    counted, column = table.body if program.quantifier == "only" else rows, condition.column
    filled = [row for row in counted if table.cells[row][column].kind != "blank"]
    met = [place for place in filled if _meets(condition, place, table)]
    if not filled:
        raise _Undefined("the cells are empty")
    if program.quantifier == "only":
        decided = set(met) == set(rows)
    else:
        decided = quantify(program.quantifier, len(met), len(filled))
    return Result(decided, cells=tuple(table.cells[row][column].place for row in filled))


def quantify(quantifier: QuantifierName, met: int, size: int) -> bool:
    """Whether so many of some rows are all, none, most, few or half of them."""
    decided = {"all": met == size, "none": not met, "half": 2 * met == size}
    return (decided | {"most": 2 * met > size, "few": 2 * met < size})[quantifier]


def _trend(program: Trend, table: TypedTable) -> Result:
    found = _numbers(program.rows, program.column, table)
    found.sort(key=lambda item: table.cells[item[0]][program.when].value)
    if len(found) < 2:
        raise _Undefined("no two periods")
    relation = COMPARE[program.relation]
    values = [cell.value for _, cell in found]
    holds = all(relation(after, before) for before, after in pairwise(values))
    return Result(holds, cells=tuple(cell.place for _, cell in found))


_END = r"([-+\u2212]?\d[\d,]*(?:\.\d+)?)"
_RANGE = re.compile(rf"\s*{_END}\s*(?:-|\u2013|\bto\b)\s*{_END}\s*\Z")


@lru_cache(maxsize=1 << 12)
def read_range(text: str) -> tuple[float | None, float | None]:
    """The lower and upper end of a range: ``3.5-5.1``, or ``<=200`` with one end; none else."""
    if both := _RANGE.match(text):
        low, high = (float(end.replace(",", "").replace("\u2212", "-")) for end in both.groups())
        return low, high
    text = text.replace("\u2013", "-").replace(" to ", "-")
    found = find_quantities(text.replace("-", " - ").replace("=", "= "))
    values = [float(stated.number.value) for stated in found]
    if len(values) == 2 and "-" in text:
        return values[0], values[1]
    if len(values) == 1 and text[:1] in "<\u2264":
        return None, values[0]
    return (values[0], None) if len(values) == 1 and text[:1] in ">\u2265" else (None, None)


def agrees(stated: Amount, result: Result) -> bool:
    """Whether a number is stated as it is, up to its rounding; a unit left out can be any."""
    value = cast(float, result.value)
    sizes = [value]
    if any(stated.unit[1:3]) and any(result.unit[1:3]):
        said, own = (
            Number(Decimal(repr(float(one.value or 0))), one.unit._replace(scale=ONE))
            for one in (stated, result)
        )
        sides = in_one_unit(own, said)
        if sides.difference:
            return False
        left, right = sides.pairs[0]
        sizes = [stated.value + float((left - right) / sides.factor)]
    if stated.unit.scale == ONE != result.unit.scale:
        sizes.append(value / float(result.unit.scale))  # "45.3" of a column in millions
    return any(_is_near(stated, size) for size in sizes)


def _is_near(stated: Amount, value: float) -> bool:
    room = stated.step / 2 + 1e-9 * max(abs(value), abs(stated.value))
    apart = value - stated.value
    match stated.hedge:
        case "about":
            return abs(apart) <= max(room, _ABOUT * abs(stated.value))
        case "over":
            return 0 < apart <= max(stated.step, _NEAR * abs(stated.value))
        case "under":
            return 0 < -apart <= max(stated.step, _NEAR * abs(stated.value))
    return abs(apart) <= room
