"""How far a ranking of models can be trusted, and tests of pairs of models (ToRR, 4, 5 and D)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations, product

import numpy as np
from numpy.typing import NDArray

from tablemend.errors import TablemendError
from tablemend.robustness.scores import Array, Estimates, ScoreCube, mean_scored, ratio
from tablemend.statistics import QUANTILES

DIGITS = 9
"""Scores are ranked to so many decimals: sums in another order differ in their last digits."""


def kendalls_w(scores: Array) -> Array:
    """Kendall's coefficient of concordance W of rankings, corrected for ties.

    Kendall and Babington Smith (1939), with the correction of Kendall (Rank Correlation Methods,
    chapter 6): tied scores share their mean rank, and W is divided by the most that it can be
    with these ties, so that equal rankings have 1 with ties, too. It is Friedman's chi-squared
    over m (n - 1). Unrelated rankings have 1 / m on average, not 0.

    Args:
        scores: (..., m, n): what m rankings of n models follow from. One with a NaN is left out.

    Returns:
        (...), from 0 to 1; NaN for fewer than two rankings, or ones that tie all models.
    """
    from scipy.stats import rankdata

    kept = np.asarray(~np.isnan(scores).any(-1))
    ranks = rankdata(np.round(scores, DIGITS), axis=-1) - (scores.shape[-1] + 1) / 2
    ranks = np.where(kept[..., None], ranks, 0.0)
    between = (ranks.sum(-2) ** 2).sum(-1)
    m = kept.sum(-1)
    return ratio(between, np.where(m > 1, m * (ranks**2).sum((-2, -1)), 0.0))


@dataclass(frozen=True, eq=False)
class RankingAgreement:
    """Kendall's W between rankings from samples of N numbers of examples and K of configurations.

    Attributes:
        examples: the N numbers; empty if all examples were taken, and then N is 1.
        configurations: the K numbers.
        by_dataset: (N, K, D), of the rankings on each data set.
        overall: (N, K), of the rankings by the mean over data sets.
    """

    examples: tuple[int, ...]
    configurations: tuple[int, ...]
    by_dataset: Array
    overall: Array


def ranking_agreement(
    cube: ScoreCube,
    configurations: Sequence[int] | None = None,
    examples: Sequence[int] = (),
    sets: int = 30,
    seed: int = 0,
) -> RankingAgreement:
    """How well rankings of the models agree that were made from samples of the cube (ToRR, 5).

    ``sets`` times, draw configurations without replacement, the same for all models and data
    sets, and examples of each data set, if fewer are wanted; rank the models by their
    performance on these; take Kendall's W between the rankings. Of one draw, larger samples
    contain the smaller ones. Samples of nearly all C configurations are nearly the same, and W is
    1 for all C: it says how well a sample stands for these C, not for formats never tried.

    Args:
        cube: the scores.
        configurations: numbers of them, from 1 to C; ``None`` for all from 1 to C (Figure 4).
        examples: numbers of them (Figure 5); a data set with fewer gives all that it has. Empty
            for all examples.
        sets: how many rankings.
        seed: of the draws.

    Raises:
        TablemendError: a number of configurations or examples that cannot be drawn.
    """
    blocks = cube.blocks()
    c = blocks[0].shape[-1]
    counts = tuple(range(1, c + 1) if configurations is None else configurations)
    if not counts or not all(1 <= k <= c for k in counts):
        raise TablemendError(f"configurations: numbers from 1 to {c}, not {list(counts)}")
    if not all(n >= 1 for n in examples):
        raise TablemendError(f"examples: numbers from 1, not {list(examples)}")
    generator = np.random.default_rng(seed)
    drawn = np.empty((sets, max(1, len(examples)), len(counts), len(cube.models), len(blocks)))
    for one in drawn:
        columns = generator.permutation(c)
        for d, block in enumerate(blocks):
            e = block.shape[1]
            rows, sizes = generator.permutation(e), np.minimum(examples or [e], e)
            means = _running_means(block[:, rows][..., columns], np.array(counts))
            found = _running_means(means.swapaxes(1, 2), sizes)  # (M, K, N)
            one[..., d] = found.transpose(2, 1, 0)
    return RankingAgreement(
        examples=tuple(examples),
        configurations=counts,
        by_dataset=kendalls_w(drawn.transpose(1, 2, 4, 0, 3)),
        overall=kendalls_w(drawn.mean(-1).transpose(1, 2, 0, 3)),
    )


def _running_means(values: Array, sizes: NDArray[np.int64]) -> Array:
    """Means of the first so many along the last axis, of what is there; NaN where nothing is."""
    scored = ~np.isnan(values)
    sums = np.where(scored, values, 0.0).cumsum(-1)
    return ratio(sums[..., sizes - 1], scored.cumsum(-1)[..., sizes - 1])


def fewest_configurations(
    agreement: Array, wanted: float, configurations: Sequence[int]
) -> int | None:
    """The smallest number of configurations from which on W is at least as wanted.

    Args:
        agreement: (K,), W, such as a row of :attr:`RankingAgreement.overall`.
        wanted: the W to reach, from 0 to 1.
        configurations: the K numbers, rising.

    Returns:
        One of the numbers; ``None`` where the last does not reach it.

    >>> fewest_configurations(np.array([0.4, 0.8, 0.7, 0.9]), 0.75, [1, 2, 4, 8])
    8
    """
    missed = np.flatnonzero(~(agreement >= wanted))
    first = missed[-1] + 1 if len(missed) else 0
    return configurations[first] if first < len(configurations) else None


def smallest_grid(count: int, serialisations: int, perturbations: int) -> tuple[int, int]:
    """How many serialisations and perturbations give at least so many configurations.

    The smallest product; of equal ones that with more serialisations, which matter more (ToRR, 5).

    >>> smallest_grid(10, 7, 5)
    (5, 2)
    """
    grids = product(range(serialisations, 0, -1), range(1, perturbations + 1))
    return min((grid for grid in grids if grid[0] * grid[1] >= count), key=lambda g: g[0] * g[1])


def separability(estimates: Estimates) -> tuple[Array, float]:
    """Share of the pairs of models whose 95 % intervals do not overlap (ToRR, 4 and footnote 7).

    Args:
        estimates: such as :func:`~tablemend.robustness.scores.performance`. Intervals are
            percentiles of its bootstrap over examples; pairs with an unscored model do not count.

    Returns:
        On each data set, (D,), and of the mean over data sets; NaN without a pair.
    """
    resampled = estimates.resampled
    single = [_separable(resampled[:, :, d]) for d in range(resampled.shape[2])]
    return np.array(single), _separable(resampled.mean(2))


def _separable(resampled: Array) -> float:
    """Share of pairs of columns whose central 95 % do not overlap."""
    scored = ~np.isnan(resampled).all(0)
    limits = np.nanquantile(resampled[:, scored], QUANTILES, axis=0).round(DIGITS)
    pairs = combinations(limits.T, 2)
    apart = [one[1] < other[0] or other[1] < one[0] for one, other in pairs]
    return float(np.mean(apart)) if apart else float("nan")


@dataclass(frozen=True, eq=False)
class Comparisons:
    """Paired comparisons of Q pairs of models over all data sets. Differences are second - first.

    Attributes:
        pairs: places of the two models in the cube.
        p: (Q,), two-sided, of the harmonic mean of the p of Wilcoxon's signed-rank tests on each
            data set; NaN without observations.
        p_adjusted: (Q,), by Benjamini and Yekutieli over the pairs.
        effect: (Q,), mean of Cohen's d of paired observations over data sets, weighted by
            1 / variance.
        standard_error: (Q,), of that mean.
    """

    pairs: list[tuple[int, int]]
    p: Array
    p_adjusted: Array
    effect: Array
    standard_error: Array


def compare_models(cube: ScoreCube) -> Comparisons:
    """Compare all pairs of models (ToRR, D, after Ackerman et al. 2025).

    An observation is the mean difference of an example over the configurations scored for both.
    The paper takes each configuration of each example for one, 3,500 a data set; those of one
    example are not independent, so its p-values and standard errors are too small.
    """
    pairs = list(combinations(range(len(cube.models)), 2))
    blocks = cube.blocks()
    found = []
    for a, b in pairs:
        for block in blocks:
            gaps = mean_scored(block[b] - block[a])
            gaps = gaps[~np.isnan(gaps)].round(12)  # equal ones rank alike
            found.append((signed_rank_p(gaps), *paired_effect(gaps)))
    p, effect, variance = np.array(found).reshape(len(pairs), len(blocks), 3).transpose(2, 0, 1)
    combined = harmonic_mean_p(p)
    return Comparisons(pairs, combined, adjust_p(combined), *weighted_mean(effect, variance))


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
    """p-values that control the false discovery rate.

    Benjamini and Yekutieli (2001), right for any dependence. NaN stays, and is no test.
    """
    from scipy.stats import false_discovery_control

    adjusted, tested = p.copy(), ~np.isnan(p)
    if tested.any():
        adjusted[tested] = false_discovery_control(p[tested], method="by")
    return adjusted


def harmonic_mean_p(p: Array) -> Array:
    """The p-value of the harmonic mean of each row's p-values: (Q, D) -> (Q,).

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
    return np.where(tests == 1, 1 / inverse, tail)


def weighted_mean(effects: Array, variances: Array) -> tuple[Array, Array]:
    """Inverse-variance weighted mean of each row, and its standard error: (Q, D) -> (Q,), (Q,).

    Turner and Bernard (2006): one common effect is taken to be behind all data sets. NaN is left
    out; a row of NaN gives NaN.
    """
    weights = np.where(np.isnan(effects), 0.0, 1 / variances)
    sums = np.where(weights > 0, weights * effects, 0.0).sum(-1)
    total = weights.sum(-1)
    return ratio(sums, total), ratio(np.ones(total.shape), np.sqrt(total))
