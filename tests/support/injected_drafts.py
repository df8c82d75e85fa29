"""Defects injected into good kernels and long texts, one at a time, each with what must be said."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from random import Random
from typing import NamedTuple

from tablemend.datasets.tablehallu.settings import Shape
from tablemend.datasets.tablehallu_llm import checks, omissions, queries
from tablemend.datasets.tablehallu_llm.parsing import KernelDraft
from tablemend.datasets.tablehallu_llm.statements import Statements
from tablemend.detector.keys import primary_key
from tablemend.prompting.replies import Problem
from tablemend.records import Condition, Constraints, Mention
from tablemend.tables.table import Table
from tablemend.values.cells import read_value
from tablemend.values.sentences import sentence_spans

SHAPE = Shape()
FLOOR = 4.0


class Kernel(NamedTuple):
    """Everything that is checked."""

    draft: KernelDraft
    query: str
    constraints: Constraints
    adversarial: str


class Injected(NamedTuple):
    """A defect, the kinds by which it may be found, and what the checks said of it."""

    name: str
    kinds: frozenset[str]
    problems: list[Problem]

    @property
    def found(self) -> bool:
        return any(problem.kind in self.kinds for problem in self.problems)


def all_problems(kernel: Kernel) -> list[Problem]:
    draft, query, constraints, text = kernel
    return [
        *checks.check_kernel(draft, SHAPE),
        *queries.check_query(query, draft),
        *queries.check_constraints(constraints, draft, query),
        *(checks.check_adversarial(draft, text, FLOOR) if text else ()),
    ]


def defects(kernel: Kernel, rng: Random) -> Iterator[Injected]:
    """Every defect that the kernel has room for."""
    yield from _in_table(kernel, rng)
    yield from _in_context(kernel, rng)
    yield from _in_query(kernel, rng)
    yield from _in_constraints(kernel)
    if kernel.adversarial:
        yield from _in_long_text(kernel, rng)


def _kernel(name: str, draft: KernelDraft, *kinds: str) -> Injected:
    return Injected(name, frozenset(kinds), checks.check_kernel(draft, SHAPE))


def _with_rows(draft: KernelDraft, rows: list[tuple[str | None, ...]]) -> KernelDraft:
    return replace(draft, table=Table(draft.table.columns, tuple(rows), draft.table.title))


def _in_table(kernel: Kernel, rng: Random) -> Iterator[Injected]:
    draft = kernel.draft
    rows = list(draft.table.rows)
    swapped = [rows[-1], *rows[1:-1], rows[0]]
    yield _kernel("rows out of order", _with_rows(draft, swapped), checks.UNSORTED)
    if len(rows) < SHAPE.max_rows:
        doubled = [*rows, rows[-1]]
        yield _kernel("row twice", _with_rows(draft, doubled), checks.SAME_ROW)
    key = primary_key(draft.table)
    full = [tuple("1" if cell is None else cell for cell in row) for row in rows]
    yield _kernel("no null", _with_rows(draft, full), checks.NO_NULL)
    place = rng.randrange(len(rows))
    nameless = [
        tuple(None if (i, j) == (place, key) else cell for j, cell in enumerate(row))
        for i, row in enumerate(rows)
    ]
    yield _kernel("row without a name", _with_rows(draft, nameless), checks.KEY_EMPTY)
    filled = [
        (i, j)
        for i, row in enumerate(rows)
        for j, cell in enumerate(row)
        if cell is not None and j != key and draft.table.columns[j] != draft.sort_column
    ]
    i, j = rng.choice(filled)
    changed = [list(row) for row in rows]
    changed[i][j] = _other_value(draft.table, i, j)
    yield _kernel(
        "cell changed", _with_rows(draft, [tuple(row) for row in changed]), checks.NOT_STATED
    )


def _other_value(table: Table, row: int, column: int) -> str:
    """A value like a cell's that the row does not have."""
    cell = table.rows[row][column]
    value = read_value(cell)
    if value.number is not None and cell is not None:
        digits = "".join(filter(str.isdigit, cell))
        return cell.replace(digits[-1], str((int(digits[-1]) + 3) % 10))
    if value.dates:
        return "17 August 1811"
    return "Quorvex"


def _in_context(kernel: Kernel, rng: Random) -> Iterator[Injected]:
    draft = kernel.draft
    places = list(_gold_places(draft))
    row, column, place = rng.choice(places)
    cut = _splice(draft.context, place.start, place.end, "")
    yield _kernel("value dropped", replace(draft, context=cut), checks.NOT_STATED)
    row, column, place = rng.choice(places)
    cut = _splice(draft.context, place.sentence_start, place.sentence_end, "")
    yield _kernel("sentence dropped", replace(draft, context=cut), checks.NOT_STATED)
    blanks = [
        (i, j)
        for i, cells in enumerate(draft.table.rows)
        for j, cell in enumerate(cells)
        if cell is None
    ]
    row, column = rng.choice(blanks)
    for name, sentence, kind in _fillings(draft.table, row, column, rng):
        extended = f"{draft.context} {sentence}"
        yield _kernel(name, replace(draft, context=extended), kind)


def _fillings(table: Table, row: int, column: int, rng: Random) -> Iterator[tuple[str, str, str]]:
    entity, header = table.rows[row][primary_key(table)], table.columns[column]
    others = [cell for cell in table.column(header) if cell is not None]
    value = rng.choice(others)
    stated = rng.choice(
        (
            f"{entity} has {value} as its {header}.",
            f"The {header} of {entity} is {value}.",
            f"In {header}, {entity} reaches {value}.",
        )
    )
    yield "null stated", stated, omissions.NULL_STATED
    yield "null stated without its column", f"{entity} has {value} too.", omissions.NULL_STATED
    remark = rng.choice(
        (
            f"The {header} of {entity} is unknown.",
            f"The {header} of {entity} has not been disclosed.",
            f"No information on the {header} of {entity} is available.",
            f"For {entity}, the {header} was not reported.",
            f"The {header} of {entity} remains unclear.",
        )
    )
    yield "null remarked", remark, omissions.NULL_REMARKED


def _in_query(kernel: Kernel, rng: Random) -> Iterator[Injected]:
    draft, query = kernel.draft, kernel.query
    table = draft.table

    def injected(name: str, text: str, *kinds: str) -> Injected:
        return Injected(name, frozenset(kinds), queries.check_query(text, draft))

    one, other = rng.sample(table.columns, 2)
    kinds = (
        queries.COLUMNS_UNORDERED,
        queries.COLUMN_MISSING,
    )  # missing: "Cases" in "Citing Cases"
    yield injected("columns swapped", _swap(query, one, other), *kinds)
    yield injected(
        "column left out",
        query.replace(rng.choice(table.columns), ""),
        queries.COLUMN_MISSING,
        queries.COLUMNS_UNORDERED,
    )
    turned = query.replace("ascending", "\0").replace("descending", "ascending")
    turned = turned.replace("\0", "descending").replace("lowest to highest", "highest to lowest")
    turned = turned.replace("alphabetically by", "in descending order of").replace(
        "A to Z", "Z to A"
    )
    yield injected("sorted the other way", turned, queries.OTHER_SORT_RULE, queries.NO_SORT_RULE)
    entities = [row[primary_key(table)] for row in table.rows]
    if len(set(entities)) == len(entities):
        named = f"{query} Include {rng.choice(entities)}."
        yield injected("name in the query", named, queries.CELL_IN_QUERY)


def _swap(text: str, one: str, other: str) -> str:
    return text.replace(one, "\0").replace(other, one).replace("\0", other)


def _in_constraints(kernel: Kernel) -> Iterator[Injected]:
    constraints, draft = kernel.constraints, kernel.draft

    def injected(name: str, changed: Constraints, kind: str) -> Injected:
        found = queries.check_constraints(changed, draft, kernel.query)
        return Injected(name, frozenset({kind}), found)

    yield injected("no scope", replace(constraints, entity_scope=()), queries.NO_SCOPE)
    foreign = (*constraints.conditions, Condition("Shoe Size", "1", "2"))
    yield injected(
        "foreign column", replace(constraints, conditions=foreign), queries.NO_SUCH_COLUMN
    )
    for condition in constraints.conditions:
        cells = [cell for cell in draft.table.column(condition.column) if cell is not None]
        if condition.values:
            broken = replace(condition, values=("Quorvex",))
        elif read_value(cells[0]).dates:
            broken = replace(condition, low="1500-01-01", high="1500-12-31")
        else:
            broken = replace(condition, low="7777777", high=None)
        yield injected(
            "condition broken",
            replace(constraints, conditions=(broken,)),
            queries.GOLD_OUT_OF_SCOPE,
        )


def _in_long_text(kernel: Kernel, rng: Random) -> Iterator[Injected]:
    draft, _, _, text = kernel

    def injected(name: str, changed: str, *kinds: str) -> Injected:
        return Injected(name, frozenset(kinds), checks.check_adversarial(draft, changed, FLOOR))

    facts = checks.locate_facts(draft, text)
    fact = rng.choice(facts)
    cut = _splice(text, fact.adversarial.sentence_start, fact.adversarial.sentence_end, "")
    yield injected("gold sentence lost", cut, checks.LOST)
    key = draft.table.columns[primary_key(draft.table)]
    fact = rng.choice([fact for fact in facts if fact.column != key])
    other = _other_value(draft.table, fact.row, draft.table.columns.index(fact.column))
    place = fact.adversarial
    changed = _splice(text, place.start, place.end, other)
    yield injected("gold value changed", changed, checks.LOST)
    spans = sentence_spans(text)
    row, column = rng.choice(
        [
            (i, j)
            for i, cells in enumerate(draft.table.rows)
            for j, cell in enumerate(cells)
            if cell is None
        ]
    )
    place_at = rng.choice(spans).end
    for name, sentence, kind in _fillings(draft.table, row, column, rng):
        if name != "null stated without its column":
            filled = f"{text[:place_at]} {sentence}{text[place_at:]}"
            yield injected(f"long text: {name}", filled, kind, omissions.NULL_STATED)
    rest = text
    for sentence in sentence_spans(draft.context):
        rest = rest.replace(draft.context[slice(*sentence)], "")
    yield injected("not dispersed", f"{draft.context}\n\n{rest}", checks.CLUSTERED)
    yield injected("too short", draft.context, checks.TOO_SHORT)


def _gold_places(draft: KernelDraft) -> Iterator[tuple[int, int, Mention]]:
    """Facts that stand in the context once: those whose loss can be seen."""
    statements = Statements(draft.table, draft.context)
    for row in range(len(draft.table.rows)):
        for column, place in statements.locate(row).items():
            if (
                place is not None
                and column != statements.key
                and len(statements.cell_spans(row, column)) == 1
            ):
                yield row, column, place


def _splice(text: str, start: int, end: int, new: str) -> str:
    return f"{text[:start]}{new}{text[end:]}".replace("  ", " ").strip()
