"""What ``tablemend verify`` and ``tablemend mend`` read: texts or answer tables, their sources."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Collection, Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any, NamedTuple, Protocol, Self, TypeVar

from pydantic import PlainValidator, model_validator

from tablemend.config import batch
from tablemend.config.query import read_query
from tablemend.detector.algorithm import AnswerFormat
from tablemend.detector.query import columns_from_query
from tablemend.errors import TablemendError, defect
from tablemend.evidence.files import load_source, read_source
from tablemend.evidence.source import Source
from tablemend.faithfulness.verifiers import PROGRAM
from tablemend.prompting.replies import REQUEST_FAILED
from tablemend.records import Usage, Verification
from tablemend.tables.extract import extract_table
from tablemend.tables.read import answer_format, load_text
from tablemend.tables.table import Table, TableError

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


class _Printable(Protocol):
    def to_json(self) -> dict[str, Any]: ...


P = TypeVar("P", bound=_Printable)
EXPECTED = (TablemendError, OSError, ImportError, MemoryError)
"""What no single document is to blame for."""


def _check(given: Collection[str]) -> None:
    """Refuse options, or fields of a line, that name no document together."""
    if ("text" in given) == ("answer" in given):
        raise TablemendError("give either text (about a table) or answer (an answer table)")
    for name in ("query", "format"):
        if name in given and "text" in given:
            raise TablemendError(f"{name} belongs to answer: leave it out for a text")
    if "source" not in given and "context" not in given:
        raise TablemendError("nothing to go by: give source (a table) or context (a text)")


def _given_source(value: object) -> Source:
    """A field ``source``: a table as text or as JSON."""
    try:
        if isinstance(value, list | dict):
            return read_source(json.dumps(value, ensure_ascii=False), "json")
        if not isinstance(value, str):
            raise TableError("wanted a table, as text or as JSON")
        found = read_source(value)
        if len(value.strip().splitlines()) == 1 and not any(t.rows for t in found.tables):
            raise TableError("one line is no table: text to go by is given as context")
    except TableError as error:
        raise TablemendError(f"the source cannot be read ({error})") from error
    return found


class Fields(batch.Fields):
    """The fields of a line of ``--batch``."""

    text: str | None = None
    answer: str | None = None
    source: Annotated[Source | None, PlainValidator(_given_source)] = None
    context: str | None = None
    query: str = ""

    @model_validator(mode="after")
    def _is_document(self) -> Self:
        _check(
            [name for name, value in self if value is not None and (name, value) != ("query", "")]
        )
        return self


def read_input(options: argparse.Namespace) -> Input:
    """The files that the options name.

    Raises:
        NoTable: the answer holds no table that can be read.
        TablemendError: options that do not go together, or a file that cannot be read.
    """
    given = [name for name, value in vars(options).items() if value not in (None, [], "auto")]
    _check(["query" if name == "query_file" else name for name in given])
    sources = [load_source(path) for path in options.source]
    context = "" if options.context is None else load_text(options.context)
    source = _join(sources, context, read_query(options))
    if options.text is not None:
        return Input(str(options.text), load_text(options.text, may_be_empty=True), source)
    text = load_text(options.answer, may_be_empty=True)
    format = answer_format(options.answer, options.format)
    return _read_answer(str(options.answer), text, source, format)


def run_batch(
    path: Path, run: Callable[[list[Input]], Sequence[P]], *, print_json: bool
) -> tuple[list[P], int, int]:
    """What comes of the documents of a file, how many they are, and the exit status.

    Why nothing comes of one is said on stderr: an answer without a table, or a defect of ours; the
    others go on, and after a defect the status is 1. See also :func:`batch.read_batch`.
    """
    lines = [(n, _of_line(f"{path}, line {n}", own)) for n, own in batch.read_batch(path, Fields)]
    results = _results(run, [one for _, one in lines if isinstance(one, Input)])
    found, status = [], 0
    for number, one in lines:
        result = next(results) if isinstance(one, Input) else one
        if isinstance(result, str):
            status |= isinstance(one, Input)
            print(result, file=sys.stderr)
        else:
            found.append(result)
        if print_json:
            said = {"error": result} if isinstance(result, str) else result.to_json()
            print(json.dumps({"line": number} | said, ensure_ascii=False))
    return found, len(lines), status


def _of_line(name: str, fields: Fields) -> Input | str:
    """The document of a line, or why it holds none."""
    source = _join([fields.source] if fields.source else [], fields.context or "", fields.query)
    if fields.answer is None:
        return Input(name, fields.text or "", source)
    try:
        return _read_answer(name, fields.answer, source, "auto")
    except NoTable as error:
        return str(error)


def _results(
    run: Callable[[list[Input]], Sequence[P]], given: Sequence[Input]
) -> Iterator[P | str]:
    """What comes of all; where a defect of ours ends that, of each alone, or the defect."""
    try:
        yield from run(list(given))
        return
    except EXPECTED:
        raise
    except Exception:
        pass
    for one in given:
        try:
            yield run([one])[0]
        except EXPECTED:
            raise
        except Exception as error:
            yield f"{one.name}: {defect(error)}"


def _join(sources: Sequence[Source], context: str, query: str) -> Source:
    tables = tuple(table for source in sources for table in source.tables)
    texts = [*(source.text for source in sources), context]
    return Source(tables, "\n\n".join(filter(None, texts)), query)


def _read_answer(name: str, text: str, source: Source, format: AnswerFormat) -> Input:
    found = extract_table(text, format, columns_from_query(source.query) or ())
    if found.table is None:
        raise NoTable(f"{name}: {found.reason or 'an empty table'}: there is nothing to verify")
    return Input(name, text, source, found.table, format)


def why_nothing(given: Input, found: Verification, verifier: str) -> str:
    """Why nothing could be scored, whatever it says; empty where something could."""
    if why := why_failed([found]):
        return f"{given.name}: {why}"
    if not found.verdicts:
        return f"{given.name}: no claim was found, so nothing is scored"
    needed = given.source.tables if given.table is None else given.source.text
    if verifier != PROGRAM or needed:
        return ""
    needs = "a text by tables, and its source has no table"
    if given.table is not None:
        needs = "an answer by its context, and there is none"
    return (
        f"{given.name}: nothing is scored: the program verifies {needs}; give one, or a model with"
        " --verifier"
    )


def why_failed(found: Sequence[Verification]) -> str:
    """Why every request to a model has failed; empty where one has not, or none was sent."""
    usage = sum((one.usage for one in found), Usage())
    if not usage.calls or usage.failed < usage.calls:
        return ""
    said = (text for one in found for text in (*(v.reason for v in one.verdicts), *one.notes))
    _, _, why = next((one for one in said if REQUEST_FAILED in one), "").partition(REQUEST_FAILED)
    return f"every request to a model failed ({usage.calls} in all){why}"
