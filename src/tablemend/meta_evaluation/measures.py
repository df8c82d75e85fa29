"""Rates with 95 % bootstrap intervals; what shares a split key is drawn together.

A verdict of an error is the positive class: precision is the share of the errors called that
people see too, recall the share of people's errors that are called. Rates are over what was
scored; those with ``_all`` in the name are over everything, where what is unscored is not found.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from tablemend.meta_evaluation.counting import Counts
from tablemend.statistics import Array, Rate, interval, resample_means

Sums = Callable[[str], Array]
"""Name of a count -> its sum in each resample."""
Formula = Callable[[Sums], Array]


def share(part: Array, whole: Array) -> Array:
    """Part of whole; NaN where there is no whole."""
    with np.errstate(divide="ignore", invalid="ignore"):
        found: Array = np.where(whole > 0, part / whole, np.nan)
        return found


def _f1(precision: Array, recall: Array) -> Array:
    both = precision + recall  # NaN where either is, 0 where nothing is right
    f1: Array = 2 * precision * recall / np.where(both == 0, 1, both)
    return f1


def _decisions(prefix: str = "") -> dict[str, Formula]:
    """Measures of accepting or rejecting things that are good or bad by people's judgement."""

    def count(sums: Sums, name: str) -> Array:
        return sums(prefix + name)

    def scored(sums: Sums, kind: str) -> Array:
        return count(sums, f"{kind}_rejected") + count(sums, f"{kind}_accepted")

    def every(sums: Sums, kind: str) -> Array:
        return scored(sums, kind) + count(sums, f"{kind}_unscored")

    def precision(sums: Sums) -> Array:
        bad = count(sums, "bad_rejected")
        return share(bad, bad + count(sums, "good_rejected"))

    def recall(sums: Sums) -> Array:
        return share(count(sums, "bad_rejected"), scored(sums, "bad"))

    def recall_all(sums: Sums) -> Array:
        return share(count(sums, "bad_rejected"), every(sums, "bad"))

    def specificity(sums: Sums) -> Array:
        return share(count(sums, "good_accepted"), scored(sums, "good"))

    def right(sums: Sums) -> Array:
        return count(sums, "bad_rejected") + count(sums, "good_accepted")

    def total(sums: Sums) -> Array:
        return every(sums, "bad") + every(sums, "good")

    def total_scored(sums: Sums) -> Array:
        return scored(sums, "bad") + scored(sums, "good")

    return {
        "precision": precision,
        "recall": recall,
        "recall_all": recall_all,
        "f1": lambda sums: _f1(precision(sums), recall(sums)),
        "f1_all": lambda sums: _f1(precision(sums), recall_all(sums)),
        "balanced_accuracy": lambda sums: (recall(sums) + specificity(sums)) / 2,
        "accuracy": lambda sums: share(right(sums), total_scored(sums)),
        "right": lambda sums: share(right(sums), total(sums)),
        "wrong": lambda sums: share(total_scored(sums) - right(sums), total(sums)),
        # what the share scored is worth against programs that verify everything
        "right_with_coin": lambda sums: share(
            right(sums) + (total(sums) - total_scored(sums)) / 2, total(sums)
        ),
        "unscored": lambda sums: 1 - share(total_scored(sums), total(sums)),
        "base_rate": lambda sums: share(every(sums, "bad"), total(sums)),
    }


def ratio(part: str, whole: str) -> Formula:
    """One count over another."""
    return lambda sums: share(sums(part), sums(whole))


def harmonic(precision: Formula, recall: Formula) -> Formula:
    """F1 of two measures."""
    return lambda sums: _f1(precision(sums), recall(sums))


_SPAN_PRECISION = ratio("hits", "predicted")


def _span_recall(sums: Sums) -> Array:
    return share(sums("found"), sums("marked") - sums("open"))


COVERAGE: dict[str, Formula] = {
    "coverage": lambda sums: 1 - share(sums("unscored_claims"), sums("claims")),
    "claims_per_text": ratio("claims", "texts"),
}
TEXT = _decisions()
SENTENCE = _decisions("sentence ")
SPAN: dict[str, Formula] = {
    "precision": _SPAN_PRECISION,
    "recall": _span_recall,
    "recall_all": ratio("found", "marked"),
    "f1": harmonic(_SPAN_PRECISION, _span_recall),
    "f1_all": harmonic(_SPAN_PRECISION, ratio("found", "marked")),
    "open": ratio("open", "marked"),
    "precision_single": ratio("single found", "single predicted"),
    "recall_single": ratio("single found", "single marked"),
    "precision_characters": ratio("characters_both", "characters_predicted"),
    "recall_characters": ratio("characters_both", "characters_marked"),
}


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


Rates = dict[str, Rate]
