"""What ``tablemend verify`` and ``tablemend mend`` read: texts or answer tables, their sources."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple, Protocol, TypeVar

from tablemend.config.nearest import check_fields
from tablemend.detector.algorithm import AnswerFormat
from tablemend.errors import TablemendError, defect
from tablemend.evidence.files import load_source, read_source
from tablemend.evidence.source import Source
from tablemend.faithfulness.names import PROGRAM
from tablemend.faithfulness.options import BATCH_FIELDS
from tablemend.prompting.replies import REQUEST_FAILED
from tablemend.records import Verification
from tablemend.tables.extract import extract_table
from tablemend.tables.read import answer_format, load_text
from tablemend.tables.table import Table, TableError
from tablemend.values.foreign import parse_json, whole_fields

NOTHING = 1
"""Exit status where nothing can be scored: no claim, an answer without a table, a text by the
program against a source without one, an answer by the program without a context."""


class NoTable(TablemendError):
    """An answer that holds no table: a fault of the answer and not of the command."""

    status = NOTHING


class Input(NamedTuple):
    """What is to be verified, and by what.

    Attributes:
        name: its file, or its line in a batch, for messages.
        text: the text about a table, or the raw answer.
        source: the truth, and the question that an answer answers.
        table: the table of an answer; ``None`` for a text.
        format: the answer's format.
    """

    name: str
    text: str
    source: Source
    table: Table | None = None
    format: AnswerFormat = "auto"

    @property
    def document(self) -> str | Table:
        """What is verified."""
        return self.text if self.table is None else self.table


class Line(NamedTuple):
    """A line of a batch file.

    Attributes:
        number: from 1.
        input: what it holds; ``None`` for an answer without a table.
        error: why there is none, or why nothing came of it.
        failed: whether nothing came of it for a defect of ours.
    """

    number: int
    input: Input | None
    error: str = ""
    failed: bool = False


class _Printable(Protocol):
    def to_json(self) -> dict[str, Any]: ...


P = TypeVar("P", bound=_Printable)


def read_input(options: argparse.Namespace) -> Input:
    """The files that the options name.

    Raises:
        NoTable: the answer holds no table that can be read.
        TablemendError: options that do not go together, or a file that cannot be read.
    """
    if (options.text is None) == (options.answer is None):
        raise TablemendError(
            "give --text and --source for a text about a table, or --answer and --context for an"
            " answer table"
        )
    if options.text is not None:
        if options.query is not None or options.query_file is not None:
            raise TablemendError("--query belongs to --answer: a text answers no question")
        if options.format != "auto":
            raise TablemendError("--format is an answer table's: leave it out for a text")
        text = load_text(options.text, may_be_empty=True)
        return Input(str(options.text), text, _read_source(options))
    query = options.query or ""
    if options.query_file is not None:
        query = load_text(options.query_file)
    text = load_text(options.answer, may_be_empty=True)
    source = replace(_read_source(options), query=query.strip())
    format = answer_format(options.answer, options.format)
    return _read_answer(str(options.answer), text, source, format)


def _read_source(options: argparse.Namespace) -> Source:
    if not options.source and options.context is None:
        needed = "--source" if options.text is not None else "--context"
        raise TablemendError(f"nothing to go by: give {needed} FILE")
    sources = [load_source(path) for path in options.source]
    if options.context is not None:
        sources.append(Source(text=load_text(options.context)))
    return Source(
        tuple(table for source in sources for table in source.tables),
        "\n\n".join(source.text for source in sources if source.text),
    )


def _read_answer(name: str, text: str, source: Source, format: AnswerFormat) -> Input:
    found = extract_table(text, format)
    if found.table is None:
        raise NoTable(f"{name}: {found.reason or 'an empty table'}: there is nothing to verify")
    return Input(name, text, source, found.table, format)


def read_batch(path: Path) -> list[Line]:
    """The documents of a file of JSON lines.

    A line has ``text`` or ``answer``, and ``source`` (a table as text or as JSON), ``context`` (a
    text), or both; an answer may have a ``query``.

    Raises:
        TablemendError: the file cannot be read or holds no document, or a line is not what is
            wanted.
    """
    named: set[str] = set()
    lines = []
    for number, line in enumerate(load_text(path).splitlines(), 1):
        if not line.strip():
            continue
        where = f"{path}, line {number}"
        data = _read_line(line, where, named)
        source = _line_source(data, where)
        if "text" in data:
            lines.append(Line(number, Input(where, data["text"], source)))
            continue
        try:
            lines.append(Line(number, _read_answer(where, data["answer"], source, "auto")))
        except NoTable as error:
            lines.append(Line(number, None, str(error)))
    return lines


def _read_line(line: str, where: str, named: set[str]) -> dict[str, Any]:
    try:
        data = parse_json(line)
    except ValueError as error:
        raise TablemendError(f"{where}: {error}") from error
    if not isinstance(data, dict):
        raise TablemendError(f"{where}: wanted an object with {', '.join(BATCH_FIELDS)}")
    check_fields(data, BATCH_FIELDS, where, named)
    for name in ("text", "answer", "context", "query"):
        if not isinstance(data.get(name, ""), str):
            raise TablemendError(f"{where}: {name} must be a string, not {_json_name(data[name])}")
    data = whole_fields(data)
    if ("text" in data) == ("answer" in data):
        which = "not both" if "text" in data else "and it has neither"
        raise TablemendError(
            f"{where}: wanted text (a text about a table) or answer (an answer table), {which}"
        )
    if data.get("query") and "text" in data:
        raise TablemendError(f"{where}: query belongs to answer: a text answers no question")
    if not {"source", "context"} & set(data):
        raise TablemendError(
            f"{where}: nothing to go by: give source (a table) or context (a text)"
        )
    return data


def _line_source(data: dict[str, Any], where: str) -> Source:
    context, query = data.get("context", ""), data.get("query", "")
    if "source" not in data:
        return Source(text=context, query=query)
    given = data["source"]
    try:
        if isinstance(given, str):
            read = read_source(given)
            if len(given.strip().splitlines()) == 1 and not any(t.rows for t in read.tables):
                raise TableError("one line is no table: text to go by is given as context")
        elif isinstance(given, list | dict):
            read = read_source(json.dumps(given, ensure_ascii=False), "json")
        else:
            raise TableError(f"{_json_name(given)}, not a table as text or as JSON")
    except TableError as error:
        raise TablemendError(f"{where}: the source cannot be read ({error})") from error
    return Source(read.tables, "\n\n".join(filter(None, (read.text, context))), query)


def _json_name(value: object) -> str:
    names = {dict: "an object", list: "a list", bool: "true or false", type(None): "null"}
    return names.get(type(value), "a number")


def of_lines(
    lines: Sequence[Line], run: Callable[[list[Input]], Sequence[P]]
) -> Iterator[tuple[Line, P | None]]:
    """Every line with what comes of it; why nothing comes of one is said on stderr.

    Where a defect of ours ends all, each is tried alone, and the others go on.
    """
    given = [line.input for line in lines if line.input is not None]
    results: Iterator[P | Exception]
    try:
        results = iter(run(given))
    except (TablemendError, OSError, ImportError, MemoryError):
        raise
    except Exception:
        results = (_try(run, one) for one in given)
    for line in lines:
        result = None if line.input is None else next(results)
        if isinstance(result, Exception):
            line = line._replace(error=f"{line.input.name}: {defect(result)}", failed=True)  # type: ignore[union-attr]
            result = None
        if line.error:
            print(line.error, file=sys.stderr)
        yield line, result


def _try(run: Callable[[list[Input]], Sequence[P]], one: Input) -> P | Exception:
    try:
        return run([one])[0]
    except (TablemendError, OSError, ImportError, MemoryError):
        raise
    except Exception as error:
        return error


def line_json(line: Line, found: P | None) -> str:
    """What ``--batch`` writes of a line."""
    said = {"error": line.error} if found is None else found.to_json()
    return json.dumps({"line": line.number} | said, ensure_ascii=False)


def why_nothing(given: Input, found: Verification, verifier: str) -> str:
    """Why nothing could be scored, whatever it says; empty where something could."""
    if why := why_failed([found]):
        return f"{given.name}: {why}"
    if not found.verdicts:
        return f"{given.name}: no claim was found, so nothing is scored"
    if verifier != PROGRAM:
        return ""
    if given.table is None and not given.source.tables:
        return (
            f"{given.name}: nothing is scored: its source has no table, and the program verifies a"
            " text by tables; name one, or a model with --verifier"
        )
    if given.table is not None and not given.source.text:
        return (
            f"{given.name}: nothing is scored: there is no text to go by, and the program verifies"
            " an answer by its context; give --context, or a model with --verifier"
        )
    return ""


def why_failed(found: Sequence[Verification]) -> str:
    """Why every request to a model has failed; empty where one has not, or none was sent."""
    calls = sum(one.calls for one in found)
    if not calls or sum(one.failed for one in found) < calls:
        return ""
    said = (text for one in found for text in (*(v.reason for v in one.verdicts), *one.notes))
    _, _, why = next((one for one in said if REQUEST_FAILED in one), "").partition(REQUEST_FAILED)
    return f"every request to a model failed ({calls} in all){why}"
