"""``tablemend detect``, ``verify`` and ``mend``: one document, or a batch of them."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

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
    MinScore,
    Output,
    Query,
    QueryFile,
    Tables,
    ThinkingOption,
    Verbose,
    VerifierName,
)
from tablemend.errors import DEFECT, TablemendError

if TYPE_CHECKING:
    from tablemend.cli.inputs import Failed, Input
    from tablemend.mitigations.edits import Draft
    from tablemend.mitigations.edits import Mended as MendedDraft
    from tablemend.records import Verification as Verdicts
    from tablemend.results import Detection, Mended, Result, Verification

FAILED = 3
"""Exit status where ``--fail-on`` or ``--min-score`` is not met."""


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
    from tablemend.cli import inputs
    from tablemend.detector.similarity import load_similarity
    from tablemend.tables.read import answer_format

    output = Output(as_json, html, verbose, fail_on, min_score)
    if batch is not None:
        given = (answer, gold, context, query, query_file, html)
        _refuse_beside_batch(given)
        return _detect_batch(batch, format, similarity, output)
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
    return _finish(found, output, why)


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
    verifier: VerifierName = "program",
    extractor: ExtractorName = "program",
    labels: Labels = "",
    option: BackendOption = None,
    thinking: ThinkingOption = None,
    max_new_tokens: MaxNewTokens = None,
) -> int:
    """Score every claim of a text by its table, or an answer table by its context: STAF."""
    from tablemend.cli import inputs

    output = Output(as_json, html, verbose, fail_on, min_score)
    asking = Asking(verifier, extractor, labels, option or [], thinking, max_new_tokens)
    asking.refuse_unread(None, answer=context is not None)
    if batch is not None:
        _refuse_beside_batch((file, *(tables or ()), context, query, query_file, html))
        return _verify_batch(batch, asking, output)
    asked = inputs.read_query(query, query_file)
    given = inputs.read_input(file, tables or [], context, asked, format)
    (found,) = _verify(asking, [given])
    return _finish(_verified(found, given), output, inputs.why_nothing(given, found, verifier))


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
    verifier: VerifierName = "program",
    extractor: ExtractorName = "program",
    labels: Labels = "",
    option: BackendOption = None,
    thinking: ThinkingOption = None,
    max_new_tokens: MaxNewTokens = None,
) -> int:
    """Mend a text by its table, or an answer table by its context; edits are listed on stderr."""
    from tablemend.cli import inputs
    from tablemend.mitigations.mend import named

    output = Output(as_json, html, verbose, fail_on, min_score)
    asking = Asking(verifier, extractor, labels, option or [], thinking, max_new_tokens)
    method = method or ("repair" if model is None else "cave")
    named(method, model)
    if method == "repair" and context is not None and verifier != "program":
        raise TablemendError("an answer table is repaired by the program: leave --verifier out")
    asking.refuse_unread(model, answer=context is not None)
    run = partial(_mend, asking, method, model)
    if batch is not None:
        _refuse_beside_batch((file, *(tables or ()), context, query, query_file, html))
        return _mend_batch(batch, run, output)
    asked = inputs.read_query(query, query_file)
    given = inputs.read_input(file, tables or [], context, asked, format)
    (found,) = run([given])
    why = inputs.why_nothing(given, found.before, verifier) if found.before else ""
    return _finish(_mended(found, given), output, why or _why_failed(given.name, [found]))


def _refuse_beside_batch(given: Sequence[object]) -> None:
    if any(one is not None for one in given):
        raise TablemendError("--batch brings its texts, tables and questions: leave the others out")


def _status(found: Sequence[Result], output: Output) -> int:
    """Whether ``--fail-on`` and ``--min-score`` are met."""
    for one in found:
        low = output.min_score is not None and (one.score is None or one.score < output.min_score)
        wrong = output.fail_on is not None and bool(one.errors)
        open_ = output.fail_on == "unscored" and bool(one.unscored)
        if low or wrong or open_:
            return FAILED
    return 0


def _finish(found: Detection | Verification | Mended, output: Output, why_nothing: str) -> int:
    """Print a result; the exit status."""
    from tablemend.cli.display import show
    from tablemend.cli.inputs import NOTHING
    from tablemend.runs import write_text

    if output.html is not None:
        write_text(output.html, found.to_html())
    show(found, output)
    if why_nothing:
        print(f"error: {why_nothing}", file=sys.stderr)
        return NOTHING
    return _status([found], output)


def _verify(asking: Asking, given: Sequence[Input]) -> list[Verdicts]:
    """Texts and answers in the order given; every model is opened once."""
    from tablemend.faithfulness.staf import verify_documents

    with asking.opened() as (verifier, extractor):
        documents = [(one.document, one.source) for one in given]
        return verify_documents(documents, verifier, extractor)


def _mend(
    asking: Asking, method: str, model: str | None, given: Sequence[Input]
) -> list[MendedDraft]:
    """The same for mending."""
    from tablemend.backends.backend import open_backend
    from tablemend.mitigations.mend import mend as mend_drafts

    if any(one.table is not None and one.source.tables for one in given):
        raise TablemendError("an answer is mended by its context: leave the source out")
    with ExitStack() as stack:
        verifier, extractor = stack.enter_context(asking.opened())
        backend = None
        if model is not None:
            backend = stack.enter_context(open_backend(model, asking.backend))
        manner = {name: value for name, value in asking.manner.items() if value is not None}
        drafts = list(map(_draft, given))
        return mend_drafts(
            drafts, method, backend, verifier=verifier, extractor=extractor, **manner
        )


def _draft(given: Input) -> Draft:
    from tablemend.mitigations.edits import Draft

    return Draft(given.text, given.source, None if given.table is None else given.format)


def _verified(found: Verdicts, given: Input) -> Verification:
    from tablemend.api import verification

    return verification(found, given.text, given.source, given.table, given.name)


def _mended(found: MendedDraft, given: Input) -> Mended:
    from tablemend.api import mended

    return mended(found, _draft(given), given.name)


def _why_failed(name: str, found: Sequence[MendedDraft]) -> str:
    """Why every request failed, to verify or to rewrite; empty where one did not, or none was."""
    from tablemend.cli import inputs
    from tablemend.records import Usage

    if why := inputs.why_failed([one.before for one in found if one.before is not None]):
        return f"{name}: {why}"
    usage = sum((one.usage for one in found), Usage())
    if not usage.calls or usage.failed < usage.calls:
        return ""
    why = next((edit.reason for one in found for edit in one.undone), "")
    return f"{name}: every request to a model failed ({usage.calls} in all): {why}"


def _failed(one: Failed, as_: type[Verification] | type[Mended]) -> Verification | Mended:
    """The result of a document that nothing comes of, said on stderr too."""
    from tablemend.results import Coverage, Mended, Unscored

    print(one.reason, file=sys.stderr)
    original = {"original": ""} if as_ is Mended else {}
    return as_(
        name=one.name,
        text="",
        score=None,
        coverage=Coverage(scored=0, total=0, of="claims"),
        unscored=(Unscored(text="the document", reason=one.reason),),
        **original,
    )


def _verify_batch(path: Path, asking: Asking, output: Output) -> int:
    """Verify a file of documents: their mean STAF, and with ``--json`` one result a line."""
    from tablemend.cli import inputs
    from tablemend.cli.display import print_json, report
    from tablemend.results import Verification
    from tablemend.statistics import mean_interval

    documents = inputs.read_documents(path)
    given = [one for one in documents if isinstance(one, inputs.Input)]
    coming = inputs.results(partial(_verify, asking), given)
    found, raw, status = list[Verification](), list["Verdicts"](), 0
    for document in documents:
        one = next(coming) if isinstance(document, inputs.Input) else document
        if isinstance(one, inputs.Failed):
            status |= one.defect
            result = _failed(one, Verification)
        else:
            assert isinstance(document, inputs.Input)
            raw.append(one)
            result = _verified(one, document)
        found.append(result)
        if output.as_json:
            print_json(result, indent=None)
    if why := inputs.why_failed(raw):
        print(f"error: {path}: {why}", file=sys.stderr)
        status = inputs.NOTHING
    rate = mean_interval([one.score for one in found if one.score is not None])
    mean = "no document has a claim that could be scored"
    if rate["rate"] is not None:
        mean = f"{rate['rate']:.3f}  [{rate['low']:.3f}, {rate['high']:.3f}]  n = {rate['n']}"
    totals = Counter(claim.verdict for one in found for claim in one.claims)
    names = ("supported", "contradicted", "not_in_source", "unscored")
    lines = {
        "STAF": mean,
        "documents": f"{len(found)}, {len(found) - rate['n']} without a scored claim",
        "claims": ", ".join(f"{totals[name]} {name.replace('_', ' ')}" for name in names),
        "verifier": ", ".join(dict.fromkeys(one.scorer for one in found if one.scorer)),
    }
    report(lines, output)
    return status or _status(found, output)


def _mend_batch(path: Path, run: partial[list[MendedDraft]], output: Output) -> int:
    """Mend a file of documents: one result a line, and the totals on stderr."""
    from tablemend.cli import inputs
    from tablemend.cli.display import print_json
    from tablemend.results import Mended

    documents = inputs.read_documents(path)
    coming = inputs.results(run, [one for one in documents if isinstance(one, inputs.Input)])
    found, raw, status = list[Mended](), list["MendedDraft"](), 0
    for document in documents:
        one = next(coming) if isinstance(document, inputs.Input) else document
        if isinstance(one, inputs.Failed):
            status |= one.defect
            result = _failed(one, Mended)
        else:
            assert isinstance(document, inputs.Input)
            raw.append(one)
            result = _mended(one, document)
        found.append(result)
        print_json(result, indent=None)
    print(
        f"{len(documents)} documents, {len(documents) - len(raw)} without a table to mend;"
        f" {sum(len(one.edits) for one in raw)} edits,"
        f" {sum(len(one.undone) for one in raw)} undone,"
        f" {sum(one.usage.calls for one in raw)} calls",
        file=sys.stderr,
    )
    if why := _why_failed(str(path), raw):
        print(f"error: {why}", file=sys.stderr)
        status = inputs.NOTHING
    return status or _status(found, output)


def _detect_batch(path: Path, format: AnswerForm, similarity: str, output: Output) -> int:
    """Score a file of answers: their rates, and with ``--json`` one result a line."""
    from tablemend.api import of_judgement
    from tablemend.cli import inputs
    from tablemend.cli.display import print_json, report
    from tablemend.detector.algorithm import detect_in_answers, detector_name
    from tablemend.detector.errors import METRICS
    from tablemend.detector.similarity import load_similarity
    from tablemend.reports.tabulation import summarise  # numpy

    alike = load_similarity(similarity)
    lines = inputs.read_submissions(path, format)
    judgements = list(detect_in_answers((one for _, _, one in lines), alike))
    found = []
    for (name, own, _), judgement in zip(lines, judgements, strict=True):
        given = (own.answer, own.gold, own.context, own.query)
        found.append(of_judgement(judgement, *given, alike, format, name))
        if judgement.unscored:
            print(f"{name}: {judgement.unscored}", file=sys.stderr)
        if output.as_json:
            print_json(found[-1], indent=None)
    shown = {}
    for metric, rate in summarise(judgements, METRICS).items():
        shown[metric.replace("_", " ")] = "no answer could be scored"
        if rate["rate"] is not None:
            interval = f"[{rate['low']:.3f}, {rate['high']:.3f}]"
            shown[metric.replace("_", " ")] = f"{rate['rate']:.3f}  {interval}  n = {rate['n']}"
    checked = sum("order mismatch" not in {open_.text for open_ in one.unscored} for one in found)
    shown |= {
        "order checked": f"{checked} of {len(found)} answers",
        "detector": detector_name(alike),
    }
    report(shown, output)
    status = int(any(one.unscored.startswith(DEFECT) for one in judgements))
    return status or _status(found, output)
