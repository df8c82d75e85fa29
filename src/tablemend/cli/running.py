"""What ``detect``, ``verify`` and ``mend`` do once their options are read, and show."""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from io import TextIOWrapper
from pathlib import Path
from typing import TypeVar

from rich.console import Console
from rich.table import Table as Grid
from rich.text import Text

from tablemend.api import detection, mended, verification
from tablemend.backends.backend import open_backend
from tablemend.cli import ci
from tablemend.cli.inputs import (
    NOTHING,
    AnswerFields,
    FailedDocument,
    read_documents,
    read_files,
    refuse_beside_batch,
    results,
    why_failed,
    why_nothing,
)
from tablemend.cli.options import Files, ModelOptions, Output
from tablemend.config.load import read_batch
from tablemend.detector.algorithm import (
    AnswerFormat,
    Submission,
    detect_in_answers,
    detector_name,
)
from tablemend.detector.errors import METRICS
from tablemend.detector.query import decimals_from_query, sort_rule_from_query
from tablemend.detector.similarity import load_similarity
from tablemend.errors import DEFECT, TablemendError
from tablemend.mitigations import edits
from tablemend.mitigations.edits import Draft
from tablemend.mitigations.mend import mend as mend_drafts
from tablemend.mitigations.mend import named
from tablemend.records import VERDICTS, Usage
from tablemend.records import Verification as Verdicts
from tablemend.reports.tabulation import summarise
from tablemend.results import (
    Coverage,
    Detection,
    Edit,
    Mended,
    Piece,
    Result,
    Unscored,
    Verification,
)
from tablemend.runs import write_text
from tablemend.statistics import Rate, mean_interval
from tablemend.tables.read import write_table
from tablemend.tables.table import Table
from tablemend.verifier.staf import verify_documents

FAILED = 3
"""Exit status where ``--fail-on``, ``--min-score`` or ``--min-coverage`` is not met."""
Raw = TypeVar("Raw")
ResultT = TypeVar("ResultT", Verification, Mended)


def finish(found: Detection | Verification | Mended, output: Output, why: str) -> int:
    """Print a result; the exit status. ``why`` says that nothing could be scored."""
    if output.html is not None:
        write_text(output.html, found.to_html())
    show(found, output)
    print_for_ci([found], output)
    if why:
        print(f"error: {why}", file=sys.stderr)
        return NOTHING
    return _status([found], output)


def _status(found: Sequence[Detection | Verification | Mended], output: Output) -> int:
    """Whether ``--fail-on``, ``--min-score`` and ``--min-coverage`` are met."""
    for one in found:
        # a gold table without rows has no cells to recall: only its errors count
        score = 1.0 if one.kind == "detect" and one.coverage.scored else 0.0
        score = score if one.score is None else one.score
        low = output.min_score is not None and score < output.min_score
        wrong = output.fail_on is not None and bool(one.errors)
        open_ = output.fail_on == "unscored" and bool(one.unscored)
        unchecked = one.coverage.of == "claims" and one.coverage.share < output.least_coverage
        if low or wrong or open_ or unchecked:
            return FAILED
    return 0


def verify(given: Files, asking: ModelOptions, output: Output) -> int:
    """Verify what a command line names: the exit status."""
    _ = output.form  # refuses two formats before anything is read
    asking.refuse_unread(None, answer=given.context is not None)
    run = partial(_verify, asking)
    if given.batch is not None:
        _refuse_beside_batch(given, output)
        return _verify_batch(given.batch, run, output)
    draft = read_files(given)
    (found,) = run([draft])
    return finish(verification(found, draft), output, why_nothing(draft, found, asking.verifier))


def mend(
    given: Files, asking: ModelOptions, method: str | None, model: str | None, output: Output
) -> int:
    """Mend it: the exit status."""
    if output.form not in ("text", "json"):
        raise TablemendError(f"leave --output-format {output.form} out: it belongs to verify")
    method = method or ("repair" if model is None else "cave")
    named(method, model)
    if method == "repair" and given.context is not None and asking.verifier != "program":
        raise TablemendError("an answer table is repaired by the program: leave --verifier out")
    asking.refuse_unread(model, answer=given.context is not None)
    run = partial(_mend, asking, method, model)
    if given.batch is not None:
        _refuse_beside_batch(given, output)
        return _mend_batch(given.batch, run, output)
    draft = read_files(given)
    (found,) = run([draft])
    why = why_nothing(draft, found.before, asking.verifier) if found.before else ""
    return finish(mended(found, draft), output, why or _why_failed(draft.name, [found]))


def _refuse_beside_batch(given: Files, output: Output) -> None:
    files = (given.file, *(given.tables or ()), given.context)
    refuse_beside_batch(*files, given.query, given.query_file, output.html)


def _verify(asking: ModelOptions, given: Sequence[Draft]) -> list[Verdicts]:
    """Texts and answers in the order given; every model is opened once."""
    with asking.opened() as (verifier, extractor):
        documents = [(one.read().table or one.text, one.evidence) for one in given]
        return verify_documents(documents, verifier, extractor)


def _mend(
    asking: ModelOptions, method: str, model: str | None, given: Sequence[Draft]
) -> list[edits.Mended]:
    """The same for mending."""
    if any(one.format is not None and one.evidence.tables for one in given):
        raise TablemendError("an answer is mended by its context: leave the source out")
    with ExitStack() as stack:
        verifier, extractor = stack.enter_context(asking.opened())
        backend = None
        if model is not None:
            backend = stack.enter_context(open_backend(model, asking.backend))
        manner = {name: value for name, value in asking.manner.items() if value is not None}
        return mend_drafts(given, method, backend, verifier=verifier, extractor=extractor, **manner)


def _why_failed(name: str, found: Sequence[edits.Mended]) -> str:
    """Why every request failed, to verify or to rewrite; empty where one did not, or none was."""
    if why := why_failed([one.before for one in found if one.before is not None]):
        return f"{name}: {why}"
    usage = sum((one.usage for one in found), Usage())
    if not usage.calls or usage.failed < usage.calls:
        return ""
    why = next((edit.reason for one in found for edit in one.undone), "")
    return f"{name}: every request to a model failed ({usage.calls} in all): {why}"


def _run_batch(
    path: Path,
    run: Callable[[list[Draft]], Sequence[Raw]],
    convert: Callable[[Raw, Draft], ResultT],
    nothing: Callable[..., ResultT],
    *,
    as_json: bool,
) -> tuple[list[ResultT], list[Raw], int]:
    """The results of a file, what they were made of, and 1 where a defect of ours ended one."""
    documents = read_documents(path)
    coming = results(run, [one for one in documents if isinstance(one, Draft)])
    found, raw, status = list[ResultT](), list[Raw](), 0
    for document in documents:
        one = next(coming) if isinstance(document, Draft) else document
        if isinstance(one, FailedDocument):
            print(one.reason, file=sys.stderr)
            status |= one.defect
            why = (Unscored(text="the document", reason=one.reason),)
            empty = Coverage(scored=0, total=0, of="claims")
            own = {"name": one.name, "text": "", "score": None}
            found.append(nothing(**own, coverage=empty, unscored=why))
        else:
            assert isinstance(document, Draft)
            raw.append(one)
            found.append(convert(one, document))
        if as_json:
            print_json(found[-1], indent=None)
    return found, raw, status


def _verify_batch(
    path: Path, run: Callable[[list[Draft]], Sequence[Verdicts]], output: Output
) -> int:
    """Verify a file of documents: their mean STAF, and with ``--json`` one result a line."""
    found, raw, status = _run_batch(
        path, run, verification, Verification, as_json=output.form == "json"
    )
    if why := why_failed(raw):
        print(f"error: {path}: {why}", file=sys.stderr)
        status = NOTHING
    rate = mean_interval([one.score for one in found if one.score is not None])
    totals = Counter(claim.verdict for one in found for claim in one.claims)
    scored = sum(one.coverage.scored for one in found)
    claims = sum(one.coverage.total for one in found)
    lines = {
        "STAF": _rate(rate, "no document has a claim that could be scored"),
        "checked": str(Coverage(scored=scored, total=claims, of="claims")),
        "documents": f"{len(found)}, {len(found) - rate['n']} without a scored claim",
        "claims": ", ".join(f"{totals[name]} {name.replace('_', ' ')}" for name in VERDICTS),
        "verifier": ", ".join(dict.fromkeys(one.scorer for one in found if one.scorer)),
    }
    report(lines, output)
    print_for_ci(found, output)
    return status or _status(found, output)


def _mend_batch(
    path: Path, run: Callable[[list[Draft]], Sequence[edits.Mended]], output: Output
) -> int:
    """Mend a file of documents: one result a line, and the totals on stderr."""
    found, raw, status = _run_batch(path, run, mended, partial(Mended, original=""), as_json=True)
    print(
        f"{len(found)} documents, {len(found) - len(raw)} without a table to mend;"
        f" {sum(len(one.edits) for one in raw)} edits,"
        f" {sum(len(one.undone) for one in raw)} undone,"
        f" {sum(one.usage.calls for one in raw)} calls",
        file=sys.stderr,
    )
    if why := _why_failed(str(path), raw):
        print(f"error: {why}", file=sys.stderr)
        status = NOTHING
    return status or _status(found, output)


def detect_batch(path: Path, format: AnswerFormat, similarity: str, output: Output) -> int:
    """Score a file of answers: their rates, and with ``--json`` one result a line."""
    as_json = output.form == "json"
    alike = load_similarity(similarity)
    lines = list(read_batch(path, AnswerFields))
    submissions = (
        Submission(
            *(one.answer, one.gold, one.context or ""),
            sort_rule_from_query(one.query, one.gold.columns),
            format,
            decimals=decimals_from_query(one.query, one.gold.columns),
        )
        for _, one in lines
    )
    judgements = list(detect_in_answers(submissions, alike))
    found = []
    for (number, own), judgement in zip(lines, judgements, strict=True):
        name, given = f"{path}, line {number}", (own.answer, own.gold, own.context, own.query)
        found.append(detection(*given, alike, format, name, judgement))
        if judgement.unscored:
            print(f"{name}: {judgement.unscored}", file=sys.stderr)
        if as_json:
            print_json(found[-1], indent=None)
    rates = summarise(judgements, METRICS).items()
    shown = {
        name.replace("_", " "): _rate(rate, "no answer could be scored") for name, rate in rates
    }
    checked = sum("order mismatch" not in {open_.text for open_ in one.unscored} for one in found)
    shown |= {
        "order checked": f"{checked} of {len(found)} answers",
        "detector": detector_name(alike),
    }
    report(shown, output)
    print_for_ci(found, output)
    status = int(any(one.unscored.startswith(DEFECT) for one in judgements))
    return status or _status(found, output)


def _rate(rate: Rate, without: str) -> str:
    """A rate with its interval."""
    if rate["rate"] is None:
        return without
    ends = "" if rate["low"] is None else f"[{rate['low']:.3f}, {rate['high']:.3f}]  "
    return f"{rate['rate']:.3f}  {ends}n = {rate['n']}"


SHOWN = 5
"""Unscored claims that are listed where nothing could be scored."""
WRONG, OLD, NEW = "bold red underline", "red strike", "bold green"


def print_json(found: Result, indent: int | None = 2) -> None:
    """A result as JSON, in ASCII where the output is not in UTF-8."""
    is_utf8 = sys.stdout.encoding.lower().replace("-", "") == "utf8"
    print(json.dumps(found.to_dict(), ensure_ascii=not is_utf8, indent=indent))


def print_for_ci(found: Sequence[Result], output: Output) -> None:
    """Results as annotations or a report of a machine, where that is asked for."""
    form = output.form
    if form == "github" or form == "junit" or form == "sarif":
        if isinstance(sys.stdout, TextIOWrapper):
            sys.stdout.reconfigure(encoding="utf-8")  # as JUnit's first line says
        print(ci.write(found, form, with_unscored=output.fail_on == "unscored"))


def report(lines: Mapping[str, str], output: Output) -> None:
    """The totals of a batch; beside JSON they go to stderr."""
    file = sys.stdout if output.form == "text" else sys.stderr
    for title, text in lines.items():
        print(f"{title:<22}{text}", file=file)


def show(found: Detection | Verification | Mended, output: Output) -> None:
    """A result for a person, or as JSON.

    The text with the wrong words marked: in colour on a terminal, else in ``[[...]]``; then the
    errors, then the score and how much it is of. Of a mended text stdout has the text alone, byte
    for byte, and stderr has the rest.
    """
    if output.form == "json":
        print_json(found)
    if output.form != "text":
        return
    mends = isinstance(found, Mended)
    console = _console(stderr=mends)
    lines: list[tuple[str, Sequence[object], str]] = []
    if not isinstance(found, Mended):
        if found.table is not None or found.text.strip():
            _print_document(found, console)
    else:
        _print_mended(found)
        lines += [("edit", found.edits, "green"), ("undone", found.undone, "yellow")]
        if not found.edits:
            lines.append(("", ["Nothing was changed."], ""))
    lines.append(("still wrong" if mends else "error", found.errors, "red"))
    if output.verbose or isinstance(found, Detection):
        lines.append(("unscored", found.unscored, "yellow"))
    if output.verbose and isinstance(found, Verification):
        lines[-1] = ("claim", found.claims, "cyan")
    lines.append(("note", found.notes, "yellow"))
    for title, items, style in lines:
        for item in items:
            console.print(Text(f"{title}: ", style) if title else Text(), Text(str(item)), sep="")
    left = found.unscored if found.coverage.of == "claims" and not output.verbose else ()
    for item in () if found.coverage.scored else left[:SHOWN]:
        console.print(Text("unscored: ", "yellow"), Text(str(item)), sep="")
    if not mends and (conclusion := found.conclusion()):
        console.print(conclusion)
    more = Text(" (-v lists all)" if left else "")
    console.print(Text(found.summary(), "bold"), more, sep="")
    if output.verbose:
        console.print(f"scorer: {found.scorer}")
    if found.usage.calls:
        tokens = f"{found.usage.prompt_tokens} tokens in, {found.usage.completion_tokens} out"
        console.print(f"asked: {found.usage.calls} calls, {tokens}")


def _console(*, stderr: bool = False) -> Console:
    return Console(stderr=stderr, soft_wrap=True, highlight=False, markup=False, emoji=False)


def _print_document(found: Result, console: Console) -> None:
    colour = console.color_system is not None and not console.no_color
    if found.table is None:
        marked = Text()
        for piece in found.pieces():
            marked.append_text(_piece(piece, colour))
        marked.rstrip()
        console.print(marked)
    elif colour:
        grid = Grid()
        for column in found.table.columns:
            grid.add_column(Text(column))
        for row in found.cells():
            grid.add_row(*(_piece(piece, colour) for piece in row))
        console.print(grid)
    else:
        rows = [[_piece(piece, colour).plain for piece in row] for row in found.cells()]
        print(write_table(Table.of(found.table.columns, rows), "markdown").rstrip("\n"))
    console.print()


def _piece(piece: Piece, colour: bool) -> Text:
    if piece.mark is None:
        return Text(piece.text)
    return Text.assemble((piece.text, WRONG)) if colour else Text(f"[[{piece.text}]]")


def _print_mended(found: Mended) -> None:
    console = _console()
    if console.color_system is None or console.no_color or found.table is not None:
        if not console.is_terminal and isinstance(sys.stdout, TextIOWrapper):
            sys.stdout.reconfigure(encoding="utf-8")  # as the text was read
        sys.stdout.write(found.text)
    else:
        for piece in found.changes():
            if isinstance(piece.mark, Edit):
                console.print(
                    Text(piece.text, OLD), Text(piece.mark.new or "", NEW), sep="", end=""
                )
            else:
                console.print(Text(piece.text), end="")
    sys.stdout.flush()
    if not found.text.endswith("\n"):  # what goes into a file stays as it is, byte for byte
        print(file=sys.stdout if console.is_terminal else sys.stderr, flush=True)
