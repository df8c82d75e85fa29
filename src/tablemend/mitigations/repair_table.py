"""Repair of an answer table without a model, from its context and query alone.

Columns and rows are put into the query's order, rows out of its scope dropped, contradicted cells
replaced and blank ones filled where one value can be meant. Nothing is edited on doubt, no cell is
blanked, and every edit says its reason.
"""

from __future__ import annotations

import re
from dataclasses import replace

from tablemend.claims.answers import answer_claims
from tablemend.detector.algorithm import AnswerFormat
from tablemend.detector.query import columns_from_query, is_sorted, sort_rows, sort_rule_from_query
from tablemend.mitigations.answer_tables import put_back, rows_left, table_left
from tablemend.mitigations.edits import Edit, Mended
from tablemend.mitigations.repair_columns import Shape, in_order
from tablemend.records import Verdict, Verification
from tablemend.tables.extract import extract_table
from tablemend.tables.table import Cell, Table
from tablemend.values.blanks import is_blank
from tablemend.values.cells import read_value, same_value
from tablemend.values.units import header_unit
from tablemend.verifier.context import VERSION as VERIFIER
from tablemend.verifier.context import AnswerVerifier, FieldsVerifier, open_answer_verifier
from tablemend.verifier.context_notes import answer_notes, is_info_box

VERSION = "repair-table/10"
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
    """Repair an answer table.

    Args:
        table: the answer.
        context: the text that it was made from.
        query: the question; may be empty.

    Returns:
        The table as it is now; what was done, its text left empty.
    """
    verifier = open_answer_verifier(table, context, query)
    before = _verification(verifier, query)
    reason = _why_not(table, context)
    if reason or not isinstance(verifier, AnswerVerifier):
        before = replace(before, notes=(*before.notes, f"not repaired: {reason}"))
        return table, Mended("", before=before, after=before)
    shape = in_order(table, query)
    if shape.edits:
        verifier = AnswerVerifier(shape.table, context, query)
    if verifier.lacks_names(tuple(verifier.missing_columns())):
        return table, Mended("", before=before, after=before)
    draft = _Draft.made(shape, verifier)
    final, order = _sort(draft, query)
    edits = (*shape.edits, *draft.edits.values(), *order)
    if not edits:
        return table, Mended("", before=before, after=before)
    after = _verification(AnswerVerifier(final, context, query), query)
    return final, Mended("", edits, (), before, after, passes=1)


def _why_not(table: Table, context: str) -> str:
    """Why a table is not repaired at all; empty where it may be."""
    if not context.strip():
        return "the context is empty"
    if table.duplicate_columns():
        return "two of its columns have one name"
    if is_info_box(table):
        return "an info box is verified only"
    return ""


def _verification(verifier: AnswerVerifier | FieldsVerifier, query: str) -> Verification:
    document = answer_claims(verifier.table, query)
    verdicts = tuple(verifier.verify(claim) for claim in document.claims)
    return Verification(verdicts, VERIFIER, notes=answer_notes(verifier.table, query))


class _Draft:
    """An answer table in the making; rows are numbered as in the original.

    Args:
        shape: the answer, its columns in order.
    """

    def __init__(self, shape: Shape) -> None:
        self.shape = shape
        self.cells: list[list[Cell] | None] = [list(row) for row in shape.table.rows]
        self.edits: dict[tuple[int, int], Edit] = {}

    @classmethod
    def made(cls, shape: Shape, verifier: AnswerVerifier) -> _Draft:
        """The answer with everything mended that is clear."""
        draft = cls(shape)
        verdicts = _verification(verifier, verifier.query).verdicts
        rows = [verdict for verdict in verdicts if verdict.claim.column is None]
        # Where no row belongs, and nothing else in the context does, the query was misread.
        none_belongs = len(rows) > 1 and all(verdict.wrong for verdict in rows)
        doubtful = none_belongs and not verifier.has_others_in_scope()
        for verdict in verdicts:
            if verdict.wrong and not (doubtful and verdict.claim.column is None):
                draft.mend(verifier, verdict)
        draft.fill(verifier)
        return draft

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns as they are now."""
        return self.shape.table.columns

    @property
    def rows(self) -> list[int]:
        """Numbers of the rows that are left."""
        return rows_left(self.cells)

    @property
    def table(self) -> Table:
        """The table as it is now."""
        return table_left(self.shape.table, self.cells)

    def mend(self, verifier: AnswerVerifier, verdict: Verdict) -> None:
        """Edit what a verdict is about, where the evidence is clear."""
        claim = verdict.claim
        assert claim.row is not None
        if claim.column is None:
            if verdict.verdict == "contradicted" or verifier.is_unknown(claim.row):
                old = " | ".join(cell or "" for cell in self.shape.table.rows[claim.row])
                self._note(claim.row, _WHOLE, Edit(old, None, verdict.reason, VERSION), verdict)
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
        for number in self.rows:
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
            name = self.shape.names[column]
            edit = Edit(cells[column] or "", new, reason, VERSION, column=name)
            self._note(row, column, edit, verdict)
            cells[column] = new

    def _note(self, row: int, column: int, edit: Edit, verdict: Verdict | None) -> None:
        error = verdict.error_type if verdict else None
        self.edits[row, column] = replace(edit, row=row, error_type=error)

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


def _sort(draft: _Draft, query: str) -> tuple[Table, tuple[Edit, ...]]:
    """The rows in the query's order, where it states one that they do not have."""
    table = draft.table
    rule = sort_rule_from_query(query, table.columns) if query.strip() else None
    if rule is None or len(table.rows) < 2:
        return table, ()
    column = table.columns.index(rule.column)
    cells = [row[column] for row in table.rows]
    if is_sorted(cells, rule.order):
        return table, ()
    order = sort_rows(cells, rule.order)
    if order is None:
        return table, ()
    rows = [table.rows[place] for place in order]
    old, new = (
        " | ".join(cell or "" for cell in one) for one in (cells, [r[column] for r in rows])
    )
    reason = f"the query asks for {rule.order} order by {rule.column!r}"
    return Table.of(table.columns, rows, table.title), (Edit(old, new, reason, VERSION),)
