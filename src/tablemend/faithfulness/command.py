"""``tablemend verify``: every claim of a text or an answer table, scored by its source."""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Sequence
from functools import partial

from tablemend.faithfulness import inputs
from tablemend.faithfulness.options import (
    add_batch_option,
    add_input_options,
    add_verifier_options,
    open_scorers,
    refuse_unread,
)
from tablemend.faithfulness.staf import verify_documents
from tablemend.records import VERDICTS, Usage, Verdict, VerdictName, Verification
from tablemend.statistics import mean_interval
from tablemend.values.text import on_one_line

_LONGEST = 200


def add_verify_options(parser: argparse.ArgumentParser) -> None:
    """The options of ``tablemend verify``."""
    add_input_options(parser)
    add_batch_option(
        parser, "the mean STAF with its 95 %% interval, or with --json one object a line"
    )
    add_verifier_options(parser)
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def verify(options: argparse.Namespace) -> int:
    """Verify every claim of a text or an answer table by its source, and print STAF."""
    refuse_unread(options)
    if options.batch is not None:
        return verify_batch(options)
    given = inputs.read_input(options)
    (found,) = _verify(options, [given])
    if options.json:
        print(json.dumps(found.to_json(), ensure_ascii=False, indent=2))
    else:
        print(describe(found))
    if reason := inputs.why_nothing(given, found, options.verifier):
        print(reason, file=sys.stderr)
        return inputs.NOTHING
    return 0


def verify_batch(options: argparse.Namespace) -> int:
    """Verify a file of documents, and print their mean STAF or one JSON object each."""
    found, count, status = inputs.run_batch(
        options.batch, partial(_verify, options), print_json=options.json
    )
    if why := inputs.why_failed(found):
        print(f"{options.batch}: {why}", file=sys.stderr)
        status = inputs.NOTHING
    if not options.json:
        print(describe_batch(found, count))
    return status


def describe_batch(found: Sequence[Verification], documents: int) -> str:
    """The mean STAF of a batch, and its claims by verdict."""
    rate = mean_interval([one.staf for one in found if one.staf is not None])
    mean = "no document has a claim that could be scored"
    if rate["rate"] is not None:
        mean = f"{rate['rate']:.3f}  [{rate['low']:.3f}, {rate['high']:.3f}]  n = {rate['n']}"
    totals: Counter[VerdictName] = Counter()
    for verification in found:
        totals.update(verification.counts)
    without = documents - rate["n"]
    return "\n".join(
        [
            f"{'STAF':<16}{mean}",
            f"{'documents':<16}{documents}, {without} without a scored claim",
            _counts(totals),
            _verifier_lines(found),
        ]
    )


def _verify(options: argparse.Namespace, given: Sequence[inputs.Input]) -> list[Verification]:
    """Texts and answers in the order given; every model is opened once."""
    with open_scorers(options) as (verifier, extractor):
        documents = [(one.document, one.source) for one in given]
        return verify_documents(documents, verifier, extractor)


def describe(found: Verification) -> str:
    """A verification for a person: claim by claim, then the counts and STAF."""
    lines = [line for verdict in found.verdicts for line in _describe_claim(verdict)]
    lines += [f"note: {note}" for note in found.notes]
    counts = found.counts
    scored = len(found.verdicts) - counts["unscored"]
    score = "no claim could be scored"
    if found.staf is not None:
        score = f"{found.staf:.3f} ({counts['supported']} of {scored} scored claims supported)"
    share = f"{found.unscored:.3f} ({counts['unscored']} of {len(found.verdicts)} claims)"
    lines += ["", f"{'STAF':<16}{score}", f"{'unscored':<16}{share}", _counts(counts)]
    return "\n".join([*lines, _verifier_lines([found])]).lstrip("\n")


def _describe_claim(verdict: Verdict) -> list[str]:
    claim = verdict.claim
    if claim.start is not None:
        where = f"{claim.start}-{claim.end}"
    else:
        where = "answer" if claim.row is None else f"row {claim.row + 1}"
        where += f", {claim.column!r}" if claim.column is not None else ""
    named = verdict.verdict.replace("_", " ")
    fault = f" ({verdict.error_type})" if verdict.error_type else ""
    lines = [f"{named}{fault}: {where}: {on_one_line(claim.text, _LONGEST)}"]
    details = [("on", _focus(verdict)), ("reason", verdict.reason)]
    if verdict.expected:
        details.append(("expected", " or ".join(verdict.expected)))
    details += [("evidence", evidence.text) for evidence in verdict.evidence]
    lines += [
        f"    {title + ':':<10}{on_one_line(text, _LONGEST)}" for title, text in details if text
    ]
    return lines


def _focus(verdict: Verdict) -> str:
    """The words that a claim turns on, where they are not all of it."""
    claim, focus = verdict.claim, verdict.claim.focus
    if focus is None or claim.start is None:
        return ""
    words = claim.text[focus.start - claim.start : focus.end - claim.start]
    return words if words != claim.text else ""


def _counts(counts: dict[VerdictName, int] | Counter[VerdictName]) -> str:
    shown = ", ".join(f"{counts[name]} {name.replace('_', ' ')}" for name in VERDICTS)
    return f"{'claims':<16}{shown}"


def _verifier_lines(found: Sequence[Verification]) -> str:
    names = list(dict.fromkeys(one.verifier for one in found))
    lines = [f"{'verifier':<16}{name}" for name in names]
    return "\n".join([*lines, *asked(sum((one.usage for one in found), Usage()))])


def asked(usage: Usage) -> list[str]:
    """The line on what models were asked; none without a call."""
    tokens = f"{usage.prompt_tokens} tokens in, {usage.completion_tokens} tokens out"
    return [f"{'asked':<16}{usage.calls} calls, {tokens}"] if usage.calls else []
