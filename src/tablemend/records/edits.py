"""A part of a public result, its place, and an edit: frozen, typed, JSON-serialisable."""

from __future__ import annotations

from typing import TypeAlias

from pydantic import BaseModel, ConfigDict

from tablemend.values.text import on_one_line

Span: TypeAlias = tuple[int, int]
WHOLE = "answer"
"""The place of what concerns a table as a whole."""
LONGEST = 300
"""Characters of a line for a person; the JSON has all."""


class Record(BaseModel):
    """A part of a result."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)


class Place(Record):
    """Where something stands: in a running text, or in the answer table."""

    span: Span | None = None
    """Characters of `text`, half-open; null in an answer table."""
    row: int | None = None
    """Index of the answer table's row, from 0; null in a text, and for the whole table."""
    column: str | None = None
    """Name of the answer table's column; null in a text, and for a whole row."""

    @property
    def where(self) -> str:
        """The place for a person; rows count from 1 here, as in a spreadsheet."""
        if self.span is not None:
            return f"{self.span[0]}-{self.span[1]}"
        named = [] if self.row is None else [f"row {self.row + 1}"]
        return ", ".join(named + ([] if self.column is None else [repr(self.column)])) or WHOLE


class Edit(Place):
    """One change; its place is that in the original."""

    old: str
    """The words or the cell before."""
    new: str | None
    """What is there now; null for a row that is dropped or a cell left blank."""
    type: str | None = None
    """The type of the error that it mends, where one claim was wrong."""
    reason: str
    """Why, in one line."""
    method: str
    """What made it, with its version."""

    def __str__(self) -> str:
        """One line for a person."""
        new = "nothing" if self.new is None else quoted(self.new)
        change = f"{quoted(self.old)} -> {new}"
        if self.row is not None and self.column is None:
            change = f"dropped: {self.old}"
        where = "" if self.where == WHOLE else f"{self.where}: "
        fault = f"{self.type}: " if self.type else ""
        return on_one_line(f"{fault}{where}{change} ({self.reason})", LONGEST)


def quoted(text: str) -> str:
    """The words in quotes."""
    return repr(text) if text else "nothing"
