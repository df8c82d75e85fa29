"""How much annotators agree: Krippendorff's alpha with an interval."""

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
        units: examples that at least two annotators scored.
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


def agreement(counts: Sequence[Sequence[int]], seed: int = 0) -> Agreement:
    """Krippendorff's alpha for nominal data (Krippendorff 2011, "Computing alpha-reliability").

    The interval is that of a bootstrap over examples, by percentiles. With few examples it is
    rather too narrow (Hughes 2022). An alpha of 1 has none: resampling shows no spread. Nor has
    one with more than 2.5 % of resamples in which all answers are alike, where alpha is undefined.

    Args:
        counts: of each example, how many annotators gave each of the answers, such as yes and
            no. Who did not judge is not counted.
        seed: of the resampling.
    """
    pairable = np.array([unit for unit in counts if sum(unit) > 1], dtype=float)
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
        return {**found, "reason": "no example was scored by two annotators"}
    judges = pairable.sum(axis=1)
    # of a unit's coincidences, those off the diagonal
    disagreeing = (judges**2 - (pairable**2).sum(axis=1)) / (judges - 1)
    found["observed"] = float(1 - disagreeing.sum() / judges.sum())
    if (pairable.sum(axis=0) > 0).sum() < 2:
        return {**found, "reason": "all answers are the same"}
    found["alpha"] = float(
        krippendorff.alpha(value_counts=pairable, level_of_measurement="nominal")
    )
    if not disagreeing.any():
        return {**found, "reason": "no interval: not one pair disagrees"}
    alphas = _resample(disagreeing, pairable, seed)
    defined = alphas[~np.isnan(alphas)]
    if len(defined) < len(alphas) * (1 + CONFIDENCE) / 2:
        return {**found, "reason": "no interval: too few different answers to resample"}
    low, high = np.quantile(defined, [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2])
    return {**found, "low": float(low), "high": float(high)}


def _resample(disagreeing: np.ndarray, pairable: np.ndarray, seed: int) -> np.ndarray:
    """Alpha of each resample of units, from its sums; nan where it is undefined."""
    rows = np.column_stack([disagreeing, pairable])
    sums = resample_means(rows, seed) * len(rows)
    observed, totals = sums[:, 0], sums[:, 1:]
    n = totals.sum(axis=1)
    expected = (n**2 - (totals**2).sum(axis=1)) / (n - 1)
    alphas = np.full(len(sums), np.nan)
    varied = expected > 1e-9  # counts up to rounding: 0, or at least 1
    alphas[varied] = 1 - observed[varied] / expected[varied]
    return alphas
