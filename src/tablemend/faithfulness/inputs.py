"""What ``tablemend verify`` and ``tablemend mend`` read: a text or an answer table, its source."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from tablemend.config import parse
from tablemend.config.backend import BackendOptions
from tablemend.config.nearest import check_fields
from tablemend.detector.judge import AnswerFormat
from tablemend.errors import TablemendError
from tablemend.evidence.files import load_source, read_source
from tablemend.evidence.source import Source
from tablemend.tables.extract import extract_table
from tablemend.tables.read import FORMATS, answer_format, load_text
from tablemend.tables.table import Table, TableError

BATCH_FIELDS = ("text", "answer", "source", "context", "query")


class NoTable(TablemendError):
    """An answer that holds no table: a fault of the answer and not of the command."""


class Input(NamedTuple):
    """What is to be verified, and by what.

    Attributes:
        text: the summary, or the raw answer.
        source: the truth.
        table: the table of an answer; ``None`` for a summary.
        query: the question that an answer answers; may be empty.
        format: the answer's format.
    """

    text: str
    source: Source
    table: Table | None = None
    query: str = ""
    format: AnswerFormat = "auto"


def add_input_options(parser: argparse.ArgumentParser) -> None:
    """The options that name a text or an answer table and its source."""
    text = parser.add_argument_group("a text about a table")
    text.add_argument("--text", type=Path, metavar="FILE", help="the text, in UTF-8")
    text.add_argument(
        "--source",
        type=Path,
        metavar="FILE",
        action="append",
        default=[],
        help="the table that it is about: .csv, .tsv, .json, .md, .tex, .html, or a .txt with"
        " prose; may be given several times",
    )
    answer = parser.add_argument_group("an answer table")
    answer.add_argument(
        "--answer", type=Path, metavar="FILE", help="the raw answer, prose and code fences included"
    )
    answer.add_argument(
        "--context", type=Path, metavar="FILE", help="the text that it was made from"
    )
    query = answer.add_mutually_exclusive_group()
    query.add_argument("--query", metavar="TEXT", help="the question; says which rows belong")
    query.add_argument("--query-file", type=Path, metavar="FILE", help="the question, in a file")
    answer.add_argument(
        "--format",
        choices=(*FORMATS, "auto"),
        default="auto",
        help="the answer's format (default: by its suffix or its content)",
    )


def add_batch_option(parser: argparse.ArgumentParser, prints: str) -> None:
    """The option that names a file of many documents; ``prints``: what comes of it."""
    parser.add_argument_group("many documents").add_argument(
        "--batch",
        type=Path,
        metavar="FILE",
        help=f"JSON lines with the fields {', '.join(BATCH_FIELDS)}; prints {prints}",
    )


def add_model_options(parser: argparse.ArgumentParser) -> None:
    """The options that say how a model is asked."""
    group = parser.add_argument_group("models")
    group.add_argument(
        "--option",
        metavar="KEY=VALUE",
        action="append",
        default=[],
        help="how a model is asked, such as concurrency=8 or revision=main; docs/backends.md"
        " lists the keys; may be given several times",
    )
    group.add_argument(
        "--thinking", choices=("on", "off"), help="ask a model to think first, or not to"
    )
    group.add_argument(
        "--max-new-tokens",
        type=int,
        metavar="N",
        help="longest answer of a model, thinking included (default: 1024; 2048 for claims)",
    )


def backend_options(options: argparse.Namespace) -> BackendOptions:
    """What ``--option`` says.

    Raises:
        TablemendError: an unknown key or a value that it does not take.
    """
    return parse(BackendOptions, options.option)


def manner(options: argparse.Namespace) -> dict[str, Any]:
    """What ``--thinking`` and ``--max-new-tokens`` say, as arguments of what asks a model.

    Raises:
        TablemendError: no number of tokens.
    """
    said: dict[str, Any] = {}
    if options.thinking is not None:
        said["thinking"] = options.thinking == "on"
    if options.max_new_tokens is not None:
        if options.max_new_tokens < 1:
            raise TablemendError(f"--max-new-tokens {options.max_new_tokens}: a number from 1")
        said["max_new_tokens"] = options.max_new_tokens
    return said


def refuse_unread(options: argparse.Namespace, model: str | None = None) -> None:
    """Refuse what would not be read: options for models where none is asked, files beside a batch.

    Args:
        options: of the command.
        model: another model that the command names.

    Raises:
        TablemendError: naming it.
    """
    given = [
        name
        for name, value in {
            "--option": options.option,
            "--thinking": options.thinking,
            "--max-new-tokens": options.max_new_tokens,
        }.items()
        if value
    ]
    if given and model is None and {options.verifier, options.extractor} == {"program"}:
        raise TablemendError(f"{given[0]} is for models, and none is named: leave it out")
    single = ("text", "source", "answer", "context", "query", "query_file")
    for name in single if options.batch is not None else ():
        if getattr(options, name):
            raise TablemendError(
                f"--batch brings its texts and sources: leave --{name.replace('_', '-')} out"
            )
    if options.answer is not None and options.extractor != "program":
        raise TablemendError("--extractor takes texts apart: leave it out for an answer table")


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
        return Input(load_text(options.text), _read_source(options))
    query = options.query or ""
    if options.query_file is not None:
        query = load_text(options.query_file)
    text = load_text(options.answer)
    source = _read_source(options)
    format = answer_format(options.answer, options.format)
    return read_answer(text, source, query.strip(), format, str(options.answer))


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


def read_answer(text: str, source: Source, query: str, format: AnswerFormat, where: str) -> Input:
    """An answer with its table.

    Raises:
        NoTable: it has none.
    """
    found = extract_table(text, format)
    if found.table is None:
        raise NoTable(f"{where}: {found.reason or 'an empty table'}: there is nothing to verify")
    return Input(text, source, found.table, query, format)


def read_batch(path: Path) -> Iterator[tuple[int, Input | str]]:
    """The documents of a file of JSON lines, with their numbers.

    A line has ``text`` or ``answer``, and ``source`` (a table as text or as JSON), ``context`` (a
    text), or both; an answer may have a ``query``. An answer without a table gives the reason in
    place of an input.

    Raises:
        TablemendError: the file cannot be read, or a line is not what is wanted.
    """
    told: set[str] = set()
    for number, line in enumerate(load_text(path).splitlines(), 1):
        if not line.strip():
            continue
        where = f"{path}, line {number}"
        data = _read_line(line, where, told)
        source = _line_source(data, where)
        if "text" in data:
            yield number, Input(data["text"], source)
            continue
        try:
            yield number, read_answer(data["answer"], source, data.get("query", ""), "auto", where)
        except NoTable as error:
            yield number, str(error)


def _read_line(line: str, where: str, told: set[str]) -> dict[str, Any]:
    try:
        data = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise TablemendError(f"{where}: not JSON ({error})") from error
    if not isinstance(data, dict):
        raise TablemendError(f"{where}: wanted an object with {', '.join(BATCH_FIELDS)}")
    check_fields(data, BATCH_FIELDS, where, told)
    wrong = [
        name
        for name in ("text", "answer", "context", "query")
        if not isinstance(data.get(name, ""), str)
    ]
    if wrong or ("text" in data) == ("answer" in data) or not {"source", "context"} & set(data):
        raise TablemendError(
            f"{where}: wanted one of the texts text and answer, and a table as source, the text"
            " context, or both"
        )
    return data


def _line_source(data: dict[str, Any], where: str) -> Source:
    context = data.get("context", "")
    if "source" not in data:
        return Source(text=context)
    given = data["source"]
    try:
        if isinstance(given, str):
            read = read_source(given)
        else:
            read = read_source(json.dumps(given, ensure_ascii=False), "json")
    except TableError as error:
        raise TablemendError(f"{where}: the source cannot be read ({error})") from error
    return Source(read.tables, "\n\n".join(filter(None, (read.text, context))))
