"""Verified rationales: how one comes from the query and the context to the gold table.

A rationale lists what the query asks for, walks through the entities of the context in the order
in which they are first named, keeps or drops each with its reason, says which cells of a kept one
are not stated, and sorts what is kept. Each step is read off the example's record, after the same
checks that examples pass before they are written; nothing is asked of a model. An example that
does not pass has no rationale, with a reason. ``benchmarks/rationale_check.py`` reads a rationale
back and recomputes every step.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from operator import itemgetter

from tablemend.datasets.tablehallu.verification import (
    Evidence,
    check_coverage,
    check_gold_facts,
    check_order,
    check_scope,
    entity_column,
    meets,
)
from tablemend.errors import NoTarget
from tablemend.records import Condition, ContextKind, Example, Fact

RATIONALE_VERSION = "1"
NOTHING = "none"
"""In place of rows where the query asks for what no row of the context meets."""
_CHECKS = (check_coverage, check_scope, check_gold_facts, check_order)
_ISO = re.compile(r"\d{4}-\d{2}-\d{2}")


class NoRationale(NoTarget):
    """An example whose record does not bear a rationale; the message is the reason."""

    kind = "no rationale"


@dataclass(frozen=True, slots=True)
class Wording:
    """The words of one rationale; which of them an example gets follows from its id.

    Attributes:
        scope: before what is asked for.
        keep, drop: the two verdicts on an entity.
        blank: of a cell that the context leaves out.
        sort: before the sorted entities.
    """

    scope: str
    keep: str
    drop: str
    blank: str
    sort: str


WORDINGS = (
    Wording("Scope", "keep", "drop", "not stated", "Sorted by"),
    Wording("Wanted", "take", "leave", "not given", "In order of"),
    Wording("Asked for", "in", "out", "blank", "Order by"),
)


def rationale(example: Example, context: ContextKind = "adversarial") -> str:
    """The rationale of an example over one of its contexts; lines without a line break at the end.

    Raises:
        NoRationale: the record leaves a step open: text that no fact records, a row whose scope
            is not stated, or another reason by which the verification rejects examples.
    """
    evidence = checked(example)
    words = WORDINGS[int(example.id[:8], 16) % len(WORDINGS)]
    lines = [_asked(example, words)]
    key = _key_column(evidence)
    for facts in rows_of(evidence, context):
        kept = facts[0].violates is None
        step = _keep(example, key, facts, words) if kept else _drop(evidence, key, facts, words)
        lines.append(f"- {facts[0].entity}: {step}.")
    lines.append(_sorted(example, evidence, words))
    text = "\n".join(lines)
    if text.count("\n") != len(lines) - 1 or "<think>" in text or "</think>" in text:
        raise NoRationale("a value with a line break or a thinking tag")
    return text


def checked(example: Example) -> Evidence:
    """The evidence of an example whose every step is certain.

    Raises:
        NoRationale: one is not.
    """
    if example.constraints.computed:
        raise NoRationale("a computed column")
    evidence = Evidence(example)
    for check in _CHECKS:
        if reason := check(evidence):
            raise NoRationale(reason)
    return evidence


def rows_of(evidence: Evidence, context: ContextKind) -> Iterator[list[Fact]]:
    """The facts of every row that the context speaks of, by their first place in it."""
    if context == "clean":
        gold = evidence.gold.values()
        placed = [(min(f.clean.start for f in facts if f.clean), facts) for facts in gold]
    else:
        both = [*evidence.gold.values(), *evidence.others.values()]
        placed = [(min(fact.adversarial.start for fact in facts), facts) for facts in both]
    for _, facts in sorted(placed, key=itemgetter(0)):
        yield facts


def _asked(example: Example, words: Wording) -> str:
    constraints = example.constraints
    scope = "; ".join(map(say, constraints.conditions))
    columns = ", ".join(example.gold_table.columns)
    order = f"{constraints.sort_column}, {constraints.sort_order}"
    return f"{words.scope}: {scope}. Columns: {columns}. Order: {order}."


def say(condition: Condition) -> str:
    """A condition in words."""
    column, low, high = condition.column, condition.low, condition.high
    if condition.top or condition.excluded:
        return f"{column} is {_special(condition)}"
    if condition.values:
        return f"{column} is {' or '.join(condition.values)}"
    if low is not None and high is not None:
        return f"{column} is {low}" if low == high else f"{column} from {low} to {high}"
    return f"{column} at most {high}" if low is None else f"{column} at least {low}"


def _special(condition: Condition) -> str:
    """A superlative or an exclusion in words."""
    if condition.excluded:
        return f"another than {' or '.join(condition.excluded)}"
    return f"among the {abs(condition.top)} {'highest' if condition.top > 0 else 'lowest'}"


def _keep(example: Example, key: str, facts: Sequence[Fact], words: Wording) -> str:
    """Each condition is met; then the cells beside the key and the scope."""
    stated = {fact.column: fact.value for fact in facts}
    scope = [condition.column for condition in example.constraints.conditions]
    fits = "".join(f"{column} {stated[column]} fits, " for column in scope)
    said = {key, *scope}
    cells = ", ".join(
        f"{column} {stated.get(column, words.blank)}"
        for column in example.gold_table.columns
        if column not in said
    )
    return f"{fits}{words.keep}. {cells}" if cells else f"{fits}{words.keep}"


def _key_column(evidence: Evidence) -> str:
    """The column that holds the entities; the first, where two say the same."""
    table = evidence.example.gold_table
    if not table.rows:
        return entity_column(evidence.example)
    names = tuple(evidence.gold[row][0].entity for row in range(len(table.rows)))
    return next(column for column in table.columns if table.column(column) == names)


def _drop(evidence: Evidence, key: str, facts: Sequence[Fact], words: Wording) -> str:
    """The condition that the row breaks, the value that breaks it, and where it lies; or that it is
    about another kind of subject.
    """
    kind = facts[0].violates
    if all(kind != condition.column for condition in evidence.conditions):
        return f"{kind} is not {key}, {words.drop}"
    values = {fact.column: fact.value for fact in facts}
    conditions = evidence.example.constraints.conditions
    for condition, checked in zip(conditions, evidence.conditions, strict=True):
        column, value = condition.column, values[condition.column]
        if column == facts[0].violates and not meets(value, checked):
            return f"{column} {value} is {_miss(value, condition)}, {words.drop}"
    raise NoRationale("distractor breaks another condition than recorded")


def _miss(value: str, condition: Condition) -> str:
    low, high = condition.low, condition.high
    if condition.top or condition.excluded:
        return f"not {_special(condition)}"
    if condition.values:
        return f"not {' or '.join(condition.values)}"
    if low == high:
        return f"not {low}"
    is_date = any(end is not None and _ISO.fullmatch(end) for end in (low, high))
    if high is None or (low is not None and not meets(value, replace(condition, high=None))):
        return f"{'before' if is_date else 'below'} {low}"
    return f"{'after' if is_date else 'above'} {high}"


def _sorted(example: Example, evidence: Evidence, words: Wording) -> str:
    column, order = example.constraints.sort_column, example.constraints.sort_order
    cells = example.gold_table.column(column)
    names = [evidence.gold[row][0].entity for row in range(len(cells))]
    listing = ", ".join(
        name if name == cell else f"{name} ({cell})"
        for name, cell in zip(names, cells, strict=True)
    )
    return f"{words.sort} {column}, {order}: {listing or NOTHING}."
