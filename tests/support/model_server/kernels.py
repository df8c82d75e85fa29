"""Kernels by program: a fictional table about a topic, and the text that states it."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from functools import cache
from random import Random

from tablemend.datasets.tablehallu.columns import TypedTable, type_table
from tablemend.datasets.tablehallu.compose import compose
from tablemend.datasets.tablehallu.kernel import Prepared, Rejected, draw_kernel
from tablemend.datasets.tablehallu.names import NameGuard
from tablemend.datasets.tablehallu.sentences import Speaker, label_of
from tablemend.datasets.tablehallu.settings import Shape
from tablemend.datasets.tablehallu.topics import SUB_CATEGORIES, make_table
from tablemend.datasets.tablehallu_llm.checks import check_kernel
from tablemend.datasets.tablehallu_llm.drafts import KernelDraft
from tablemend.datasets.tablehallu_llm.topics import slots_of, templates
from tablemend.records import SortOrder
from tablemend.tables.table import Cell, Table

DRAWS = 60
"""Kernels drawn at most for one answer; the pool passes the checks in one of two draws or so."""

_SLOT = re.compile(r"\\\{\w+\\\}")
MISTAKES = (
    "lost-fact",
    "stated-null",
    "unsorted",
    "no-null",
    "double-row",
    "small-table",
    "blank-word",
    "lost-sort-column",
)


@dataclass(frozen=True, slots=True)
class Plan:
    """A kernel before it is put into words.

    Attributes:
        title: what the table is about.
        columns: the header, key first.
        rows: the rows as they are in truth, in order.
        blanks: cells that the table leaves empty, as (row, column).
        sort: index of the sort column.
        order: direction.
        speaker: puts rows into words.
    """

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    blanks: frozenset[tuple[int, int]]
    sort: int
    order: SortOrder
    speaker: Speaker

    def table(self) -> Table:
        """With the blanks."""
        rows = [
            [None if (number, index) in self.blanks else cell for index, cell in enumerate(row)]
            for number, row in enumerate(self.rows)
        ]
        return Table.of(self.columns, rows, self.title)

    def context(self, rng: Random, silent: Collection[tuple[int, int]] = ()) -> str:
        """Sentences that state every cell but the blanks, and those that are to be left out."""
        hidden = self.blanks.union(silent)
        stated = [
            self.speaker.state(
                row,
                [index for index in range(len(row)) if (number, index) not in hidden],
                None,
                rng,
            )
            for number, row in enumerate(self.rows)
        ]
        sentences = sum(len(row.sentences) for row in stated)
        return compose(stated, (), rng, paragraph=max(4, -(-sentences // 3))).clean


def write_kernel(
    slots: Mapping[str, str], mistake: str | None, rng: Random
) -> tuple[KernelDraft, bool]:
    """The kernel for the slots of the prompt; whether it has the mistake.

    It is drawn until it passes the pipeline's own checks, so that a rejection is due to a
    mistake or to a verifier.
    """
    topic = slots["topic"]
    shape = Shape(
        **dict(zip(("min_columns", "max_columns"), _ends(slots["columns"]), strict=True)),
        **dict(zip(("min_rows", "max_rows"), _ends(slots["rows"]), strict=True)),
    )
    number = _sub_category(topic, slots["category"])
    draft = None
    for _ in range(DRAWS):
        plan = _draw_plan(topic, number, shape, rng)
        if plan is None:
            continue
        draft = _draft(plan, plan.table(), plan.context(rng))
        if check_kernel(draft, shape):
            continue
        if mistake is None:
            return draft, False
        return _with_mistake(plan, draft, mistake, rng), True
    if draft is None:
        raise Rejected(f"no kernel of {shape.min_rows} to {shape.max_rows} rows about {topic!r}")
    return draft, False


def _ends(text: str) -> tuple[int, int]:
    """``4 to 7`` as two numbers."""
    numbers = [int(number) for number in re.findall(r"\d+", text)]
    return numbers[0], numbers[-1]


def _sub_category(topic: str, category: str) -> int:
    """Index of the sub-category that a topic was made from, else one of its category."""
    for number, sub in enumerate(SUB_CATEGORIES):
        if any(pattern.fullmatch(topic) for pattern in _patterns(sub.name)):
            return number
    fitting = [n for n, sub in enumerate(SUB_CATEGORIES) if category in (sub.category, sub.domain)]
    return Random(topic).choice(fitting or range(len(SUB_CATEGORIES)))


@cache
def _patterns(name: str) -> tuple[re.Pattern[str], ...]:
    return tuple(
        re.compile(_SLOT.sub(".+", re.escape(template)))
        for template in templates()[name]
        if slots_of(template)
    )


def _draw_plan(topic: str, number: int, shape: Shape, rng: Random) -> Plan | None:
    """One draw; ``None`` where it gives no kernel that stands alone."""
    place = number + len(SUB_CATEGORIES) * rng.randrange(1 << 16)
    source = _units_into_header(make_table(rng.randrange(1 << 31), place).table)
    typed = type_table(source, shape.min_columns, shape.min_rows + 1, key=0)
    prepared = Prepared(typed, shape)
    try:
        kernel = draw_kernel(prepared, rng) if prepared.scopes else None
    except Rejected:
        kernel = None
    if kernel is None:
        return None
    cells = typed.table.rows
    names = [cells[row][typed.key] or "" for row in kernel.rows]
    if len(set(names)) < len(names) or _alike(names):
        return None
    # A query bounds the rows by a column that has a value and an order in every row.
    bounding = [
        index
        for index in kernel.columns
        if all(typed.orders[index][row] is not None for row in kernel.rows)
        and all((row, index) not in kernel.blanks for row in kernel.rows)
    ]
    if not bounding:
        return None
    columns = kernel.columns
    header = tuple(typed.table.columns[index] for index in columns)
    spoken = TypedTable(
        Table(header, ()), tuple(typed.columns[index] for index in columns), 0, (), "", ()
    )
    return Plan(
        topic[:1].upper() + topic[1:],
        header,
        tuple(tuple(cells[row][index] for index in columns) for row in kernel.rows),
        frozenset((kernel.rows.index(row), columns.index(index)) for row, index in kernel.blanks),
        columns.index(kernel.sort),
        kernel.order,
        Speaker(spoken, frozenset()),
    )


def _alike(names: list[str]) -> bool:
    """Whether one name could be read as another."""
    return any(
        NameGuard(names[:place] + names[place + 1 :]).is_similar(name)
        for place, name in enumerate(names)
    )


def _units_into_header(table: Table) -> Table:
    """``12%`` under Margin as ``12`` under Margin (percent): a cell is a single value."""
    columns, cells = list(table.columns), [list(row) for row in table.rows]
    for index, name in enumerate(columns):
        if all((row[index] or "").endswith("%") for row in cells):
            columns[index] = f"{name} (percent)"
            for row in cells:
                row[index] = (row[index] or "").removesuffix("%")
    return Table.of(columns, cells, table.title)


def _draft(plan: Plan, table: Table, context: str) -> KernelDraft:
    return KernelDraft(table, plan.columns[plan.sort], plan.order, context)


def _with_mistake(plan: Plan, draft: KernelDraft, mistake: str, rng: Random) -> KernelDraft:
    """The kernel with one thing wrong."""
    table, context = draft.table, draft.context
    rows = list(table.rows)
    match mistake:
        case "lost-fact":
            stated = [
                (number, index)
                for number, row in enumerate(rows)
                for index, cell in enumerate(row)
                if index and cell is not None
            ]
            return _draft(plan, table, plan.context(rng, [rng.choice(stated)]))
        case "stated-null":
            number, index = rng.choice(sorted(plan.blanks))
            name, label = plan.rows[number][0], label_of(plan.columns[index])
            value = plan.rows[number][index]
            saying = rng.choice((f"is {value}", "is not known", "was not disclosed"))
            return _draft(plan, table, f"{context} The {label} of {name} {saying}.")
        case "unsorted":
            rows[0], rows[-1] = rows[-1], rows[0]
        case "no-null":
            whole = replace(plan, blanks=frozenset())
            return _draft(plan, whole.table(), whole.context(rng))
        case "double-row":
            rows.insert(1, rows[0])
        case "blank-word":
            return _draft(plan, table.filled("n/a"), context)
        case "lost-sort-column":
            return replace(draft, sort_column="Registry Number")
        case _:
            blanks = frozenset(blank for blank in plan.blanks if blank[0] < 2)
            short = replace(plan, rows=plan.rows[:2], blanks=blanks)
            return _draft(plan, short.table(), short.context(rng))
    return _draft(plan, Table.of(table.columns, rows, table.title), context)
