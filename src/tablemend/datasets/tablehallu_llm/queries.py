"""What a program checks of a query and of the constraints that were read from it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date

from tablemend.datasets.source_tables.columns import read_date, read_number, words_of
from tablemend.datasets.tablehallu_llm.parsing import KernelDraft
from tablemend.datasets.tablehallu_llm.statements import is_text
from tablemend.detector.keys import primary_key
from tablemend.detector.query import sort_rule_from_query
from tablemend.prompting.replies import Problem
from tablemend.records import Condition, Constraints
from tablemend.tables.table import Table
from tablemend.tasks.tablehallu.verification import meets
from tablemend.values.places import Places
from tablemend.values.units import header_unit

COLUMN_MISSING = "column not named"
COLUMNS_UNORDERED = "columns not listed in order"
NO_SORT_RULE = "sort rule not said"
OTHER_SORT_RULE = "another sort rule"
CELL_IN_QUERY = "cell value in the query"
NO_SCOPE = "no entity scope"
NO_SUCH_COLUMN = "condition on a column that is not there"
EMPTY_CONDITION = "condition without bounds"
UNREADABLE_CONDITION = "condition that cannot be applied"
GOLD_OUT_OF_SCOPE = "gold row out of scope"
NOT_IN_QUERY = "bound that the query does not state"

_BETWEEN = r"\W{0,8}?(?:(?:and|then|finally|lastly|followed by|plus|\d{1,2}[.)])\W{1,4})*\W{0,8}?"
_LETTERS = 3


def check_query(query: str, draft: KernelDraft) -> list[Problem]:
    """The query (TableHallu, A.1.3): columns in order, sort rule, no cell beyond the scope.

    What may be said of cells is the scope alone: numbers and dates, which bound it, words of the
    table's title, and the values of a column of kinds or places if *all* of them are said, so that
    nothing is distinguished by them. A name from the column that names the rows may be said only
    where several rows share it.
    """
    problems = list(_check_columns(query, draft.table))
    rule = sort_rule_from_query(query, draft.table.columns)
    wanted = f'sorted by "{draft.sort_column}" in {draft.sort_order} order'
    if rule is None:
        problems.append(Problem(NO_SORT_RULE, f"Say that the rows are {wanted}."))
    elif (rule.column, rule.order) != (draft.sort_column, draft.sort_order):
        said = f'by "{rule.column}", {rule.order}'
        problems.append(Problem(OTHER_SORT_RULE, f"The query sorts {said}; the table is {wanted}."))
    return [*problems, *_check_cells(query, draft.table)]


def _check_columns(query: str, table: Table) -> Iterator[Problem]:
    patterns = {name: _name_pattern(name) for name in table.columns}
    if re.search(_BETWEEN.join(patterns.values()), query, re.IGNORECASE):
        return
    missing = [name for name in patterns if not re.search(patterns[name], query, re.IGNORECASE)]
    for name in missing:
        yield Problem(COLUMN_MISSING, f'The query does not name the column "{name}".')
    if not missing:
        names = ", ".join(f'"{name}"' for name in table.columns)
        yield Problem(COLUMNS_UNORDERED, f"List the columns one after the other: {names}.")


def _name_pattern(name: str) -> str:
    words = r"[\s_]+".join(map(re.escape, name.split()))
    return rf"(?<!\w){words}(?!\w)"


def _check_cells(query: str, table: Table) -> Iterator[Problem]:
    key = primary_key(table)
    places, subject = Places(query), Places(table.title)
    names = [
        match.span()
        for name in table.columns
        for match in re.finditer(_name_pattern(name), query, re.IGNORECASE)
    ]
    ends = {table.rows[0][key], table.rows[-1][key]}  # may bound the scope where they are years

    def says(cell: str, column: int) -> bool:
        if column == key:
            known = is_text(cell) or cell not in ends
        else:
            known = is_text(cell) and sum(map(str.isalpha, cell)) >= _LETTERS
        return known and any(
            not any(start <= span.start and span.end <= end for start, end in names)
            for span in places.find(cell)
        )

    for column, name in enumerate(table.columns):
        cells = [cell for cell in table.column(name) if cell is not None]
        distinct = dict.fromkeys(cells)
        said = [cell for cell in distinct if says(cell, column)]
        if len(said) == len(distinct) and (column != key or len(distinct) < len(cells)):
            continue
        for cell in said:
            if column == key or not subject.find(cell):
                reason = f'The query says {cell!r}, a cell of "{name}": describe the scope without.'
                yield Problem(CELL_IN_QUERY, reason)


def check_constraints(constraints: Constraints, draft: KernelDraft, query: str) -> list[Problem]:
    """Constraints against the kernel and the query that they were read from (A.2.1).

    A condition reads a column of the table, every gold row meets it, and the query says its ends
    or values.
    """
    problems = []
    if not constraints.entity_scope:
        problems.append(Problem(NO_SCOPE, "entity_scope must name what the table is about."))
    places, span = Places(query), constraints.numerical_range or ""
    for stated in Places(span).numbers:
        text = span[stated.start : stated.end]
        if not places.find(text) and words_of(text) not in words_of(query):
            reason = f"numerical_range says {text!r}, which the query does not say."
            problems.append(Problem(NOT_IN_QUERY, reason))
    for condition in constraints.conditions:
        found = list(_check_condition(condition, draft.table))
        problems += found or _check_wording(condition, places)
    return problems


def _check_condition(condition: Condition, table: Table) -> Iterator[Problem]:
    name = condition.column
    on = f'The condition on "{name}"'
    if name not in table.columns:
        names = ", ".join(f'"{column}"' for column in table.columns)
        yield Problem(NO_SUCH_COLUMN, f'The table has no column "{name}"; it has {names}.')
        return
    if bool(condition.values) == (condition.low is not None or condition.high is not None):
        yield Problem(EMPTY_CONDITION, f"{on} needs either values or an end of a range.")
        return
    key = primary_key(table)
    for row in table.rows:
        cell = row[table.columns.index(name)]
        met = meets(cell, condition)
        if met is None:
            why = f"{on} cannot be applied to {row[key]!r}, whose cell is {cell or 'empty'}"
            how = "leave the condition out, or give its ends as the column has them"
            yield Problem(UNREADABLE_CONDITION, f"{why}: {how}.")
            return
        if not met:
            yield Problem(GOLD_OUT_OF_SCOPE, f"{on} leaves out {row[key]!r} with {cell!r}.")


def _check_wording(condition: Condition, places: Places) -> Iterator[Problem]:
    missing = [value for value in condition.values if not places.find(value)]
    ends = (end for end in (condition.low, condition.high) if end is not None)
    missing += [end for end in ends if not _says_end(end, condition.column, places)]
    for said in missing:
        reason = f'The condition on "{condition.column}" has {said!r}, which the query has not.'
        yield Problem(NOT_IN_QUERY, reason)


def _says_end(end: str, column: str, places: Places) -> bool:
    """Whether the query says an end, or its neighbour: "after 2015" begins at 2016."""
    forms = [end]
    if (number := read_number(end)) is not None and number[0].is_integer():
        forms += [str(int(number[0]) - 1), str(int(number[0]) + 1)]
    elif (ordinal := read_date(end)) is not None:
        days = [date.fromordinal(int(ordinal) + step) for step in (-1, 0, 1)]
        forms += [form for day in days for form in (day.isoformat(), str(day.year))]
    return any(places.find(form, header_unit(column)) for form in forms)
