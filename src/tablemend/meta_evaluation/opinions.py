"""What is called wrong in a text, by a verifier or by a second person."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tablemend.meta_evaluation.items import Mark, overlap
from tablemend.records import Verdict, Verification
from tablemend.values.sentences import Span


@dataclass(frozen=True, slots=True)
class Called:
    """One opinion on a text.

    Attributes:
        verdict: on the text as a whole: ``True`` for wrong, ``None`` for unscored.
        faults: words called wrong, with a type of error, each once and in order.
        scored: places that the opinion is about.
        open: places of claims without a verdict.
    """

    verdict: bool | None
    faults: tuple[tuple[Span, str], ...] = ()
    scored: tuple[Span, ...] = ()
    open: tuple[Span, ...] = ()

    def sentence(self, place: Span) -> bool | None:
        """On one sentence: wrong where words in it are; else unscored where a claim in it is.

        A sentence without a claim is unscored too.
        """
        if any(overlap(span, place) for span, _ in self.faults):
            return True
        if any(overlap(span, place) for span in self.open):
            return None
        return False if any(overlap(span, place) for span in self.scored) else None


def about(place: Span, verdicts: Sequence[Verdict]) -> list[Verdict]:
    """The verdicts on the claims that words of a text belong to.

    Those that turn on these words; where none does, those whose claim holds them.
    """
    turning = [one for one in verdicts if one.claim.focus and overlap(one.claim.focus, place)]
    if turning:
        return turning
    return [
        one
        for one in verdicts
        if one.claim.start is not None
        and one.claim.end is not None
        and overlap(Span(one.claim.start, one.claim.end), place)
    ]


def by_verifier(verification: Verification) -> Called:
    """A verifier's opinion.

    Where a verdict names no words at fault, those that the claim turns on are, else all of it.
    """
    faults: dict[Span, str] = {}
    scored: list[Span] = []
    unscored: list[Span] = []
    for verdict in verification.verdicts:
        claim = verdict.claim
        if claim.start is None or claim.end is None:
            continue
        place = Span(claim.start, claim.end)
        (unscored if verdict.verdict == "unscored" else scored).append(place)
        if verdict.wrong:
            for span in verdict.spans or (claim.focus or place,):
                faults.setdefault(Span(*span), verdict.error_type or "")
    whole = verification.verdict
    return Called(
        None if whole == "unscored" else whole != "supported",
        tuple(sorted(faults.items())),
        tuple(scored),
        tuple(unscored),
    )


def by_person(text: str, marks: Sequence[Mark]) -> Called:
    """An annotator's opinion; what is marked for something else than unfaithfulness is none."""
    faults = {Span(mark.start, mark.end): mark.label for mark in marks if mark.error}
    return Called(bool(faults), tuple(sorted(faults.items())), (Span(0, len(text)),))


def by_score(score: float | None, threshold: float) -> Called:
    """A metric's opinion: too low a score is wrong."""
    return Called(None if score is None else score < threshold)
