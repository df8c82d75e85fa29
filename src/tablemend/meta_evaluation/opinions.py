"""What is wrong in a text, in the opinion of a verifier or a metric; what people say of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tablemend.meta_evaluation.items import Item, Mark, overlap
from tablemend.records import Verdict, Verification
from tablemend.values.sentences import Span


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


def about(place: Span | Mark, verdicts: Sequence[Verdict]) -> list[Verdict]:
    """The verdicts on the claims that words of a text belong to.

    Those that turn on these words; where none does, those whose claim holds them.
    """
    turning = [one for one in verdicts if one.claim.focus and overlap(one.claim.focus, place)]
    return turning or [one for one in verdicts if overlap(place_of(one), place)]


def disagreements(item: Item, verification: Verification) -> list[dict[str, Any]]:
    """Claims without a verdict, and those whose verdict people contradict, for a person to read.

    A labelled statement counts as a whole: where it is wrongly accepted, all its claims are
    given, where it is wrongly rejected, those that were.
    """
    verdicts = verification.verdicts
    marked: dict[int, set[str]] = {}
    for mark in (mark for marks in item.marks for mark in marks if mark.error):
        for verdict in about(mark, verdicts):
            marked.setdefault(id(verdict), set()).add(mark.label)
    found = []
    for verdict in verdicts:
        if item.label is None:
            kinds = marked.get(id(verdict), set())
            gold, agreed = (
                ", ".join(sorted(kinds)) or "nothing marked",
                verdict.wrong == bool(kinds),
            )
        else:
            right = item.label == "supported"
            gold, agreed = item.label, (verification.verdict == "supported") == right
            agreed = agreed or (right and not verdict.wrong)
        if verdict.verdict == "unscored" or not agreed:
            found.append(to_read(item.set, item.id, gold, verdict, item.text))
    return found


def to_read(set: str, id: str, gold: str, verdict: Verdict, text: str) -> dict[str, Any]:
    """A claim with its verdict, and what people say of it."""
    claim = verdict.to_json()
    names = ("verdict", "error_type", "kind", "statement", "reason", "evidence")
    shown = {"claim": claim["text"]} | {name: claim[name] for name in names}
    return {"set": set, "id": id, "gold": gold, **shown, "text": text}
