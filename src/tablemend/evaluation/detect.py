"""``tablemend detect``: answer tables against their gold tables and contexts."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

from pydantic import PlainValidator

from tablemend.config import batch
from tablemend.config.query import add_query_options, read_query
from tablemend.detector.algorithm import (
    DETECTOR_VERSION,
    AnswerFormat,
    Submission,
    detect_in_answer,
    detect_in_answers,
    detector_name,
    why_no_table,
)
from tablemend.detector.errors import ERROR_TYPES, METRICS
from tablemend.detector.order import SortRule
from tablemend.detector.query import decimals_from_query, sort_rule_from_query
from tablemend.detector.similarity import PAPER_MODEL, load_similarity
from tablemend.errors import DEFECT, TablemendError
from tablemend.foreign import shown
from tablemend.records import Finding, Judgement
from tablemend.tables.jsontable import read_json
from tablemend.tables.read import FORMATS, answer_format, load_table, load_text, read_table
from tablemend.tables.table import Table, TableError
from tablemend.values.text import on_one_line

NO_TABLE = 1
"""Exit status of ``detect`` where the answer cannot be scored as a table (none, a column twice,
too large); the verdict is still printed."""

_COUNTED = {metric.name: metric for metric in METRICS}


def add_detect_options(parser: argparse.ArgumentParser) -> None:
    """The options of ``tablemend detect``."""
    one = parser.add_argument_group("one answer")
    one.add_argument(
        "--answer",
        type=Path,
        metavar="FILE",
        help="the raw answer, prose and code fences included",
    )
    one.add_argument(
        "--gold",
        type=Path,
        metavar="FILE",
        help="the table that it should be, in any readable format",
    )
    one.add_argument(
        "--context", type=Path, metavar="FILE", help="the text that the model was shown"
    )
    add_query_options(one, "its sort rule is checked")
    parser.add_argument_group("many answers").add_argument(
        "--batch",
        type=Path,
        metavar="FILE",
        help="JSON lines with the fields answer, gold (a table as text or as JSON),"
        " context and, if wanted, query; prints rates with their 95 %% intervals (with --json each"
        " answer's findings too)",
    )
    parser.add_argument(
        "--format",
        choices=(*FORMATS, "auto"),
        default="auto",
        help="the format that was asked for (default: what the answer file's suffix names, .csv,"
        " .tsv, .json, .tex, .html; for any other, Markdown, JSON, LaTeX or HTML, by content)",
    )
    parser.add_argument(
        "--similarity",
        default="lexical",
        metavar="NAME",
        help="'lexical' (default) or a sentence-transformers model, such as"
        f" {PAPER_MODEL}, the paper's",
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def detect(options: argparse.Namespace) -> int:
    """Score answers against their gold tables and contexts, and print what is wrong."""
    if options.batch is not None:
        return detect_batch(options)
    missing = [name for name in ("answer", "gold", "context") if getattr(options, name) is None]
    if missing:
        raise TablemendError(f"detect needs {' and '.join('--' + name for name in missing)}")
    gold = load_table(options.gold)
    answer = load_text(options.answer, may_be_empty=True)
    context = load_text(options.context, may_be_empty=True)
    query = read_query(options)
    order = sort_rule_from_query(query, gold.columns)
    decimals = decimals_from_query(query, gold.columns)
    similarity = load_similarity(options.similarity)
    format = answer_format(options.answer, options.format)
    judgement = detect_in_answer(answer, gold, context, order, format, similarity, decimals)
    if judgement.unscored:
        raise TablemendError(f"{options.gold}: {judgement.unscored}; no answer can be scored by it")
    if options.json:
        print(json.dumps(to_json(judgement, order), ensure_ascii=False, indent=2))
    else:
        print(describe(judgement, order, asked=bool(query)))
    if reason := why_no_table(judgement):
        print(f"error: {options.answer}: {reason}; counted as a format error", file=sys.stderr)
        return NO_TABLE
    return 0


def detect_batch(options: argparse.Namespace) -> int:
    """Score a file of answers and print their rates."""
    from tablemend.reports.tabulation import summarise  # numpy

    similarity = load_similarity(options.similarity)
    submissions = list(read_submissions(options.batch, options.format))
    orders = [one.order for one in submissions]
    judgements = list(detect_in_answers(submissions, similarity))
    for number, one in enumerate(judgements, 1):
        if one.unscored:
            print(f"{options.batch}, answer {number}: {one.unscored}", file=sys.stderr)
    status = int(any(one.unscored.startswith(DEFECT) for one in judgements))
    rates = summarise(judgements, METRICS)
    name = detector_name(similarity)
    if options.json:
        found = zip(judgements, orders, strict=True)
        answers = [to_json(judgement, order) for judgement, order in found]
        print(json.dumps({**rates, "detector": name, "answers": answers}, indent=2))
        return status
    for name, rate in rates.items():
        title = _title(name)
        if rate["rate"] is None:
            print(f"{title:<22}no answer could be scored")
        else:
            print(
                f"{title:<22}{rate['rate']:.3f}  [{rate['low']:.3f}, {rate['high']:.3f}]"
                f"  n = {rate['n']}"
            )
    checked = sum(map(order_checked, judgements, orders))
    print(f"{'order checked':<22}{checked} of {len(judgements)} answers")
    print(f"{'detector':<22}{name}")
    return status


def _given_table(value: object) -> Table:
    """A gold table, as text or as JSON."""
    try:
        return read_table(value) if isinstance(value, str) else read_json(json.dumps(value))
    except TableError as error:
        raise TablemendError(f"the gold table cannot be read ({error})") from error


class Fields(batch.Fields):
    """The fields of a line of ``--batch``."""

    answer: str
    gold: Annotated[Table, PlainValidator(_given_table)]
    context: str
    query: str = ""


def read_submissions(path: Path, format: AnswerFormat) -> Iterator[Submission]:
    """The answers of a file, one at a time; see :func:`tablemend.config.batch.read_batch`."""
    for _, one in batch.read_batch(path, Fields):
        order = sort_rule_from_query(one.query, one.gold.columns)
        decimals = decimals_from_query(one.query, one.gold.columns)
        yield Submission(one.answer, one.gold, one.context, order, format, decimals=decimals)


_LONGEST = 200  # characters of a cell in a report


def order_checked(judgement: Judgement, order: SortRule | None) -> bool:
    """Whether the order of the rows was compared: the query sorts, and the columns are gold's."""
    no_rows = judgement.unscored or judgement.abstained or judgement.counts["format_error"]
    return order is not None and not no_rows


def to_json(judgement: Judgement, order: SortRule | None) -> dict[str, Any]:
    """What ``--json`` prints of an answer."""
    counts = judgement.counts
    return {
        **{error: counts[error] for error in ERROR_TYPES},
        "constraint_violation": bool(_COUNTED["constraint_violation"].value(judgement)),
        "context_violation": bool(_COUNTED["context_violation"].value(judgement)),
        "hallucinated": judgement.hallucinated,
        "row_recall": judgement.share("row_recall"),
        "cell_recall": judgement.share("cell_recall"),
        "order_checked": order_checked(judgement, order),
        "findings": [finding.to_json() for finding in judgement.findings],
        "detector_version": DETECTOR_VERSION,
        "abstained": judgement.abstained,
        "unscored": judgement.unscored,
        "detector": judgement.scorer,
    }


def _title(metric: str) -> str:
    is_error = _COUNTED[metric].kind == "error"
    return _COUNTED[metric].title.lower() if is_error else metric.replace("_", " ")


def describe(judgement: Judgement, order: SortRule | None, asked: bool) -> str:
    """The same for a person: the findings first, then the counts."""
    lines = [_describe_finding(finding) for finding in judgement.findings]
    lines = lines or ["Nothing wrong was found."]
    if judgement.abstained:
        lines.append("The answer is an empty table.")
    lines.append("")
    counts = judgement.counts
    lines += [f"{_title(error):<22}{counts[error]}" for error in ERROR_TYPES]
    lines.append("")
    for name in ("constraint_violation", "context_violation"):
        shows = _COUNTED[name].value(judgement)
        lines.append(f"{_title(name):<22}{'yes' if shows else 'no'}")
    lines.append(f"{'hallucinated':<22}{'yes' if judgement.hallucinated else 'no'}")
    for name, share in judgement.shares.items():
        value = "-" if share.value is None else f"{share.value:.3f}"
        lines.append(f"{_title(name):<22}{value} ({share.part} of {share.total})")
    if order is None:
        rule = "not checked: " + ("no sort rule in the query" if asked else "no --query")
    elif order_checked(judgement, order):
        rule = f"{order.order} by {order.column!r}"
    else:
        rule = "not checked: no rows with gold's columns"
    lines.append(f"{'order':<22}{rule}")
    lines.append(f"{'detector':<22}{judgement.scorer}")
    return "\n".join(lines)


def _describe_finding(finding: Finding) -> str:
    where = "answer" if finding.row is None else f"row {finding.row + 1}"
    if finding.column is not None and finding.type != "format_error":
        where += f", {finding.column!r}"
    lines = [f"{_title(finding.type)}: {where}: {shown(finding.evidence)}"]
    if finding.expected is not None:
        lines.append(f"    expected: {on_one_line(finding.expected, _LONGEST)}")
    if finding.got is not None:
        lines.append(f"    got:      {on_one_line(finding.got, _LONGEST)}")
    return "\n".join(lines)
