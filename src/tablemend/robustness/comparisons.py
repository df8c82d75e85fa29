"""Pairs of models: paired tests and effect sizes, by data set and over all (ToRR, D)."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import Literal

import numpy as np

from tablemend.robustness.cube import Array, Counts, ScoreCube, mean_scored, ratio

Unit = Literal["configuration", "example"]
"""What one observation is: one answer of each model, or the mean of an example's answers."""


@dataclass(frozen=True, eq=False)
class Comparisons:
    """Paired comparisons of Q pairs of models on D data sets. Differences are second - first.

    Attributes:
        pairs: places of the two models in the cube.
        n: (Q, D), observations scored for both.
        p: (Q, D), two-sided, of Wilcoxon's signed-rank test; NaN without observations.
        p_adjusted: (Q, D), by Benjamini and Yekutieli over the pairs of each data set.
        effect: (Q, D), Cohen's d of paired observations.
        variance: (Q, D), of the effect.
        harmonic_mean: (Q,), of the p over data sets, unadjusted.
        combined_p: (Q,), the p-value of that harmonic mean.
        combined_p_adjusted: (Q,), by Benjamini and Yekutieli over the pairs.
        combined_effect: (Q,), mean of the effects over data sets, weighted by 1 / variance.
        standard_error: (Q,), of that mean.
    """

    pairs: list[tuple[int, int]]
    n: Counts
    p: Array
    p_adjusted: Array
    effect: Array
    variance: Array
    harmonic_mean: Array
    combined_p: Array
    combined_p_adjusted: Array
    combined_effect: Array
    standard_error: Array


def compare_models(cube: ScoreCube, unit: Unit = "configuration") -> Comparisons:
    """Compare all pairs of models (ToRR, D, after Ackerman et al. 2025).

    Args:
        cube: the scores.
        unit: the paper takes each configuration of each example for an observation, 3,500 a
            data set. Those of one example are not independent, so its p-values and standard
            errors are too small. With ``example``, an observation is the mean difference of an
            example over the configurations scored for both.
    """
    pairs = list(combinations(range(len(cube.models)), 2))
    blocks = cube.blocks()
    found = [_compare(block[b] - block[a], unit) for a, b in pairs for block in blocks]
    n, p, effect, variance = np.array(found).reshape(len(pairs), len(blocks), 4).transpose(2, 0, 1)
    harmonic, combined = harmonic_mean_p(p)
    mean, error = weighted_mean(effect, variance)
    return Comparisons(
        pairs=pairs,
        n=n.astype(np.int64),
        p=p,
        p_adjusted=adjust_p(p),
        effect=effect,
        variance=variance,
        harmonic_mean=harmonic,
        combined_p=combined,
        combined_p_adjusted=adjust_p(combined),
        combined_effect=mean,
        standard_error=error,
    )


def _compare(gaps: Array, unit: Unit) -> tuple[float, float, float, float]:
    """n, p, effect and its variance, from the differences of two models: (E, C)."""
    gaps = mean_scored(gaps) if unit == "example" else gaps.ravel()
    gaps = gaps[~np.isnan(gaps)].round(12)  # equal ones rank alike
    return len(gaps), signed_rank_p(gaps), *paired_effect(gaps)


def signed_rank_p(differences: Array) -> float:
    """Two-sided p of Wilcoxon's signed-rank test, differences of 0 dropped (Wilcoxon 1945).

    1 where all are 0; NaN without any. Exact for few differences without ties, else normal.
    """
    from scipy.stats import wilcoxon

    if not differences.any():
        return 1.0 if len(differences) else float("nan")
    return float(wilcoxon(differences).pvalue)


def paired_effect(differences: Array) -> tuple[float, float]:
    """Cohen's d of paired observations and its variance.

    d is the mean of the differences over their standard deviation (n - 1); its variance is
    1/n + d^2 / (2n) (Borenstein et al. 2009, 4, in units of the differences). Without any
    difference d is 0; where all are the same and not 0, and for fewer than two, both are NaN.
    """
    n = len(differences)
    if n < 2:
        return float("nan"), float("nan")
    if not differences.any():
        return 0.0, 1 / n
    if np.ptp(differences) < 1e-12:
        return float("nan"), float("nan")
    d = float(differences.mean() / differences.std(ddof=1))
    return d, 1 / n + d**2 / (2 * n)


def adjust_p(p: Array) -> Array:
    """p-values that control the false discovery rate, column by column: (Q, ...) -> (Q, ...).

    Benjamini and Yekutieli (2001), right for any dependence. NaN stays, and is no test.
    """
    from scipy.stats import false_discovery_control

    adjusted = p.copy()
    for place in np.ndindex(p.shape[1:]):
        column = adjusted[:, *place]
        tested = ~np.isnan(column)
        if tested.any():
            column[tested] = false_discovery_control(column[tested], method="by")
    return adjusted


def harmonic_mean_p(p: Array) -> tuple[Array, Array]:
    """Harmonic mean of the p-values of each row, and its own p-value: (Q, D) -> (Q,), (Q,).

    Wilson (2019): under the null hypothesis, the mean of L inverse p-values has about a Landau
    distribution with location ln L + 1 - gamma + ln(pi/2) and scale pi/2; dependence between the
    tests matters little. A single p-value is its own. NaN is left out; a row of NaN gives NaN.
    """
    from scipy.stats import landau

    tests = (~np.isnan(p)).sum(-1)
    with np.errstate(divide="ignore", over="ignore"):  # p may be too small for a float
        inverse = mean_scored(1 / p)
    location = np.log(np.maximum(tests, 1)) + 1 - np.euler_gamma + np.log(np.pi / 2)
    tail: Array = landau.sf(inverse, loc=location, scale=np.pi / 2)
    return 1 / inverse, np.where(tests == 1, 1 / inverse, tail)


def weighted_mean(effects: Array, variances: Array) -> tuple[Array, Array]:
    """Inverse-variance weighted mean of each row, and its standard error: (Q, D) -> (Q,), (Q,).

    Turner and Bernard (2006): one common effect is taken to be behind all data sets. NaN is left
    out; a row of NaN gives NaN.
    """
    weights = np.where(np.isnan(effects), 0.0, 1 / variances)
    sums = np.where(weights > 0, weights * effects, 0.0).sum(-1)
    total = weights.sum(-1)
    return ratio(sums, total), ratio(np.ones(total.shape), np.sqrt(total))
