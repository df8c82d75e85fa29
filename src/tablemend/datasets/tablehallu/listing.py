"""Thoughts in lists: the rows by what is asked of them, those that meet it, and these in order.

Each step is one that ``data_gen/exercises.py`` teaches: a list is filtered, then sorted.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from tablemend.datasets.tablehallu.rationale import NOTHING, NoRationale, checked, rows_of
from tablemend.records import Condition, ContextKind, Example, Fact

_MARK = re.compile(r"[\n|]|</?think>")


def listing(example: Example, context: ContextKind = "adversarial") -> str:
    """Lists of rows, each by its values and its name, one list a line.

    Those about the subject that say what is asked for, in the order of the context; those that
    meet it; these with what they are to be sorted by, where that is something else; and these in
    order.

    Raises:
        NoRationale: the record leaves a step open, or a value has a mark of the lists.
    """
    evidence = checked(example)
    if any(map(_MARK.search, (text for f in example.facts for text in (f.value, f.entity)))):
        raise NoRationale("a value with a line break, a thinking tag or a |")
    asked = [condition.column for condition in example.constraints.conditions]
    rows = list(rows_of(evidence, context))
    stated = [row for row in rows if row[0].violates in (None, *asked)]
    kept = [row for row in rows if row[0].violates is None]
    lines = [f"{', '.join(asked)}: {_listed(stated, asked)}"]
    scope = "; ".join(map(_scope, example.constraints.conditions))
    lines.append(f"{scope}: {_listed(kept, asked)}")
    column = example.constraints.sort_column
    is_name = all(
        fact.value == fact.entity for row in kept for fact in row if fact.column == column
    )
    if column not in asked and not is_name:
        lines.append(f"{column}: {_listed(kept, [column])}")
    ordered = [evidence.gold[row] for row in range(len(kept))]
    lines.append(f"{column}, {example.constraints.sort_order}: {_listed(ordered, [column])}")
    return "\n".join(lines)


def _listed(rows: Iterable[Sequence[Fact]], columns: Iterable[str]) -> str:
    listed = []
    for facts in rows:
        values = {fact.column: fact.value for fact in facts}
        said = [values[column] for column in columns if column in values]
        name = facts[0].entity
        listed.append(" ".join(said if name in said else [*said, name]))
    return " | ".join(listed) or NOTHING


def _scope(condition: Condition) -> str:
    """A condition without its column, as the exercises have it; dates as in the record."""
    low, high = condition.low, condition.high
    if condition.top:
        return f"{'highest' if condition.top > 0 else 'lowest'} {abs(condition.top)}"
    if condition.excluded:
        return f"other than {' or '.join(condition.excluded)}"
    if condition.values:
        return " or ".join(condition.values)
    if low is not None and high is not None:
        return low if low == high else f"{low} to {high}"
    return f"up to {high}" if low is None else f"from {low}"
