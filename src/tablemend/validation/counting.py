"""What of a verification is right and wrong by people's judgement, as counts that add up.

What is unjudged is counted apart: it is neither right nor wrong.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from tablemend.records import Verification
from tablemend.validation.items import Item, Mark, overlap
from tablemend.values.sentences import Span, sentence_spans

Counts = Counter[str]


def faults(verification: Verification) -> list[tuple[Span, str]]:
    """The words that a verification holds to be wrong, with the type of error, each once.

    Where a verdict names no words at fault, those that the claim turns on, else all of it.
    """
    found: dict[Span, str] = {}
    for verdict in verification.verdicts:
        claim = verdict.claim
        if not verdict.wrong or claim.start is None or claim.end is None:
            continue
        whole = claim.focus or Span(claim.start, claim.end)
        for span in verdict.spans or (whole,):
            found.setdefault(Span(*span), verdict.error_type or "")
    return sorted(found.items())


def count_claims(verification: Verification) -> Counts:
    """Claims, and how many of them have no verdict."""
    return Counter(
        claims=len(verification.verdicts), unjudged_claims=verification.counts["unjudged"]
    )


def count_text(wrong: bool, verification: Verification) -> Counts:
    """One text with or without an error by people, against the verdict on all of its claims."""
    return _decide(wrong, verification.verdict == "unjudged", verification.verdict != "supported")


def _decide(wrong: bool, unjudged: bool, called_wrong: bool) -> Counts:
    gold = "bad" if wrong else "good"
    if unjudged:
        return Counter({f"{gold}_unjudged": 1})
    return Counter({f"{gold}_{'rejected' if called_wrong else 'accepted'}": 1})


def count_spans(marks: Sequence[Mark], verification: Verification) -> Counts:
    """Marked words against predicted ones.

    A predicted span is right where it shares a character with a marked error, a marked error is
    found where it shares one with a predicted span. A span predicted only where words are marked
    for something else than unfaithfulness does not count. A marked error is *open* where it was
    not found and no claim that touches it has a verdict.
    """
    errors = [mark for mark in marks if mark.error]
    others = [mark for mark in marks if not mark.error]
    counts: Counts = Counter()
    predicted = faults(verification)
    for span, kind in predicted:
        hit = any(mark.overlaps(span) for mark in errors)
        if not hit and any(mark.overlaps(span) for mark in others):
            continue
        counts.update(predicted=1, hits=int(hit))
        counts.update({f"predicted {kind}": 1, f"hits {kind}": int(hit)})
    judged = [
        Span(claim.start, claim.end)
        for verdict in verification.verdicts
        if (claim := verdict.claim).start is not None
        and claim.end is not None
        and verdict.verdict != "unjudged"
    ]
    for mark in errors:
        found = any(mark.overlaps(span) for span, _ in predicted)
        is_open = not found and not any(mark.overlaps(span) for span in judged)
        counts.update(marked=1, found=int(found), open=int(is_open))
        counts.update({f"marked {mark.label}": 1, f"found {mark.label}": int(found)})
        counts.update({f"open {mark.label}": int(is_open)})
    counts.update(_count_one_to_one(errors, [span for span, _ in predicted]))
    counts.update(_count_characters(marks, [span for span, _ in predicted]))
    return counts


def _count_one_to_one(errors: Sequence[Mark], predicted: Sequence[Span]) -> Counts:
    """The definition of the Accuracy Shared Task (Thomson and Reiter 2021).

    Predicted spans do not overlap. In the order of the text each marked error takes the first
    predicted span that shares a token with it; a span that is taken finds no second error.
    """
    free: list[Span] = []
    for span in predicted:
        if not any(overlap(span, other) for other in free):
            free.append(span)
    counts: Counts = Counter({"single predicted": len(free)})
    for mark in sorted(errors, key=lambda one: one.start):
        taken = next((span for span in free if mark.overlaps(span)), None)
        if taken:
            free.remove(taken)
        counts.update({"single marked": 1, "single found": int(taken is not None)})
        counts.update({f"single marked {mark.label}": 1})
        counts.update({f"single found {mark.label}": int(taken is not None)})
    return counts


def _count_characters(marks: Sequence[Mark], predicted: Sequence[Span]) -> Counts:
    def places(spans: Iterator[tuple[int, int]]) -> set[int]:
        return {place for start, end in spans for place in range(start, end)}

    wrong = places((mark.start, mark.end) for mark in marks if mark.error)
    other = places((mark.start, mark.end) for mark in marks if not mark.error) - wrong
    said = places((span.start, span.end) for span in predicted) - other
    return Counter(
        characters_marked=len(wrong),
        characters_predicted=len(said),
        characters_both=len(wrong & said),
    )


def count_sentences(text: str, marks: Sequence[Mark], verification: Verification) -> Counts:
    """Each sentence, with or without a marked error, against the verdicts on its claims.

    It is called wrong where predicted words are in it; else it is unjudged where one of its
    claims is, or none is in it. Prefixed with ``sentence``.
    """
    predicted = [span for span, _ in faults(verification)]
    counts: Counts = Counter()
    for sentence in sentence_spans(text):
        called_wrong = any(overlap(span, sentence) for span in predicted)
        inside = [
            verdict.verdict
            for verdict in verification.verdicts
            if verdict.claim.start is not None
            and verdict.claim.end is not None
            and overlap(Span(verdict.claim.start, verdict.claim.end), sentence)
        ]
        unjudged = not called_wrong and (not inside or "unjudged" in inside)
        wrong = any(mark.error and mark.overlaps(sentence) for mark in marks)
        for name, count in _decide(wrong, unjudged, called_wrong).items():
            counts[f"sentence {name}"] += count
    return counts


def count_item(item: Item, verification: Verification) -> Counts:
    """Everything that is counted of one text; twice annotated texts count twice."""
    counts = count_claims(verification)
    counts["texts"] += 1
    for wrong in item.judgements:
        counts.update(count_text(wrong, verification))
    if item.label is not None:
        counts[f"label {item.label} {verification.verdict}"] += 1
    for marks in item.marks:
        counts.update(count_spans(marks, verification))
        counts.update(count_sentences(item.text, marks, verification))
    return counts


def human_score(item: Item) -> float | None:
    """How faithful people found a text, between texts of one set.

    The rating where the set has ratings; else 1 or 0 by the label; else the share of sentences in
    which no error is marked, over its annotators.
    """
    if item.rating is not None:
        return item.rating
    if item.label is not None:
        return float(item.label == "supported")
    sentences = sentence_spans(item.text)
    if not item.marks or not sentences:
        return None
    clean = [
        not any(mark.error and mark.overlaps(sentence) for mark in marks)
        for marks in item.marks
        for sentence in sentences
    ]
    return sum(clean) / len(clean)
