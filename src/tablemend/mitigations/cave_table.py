"""CAVE for answer tables: cells and rows flagged without a gold table, mended one by one.

Evidence comes from the context alone. A flagged cell is asked for again and may become blank; a
flagged row stays or is dropped, which the model is asked; no other cell changes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from tablemend.backends.requests import Completion, Message, Request, Sampling
from tablemend.evidence.source import Source
from tablemend.faithfulness.asking import usage_of
from tablemend.faithfulness.verifier import NOTHING, Usage
from tablemend.mitigations.answers import blank_for, put_back, rows_left, table_left
from tablemend.mitigations.cave import count_wrong, spent
from tablemend.mitigations.edits import MAX_NEW_TOKENS, PASSES, Draft, Edit, Mended
from tablemend.mitigations.prompting import BLANK, CELL, PROMPTS, RETRY, ROW
from tablemend.mitigations.repair_columns import Shape, in_order
from tablemend.mitigations.rewriting import evidence, findings, read_cell, read_row
from tablemend.mitigations.steps import Steps, Unverified
from tablemend.prompting.files import after_rejection
from tablemend.prompting.replies import Unreadable, why_no_answer
from tablemend.records import Verdict, Verification
from tablemend.tables.extract import extract_table
from tablemend.tables.table import Cell, Table, TableError

VERSION = "cave-table/2"
NO_BETTER = "the context supports it no better than what stood there"


class Place(NamedTuple):
    """A row of the original answer, and a column of it; ``None`` for the whole row."""

    row: int
    column: int | None


@dataclass
class _Draft:
    """An answer table in the making.

    Attributes:
        shape: the answer, its columns in the query's order.
        source: the context.
        query: the question.
        now: what is found of the table as it is now.
        cells: every row as it is now; ``None`` for one that was dropped.
        edits: what was changed, by place.
        kept: rows that the model wants to keep.
        failed: chat, answer and reason of what was not taken, by place.
    """

    shape: Shape
    source: Source
    query: str
    now: Verification
    cells: list[list[Cell] | None]
    edits: dict[Place, Edit] = field(default_factory=dict)
    undone: list[Edit] = field(default_factory=list)
    kept: set[int] = field(default_factory=set)
    failed: dict[Place, tuple[Sequence[Message], str, str]] = field(default_factory=dict)
    usage: Usage = NOTHING

    @property
    def original(self) -> Table:
        """The table before anything was asked."""
        return self.shape.table

    @property
    def rows(self) -> list[int]:
        """Numbers of the original's rows that still stand."""
        return rows_left(self.cells)

    @property
    def table(self) -> Table:
        return table_left(self.original, self.cells)

    def flagged(self) -> dict[Place, list[Verdict]]:
        """What is wrong, by place; cells of a flagged row wait until the row is decided."""
        found: dict[Place, list[Verdict]] = {}
        for verdict in self.now.verdicts:
            claim = verdict.claim
            if not verdict.wrong or claim.row is None:
                continue
            column = None if claim.column is None else self.original.columns.index(claim.column)
            place = Place(self.rows[claim.row], column)
            if column is not None or place.row not in self.kept:
                found.setdefault(place, []).append(verdict)
        return {
            place: verdicts
            for place, verdicts in found.items()
            if place.column is None or Place(place.row, None) not in found
        }

    def chat(self, place: Place, verdicts: Sequence[Verdict]) -> Sequence[Message]:
        """The prompt for a cell or a row; with what was tried before."""
        if place in self.failed:
            chat, answer, reason = self.failed[place]
            return after_rejection(chat, answer, [reason], PROMPTS.prompt(RETRY))
        slots = {
            "query": self.query or "(not known)",
            "row": _one_line(self.original.columns, self.cells[place.row] or ()),
            "findings": findings(verdicts),
            "evidence": evidence(verdicts, self.source),
        }
        if place.column is None:
            return PROMPTS.render(ROW, **slots)
        return PROMPTS.render(
            CELL,
            column=self.original.columns[place.column],
            cell=self.cell(place) or BLANK,
            **slots,
        )

    def cell(self, place: Place) -> Cell:
        """A cell as it is now."""
        row = self.cells[place.row]
        assert row is not None and place.column is not None
        return row[place.column]

    def edit(self, place: Place, new: Cell, reason: str, verdicts: Sequence[Verdict]) -> Edit:
        """The record of a change against the original."""
        row, columns = self.original.rows[place.row], self.original.columns
        error_type = verdicts[0].error_type
        if place.column is None:
            old = _one_line(columns, row)
            return Edit(old, new, reason, VERSION, error_type, row=place.row)
        old = row[place.column] or ""
        name = self.shape.names[place.column]
        return Edit(old, new, reason, VERSION, error_type, row=place.row, column=name)

    def give_up(
        self,
        place: Place,
        new: Cell,
        reason: str,
        verdicts: Sequence[Verdict],
        chat: Sequence[Message],
        answer: str,
    ) -> None:
        """Note what is not taken."""
        self.undone.append(self.edit(place, new, reason, verdicts))
        self.failed[place] = chat, answer, f"{reason[:1].upper()}{reason[1:]}."


def cave_answer(
    item: Draft,
    passes: int = PASSES,
    thinking: bool | None = None,
    max_new_tokens: int = MAX_NEW_TOKENS,
) -> Steps:
    """Post-edit one answer table by a model; an answer without a table stays as it is.

    Args:
        item: the answer, with its context and its query.
        passes: most times that a cell is asked for.
        thinking: whether the model is to think first; ``None`` asks for nothing.
        max_new_tokens: longest answer, thinking included.

    Returns:
        Steps for :func:`~tablemend.mitigations.steps.run_together`.
    """
    assert item.format is not None
    found = extract_table(item.text, item.format)
    if found.table is None:
        return Mended(item.text)
    source, query = item.evidence, item.evidence.query
    before: Verification = yield Unverified(found.table, source, query)
    # Which column is whose decides what its cells say: columns come first, by program.
    shape = in_order(found.table, query)
    now = before
    if shape.edits:
        now = yield Unverified(shape.table, source, query)
    draft = _Draft(shape, source, query, now, [list(r) for r in shape.table.rows])
    draft.usage += spent(before) + (spent(now) if shape.edits else NOTHING)
    blank = blank_for(found)
    asked = 0
    for number in range(passes):
        flagged = draft.flagged()
        if not flagged:
            break
        chats = {place: draft.chat(place, verdicts) for place, verdicts in flagged.items()}
        completions: list[Completion] = yield [
            Request(f"{item.name}.cave.{number}.{name}", chat, Sampling(max_new_tokens), thinking)
            for name, chat in enumerate(chats.values())
        ]
        asked += 1
        draft.usage += usage_of(completions)
        wanted = _read(draft, flagged, chats, completions, blank)
        while wanted:
            tried = _applied(draft, wanted)
            after: Verification = yield Unverified(tried.table, source, query)
            draft.usage += spent(after)
            failed = _failing(draft, replace(tried, now=after), wanted)
            if not failed:
                for place, new in wanted.items():
                    _note(draft, place, new, flagged[place])
                draft.cells, draft.now = tried.cells, after
                break
            answers = dict(zip(chats, completions, strict=True))
            for place in failed:
                new = wanted.pop(place)
                verdicts, answer = flagged[place], answers[place].answer
                draft.give_up(place, new, NO_BETTER, verdicts, chats[place], answer)
    cells = tuple(draft.edits[place] for place in sorted(draft.edits, key=_order))
    edits = (*shape.edits, *cells)
    undone = tuple(draft.undone)
    try:
        text = put_back(item.text, found, draft.table) if edits else item.text
    except TableError as error:
        lost = tuple(replace(edit, reason=str(error)) for edit in edits)
        return Mended(item.text, (), (*undone, *lost), before, before, draft.usage, asked)
    return Mended(text, edits, undone, before, draft.now, draft.usage, asked)


def _read(
    draft: _Draft,
    flagged: dict[Place, list[Verdict]],
    chats: dict[Place, Sequence[Message]],
    completions: Sequence[Completion],
    blank: str | None,
) -> dict[Place, Cell]:
    """What the model wants changed, by place."""
    wanted: dict[Place, Cell] = {}
    for (place, chat), completion in zip(chats.items(), completions, strict=True):
        try:
            if problem := why_no_answer(completion):
                raise Unreadable(*problem)
            if place.column is None:
                if read_row(completion.answer):
                    draft.kept.add(place.row)
                else:
                    wanted[place] = None
                continue
            new = read_cell(completion.answer)
        except Unreadable as error:
            reason = error.problem.text
            draft.give_up(place, None, reason, flagged[place], chat, completion.answer)
            continue
        new = blank if new is None else new
        if new == draft.cell(place):
            draft.give_up(place, new, NO_BETTER, flagged[place], chat, completion.answer)
        else:
            wanted[place] = new
    return wanted


def _applied(draft: _Draft, wanted: dict[Place, Cell]) -> _Draft:
    """The table with changes, as a draft of its own."""
    cells = [None if row is None else list(row) for row in draft.cells]
    for place, new in wanted.items():
        row = cells[place.row]
        if place.column is None:
            cells[place.row] = None
        elif row is not None:
            row[place.column] = new
    return replace(draft, cells=cells)


def _failing(draft: _Draft, tried: _Draft, wanted: dict[Place, Cell]) -> list[Place]:
    """Changes that mend nothing: the cell is wrong again, or its row has as many errors as before.

    Where the table as a whole is no better, all of them.
    """
    before, after = _by_row(draft), _by_row(tried)
    still = {
        Place(tried.rows[verdict.claim.row], draft.original.columns.index(verdict.claim.column))
        for verdict in tried.now.verdicts
        if verdict.wrong and verdict.claim.row is not None and verdict.claim.column is not None
    }
    failed = [
        place
        for place in wanted
        if place.column is not None
        and (place in still or after.get(place.row, 0) >= before.get(place.row, 0))
    ]
    if not failed and count_wrong(tried.now) >= count_wrong(draft.now):
        return list(wanted)
    return failed


def _by_row(draft: _Draft) -> dict[int, int]:
    """Wrong claims by the original's rows."""
    counts: dict[int, int] = {}
    for verdict in draft.now.verdicts:
        if verdict.wrong and verdict.claim.row is not None:
            number = draft.rows[verdict.claim.row]
            counts[number] = counts.get(number, 0) + 1
    return counts


def _note(draft: _Draft, place: Place, new: Cell, verdicts: Sequence[Verdict]) -> None:
    """Note a change that is taken; a dropped row needs no edits of its cells."""
    reason = "; ".join(dict.fromkeys(one.reason for one in verdicts if one.reason))
    if place.column is None:
        for known in [one for one in draft.edits if one.row == place.row]:
            del draft.edits[known]
        draft.edits[place] = draft.edit(place, None, reason, verdicts)
    else:
        shown = None if new in (None, BLANK) else new
        draft.edits[place] = draft.edit(place, shown, reason, verdicts)


def _order(place: Place) -> tuple[int, int]:
    return place.row, -1 if place.column is None else place.column


def _one_line(columns: Sequence[str], row: Sequence[Cell]) -> str:
    return "; ".join(f"{name}: {cell or BLANK}" for name, cell in zip(columns, row, strict=True))
