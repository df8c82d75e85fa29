"""What is wrong in a text, in the opinion of a verifier or a metric."""

from __future__ import annotations

from dataclasses import dataclass

from tablemend.records import Verdict, Verification
from tablemend.values.text import Span


@dataclass(frozen=True, slots=True)
class Opinion:
    """One opinion on a text.

    Attributes:
        wrong: whether the text as a whole is; ``None`` for unscored.
        faults: words at fault, with a type of error, each once and in order.
        scored: places that the opinion is about.
    """

    wrong: bool | None
    faults: tuple[tuple[Span, str], ...]
    scored: tuple[Span, ...]


def by_verifier(verification: Verification) -> Opinion:
    """A verifier's opinion.

    Where a verdict names no words at fault, those that the claim turns on are, else all of it.
    """
    faults: dict[Span, str] = {}
    scored: list[Span] = []
    for verdict in verification.verdicts:
        place = place_of(verdict)
        if verdict.verdict != "unscored":
            scored.append(place)
        if verdict.wrong:
            for span in verdict.spans or (verdict.claim.focus or place,):
                faults.setdefault(Span(*span), verdict.error_type or "")
    whole = verification.verdict
    wrong = None if whole == "unscored" else whole != "supported"
    return Opinion(wrong, tuple(sorted(faults.items())), tuple(scored))


def by_score(score: float | None, threshold: float) -> bool | None:
    """Whether a text is wrong in a metric's opinion, as its score is too low."""
    return None if score is None else score < threshold


def place_of(verdict: Verdict) -> Span:
    """Where the claim of a text stands."""
    claim = verdict.claim
    assert claim.start is not None and claim.end is not None, "a claim of a text has a place"
    return Span(claim.start, claim.end)
