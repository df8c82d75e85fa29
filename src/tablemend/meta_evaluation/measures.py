"""Rates with 95 % bootstrap intervals; what shares a split key is drawn together.

A verdict of an error is the positive class: precision is the share of the errors found that
people see too, recall the share of people's errors that are found. Rates are over what was
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
