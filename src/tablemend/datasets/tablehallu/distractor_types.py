"""What a distractor breaks (TableHallu, A.2.2)."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable

from tablemend.records import Condition, Example

TYPES = {
    "temporal": "of another time",
    "numerical": "with another number",
    "categorical": "of another category",
    "geographic": "of another place",
    "entity": "of another kind of subject",
    "both": "that breaks more than one condition",
}
"""Types of distractors, and what those of each are."""
_PLACE = re.compile(
    r"\b(?:country|nation|state|province|region|county|city|town|village|district|municipality|"
    r"locations?|place|venue|stadium|headquarters|birthplace|continent|island|port|terminus|"
    r"laboratory|from)\b",
    re.I,
)
_YEAR = re.compile(r"1[5-9]\d\d|20\d\d")


def types_of(example: Example) -> dict[int, str]:
    """The type of each distractor row, by its number."""
    from tablemend.datasets.tablehallu.verification import meets  # it loads all of tables

    rows: dict[int, dict[str, str]] = defaultdict(dict)
    violates = {}
    for fact in example.facts:
        if fact.violates is not None:
            rows[fact.row][fact.column] = fact.value
            violates[fact.row] = fact.violates
    conditions = example.constraints.conditions
    kinds = {one.column: _type_in(one, rows.values()) for one in conditions}
    types = {}
    for row, values in rows.items():
        broken = sum(meets(values.get(one.column), one) is False for one in conditions)
        types[row] = "both" if broken > 1 else kinds.get(violates[row], "entity")
    return types


def type_of(column: str, is_range: bool, is_time: bool) -> str:
    """What a row breaks that one condition on a column leaves out."""
    if is_range:
        return "temporal" if is_time else "numerical"
    return "geographic" if _PLACE.search(column) else "categorical"


def _type_in(condition: Condition, rows: Iterable[dict[str, str]]) -> str:
    ends = [end for end in (condition.low, condition.high) if end]
    values = [values[condition.column] for values in rows if condition.column in values]
    is_time = any("-" in end[1:] for end in ends) or all(map(_YEAR.fullmatch, [*ends, *values]))
    return type_of(condition.column, bool(ends), is_time)
