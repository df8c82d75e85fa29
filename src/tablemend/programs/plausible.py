"""Whether edited statements are errors that only the table shows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tablemend.programs.edit import RANGE
from tablemend.programs.execute import check, execute
from tablemend.programs.program import Amount, Compare, Count, Rows, Statement, Trend, Value
from tablemend.programs.table import TypedTable
from tablemend.values.dates import read_period

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

    Args:
        edited: what was edited.
        beside: what else its sentence says.
        others: what the other sentences say.
    """
    if {*map(_asked, edited)} & {*map(_asked, (*beside, *others))}:
        return False
    sentence = [*edited, *beside]
    said = {s.program: n for s in sentence if (n := _number(s.stated)) is not None}
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


def _number(stated: Amount | str | bool) -> float | None:
    """What can be compared: an amount, or the place of a date in time."""
    if isinstance(stated, Amount):
        return stated.value
    period = read_period(stated) if isinstance(stated, str) else None
    return period and period.order


def _asked(statement: Statement) -> object:
    """What two statements of one text may not answer in two ways."""
    program = statement.program
    return replace(program, relation=">") if isinstance(program, Compare | Trend) else program
