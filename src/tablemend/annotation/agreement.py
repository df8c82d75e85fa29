"""How much annotators agree: Krippendorff's alpha for yes and no, with an interval."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypedDict

import krippendorff
import numpy as np

from tablemend.reports.rates import CONFIDENCE, resample_means


class Agreement(TypedDict):
    """Agreement on one question.

    Attributes:
        alpha: 1 is perfect, 0 is what chance gives; ``None`` where it is not defined.
        low, high: 95 % interval; ``None`` where resampling cannot give one.
        observed: share of agreeing pairs, unadjusted for chance; ``None`` without pairs.
        units: examples that at least two annotators judged.
        judgements: answers to them.
        reason: why alpha or its interval is missing; empty where both are there.
    """

    alpha: float | None
    low: float | None
    high: float | None
    observed: float | None
    units: int
    judgements: int
    reason: str


def agreement(counts: Sequence[tuple[int, int]], seed: int = 0) -> Agreement:
    """Krippendorff's alpha for nominal data (Krippendorff 2011, "Computing alpha-reliability").

    The interval is that of a bootstrap over examples, by percentiles. With few examples it is
    rather too narrow (Hughes 2022). An alpha of 1 has none: resampling shows no spread. Nor has
    one with more than 2.5 % of resamples in which all answers are alike, where alpha is undefined.

    Args:
        counts: of each example, how many annotators said yes and no. Others say nothing.
        seed: of the resampling.
    """
    pairable = np.array([pair for pair in counts if sum(pair) > 1], dtype=float).reshape(-1, 2)
    found = Agreement(
        alpha=None,
        low=None,
        high=None,
        observed=None,
        units=len(pairable),
        judgements=int(pairable.sum()),
        reason="",
    )
    if not len(pairable):
        return {**found, "reason": "no example was judged by two annotators"}
    yes, no = pairable[:, 0], pairable[:, 1]
    disagreeing = 2 * yes * no / (yes + no - 1)  # of a unit's coincidences, those off the diagonal
    found["observed"] = float(1 - disagreeing.sum() / pairable.sum())
    if not (yes.any() and no.any()):
        return {**found, "reason": "all answers are the same"}
    found["alpha"] = float(
        krippendorff.alpha(value_counts=pairable, level_of_measurement="nominal")
    )
    if not disagreeing.any():
        return {**found, "reason": "no interval: not one pair disagrees"}
    alphas = _resample(np.column_stack([disagreeing, yes, no]), seed)
    defined = alphas[~np.isnan(alphas)]
    if len(defined) < len(alphas) * (1 + CONFIDENCE) / 2:
        return {**found, "reason": "no interval: too few different answers to resample"}
    low, high = np.quantile(defined, [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2])
    return {**found, "low": float(low), "high": float(high)}


def _resample(rows: np.ndarray, seed: int) -> np.ndarray:
    """Alpha of each resample of units, from its sums; nan where it is undefined."""
    sums = resample_means(rows, seed) * len(rows)
    disagreeing, yes, no = sums.T
    expected = 2 * yes * no / (yes + no - 1)
    alphas = np.full(len(sums), np.nan)
    varied = expected > 1e-9  # sums are whole numbers up to rounding
    alphas[varied] = 1 - disagreeing[varied] / expected[varied]
    return alphas
