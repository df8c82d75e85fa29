"""Repair of an answer table without a model, from its context and query alone.

Columns and rows are put into the query's order, rows out of its scope dropped, contradicted cells
replaced and blank ones filled where one value can be meant. Nothing is edited on doubt, no cell is
blanked, and every edit says its reason.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from tablemend.detector.algorithm import AnswerFormat
from tablemend.detector.query import columns_from_query, is_sorted, sort_rows, sort_rule_from_query
from tablemend.mitigations.edits import Edit, Mended
from tablemend.records import Verdict, Verification
from tablemend.tables.extract import Extraction, extract_table
from tablemend.tables.read import READERS, write_table
from tablemend.tables.table import Cell, Table, TableError
from tablemend.values.cells import is_blank, read_value, same_value
from tablemend.values.text import akin, content_words, header_key
from tablemend.values.units import header_unit
from tablemend.verifier.answer_table.verify import VERSION as VERIFIER
from tablemend.verifier.answer_table.verify import (
    AnswerVerifier,
    FieldsVerifier,
    answer_notes,
    is_info_box,
    open_answer_verifier,
)
from tablemend.verifier.extraction import answer_claims

TABLE_VERSION, COLUMNS_VERSION = "repair-table/11", "repair-columns/2"
BLANK = "-"
_WHOLE = -1  # in place of a column: the row
_DIGITS = re.compile(r"-?\d[\d,.]*\d|-?\d")


def repair_answer(
    text: str, context: str, query: str = "", format: AnswerFormat = "auto"
) -> Mended:
    """Repair the table in a raw answer; what surrounds it stays byte for byte.

    An answer without a readable table stays as it is; ``before.notes`` says why.

    Args:
        text: the raw answer.
        context: the text that it was made from.
        query: the question, which says rows, columns and order; may be empty.
        format: the answer's format, which is kept.
    """
    found = extract_table(text, format, columns_from_query(query) or (), context)
    if found.table is None:
        note = found.reason or "a table without rows"
        nothing = Verification((), VERIFIER, notes=(f"not repaired: {note}",))
        return Mended(text, before=nothing, after=nothing)
    table, mended = repair_table(found.table, context, query)
    return put_back(replace(mended, text=text), found, table)


def repair_table(table: Table, context: str, query: str = "") -> tuple[Table, Mended]:
    """The same of a table: as it is now, and what was done, its text left empty."""
    verifier = open_answer_verifier(table, context, query)
    before = _verification(verifier, query)
    reason = ""
    if not context.strip():
        reason = "the context is empty"
    elif table.duplicate_columns():
        reason = "two of its columns have one name"
    elif is_info_box(table):
        reason = "an info box is verified only"
    if reason or not isinstance(verifier, AnswerVerifier):
        before = replace(before, notes=(*before.notes, f"not repaired: {reason}"))
        return table, Mended("", before=before, after=before)
    shape = in_order(table, query)
    if shape.edits:
        verifier = AnswerVerifier(shape.table, context, query)
    if verifier.lacks_names(tuple(verifier.missing_columns())):
        return table, Mended("", before=before, after=before)
    draft = _Repair(shape)
    draft.mend_all(verifier)
    final, order = _sort(table_left(shape.table, draft.cells), query)
    edits = (*shape.edits, *draft.edits.values(), *order)
    if not edits:
        return table, Mended("", before=before, after=before)
    after = _verification(AnswerVerifier(final, context, query), query)
    return final, Mended("", edits, (), before, after, passes=1)


def _verification(verifier: AnswerVerifier | FieldsVerifier, query: str) -> Verification:
    document = answer_claims(verifier.table, query)
    verdicts = tuple(verifier.verify(claim) for claim in document.claims)
    return Verification(verdicts, VERIFIER, notes=answer_notes(verifier.table, query))


class _Repair:
    """An answer table in the making; rows are numbered as in the original.

    Args:
        shape: the answer, its columns in order.
    """

    def __init__(self, shape: Shape) -> None:
        self.shape = shape
        self.cells: list[list[Cell] | None] = [list(row) for row in shape.table.rows]
        self.edits: dict[tuple[int, int], Edit] = {}

    def mend_all(self, verifier: AnswerVerifier) -> None:
        """Mend everything that is clear."""
        verdicts = _verification(verifier, verifier.query).verdicts
        rows = [verdict for verdict in verdicts if verdict.claim.column is None]
        # Where no row belongs, and nothing else in the context does, the query was misread.
        none_belongs = len(rows) > 1 and all(verdict.wrong for verdict in rows)
        doubtful = none_belongs and not verifier.has_others_in_scope()
        for verdict in verdicts:
            if verdict.wrong and not (doubtful and verdict.claim.column is None):
                self.mend(verifier, verdict)
        self.fill(verifier)

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns as they are now."""
        return self.shape.table.columns

    def mend(self, verifier: AnswerVerifier, verdict: Verdict) -> None:
        """Edit what a verdict is about, where the evidence is clear."""
        claim = verdict.claim
        assert claim.row is not None
        if claim.column is None:
            if verdict.verdict == "contradicted" or verifier.is_unknown(claim.row):
                old = " | ".join(cell or "" for cell in self.shape.table.rows[claim.row])
                self.edits[claim.row, _WHOLE] = Edit(
                    row=claim.row,
                    old=old,
                    new=None,
                    type=verdict.error_type,
                    reason=verdict.reason,
                    method=TABLE_VERSION,
                )
                self.cells[claim.row] = None
            return
        column = self.columns.index(claim.column)
        row = self.cells[claim.row]
        if column == verifier.key or row is None:
            return
        record = verifier.record(claim.row)
        said = record is None or verifier.sentences_with(claim.row, column, record)
        clear = not said and (verifier.is_explicit or verifier.is_never_said(claim.row, column))
        if clear and verifier.is_quoted(column) and len(verdict.expected) == 1:
            new = self._spell(column, verdict.expected[0])
            self._set(claim.row, column, new, verdict.reason, verdict)

    def fill(self, verifier: AnswerVerifier) -> None:
        """Fill blank cells whose value the context plainly states."""
        for number in rows_left(self.cells):
            cells = self.shape.table.rows[number]
            for column, cell in enumerate(cells):
                if column == verifier.key or not is_blank(cell) or not verifier.name(number):
                    continue
                said = verifier.stated_instead(number, column)
                if said is None:
                    continue
                new = self._spell(column, said)
                reason = f"the context gives {self.columns[column]!r} as {new!r}"
                self._set(number, column, new, reason, None)

    def _set(self, row: int, column: int, new: str, reason: str, verdict: Verdict | None) -> None:
        cells = self.cells[row]
        assert cells is not None
        if new != cells[column]:
            self.edits[row, column] = Edit(
                row=row,
                column=self.shape.names[column],
                old=cells[column] or "",
                new=new,
                type=verdict.error_type if verdict else None,
                reason=reason,
                method=TABLE_VERSION,
            )
            cells[column] = new

    def _spell(self, column: int, said: str) -> str:
        """A value without the unit that the header states or the other cells leave out."""
        value, unit = read_value(said), header_unit(self.columns[column])
        if value.number is None or not (value.number.unit.symbol or value.number.unit.currency):
            return said
        others = [read_value(row[column]).number for row in self.shape.table.rows]
        stated = [one for one in others if one is not None]
        if any(one.unit.symbol or one.unit.currency for one in stated):
            return said
        match = _DIGITS.search(said)
        bare = match[0] if match else said
        return bare if same_value(bare, said, unit) else said


def _sort(table: Table, query: str) -> tuple[Table, tuple[Edit, ...]]:
    """The rows in the query's order, where it states one that they do not have."""
    rule = sort_rule_from_query(query, table.columns) if query.strip() else None
    if rule is None or len(table.rows) < 2:
        return table, ()
    column = table.columns.index(rule.column)
    cells = [row[column] for row in table.rows]
    order = None if is_sorted(cells, rule.order) else sort_rows(cells, rule.order)
    if order is None:
        return table, ()
    rows = [table.rows[place] for place in order]
    old, new = (
        " | ".join(cell or "" for cell in one) for one in (cells, [r[column] for r in rows])
    )
    reason = f"the query asks for {rule.order} order by {rule.column!r}"
    edit = Edit(old=old, new=new, reason=reason, method=TABLE_VERSION)
    return Table.of(table.columns, rows, table.title), (edit,)


class Shape(NamedTuple):
    """An answer with its columns in the query's order.

    Attributes:
        table: the table.
        names: the name of each of its columns in the original.
        edits: what was changed.
    """

    table: Table
    names: tuple[str, ...]
    edits: tuple[Edit, ...] = ()


def in_order(table: Table, query: str) -> Shape:
    """Name, order and drop columns as a query lists them; none is added.

    The table stays as it is where it is not plain which of its columns is which: no two of one
    name, half of the list must be there, and an unknown column is renamed only where it shares
    words with one that is missing and no other pair does; else it is dropped where none is missing.
    """
    as_it_is = Shape(table, table.columns)
    wanted = columns_from_query(query) or ()
    known = {header_key(name): index for index, name in enumerate(table.columns)}
    found = {name: known[header_key(name)] for name in wanted if header_key(name) in known}
    if table.duplicate_columns() or 2 * len(found) < len(wanted) or len(found) < 2:
        return as_it_is
    extra = [index for index in range(len(table.columns)) if index not in found.values()]
    missing = [name for name in wanted if name not in found]
    edits = []

    def note(old: str, new: str | None, reason: str, column: str | None = None) -> None:
        edits.append(Edit(column=column, old=old, new=new, reason=reason, method=COLUMNS_VERSION))

    pairs = [(i, name) for i in extra for name in missing if _share_words(table.columns[i], name)]
    if len(pairs) == 1:
        unnamed, name = pairs[0]
        found[name] = unnamed
        extra.remove(unnamed)
        missing.remove(name)
        old, reason = table.columns[unnamed], f"the query calls this column {name!r}"
        note(old, name, reason, column=old)
    if missing and extra:
        return as_it_is
    for unknown in extra:
        old = table.columns[unknown]
        note(old, None, "the query lists no such column", column=old)
    order = {name: found[name] for name in wanted if name in found}
    places = list(order.values())
    if sorted(places) != places:
        old, new = (
            " | ".join(table.columns[place] for place in one) for one in (sorted(places), places)
        )
        note(old, new, "the query lists the columns in this order")
    if not edits:
        return as_it_is
    # A name that differs in print alone stays as the answer writes it.
    names = tuple(table.columns[place] for place in places)
    columns = [
        old if header_key(old) == header_key(name) else name
        for name, old in zip(order, names, strict=True)
    ]
    rows = [[row[place] for place in places] for row in table.rows]
    return Shape(Table.of(columns, rows, table.title), names, tuple(edits))


def _share_words(one: str, other: str) -> bool:
    """Whether two names of columns share a word of meaning, or one begins with the other."""
    left, right = header_key(one), header_key(other)
    if left.startswith(right) or right.startswith(left):
        return True
    return any(akin(a, b) for a in content_words(one) for b in content_words(other))


def rows_left(cells: Sequence[Sequence[Cell] | None]) -> list[int]:
    """Numbers of an answer's rows that are left; those that were dropped are ``None``."""
    return [number for number, row in enumerate(cells) if row is not None]


def table_left(original: Table, cells: Sequence[Sequence[Cell] | None]) -> Table:
    """An answer's table with its cells as they are now, without the rows that were dropped."""
    rows = [row for row in cells if row is not None]
    return Table.of(original.columns, rows, original.title)


def put_back(mended: Mended, found: Extraction, table: Table) -> Mended:
    """An edited answer with its table written, in the format and at the place of the old one.

    Where the format cannot carry the table, nothing is edited.

    Args:
        mended: with the text as it was.
        found: the place of its table.
        table: the new one; a blank is written as ``-``, in JSON as null.
    """
    if not mended.edits:
        return mended
    try:
        assert found.format is not None
        old = mended.text[found.start : found.end]
        new = write_table(table, found.format)
        if READERS[found.format](new).rows != table.rows:
            raise TableError(f"the table does not read the same as {found.format}")
        end = old[len(old.rstrip()) :]
        text = mended.text[: found.start] + new.rstrip() + end + mended.text[found.end :]
        return replace(mended, text=text)
    except TableError as error:
        lost = (edit.model_copy(update={"reason": str(error)}) for edit in mended.edits)
        return replace(mended, edits=(), undone=(*mended.undone, *lost), after=mended.before)
