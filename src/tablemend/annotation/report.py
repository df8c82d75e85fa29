"""Answers of annotators, the verdicts of their majority, and the report: accuracy and agreement."""

from __future__ import annotations

import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple, get_args

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from tablemend.annotation.page import ANSWERS, CHOICES, GUIDES, STEPS, VERSION, Choice, Data, Step
from tablemend.errors import TablemendError
from tablemend.foreign import read_whole
from tablemend.reports.content import DASH, MINUS, percent, with_interval
from tablemend.reports.rendering import align
from tablemend.statistics import krippendorffs_alpha, rate_interval


class Vote(NamedTuple):
    """One annotator's answer to one question; ``None`` where it was left open."""

    choice: Choice | None
    note: str
    where: str


Ballots = dict[str, dict[Step, dict[str, Vote]]]
"""Example -> step -> annotator -> vote, for every question that was put to anyone."""


class _Given(BaseModel):
    model_config = ConfigDict(strict=True, frozen=True, extra="forbid")
    example: str
    step: Step
    answer: Choice | None
    note: str


class AnswerFile(BaseModel):
    """The JSON that the page writes."""

    model_config = ConfigDict(strict=True, frozen=True, extra="forbid")
    format: Literal["tablemend-annotation"]
    version: Literal[1]
    data: str
    source: str
    split: str | None
    annotator: str = Field(pattern=r"\S")
    answers: list[_Given]


assert get_args(AnswerFile.model_fields["format"].annotation) == (ANSWERS,)
assert get_args(AnswerFile.model_fields["version"].annotation) == (VERSION,)


def read_answers(path: Path) -> tuple[Path, AnswerFile]:
    """Read the file that the page gave an annotator.

    Raises:
        TablemendError: it cannot be read, or something in it is not what is wanted; the message
            names the file and the place.
    """
    try:
        return path, AnswerFile.model_validate_json(read_whole(path).removeprefix(b"\xef\xbb\xbf"))
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise TablemendError(f"cannot read the answers {path}: {reason}") from error
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(map(str, first["loc"]))
        raise TablemendError(
            f"{path}{f', {place}' if place else ''}: {first['msg']}; wanted is a file that "
            "the page of `tablemend annotate export` wrote"
        ) from error
    except ValueError as error:
        raise TablemendError(f"cannot read the answers {path}: {error}") from error


def gather(files: Iterable[tuple[Path, AnswerFile]], data: Data) -> Ballots:
    """All votes on a data set. An answer beats a question left open by the same annotator.

    Raises:
        TablemendError: a file is about another data set or names an unknown example, an
            annotator gave two answers to one question, or nobody answered anything.
    """
    ballots: Ballots = {}
    for path, file in files:
        if file.data != data.hash:
            place = f"{data.source}{f', split {data.split}' if data.split else ''}"
            raise TablemendError(
                f"{path} is about the data set {file.data}, {place} is {data.hash}: give the "
                "data set and --split that were exported, unchanged"
            )
        # the same person is known again: case and spacing do not matter
        name = " ".join(unicodedata.normalize("NFC", file.annotator).casefold().split())
        for number, given in enumerate(file.answers):
            new = Vote(given.answer, given.note.strip(), f"{path}, answers.{number}")
            if given.example not in data.examples:
                raise TablemendError(f"{new.where}: {data.source} has no example {given.example!r}")
            voters = ballots.setdefault(given.example, {}).setdefault(given.step, {})
            old = voters.setdefault(name, new)  # as in two downloads of the same work
            if old.choice and new.choice and old.choice != new.choice:
                raise TablemendError(
                    f"{name} answers {given.step} of example {given.example} twice: {old.choice} "
                    f"({old.where}) and {new.choice} ({new.where}): keep one, or tell two people "
                    "apart by their names"
                )
            chosen, other = (old, new) if old.choice and not new.choice else (new, old)
            voters[name] = chosen._replace(note=chosen.note or other.note)
    if not any(
        vote.choice
        for steps in ballots.values()
        for voters in steps.values()
        for vote in voters.values()
    ):
        raise TablemendError("the answer files hold no answer yet")
    return ballots


Verdict = Literal["right", "wrong", "unscored"]
Cause = Literal["", "tie", "unsure", "unanswered"]
"""Why there is no verdict."""


class Ruling(NamedTuple):
    """The verdict on a question, or on an example."""

    verdict: Verdict
    cause: Cause = ""


def rule(choices: Iterable[Choice | None]) -> Ruling:
    """Majority of yes and no. Unsure and no answer are no votes; a tie is no verdict."""
    counts = Counter(choices)
    if counts["yes"] != counts["no"]:
        return Ruling("right" if counts["yes"] > counts["no"] else "wrong")
    if counts["yes"]:
        return Ruling("unscored", "tie")
    return Ruling("unscored", "unsure" if counts["unsure"] else "unanswered")


def combine(rulings: Iterable[Ruling]) -> Ruling:
    """An example is wrong if one step is, right if all are, and else unscored."""
    rulings = list(rulings)
    verdicts = {ruling.verdict for ruling in rulings}
    if "wrong" in verdicts:
        return Ruling("wrong")
    if verdicts == {"right"}:
        return Ruling("right")
    causes = {ruling.cause for ruling in rulings}
    order: tuple[Cause, ...] = ("unanswered", "tie", "unsure")
    return Ruling("unscored", next(cause for cause in order if cause in causes))


def decide(ballots: Ballots) -> list[dict[str, Any]]:
    """The verdict on every example that was put to an annotator, and on each step the verdict, the
    votes and the notes of all.
    """
    cases = []
    for example, asked in ballots.items():
        steps: dict[Step, dict[str, Any]] = {}
        rulings = []
        for step in STEPS:
            votes = list(asked.get(step, {}).values())
            rulings.append(rule(vote.choice for vote in votes))
            counts: dict[str, Any] = {c: sum(vote.choice == c for vote in votes) for c in CHOICES}
            notes = [vote.note for vote in votes if vote.note]
            steps[step] = {**rulings[-1]._asdict(), **counts, "notes": notes}
        cases.append({"example": example, **combine(rulings)._asdict(), "steps": steps})
    return cases


def tally(ballots: Ballots) -> list[dict[str, Any]]:
    """What each annotator answered; who answered nothing is no annotator.

    ``compared`` counts the yes and no answers to questions on which the other annotators have a
    majority, ``agreed`` those that are like it.
    """
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for votes in (votes for steps in ballots.values() for votes in steps.values()):
        for name, vote in votes.items():
            own = counts[name]
            own[vote.choice or "unanswered"] += 1
            others = rule(other.choice for n, other in votes.items() if n != name)
            if vote.choice in ("yes", "no") and others.verdict != "unscored":
                own["compared"] += 1
                own["agreed"] += (vote.choice == "yes") == (others.verdict == "right")
    fields = (*CHOICES, "unanswered", "compared", "agreed")
    return [
        {"name": name, **{field: own[field] for field in fields}}
        for name, own in sorted(counts.items())
        if any(own[choice] for choice in CHOICES)
    ]


def counts_overall(ballots: Ballots) -> list[tuple[int, int]]:
    """Annotators to whom an example as a whole is right and wrong, by their own three answers."""
    found = []
    for asked in ballots.values():
        wholes = []
        for name in {name for votes in asked.values() for name in votes}:
            votes = [asked.get(step, {}).get(name) for step in STEPS]
            wholes.append(combine(rule([vote.choice if vote else None]) for vote in votes).verdict)
        found.append((wholes.count("right"), wholes.count("wrong")))
    return found


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


def _part(cases: Sequence[dict[str, Any]], counts: list[tuple[int, int]]) -> dict[str, Any]:
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
    rows = [head.split("|")]
    for name, part in report["results"].items():
        found = part["agreement"]
        alpha = DASH if found["alpha"] is None else f"{found['alpha']:.2f}"
        if found["low"] is not None:
            alpha += f" ({found['low']:.2f} to {found['high']:.2f})"
        counts = (str(part[key]) for key in ("examples", "right", "wrong", "unscored"))
        accuracy, same = with_interval(part["accuracy"]), percent(found["observed"])
        rows.append([titles[name], *counts, accuracy, alpha.replace("-", MINUS), same])
    return align(rows)


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
    head = ["annotator", "yes", "no", "unsure", "unanswered", "as the others' majority"]
    rows = [
        [
            one["name"],
            *(str(one[key]) for key in head[1:5]),
            f"{one['agreed']} of {one['compared']}",
        ]
        for one in people
    ]
    lines += ["", align([head, *rows])]
    lines += _listing(report, "wrong", "Scored wrong")
    lines += _listing(report, "unscored", "To discuss")
    return "\n".join(lines)


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
