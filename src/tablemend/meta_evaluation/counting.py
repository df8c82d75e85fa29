"""What of a verification is right and wrong by people's judgement, as counts that add up.

What is unscored is counted apart: it is neither right nor wrong.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import permutations

from tablemend.meta_evaluation.items import Item, Mark, overlap
from tablemend.meta_evaluation.opinions import Called, by_person, by_verifier
from tablemend.records import Verification
from tablemend.values.sentences import Span, sentence_spans

Counts = Counter[str]


def count_claims(verification: Verification) -> Counts:
    """Claims, and how many of them have no verdict."""
    return Counter(
        claims=len(verification.verdicts), unscored_claims=verification.counts["unscored"]
    )


def count_text(wrong: bool, called: Called) -> Counts:
    """One text with or without an error by people, against the opinion on all of it."""
    return _decide(wrong, called.verdict)


def _decide(wrong: bool, called_wrong: bool | None) -> Counts:
    gold = "bad" if wrong else "good"
    if called_wrong is None:
        return Counter({f"{gold}_unscored": 1})
    return Counter({f"{gold}_{'rejected' if called_wrong else 'accepted'}": 1})


def count_spans(marks: Sequence[Mark], called: Called) -> Counts:
    """Marked words against those called wrong.

    A span called wrong is right where it shares a character with a marked error; a marked error
    is found where it shares one with such a span. A span that only touches words marked for
    something else than unfaithfulness does not count. A marked error is *open* where it was not
    found and nothing that touches it was scored.
    """
    errors = [mark for mark in marks if mark.error]
    others = [mark for mark in marks if not mark.error]
    counts: Counts = Counter()
    predicted = []
    for span, kind in called.faults:
        hit = any(mark.overlaps(span) for mark in errors)
        if not hit and any(mark.overlaps(span) for mark in others):
            continue
        predicted.append(span)
        counts.update({"predicted": 1, "hits": int(hit)})
        counts.update({f"predicted {kind}": 1, f"hits {kind}": int(hit)})
    for mark in errors:
        found = any(mark.overlaps(span) for span in predicted)
        is_open = not found and not any(mark.overlaps(span) for span in called.scored)
        for name, count in (("marked", 1), ("found", int(found)), ("open", int(is_open))):
            counts.update({name: count, f"{name} {mark.label}": count})
    counts.update(_count_one_to_one(errors, predicted))
    counts.update(_count_characters(marks, predicted))
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
    def places(spans: Iterable[tuple[int, int]]) -> set[int]:
        return {place for start, end in spans for place in range(start, end)}

    wrong = places((mark.start, mark.end) for mark in marks if mark.error)
    other = places((mark.start, mark.end) for mark in marks if not mark.error) - wrong
    said = places(predicted) - other
    return Counter(
        characters_marked=len(wrong),
        characters_predicted=len(said),
        characters_both=len(wrong & said),
    )


def count_sentences(text: str, marks: Sequence[Mark], called: Called) -> Counts:
    """Each sentence, with or without a marked error; names begin with ``sentence``."""
    counts: Counts = Counter()
    for sentence in sentence_spans(text):
        wrong = any(mark.error and mark.overlaps(sentence) for mark in marks)
        for name, count in _decide(wrong, called.sentence(sentence)).items():
            counts[f"sentence {name}"] += count
    return counts


def count_item(item: Item, verification: Verification) -> Counts:
    """Everything that is counted of one text; twice annotated texts count twice."""
    called = by_verifier(verification)
    counts = count_claims(verification)
    counts["texts"] += 1
    for wrong in item.judgements:
        counts.update(count_text(wrong, called))
    if item.label is not None:
        counts[f"label {item.label} {verification.verdict}"] += 1
    for marks in item.marks:
        counts.update(count_spans(marks, called))
        counts.update(count_sentences(item.text, marks, called))
    return counts


def count_people(item: Item) -> Counts:
    """Every annotator of a text against every other one, who takes the verifier's place."""
    counts: Counts = Counter(texts=1)
    for gold, other in permutations(item.marks, 2):
        called = by_person(item.text, other)
        counts.update(count_text(any(mark.error for mark in gold), called))
        counts.update(count_spans(gold, called))
        counts.update(count_sentences(item.text, gold, called))
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
    clean = [not any(m.error and m.overlaps(sentence) for m in marks) for sentence in sentences]
    return sum(clean) / len(clean) if clean else None
