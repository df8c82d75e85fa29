"""What written table programs decide: whether a text is so, and what comes out of each part."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple, cast

from tablemend.programs.execute import COMPARE, Result, agrees, execute
from tablemend.programs.program import Amount
from tablemend.programs.table import TypedTable, key_of
from tablemend.programs.written import Call, Constant, Junction, Test, Written, name_key
from tablemend.values.cells import read_value


class Leaf(NamedTuple):
    """One thing that a text asks.

    Attributes:
        result: what comes out.
        said: the literal that it is compared with; ``None`` where there is none.
        holds: whether it is so; ``None`` where it is open, or nothing is asserted.
        exact: whether the literal is said to be what comes out: no bound, no denial.
    """

    result: Result
    said: Constant | None
    holds: bool | None
    exact: bool = False


class Decision(NamedTuple):
    """Whether a text is so, and all that it asks, left to right."""

    holds: bool | None
    leaves: tuple[Leaf, ...]


Same = Callable[[Constant, Result], bool | None]
"""Whether a number is what comes out; ``None`` where that is open."""


def as_written(said: Constant, result: Result) -> bool | None:
    """Whether a number is what comes out, as precisely as it is written."""
    number = read_value(said.text).number
    if number is None:
        return None
    step = float(number.unit.scale) * 10.0**-number.decimals
    return agrees(Amount(float(number.value), number.unit, step), result)


def decide(written: Written, table: TypedTable, same: Same = as_written) -> Decision:
    """Run all programs of a text from :func:`parse`, over the same table as written."""
    match written:
        case Junction(op, parts):
            found = [decide(part, table, same) for part in parts]
            held = {one.holds for one in found}
            settles = op == "or"  # one part that is so settles it
            holds = settles if settles in held else None if None in held else not settles
            leaves = [leaf for one in found for leaf in one.leaves]
            if op == "not":
                holds = None if found[0].holds is None else not found[0].holds
                leaves = [leaf._replace(exact=False) for leaf in leaves]
            return Decision(holds, tuple(leaves))
        case Test(left, relation, right):
            result, said = _run(left, table), right if isinstance(right, Constant) else None
            other = _run(right, table) if isinstance(right, Call) else right
            failed = [one for one in (result, other) if isinstance(one, Result) and one.undefined]
            holds = None if failed else _is_so(result, relation, other, same)
            leaf = Leaf(failed[0] if failed else result, said, holds, relation == "==")
        case Call():
            result = _run(written, table)
            leaf = Leaf(result, None, result.value if isinstance(result.value, bool) else None)
    return Decision(leaf.holds, (leaf,))


def _run(call: Call, table: TypedTable) -> Result:
    result = execute(call.program, table.turned if call.turned else table)
    is_number = call.size and isinstance(result.value, float)
    return replace(result, value=abs(cast(float, result.value))) if is_number else result


def _is_so(result: Result, relation: str, other: Result | Constant, same: Same) -> bool | None:
    left: Any = result.key or result.value
    if isinstance(other, Result):
        right: Any = other.key or other.value
        equal: bool | None = left == right
    elif isinstance(left, float):
        number = read_value(other.text).number
        if number is None:
            return None
        sizes = [float(number.value), float(number.value * result.unit.scale)]
        known = left and number.value
        right = min(sizes, key=lambda one: abs(math.log(abs(one / left)))) if known else sizes[0]
        equal = same(other, result) if relation in ("==", "!=") else None
    else:
        right = key_of(other.text)
        named = name_key(other.text) in (name_key(result.text), name_key(str(result.value)))
        equal = left == right or named
    if relation in ("==", "!="):
        return equal if equal is None or relation == "==" else not equal
    if type(left) is not type(right) or (isinstance(left, str) and result.value is None):
        return None  # names have no order
    return COMPARE[relation](left, right)
