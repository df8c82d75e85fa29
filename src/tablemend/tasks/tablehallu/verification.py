"""The program that checks every example before it is written (TableHallu, A.3).

It reads the record alone: the gold table follows from the stated facts and the conditions, whose
values are parsed again. The engine holds the groups of its contexts apart by the same values, so
nothing is refused here that it makes (``test_verification.py``): a refusal after the query is
drawn would depend on which group it asks for.
"""

from __future__ import annotations

import operator
import re
from collections import defaultdict
from collections.abc import Callable
from fractions import Fraction

from tablemend.datasets.source_tables.columns import read_date, read_number, words_of
from tablemend.detector.query import is_sorted
from tablemend.records import Condition, Example, Fact

_QUOTED = re.compile(r'"([^"]*)"')
_OPERATIONS: dict[str, Callable[[Fraction, Fraction], Fraction]] = {
    "addition": operator.add,
    "subtraction": operator.sub,
    "multiplication": operator.mul,
    "division": operator.truediv,
}
_ISO = re.compile(r"\d{4}-\d{2}-\d{2}")


def verify(example: Example) -> str | None:
    """Why an example is invalid, in the words by which rejects are counted; else ``None``."""
    checks = (check_gold_facts, check_scope, check_order, check_query, check_computed)
    return next((reason for check in checks if (reason := check(example))), None)


def rows_of(example: Example, gold: bool) -> dict[int, list[Fact]]:
    """The facts of the gold rows, or of the distractors, by the number of their row."""
    rows: dict[int, list[Fact]] = defaultdict(list)
    for fact in example.facts:
        if (fact.violates is None) == gold:
            rows[fact.row].append(fact)
    return rows


def entity_column(example: Example) -> str:
    """The column that holds the entities, by the facts: a gold table without rows cannot say."""
    columns = example.gold_table.columns
    held = {fact.column for fact in example.facts if fact.value == fact.entity}
    return next((column for column in columns if column in held), columns[0])


def check_gold_facts(example: Example) -> str | None:
    """Each gold cell is one fact, and a blank one is stated in no row of its entity."""
    table, computed, gold = example.gold_table, example.constraints.computed, rows_of(example, True)
    scope = {condition.column for condition in example.constraints.conditions}
    columns = [name for name in table.columns if computed is None or name != computed.column]
    if set(gold) != set(range(len(table.rows))):
        return "gold row without a fact"
    key, hidden = entity_column(example), set[tuple[str, str]]()
    for row, facts in gold.items():
        stated = {fact.column: fact.value for fact in facts}
        cells = dict(zip(columns, table.rows[row], strict=False))
        if len(stated) < len(facts):
            return "gold fact stated twice"
        if any(cells.get(column, value) != value for column, value in stated.items()):
            return "gold fact differs from its cell"
        if any(cell is not None and column not in stated for column, cell in cells.items()):
            return "gold fact missing"
        if not stated.keys() <= {*columns, *scope}:
            return "gold row with a fact outside table and scope"
        if {fact.entity for fact in facts} != {cells[key]}:
            return "gold row of another entity than its key says"
        hidden |= {(facts[0].entity, column) for column, cell in cells.items() if cell is None}
    if any((fact.entity, fact.column) in hidden for fact in example.facts):
        return "blank attribute stated for its entity"
    return "blank in a table with a computed column" if hidden and computed else None


def check_scope(example: Example) -> str | None:
    """Gold rows meet every condition; each distractor row fails the one it says, at least."""
    conditions = example.constraints.conditions
    if not conditions:
        return "no condition"
    for facts in rows_of(example, True).values():
        values = {fact.column: fact.value for fact in facts}
        met = [meets(values.get(condition.column), condition) for condition in conditions]
        if not all(met):
            return "gold row out of scope" if False in met else "gold row's scope not stated"
    columns = {column.casefold() for column in example.gold_table.columns}
    for facts in rows_of(example, False).values():
        values = {fact.column: fact.value for fact in facts}
        if len(values) < len(facts):
            return "distractor fact stated twice"
        kind = facts[0].violates or ""
        if kind not in {condition.column for condition in conditions}:
            # A row about another kind of subject says so with every name, and heads no gold column.
            spans = {fact.adversarial[2:] for fact in facts}
            passages = (words_of(example.adversarial_context[start:end]) for start, end in spans)
            said = all(words_of(kind) in passage for passage in passages)
            named = any(fact.column == kind and fact.value == fact.entity for fact in facts)
            if not said or not named or kind.casefold() in columns:
                return "distractor of another kind that does not say so"
            continue
        met = [meets(values.get(condition.column), condition) for condition in conditions]
        if None in met:
            return "distractor's scope not stated"
        failed = {one.column for one, is_met in zip(conditions, met, strict=True) if not is_met}
        if any(fact.violates not in failed for fact in facts):
            wrong = "distractor breaks another condition than recorded"
            return wrong if failed else "distractor in scope"
    return None


def meets(value: str | None, condition: Condition) -> bool | None:
    """Whether a stated value meets a condition; ``None`` where that cannot be read."""
    if value is None:
        return None
    if condition.values:
        return value in condition.values
    ends = (condition.low, condition.high)
    if ends == (None, None):
        return None
    is_date = any(end is not None and _ISO.fullmatch(end) for end in ends)
    read: Callable[[str], float | None] = read_date if is_date else _number
    found = read(value)
    low, high = (None if end is None else read(end) for end in ends)
    if found is None or (low is None) != (ends[0] is None) or (high is None) != (ends[1] is None):
        return None
    return (low is None or found >= low) and (high is None or found <= high)


def _number(text: str) -> float | None:
    number = read_number(text)
    return None if number is None else number[0]


def check_order(example: Example) -> str | None:
    """The gold rows are in strict order of the sort column."""
    constraints, table = example.constraints, example.gold_table
    if constraints.sort_column not in table.columns:
        return "sort column not in the table"
    cells = [cell for cell in table.column(constraints.sort_column) if cell is not None]
    if len(cells) < len(table.rows):
        return "blank cell in the sort column"
    if len(set(cells)) < len(cells) or not is_sorted(cells, constraints.sort_order):
        return "rows not in the declared order"
    return None


def check_query(example: Example) -> str | None:
    """The query names the columns in order and the sort rule."""
    constraints, columns = example.constraints, list(example.gold_table.columns)
    quoted, width = _QUOTED.findall(example.query), len(columns)
    if columns not in (quoted[i : i + width] for i in range(len(quoted) - width + 1)):
        return "columns not listed in order in the query"
    if constraints.sort_column not in quoted or constraints.sort_order not in example.query:
        return "sort rule not in the query"
    return None


def check_computed(example: Example) -> str | None:
    """The last column is what the query says of two others."""
    computed = example.constraints.computed
    if computed is None:
        return None
    if _QUOTED.findall(example.query)[-3:] != [computed.column, computed.left, computed.right]:
        return "columns of the calculation not named in the query"
    half = Fraction(1, 2 * 10**computed.decimals)
    columns = (computed.left, computed.right, computed.column)
    for given in zip(*map(example.gold_table.column, columns), strict=True):
        numbers = [Fraction(str(n)) for text in given if (n := _number(text or "")) is not None]
        if len(numbers) < len(given):
            return "calculation without a number"
        left, right, result = numbers
        if abs(_OPERATIONS[computed.operation](left, right) - result) >= half:
            return "computed cell is another than its columns give"
        if len((given[2] or "").partition(".")[2]) != computed.decimals:
            return "computed cell with other decimals than the query says"
    return None
