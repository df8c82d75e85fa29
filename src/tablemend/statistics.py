"""Rates, paired differences, correlations and agreement, with their 95 % intervals and tests.

Every statistic that tablemend reports comes from here. Examples that were made from one table are
no independent observations: where ``clusters`` says which table each is from, intervals and tests
take the tables for what was drawn. Without it, and with one example a table, each stands alone.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import NormalDist
from typing import TypedDict

import numpy as np
from numpy.typing import NDArray

CONFIDENCE = 0.95
QUANTILES = ((1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2)
Z = NormalDist().inv_cdf(QUANTILES[1])
RESAMPLES = 10_000
FEW = 20
"""Below so many clusters, counted as :func:`_worth` does, resampling shows too little spread, and
quantiles are Student's (test_statistics.py has how often each interval covers)."""

Array = NDArray[np.float64]
Clusters = Sequence[str] | None
"""Of each value, the table that it comes from; ``None`` where all are independent."""


class Rate(TypedDict):
    """A rate or a mean with its 95 % interval; all ``None`` where nothing could be scored."""

    rate: float | None
    low: float | None
    high: float | None
    n: int


# ---- one rate, one mean ----


def rate_interval(count: int, n: int, effect: float = 1.0) -> Rate:
    """``count`` of ``n`` with Wilson's 95 % score interval.

    Args:
        count: how many show it.
        n: of how many.
        effect: see :func:`design_effect`; the interval is that of ``n / effect`` observations.

    >>> {name: round(value, 3) for name, value in rate_interval(3, 10).items()}
    {'rate': 0.3, 'low': 0.108, 'high': 0.603, 'n': 10}
    """
    if n == 0:
        return Rate(rate=None, low=None, high=None, n=0)
    low, high = wilson(count / effect, n / effect)
    return Rate(rate=count / n, low=low, high=high, n=n)


def wilson(count: float, n: float, z: float = Z) -> tuple[float, float]:
    """Wilson's score limits for ``count`` of ``n`` at a normal quantile (Wilson 1927).

    scipy's takes whole counts only.
    """
    rate = count / n
    centre = (count + z**2 / 2) / (n + z**2)
    half = z / (n + z**2) * math.sqrt(rate * (1 - rate) * n + z**2 / 4)
    low = 0.0 if count == 0 else max(0.0, centre - half)
    high = 1.0 if count == n else min(1.0, centre + half)
    return low, high


def design_effect(values: Sequence[float], clusters: Clusters, tail: float = QUANTILES[0]) -> float:
    """How many times as large the variance of a mean is as without clusters; at least 1.

    Rao and Scott (1992), with Bessel's correction on both sides, so that it is 1 where each value
    is a cluster. Equal values show no variance: then each cluster counts as one observation. Of few
    clusters it is the jackknife's, and also widens an interval with such tails as Student's t does.
    """
    n, m = len(values), len(set(clusters or ()))
    if clusters is None or m == n:
        return 1.0
    deviations = np.asarray(values, dtype=float) - np.mean(values)
    alone = float((deviations**2).sum())
    if m == 1 or alone == 0:
        return n / m
    sums, sizes = _cluster_sums(deviations[:, None], clusters).T
    if _worth(sizes) < FEW:
        effect = _jackknife(sums, sizes) * n * (n - 1) / alone
        return max(1.0, effect) * _wider(sizes, tail)
    together = float((sums**2).sum())
    return max(1.0, together / alone * m / (m - 1) * (n - 1) / n)


def _worth(sizes: Array) -> float:
    """How many clusters of equal sizes these are worth (Carter, Schnepel and Steigerwald 2017)."""
    return float(sizes.sum() ** 2 / (sizes**2).sum())


def _jackknife(sums: Array, sizes: Array) -> float:
    """Variance of the mean of all values, by leaving out each cluster."""
    without = (sums.sum() - sums) / (sizes.sum() - sizes)
    gaps = without - sums.sum() / sizes.sum()
    return float((gaps**2).sum()) * (len(sums) - 1) / len(sums)


def _wider(sizes: Array, tail: float) -> float:
    """Square of Student's quantile over the normal one, for as many clusters as these are worth."""
    freedom = max(1.0, _worth(sizes) - 1)
    angles = np.linspace(0, math.pi / 2, 2001)  # t is sqrt(freedom) tan(angle)
    density = np.cos(angles) ** (freedom - 1)
    below = np.concatenate([[0], np.cumsum(density[1:] + density[:-1])])
    angle = np.interp(1 - 2 * tail, below / below[-1], angles)
    return float(freedom * np.tan(angle) ** 2 / NormalDist().inv_cdf(1 - tail) ** 2)


def _interval_of_few(sums: Array, sizes: Array, low: float, tail: float) -> tuple[float, float]:
    """Limits of a mean of values between ``low`` and 1: Wilson's, of as many observations as a few
    clusters are worth; they stay within the range, and cover near its ends.
    """
    mean, spread = float(sums.sum() / sizes.sum()), _jackknife(sums, sizes)
    if spread < 1e-18:
        return mean, mean
    share, variance = (mean - low) / (1 - low), spread * _wider(sizes, tail) / (1 - low) ** 2
    worth = share * (1 - share) / variance
    ends = wilson(share * worth, worth, NormalDist().inv_cdf(1 - tail))
    return low + ends[0] * (1 - low), low + ends[1] * (1 - low)


def mean_interval(values: Sequence[float], seed: int = 0, clusters: Clusters = None) -> Rate:
    """The mean of values from 0 to 1 with a 95 % percentile bootstrap interval, seeded.

    Of few clusters it is Wilson's, of as many observations as they are worth; of one there is none.
    Where all values are equal, resampling shows no spread at all. Values that are all 0 or all 1
    then get Wilson's interval, as a count does; other constants keep an interval of width 0.
    """
    n = len(values)
    if n == 0:
        return Rate(rate=None, low=None, high=None, n=0)
    if set(values) <= {0.0} or set(values) <= {1.0}:
        return rate_interval(n if values[0] else 0, n, design_effect(values, clusters))
    rows = _cluster_sums(np.asarray(values, dtype=float)[:, None], clusters)
    found = Rate(rate=math.fsum(values) / n, low=None, high=None, n=n)
    sums, sizes = rows[np.lexsort(rows.T)].T
    if len(rows) == 1:
        return found
    if _worth(sizes) < FEW:
        low, high = _interval_of_few(sums, sizes, 0.0, QUANTILES[0])
    else:
        means = resample_means(rows, seed)
        low, high = np.quantile(means[:, 0] / means[:, 1], QUANTILES)
    return {**found, "low": float(low), "high": float(high)}


def _cluster_sums(rows: Array, clusters: Clusters) -> Array:
    """Sums of the rows of each cluster, and how many rows those are: (n, k) -> (m, k + 1)."""
    rows = np.column_stack([rows, np.ones(len(rows))])
    if clusters is None:
        return rows
    _, place = np.unique(clusters, return_inverse=True)
    sums = np.zeros((place.max(initial=-1) + 1, rows.shape[1]))
    np.add.at(sums, place, rows)
    return sums


def resample_means(rows: Array, seed: int) -> Array:
    """Bootstrap means of the columns of ``rows``: (n, k) -> (RESAMPLES, k).

    Few different rows occur (recalls are fractions of small numbers), so drawing how often
    each occurs is enough: memory does not grow with n, as that of scipy's bootstrap does.
    """
    different, counts = np.unique(rows, axis=0, return_counts=True)
    n = len(rows)
    generator = np.random.default_rng(seed)
    means = np.empty((RESAMPLES, rows.shape[1]))
    step = max(1, 2_000_000 // len(different))
    for start in range(0, RESAMPLES, step):
        size = min(step, RESAMPLES - start)
        draws = generator.multinomial(n, counts / n, size=size)
        means[start : start + size] = draws @ different / n
    return means


def interval(value: float, resampled: Array | None, n: int) -> Rate:
    """A value with the percentiles of its resamples; those without a value do not count."""
    if not np.isfinite(value):
        return Rate(rate=None, low=None, high=None, n=n)
    finite = resampled[np.isfinite(resampled)] if resampled is not None else np.array([])
    if not len(finite):
        return Rate(rate=value, low=None, high=None, n=n)
    low, high = np.quantile(finite, QUANTILES)
    return Rate(rate=value, low=float(low), high=float(high), n=n)


# ---- two systems on the same examples ----


class Paired(TypedDict):
    """Two systems, a and b, on the examples that were scored in both.

    Attributes:
        n: examples scored in both.
        a_only, b_only: examples that show the event in one system alone; of shares, examples in
            which that system's is higher.
        difference, low, high: rate of b minus rate of a, with its 95 % interval.
        p: two-sided; that so uneven a split between the systems comes by chance.
    """

    n: int
    a_only: int
    b_only: int
    difference: float | None
    low: float | None
    high: float | None
    p: float | None


Interval = tuple[float | None, float | None, float | None]
UNKNOWN: Interval = (None, None, None)


def compare_events(
    outcomes: Sequence[tuple[bool, bool]], clusters: Clusters = None, family: int = 1
) -> Paired:
    """Whether a and b show an event, on the same examples.

    Exact McNemar test; with clusters, a test that swaps the systems at random table by table. The
    intervals are those of as many observations as the clusters are worth. The intervals of a
    ``family`` of so many comparisons hold together (Bonferroni); p is corrected by :func:`holm`.
    """
    n = len(outcomes)
    both = sum(a and b for a, b in outcomes)
    a_only = sum(a and not b for a, b in outcomes)
    b_only = sum(b and not a for a, b in outcomes)
    gaps = np.array([float(b) - float(a) for a, b in outcomes])
    effect = design_effect(gaps.tolist(), clusters, QUANTILES[0] / family)
    z = NormalDist().inv_cdf(1 - QUANTILES[0] / family)
    difference = difference_interval(both / effect, a_only / effect, b_only / effect, n / effect, z)
    p: float | None
    if n == 0:
        p = None
    elif clusters is not None and len(set(clusters)) != n:
        p = _swap_test(_cluster_sums(gaps[:, None], clusters)[:, 0])
    elif a_only + b_only == 0:
        p = 1.0
    else:  # McNemar (1947): are the examples that differ split evenly?
        from scipy.stats import binomtest  # takes a second to import

        p = float(binomtest(a_only, a_only + b_only, 0.5).pvalue)
    return _paired(n, a_only, b_only, difference, p)


def compare_shares(
    values: Sequence[tuple[float, float]], clusters: Clusters = None, seed: int = 0, family: int = 1
) -> Paired:
    """Shares that a and b have, on the same examples: a paired bootstrap, seeded.

    Intervals are percentiles, of few clusters as those of :func:`mean_interval`; p comes from
    swapping the systems at random (see `_swap_test`); ``family`` is as in :func:`compare_events`.
    """
    rows = np.asarray(values, dtype=float).reshape(-1, 2)
    gaps = rows[:, 1] - rows[:, 0]
    a_only, b_only = int((gaps < 0).sum()), int((gaps > 0).sum())
    if not len(rows):
        return _paired(0, 0, 0, UNKNOWN, None)
    sums = _cluster_sums(rows, clusters)
    tail, low, high = QUANTILES[0] / family, None, None
    own, sizes = sums[:, 1] - sums[:, 0], sums[:, 2]
    if len(sums) > 1 and _worth(sizes) < FEW:
        low, high = _interval_of_few(own, sizes, -1.0, tail)
    elif len(sums) > 1:
        resampled = resample_means(sums, seed)
        means = (resampled[:, 1] - resampled[:, 0]) / resampled[:, 2]
        low, high = map(float, np.quantile(means, (tail, 1 - tail)))
    mean_a, mean_b = rows.mean(axis=0)
    difference = (float(mean_b - mean_a), low, high)
    p = _swap_test(sums[:, 1] - sums[:, 0], seed)
    return _paired(len(rows), a_only, b_only, difference, p)


def _paired(n: int, a_only: int, b_only: int, interval: Interval, p: float | None) -> Paired:
    difference, low, high = interval
    return Paired(n=n, a_only=a_only, b_only=b_only, difference=difference, low=low, high=high, p=p)


def _swap_test(gaps: Array, seed: int = 0) -> float:
    """Share of random swappings with a sum of differences as far from 0 as the one seen.

    Under the null hypothesis the two systems may be swapped in every example (or table), so the
    sign of each difference is a coin; :data:`RESAMPLES` of them are tossed.
    """
    sizes, counts = np.unique(np.abs(gaps[gaps != 0]).round(12), return_counts=True)
    if not len(sizes):
        return 1.0
    positive = np.random.default_rng(seed).binomial(counts, 0.5, size=(RESAMPLES, len(sizes)))
    sums = (2 * positive - counts) @ sizes
    extreme = int((np.abs(sums) >= abs(float(gaps.sum())) - 1e-9).sum())
    return (extreme + 1) / (RESAMPLES + 1)


def difference_interval(
    both: float, a_only: float, b_only: float, n: float, z: float = Z
) -> Interval:
    """Rate of b minus rate of a, with an interval: of 95 %, unless a quantile is given.

    Newcombe's hybrid score interval for paired proportions (Newcombe 1998, Statistics in
    Medicine 17:2635-2650, method 10): Wilson's limits of the two rates, joined with the
    correlation of the outcomes.
    """
    if n == 0:
        return UNKNOWN
    neither = n - both - a_only - b_only
    rate_a, (low_a, high_a) = (both + a_only) / n, wilson(both + a_only, n, z)
    rate_b, (low_b, high_b) = (both + b_only) / n, wilson(both + b_only, n, z)
    # Phi of the 2x2 table, with Newcombe's continuity correction; 0 for an empty margin.
    margins = (both + a_only) * (b_only + neither) * (both + b_only) * (a_only + neither)
    product = both * neither - a_only * b_only
    total = both + a_only + b_only + neither
    corrected = max(product - total / 2, 0.0) if product > 0 else product
    phi = corrected / math.sqrt(margins) if margins > 0 else 0.0

    def span(one: float, other: float) -> float:
        return math.sqrt(max(0.0, one**2 - 2 * phi * one * other + other**2))

    # Newcombe's difference is first minus second; here first is b and second is a.
    difference = rate_b - rate_a
    down, up = span(rate_b - low_b, high_a - rate_a), span(high_b - rate_b, rate_a - low_a)
    return difference, difference - down, difference + up


def compare_rates(
    a: tuple[int, int, float], b: tuple[int, int, float]
) -> tuple[float | None, float | None, float | None, float | None]:
    """Two rates of answers that have nothing in common: b minus a, its interval, two-sided p.

    Newcombe's hybrid score interval (1998, Statistics in Medicine 17:873-890, method 10) and the
    "N - 1" chi-squared test (Campbell 2007), of as many observations as clusters leave.

    Args:
        a: how many, of how many, and the :func:`design_effect`.
        b: likewise.

    >>> [round(value, 3) for value in compare_rates((10, 100, 1.0), (25, 100, 1.0))]
    [0.15, 0.044, 0.252, 0.005]
    """
    if not a[1] or not b[1]:
        return None, None, None, None
    (first, n), (second, m) = ((count / effect, size / effect) for count, size, effect in (a, b))
    p, q = first / n, second / m
    (low_p, high_p), (low_q, high_q) = wilson(first, n), wilson(second, m)
    down, up = math.hypot(q - low_q, high_p - p), math.hypot(high_q - q, p - low_p)
    pooled = (first + second) / (n + m)
    variance = pooled * (1 - pooled) * (1 / n + 1 / m) * (n + m) / max(n + m - 1, 1)
    score = abs(q - p) / math.sqrt(variance) if variance else 0.0
    return q - p, q - p - down, q - p + up, 2 * NormalDist().cdf(-score)


def concentration(counts: Sequence[tuple[int, int]], seed: int = 0) -> tuple[int, float, float]:
    """Whether events pile up in few groups, more than chance piles them up.

    Args:
        counts: of each group, events and observations.
        seed: of the draws.

    Returns:
        The fewest groups that hold half of the events, the share that they hold, and p: how often
        as many groups hold that share where the same events fall on any observation alike
        (multivariate hypergeometric; of each draw the fullest groups).
    """
    events, sizes = np.asarray(counts, dtype=np.int64).reshape(-1, 2).T
    total = int(events.sum())
    if not total:
        return 0, 0.0, 1.0
    held = np.cumsum(np.sort(events)[::-1])
    most = int(np.searchsorted(held, total / 2)) + 1
    generator, at_least = np.random.default_rng(seed), 1
    for _ in range(RESAMPLES // 10):
        drawn = generator.multivariate_hypergeometric(sizes, total, method="marginals")
        at_least += int(np.sort(drawn)[::-1][:most].sum() >= held[most - 1])
    return most, float(held[most - 1] / total), at_least / (RESAMPLES // 10 + 1)


def holm(p_values: Sequence[float]) -> list[float]:
    """Holm's step-down correction (Holm 1979), in the order given.

    >>> holm([0.01, 0.04, 0.03])
    [0.03, 0.06, 0.06]
    """
    order = sorted(range(len(p_values)), key=lambda index: p_values[index])
    corrected = [0.0] * len(p_values)
    largest = 0.0
    for rank, index in enumerate(order):
        largest = max(largest, min(1.0, (len(p_values) - rank) * p_values[index]))
        corrected[index] = largest
    return corrected


# ---- correlation ----


def correlations(
    scores: Sequence[float | None], people: Sequence[float | None], clusters: Sequence[str]
) -> dict[str, Rate]:
    """``pearson`` and ``spearman`` over what has both numbers, with bootstrap intervals.

    Spearman's ranks are those of each resample. ``None`` where one side does not vary.
    """
    from scipy.stats import rankdata

    pairs = [
        (score, given, cluster)
        for score, given, cluster in zip(scores, people, clusters, strict=True)
        if score is not None and given is not None
    ]
    n = len(pairs)
    x = np.array([score for score, _, _ in pairs], dtype=float)
    y = np.array([given for _, given, _ in pairs], dtype=float)
    if n < 3 or np.ptp(x) == 0 or np.ptp(y) == 0:
        nothing = Rate(rate=None, low=None, high=None, n=n)
        return {"pearson": nothing, "spearman": nothing}
    groups: dict[str, list[int]] = {}
    for index, (_, _, cluster) in enumerate(pairs):
        groups.setdefault(cluster, []).append(index)
    members = [np.array(group) for group in groups.values()]
    generator = np.random.default_rng(0)
    resampled: dict[str, list[float]] = {"pearson": [], "spearman": []}
    for _ in range(RESAMPLES // 10):
        chosen = generator.integers(0, len(members), size=len(members))
        rows = np.concatenate([members[cluster] for cluster in chosen])
        resampled["pearson"].append(_pearson(x[rows], y[rows]))
        resampled["spearman"].append(_pearson(rankdata(x[rows]), rankdata(y[rows])))
    whole = {"pearson": _pearson(x, y), "spearman": _pearson(rankdata(x), rankdata(y))}
    return {name: interval(whole[name], np.array(resampled[name]), n) for name in whole}


def _pearson(x: Array, y: Array) -> float:
    """Pearson's r; NaN where a resample does not vary."""
    x, y = x - x.mean(), y - y.mean()
    size = float(np.sqrt((x @ x) * (y @ y)))
    return float(x @ y) / size if size > 0 else float("nan")


# ---- agreement ----


def cohens_kappa(both: int, first_only: int, second_only: int, neither: int) -> float | None:
    """Agreement beyond chance of two scorers with two verdicts (Cohen 1960).

    ``None`` where chance alone would agree always.

    >>> cohens_kappa(20, 5, 10, 15)
    0.4
    >>> cohens_kappa(0, 0, 0, 9) is None
    True
    """
    n = both + first_only + second_only + neither
    first, second = both + first_only, both + second_only
    by_chance = first * second + (n - first) * (n - second)
    if n == 0 or by_chance == n * n:
        return None
    return ((both + neither) * n - by_chance) / (n * n - by_chance)


class Agreement(TypedDict):
    """Agreement of annotators on one question.

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


def krippendorffs_alpha(counts: Sequence[Sequence[int]], seed: int = 0) -> Agreement:
    """Krippendorff's alpha for nominal data (Krippendorff 2011, "Computing alpha-reliability").

    The interval is that of a bootstrap over examples, by percentiles. With few examples it is
    rather too narrow (Hughes 2022). An alpha of 1 has none: resampling shows no spread. Nor has
    one with more than 2.5 % of resamples in which all answers are alike, where alpha is undefined.

    Args:
        counts: of each example, how many annotators gave each of the answers, such as yes and
            no. Who gave none is not counted.
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
    answers = pairable.sum(axis=1)
    # of a unit's coincidences, those off the diagonal
    disagreeing = (answers**2 - (pairable**2).sum(axis=1)) / (answers - 1)
    found["observed"] = float(1 - disagreeing.sum() / answers.sum())
    if (pairable.sum(axis=0) > 0).sum() < 2:
        return {**found, "reason": "all answers are the same"}
    rows = np.column_stack([disagreeing, pairable])
    found["alpha"] = float(_alpha(rows.sum(axis=0)[None, :])[0])
    if not disagreeing.any():
        return {**found, "reason": "no interval: not one pair disagrees"}
    alphas = _alpha(resample_means(rows, seed) * len(rows))
    defined = alphas[~np.isnan(alphas)]
    if len(defined) < len(alphas) * QUANTILES[1]:
        return {**found, "reason": "no interval: too few different answers to resample"}
    low, high = np.quantile(defined, QUANTILES)
    return {**found, "low": float(low), "high": float(high)}


def _alpha(sums: Array) -> Array:
    """Alpha from disagreeing coincidences and the counts of each answer; NaN if undefined."""
    observed, totals = sums[:, 0], sums[:, 1:]
    n = totals.sum(axis=1)
    expected = (n**2 - (totals**2).sum(axis=1)) / (n - 1)
    alphas = np.full(len(sums), np.nan)
    varied = expected > 1e-9  # counts up to rounding: 0, or at least 1
    alphas[varied] = 1 - observed[varied] / expected[varied]
    return alphas
