"""What ``verify`` and ``detect`` print for machines that review: GitHub, JUnit XML and SARIF 2.1.0.

Lines end with LF, CRLF or CR, and columns count characters, both from 1. A document of a batch is
its line of that file. A cell is found by the words of its row; where they are not in one line of
the answer, the place is the whole file.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple
from urllib.parse import quote
from xml.etree import ElementTree

from tablemend import __version__
from tablemend.records.edits import LONGEST
from tablemend.records.edits import Place as Marked
from tablemend.results import Error, Result, Unscored, Verification
from tablemend.values.text import on_one_line

CIFormat = Literal["github", "junit", "sarif"]
SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
UNSCORED = "unscored"
"""Rule of what could not be scored."""
WHOLE = Unscored(text="", reason="")
"""Stands for the whole document."""
_LINE_END = re.compile(r"\r\n|\r|\n")
_NO_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_OF_BATCH = re.compile(r"(.*), line (\d+)", re.DOTALL)


class Region(NamedTuple):
    """Words of a file; all count from 1, and the end is behind the last character."""

    line: int
    column: int
    end_line: int
    end_column: int


class Place(NamedTuple):
    """A file, and where in it; ``None`` for all of it. In a batch only the line is known."""

    file: str
    region: Region | None = None
    line: int | None = None


def write(found: Sequence[Result], format: CIFormat, *, with_unscored: bool) -> str:
    """The results in one of the formats.

    Args:
        found: of one document, or of all of a batch.
        format: ``github``: workflow commands; ``junit``; ``sarif``.
        with_unscored: whether what could not be scored is a warning (``--fail-on unscored``), as
            it always is where nothing could be.
    """
    if format == "junit":
        return _junit(found)
    problems: list[tuple[Place, Error | Unscored]] = []
    for one in found:
        places, is_open = Places(one), with_unscored or not one.coverage.scored
        for wrong in one.errors:
            problems.append((places.of(wrong), wrong))
        for left in one.unscored if is_open else ():
            problems.append((places.of(left), left))
    if format == "sarif":
        return json.dumps(_sarif(problems), indent=2)
    return "\n".join([*(_annotation(*one) for one in problems), *map(_sum_up, found)])


class Places:
    """Where in a document's file its errors and claims are."""

    def __init__(self, found: Result) -> None:
        batch = _OF_BATCH.fullmatch(found.name)
        self._file = batch[1] if batch else "stdin" if found.name == "-" else found.name
        self._line = int(batch[2]) if batch else None
        self._text = found.text
        self._starts = [0, *(end.end() for end in _LINE_END.finditer(found.text))]
        self._cells = dict(self._find_cells(found)) if found.table and not batch else {}

    def of(self, one: Marked) -> Place:
        """The place of a part of the result."""
        if self._line is not None:
            return Place(self._file, line=self._line)
        span = one.span or self._cells.get((one.row, one.column))
        if span is None:
            return Place(self._file)
        (line, column), (end_line, end) = map(self._position, span)
        return Place(self._file, Region(line, column, end_line, end), line)

    def _position(self, offset: int) -> tuple[int, int]:
        line = bisect_right(self._starts, offset)
        return line, offset - self._starts[line - 1] + 1

    def _find_cells(
        self, found: Result
    ) -> Iterator[tuple[tuple[int | None, str | None], tuple[int, int]]]:
        """Each cell and row whose words follow each other in a line, below those before it."""
        assert found.table is not None
        ends = [*self._starts[1:], len(self._text) + 1]
        lines = list(zip(self._starts, ends, strict=True))
        below = 0
        for row, cells in enumerate(found.table.rows):
            for number, (start, end) in enumerate(lines[below:], below):
                spans, position = list[tuple[int, int] | None](), start
                for cell in cells:
                    at = self._text.find(cell, position, end) if cell else position
                    if at < 0:
                        break
                    spans.append((at, at + len(cell)) if cell else None)
                    position = at + len(cell or "")
                filled = [span for span in spans if span]
                if len(spans) == len(cells) and filled:
                    below = number + 1
                    yield (row, None), (filled[0][0], filled[-1][1])
                    for column, span in zip(found.table.columns, spans, strict=True):
                        yield (row, column), span or (filled[0][0], filled[-1][1])
                    break


def _sum_up(found: Result) -> str:
    """One line of a log that is no command to GitHub."""
    said = f"{found.name}: errors {len(found.errors)}; {found.conclusion()} {found.summary()}"
    return " ".join(said.replace("::", ": :").split())


def _annotation(place: Place, one: Error | Unscored) -> str:
    """A workflow command (docs.github.com: Workflow commands for GitHub Actions)."""
    level = "error" if isinstance(one, Error) else "warning"
    title = one.name if isinstance(one, Error) else UNSCORED
    properties: dict[str, object] = {"file": place.file, "line": place.line or 1}
    if place.region:
        properties |= {"endLine": place.region.end_line, "col": place.region.column}
        if place.region.line == place.region.end_line:  # else GitHub takes no columns
            properties["endColumn"] = max(place.region.column, place.region.end_column - 1)
    given = ",".join(
        f"{name}={_escape(str(value)).replace(':', '%3A').replace(',', '%2C')}"
        for name, value in (properties | {"title": title}).items()
    )
    return f"::{level} {given}::{_escape(str(one))}"


def _escape(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


TOTALS = {"failure": "failures", "error": "errors", "skipped": "skipped"}


def _junit(found: Sequence[Result]) -> str:
    """A suite a document; a case a claim, or the one answer beside its gold table."""
    root = ElementTree.Element("testsuites", name="tablemend")
    for one in found:
        suite = ElementTree.SubElement(root, "testsuite", name=_xml(one.name))
        for title, place, outcome, said in _cases(one, Places(one)):
            names = {"classname": one.name, "name": title, "file": place.file}
            line = {"line": str(place.line)} if place.line else {}
            own = {name: _xml(text) for name, text in names.items()} | line
            case = ElementTree.SubElement(suite, "testcase", own, time="0")
            if outcome:
                ElementTree.SubElement(case, outcome, message=_xml(said)).text = _xml(said)
    for node in (root, *root):
        node.set("tests", str(len(list(node.iter("testcase")))))
        for tag, total in TOTALS.items():
            node.set(total, str(len(list(node.iter(tag)))))
    ElementTree.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(root, "unicode")


def _cases(found: Result, places: Places) -> Iterator[tuple[str, Place, str, str]]:
    """Name, place, outcome (empty: passed) and message of each test case."""
    if isinstance(found, Verification) and found.claims:
        for claim in found.claims:
            outcome = {"supported": "", "unscored": "skipped"}.get(claim.verdict, "failure")
            title = on_one_line(f"{claim.where}: {claim.text}", LONGEST)
            yield title, places.of(claim), outcome, str(claim)
        return
    said = "\n".join(map(str, found.errors or found.unscored))
    outcome = "failure" if found.errors else ""
    if not outcome and not found.coverage.scored:
        outcome, said = "error", said or "nothing could be scored"
    yield found.name, places.of((*found.errors, *found.unscored, WHOLE)[0]), outcome, said


def _xml(text: str) -> str:
    """Without the characters that XML 1.0 cannot hold."""
    return _NO_XML.sub("\ufffd", text)


def _sarif(lines: Sequence[tuple[Place, Error | Unscored]]) -> dict[str, Any]:
    """One run (docs.oasis-open.org/sarif/sarif/v2.1.0)."""
    rules: dict[str, str] = {}
    results = []
    for place, one in lines:
        is_error = isinstance(one, Error)
        rule, name = (one.type, one.name) if isinstance(one, Error) else (UNSCORED, UNSCORED)
        rules.setdefault(rule, name)
        physical: dict[str, Any] = {"artifactLocation": {"uri": _uri(place.file)}}
        if place.line:
            physical["region"] = {"startLine": place.line}
        if place.region:
            physical["region"] |= {
                "startColumn": place.region.column,
                "endLine": place.region.end_line,
                "endColumn": place.region.end_column,
            }
        results.append(
            {
                "ruleId": rule,
                "ruleIndex": list(rules).index(rule),
                "level": "error" if is_error else "warning",
                "message": {"text": str(one)},
                "locations": [{"physicalLocation": physical}],
            }
        )
    described = [{"id": rule, "shortDescription": {"text": name}} for rule, name in rules.items()]
    driver = {"name": "tablemend", "version": __version__, "rules": described}
    run = {"tool": {"driver": driver}, "columnKind": "unicodeCodePoints", "results": results}
    return {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}


def _uri(file: str) -> str:
    path = Path(file)
    return path.as_uri() if path.is_absolute() else quote(path.as_posix())
