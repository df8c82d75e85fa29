"""What a program checks of a kernel and of a long text, before another model reads them.

Every check returns all problems that it finds, each in words that the writer can act on; none
means that nothing is wrong that a program can see.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator

from tablemend.datasets.source_tables.columns import words_of
from tablemend.datasets.tablehallu_llm.omissions import Omissions
from tablemend.datasets.tablehallu_llm.parsing import KernelDraft
from tablemend.datasets.tablehallu_llm.statements import (
    Statements,
    alike,
    is_text,
    overlap,
    pattern,
    wordings,
)
from tablemend.detector.keys import primary_key
from tablemend.detector.query import is_sorted
from tablemend.prompting.replies import Problem
from tablemend.records import Fact, Mention
from tablemend.tables.table import Table
from tablemend.tasks.tablehallu.settings import Shape
from tablemend.values.blanks import is_blank
from tablemend.values.sentences import paragraph_spans
from tablemend.values.text import fold, header_key

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

_LONGEST_CELL = 80


def check_kernel(draft: KernelDraft, shape: Shape) -> list[Problem]:
    """Table and base context (TableHallu, A.1.2 and A.3.1); ``shape`` admits sizes."""
    # what follows needs a table that can be read
    return list(_check_shape(draft.table, shape)) or [
        *_check_cells(draft.table),
        *_check_order(draft),
        *_check_context(draft),
    ]


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


def _check_order(draft: KernelDraft) -> Iterator[Problem]:
    name, names = draft.sort_column, draft.table.columns
    if name not in names:
        yield Problem(SORT_COLUMN, f"Sorted by {name!r}, but the columns are {', '.join(names)}.")
    elif None in draft.table.column(name):
        yield Problem(SORT_EMPTY, f"No cell of the sort column {name!r} may be null.")
    elif not is_sorted(draft.table.column(name), draft.sort_order):
        yield Problem(UNSORTED, f"The rows are not in {draft.sort_order} order of {name!r}.")


def _check_context(draft: KernelDraft) -> Iterator[Problem]:
    """All of the table and no more (A.3.1), as far as a program can tell."""
    yield from check_prose(draft.context)
    read = Statements(draft.table, draft.context)
    for row, cells in enumerate(draft.table.rows):
        for column, place in read.locate(row).items():
            if place is None:
                name, about = draft.table.columns[column], cells[read.key]
                reason = f"The context does not state {cells[column]!r} ({name}) of {about!r}."
                yield Problem(NOT_STATED, reason)
    yield from check_numbers(read)
    yield from Omissions(read).find()


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
        *dict.fromkeys(Omissions(read).find()),
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
