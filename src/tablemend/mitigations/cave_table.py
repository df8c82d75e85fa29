"""CAVE for answer tables: cells and rows are flagged without a gold table, by the context alone.

A flagged cell is asked for again and may become blank; a flagged row stays or is dropped, which
the model is asked; no other cell changes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from tablemend.backends.requests import Message
from tablemend.detector.query import columns_from_query
from tablemend.mitigations.answer_tables import BLANK, blank_for, put_back, rows_left, table_left
from tablemend.mitigations.edits import Draft, Edit, Mended
from tablemend.mitigations.repair_columns import Shape, in_order
from tablemend.mitigations.rewrite_prompts import (
    CELL,
    PROMPTS,
    ROW,
    evidence,
    findings,
    read_cell,
    read_row,
)
from tablemend.mitigations.rewriting import NO_BETTER, Rewriting
from tablemend.records import Verdict, Verification
from tablemend.tables.extract import Extraction, extract_table
from tablemend.tables.table import Cell, Table

VERSION = "cave-table/3"


class Place(NamedTuple):
    """A row of the original answer, and a column of it; ``None`` for the whole row."""

    row: int
    column: int | None

    @property
    def order(self) -> tuple[int, int]:
        """Rows before their cells."""
        return self.row, -1 if self.column is None else self.column


def open_table(draft: Draft) -> TableRewriting | None:
    """The table of an answer, to be rewritten; ``None`` where there is none."""
    assert draft.format is not None
    columns = columns_from_query(draft.evidence.query) or ()
    found = extract_table(draft.text, draft.format, columns, draft.evidence.text)
    return None if found.table is None else TableRewriting(draft, found, found.table)


class TableRewriting(Rewriting[Place]):
    """An answer table.

    Attributes:
        shape: the answer, its columns in the query's order.
        cells: every row as it is now; ``None`` for one that was dropped.
        edits: what was changed, by place.
        kept: rows that the model wants to keep.
    """

    def __init__(self, draft: Draft, found: Extraction, table: Table) -> None:
        super().__init__(draft)
        self._found = found
        self.shape = Shape(table, table.columns)
        self.cells: list[list[Cell] | None] = [list(row) for row in table.rows]
        self.edits: dict[Place, Edit] = {}
        self.kept: set[int] = set()

    def put_in_order(self) -> bool:
        """Which column is whose decides what its cells say: columns come first, by program."""
        self.shape = in_order(self.shape.table, self.draft.evidence.query)
        self.cells = [list(row) for row in self.shape.table.rows]
        return bool(self.shape.edits)

    def document(self, wanted: Mapping[Place, Cell]) -> Table:
        """The table with some cells changed and rows dropped."""
        return table_left(self.shape.table, self._changed(wanted))

    def _changed(self, wanted: Mapping[Place, Cell]) -> list[list[Cell] | None]:
        cells = [None if row is None else list(row) for row in self.cells]
        for place, new in sorted(wanted.items(), key=lambda item: item[0].order):
            row = cells[place.row]
            if place.column is None:
                cells[place.row] = None
            elif row is not None:
                row[place.column] = new
        return cells

    def _wrong(
        self, found: Verification, wanted: Mapping[Place, Cell]
    ) -> dict[Place, list[Verdict]]:
        """Wrong cells and rows, by their places in the original."""
        rows, columns = rows_left(self._changed(wanted)), self.shape.table.columns
        wrong: dict[Place, list[Verdict]] = {}
        for verdict in found.verdicts:
            claim = verdict.claim
            if verdict.wrong and claim.row is not None:
                column = None if claim.column is None else columns.index(claim.column)
                wrong.setdefault(Place(rows[claim.row], column), []).append(verdict)
        return wrong

    def flagged(self) -> dict[Place, list[Verdict]]:
        """Cells of a flagged row wait until the row is decided."""
        wrong = self._wrong(self.now, {})
        found = {
            place: verdicts
            for place, verdicts in wrong.items()
            if place.column is not None or place.row not in self.kept
        }
        return {
            place: verdicts
            for place, verdicts in found.items()
            if place.column is None or Place(place.row, None) not in found
        }

    def key(self, place: Place) -> Place:
        """Places are those of the original."""
        return place

    def prompt(self, place: Place, verdicts: Sequence[Verdict]) -> Sequence[Message]:
        """The prompt for a cell or a row."""
        slots = {
            "query": self.draft.evidence.query or "(not known)",
            "row": _one_line(self.shape.table.columns, self.cells[place.row] or ()),
            "findings": findings(verdicts),
            "evidence": evidence(verdicts, self.draft.evidence),
        }
        if place.column is None:
            return PROMPTS.render(ROW, **slots)
        column = self.shape.table.columns[place.column]
        return PROMPTS.render(CELL, column=column, cell=self._cell(place) or BLANK, **slots)

    def _cell(self, place: Place) -> Cell:
        row = self.cells[place.row]
        assert row is not None and place.column is not None
        return row[place.column]

    def read(self, place: Place, answer: str) -> None:
        """A cell, or whether a row stays."""
        if place.column is None:
            if read_row(answer):
                self.kept.add(place.row)
            else:
                self.wanted[place] = None
            return
        new = read_cell(answer)
        new = blank_for(self._found) if new is None else new
        if new == self._cell(place):
            self.give_up(place, new, NO_BETTER)
        else:
            self.wanted[place] = new

    def failing(self, after: Verification) -> list[Place]:
        """Cells that are wrong again, or whose row has as many errors as before.

        Where the table as a whole is no better, all changes.
        """
        still = self._wrong(after, self.wanted)
        was, now = _by_row(self._wrong(self.now, {})), _by_row(still)
        failing = [
            place
            for place in self.wanted
            if place.column is not None and (place in still or now[place.row] >= was[place.row])
        ]
        is_better = after.wrong < self.now.wrong
        return failing if failing or is_better else list(self.wanted)

    def edit(self, place: Place, new: Cell, reason: str) -> Edit:
        """Against the original."""
        row, columns = self.shape.table.rows[place.row], self.shape.table.columns
        error_type = self.asked[place].verdicts[0].error_type
        if place.column is None:
            return Edit(_one_line(columns, row), new, reason, VERSION, error_type, row=place.row)
        old, name = row[place.column] or "", self.shape.names[place.column]
        return Edit(old, new, reason, VERSION, error_type, row=place.row, column=name)

    def take(self) -> None:
        """A dropped row needs no edits of its cells."""
        self.cells = self._changed(self.wanted)
        for place, new in self.wanted.items():
            if place.column is None:
                self.edits = {one: own for one, own in self.edits.items() if one.row != place.row}
            shown = None if new in (None, BLANK) else new
            self.edits[place] = self.edit(place, shown, self.asked[place].reason)

    def mended(self) -> Mended:
        """The answer with its table put back."""
        cells = (self.edits[place] for place in sorted(self.edits, key=lambda one: one.order))
        edits, undone = (*self.shape.edits, *cells), tuple(self.undone)
        text, usage = self.draft.text, self.usage
        mended = Mended(text, edits, undone, self.before, self.now, usage, self.passes)
        return put_back(mended, self._found, self.document({}))


def _by_row(wrong: Mapping[Place, Sequence[Verdict]]) -> Counter[int]:
    counts: Counter[int] = Counter()
    for place, verdicts in wrong.items():
        counts[place.row] += len(verdicts)
    return counts


def _one_line(columns: Sequence[str], row: Sequence[Cell]) -> str:
    return "; ".join(f"{name}: {cell or BLANK}" for name, cell in zip(columns, row, strict=True))
