"""What the commands read: texts or answer tables, and what they are checked by."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Annotated, NamedTuple, Self, TypeVar

from pydantic import PlainValidator, model_validator

from tablemend.cli.options import Files
from tablemend.config.load import BatchLine, read_batch
from tablemend.errors import TablemendError, defect
from tablemend.evidence.files import given_gold, given_source, load_source, read_source
from tablemend.evidence.source import Source
from tablemend.foreign import read_whole
from tablemend.mitigations.edits import Draft
from tablemend.prompting.replies import REQUEST_FAILED
from tablemend.records import Usage, Verification
from tablemend.tables.read import answer_format, decoded, load_table, load_text, read_table
from tablemend.tables.table import Table, TableError
from tablemend.verifier.verifiers import PROGRAM

STDIN = "-"
NOTHING = 1
"""Exit status where nothing can be scored: no claim, an answer without a table, a text by the
program against a source without one, an answer by the program without a context."""


class NoTable(TablemendError):
    """An answer that holds no table: a fault of the answer and not of the command."""

    status = NOTHING


class FailedDocument(NamedTuple):
    """A document of a batch that nothing comes of.

    Attributes:
        name: its line.
        reason: why, with its line.
        defect: whether it is a fault of ours, and not of the document.
    """

    name: str
    reason: str
    defect: bool = False


R = TypeVar("R")
EXPECTED = (TablemendError, OSError, ImportError, MemoryError)
"""What no single document is to blame for."""


class AnswerFields(BatchLine):
    """The fields of a line of ``detect --batch``."""

    answer: str
    gold: Annotated[Table, PlainValidator(given_gold)]
    context: str | None = None
    query: str = ""


class Fields(BatchLine):
    """The fields of a line of ``verify --batch`` and ``mend --batch``."""

    text: str | None = None
    answer: str | None = None
    source: Annotated[Source | None, PlainValidator(given_source)] = None
    context: str | None = None
    query: str = ""

    @model_validator(mode="after")
    def _is_document(self) -> Self:
        if (self.text is None) == (self.answer is None):
            raise TablemendError("give either text (about a table) or answer (an answer table)")
        if self.query and self.text is not None:
            raise TablemendError("query belongs to answer: leave it out for a text")
        if self.source is None and self.context is None:
            raise TablemendError("nothing to go by: give source (a table) or context (a text)")
        return self


def text_of(path: Path) -> str:
    """The text of a file, or of the standard input."""
    if str(path) != STDIN:
        return load_text(path, may_be_empty=True)
    try:
        return decoded(read_whole(sys.stdin.buffer), "standard input")
    except ValueError as error:
        raise TableError(f"standard input: {error}") from error


def source_of(path: Path) -> Source:
    """The tables of a file, or of the standard input."""
    return read_source(text_of(path)) if str(path) == STDIN else load_source(path)


def table_of(path: Path) -> Table:
    """The one table of a file, or of the standard input."""
    return read_table(text_of(path)) if str(path) == STDIN else load_table(path)


def read_query(query: str | None, file: Path | None) -> str:
    """The question without space around it; empty where none is given.

    Raises:
        TablemendError: a file that cannot be read, both, or ``--query`` with the name of a file.
    """
    if query is not None and file is not None:
        raise TablemendError("give either --query or --query-file")
    if file is not None:
        return load_text(file).strip()
    query = (query or "").strip()
    try:
        is_file = Path(query).is_file()
    except OSError:  # too long for a name
        is_file = False
    if is_file:
        raise TablemendError(f"--query {query}: this is a file; give it as --query-file {query}")
    return query


def refuse_twice(*paths: Path | None) -> None:
    """Refuse the standard input in two places."""
    if [str(path) for path in paths].count(STDIN) > 1:
        raise TablemendError("-: the standard input can be read once: name a file for the other")


def refuse_beside_batch(*given: object) -> None:
    """Refuse what ``--batch`` brings itself."""
    if any(one is not None for one in given):
        raise TablemendError("--batch brings its texts, tables and questions: leave the others out")


def read_files(given: Files) -> Draft:
    """The files that a command line names: a text and its tables, or an answer and its context.

    Raises:
        NoTable: the answer holds no table that can be read.
        TablemendError: files that do not go together, or one that cannot be read.
    """
    query, tables = read_query(given.query, given.query_file), given.tables or []
    file, context = given.file, given.context
    if file is None:
        raise TablemendError("give FILE, a text or an answer table, or --batch")
    if bool(tables) == (context is not None):
        raise TablemendError(
            f"{file}: give TABLE, where it is a text, or --context, where it is an answer table"
        )
    refuse_twice(file, context, *tables)
    if context is None:
        for name, value in (("query", query), ("format", given.format.replace("auto", ""))):
            if value:
                raise TablemendError(f"leave --{name} out: it belongs to an answer table")
        text, source = text_of(file), _join([source_of(path) for path in tables], "", "")
        return Draft(text, source, None, str(file))
    prose = text_of(context)
    if not prose.strip():
        raise TablemendError(f"{context}: the file is empty")
    form = answer_format(file, given.format)
    return _of_table(Draft(text_of(file), _join([], prose, query), form, str(file)))


def read_documents(path: Path) -> list[Draft | FailedDocument]:
    """The documents of a batch file for ``verify`` and ``mend``; see :func:`read_batch`."""
    found: list[Draft | FailedDocument] = []
    for number, own in read_batch(path, Fields):
        name = f"{path}, line {number}"
        source = _join([own.source] if own.source else [], own.context or "", own.query)
        try:
            if own.answer is None:
                found.append(Draft(own.text or "", source, None, name))
            else:
                found.append(_of_table(Draft(own.answer, source, "auto", name)))
        except NoTable as error:
            found.append(FailedDocument(name, str(error)))
    return found


def results(
    run: Callable[[list[Draft]], Sequence[R]], given: Sequence[Draft]
) -> Iterator[R | FailedDocument]:
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
            yield FailedDocument(one.name, f"{one.name}: {defect(error)}", defect=True)


def _join(sources: Sequence[Source], context: str, query: str) -> Source:
    tables = tuple(table for source in sources for table in source.tables)
    texts = [*(source.text for source in sources), context]
    return Source(tables, "\n\n".join(filter(None, texts)), query)


def _of_table(draft: Draft) -> Draft:
    """An answer that holds a table.

    Raises:
        NoTable: it holds none.
    """
    found = draft.read()
    if found.table is None:
        raise NoTable(
            f"{draft.name}: {found.reason or 'an empty table'}: there is nothing to verify"
        )
    return draft


def why_nothing(given: Draft, found: Verification, verifier: str) -> str:
    """Why nothing could be scored, whatever it says; empty where something could."""
    if why := why_failed([found]):
        return f"{given.name}: {why}"
    if not found.verdicts:
        return f"{given.name}: no claim was found, so nothing is scored"
    is_text = given.format is None
    needed = given.evidence.tables if is_text else given.evidence.text
    if verifier != PROGRAM or needed:
        return ""
    needs = "an answer by its context, and there is none"
    if is_text:
        needs = "a text by tables, and its source has no table"
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
