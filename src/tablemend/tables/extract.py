"""Take the table out of a model's answer, or say why there is none."""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

from tablemend.tables.markdown import NO_DELIMITER, has_rows_without_delimiter
from tablemend.tables.read import ANSWER_READERS, LOCATORS, Format
from tablemend.tables.table import EmptyTableError, Table, TableError
from tablemend.thinking import end_of_thinking, open_thought
from tablemend.values.text import fold, header_key

MAX_CHARACTERS = 1_000_000
"""Longest table that is read from an answer."""
MAX_PASSED = 300_000
MAX_TRIES = 100
"""How many characters and how many tables are passed over because they cannot be read."""
MAX_TABLES = 1000
"""Of so many tables of one format in an answer the last ones are looked at."""

_MARKER = re.compile(r"(?<!#)####(?!#)")
_CODE_BLOCK = re.compile(r"```[^\n]*+\n(.*?)(?:```|\Z)", re.DOTALL)
_ENDLESS = "the thinking never ended (no </think>)"
_ANSWER_TAG = re.compile(
    r"<\|?(?P<close>/|end_(?:of_)?)?(?:(?:begin|start)_(?:of_)?)?(?:final[_ -]?)?"
    r"(?:answer|response|solution|output|box)\|?>|\[(?P<end>end )?(?:begin )?final response\]",
    re.IGNORECASE,
)
_END_OF_TURN = re.compile(
    r"<\|(?:return|end|call|im_end|eot_id|endoftext|end_of_text)\|>|<end_of_turn>|</s>"
)
_QUOTE = re.compile(r"(?:[ \t]*+>(?=[ \t|>]))++")
_BOXES = re.compile(r"^[ \t]*+[\u2500-\u257f]", re.MULTILINE)
_ASCII = dict.fromkeys(range(0x2500, 0x2580), "+")
_ASCII |= dict.fromkeys(map(ord, "─━┄┅┈┉╌╍"), "-") | dict.fromkeys(map(ord, "│┃┆┇┊┋╎╏║"), "|")
_ASCII[ord("═")] = "="
_NUMBERED = re.compile(r"\(?(\d{1,6})[.):]\s+(?=\S)")
_BLANK_REST = re.compile(r"[^\S\n]*+(?:\n|\Z)")


@dataclass(frozen=True, slots=True)
class Extraction:
    """What an answer holds.

    Attributes:
        table: the table; ``None`` where there is none that can be read.
        reason: why there is none, in one line; empty where there is one.
        start, end: where the table's text stands in the answer; both 0 where there is none.
        format: the table's format; ``None`` where there is no table.
        empty: the answer is a JSON table without a record (``[]``, ``{"t": []}``). As no column
            is known there is no ``table``, but the answer is no failure to write one.
    """

    table: Table | None
    reason: str
    start: int = 0
    end: int = 0
    format: Format | None = None
    empty: bool = False


class _Candidate(NamedTuple):
    start: int
    end: int
    format: Format


def extract_table(
    text: str,
    format: Format | Literal["auto"] = "auto",
    columns: Sequence[str] = (),
    known: Container[str | None] = (),
) -> Extraction:
    """Find the table that a model's answer gives.

    The thinking is dropped (:mod:`tablemend.thinking`): all up to the last ``</think>``, and all
    from a ``<think>`` that is never closed. ``<answer>`` counts as ``####``. What counts then,
    first match:

    1. the first readable table after the last ``####`` (one inside a table is no marker);
    2. nothing, where something after that ``####`` looks like a table but cannot be read;
    3. the last readable table of the answer: earlier ones are drafts.

    Where ``columns``, those asked for, are given, a table of this header wins over others in 1
    and in 3. Tables of one header that stand next to one another are one table, unless two of
    their rows begin alike: then one is a draft of the other. A header repeated between the rows
    is no row, and where the rows are numbered ("3. Zelotinib") the numbers are dropped, unless a
    cell is ``known`` with its number.

    An empty JSON list or object of an empty list (:attr:`Extraction.empty`) counts where a table
    would, but gives way to a readable one; a bare ``[]`` only on a line of its own, as "[ ]" in a
    sentence is no answer.

    Prose, code fences and the ``>`` of a block quote around a table are passed over. ``"auto"``
    looks for Markdown, JSON, LaTeX and HTML; CSV, which any prose with commas resembles, only when
    asked for, and then it is in code blocks or else all that follows the marker. Runs in time
    linear in ``text``.
    """
    if not text.strip():
        return Extraction(None, "the answer is empty")
    start, open_think = end_of_thinking(text), open_thought(text)
    end_of_turn = _END_OF_TURN.search(text, start)
    ends = (len(text), open_think, end_of_turn.start() if end_of_turn else -1)
    answer = _plain(text[start : min(end for end in ends if end >= 0)])
    if not answer.strip():
        if open_think >= 0:
            return Extraction(None, _ENDLESS)
        return Extraction(None, "nothing follows the thinking")
    if format == "csv":
        found = _extract_csv(answer, columns)
    else:
        found = _extract(answer, tuple(LOCATORS) if format == "auto" else (format,), columns)
    if found.table is not None:
        table = _without_numbers(found.table, known)
        return replace(found, table=table, start=found.start + start, end=found.end + start)
    return Extraction(None, _ENDLESS) if open_think >= 0 and not found.empty else found


def _plain(answer: str) -> str:
    """The answer, each character in its place, without what surrounds or draws its tables.

    ``####`` stands for ``<answer>``, spaces for the marks of a block quote, ASCII for box-drawing
    characters; what follows ``</answer>`` is left out.
    """
    opened, closed = 0, None
    for tag in _ANSWER_TAG.finditer(answer):
        if not tag["close"] and not tag["end"]:
            opened, closed = tag.end(), None
        elif answer[opened : tag.start()].strip():
            closed = tag.start()
    answer = _ANSWER_TAG.sub(lambda tag: "####".rjust(len(tag[0])), answer[:closed])
    if _BOXES.search(answer):
        answer = answer.translate(_ASCII)
    lines = answer.split("\n")
    quoted, before = False, ""
    for number, line in enumerate(lines):
        mark = _QUOTE.match(line)
        quoted = mark is not None and (quoted or "|" not in before)  # else a row: "> 5 | high"
        if mark and quoted:
            lines[number] = " " * mark.end() + line[mark.end() :]
        before = line
    return "\n".join(lines)


def _without_numbers(table: Table, known: Container[str | None]) -> Table:
    """A table whose rows are numbered from 1 in their first cells, without the numbers."""
    first = [row[0] or "" for row in table.rows]
    found = [match for cell in first if (match := _NUMBERED.match(cell))]
    if [int(match[1]) for match in found] != list(range(1, len(first) + 1)):
        return table
    names = [match.string[match.end() :] for match in found]
    if len(set(names)) < len(names) or any(cell in known for cell in first):
        return table
    rows = zip(names, table.rows, strict=True)
    return replace(table, rows=tuple((name, *row[1:]) for name, row in rows))


def _extract(answer: str, formats: Sequence[Format], columns: Sequence[str]) -> Extraction:
    groups = _locate(answer, formats)
    parts = [(answer, groups[::-1])]
    if (marker := _last_marker(answer, groups)) >= 0:
        after = [group for group in groups if group[0].start >= marker]
        parts.insert(0, (answer[marker:], after))
    for text, own in parts:
        found = _choose(answer, own, columns)
        if found.table is not None or found.reason:
            return found
        if "markdown" in formats and has_rows_without_delimiter(text):
            return Extraction(None, NO_DELIMITER)
    return Extraction(None, f"no table found ({' or '.join(formats)})")


def _locate(answer: str, formats: Sequence[Format]) -> list[list[_Candidate]]:
    """Candidates in order of appearance, each in a group with those inside of it."""
    candidates = [
        _Candidate(start, end, format)
        for format in formats
        for start, end in LOCATORS[format](answer)[-MAX_TABLES:]
    ]
    candidates.sort(key=lambda candidate: (candidate.start, -candidate.end))
    groups: list[list[_Candidate]] = []
    for candidate in candidates:
        if groups and candidate.start < groups[-1][0].end:
            groups[-1].append(candidate)
        else:
            groups.append([candidate])
    return groups


def _last_marker(answer: str, groups: Sequence[Sequence[_Candidate]]) -> int:
    """Where the text after the last ``####`` outside of the candidates starts, or -1."""
    last = -1
    covered = index = 0
    for match in _MARKER.finditer(answer):
        while index < len(groups) and groups[index][0].start <= match.start():
            covered = groups[index][0].end
            index += 1
        if match.start() >= covered:
            last = match.end()
    return last


def _choose(
    answer: str, groups: Iterable[Sequence[_Candidate]], columns: Sequence[str]
) -> Extraction:
    """The table of the answer, from candidates in order of preference; else why there is none."""
    found, reason, empty = _read_groups(answer, groups)
    if not found:
        return Extraction(None, reason, empty=empty)
    headers = [[header_key(name) for name in table.columns] for table, _ in found]
    wanted = [header_key(name) for name in columns]
    first = headers.index(wanted) if wanted in headers else 0
    parts: list[tuple[Table, _Candidate]] = []
    names: set[str] = set()
    for (table, place), header in zip(found[first:], headers[first:], strict=True):
        own = {fold(row[0] or "") for row in table.rows}
        if parts and (header != headers[first] or not names.isdisjoint(own)):
            break
        parts.append((table, place))
        names |= own
    parts.sort(key=lambda part: part[1].start)
    (table, place), (_, last) = parts[0], parts[-1]
    rows = tuple(row for part, _ in parts for row in part.rows)
    if place.format != "json" and len(set(headers[first]) - {""}) > 1:
        keys = ([header_key(cell or "") for cell in row] for row in rows)
        rows = tuple(row for row, key in zip(rows, keys, strict=True) if key != headers[first])
    table = replace(table, rows=rows)
    return Extraction(table, "", place.start, last.end, place.format)


def _read_groups(
    answer: str, groups: Iterable[Sequence[_Candidate]]
) -> tuple[list[tuple[Table, _Candidate]], str, bool]:
    """The first readable table of each group; where there is none, why the first one is none.

    And whether that is an empty JSON table. Brackets that are no answer give a reason only where
    nothing else does.
    """
    found: list[tuple[Table, _Candidate]] = []
    reason = brackets = ""
    empty = False
    passed = tries = 0
    for group in groups:
        for start, end, format in group:
            if passed > MAX_PASSED or tries == MAX_TRIES:
                return found, reason or brackets, empty
            tries += 1
            try:
                if end - start > MAX_CHARACTERS:
                    raise TableError(
                        f"a table of {end - start:,} characters; the limit is {MAX_CHARACTERS:,}"
                    )
                found.append(
                    (ANSWER_READERS[format](answer[start:end]), _Candidate(start, end, format))
                )
                break
            except TableError as error:
                passed += end - start
                if isinstance(error, EmptyTableError) and not _is_answer(answer, start, end):
                    brackets = brackets or str(error)
                elif not reason:
                    reason, empty = str(error), isinstance(error, EmptyTableError)
    return found, reason or brackets, empty


def _is_answer(answer: str, start: int, end: int) -> bool:
    """Whether an empty JSON table is more than two brackets in a sentence."""
    if answer[start] == "{":
        return True
    if not _BLANK_REST.match(answer, end):  # first: it reads no line twice
        return False
    before = answer[answer.rfind("\n", 0, start) + 1 : start]
    return not before.strip(" \t\r#")


def _extract_csv(answer: str, columns: Sequence[str]) -> Extraction:
    """Read the code blocks after the last ``####``, or all that follows it; else the last one."""
    marker = answer.rfind("####")
    start = marker + 4 if marker >= 0 else 0
    blocks = [match.span(1) for match in _CODE_BLOCK.finditer(answer, start)]
    blocks = blocks[:: 1 if marker >= 0 else -1] or [(start, len(answer))]
    return _choose(answer, [[_Candidate(*span, "csv")] for span in blocks], columns)
