"""What a distractor breaks (TableHallu, A.2.2), and which distractors an answer took in."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable

from tablemend.datasets.tablehallu.verification import meets
from tablemend.records import Condition, Example, Finding, Metric, Share
from tablemend.values.cells import same_value

_BROKEN = {
    "temporal": "of another time",
    "numerical": "with another number",
    "categorical": "of another category",
    "geographic": "of another place",
    "entity": "of another kind of subject",
    "both": "that breaks more than one condition",
}
TYPES = tuple(_BROKEN)
TAKEN_IN = tuple(
    Metric(
        f"distractor_{type}",
        f"Took in: {type}",
        f"took in {type}",
        f"a row or value of a distractor {broken}, of the answers to contexts with one",
        "distractor",
    )
    for type, broken in _BROKEN.items()
)
"""Answers that took in a distractor, by its type."""
_PLACE = re.compile(
    r"\b(?:country|nation|state|province|region|county|city|town|village|district|municipality|"
    r"locations?|place|venue|stadium|headquarters|birthplace|continent|island|port|terminus|"
    r"laboratory|from)\b",
    re.I,
)
_YEAR = re.compile(r"1[5-9]\d\d|20\d\d")


def types_of(example: Example) -> dict[int, str]:
    """The type of each distractor row, by its number."""
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


def taken_in(example: Example, findings: Iterable[Finding]) -> dict[str, Share]:
    """For each type that the context holds whether an answer took some of it in.

    A row out of scope counts by its name, a wrong value by itself; what distractors of several
    types say, or gold says too, counts for none.
    """
    types = types_of(example)
    taken = set()
    for finding in findings:
        if finding.got is None:
            continue
        suspects = {
            types.get(fact.row) if fact.violates is not None else None
            for fact in example.facts
            if (finding.column is None and same_value(fact.entity, finding.got))
            or (fact.column == finding.column and same_value(fact.value, finding.got))
        }
        if finding.column is None:
            suspects.discard(None)  # a gold entity at another time
        if len(suspects) == 1:
            taken |= suspects
    return {
        f"distractor_{type}": Share(int(type in taken), 1)
        for type in TYPES
        if type in types.values()
    }
