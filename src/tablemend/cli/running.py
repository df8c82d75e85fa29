"""What ``detect``, ``verify`` and ``mend`` do once their options are read: for one, or many."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import NamedTuple, TypeVar

from tablemend.api import mended, of_judgement, verification
from tablemend.backends.backend import open_backend
from tablemend.cli.display import print_json, report, show
from tablemend.cli.inputs import (
    NOTHING,
    Failed,
    Input,
    read_documents,
    read_submissions,
    results,
    why_failed,
    why_nothing,
)
from tablemend.cli.options import Asking, Output
from tablemend.detector.algorithm import AnswerFormat, detect_in_answers, detector_name
from tablemend.detector.errors import METRICS
from tablemend.detector.similarity import load_similarity
from tablemend.errors import DEFECT, TablemendError
from tablemend.mitigations import edits
from tablemend.mitigations.mend import mend as mend_drafts
from tablemend.records import VERDICTS, Usage
from tablemend.records import Verification as Verdicts
from tablemend.reports.tabulation import summarise
from tablemend.results import ENOUGH, Coverage, Detection, Mended, Unscored, Verification
from tablemend.runs import write_text
from tablemend.statistics import Rate, mean_interval
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
    if why:
        print(f"error: {why}", file=sys.stderr)
        return NOTHING
    return _status([found], output)


def _status(found: Sequence[Detection | Verification | Mended], output: Output) -> int:
    """Whether ``--fail-on``, ``--min-score`` and ``--min-coverage`` are met."""
    least = output.min_coverage
    if least is None:  # a score of few claims is no score to pass on
        least = 0.0 if output.min_score is None else ENOUGH
    for one in found:
        # a gold table without rows has no cells to recall: only its errors count
        score = 1.0 if one.kind == "detect" and one.coverage.scored else 0.0
        score = score if one.score is None else one.score
        low = output.min_score is not None and score < output.min_score
        wrong = output.fail_on is not None and bool(one.errors)
        open_ = output.fail_on == "unscored" and bool(one.unscored)
        unchecked = one.coverage.of == "claims" and one.coverage.share < least
        if low or wrong or open_ or unchecked:
            return FAILED
    return 0


def verify_one(given: Input, asking: Asking, output: Output) -> int:
    """Verify one document."""
    (found,) = _verify(asking, [given])
    return finish(_verified(given, found), output, why_nothing(given, found, asking.verifier))


def mend_one(given: Input, asking: Asking, method: str, model: str | None, output: Output) -> int:
    """Mend one document."""
    (found,) = _mend(asking, method, model, [given])
    why = why_nothing(given, found.before, asking.verifier) if found.before else ""
    return finish(_mended(given, found), output, why or _why_failed(given.name, [found]))


def _verify(asking: Asking, given: Sequence[Input]) -> list[Verdicts]:
    """Texts and answers in the order given; every model is opened once."""
    with asking.opened() as (verifier, extractor):
        documents = [(one.document, one.source) for one in given]
        return verify_documents(documents, verifier, extractor)


def _mend(
    asking: Asking, method: str, model: str | None, given: Sequence[Input]
) -> list[edits.Mended]:
    """The same for mending."""
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


def _draft(given: Input) -> edits.Draft:
    return edits.Draft(given.text, given.source, None if given.table is None else given.format)


def _verified(given: Input, found: Verdicts) -> Verification:
    return verification(found, given.text, given.source, given.table, given.name)


def _mended(given: Input, found: edits.Mended) -> Mended:
    return mended(found, _draft(given), given.name)


def _why_failed(name: str, found: Sequence[edits.Mended]) -> str:
    """Why every request failed, to verify or to rewrite; empty where one did not, or none was."""
    if why := why_failed([one.before for one in found if one.before is not None]):
        return f"{name}: {why}"
    usage = sum((one.usage for one in found), Usage())
    if not usage.calls or usage.failed < usage.calls:
        return ""
    why = next((edit.reason for one in found for edit in one.undone), "")
    return f"{name}: every request to a model failed ({usage.calls} in all): {why}"


class _Nothing(NamedTuple):
    """What a result says of a document that nothing comes of."""

    score: None
    coverage: Coverage
    unscored: tuple[Unscored, ...]


def _run_batch(
    path: Path,
    run: Callable[[list[Input]], Sequence[Raw]],
    convert: Callable[[Input, Raw], ResultT],
    nothing: Callable[[str, _Nothing], ResultT],
    *,
    as_json: bool,
) -> tuple[list[ResultT], list[Raw], int]:
    """The results of a file, what they were made of, and 1 where a defect of ours ended one."""
    documents = read_documents(path)
    coming = results(run, [one for one in documents if isinstance(one, Input)])
    found, raw, status = list[ResultT](), list[Raw](), 0
    for document in documents:
        one = next(coming) if isinstance(document, Input) else document
        if isinstance(one, Failed) or isinstance(document, Failed):
            failed = one if isinstance(one, Failed) else document
            assert isinstance(failed, Failed)
            print(failed.reason, file=sys.stderr)
            status |= failed.defect
            why = (Unscored(text="the document", reason=failed.reason),)
            empty = Coverage(scored=0, total=0, of="claims")
            found.append(nothing(failed.name, _Nothing(None, empty, why)))
        else:
            raw.append(one)
            found.append(convert(document, one))
        if as_json:
            print_json(found[-1], indent=None)
    return found, raw, status


def verify_batch(path: Path, asking: Asking, output: Output) -> int:
    """Verify a file of documents: their mean STAF, and with ``--json`` one result a line."""
    found, raw, status = _run_batch(
        path,
        partial(_verify, asking),
        _verified,
        lambda name, said: Verification(name=name, text="", **said._asdict()),
        as_json=output.as_json,
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
    return status or _status(found, output)


def mend_batch(path: Path, asking: Asking, method: str, model: str | None, output: Output) -> int:
    """Mend a file of documents: one result a line, and the totals on stderr."""
    found, raw, status = _run_batch(
        path,
        partial(_mend, asking, method, model),
        _mended,
        lambda name, said: Mended(name=name, text="", original="", **said._asdict()),
        as_json=True,
    )
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
    alike = load_similarity(similarity)
    lines = read_submissions(path, format)
    judgements = list(detect_in_answers((one for _, _, one in lines), alike))
    found = []
    for (name, own, _), judgement in zip(lines, judgements, strict=True):
        given = (own.answer, own.gold, own.context, own.query)
        found.append(of_judgement(judgement, *given, alike, format, name))
        if judgement.unscored:
            print(f"{name}: {judgement.unscored}", file=sys.stderr)
        if output.as_json:
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
    status = int(any(one.unscored.startswith(DEFECT) for one in judgements))
    return status or _status(found, output)


def _rate(rate: Rate, without: str) -> str:
    """A rate with its interval."""
    if rate["rate"] is None:
        return without
    ends = "" if rate["low"] is None else f"[{rate['low']:.3f}, {rate['high']:.3f}]  "
    return f"{rate['rate']:.3f}  {ends}n = {rate['n']}"
