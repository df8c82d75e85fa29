"""The report of a verification: accuracy with intervals, agreement, and what to look at again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from tablemend.annotation.answers import Ballots
from tablemend.annotation.sample import Data
from tablemend.annotation.steps import GUIDES, STEPS, VERSION
from tablemend.annotation.verdicts import (
    Case,
    StepCase,
    Verdict,
    counts_overall,
    decide,
    tally,
)
from tablemend.reports.content import DASH, MINUS, percent, with_interval
from tablemend.reports.rendering import align
from tablemend.statistics import Agreement, krippendorffs_alpha, rate_interval

REPORT = "tablemend-verification"
"""What the JSON of a report says that it is."""
OVERALL = "overall"
LISTED = 20
"""Examples of a kind that the terminal lists; the JSON has all."""


def make_report(ballots: Ballots, data: Data) -> dict[str, Any]:
    """Everything that is said of a verification, as JSON."""
    cases = decide(ballots)
    results = {}
    for step in STEPS:
        own = [case["steps"][step] for case in cases]
        results[step] = _part(own, [(one["yes"], one["no"]) for one in own])
    return {
        "format": REPORT,
        "version": VERSION,
        "data": {
            "source": data.source,
            "split": data.split,
            "hash": data.hash,
            "examples": len(data.examples),
        },
        "examples": len(cases),
        "annotators": tally(ballots),
        "results": {**results, OVERALL: _part(cases, counts_overall(ballots))},
        "cases": cases,
    }


def _part(cases: Sequence[Case | StepCase], counts: list[tuple[int, int]]) -> dict[str, Any]:
    """Accuracy and agreement of one step, or of whole examples."""
    verdicts = Counter(case["verdict"] for case in cases)
    causes = Counter(case["cause"] for case in cases)
    return {
        "examples": len(cases),
        "right": verdicts["right"],
        "wrong": verdicts["wrong"],
        "unscored": verdicts["unscored"],
        "unscored_by": {cause: causes[cause] for cause in ("tie", "unsure", "unanswered")},
        "accuracy": rate_interval(verdicts["right"], verdicts["right"] + verdicts["wrong"]),
        "agreement": krippendorffs_alpha(counts),
    }


def results_table(report: dict[str, Any]) -> str:
    """One row a step and one for whole examples, as Markdown."""
    head = "|examples|right|wrong|unscored|accuracy, %|Krippendorff's alpha|same answer, %"
    titles = {name: guide.title for name, guide in GUIDES.items()} | {OVERALL: "all steps"}
    rows = [
        [
            titles[name],
            *(str(part[key]) for key in ("examples", "right", "wrong", "unscored")),
            with_interval(part["accuracy"]),
            say_alpha(part["agreement"]),
            percent(part["agreement"]["observed"]),
        ]
        for name, part in report["results"].items()
    ]
    return align([head.split("|"), *rows])


def say_alpha(found: Agreement) -> str:
    """``0.74 (0.61-0.85)``; a dash where alpha is not defined."""
    if found["alpha"] is None:
        return DASH
    alpha = _decimal(found["alpha"])
    if found["low"] is None or found["high"] is None:
        return alpha
    return f"{alpha} ({_decimal(found['low'])} to {_decimal(found['high'])})"


def _decimal(value: float) -> str:
    return f"{value:.2f}".replace("-", MINUS)


def alpha_notes(report: dict[str, Any]) -> list[str]:
    """Why alpha or its interval is missing, a reason a line."""
    reasons: dict[str, list[str]] = {}
    for name, part in report["results"].items():
        if reason := part["agreement"]["reason"]:
            title = "all steps" if name == OVERALL else name
            if part["agreement"]["alpha"] is None:
                reason = f"alpha is not defined: {reason}"
            reasons.setdefault(reason, []).append(title)
    return [f"{', '.join(titles)}: {reason}" for reason, titles in reasons.items()]


def describe(report: dict[str, Any]) -> str:
    """The report for the terminal."""
    data, people = report["data"], report["annotators"]
    split = f", split {data['split']}" if data["split"] else ""
    several = "s" if len(people) != 1 else ""
    lines = [
        f"{report['examples']} of {data['examples']} examples of {data['source']}{split}, "
        f"{len(people)} annotator{several}. Intervals are 95 %.",
        "",
        results_table(report),
        "",
        *alpha_notes(report),
    ]
    causes = report["results"][OVERALL]["unscored_by"]
    if any(causes.values()):
        named = ", ".join(f"{cause} {count}" for cause, count in causes.items() if count)
        lines.append(f"unscored examples: {named}")
    lines += ["", _people(report)]
    lines += _listing(report, "wrong", "Scored wrong")
    lines += _listing(report, "unscored", "To discuss")
    return "\n".join(lines)


def _people(report: dict[str, Any]) -> str:
    head = ["annotator", "yes", "no", "unsure", "unanswered", "as the others' majority"]
    rows = [
        [
            one["name"],
            *(str(one[key]) for key in ("yes", "no", "unsure", "unanswered")),
            f"{one['agreed']} of {one['compared']}",
        ]
        for one in report["annotators"]
    ]
    return align([head, *rows])


def _listing(report: dict[str, Any], verdict: Verdict, title: str) -> list[str]:
    """The examples of a verdict with the steps that it comes from and their notes."""
    cases = [
        case
        for case in report["cases"]
        if case["verdict"] == verdict and case["cause"] != "unanswered"
    ]
    lines = ["", f"{title}:"] if cases else []
    for case in cases[:LISTED]:
        steps = {name: one for name, one in case["steps"].items() if one["verdict"] == verdict}
        notes = "; ".join(note for one in steps.values() for note in one["notes"])
        said = f": {' '.join(notes.split())}" if notes else ""
        lines.append(f"  {case['example']} {', '.join(steps)}{said}")
    if len(cases) > LISTED:
        lines.append(f"  and {len(cases) - LISTED} more; --json has all")
    return lines
