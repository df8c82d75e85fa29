"""From answers to verdicts: what the majority says of every step and every example."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Literal, NamedTuple, TypedDict

from tablemend.annotation.answers import Ballots
from tablemend.annotation.steps import CHOICES, STEPS, Choice, Step

Verdict = Literal["right", "wrong", "unscored"]
Cause = Literal["", "tie", "unsure", "unanswered"]
"""Why there is no verdict."""


class Ruling(NamedTuple):
    """The verdict on a question, or on an example."""

    verdict: Verdict
    cause: Cause = ""


class StepCase(TypedDict):
    """What all annotators together say of one question: verdict, votes, and their notes."""

    verdict: Verdict
    cause: Cause
    yes: int
    no: int
    unsure: int
    notes: list[str]


class Case(TypedDict):
    """What all annotators together say of one example."""

    example: str
    verdict: Verdict
    cause: Cause
    steps: dict[Step, StepCase]


class Voter(TypedDict):
    """One annotator's work.

    ``compared`` counts the yes and no answers to questions on which the other annotators have a
    majority, ``agreed`` those that are like it.
    """

    name: str
    yes: int
    no: int
    unsure: int
    unanswered: int
    compared: int
    agreed: int


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


def decide(ballots: Ballots) -> list[Case]:
    """The verdict on every example that was put to an annotator."""
    cases = []
    for example, asked in ballots.items():
        steps: dict[Step, StepCase] = {}
        for step in STEPS:
            votes = list(asked.get(step, {}).values())
            verdict, cause = rule(vote.choice for vote in votes)
            yes, no, unsure = (sum(vote.choice == one for vote in votes) for one in CHOICES)
            steps[step] = StepCase(
                verdict=verdict,
                cause=cause,
                yes=yes,
                no=no,
                unsure=unsure,
                notes=[vote.note for vote in votes if vote.note],
            )
        whole = combine(Ruling(one["verdict"], one["cause"]) for one in steps.values())
        cases.append(Case(example=example, verdict=whole.verdict, cause=whole.cause, steps=steps))
    return cases


def tally(ballots: Ballots) -> list[Voter]:
    """What each annotator answered, and how that compares with the majority of the others.

    Who answered nothing is no annotator.
    """
    voters: dict[str, Voter] = {}
    for steps in ballots.values():
        for votes in steps.values():
            for name, vote in votes.items():
                voter = voters.setdefault(
                    name,
                    Voter(name=name, yes=0, no=0, unsure=0, unanswered=0, compared=0, agreed=0),
                )
                voter[vote.choice or "unanswered"] += 1
                others = rule(other.choice for n, other in votes.items() if n != name)
                if vote.choice in ("yes", "no") and others.verdict != "unscored":
                    voter["compared"] += 1
                    voter["agreed"] += (vote.choice == "yes") == (others.verdict == "right")
    return [
        voters[name] for name in sorted(voters) if any(voters[name][choice] for choice in CHOICES)
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
