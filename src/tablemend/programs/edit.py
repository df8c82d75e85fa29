"""Edits of one slot of a statement that make it false, and the words for them."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from random import Random
from typing import Any, cast

from tablemend.programs.execute import check, execute
from tablemend.programs.nouns import (
    HEDGES,
    exact,
    is_plural_label,
    spell,
    spell_count,
    with_article,
)
from tablemend.programs.program import (
    Aggregate,
    Amount,
    Between,
    Change,
    Compare,
    Condition,
    Count,
    Difference,
    GroupBy,
    Order,
    Program,
    Quantifier,
    Rank,
    Ratio,
    Role,
    Rows,
    Statement,
    Trend,
    Value,
)
from tablemend.programs.say import short_names
from tablemend.programs.speaker import ORDINALS, PAIRS, QUANTIFIERS, QUOTES, TableDescriber
from tablemend.programs.table import TypedTable
from tablemend.records import ClaimError
from tablemend.values.dates import Period, read_period, spell_like

Meaning = Condition | int | Amount | str
"""What a slot holds: which row or period, which column, what is stated, which way."""

RANGE = (0.07, 1.10)
"""By how much a wrong number is off at least; by how much the larger exceeds the other at most."""
_POINTS = 0.5
"""A percentage that is worked out may be off by so many points (TabFaith, 4.1)."""
_FACTORS = (0.4, 0.55, 0.7, 0.8, 0.88, 0.93, 1.07, 1.12, 1.2, 1.35, 1.6, 2.1)
_MOST = 40
"""Rows or columns that are tried in place of one."""
_WAY = {Compare: "relation", Trend: "relation", GroupBy: "order", Quantifier: "quantifier"}
"""The field of a program that says which way it goes, or of how many rows."""
_CONTRARY: dict[Any, str] = {
    one: other
    for pair in ("< >", "<= >=", "max min", "all none", "most few", "- +")
    for one, other in (pair.split(), pair.split()[::-1])
}
_COMPARISONS = (Compare, Difference, Quantifier, Between, Trend, GroupBy)


@dataclass(frozen=True, slots=True)
class Edit:
    """One slot exchanged.

    Attributes:
        role: the slot.
        type: the error that it is.
        old, new: what the slot held and holds.
        statement: the whole as it is then.
    """

    role: Role
    type: ClaimError
    old: Meaning
    new: Meaning
    statement: Statement


def edits(
    statement: Statement, table: TypedTable, random: Random, type: ClaimError | None = None
) -> Iterator[Edit]:
    """One-slot edits that make a true statement plainly false, in random order by slot.

    A wrong number is one of another cell (REL) or one of no cell (NUM), and off by at least 7 %.
    """
    found = list(meanings(statement, table).items())
    for role, old in random.sample(found, len(found)):
        candidates = list(_CANDIDATES[role](statement, table, old)) if role in _CANDIDATES else []
        counts = Counter(candidates)
        least = random.random() * counts[old]  # what is rare in the table is as rare in errors
        for new in random.sample(candidates, min(len(candidates), _MOST)):
            if new == old or counts[new] < least:
                continue
            edited = exchange(statement, role, old, new)
            edit = Edit(role, _type(statement, table, role, new), old, new, edited)
            if type in (None, edit.type) and check(edit.statement, table).holds is False:
                yield edit


def meanings(statement: Statement, table: TypedTable) -> dict[Role, Meaning]:
    """What each slot of a statement holds."""
    program, stated = statement.program, statement.stated
    found: dict[Role, Meaning] = {}
    names: list[Condition] = []
    periods: list[Meaning] = []
    for condition in dict.fromkeys(_all(program, Condition)):
        if not isinstance(condition.value, str):
            found["threshold"] = condition
        elif table.columns[condition.column].kind != "date":
            names.append(condition)
        else:
            periods.append(condition)
    measured = [c for c in dict.fromkeys(_columns(program)) if c not in table.period_headers]
    periods += [c for c in dict.fromkeys(_columns(program)) if c in table.period_headers]
    first: Role = "category" if isinstance(program, Count) else "entity"
    roles: Sequence[tuple[tuple[Role, Role], Sequence[Meaning]]] = (
        ((first, "other"), names),
        (("period", "until"), periods),
        (("column", "against"), measured),
    )
    for pair, held in roles:
        found |= dict(zip(pair, held, strict=False))
    # which way it goes: the highest, more than, rose; all or none
    if way := _WAY.get(type(program)):
        role: Role = "quantifier" if isinstance(program, Quantifier) else "cue"
        found[role] = cast(str, getattr(program, way))
    elif isinstance(program, Value) and isinstance(program.rows, Rank):
        found["cue"] = f"{program.rows.order} {program.rows.n}"
    elif isinstance(program, Difference | Change) and isinstance(stated, Amount):
        found["cue"] = "-" if stated.value < 0 else "+"
    # what is stated: a value, or the row that comes first
    if isinstance(stated, bool):
        return found
    if isinstance(program, Between):
        found["cue"] = stated
    elif isinstance(program, GroupBy):
        found["category"] = stated
    elif isinstance(program, Value) and _is_rank(program):
        found["period" if table.columns[program.column].kind == "date" else "entity"] = stated
    else:
        found["value"] = stated
    return found


def _all(node: Any, kind: type) -> Iterator[Any]:
    """The parts of a program that are of a kind, in order."""
    if isinstance(node, kind):
        yield node
    elif isinstance(node, tuple):
        for part in node:
            yield from _all(part, kind)
    elif is_dataclass(node):
        for field in fields(node):
            yield from _all(getattr(node, field.name), kind)


def _columns(program: Program) -> Iterator[int]:
    """The columns whose cells are worked with, but for those that only pick rows."""
    if isinstance(program, Value) and isinstance(program.rows, Rank):
        yield program.rows.column
    elif isinstance(program, Value | Aggregate | Trend | GroupBy):
        yield program.column
    elif isinstance(program, Quantifier):
        yield program.condition.column
    elif isinstance(program, Count):
        yield from (condition.column for condition in _all(program, Condition))
    elif isinstance(program, Between):
        yield from _columns(program.left)
    else:
        yield from _columns(program.left)
        yield from _columns(program.right)


def _type(statement: Statement, table: TypedTable, role: Role, new: Meaning) -> ClaimError:
    """The sort of error that a wrong slot is (TabFaith, 3.1)."""
    program = statement.program
    dated = isinstance(program, Compare | Value) and any(
        table.columns[column].kind == "date" for column in _columns(program)
    )
    if role in ("period", "until") or (dated and role in ("cue", "value")):
        return "TMP"
    if role in ("cue", "quantifier"):
        return "CMP"
    if role == "value" and isinstance(new, Amount):
        beside = _beside(statement, table) if isinstance(program, Value) else ()
        return "REL" if any(math.isclose(new.value, other.value) for other in beside) else "NUM"
    if isinstance(program, _COMPARISONS) or _is_rank(program):
        return "CMP"
    if role == "column" and isinstance(program, Value):
        return "ATT" if table.is_turned else "REL"
    return "ATT" if isinstance(program, Value) else "REL"


def _is_rank(program: Program) -> bool:
    return isinstance(program, Value) and isinstance(program.rows, Rank)


def _beside(statement: Statement, table: TypedTable) -> Iterator[Amount]:
    """The numbers of the same unit in the row and the column of a cell."""
    program = cast(Value, statement.program)
    result = execute(program, table)
    own = result.cells[:1]
    for place, row in enumerate(table.cells):
        inside = any(cell.place in own for cell in row)
        for cell in row if inside else row[program.column : program.column + 1]:
            if (
                cell.kind == "number"
                and cell.place not in own
                and (cell.unit, cell.measure) == (result.unit, result.measure)
                and not table.rows[place].total
            ):
                yield exact(cell)


def exchange(statement: Statement, role: Role, old: Meaning, new: Meaning) -> Statement:
    """The statement with one slot exchanged, wherever it stands in it."""
    program, stated = statement.program, statement.stated
    if not isinstance(old, Condition | int) and old == stated:
        return replace(statement, stated=cast(Any, new))
    if role not in ("cue", "quantifier"):
        return cast(Statement, _swap(statement, old, new))
    if way := _WAY.get(type(program)):
        return replace(statement, program=replace(program, **{way: cast(Any, new)}))
    if isinstance(program, Value) and isinstance(program.rows, Rank):
        order, n = str(new).split()
        rank = replace(program.rows, order=cast(Order, order), n=int(n))
        return replace(statement, program=replace(program, rows=rank))
    assert isinstance(stated, Amount)
    return replace(statement, stated=replace(stated, value=-stated.value))


def _swap(node: Any, old: Meaning, new: Meaning) -> Any:
    """A program with a condition, or a column that is worked with, exchanged everywhere."""
    if isinstance(old, Condition) and node == old:
        return new
    if isinstance(node, tuple):
        return tuple(_swap(part, old, new) for part in node)
    if not is_dataclass(node) or isinstance(node, Amount):
        return node
    changed = {}
    for field in fields(node):
        part = getattr(node, field.name)
        is_column = field.name == "column" and isinstance(old, int)
        changed[field.name] = new if is_column and part == old else _swap(part, old, new)
    return replace(cast(Any, node), **changed)


def _other_rows(statement: Statement, table: TypedTable, old: Meaning) -> Iterator[Meaning]:
    """Other names, periods or groups of the column that a condition is on, or that is stated."""
    if isinstance(old, int):
        yield from table.period_headers
        return
    if isinstance(old, Condition):
        cells = (table.cells[row][old.column] for row in table.body)
        known = {c.value for c in _all(statement.program, Condition) if c != old}
        keys = [cell.key for cell in cells if cell.kind != "blank"]
        yield from (replace(old, value=key) for key in keys if key not in known)
        return
    program = statement.program
    if isinstance(program, Value | GroupBy):
        column = program.column if isinstance(program, Value) else program.by
        cells = (table.cells[row][column] for row in table.body)
        yield from (cell.text for cell in cells if cell.kind != "blank")


def _other_columns(statement: Statement, table: TypedTable, old: Meaning) -> Iterator[Meaning]:
    """Other columns of numbers of the same unit."""
    result = execute(statement.program, table)
    units = {c.unit for row in table.cells for c in [row[cast(int, old)]] if c.kind == "number"}
    for place in range(len(table.columns)):
        cells = [row[place] for row in table.cells if row[place].kind == "number"]
        same = {cell.unit for cell in cells} == units and units
        if same and all(cell.measure == result.measure or not result.measure for cell in cells):
            yield place


def _other_values(statement: Statement, table: TypedTable, old: Meaning) -> Iterator[Meaning]:
    """Of a number those beside it and some of no cell; of a text those of its column."""
    if not isinstance(old, Amount):
        yield from _other_rows(statement, table, old)
        return
    if not math.isfinite(old.value):
        return
    program, step = statement.program, old.step or 1.0
    low, high = _span(program, table)
    known: set[int] = set()
    is_cell = isinstance(program, Value)
    if is_cell:
        known = {round(c.value / step) for row in table.cells for c in row if c.kind == "number"}
        for amount in _beside(statement, table):
            value = round(amount.value / step) * step if old.hedge else amount.value
            if _is_near(value, old.value):
                like = old if old.hedge else replace(amount, step=step)
                yield replace(like, value=value)
    coarse = step
    while round(old.value / coarse) % 10 == 0 and abs(old.value) >= 100 * coarse:
        coarse *= 10  # a round number becomes a round one
    moved = [round(old.value * factor / coarse) for factor in _FACTORS]
    near = [round(old.value / coarse) + n for n in (-2, -1, 1, 2)]
    for count in dict.fromkeys([*moved, *near]):
        value = count * coarse
        if (
            _is_near(value, old.value)
            and low <= value <= high
            and round(value / step) not in known
            and value != 1
            and (is_cell or old.unit.symbol != "%" or abs(value - old.value) > _POINTS)
        ):
            yield replace(old, value=value)


def _is_near(value: float, right: float) -> bool:
    """Whether a wrong number is of the sign and size of the right one, but not it."""
    less, more = sorted((abs(value), abs(right)))
    is_off = more - less >= (RANGE[0] - 1e-9) * abs(right)
    return value * right > 0 and is_off and more <= (1 + RANGE[1]) * less


def _span(program: Program, table: TypedTable) -> tuple[float, float]:
    """The least and most of a column, widened by a fifth; shares end at 100 %."""
    one = isinstance(program, Value) or (isinstance(program, Aggregate) and program.op != "sum")
    if not one:
        is_share = isinstance(program, Ratio) and program.percent
        return -math.inf, 100.0 if is_share else math.inf
    cells = [row[cast(Value, program).column] for row in table.cells]
    values = [cell.value for cell in cells if cell.kind == "number"]
    wider = (max(values) - min(values)) / 5
    most = max(values) + wider
    if max(values) <= 100 and any("%" in (cell.unit.symbol, cell.measure) for cell in cells):
        most = min(most, 100.0)
    return min(values) - wider, most


def _other_cues(statement: Statement, table: TypedTable, old: Meaning) -> Iterator[Meaning]:
    program = statement.program
    if isinstance(program, Between):
        yield from ("above", "below") if old == "within" else ("within",)
    elif isinstance(program, Value):
        rank = cast(Rank, program.rows)
        if rank.n == 1:
            yield f"{_CONTRARY[rank.order]} 1"
        else:
            yield from (f"{rank.order} {n}" for n in range(2, 5) if n < len(table.body))
    elif old in _CONTRARY:
        yield _CONTRARY[old]


_CANDIDATES: dict[Role, Callable[[Statement, TypedTable, Meaning], Iterator[Meaning]]] = {
    **dict.fromkeys(("entity", "other", "period", "until", "category"), _other_rows),
    **{"value": _other_values, "column": _other_columns},
    **{"cue": _other_cues, "quantifier": _other_cues},
}


_WORST = 0.02
"""A wrong number is off by more than this share, so that no rounding explains it."""


def still_holds(new: Statement, old: Statement, table: TypedTable) -> bool | None:
    """Whether an edited statement holds; ``None`` where that is open, or seen without the table.

    A false one is off by more than rounding; where it speaks of another cell than before, that
    one has the same unit and a value of the same size.
    """
    found = check(new, table)
    if found.holds is not False:
        return found.holds
    value, stated = found.result.value, new.stated
    is_other_cell = isinstance(new.program, Value) and new.program != old.program
    if isinstance(stated, Amount) and isinstance(value, float):
        low, high = sorted((abs(stated.value), abs(value)))
        is_turned = stated.value * value < 0
        if high - low <= max(_WORST * abs(value), stated.step / 2) and not is_turned:
            return None
        if is_other_cell and (is_turned or high > (1 + RANGE[1]) * low):
            return None
    if is_other_cell:
        before = execute(old.program, table)
        if (before.unit, before.measure) != (found.result.unit, found.result.measure):
            return None
    return False


def are_compatible(
    edited: Sequence[Statement], beside: Sequence[Statement], others: Sequence[Statement]
) -> bool:
    """Whether a text does not contradict itself, whatever its table holds.

    Nothing is said twice in two ways, numbers agree with the way that they are compared, and a
    count is less than that of all.
    """
    if {*map(_asked, edited)} & {*map(_asked, (*beside, *others))}:
        return False
    sentence = [*edited, *beside]
    said: dict[Program, float] = {}
    for statement in sentence:
        stated = statement.stated  # an amount, or the place of a date in time
        period = read_period(stated) if isinstance(stated, str) else None
        if isinstance(stated, Amount):
            said[statement.program] = stated.value
        elif period is not None:
            said[statement.program] = period.order
    parts, wholes = list[float](), list[float]()
    for program, number in said.items():
        if isinstance(program, Count) and isinstance(program.rows, Rows):
            (parts if program.rows.conditions else wholes).append(number)
    if any(part <= 1 or part >= min(wholes, default=part + 1) for part in parts):
        return False
    return all(
        (said[program.left] > said[program.right]) is (program.relation in (">", ">="))
        for program in (statement.program for statement in sentence)
        if isinstance(program, Compare) and {program.left, program.right} <= said.keys()
    )


def _asked(statement: Statement) -> object:
    """What two statements of one text may not answer in two ways."""
    program = statement.program
    return replace(program, relation=">") if isinstance(program, Compare | Trend) else program


_HEDGES = sorted((word for pool in HEDGES.values() for word in pool), key=len, reverse=True)
_HEDGE = re.compile(f"(?:{'|'.join(_HEDGES)}) ")


def reword(old: str, edit: Edit, statement: Statement, speaker: TableDescriber) -> str | None:
    """What stands in place of the words of a slot; ``None`` where there are no such words.

    Args:
        old: the words.
        edit: the slot and what it holds now.
        statement: the statement before.
        speaker: of the table, or the table turned.
    """
    text = _words(old, edit, statement, speaker)
    if not text:
        return None
    is_first = old[0].isupper() and edit.role not in ("entity", "other")
    return text[0].upper() + text[1:] if is_first else text


def _words(old: str, edit: Edit, statement: Statement, speaker: TableDescriber) -> str | None:
    new = edit.new
    if edit.role in ("cue", "quantifier"):
        return _other_cue(old.casefold(), str(new))
    if isinstance(new, Amount):
        return _number(old, new, statement, speaker)
    if edit.role in ("period", "until") or read_period(old):
        return _period(old, edit, speaker)
    if isinstance(new, int):
        return _label(old, new, speaker)
    if isinstance(new, Condition):
        cells = (speaker.cell(row, new.column) for row in speaker.rows)
        text = next((cell.text for cell in cells if cell.key == new.value), "")
    else:
        text = new
    if edit.role in ("entity", "other"):
        name = text.strip(QUOTES)
        known = {speaker.spoken_name(speaker.name(row)).casefold() for row in speaker.rows}
        if old.casefold() in known:
            return speaker.spoken_name(name)
        return next(iter(short_names(speaker, name)), None)  # as what stood there
    return text.lower() if old.islower() and len(text) > 1 else text


def _number(old: str, new: Amount, statement: Statement, speaker: TableDescriber) -> str:
    if isinstance(statement.program, Count):
        return spell_count(new.value, digits=old[0].isdigit())
    hedge = match[0].strip() if (match := _HEDGE.match(old.casefold())) and new.hedge else ""
    result = execute(statement.program, speaker.table)
    signed = isinstance(statement.stated, Amount) and statement.stated.value < 0 and "-" not in old
    own = Amount(-new.value, new.unit, new.step, new.hedge) if signed else new
    is_share = isinstance(statement.program, Change) and statement.program.percent
    in_points = "percentage point" in old and not is_share
    return spell(own, "points" if in_points else result.measure, hedge, old.endswith(" percent"))


def _period(old: str, edit: Edit, speaker: TableDescriber) -> str | None:
    """Another period in the same spelling."""
    own, new = read_period(old), edit.new
    if own is None:
        return None
    if isinstance(new, int):
        period: Period | None = speaker.table.period_headers.get(new)
    else:
        key = str(new.value) if isinstance(new, Condition) else str(new)
        period = read_period(key)
        listed = [found for row in speaker.rows if (found := speaker.period(row))]
        period = next((found for found in listed if found.iso == key), period)
        if period and old in (found.text for found in listed):
            return period.text  # who knows whether "May" is short
    return None if period is None or period.grain != own.grain else spell_like(period, own)


def _label(old: str, column: int, speaker: TableDescriber) -> str | None:
    """Another column's label, if the sentence stays right with it."""
    measure = speaker.measures.get(column)
    if measure is None or is_plural_label(measure.label) != is_plural_label(old):
        return None
    if with_article(measure.label).split()[0] != with_article(old).split()[0]:
        return None
    own = next((m for m in speaker.measures.values() if m.label.casefold() == old.casefold()), None)
    return measure.label if own and own.counted == measure.counted else None


def _other_cue(old: str, new: str) -> str | None:
    """The contrary of a cue; another rank."""
    if new in QUANTIFIERS:
        own = next((pool for pool in QUANTIFIERS.values() if old in pool), [old])
        return QUANTIFIERS[new][min(own.index(old), len(QUANTIFIERS[new]) - 1)]
    if new in ("within", "above", "below"):
        return new
    n = new.rpartition(" ")[2]
    place = next((word for word in ORDINALS if word in old), None)
    if place and n.isdigit():
        word = ORDINALS[int(n) - 1]
        bare = place == old or word != "first"
        return old.replace(place, word) if bare else old.replace(f"{place}-", "")
    ways = [way for pair in PAIRS.values() for way in (pair, pair[::-1])]
    for ours, theirs in ways:
        if old in ours:
            return theirs[min(ours.index(old), len(theirs) - 1)]
    for ours, theirs in ways:  # "rose every year"
        for word in ours:
            if old.startswith(f"{word} "):
                return theirs[min(ours.index(word), len(theirs) - 1)] + old[len(word) :]
    return None
