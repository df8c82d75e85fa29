"""What of a verification is right and wrong by people's judgement, as counts that add up.

What is unscored is counted apart: it is neither right nor wrong.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from tablemend.meta_evaluation.items import Item, Mark, overlap
from tablemend.meta_evaluation.opinions import Opinion, by_verifier
from tablemend.records import Verification
from tablemend.values.text import Span, sentence_spans

Counts = Counter[str]


def count_item(item: Item, verification: Verification) -> Counts:
    """Everything that is counted of one text; twice annotated texts count twice."""
    opinion = by_verifier(verification)
    counts = count_texts(item, opinion.wrong)
    counts.update(count_claims(verification))
    if item.label is not None:
        counts[f"label {item.label} {verification.verdict}"] += 1
    for marks in item.marks:
        counts.update(count_spans(marks, opinion))
    return counts


def count_claims(verification: Verification) -> Counts:
    """Claims, and how many of them have no verdict."""
    unscored = verification.counts["unscored"]
    return Counter(claims=len(verification.verdicts), unscored_claims=unscored)


def count_texts(item: Item, rejected: bool | None) -> Counts:
    """A text against all that people say of it as a whole."""
    counts: Counts = Counter(texts=1)
    for wrong in item.judgements:
        counts.update(count_text(wrong, rejected))
    return counts


def count_text(wrong: bool, rejected: bool | None) -> Counts:
    """One text with or without an error by people, rejected, accepted or (``None``) unscored."""
    how = "unscored" if rejected is None else "rejected" if rejected else "accepted"
    return Counter({f"{'bad' if wrong else 'good'}_{how}": 1})


def count_spans(marks: Sequence[Mark], opinion: Opinion) -> Counts:
    """Marked words against those at fault in an opinion.

    A span at fault is right where it shares a character with a marked error; a marked error
    is found where it shares one with such a span. A span that only touches words marked for
    something else than unfaithfulness does not count. A marked error is *open* where it was not
    found and nothing that touches it was scored.
    """
    errors = [mark for mark in marks if mark.error]
    others = [mark for mark in marks if not mark.error]
    counts: Counts = Counter()
    predicted = []
    for span, _ in opinion.faults:
        hit = any(overlap(mark, span) for mark in errors)
        if hit or not any(overlap(mark, span) for mark in others):
            predicted.append(span)
            counts.update(predicted=1, hits=int(hit))
    for mark in errors:
        found = any(overlap(mark, span) for span in predicted)
        is_open = not found and not any(overlap(mark, span) for span in opinion.scored)
        counts.update(_labelled(mark, marked=1, found=found, open=is_open))
    counts.update(_count_one_to_one(errors, predicted))
    return counts


def _labelled(mark: Mark, **counts: int) -> Counts:
    """Counts of all marks, and of those with its label."""
    every = {name: int(count) for name, count in counts.items()}
    return Counter(every | {f"{name} {mark.label}": count for name, count in every.items()})


def _count_one_to_one(errors: Sequence[Mark], predicted: Sequence[Span]) -> Counts:
    """The definition of the Accuracy Shared Task (Thomson and Reiter 2021).

    Predicted spans do not overlap. In the order of the text each marked error takes the first
    predicted span that shares a token with it; a span that is taken finds no second error.
    """
    free: list[Span] = []
    for span in predicted:
        if not any(overlap(span, other) for other in free):
            free.append(span)
    counts: Counts = Counter(single_predicted=len(free))
    for mark in sorted(errors, key=lambda one: one.start):
        taken = next((span for span in free if overlap(mark, span)), None)
        if taken:
            free.remove(taken)
        counts.update(_labelled(mark, single_marked=1, single_found=taken is not None))
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
    shares = [share for marks in item.marks if (share := clean_share(item.text, marks)) is not None]
    return sum(shares) / len(shares) if shares else None


def clean_share(text: str, marks: Sequence[Mark]) -> float | None:
    """Share of a text's sentences in which no error is marked; ``None`` for an empty text."""
    sentences = sentence_spans(text)
    clean = [not any(m.error and overlap(m, sentence) for m in marks) for sentence in sentences]
    return sum(clean) / len(clean) if clean else None
