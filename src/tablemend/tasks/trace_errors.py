"""Data referencing errors of a thought: cells that it cites wrongly, rows that its list leaves out.

Yang et al. 2026, "When LLMs Read Tables Carelessly: Measuring and Reducing Data Referencing
Errors" (ACL 2026, arXiv 2606.32029), who find them with models. By program lists of rows are read
(``Points: 41 Alba | 37 Sella``, rows of a Markdown table) and lines quoted from a text; no prose.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from tablemend.detector.keys import filled_rows, primary_key
from tablemend.records import Finding
from tablemend.tables.table import Table
from tablemend.thinking import end_of_thinking, without_tags
from tablemend.values.cells import same_value
from tablemend.values.text import header_key

SHORTEST_QUOTE = 20
"""Characters of a line that counts as quoted."""

_ORDER = re.compile(r",?\s*\b(?:a|de)scending\b", re.IGNORECASE)
_ARTICLE = re.compile(r"\b(?:the|an?)\s*$", re.IGNORECASE)
_JOINT = " :=-\u2013\u2014(),[]"


class Trace(NamedTuple):
    """What a thought cites.

    Attributes:
        cited: cells, rows and quoted lines that could be checked, and rows that had to be there.
        findings: ``wrong_citation`` or ``omitted_row``; ``row`` is the table's, ``evidence`` the
            line of the thought.
    """

    cited: int
    findings: tuple[Finding, ...]


def read_trace(
    answer: str,
    table: Table,
    wanted: Sequence[str | None] = (),
    text: str = "",
    places: Sequence[tuple[str, tuple[int, int]]] = (),
) -> Trace:
    """Compare the thought of an answer with the table that it is about.

    Args:
        answer: with the thought before it; one without has cited nothing.
        table: what the thought may cite.
        wanted: names of the rows that its last list must have, or what it quotes where it does
            little else.
        text: what it may quote in place of the table.
        places: where that states something of a row, by its name.
    """
    reader = _Reader(table)
    thought = without_tags(answer[: end_of_thinking(answer)])
    lines = [line.strip() for line in thought.splitlines() if line.strip()]
    quoted: list[str] = []
    listed: set[str] = set()
    for line in lines:
        start = text.find(line) if len(line) >= SHORTEST_QUOTE else -1
        if start >= 0:
            reader.cited += 1
            quoted += [name for name, (a, b) in places if a < start + len(line) and start < b]
            quoted += [name for name in reader.names if name in line.casefold()]
        elif "|" in line:
            listed = reader.read_list(line) or listed
    if not listed and 2 * reader.cited > len(lines):
        listed = {name.casefold() for name in quoted}
    for name in filter(None, wanted if listed else ()):
        reader.cited += 1
        if name.casefold() not in listed:
            evidence = "neither in the last list of the thought nor in what it quotes"
            reader.findings.append(Finding("omitted_row", None, None, name, None, evidence))
    return Trace(reader.cited, tuple(reader.findings))


class _Reader:
    """Reads lists, and counts what they cite."""

    def __init__(self, table: Table) -> None:
        self.table, self.key = table, primary_key(table) if table.rows else 0
        self.names: dict[str, list[int]] = {}
        for index in filled_rows(table):
            name = (table.rows[index][self.key] or "").casefold().strip()
            if len(name) > 1 and any(map(str.isalpha, name)):
                self.names.setdefault(name, []).append(index)
        self.longest = sorted(self.names, key=len, reverse=True)
        self.columns = {header_key(name): at for at, name in enumerate(table.columns)}
        self.cited = 0
        self.findings: list[Finding] = []

    def read_list(self, line: str) -> set[str]:
        """The rows of a list; none where most of its items name no row.

        A row of Markdown is a list whose one named row has all other cells.
        """
        first = line.split("|")[0]
        head, _, rest = line.partition(": ") if ": " in first else ("", "", line)
        asked = [self.columns.get(header_key(one)) for one in _ORDER.sub("", head).split(", ")]
        read = [self._split(item.strip(_JOINT)) for item in rest.split("|") if item.strip(_JOINT)]
        named = {name for name, _ in read if name is not None}
        if not first.strip() and len(named) == 1:
            for value in (value for name, value in read if name is None):
                self._cite(next(iter(named)), None, value, line)
        elif first.strip() and 2 * sum(name is not None for name, _ in read) >= len(read):
            for name, value in read:
                self._cite(name, asked if len(asked) > 1 else asked[0], value, line)
            return named
        return set()

    def _split(self, item: str) -> tuple[str | None, str]:
        """The row that an item begins or ends with, and what else it says."""
        folded = item.casefold()
        for name in self.longest:
            if folded == name or (folded.endswith(name) and folded[-len(name) - 1] in _JOINT):
                return name, _ARTICLE.sub("", item[: -len(name)]).strip(_JOINT)
            if folded.startswith(name) and folded[len(name)] in _JOINT:
                return name, item[len(name) :].strip(_JOINT)
        words = item.split()
        for start in range(len(words)):  # a name that was cut short, of one row alone
            tail = " ".join(words[start:]).casefold()
            longer = [name for name in self.longest if f" {tail} " in f" {name} "]
            if len(longer) == 1 and len(tail) > 3:
                return longer[0], " ".join(words[:start])
        return None, item

    def _cite(
        self, name: str | None, at: int | Sequence[int | None] | None, value: str, line: str
    ) -> None:
        """A value of a row, in a column, in several one after another, or in any."""
        self.cited += 1
        rows = [self.table.rows[row] for row in self.names.get(name or "", ())]
        if isinstance(at, int) and at != self.key:
            cells = [row[at] for row in rows]
        elif at is None or isinstance(at, int) or None in at:  # in any, as behind its own name
            cells = [cell for row in rows for cell in row]
        else:
            cells = [" ".join(row[one] or "" for one in at if one is not None) for row in rows]
        part = rf"(?<![\w.,]){re.escape(value)}(?![.,]?\w)"  # such as the year of a date
        right = (same_value(value, c) or re.search(part, c or "", re.IGNORECASE) for c in cells)
        if (rows and not value) or any(right):
            return
        row = self.names[name][0] if name else None
        column = self.table.columns[at] if isinstance(at, int) else None
        expected = cells[0] if column and cells else None
        self.findings.append(Finding("wrong_citation", row, column, expected, value, line))
