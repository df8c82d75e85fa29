"""CAVE: a model rewrites what a verifier flags in texts and answer tables (TabFaith, section 5).

In a text the words of wrong claims are rewritten, and nothing around them. Cells and rows of a
table are flagged without a gold table, by the context alone: a flagged cell is asked for again and
may become blank; a flagged row stays or is dropped, which the model is asked.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from tablemend.backends.requests import Message
from tablemend.mitigations.edits import (
    Draft,
    Edit,
    Mended,
    Tools,
    add_edit,
    apply_edits,
    is_asked,
    narrowed,
)
from tablemend.mitigations.repair_table import (
    BLANK,
    Shape,
    in_order,
    put_back,
    rows_left,
    table_left,
)
from tablemend.mitigations.repair_text import find_corrections
from tablemend.mitigations.rewriting import (
    CELL,
    COMPARISON,
    NO_BETTER,
    PROMPTS,
    RELATION,
    ROW,
    STRATEGIES,
    Rewriting,
    computed,
    evidence,
    findings,
    is_computed,
    read_cell,
    read_rewrite,
    read_row,
    rewrite,
)
from tablemend.prompting.replies import Unreadable
from tablemend.records import ClaimError, Verdict, Verification
from tablemend.tables.extract import Extraction
from tablemend.tables.table import Cell, Table
from tablemend.values.text import Span

TEXT_VERSION, TABLE_VERSION = "cave/2", "cave-table/3"
LOST = "unflagged words lost"


def cave(drafts: Sequence[Draft], tools: Tools) -> list[Mended]:
    """Texts and answer tables, rewritten; an answer without its table stays as it is."""
    works: list[Rewriting[Any] | None] = []
    for draft in drafts:
        found = draft.read()
        if draft.format is None:
            works.append(TextRewriting(draft))
        else:
            table = found.table
            works.append(None if table is None else TableRewriting(draft, found, table))
    rewrite([work for work in works if work is not None], tools)
    return [
        Mended(draft.text) if work is None else work.mended()
        for draft, work in zip(drafts, works, strict=True)
    ]


class Words(NamedTuple):
    """Words to be rewritten, at their place in the text as it is now, and their sentence's."""

    start: int
    end: int
    sentence: Span


class TextRewriting(Rewriting[Words]):
    """A text; claims that overlap are rewritten together."""

    def __init__(self, draft: Draft) -> None:
        super().__init__(draft)
        self.edits: tuple[Edit, ...] = ()
        self._suggested: list[Edit] = []

    @property
    def text(self) -> str:
        """The text as it is now."""
        return apply_edits(self.draft.text, self.edits)

    def document(self, wanted: Mapping[Words, Cell]) -> str:
        text = self.text
        for place in sorted(wanted, reverse=True):
            text = text[: place.start] + (wanted[place] or "") + text[place.end :]
        return text

    def flagged(self) -> dict[Words, list[Verdict]]:
        """The words of wrong claims, in the order of the text; those that overlap are one."""
        # What repair would do: a model that is given the value need not work it out.
        possible = find_corrections(self.text, self.draft.evidence, self.now)
        self._suggested = [one.edit for one in possible if not one.doubt]
        wrong = [
            (Words(claim.start, claim.end, claim.sentence or Span(claim.start, claim.end)), one)
            for one in self.now.verdicts
            if one.wrong and not is_asked(self.text, one)
            if (claim := one.claim).start is not None and claim.end is not None
        ]
        found: list[tuple[Words, list[Verdict]]] = []
        for place, verdict in sorted(wrong, key=lambda item: item[0][:2]):
            if found and place.start < found[-1][0].end:
                last, verdicts = found.pop()
                sentence = Span(
                    min(last.sentence.start, place.sentence.start),
                    max(last.sentence.end, place.sentence.end),
                )
                place = Words(last.start, max(last.end, place.end), sentence)
                found.append((place, [*verdicts, verdict]))
            else:
                found.append((place, [verdict]))
        return dict(found)

    def key(self, place: Words) -> str:
        """The words: their place moves with what is rewritten before them."""
        return self.text[place.start : place.end]

    def prompt(self, place: Words, verdicts: Sequence[Verdict]) -> Sequence[Message]:
        strategy = STRATEGIES.get(_error_type(verdicts), RELATION)
        slots = {
            "sentence": self.text[place.sentence.start : place.sentence.end],
            "words": self.key(place),
            "findings": findings(verdicts, self._suggested),
            "evidence": evidence(verdicts, self.draft.evidence),
        }
        if strategy == COMPARISON or any(map(is_computed, verdicts)):
            strategy = COMPARISON
            slots["computed"] = computed(self.text, verdicts, self.draft.evidence)
        return PROMPTS.render(strategy, **slots)

    def read(self, place: Words, answer: str) -> None:
        """The rewrite; what claims that are not flagged turn on must be left in it."""
        words, before = self.key(place), self.text[place.sentence.start : place.start]
        new = read_rewrite(answer, words, before, self.text[place.end : place.sentence.end])
        faults = [  # where a verifier blames no words, those that the claim turns on
            span
            for one in self.asked[place].verdicts
            for span in one.spans or filter(None, [one.claim.focus])
        ]
        for verdict in self.now.verdicts:
            focus = verdict.claim.focus
            if verdict.wrong or focus is None:
                continue
            right = self.text[focus.start : focus.end]
            is_inside = place.start <= focus.start and focus.end <= place.end
            if any(fault.start < focus.end and focus.start < fault.end for fault in faults):
                continue
            if is_inside and right not in new:
                raise Unreadable(LOST, f'"{right}" is not wrong: it must stay.')
        if new == words:
            self.give_up(place, new, NO_BETTER)
        else:
            self.wanted[place] = new

    def failing(self, after: Verification) -> list[Words]:
        """Rewrites after which no fewer of their own claims are wrong.

        All of them, where claims outside of them have become wrong: a sentence that goes on from
        a rewritten one may have lost its subject.
        """
        failing = []
        inside = shift = was_inside = 0
        for place in sorted(self.wanted):
            start = place.start + shift
            end = start + len(self.wanted[place] or "")
            shift = end - place.end
            wrong = sum(one.wrong and one.claim.touches(start, end) for one in after.verdicts)
            was = len(self.asked[place].verdicts)
            inside, was_inside = inside + wrong, was_inside + was
            if wrong >= was:
                failing.append(place)
        is_worse = after.wrong - inside > self.now.wrong - was_inside
        return list(self.wanted) if is_worse else failing

    def edit(self, place: Words, new: Cell, reason: str) -> Edit:
        error_type = _error_type(self.asked[place].verdicts)
        return Edit(
            span=(place.start, place.end),
            old=self.key(place),
            new=new or "",
            type=error_type,
            reason=reason,
            method=TEXT_VERSION,
        )

    def take(self) -> None:
        """From the last to the first, so that places hold."""
        places = sorted(self.wanted, reverse=True)
        edits = [self.edit(one, self.wanted[one], self.asked[one].reason) for one in places]
        for edit in edits:
            self.edits = add_edit(self.draft.text, self.edits, narrowed(edit))

    def mended(self) -> Mended:
        undone, usage = tuple(self.undone), self.usage
        return Mended(self.text, self.edits, undone, self.before, self.now, usage, self.passes)


def _error_type(verdicts: Sequence[Verdict]) -> ClaimError:
    """A comparison if there is one, else the first claim's type."""
    types = [one.error_type for one in verdicts if one.error_type is not None]
    return "CMP" if "CMP" in types else types[0]


class Place(NamedTuple):
    """A row of the original answer, and a column of it; ``None`` for the whole row."""

    row: int
    column: int | None

    @property
    def order(self) -> tuple[int, int]:
        """Rows before their cells."""
        return self.row, -1 if self.column is None else self.column


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
        return place

    def prompt(self, place: Place, verdicts: Sequence[Verdict]) -> Sequence[Message]:
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
        if place.column is None:
            if read_row(answer):
                self.kept.add(place.row)
            else:
                self.wanted[place] = None
            return
        new = read_cell(answer)
        if new is None and self._found.format != "json":
            new = BLANK
        if new == self._cell(place):
            self.give_up(place, new, NO_BETTER)
        else:
            self.wanted[place] = new

    def failing(self, after: Verification) -> list[Place]:
        """Cells that are wrong again, or whose row has as many errors as before.

        Where the table as a whole is no better, all changes.
        """
        still = self._wrong(after, self.wanted)
        was, now = Counter[int](), Counter[int]()  # errors of each row
        for counts, found in ((was, self._wrong(self.now, {})), (now, still)):
            for place, verdicts in found.items():
                counts[place.row] += len(verdicts)
        failing = [
            place
            for place in self.wanted
            if place.column is not None and (place in still or now[place.row] >= was[place.row])
        ]
        is_better = after.wrong < self.now.wrong
        return failing if failing or is_better else list(self.wanted)

    def edit(self, place: Place, new: Cell, reason: str) -> Edit:
        row, columns = self.shape.table.rows[place.row], self.shape.table.columns
        at = place.column
        return Edit(
            row=place.row,
            column=None if at is None else self.shape.names[at],
            old=_one_line(columns, row) if at is None else row[at] or "",
            new=new,
            type=self.asked[place].verdicts[0].error_type,
            reason=reason,
            method=TABLE_VERSION,
        )

    def take(self) -> None:
        """A dropped row needs no edits of its cells."""
        self.cells = self._changed(self.wanted)
        for place, new in self.wanted.items():
            if place.column is None:
                self.edits = {one: own for one, own in self.edits.items() if one.row != place.row}
            shown = None if new in (None, BLANK) else new
            self.edits[place] = self.edit(place, shown, self.asked[place].reason)

    def mended(self) -> Mended:
        cells = (self.edits[place] for place in sorted(self.edits, key=lambda one: one.order))
        edits, undone = (*self.shape.edits, *cells), tuple(self.undone)
        text, usage = self.draft.text, self.usage
        mended = Mended(text, edits, undone, self.before, self.now, usage, self.passes)
        return put_back(mended, self._found, self.document({}))


def _one_line(columns: Sequence[str], row: Sequence[Cell]) -> str:
    return "; ".join(f"{name}: {cell or BLANK}" for name, cell in zip(columns, row, strict=True))
