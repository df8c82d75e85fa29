"""Thoughts in lists: the rows by what is asked of them, those that meet it, and these in order.

Each step is one that ``benchmarks/exercises.py`` teaches: a list is filtered, then sorted.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from tablemend.datasets.tablehallu.verification import rows_of
from tablemend.errors import NoTarget
from tablemend.records import Condition, ContextKind, Example, Fact

NOTHING = "none"
"""In place of rows where the query asks for what no row of the context meets."""
_MARK = re.compile(r"[\n|]|</?think>")


class NoListing(NoTarget):
    """An example whose rows cannot be listed; the message is the reason."""

    kind = "no list"


def listing(example: Example, context: ContextKind = "adversarial") -> str:
    """Lists of rows, each by its values and its name, one list a line.

    Those about the subject that say what is asked for, in the order of the context; those that
    meet it; these with what they are to be sorted by, where that is something else; and these in
    order.

    Raises:
        NoListing: a value has a mark of the lists, or a column is to be worked out.
    """
    if example.constraints.computed:
        raise NoListing("a computed column")
    if any(map(_MARK.search, (text for f in example.facts for text in (f.value, f.entity)))):
        raise NoListing("a value with a line break, a thinking tag or a |")
    asked = [condition.column for condition in example.constraints.conditions]
    gold = rows_of(example, True)
    others = [] if context == "clean" else rows_of(example, False).values()
    rows = sorted(
        (*gold.values(), *others),
        key=lambda facts: min(
            (context == "clean" and fact.clean) or fact.adversarial for fact in facts
        ),
    )
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
    ordered = [gold[row] for row in range(len(kept))]
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
    if condition.values:
        return " or ".join(condition.values)
    if low is not None and high is not None:
        return low if low == high else f"{low} to {high}"
    return f"up to {high}" if low is None else f"from {low}"
