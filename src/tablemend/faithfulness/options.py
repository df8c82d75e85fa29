"""The options that ``tablemend verify`` and ``tablemend mend`` share."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from tablemend.config import ConfigError, parse
from tablemend.config.backend import BackendOptions
from tablemend.config.query import add_query_options
from tablemend.errors import TablemendError
from tablemend.faithfulness.inputs import Fields
from tablemend.faithfulness.staf import open_extractor, open_verifier
from tablemend.faithfulness.verifiers import PROGRAM, Extractor, Verifier, verifier_names
from tablemend.tables.read import FORMATS


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
        help="the table that it is about: .csv, .tsv, .json, .md, .tex, .html; a .txt with prose is"
        " for models and answers; may be given several times",
    )
    answer = parser.add_argument_group("an answer table")
    answer.add_argument(
        "--answer", type=Path, metavar="FILE", help="the raw answer, prose and code fences included"
    )
    answer.add_argument(
        "--context", type=Path, metavar="FILE", help="the text that it was made from"
    )
    add_query_options(answer, "says which rows belong")
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
        help=f"JSON lines with the fields {', '.join(Fields.model_fields)}; prints {prints}",
    )


def add_verifier_options(parser: argparse.ArgumentParser) -> None:
    """The options that say what takes a text apart, what verifies, and how a model is asked."""
    group = parser.add_argument_group("verifying")
    group.add_argument(
        "--verifier",
        default=PROGRAM,
        metavar="NAME",
        help="program (default), nli:MODEL, llm:MODEL, or both as program+llm:MODEL; a MODEL of"
        " llm is a model string such as hf:Qwen/Qwen3-8B or openai:MODEL@URL",
    )
    group.add_argument(
        "--extractor",
        default=PROGRAM,
        metavar="NAME",
        help="what takes a text apart: program (default) or llm:MODEL",
    )
    group.add_argument(
        "--labels",
        metavar="A,B,C",
        default="",
        help="what the outputs of an nli model mean, where its checkpoint does not say it",
    )
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
    try:
        return parse(BackendOptions, options.option)
    except ConfigError as error:
        said = "; ".join(problem.removesuffix(" (command line)") for problem in error.problems)
        raise TablemendError(f"--option {said}") from error


def manner(options: argparse.Namespace) -> dict[str, Any]:
    """What ``--thinking`` and ``--max-new-tokens`` say, as arguments of what asks a model.

    Raises:
        TablemendError: no number of tokens.
    """
    tokens = options.max_new_tokens
    if tokens is not None and tokens < 1:
        raise TablemendError(f"--max-new-tokens {tokens}: a number from 1")
    thinking = None if options.thinking is None else options.thinking == "on"
    return {"thinking": thinking, "max_new_tokens": tokens}


def refuse_unread(options: argparse.Namespace, model: str | None = None) -> None:
    """Refuse what would not be read: options for models where none is asked, files beside a batch.

    Args:
        options: of the command.
        model: another model that the command names.

    Raises:
        TablemendError: naming it.
    """
    given = [name for name, value in vars(options).items() if value not in (None, [], "", "auto")]
    unread: dict[str, str] = {}
    if model is None and {options.verifier, options.extractor} == {PROGRAM}:
        unread |= dict.fromkeys(("option", "thinking", "max_new_tokens"), "no model is asked")
    if all(kind != "nli" for kind, _ in verifier_names(options.verifier)):
        unread["labels"] = "they are an nli model's, and none is named"
    if options.batch is not None:
        single = ("text", "source", "answer", "context", "query", "query_file", "format")
        unread |= dict.fromkeys(single, "a batch brings its texts and sources")
    if options.answer is not None and options.extractor != PROGRAM:
        unread["extractor"] = "an answer table is not taken apart by a model"
    for name in given:
        if name in unread:
            raise TablemendError(f"leave --{name.replace('_', '-')} out: {unread[name]}")


@contextmanager
def open_scorers(options: argparse.Namespace) -> Iterator[tuple[Verifier, Extractor]]:
    """The verifier and the extractor that the options name, closed at the end."""
    asked, how = backend_options(options), manner(options)
    labels = [label.strip() for label in options.labels.split(",") if label.strip()]
    with (
        closing(open_verifier(options.verifier, asked, labels=labels, **how)) as verifier,
        closing(open_extractor(options.extractor, asked, **how)) as extractor,
    ):
        yield verifier, extractor
