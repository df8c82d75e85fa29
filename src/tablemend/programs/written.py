"""Table programs as text, both ways: ``value("Points", row["Team"] == "Alba") > 40``.

The text is a Python expression of calls, conditions and literals. It is read with :mod:`ast` and
never evaluated: what is no program of :mod:`tablemend.programs.program` over this table is refused
in one line that says what to write instead, so that it can be given back to a model.
"""

from __future__ import annotations

import ast
import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from decimal import Decimal
from statistics import median
from typing import Any, Literal, NamedTuple, cast, get_args

from tablemend.config.section import closest
from tablemend.programs.execute import execute
from tablemend.programs.program import (
    Aggregate,
    Between,
    Change,
    Compare,
    Condition,
    Count,
    Difference,
    GroupBy,
    Program,
    Quantifier,
    QuantifierName,
    Rank,
    Ratio,
    Relation,
    Rows,
    Statement,
    Trend,
    Value,
)
from tablemend.programs.table import Cell, TypedTable, key_of
from tablemend.values.cells import read_value
from tablemend.values.numbers import plain_digits
from tablemend.values.units import ONE

LONGEST = 1_500
"""Characters of a program."""
MOST_STEPS = 5_000_000
"""Cells that one text may have looked at, at the worst."""


class BadProgram(ValueError):
    """A text that is no program over this table; the message is one line for whoever wrote it."""


class UnknownName(BadProgram):
    """A column or row that the table does not have."""


class Call(NamedTuple):
    """A program over the table, or over the table turned; of ``abs(...)`` the size alone counts."""

    program: Program
    turned: bool = False
    size: bool = False


class Constant(NamedTuple):
    """A literal: the number or the words, and the same as written, with a number's last zeros."""

    value: float | str
    text: str


class Test(NamedTuple):
    """Whether what comes out is so to a literal, or to what else comes out."""

    left: Call
    relation: Relation | Literal["==", "!="]
    right: Call | Constant


class Junction(NamedTuple):
    """That all parts are so, or one of them; or that the one part is not."""

    op: Literal["and", "or", "not"]
    parts: tuple[Written, ...]


Written = Call | Test | Junction
_ALL = Rows()

# ---- names


def column_names(table: TypedTable) -> list[str]:
    """What programs call the columns: their headers, numbered where two are the same."""
    found: list[str] = []
    for place, column in enumerate(table.columns):
        name = " ".join(column.header.split()) or f"column {place + 1}"
        found.append(f"{name} ({place + 1})" if name in found else name)
    return found


def name_key(name: str) -> str:
    """A name in small letters, without marks: two that are written alike are one."""
    return re.sub(r"[\W_]+", " ", name.casefold()).strip()


def _find_column(name: str, table: TypedTable) -> int:
    """A column by its name, else by its header's innermost level or without its unit, if it alone
    is called so.
    """
    names = column_names(table)
    if name in names:
        return names.index(name)
    bare = [re.sub(r"[(\[].*?[)\]]", "", one) for one in names]
    for known in (names, [column.name for column in table.columns], bare):
        keys = [name_key(one) for one in known]
        if name_key(name) and keys.count(name_key(name)) == 1:
            return keys.index(name_key(name))
    raise UnknownName(_unknown("column", name, names))


def _unknown(what: str, name: str, names: Sequence[str]) -> str:
    folded = {one.casefold(): one for one in names}
    if close := closest(name.casefold(), folded):
        return f"no {what} {name!r}; did you mean {folded[close]!r}?"
    some = ", ".join(map(repr, names[:12])) + (", ..." if len(names) > 12 else "")
    return f"no {what} {name!r}; there are {some}"


# ---- reading

_RELATIONS: dict[type[ast.cmpop], Any] = {
    **{ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!="},
}
_FLIPPED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}
_SAME = {"average": "mean", "avg": "mean", "total": "sum", "every": "all"}
_WRAPPERS = ("abs", "round", "int", "float", "str", "bool")
_TRENDS: dict[str, Any] = {**{"rises": ">", "falls": "<", "never_falls": ">=", "never_rises": "<="}}
_OPS = ("sum", "mean", "median", "max", "min", "product")
_OF_TWO = ("percent", "change", "percent_change", "where_in_range")
FORMS = {
    "value": 'value("Points", row["Team"] == "Alba")',
    **{f"arg{end}": f'arg{end}("Team", "Points")' for end in ("max", "min")},
    "count": 'count(row["Points"] > 40)',
    **{op: f'{op}("Points", row["City"] == "Rome")' for op in _OPS},
    **{name: f"{name}(value(...), value(...))" for name in _OF_TWO},
    **{f"group_arg{end}": f'group_arg{end}("City", sum("Points"))' for end in ("max", "min")},
    **{name: f'{name}(row["Points"] > 10)' for name in get_args(QuantifierName)},
    **{name: f'{name}("Points", "Year")' for name in _TRENDS},
}
"""Every call, as it is written."""


def parse(text: str, table: TypedTable) -> Written:
    """Read a program.

    Args:
        text: one expression; code marks around it and a ``return`` are left out.
        table: as written; names that only its turned form has are looked for there.

    Raises:
        BadProgram: what is wrong, in one line.
    """
    text = re.sub(r"^(?:return |assert |result = )", "", text.strip().strip("`").strip())
    if len(text) > LONGEST:
        raise BadProgram(f"the program has {len(text)} characters; {LONGEST} are read")
    try:
        return _Parser(text, table).written(ast.parse(text, mode="eval").body)
    except BadProgram:
        raise
    except SyntaxError as error:
        raise BadProgram(f"no Python expression: {error.msg}") from None
    except (ArithmeticError, MemoryError, RecursionError, ValueError):
        raise BadProgram("the program is nested too deeply, or has numbers too large") from None


class _Parser:
    """One text over one table."""

    def __init__(self, text: str, table: TypedTable) -> None:
        self.text, self.table, self.steps = text, table, 0

    def written(self, node: ast.expr) -> Written:
        """What is so or not, or what comes out."""
        match node:
            case ast.BoolOp(op=op, values=parts):
                name: Literal["and", "or"] = "and" if isinstance(op, ast.And) else "or"
                return Junction(name, tuple(map(self.written, parts)))
            case ast.BinOp(left=left, op=ast.BitAnd() | ast.BitOr() as op, right=right):
                name = "and" if isinstance(op, ast.BitAnd) else "or"
                return Junction(name, (self.written(left), self.written(right)))
            case ast.UnaryOp(op=ast.Not() | ast.Invert(), operand=part):
                return Junction("not", (self.written(part),))
            case ast.Call(func=ast.Name(id="any"), args=args):
                return Test(
                    self._call(ast.Call(ast.Name("count"), args, [])), ">=", Constant(1.0, "1")
                )
            case ast.Compare(left=left, ops=ops, comparators=rest):
                sides = zip([left, *rest], ops, rest, strict=False)
                tests = tuple(self._test(*one) for one in sides)
                return tests[0] if len(tests) == 1 else Junction("and", tests)
        return self._call(node)

    def _test(self, left: ast.expr, op: ast.cmpop, right: ast.expr) -> Written:
        relation = _RELATIONS.get(type(op))
        if relation is None:
            raise BadProgram('"in" stands inside calls alone, as count("w" in row["Result"])')
        if self._literal(left) is not None:
            left, right, relation = right, left, _FLIPPED.get(relation, relation)
        one, said = self._call(left), self._literal(right)
        if isinstance(said, bool):
            return one if said is (relation == "==") else Junction("not", (one,))
        if said is not None:
            return Test(one, relation, said)
        other, numbers = self._call(right), (Value, Aggregate)
        left_, right_ = one.program, other.program
        plain = relation in _FLIPPED and one.turned == other.turned
        if plain and isinstance(left_, numbers) and isinstance(right_, numbers):
            return Call(Compare(left_, relation, right_), one.turned)
        return Test(one, relation, other)

    def _literal(self, node: ast.expr | None) -> Constant | bool | None:
        match node:
            case ast.Constant(value=bool() as truth):
                return truth
            case ast.Constant(value=str() as words):
                return Constant(words, words)
            case ast.Constant(value=int() | float() as number) if math.isfinite(float(number)):
                text = ast.get_source_segment(self.text, node) or ""
                is_plain = re.fullmatch(r"\d+(\.\d+)?", text)
                return Constant(
                    float(number), text if is_plain else plain_digits(Decimal(repr(number)))
                )
            case ast.UnaryOp(op=ast.USub(), operand=inner):
                found = self._literal(inner)
                if isinstance(found, Constant) and isinstance(found.value, float):
                    return Constant(-found.value, f"-{found.text}")
        return None

    # Calls

    def _call(self, node: ast.expr) -> Call:
        """A call over the table as written; else, by its names, over the table turned."""
        match node:
            case ast.Call(func=ast.Name(id="turned"), args=[inner], keywords=[]):
                return Call(self._program(inner, self.table.turned), True)
            case ast.Call(func=ast.Name(id=name), args=[inner, *_]) if name in _WRAPPERS:
                found = self._call(inner)
                return found._replace(size=True) if name == "abs" else found
        try:
            return Call(self._program(node, self.table))
        except UnknownName:
            with suppress(BadProgram):
                return Call(self._program(node, self.table.turned), True)
            raise

    def _program(self, node: ast.expr, view: TypedTable) -> Program:
        match node:
            case (
                ast.BinOp(left=ast.Constant(value=100), op=ast.Mult(), right=inner)
                | ast.BinOp(left=inner, op=ast.Mult(), right=ast.Constant(value=100))
            ):
                if isinstance(found := self._program(inner, view), Ratio):
                    return replace(found, percent=True)
            case ast.BinOp(
                left=ast.BinOp(left=ast.Constant(value=100), op=ast.Mult(), right=left),
                op=ast.Div(),
                right=right,
            ):
                return Ratio(self._number(left, view), self._number(right, view), percent=True)
            case ast.BinOp(left=left, op=ast.Sub() | ast.Div() as op, right=right):
                kind = Difference if isinstance(op, ast.Sub) else Ratio
                return kind(self._number(left, view), self._number(right, view))
            case ast.Compare(left=left, ops=[op], comparators=[right]):
                if (relation := _RELATIONS.get(type(op))) in _FLIPPED:
                    return Compare(self._number(left, view), relation, self._number(right, view))
            case ast.Call(func=ast.Name(id=name), args=args, keywords=keywords):
                name = _SAME.get(name, name)
                if name not in FORMS:
                    raise BadProgram(_unknown("call", name, [*FORMS]))
                options = {one.arg: one.value for one in keywords if one.arg}
                program = self._named(name, args, options, view)
                grouped = isinstance(program, GroupBy) and {r[program.by].key for r in view.cells}
                self.steps += len(view.rows) * (len(grouped or "") + len(args) + 1)
                if self.steps > MOST_STEPS:
                    raise BadProgram(f"it looks at more than {MOST_STEPS:,} cells")
                return program
        shown = (ast.get_source_segment(self.text, node) or "")[:60]
        raise BadProgram(f"{shown!r} is no call; there are {', '.join(FORMS)}")

    def _number(self, node: ast.expr, view: TypedTable) -> Value | Aggregate:
        found = self._program(node, view)
        if not isinstance(found, Value | Aggregate):
            raise BadProgram("-, / and changes take value(...), argmax(...), sum(...) and the like")
        return found

    def _named(
        self, name: str, args: list[ast.expr], options: dict[str, ast.expr], view: TypedTable
    ) -> Program:
        place = self._literal(options.pop("n", None))
        n = (
            int(place.value)
            if isinstance(place, Constant) and isinstance(place.value, float)
            else 1
        )
        if "by" in options:
            args = [*args[:1], options.pop("by"), *args[1:]]
        two = name in (*_OF_TWO, *_TRENDS) or "arg" in name
        fixed = 2 if two else int(name != "count")
        if len(args) < fixed:
            raise BadProgram(f"{name}(...) lacks an argument: {FORMS[name]}")
        rows, order = self._rows(args[fixed:], options, view), cast(Any, name[-3:])
        if name == "count":
            return Count(rows)
        if name in get_args(QuantifierName):
            met = list(self._conditions(args[0], view))
            if len(met) != 1:
                raise BadProgram(f"{name}(...) takes one condition, then those that pick the rows")
            return Quantifier(cast(Any, name), rows, met[0])
        if name in _OF_TWO:
            left, right = self._number(args[0], view), self._number(args[1], view)
            if name == "where_in_range":
                return Between(cast(Value, left), cast(Value, right))
            kind = Ratio if name == "percent" else Change
            return kind(left, right, percent=name != "change")
        column = self._column(args[0], view)
        if name == "value":
            return Value(rows, column)
        if name in _OPS:
            return Aggregate(cast(Any, name), rows, column)
        if name.startswith("group"):
            of = self._program(args[1], view)
            if not isinstance(of, Count | Aggregate):
                raise BadProgram(f"{name}(...) takes count(), sum(...), mean(...): {FORMS[name]}")
            rows = Rows((*of.rows.conditions, *rows.conditions))
            if isinstance(of, Count):
                return GroupBy(column, "count", column, order, n, rows)
            return GroupBy(column, cast(Any, of.op), of.column, order, n, rows)
        other = self._column(args[1], view)
        if name in _TRENDS:
            return Trend(rows, column, other, _TRENDS[name])
        return Value(Rank(rows, other, order, n), column)

    # Arguments

    def _column(self, node: ast.expr, view: TypedTable) -> int:
        match node:
            case (
                ast.Constant(value=str() | int() as name)
                | ast.Subscript(slice=ast.Constant(value=str() | int() as name))
            ):
                return _find_column(str(name), view)
        raise BadProgram('a column is its name in quotes, as value("Points", ...)')

    def _rows(
        self, nodes: Sequence[ast.expr], options: Mapping[str, ast.expr], view: TypedTable
    ) -> Rows:
        """Rows by conditions; ``where=`` and ``Team="Alba"`` are some too."""
        found = [one for node in nodes for one in self._conditions(node, view)]
        for name, node in options.items():
            if name in ("where", "of"):
                found += self._conditions(node, view)
            else:
                found.append(self._condition(_find_column(name, view), "=", node, view))
        return Rows(tuple(found))

    def _conditions(self, node: ast.expr, view: TypedTable) -> Iterator[Condition]:
        """``row["Points"] > 40``, several joined by ``and``, or the name of a row."""
        match node:
            case (
                ast.BoolOp(op=ast.And(), values=parts)
                | ast.List(elts=parts)
                | ast.Tuple(elts=parts)
            ):
                for part in parts:
                    yield from self._conditions(part, view)
            case ast.BinOp(left=left, op=ast.BitAnd(), right=right):
                yield from self._conditions(left, view)
                yield from self._conditions(right, view)
            case ast.Compare(left=said, ops=[ast.In()], comparators=[ast.Subscript() as own]):
                yield self._condition(self._column(own, view), "has", said, view)
            case ast.Compare(left=left, ops=ops, comparators=rest):
                for one, op, other in zip([left, *rest], ops, rest, strict=False):
                    relation = _RELATIONS.get(type(op))
                    if not isinstance(one, ast.Subscript):
                        one, other = other, one
                        relation = _FLIPPED.get(str(relation), relation)
                    if relation is None:
                        raise BadProgram("a condition has ==, !=, <, <=, >, >=")
                    sign = "=" if relation == "==" else relation
                    yield self._condition(self._column(one, view), sign, other, view)
            case ast.Constant(value=str() | int() as name):
                yield self._named_row(str(name), view)
            case ast.BoolOp() | ast.BinOp(op=ast.BitOr()):
                raise BadProgram('no "or" in a condition: write two calls joined by "or"')
            case _:
                raise BadProgram('a condition is row["Team"] == "Alba" or row["Points"] > 40')

    def _named_row(self, name: str, view: TypedTable) -> Condition:
        """A row by its name: in the column of names, else in the first that has it."""
        for column in (view.key, *range(len(view.columns))):
            if any(cell.key == key_of(name) for cell in _cells(view, column)):
                return Condition(column, "=", key_of(name))
        raise UnknownName(_unknown("row", name, _texts(view, view.key)))

    def _condition(self, column: int, relation: Any, node: ast.expr, view: TypedTable) -> Condition:
        said, cells = self._literal(node), _cells(view, column)
        if said is None:  # what another program yields: row["Points"] > mean("Points")
            result = execute(self._program(node, view), view)
            if result.undefined or isinstance(result.value, bool):
                raise BadProgram(f"what a cell is compared with is open: {result.undefined}")
            if isinstance(result.value, float) and not result.key and relation not in ("=", "!="):
                return Condition(column, relation, result.value)
            said = Constant(result.text or str(result.value), result.text or str(result.value))
        elif isinstance(said, bool):
            said = Constant(str(said), str(said))
        if relation == "has":
            return Condition(column, "has", said.text)
        if relation in ("=", "!="):
            return Condition(column, relation, self._key(column, said, view))
        if any(cell.kind == "date" for cell in cells):
            return Condition(column, relation, key_of(said.text))
        if isinstance(said.value, float):
            return Condition(column, relation, _scaled(Decimal(said.text), column, view))
        number = read_value(said.value).number
        if number is None:
            name = column_names(view)[column]
            raise BadProgram(f"{said.text!r} is no number to compare the cells of {name!r} with")
        return Condition(column, relation, float(number.value))

    def _key(self, column: int, said: Constant, view: TypedTable) -> str:
        """The standard form of the cells that a literal names."""
        cells, wanted = _cells(view, column), key_of(said.text)
        if any(cell.key == wanted for cell in cells):
            return wanted
        sizes = [said.value]
        if isinstance(said.value, float):
            sizes.append(said.value * float(_scale(column, view)))
        for cell in cells:
            if (cell.kind == "number" and cell.value in sizes) or (
                cell.kind == "text" and name_key(cell.text) == name_key(said.text)
            ):
                return cell.key
        if isinstance(said.value, str) and any(cell.kind == "text" for cell in cells):
            what = f"cell of {column_names(view)[column]!r} that is"
            raise UnknownName(_unknown(what, said.text, _texts(view, column)))
        return wanted


def _cells(view: TypedTable, column: int) -> list[Cell]:
    return [row[column] for row in view.cells]


def _texts(view: TypedTable, column: int) -> list[str]:
    return list(dict.fromkeys(cell.text for cell in _cells(view, column) if cell.text))


def _scale(column: int, view: TypedTable) -> Decimal:
    """The scale that all numbers of a column have; 1 where they differ."""
    scales = {cell.unit.scale for cell in _cells(view, column) if cell.kind == "number"}
    return scales.pop() if len(scales) == 1 else ONE


def _scaled(said: Decimal, column: int, view: TypedTable) -> float:
    """A number of a condition in what the column's cells count: 45 of a column in millions.

    Who writes all of its zeros means them: of the two, what is nearer to the cells.
    """
    scale = _scale(column, view)
    values = [abs(cell.value) for cell in _cells(view, column) if cell.kind == "number"]
    sizes = float(said * scale), float(said)
    middle = median(values) if values else 0.0
    if not said or not middle:
        return sizes[0]
    return min(sizes, key=lambda size: abs(math.log(abs(size) / middle)))


# ---- writing


def write(node: Program | Statement, view: TypedTable) -> str:
    """A program, or what a statement says, as text that :func:`parse` reads back.

    Args:
        node: over ``view``.
        view: a table, or a table turned: then all is ``turned(...)``.
    """
    program = node.program if isinstance(node, Statement) else node
    text = _write(program, view, column_names(view))
    text = f"turned({text})" if view.is_turned else text
    stated = node.stated if isinstance(node, Statement) else True
    if isinstance(stated, bool):
        return text if stated else f"not {text}"
    if isinstance(stated, str):
        return f"{text} == {_quoted(stated)}"
    scale = execute(program, view).unit.scale
    step = stated.step / float(scale)
    number = round(Decimal(repr(stated.value)) / scale, max(0, -round(math.log10(step or 1e-9))))
    sign = {"over": ">", "under": "<"}.get(stated.hedge, "==")
    return f"{text} {sign} {format(number if step else number.normalize(), 'f')}"


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _write(program: Program, view: TypedTable, names: Sequence[str]) -> str:
    def call(name: str, *args: str | int, rows: Rows = _ALL, n: int = 1) -> str:
        parts = [_quoted(names[arg]) if isinstance(arg, int) else arg for arg in args]
        parts += [condition(one) for one in rows.conditions]
        return f"{name}({', '.join([*parts, f'n={n}'] if n > 1 else parts)})"

    def condition(one: Condition) -> str:
        column, value = one.column, one.value
        own = f"row[{_quoted(names[column])}]"
        if isinstance(value, str):
            if one.relation == "has":
                return f"{_quoted(value)} in {own}"
            cells = (cell.text for cell in _cells(view, column) if cell.key == value)
            sign = "==" if one.relation == "=" else one.relation
            return f"{own} {sign} {_quoted(next(cells, value))}"
        exact = Decimal(repr(value))
        shown = exact / _scale(column, view)
        shown = shown if _scaled(shown, column, view) == value else exact
        return f"{own} {one.relation} {format(shown.normalize(), 'f')}"

    def inner(part: Program) -> str:
        return _write(part, view, names)

    match program:
        case Value(rank, column):
            if isinstance(rank, Rows):
                return call("value", column, rows=rank)
            return call(f"arg{rank.order}", column, rank.column, rows=rank.rows, n=rank.n)
        case Count(rows):
            return call("count", rows=rows)
        case Aggregate(op, rows, column):
            return call(op, column, rows=rows)
        case Difference(left, right):
            return f"{inner(left)} - {inner(right)}"
        case Ratio(left, right, percent):
            sides = inner(left), inner(right)
            return call("percent", *sides) if percent else " / ".join(sides)
        case Change(left, right, percent):
            return call("percent_change" if percent else "change", inner(left), inner(right))
        case Compare(left, relation, right):
            return f"{inner(left)} {relation} {inner(right)}"
        case Between(left, limits):
            return call("where_in_range", inner(left), inner(limits))
        case GroupBy(by, op, column, order, n, rows):
            of: Program = Count(rows) if op == "count" else Aggregate(op, rows, column)
            return call(f"group_arg{order}", by, inner(of), n=n)
        case Quantifier(quantifier, rows, met):
            return call(quantifier, condition(met), rows=rows)
        case Trend(rows, column, when, relation):
            name = next(name for name, own in _TRENDS.items() if own == relation)
            return call(name, column, when, rows=rows)
