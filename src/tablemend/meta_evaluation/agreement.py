"""How far a verifier or a metric agrees with people: counts that add up, and figures of one set.

What is unscored is counted apart: it is neither right nor wrong. A verdict of an error is the
positive class: precision is the share of the errors found that people see too, recall the share of
people's errors that are found. Rates are over what was scored; those with ``_all`` in the name are
over everything, where what is unscored is not found. What shares a split key is drawn together.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from tablemend.config import BackendOptions
from tablemend.datasets.labelled_texts import Item, Mark, overlap
from tablemend.meta_evaluation.metrics import score_items
from tablemend.records import VERDICTS, Verdict, Verification
from tablemend.statistics import Array, Rate, correlations, interval, resample_means
from tablemend.values.text import Span, sentence_spans
from tablemend.verifier.staf import open_verifier, verify_documents
from tablemend.verifier.verifiers import PROGRAM


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


Sums = Callable[[str], Array]
"""Name of a count -> its sum in each resample."""
Formula = Callable[[Sums], Array]
Rates = dict[str, Rate]


def ratio(part: str, whole: str, less: str = "") -> Formula:
    """Counts over counts, each as names joined by ``+``, ``less`` taken from the whole.

    NaN where there is no whole.
    """

    def total(sums: Sums, names: str) -> Array:
        return np.sum([sums(name) for name in names.split("+")], axis=0)  # type: ignore[no-any-return]

    def formula(sums: Sums) -> Array:
        over = total(sums, whole) - (total(sums, less) if less else 0.0)
        with np.errstate(divide="ignore", invalid="ignore"):
            found: Array = np.where(over > 0, total(sums, part) / over, np.nan)
            return found

    return formula


def harmonic(precision: Formula, recall: Formula) -> Formula:
    """F1 of two measures: NaN where either is, 0 where nothing is right."""

    def formula(sums: Sums) -> Array:
        one, other = precision(sums), recall(sums)
        both = one + other
        f1: Array = 2 * one * other / np.where(both == 0, 1, both)
        return f1

    return formula


def mean(one: Formula, other: Formula) -> Formula:
    """Half of each."""
    return lambda sums: (one(sums) + other(sums)) / 2


def _with_f1(measures: dict[str, Formula]) -> dict[str, Formula]:
    precision = measures["precision"]
    return measures | {
        "f1": harmonic(precision, measures["recall"]),
        "f1_all": harmonic(precision, measures["recall_all"]),
    }


_SCORED = "bad_rejected+bad_accepted+good_rejected+good_accepted"
_EVERY = f"{_SCORED}+bad_unscored+good_unscored"
_RIGHT = "bad_rejected+good_accepted"
_RECALL = ratio("bad_rejected", "bad_rejected+bad_accepted")

COVERAGE = {"coverage": lambda sums: 1 - ratio("unscored_claims", "claims")(sums)}
TEXT = _with_f1(
    {
        "precision": ratio("bad_rejected", "bad_rejected+good_rejected"),
        "recall": _RECALL,
        "recall_all": ratio("bad_rejected", "bad_rejected+bad_accepted+bad_unscored"),
        "balanced_accuracy": mean(_RECALL, ratio("good_accepted", "good_accepted+good_rejected")),
        "accuracy": ratio(_RIGHT, _SCORED),
        "right": ratio(_RIGHT, _EVERY),
        "wrong": ratio("bad_accepted+good_rejected", _EVERY),
        # what the share scored is worth against programs that verify everything
        "right_with_coin": mean(
            ratio(_RIGHT, _EVERY), ratio(f"{_RIGHT}+bad_unscored+good_unscored", _EVERY)
        ),
        "unscored": ratio("bad_unscored+good_unscored", _EVERY),
    }
)
"""Of texts that are accepted or rejected."""
SPAN = _with_f1(
    {
        "precision": ratio("hits", "predicted"),
        "recall": ratio("found", "marked", less="open"),
        "recall_all": ratio("found", "marked"),
        "open": ratio("open", "marked"),
        "precision_single": ratio("single_found", "single_predicted"),
        "recall_single": ratio("single_found", "single_marked"),
    }
)
"""Of words at fault."""


def rates(counts: Sequence[Counts], keys: Sequence[str], formulas: Mapping[str, Formula]) -> Rates:
    """Every formula over the summed counts, with its interval.

    Args:
        counts: of each item.
        keys: the split key of each item.
        formulas: name -> measure.

    Returns:
        Name -> rate; ``None`` where nothing can be said. ``n`` is the number of items.
    """
    names = sorted({name for one in counts for name in one})
    place = {name: index for index, name in enumerate(names)}
    clusters = {key: index for index, key in enumerate(dict.fromkeys(keys))}
    table = np.zeros((max(1, len(clusters)), len(names)))
    for one, key in zip(counts, keys, strict=True):
        for name, count in one.items():
            table[clusters[key], place[name]] += count
    total = table.mean(axis=0)[None, :]
    drawn = resample_means(table, seed=0) if len(clusters) > 1 else None

    def read(sums: Array) -> Sums:
        zeros = np.zeros(len(sums))
        return lambda name: sums[:, place[name]] if name in place else zeros

    return {
        name: interval(
            float(formula(read(total))[0]),
            None if drawn is None else formula(read(drawn)),
            len(counts),
        )
        for name, formula in formulas.items()
    }


LABELS = ("supported", "contradicted", "not_in_source")


class Text(NamedTuple):
    """A text, what was counted of it, and the number that a scorer gives it."""

    item: Item
    counts: Counts
    score: float | None


def score_verifier(
    items: Sequence[Item], name: str, options: BackendOptions, **manner: Any
) -> dict[str, Any]:
    """All figures of one verifier on one set, and of the parts of the set.

    Args:
        items: the texts; every claim of them is verified.
        name: see :func:`open_verifier`.
        options: how a model is asked; its answers come from the request cache where they can.
        manner: other arguments of :func:`open_verifier`.

    Raises:
        TablemendError: a model that cannot be opened or cannot go on.
    """
    with closing(open_verifier(name, options, **manner)) as verifier:
        start = time.process_time()
        found = verify_documents([(item.text, item.source) for item in items], verifier)
        seconds = time.process_time() - start
    pairs = list(zip(items, found, strict=True))
    texts = [Text(item, count_item(item, own), own.staf) for item, own in pairs]
    total = sum((one.counts for one in texts), start=Counts())
    labels = [name.removeprefix("marked ") for name in total if name.startswith("marked ")]
    kinds = ("marked", "found", "open", "single_found")
    figures = _all_figures(texts) | {
        "verifier": found[0].verifier if found else "",
        "calls": sum(one.usage.calls for one in found),
        "by_label": {label: {kind: total[f"{kind} {label}"] for kind in kinds} for label in labels},
    }
    if name == PROGRAM and seconds:
        figures["claims_per_second"] = total["claims"] / seconds
    return figures


def score_metric(
    items: Sequence[Item], others: Sequence[Item], metric: str
) -> dict[str, Any] | None:
    """All figures of one metric; ``None`` where the set has not what it needs.

    Args:
        items: the texts to report on.
        others: the texts of the dev split, on which the threshold is chosen.
        metric: see :func:`score_items`.
    """
    scores = score_items(items, metric)
    if all(score is None for score in scores):
        return None
    known = zip(others, scores if items is others else score_items(others, metric), strict=True)
    pairs = [
        (score, wrong) for item, score in known if score is not None for wrong in item.judgements
    ]
    threshold = balanced_threshold(pairs)
    texts = []
    for item, score in zip(items, scores, strict=True):
        counts = Counts()
        if threshold is not None:
            counts = count_texts(item, by_score(score, threshold))
        texts.append(Text(item, counts, score))
    return _all_figures(texts) | {"threshold": threshold}


def balanced_threshold(pairs: Sequence[tuple[float, bool]]) -> float | None:
    """The score below which to call a text wrong: with the best balanced accuracy.

    Args:
        pairs: a score, and whether people find the text wrong; to be taken from the dev split.

    Returns:
        ``None`` where there are no texts of both kinds.
    """
    pairs = sorted(pairs)
    bad = sum(wrong for _, wrong in pairs)
    good = len(pairs) - bad
    if not bad or not good:
        return None
    best, threshold = 0.5, pairs[0][0]
    caught = passed = 0
    for (score, wrong), (following, _) in pairwise(pairs):
        caught, passed = caught + wrong, passed + (not wrong)
        balanced = (caught / bad + 1 - passed / good) / 2
        if following > score and balanced > best:
            best, threshold = balanced, (score + following) / 2
    return threshold


def _all_figures(texts: Sequence[Text]) -> dict[str, Any]:
    """The figures of a set, and below ``groups`` those of its parts where it has several."""
    names = sorted({one.item.group for one in texts})
    groups = {
        name: _figures([one for one in texts if one.item.group == name])
        for name in (names if len(names) > 1 else ())
    }
    return _figures(texts) | {"groups": groups}


def _figures(texts: Sequence[Text]) -> dict[str, Any]:
    items, counts = [one.item for one in texts], [one.counts for one in texts]
    keys = [item.split_key for item in items]
    people = [human_score(item) for item in items]
    figures: dict[str, Any] = {
        "texts": len(items),
        "correlation": correlations([one.score for one in texts], people, keys),
    }
    total = sum(counts, start=Counts())
    by_verifier = any("claims" in one for one in counts)
    labelled = any(item.label is not None for item in items)
    marked = any(item.marks for item in items)
    if by_verifier:
        figures["claims"] = total["claims"]
        figures |= rates(counts, keys, COVERAGE)
    if any(counts) and (labelled or marked):
        figures["text"] = rates(counts, keys, TEXT)
    if by_verifier and marked:
        figures["span"] = rates(counts, keys, SPAN)
    if by_verifier and labelled:
        figures["labels"] = {
            label: {verdict: total[f"label {label} {verdict}"] for verdict in VERDICTS}
            for label in LABELS
        }
    return figures
