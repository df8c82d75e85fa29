"""Sentences that a computation explains whole, whatever their claims turn on.

A claim is scored by its focus. Where a reading of the whole sentence uses nearly every word that
says something and does not hold, the sentence is false, though none of its claims may turn on the
words at fault; where it holds, what its claims name is what it was computed of.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence

from tablemend.records import Claim, Verdict
from tablemend.values.sentences import Span
from tablemend.verification.linking import Linking
from tablemend.verification.logic.verify import Explained, explain_sentence
from tablemend.verification.number_findings import is_scoped

_LONGEST = 600  # characters
_LIMITS = frozenset(
    "only just never always each until before after lose lost beat beaten defeat defeated tie tied "
    "win won".split()
)
"""Words that change what a sentence says, if a reading leaves them out."""
_FALSE = 0.3
_TRUE = 0.75
_USED = 0.66
"""Share of the words that say something which a reading must account for."""


def settle_sentences(
    linking: Linking, verdicts: Sequence[Verdict], closed: Callable[[int], bool]
) -> list[Verdict]:
    """The verdicts, with those of sentences that one reading explains.

    Args:
        linking: the text and its tables.
        verdicts: on its claims, in their order.
        closed: whether no other reading may verify a sentence, by its index.
    """
    settled = list(verdicts)
    grids = linking.source.grids
    if len(grids) != 1 or len(grids[0].lines) < 2:
        return settled
    by_sentence: dict[int, list[int]] = defaultdict(list)
    for place, verdict in enumerate(verdicts):
        if verdict.claim.start is not None:
            by_sentence[linking.sentence_at(verdict.claim.start)].append(place)
    for number, places in by_sentence.items():
        own = [verdicts[place] for place in places]
        span = linking.reading.sentences[number]
        if any(one.wrong for one in own) or all(one.verdict == "supported" for one in own):
            continue
        if span.end - span.start > _LONGEST or is_scoped(linking.reading.plain, *span):
            continue
        if closed(number):
            continue
        read = explain_sentence(linking, span, grids[0].number)
        if read is None or read.used < _USED or any(map(_counts, read.left)):
            continue
        if read.likely <= _FALSE:
            place = _at_fault(verdicts, places, read.fault)
            settled[place] = _refuted(verdicts[place].claim, read)
        elif read.likely >= _TRUE and any(one.verdict == "supported" for one in own):
            for place in places:
                if verdicts[place].verdict == "unscored":
                    claim, reason = verdicts[place].claim, read.outcome.reason
                    settled[place] = Verdict(claim, "supported", None, read.evidence, reason)
    return settled


def _counts(word: str) -> bool:
    return any(character.isdigit() for character in word) or word in _LIMITS


def _at_fault(verdicts: Sequence[Verdict], places: list[int], fault: Span | None) -> int:
    """The claim that turns on the words at fault; else the one that compares, else the first."""

    def rank(place: int) -> tuple[bool, bool, bool]:
        claim = verdicts[place].claim
        focus = claim.focus
        touched = focus is not None and fault is not None
        turns = touched and focus.start < fault.end and fault.start < focus.end  # type: ignore[union-attr]
        unscored = verdicts[place].verdict == "unscored"
        return not turns, not unscored, claim.kind != "comparative"

    return min(places, key=rank)


def _refuted(claim: Claim, read: Explained) -> Verdict:
    spans = (read.fault,) if read.fault else ()
    outcome = read.outcome
    return Verdict(
        claim, "contradicted", outcome.error, read.evidence, outcome.reason, spans, outcome.expected
    )
