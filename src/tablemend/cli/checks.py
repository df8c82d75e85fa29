"""``tablemend detect``, ``verify`` and ``mend``: their options, read and checked."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from tablemend.cli.options import (
    AnswerForm,
    AsJson,
    Asking,
    BackendOption,
    Batch,
    Context,
    ExtractorName,
    FailOn,
    FileArgument,
    Html,
    Labels,
    MaxNewTokens,
    MinCoverage,
    MinScore,
    Output,
    Query,
    QueryFile,
    Tables,
    ThinkingOption,
    Verbose,
    VerifierName,
)
from tablemend.errors import TablemendError


def detect(
    answer: Annotated[
        Path | None,
        typer.Argument(metavar="ANSWER", help="The raw answer, prose and code fences included."),
    ] = None,
    gold: Annotated[
        Path | None, typer.Argument(metavar="GOLD", help="The table that it should be.")
    ] = None,
    context: Annotated[
        Path | None, typer.Option(metavar="FILE", help="The text that the model was shown.")
    ] = None,
    query: Query = None,
    query_file: QueryFile = None,
    batch: Batch = None,
    format: AnswerForm = "auto",
    similarity: Annotated[
        str, typer.Option(metavar="NAME", help="lexical, or a sentence-transformers model.")
    ] = "lexical",
    as_json: AsJson = False,
    html: Html = None,
    verbose: Verbose = False,
    fail_on: FailOn = None,
    min_score: MinScore = None,
) -> int:
    """Score an answer table by its gold table: what was made up, left out, out of order."""
    from tablemend.api import detection
    from tablemend.cli import inputs, running
    from tablemend.detector.similarity import load_similarity
    from tablemend.tables.read import answer_format

    output = Output(as_json, html, verbose, fail_on, min_score)
    if batch is not None:
        given = (answer, gold, context, query, query_file, html)
        _refuse_beside_batch(given)
        return running.detect_batch(batch, format, similarity, output)
    if answer is None or gold is None:
        raise TablemendError("give ANSWER and GOLD, two files, or --batch")
    inputs.refuse_twice(answer, gold, context)
    table = inputs.table_of(gold)
    prose = None if context is None else inputs.text_of(context)
    found = detection(
        inputs.text_of(answer),
        table,
        prose,
        inputs.read_query(query, query_file),
        load_similarity(similarity),
        answer_format(answer, format),
        str(answer),
    )
    if found.unscored and not found.coverage.scored:
        raise TablemendError(f"{gold}: {found.unscored[0].reason}; no answer can be scored by it")
    why = "".join(f"{answer}: {note}; counted as a format error" for note in found.notes)
    return running.finish(found, output, why)


def verify(
    file: FileArgument = None,
    tables: Tables = None,
    context: Context = None,
    query: Query = None,
    query_file: QueryFile = None,
    batch: Batch = None,
    format: AnswerForm = "auto",
    as_json: AsJson = False,
    html: Html = None,
    verbose: Verbose = False,
    fail_on: FailOn = None,
    min_score: MinScore = None,
    min_coverage: MinCoverage = None,
    verifier: VerifierName = "program",
    extractor: ExtractorName = "program",
    labels: Labels = "",
    option: BackendOption = None,
    thinking: ThinkingOption = None,
    max_new_tokens: MaxNewTokens = None,
) -> int:
    """Score every claim of a text by its table, or an answer table by its context: STAF."""
    from tablemend.cli import inputs, running

    output = Output(as_json, html, verbose, fail_on, min_score, min_coverage)
    asking = Asking(verifier, extractor, labels, option or [], thinking, max_new_tokens)
    asking.refuse_unread(None, answer=context is not None)
    if batch is not None:
        _refuse_beside_batch((file, *(tables or ()), context, query, query_file, html))
        return running.verify_batch(batch, asking, output)
    asked = inputs.read_query(query, query_file)
    given = inputs.read_input(file, tables or [], context, asked, format)
    return running.verify_one(given, asking, output)


def mend(
    file: FileArgument = None,
    tables: Tables = None,
    context: Context = None,
    query: Query = None,
    query_file: QueryFile = None,
    model: Annotated[
        str | None,
        typer.Option(metavar="MODEL", help="What rewrites (CAVE), such as openai:MODEL@URL."),
    ] = None,
    method: Annotated[
        str | None,
        typer.Option(help="repair: by program; cave: a model rewrites (default with --model)."),
    ] = None,
    batch: Batch = None,
    format: AnswerForm = "auto",
    as_json: AsJson = False,
    html: Html = None,
    verbose: Verbose = False,
    fail_on: FailOn = None,
    min_score: MinScore = None,
    min_coverage: MinCoverage = None,
    verifier: VerifierName = "program",
    extractor: ExtractorName = "program",
    labels: Labels = "",
    option: BackendOption = None,
    thinking: ThinkingOption = None,
    max_new_tokens: MaxNewTokens = None,
) -> int:
    """Mend a text by its table, or an answer table by its context; lists every edit."""
    from tablemend.cli import inputs, running
    from tablemend.mitigations.mend import named

    output = Output(as_json, html, verbose, fail_on, min_score, min_coverage)
    asking = Asking(verifier, extractor, labels, option or [], thinking, max_new_tokens)
    method = method or ("repair" if model is None else "cave")
    named(method, model)
    if method == "repair" and context is not None and verifier != "program":
        raise TablemendError("an answer table is repaired by the program: leave --verifier out")
    asking.refuse_unread(model, answer=context is not None)
    if batch is not None:
        _refuse_beside_batch((file, *(tables or ()), context, query, query_file, html))
        return running.mend_batch(batch, asking, method, model, output)
    asked = inputs.read_query(query, query_file)
    given = inputs.read_input(file, tables or [], context, asked, format)
    return running.mend_one(given, asking, method, model, output)


def _refuse_beside_batch(given: Sequence[object]) -> None:
    if any(one is not None for one in given):
        raise TablemendError("--batch brings its texts, tables and questions: leave the others out")
