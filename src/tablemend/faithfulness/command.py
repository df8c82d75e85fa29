"""``tablemend verify``: every claim of a text or an answer table, judged by its source."""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from tablemend.errors import TablemendError
from tablemend.records import VERDICTS, Verdict, VerdictName, Verification
from tablemend.values.text import on_one_line

if TYPE_CHECKING:
    from tablemend.faithfulness.inputs import Input

NOTHING = 1
"""Exit status where there is nothing to judge: no claim, or an answer without a table."""
_LONGEST = 200


def add_verify_options(parser: argparse.ArgumentParser) -> None:
    """The options of ``tablemend verify``."""
    from tablemend.faithfulness.inputs import add_batch_option, add_input_options, add_model_options

    add_input_options(parser)
    add_batch_option(
        parser, "the mean STAF with its 95 %% interval, or with --json one object a line"
    )
    parser.add_argument(
        "--verifier",
        default="program",
        metavar="NAME",
        help="program (default), nli:MODEL, llm:MODEL, or both as program+llm:MODEL; a MODEL of"
        " llm is a model string such as hf:Qwen/Qwen3-8B or openai:MODEL@URL",
    )
    parser.add_argument(
        "--extractor",
        default="program",
        metavar="NAME",
        help="what takes a text apart: program (default) or llm:MODEL",
    )
    add_model_options(parser)
    parser.add_argument(
        "--labels",
        metavar="A,B,C",
        default="",
        help="what the outputs of an nli model mean, where its checkpoint does not say it",
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def verify(options: argparse.Namespace) -> int:
    """Judge every claim of a text or an answer table by its source, and print STAF."""
    from tablemend.faithfulness.inputs import NoTable, read_batch, read_input, refuse_unread

    refuse_unread(options)
    if options.batch is not None:
        return verify_batch(options, list(read_batch(options.batch)))
    try:
        given = read_input(options)
    except NoTable as error:
        print(f"error: {error}", file=sys.stderr)
        return NOTHING
    (found,) = _verify(options, [given])
    if options.json:
        print(json.dumps(found.to_json(), ensure_ascii=False, indent=2))
    else:
        print(describe(found))
    if not found.verdicts:
        where = options.text if options.text is not None else options.answer
        print(f"{where}: no claim was found, so nothing is judged", file=sys.stderr)
        return NOTHING
    return 0


def verify_batch(options: argparse.Namespace, lines: Sequence[tuple[int, Input | str]]) -> int:
    """Judge a file of documents, and print their mean STAF or one JSON object each."""
    from tablemend.reports.rates import mean_interval  # scipy.stats takes a second to import

    if not lines:
        raise TablemendError(f"the batch file {options.batch} holds no document")
    given = [(number, one) for number, one in lines if not isinstance(one, str)]
    judged = _verify(options, [one for _, one in given])
    found = dict(zip((number for number, _ in given), judged, strict=True))
    for number, one in lines:
        if number not in found:
            print(f"{one}; it counts as unjudged", file=sys.stderr)
        if options.json:
            known = found.get(number)
            said = {"error": str(one)} if known is None else known.to_json()
            print(json.dumps({"line": number} | said, ensure_ascii=False))
    if options.json:
        return 0
    scores = [one.staf for one in judged if one.staf is not None]
    rate = mean_interval(scores)
    if rate["rate"] is None:
        print(f"{'STAF':<16}no document has a claim that could be judged")
    else:
        print(
            f"{'STAF':<16}{rate['rate']:.3f}  [{rate['low']:.3f}, {rate['high']:.3f}]"
            f"  n = {rate['n']}"
        )
    print(f"{'documents':<16}{len(lines)}, {len(lines) - len(scores)} without a judged claim")
    totals: Counter[VerdictName] = Counter()
    for verification in judged:
        totals.update(verification.counts)
    print(_counts(totals))
    print(_judge(judged))
    return 0


def _verify(options: argparse.Namespace, given: Sequence[Input]) -> list[Verification]:
    """Texts and answers in the order given; every model is opened once."""
    from tablemend.faithfulness import inputs, staf

    texts = [(place, one) for place, one in enumerate(given) if one.table is None]
    answers = [(place, one) for place, one in enumerate(given) if one.table is not None]
    asked, manner = inputs.backend_options(options), inputs.manner(options)
    labels = [label.strip() for label in options.labels.split(",") if label.strip()]
    verifier = staf.open_verifier(options.verifier, asked, labels=labels, **manner)
    found: dict[int, Verification] = {}
    try:
        if texts:
            extractor = staf.open_extractor(options.extractor, asked, **manner)
            try:
                judged = staf.verify_texts(
                    [(one.text, one.source) for _, one in texts], verifier, extractor
                )
            finally:
                extractor.close()
            found |= dict(zip((place for place, _ in texts), judged, strict=True))
        tables = [(one.table, one.source, one.query) for _, one in answers if one.table is not None]
        judged = staf.verify_answers(tables, verifier) if tables else []
        found |= dict(zip((place for place, _ in answers), judged, strict=True))
    finally:
        verifier.close()
    return [found[place] for place in range(len(given))]


def describe(found: Verification) -> str:
    """A verification for a person: claim by claim, then the counts and STAF."""
    lines = [line for verdict in found.verdicts for line in _describe_claim(verdict)]
    lines += [f"note: {note}" for note in found.notes]
    counts = found.counts
    judged = len(found.verdicts) - counts["unjudged"]
    score = "no claim could be judged"
    if found.staf is not None:
        score = f"{found.staf:.3f} ({counts['supported']} of {judged} judged claims supported)"
    share = f"{found.unjudged:.3f} ({counts['unjudged']} of {len(found.verdicts)} claims)"
    lines += ["", f"{'STAF':<16}{score}", f"{'unjudged':<16}{share}", _counts(counts)]
    return "\n".join([*lines, _judge([found])]).lstrip("\n")


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


def _judge(found: Sequence[Verification]) -> str:
    names = list(dict.fromkeys(one.judge for one in found))
    lines = [f"{'judge':<16}{name}" for name in names]
    lines += asked(
        sum(one.calls for one in found),
        sum(one.prompt_tokens for one in found),
        sum(one.completion_tokens for one in found),
    )
    return "\n".join(lines)


def asked(calls: int, prompt_tokens: int, completion_tokens: int) -> list[str]:
    """The line on what models were asked; none without a call."""
    if not calls:
        return []
    return [
        f"{'asked':<16}{calls} calls, {prompt_tokens} tokens in, {completion_tokens} tokens out"
    ]
