"""The same questions as a sheet for a spreadsheet: one row an example and step."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Sequence

from tablemend.annotation.content import constraints
from tablemend.annotation.sample import Data
from tablemend.annotation.steps import GUIDES, Step
from tablemend.records import Example
from tablemend.tables.write import write_table

COLUMNS = ("example", "step", "answer", "note", "annotator", "data")
"""What is read back; ``answer``, ``note`` and ``annotator`` are the annotator's to fill."""
ID_SIGN = "#"
"""Stands before hashes: ``12e4567890123456`` is a number to a spreadsheet."""
LONGEST_CELL = 16_000
"""Characters; spreadsheets cut a cell at 32,767 units of UTF-16."""
_BEGINS = r"(?<![^;\t\r\n])"
_FORMULA = r"(?=[ \"']*[=+\-@\t\r])"
FORMULA = re.compile(_BEGINS + _FORMULA)
"""Where a formula would begin: at a cell's first character, and behind what a spreadsheet with
another separator would cut the cell at."""
GUARDED = re.compile(f"{_BEGINS}'{_FORMULA}")


def write_sheet(data: Data, chosen: Sequence[Example]) -> str:
    """The sheet as CSV, with the byte-order mark by which spreadsheets know UTF-8.

    A text that is longer than a cell may be goes on in the columns after it, never cut.
    """
    rows = [_row(data, example, step) for example in chosen for step in GUIDES]
    names = list(dict.fromkeys(name for row in rows for name in row))
    names.sort(key=_place)
    file = io.StringIO()
    writer = csv.DictWriter(file, names, restval="", lineterminator="\r\n")
    writer.writeheader()
    writer.writerows({name: guard(value) for name, value in row.items()} for row in rows)
    return f"\ufeff{file.getvalue()}"


TEXTS = ("topic", "query", "constraints", "gold_table", "gold_context", "adversarial_context")


def _place(name: str) -> tuple[int, int]:
    """Order of a column: a long text's further columns stand behind its first."""
    known = (*COLUMNS[:4], "question", *COLUMNS[4:], *TEXTS)
    stem, _, number = name.partition(" ")
    return known.index(stem), int(number or 1)


def _row(data: Data, example: Example, step: Step) -> dict[str, str]:
    guide = GUIDES[step]
    row = {
        "example": ID_SIGN + example.id,
        "step": step,
        "answer": "",
        "note": "",
        "question": "\n".join([guide.question, *(f"* {point}" for point in guide.points)]),
        "annotator": "",
        "data": ID_SIGN + data.hash,
    }
    texts = {"topic": example.topic, "query": example.query}
    texts["constraints"] = "\n".join(f"{name}: {text}" for name, text in constraints(example))
    if step != "query":
        texts["gold_table"] = write_table(example.gold_table, "markdown").rstrip()
        texts["gold_context"] = example.gold_context
    if step == "context":
        texts["adversarial_context"] = example.adversarial_context
    for name, text in texts.items():
        for number, part in enumerate(split_cell(text), 1):
            row[name if number == 1 else f"{name} {number}"] = part
    return row


def split_cell(text: str, longest: int = LONGEST_CELL) -> list[str]:
    """A text in parts that fit a cell, cut behind white space where there is some."""
    parts = []
    while len(text) > longest:
        cut = max(text.rfind(" ", 0, longest), text.rfind("\n", 0, longest)) + 1 or longest
        parts.append(text[:cut])
        text = text[cut:]
    return [*parts, text]


def guard(text: str) -> str:
    """A cell that no spreadsheet takes for a formula, whatever separates its cells.

    >>> guard("=1; -2")
    "'=1;' -2"
    """
    return FORMULA.sub("'", text)


def unguard(text: str) -> str:
    """The inverse of :func:`guard`."""
    return GUARDED.sub("", text)
