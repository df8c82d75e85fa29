"""What a program checks of a kernel and of a long text, before another model reads them.

Every check returns all problems that it finds, each in words that the writer can act on; none
means that nothing is wrong that a program can see.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence

from tablemend.datasets.tablehallu.columns import words_of
from tablemend.datasets.tablehallu.settings import Shape
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
from tablemend.detector.order import is_sorted
from tablemend.prompting.replies import Problem
from tablemend.records import Fact, Mention
from tablemend.tables.table import Table
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
    """Table and base context (TableHallu, A.1.2 and A.3.1).

    Args:
        draft: what the model wrote.
        shape: admitted numbers of rows and columns.
    """
    problems = [*_check_shape(draft.table, shape), *_check_header(draft.table)]
    if problems:
        return problems  # what follows needs a table that can be read
    problems = [
        *_check_cells(draft.table),
        *_check_rows(draft.table),
        *_check_order(draft),
    ]
    return [*problems, *_check_context(draft)]


def _check_shape(table: Table, shape: Shape) -> Iterator[Problem]:
    columns, rows = len(table.columns), len(table.rows)
    if not shape.min_columns <= columns <= shape.max_columns:
        yield Problem(
            COLUMNS,
            f"The table has {columns} columns; it must have {shape.min_columns} to "
            f"{shape.max_columns}.",
        )
    if not shape.min_rows <= rows <= shape.max_rows:
        yield Problem(
            ROWS,
            f"The table has {rows} rows; it must have {shape.min_rows} to {shape.max_rows}.",
        )


def _check_header(table: Table) -> Iterator[Problem]:
    seen: dict[str, str] = {}
    for name in table.columns:
        key = header_key(name)
        if not key or '"' in name:
            yield Problem(HEADER, f"The column name {name!r} must be words without quotes.")
        elif key in seen:
            yield Problem(HEADER, f"The columns {seen[key]!r} and {name!r} have one name.")
        seen[key] = name


def _check_cells(table: Table) -> Iterator[Problem]:
    if all(cell is not None for row in table.rows for cell in row):
        yield Problem(NO_NULL, "At least one cell must be null.")
    for name, cells in zip(table.columns, zip(*table.rows, strict=True), strict=True):
        if all(cell is None for cell in cells):
            yield Problem(EMPTY_COLUMN, f"The column {name!r} is empty.")
        for cell in cells:
            if cell is None:
                continue
            if is_blank(cell):
                yield Problem(BLANK_WORD, f"Write null for {cell!r} in the column {name!r}.")
            elif len(cell) > _LONGEST_CELL or ";" in cell or cell.count(", ") > 2:
                yield Problem(
                    SEVERAL_VALUES, f"The cell {cell!r} in the column {name!r} is no single value."
                )


def _check_rows(table: Table) -> Iterator[Problem]:
    key = primary_key(table)
    name = table.columns[key]
    entities = [row[key] for row in table.rows]
    if None in entities:
        yield Problem(KEY_EMPTY, f"The column {name!r} names the rows; no cell there may be null.")
    doubled = [row for row, count in Counter(table.rows).items() if count > 1]
    for row in doubled:
        yield Problem(SAME_ROW, f"The row of {row[key]!r} is in the table twice.")


def _check_order(draft: KernelDraft) -> Iterator[Problem]:
    if draft.sort_column not in draft.table.columns:
        names = ", ".join(draft.table.columns)
        yield Problem(
            SORT_COLUMN,
            f"The table has no column {draft.sort_column!r} to be sorted by; it has {names}.",
        )
        return
    cells = draft.table.column(draft.sort_column)
    if None in cells:
        yield Problem(SORT_EMPTY, f"No cell of the sort column {draft.sort_column!r} may be null.")
    elif not is_sorted(cells, draft.sort_order):
        yield Problem(
            UNSORTED, f"The rows are not in {draft.sort_order} order of {draft.sort_column!r}."
        )


def _check_context(draft: KernelDraft) -> Iterator[Problem]:
    yield from _check_prose(draft.context)
    table = draft.table
    statements = Statements(table, draft.context)
    for number, row in enumerate(table.rows):
        for column, place in statements.locate(number).items():
            if place is None:
                yield Problem(
                    NOT_STATED,
                    f"The context does not state {row[column]!r} ({table.columns[column]}) in a "
                    f"sentence about {row[statements.key]!r}.",
                )
    yield from _check_numbers(statements)
    yield from Omissions(statements).find()


def _check_prose(text: str) -> Iterator[Problem]:
    """Sentences in paragraphs, and nothing about the task."""
    if match := pattern("notes").search(text):
        yield Problem(NOTE, f"Give the text alone, without {match[0][:60]!r}.")
    elif match := pattern("not_prose").search(text):
        yield Problem(
            NO_PROSE, f"Write whole sentences without headings and lists, not {match[0][:60]!r}."
        )


def _check_numbers(statements: Statements) -> Iterator[Problem]:
    """The text says no more than the table (A.3.1), as far as digits tell."""
    table, places = statements.table, statements.places
    cells = [(cell, column) for row in table.rows for column, cell in enumerate(row) if cell]
    said = [span for cell, column in cells for span in statements.spans(cell, column)]
    written = words_of(" | ".join([table.title, *table.columns, *(cell for cell, _ in cells)]))
    for span in places.amounts(0, len(statements.text)):
        stated = statements.text[slice(*span)]
        if (
            any(map(str.isdigit, stated))
            and words_of(stated) not in written
            and not overlap(span, said)
        ):
            yield Problem(EXTRA, f"The text says {stated!r}, which the table does not have.")


def check_adversarial(draft: KernelDraft, text: str, expansion: float) -> list[Problem]:
    """The long text (TableHallu, A.2.2 and A.3.2), as far as a program can read it.

    Whether a distractor meets the query is left to the verifier.

    Args:
        draft: the kernel that it was made from.
        text: the long text.
        expansion: how many times as many words as the base context it must have at least.
    """
    base = Statements(draft.table, draft.context)
    statements = Statements(draft.table, text, base)
    return [
        *_check_length(draft, text, expansion),
        *_check_prose(text),
        *_check_preserved(statements),
        *dict.fromkeys(Omissions(statements).find()),
        *_check_names(statements),
        *_check_dispersal(locate_facts(draft, text), text),
    ]


def locate_facts(draft: KernelDraft, adversarial: str) -> tuple[Fact, ...]:
    """The gold facts with their places in both texts, row by row, each value as the texts write it.

    A cell that one of the texts does not state has no fact.
    """
    base = Statements(draft.table, draft.context)
    statements = Statements(draft.table, adversarial, base)
    return tuple(
        Fact(
            row,
            draft.table.rows[row][base.key] or "",
            draft.table.columns[column],
            draft.context[clean.start : clean.end],
            None,
            clean,
            place,
        )
        for row, column, clean in _stated(base)
        if (place := statements.taken_over(clean)) is not None
    )


def _stated(base: Statements) -> Iterator[tuple[int, int, Mention]]:
    for row in range(len(base.table.rows)):
        for column, clean in base.locate(row).items():
            if clean is not None:
                yield row, column, clean


def _check_length(draft: KernelDraft, text: str, expansion: float) -> Iterator[Problem]:
    least, words = round(len(draft.context.split()) * expansion), len(text.split())
    if words < least:
        yield Problem(TOO_SHORT, f"The text has {words} words; it needs {least} at least.")


def _check_preserved(statements: Statements) -> Iterator[Problem]:
    base = statements.base
    assert base is not None
    lost: dict[str, str] = {}
    for row, column, clean in _stated(base):
        if statements.taken_over(clean) is None:
            said = base.text[clean.sentence_start : clean.sentence_end]
            lost.setdefault(
                said,
                f"The text must keep {base.text[clean.start : clean.end]!r} "
                f"({base.table.columns[column]} of {base.table.rows[row][base.key]!r}), in the words "
                f"{said!r} and behind what a pronoun there points to.",
            )
    yield from (Problem(LOST, text) for text in lost.values())


def _check_names(statements: Statements) -> Iterator[Problem]:
    """No new name is one of the table but for a letter, a number or a word (A.2.2)."""
    base = statements.base
    assert base is not None
    known = set(re.findall(r"\w+", fold(" ".join((base.text, base.table.title)))))
    keys = {row[base.key] or "" for row in base.table.rows}
    for key in sorted(key for key in keys if is_text(key) and not wordings(key)):
        for span in statements.spans(key, base.key):
            follows = re.match(
                r" (?:[IVX]+|\d{1,2}|Junior|Plus|Pro|Max)\b", statements.text[span.end :]
            )
            if (
                follows
                and f"{key}{follows[0]}" not in base.text
                and f"{key}{follows[0]}" not in keys
            ):
                yield Problem(ALIKE, f"The name '{key}{follows[0]}' resembles {key!r}.")
        words = fold(key).split()
        for match in re.finditer(r"\b[A-Z\u00c0-\u00de]\w{4,}", statements.text):
            word = fold(match[0])
            for place, own in enumerate(words):
                if word not in known and alike(word, own):
                    before = (
                        statements.text[: match.start()].casefold().split()[-place:]
                        if place
                        else []
                    )
                    if before == words[:place]:
                        yield Problem(ALIKE, f"The name {match[0]!r} resembles {key!r}.")


def _check_dispersal(facts: Sequence[Fact], text: str) -> Iterator[Problem]:
    places = [fact.adversarial for fact in facts]
    if len({place.sentence_start for place in places}) < 2:
        return
    first = min(place.sentence_start for place in places)
    last = max(place.sentence_end for place in places)
    paragraphs = paragraph_spans(text)
    held = sum(any(span.start <= place.start < span.end for place in places) for span in paragraphs)
    if held < 2 or 3 * (last - first) < len(text):
        yield Problem(
            CLUSTERED,
            "The sentences of the original stand together; spread them over the whole text.",
        )
