"""What a program checks of a kernel, of its query and constraints, and of a long text.

Before another model reads them. Every check returns all problems that it finds, each in words that
the writer can act on; none means that nothing is wrong that a program can see.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator
from datetime import date

from tablemend.datasets.source_tables.columns import read_date, read_number, words_of
from tablemend.detector.keys import primary_key
from tablemend.detector.query import is_sorted, sort_rule_from_query
from tablemend.prompting.replies import Problem
from tablemend.records import Condition, Constraints, Fact, Mention
from tablemend.tables.table import Table
from tablemend.tasks.tablehallu.settings import Shape
from tablemend.tasks.tablehallu.verification import meets
from tablemend.tasks.tablehallu_llm.statements import (
    KernelDraft,
    Statements,
    alike,
    is_text,
    overlap,
    pattern,
    wordings,
)
from tablemend.values.cells import is_blank
from tablemend.values.places import Places
from tablemend.values.text import fold, header_key, paragraph_spans
from tablemend.values.units import header_unit

COLUMNS = "number of columns"
ROWS = "number of rows"
HEADER = "column name empty, doubled or with quotes"
NO_NULL = "no empty cell"
BLANK_WORD = "word for an empty cell"
SEVERAL_VALUES = "several values in a cell"
EMPTY_COLUMN = "empty column"
KEY_EMPTY = "row without a name"
SAME_ROW = "row twice"
SORT_COLUMN = "sort column not in the table"
SORT_EMPTY = "empty cell in the sort column"
UNSORTED = "rows not sorted as declared"
NOT_STATED = "value not stated"
NO_PROSE = "heading, list or unfinished sentence"
NOTE = "note about the task"
EXTRA = "number that the table does not have"
TOO_SHORT = "too short"
LOST = "original value lost"
CLUSTERED = "original sentences not dispersed"
ALIKE = "name that resembles one of the table"
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
_LONGEST_CELL, _LETTERS = 80, 3


def check_kernel(draft: KernelDraft, shape: Shape) -> list[Problem]:
    """Table and base context (TableHallu, A.1.2 and A.3.1); ``shape`` admits sizes."""
    if problems := list(_check_shape(draft.table, shape)):
        return problems  # what follows needs a table that can be read
    name, names = draft.sort_column, draft.table.columns
    problems += _check_cells(draft.table)
    if name not in names:
        reason = f"Sorted by {name!r}, but the columns are {', '.join(names)}."
        problems.append(Problem(SORT_COLUMN, reason))
    elif None in draft.table.column(name):
        problems.append(Problem(SORT_EMPTY, f"No cell of the sort column {name!r} may be null."))
    elif not is_sorted(draft.table.column(name), draft.sort_order):
        reason = f"The rows are not in {draft.sort_order} order of {name!r}."
        problems.append(Problem(UNSORTED, reason))
    # the context states all of the table and no more (A.3.1)
    problems += check_prose(draft.context)
    read = Statements(draft.table, draft.context)
    for row, cells in enumerate(draft.table.rows):
        for column, place in read.locate(row).items():
            if place is None:
                what = f"{cells[column]!r} ({names[column]}) of {cells[read.key]!r}"
                problems.append(Problem(NOT_STATED, f"The context does not state {what}."))
    return [*problems, *check_numbers(read), *read.find_omissions()]


def _check_shape(table: Table, shape: Shape) -> Iterator[Problem]:
    for kind, what, size, least, most in (
        (COLUMNS, "columns", len(table.columns), shape.min_columns, shape.max_columns),
        (ROWS, "rows", len(table.rows), shape.min_rows, shape.max_rows),
    ):
        if not least <= size <= most:
            yield Problem(kind, f"The table has {size} {what}; it must have {least} to {most}.")
    names = Counter(map(header_key, table.columns))
    for name in table.columns:
        if not header_key(name) or '"' in name or names[header_key(name)] > 1:
            yield Problem(HEADER, f"The name {name!r} must be of one column, without quotes.")


def _check_cells(table: Table) -> Iterator[Problem]:
    key = primary_key(table)
    if all(cell is not None for row in table.rows for cell in row):
        yield Problem(NO_NULL, "At least one cell must be null.")
    for name in table.columns:
        cells = [cell for cell in table.column(name) if cell is not None]
        if not cells:
            yield Problem(EMPTY_COLUMN, f"The column {name!r} is empty.")
        for cell in cells:
            if is_blank(cell):
                yield Problem(BLANK_WORD, f"Write null for {cell!r} in the column {name!r}.")
            elif len(cell) > _LONGEST_CELL or ";" in cell or cell.count(", ") > 2:
                yield Problem(SEVERAL_VALUES, f"The cell {cell!r} ({name}) is no single value.")
    if None in table.column(table.columns[key]):
        name = table.columns[key]
        yield Problem(KEY_EMPTY, f"The column {name!r} names the rows; no cell there may be null.")
    for row, count in Counter(table.rows).items():
        if count > 1:
            yield Problem(SAME_ROW, f"The row of {row[key]!r} is in the table twice.")


def check_prose(text: str) -> Iterator[Problem]:
    """Sentences in paragraphs, and nothing about the task."""
    if match := pattern("notes").search(text):
        yield Problem(NOTE, f"Give the text alone, without {match[0][:60]!r}.")
    elif match := pattern("not_prose").search(text):
        yield Problem(NO_PROSE, f"Write whole sentences, no heading or list: {match[0][:60]!r}.")


def check_numbers(read: Statements) -> Iterator[Problem]:
    """No number that the table does not have."""
    cells = [(cell, col) for row in read.table.rows for col, cell in enumerate(row) if cell]
    said = [span for cell, column in cells for span in read.spans(cell, column)]
    known = " | ".join([read.table.title, *read.table.columns, *(cell for cell, _ in cells)])
    for span in read.places.amounts(0, len(read.text)):
        stated = read.text[slice(*span)]
        new = any(map(str.isdigit, stated)) and words_of(stated) not in words_of(known)
        if new and not overlap(span, said):
            yield Problem(EXTRA, f"The text says {stated!r}, which the table does not have.")


def check_adversarial(draft: KernelDraft, text: str, expansion: float) -> list[Problem]:
    """The long text (TableHallu, A.2.2 and A.3.2), as far as a program can read it.

    Whether a distractor meets the query is left to the verifier. ``expansion`` is how many times as
    many words as the base context it must have at least.
    """
    base = Statements(draft.table, draft.context)
    read = Statements(draft.table, text, base)
    words, least = len(text.split()), round(len(draft.context.split()) * expansion)
    short = Problem(TOO_SHORT, f"The text has {words} words; it needs {least} at least.")
    return [
        *([short] if words < least else []),
        *check_prose(text),
        *_check_preserved(read, base),
        *dict.fromkeys(read.find_omissions()),
        *dict.fromkeys(_check_names(read, base)),
    ]


def locate_facts(draft: KernelDraft, adversarial: str) -> tuple[Fact, ...]:
    """The gold facts with their places in both texts, row by row, each value as the texts write it.

    A cell that one of the texts does not state has no fact.
    """
    base = Statements(draft.table, draft.context)
    read = Statements(draft.table, adversarial, base)
    keys, names = draft.table.column(draft.table.columns[base.key]), draft.table.columns
    found = ((*stated, read.taken_over(stated[2])) for stated in _stated(base))
    return tuple(
        Fact(row, keys[row] or "", names[column], base.text[slice(*clean[:2])], None, clean, place)
        for row, column, clean, place in found
        if place
    )


def _stated(base: Statements) -> Iterator[tuple[int, int, Mention]]:
    for row in range(len(base.table.rows)):
        for column, clean in base.locate(row).items():
            if clean is not None:
                yield row, column, clean


def _check_preserved(read: Statements, base: Statements) -> Iterator[Problem]:
    """The long text has every value of the original, and has them spread."""
    lost: dict[str, Problem] = {}
    places = []
    for row, column, clean in _stated(base):
        if place := read.taken_over(clean):
            places.append(place)
            continue
        value, said = base.text[clean.start : clean.end], base.text[slice(*clean[2:])]
        what = f"{value!r} ({base.table.columns[column]} of {base.table.rows[row][base.key]!r})"
        reason = f"Keep {what}, in the words {said!r} and behind what a pronoun there points to."
        lost.setdefault(said, Problem(LOST, reason))
    yield from lost.values()
    starts = [start for start, _ in paragraph_spans(read.text)]
    paragraphs = {bisect_right(starts, place.start) for place in places}
    if len({place.sentence_start for place in places}) > 1:
        first, last = min(p.sentence_start for p in places), max(p.sentence_end for p in places)
        if len(paragraphs) < 2 or 3 * (last - first) < len(read.text):
            reason = "The sentences of the original are together; spread them over the whole text."
            yield Problem(CLUSTERED, reason)


def _check_names(read: Statements, base: Statements) -> Iterator[Problem]:
    """No new name is one of the table but for a letter (A.2.2)."""
    known = set(re.findall(r"\w+", fold(f"{base.text} {base.table.title}")))
    names = {row[base.key] or "" for row in base.table.rows}
    said = [(word, fold(word)) for word in re.findall(r"\w+", read.text)]
    for key in sorted(key for key in names if is_text(key) and not wordings(key)):
        words = re.findall(r"\w+", fold(key))
        for place in range(len(said) - len(words) + 1):
            like = zip(said[place : place + len(words)], words, strict=True)
            other = [(*new, own) for new, own in like if new[1] != own]
            name, new, own = other[0] if len(other) == 1 else ("", "", "")
            is_new = new not in known and name not in base.text
            if name[:1].isupper() and alike(new, own) and is_new:
                yield Problem(ALIKE, f"The name {name!r} resembles {key!r}: give it another.")


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
    return [*problems, *_check_cells_said(query, draft.table)]


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


def _check_cells_said(query: str, table: Table) -> Iterator[Problem]:
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
        problems += found
        ends = [end for end in (condition.low, condition.high) if end is not None]
        missing = [value for value in condition.values if not places.find(value)]
        missing += [end for end in ends if not _says_end(end, condition.column, places)]
        for said in missing if not found else ():
            reason = f'The condition on "{condition.column}" has {said!r}, which the query has not.'
            problems.append(Problem(NOT_IN_QUERY, reason))
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


def _says_end(end: str, column: str, places: Places) -> bool:
    """Whether the query says an end, or its neighbour: "after 2015" begins at 2016."""
    forms = [end]
    if (number := read_number(end)) is not None and number[0].is_integer():
        forms += [str(int(number[0]) - 1), str(int(number[0]) + 1)]
    elif (ordinal := read_date(end)) is not None:
        days = [date.fromordinal(int(ordinal) + step) for step in (-1, 0, 1)]
        forms += [form for day in days for form in (day.isoformat(), str(day.year))]
    return any(places.find(form, header_unit(column)) for form in forms)
