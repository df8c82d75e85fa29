"""From answers to verdicts: what the majority says of every step and every example."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Literal, NamedTuple, TypedDict

from tablemend.annotation.answers import Ballots, Vote
from tablemend.annotation.steps import CHOICES, STEPS, Choice, Step

Verdict = Literal["right", "wrong", "unscored"]
Cause = Literal["", "tie", "unsure", "unanswered"]
"""Why there is no verdict."""


class Ruling(NamedTuple):
    """What all annotators together say of one question."""

    verdict: Verdict
    cause: Cause
    votes: Mapping[Choice, int]


class Case(NamedTuple):
    """What all annotators together say of one example."""

    example: str
    verdict: Verdict
    cause: Cause
    steps: Mapping[Step, Ruling]
    notes: Mapping[Step, list[str]]


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
    votes: dict[Choice, int] = {choice: counts[choice] for choice in CHOICES}
    if votes["yes"] != votes["no"]:
        return Ruling("right" if votes["yes"] > votes["no"] else "wrong", "", votes)
    if votes["yes"]:
        return Ruling("unscored", "tie", votes)
    return Ruling("unscored", "unsure" if votes["unsure"] else "unanswered", votes)


def combine(rulings: Iterable[Ruling]) -> tuple[Verdict, Cause]:
    """An example is wrong if one step is, right if all are, and else unscored."""
    rulings = list(rulings)
    verdicts = {ruling.verdict for ruling in rulings}
    if "wrong" in verdicts:
        return "wrong", ""
    if verdicts == {"right"}:
        return "right", ""
    causes = {ruling.cause for ruling in rulings}
    order: tuple[Cause, ...] = ("unanswered", "tie", "unsure")
    return "unscored", next(cause for cause in order if cause in causes)


def judge(ballots: Ballots) -> list[Case]:
    """The verdict on every example that was put to an annotator."""
    cases = []
    for example, asked in ballots.items():
        votes = {step: list(asked.get(step, {}).values()) for step in STEPS}
        steps = {step: rule(vote.choice for vote in own) for step, own in votes.items()}
        notes = {step: [vote.note for vote in own if vote.note] for step, own in votes.items()}
        verdict, cause = combine(steps.values())
        cases.append(Case(example, verdict, cause, steps, notes))
    return cases


def annotators(ballots: Ballots) -> list[str]:
    """Everyone who answered at least one question."""
    return sorted({vote.annotator for vote in _votes(ballots) if vote.choice})


def tally(ballots: Ballots) -> list[Voter]:
    """What each annotator answered, and how that compares with the majority of the others."""
    voters: dict[str, Voter] = {
        name: Voter(name=name, yes=0, no=0, unsure=0, unanswered=0, compared=0, agreed=0)
        for name in annotators(ballots)
    }
    for steps in ballots.values():
        for own in steps.values():
            for name, vote in own.items():
                if name in voters:
                    _count(voters[name], vote, own)
    return list(voters.values())


def _count(voter: Voter, vote: Vote, all_votes: Mapping[str, Vote]) -> None:
    voter[vote.choice or "unanswered"] += 1
    others = rule(other.choice for name, other in all_votes.items() if name != vote.annotator)
    if vote.choice in ("yes", "no") and others.verdict != "unscored":
        voter["compared"] += 1
        voter["agreed"] += (vote.choice == "yes") == (others.verdict == "right")


def counts_of_step(ballots: Ballots, step: Step) -> list[tuple[int, int]]:
    """Annotators who said yes and no to a step, for every example."""
    return [
        _yes_and_no(vote.choice for vote in asked.get(step, {}).values())
        for asked in ballots.values()
    ]


def counts_overall(ballots: Ballots) -> list[tuple[int, int]]:
    """Annotators to whom an example as a whole is right and wrong, by their own three answers."""
    found = []
    for asked in ballots.values():
        names = {name for own in asked.values() for name in own}
        wholes = []
        for name in names:
            votes = [asked.get(step, {}).get(name) for step in STEPS]
            wholes.append(combine(rule([vote.choice if vote else None]) for vote in votes)[0])
        found.append((wholes.count("right"), wholes.count("wrong")))
    return found


def _yes_and_no(choices: Iterable[Choice | None]) -> tuple[int, int]:
    counts = Counter(choices)
    return counts["yes"], counts["no"]


def _votes(ballots: Ballots) -> Iterable[Vote]:
    return (vote for steps in ballots.values() for own in steps.values() for vote in own.values())
