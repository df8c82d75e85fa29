"""Do two systems differ? Tests on the same examples, so that hard examples cancel out."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np
from scipy.stats import binomtest

from tablemend.records import Judgement, Metric
from tablemend.reports.rates import (
    CONFIDENCE,
    RESAMPLES,
    Z,
    resample_means,
    wilson,
)


@dataclass(frozen=True, slots=True)
class PairedTest:
    """Two systems on the examples that were scored in both.

    Attributes:
        context: the context shown to both.
        metric: an error, a violation or a recall.
        system_a, system_b: the systems; ``system_a`` is the one compared against.
        n: examples scored in both.
        a_only, b_only: examples that show the error in one system alone; for a recall, examples
            in which that system's is higher.
        difference, low, high: rate of b minus rate of a, with a 95 % paired interval.
        ratio, ratio_low, ratio_high: rate of b over rate of a; ``None`` where a's is 0.
        p: two-sided; that so uneven a split between the systems comes by chance.
        p_holm: ``p`` corrected for all tests of the same metric in the report (Holm 1979).
    """

    context: str
    metric: str
    system_a: str
    system_b: str
    n: int
    a_only: int
    b_only: int
    difference: float | None
    low: float | None
    high: float | None
    ratio: float | None
    ratio_low: float | None
    ratio_high: float | None
    p: float | None
    p_holm: float | None = None

    def to_json(self) -> dict[str, Any]:
        """A JSON-serialisable dict; ``PairedTest(**data)`` reads it back."""
        return asdict(self)


def compare_systems(
    judgements: Mapping[str, Mapping[str, Mapping[str, Judgement]]], metrics: Sequence[Metric]
) -> list[PairedTest]:
    """Every pair of systems, on every context and metric.

    Args:
        judgements: context -> system -> example id -> judgement; the order of the systems decides
            which one of a pair is ``system_a``.
        metrics: what is compared, all but unscored answers.
    """
    tests = [
        test
        for context, systems in judgements.items()
        for system_a, system_b in combinations(systems, 2)
        for test in _compare(
            context, system_a, system_b, systems[system_a], systems[system_b], metrics
        )
    ]
    return correct_by_holm(tests)


def _compare(
    context: str,
    system_a: str,
    system_b: str,
    scored_a: Mapping[str, Judgement],
    scored_b: Mapping[str, Judgement],
    metrics: Sequence[Metric],
) -> list[PairedTest]:
    pairs = [
        (scored_a[example], scored_b[example])
        for example in scored_a
        if example in scored_b and not scored_a[example].unscored and not scored_b[example].unscored
    ]
    tests = []
    for metric in metrics:
        if metric.kind == "unscored":
            continue
        values = [
            (first, second)
            for one, other in pairs
            if (first := metric.value(one)) is not None
            and (second := metric.value(other)) is not None
        ]
        if metric.kind == "share":
            tests.append(compare_shares(values, context, metric.name, system_a, system_b))
        else:
            outcomes = [(first > 0, second > 0) for first, second in values]
            tests.append(compare_events(outcomes, context, metric.name, system_a, system_b))
    return tests


def compare_events(
    outcomes: Sequence[tuple[bool, bool]], context: str, metric: str, system_a: str, system_b: str
) -> PairedTest:
    """Exact McNemar test, interval of the difference and of the ratio of paired rates."""
    n = len(outcomes)
    both = sum(one and other for one, other in outcomes)
    a_only = sum(one and not other for one, other in outcomes)
    b_only = sum(other and not one for one, other in outcomes)
    difference = difference_interval(both, a_only, b_only, n)
    ratio = ratio_interval(both, a_only, b_only)
    p = None if n == 0 else mcnemar(a_only, b_only)
    return PairedTest(
        context, metric, system_a, system_b, n, a_only, b_only, *difference, *ratio, p=p
    )


def mcnemar(a_only: int, b_only: int) -> float:
    """Exact two-sided McNemar test: are the examples that differ split evenly (McNemar 1947)?"""
    if a_only + b_only == 0:
        return 1.0
    return float(binomtest(a_only, a_only + b_only, 0.5).pvalue)


Interval = tuple[float | None, float | None, float | None]
UNKNOWN: Interval = (None, None, None)


def difference_interval(both: int, a_only: int, b_only: int, n: int) -> Interval:
    """Rate of b minus rate of a, with a 95 % interval.

    Newcombe's hybrid score interval for paired proportions (Newcombe 1998, Statistics in
    Medicine 17:2635-2650, method 10): Wilson's limits of the two rates, joined with the
    correlation of the outcomes.
    """
    if n == 0:
        return UNKNOWN
    neither = n - both - a_only - b_only
    rate_a, (low_a, high_a) = (both + a_only) / n, wilson(both + a_only, n)
    rate_b, (low_b, high_b) = (both + b_only) / n, wilson(both + b_only, n)
    phi = _correlation(both, a_only, b_only, neither)
    # Newcombe's difference is first minus second; here first is b and second is a.
    down = (rate_b - low_b, high_a - rate_a)
    up = (high_b - rate_b, rate_a - low_a)
    difference = rate_b - rate_a
    return difference, difference - _span(*down, phi), difference + _span(*up, phi)


def _span(one: float, other: float, phi: float) -> float:
    return math.sqrt(max(0.0, one**2 - 2 * phi * one * other + other**2))


def _correlation(both: int, a_only: int, b_only: int, neither: int) -> float:
    """Phi of the 2x2 table, with Newcombe's continuity correction; 0 for an empty margin."""
    margins = (both + a_only) * (b_only + neither) * (both + b_only) * (a_only + neither)
    if margins == 0:
        return 0.0
    product = both * neither - a_only * b_only
    n = both + a_only + b_only + neither
    corrected = max(product - n / 2, 0.0) if product > 0 else float(product)
    return corrected / math.sqrt(margins)


def ratio_interval(both: int, a_only: int, b_only: int) -> Interval:
    """Rate of b over rate of a, with a 95 % interval.

    The hybrid score interval of Bonett and Price (2006, Statistics in Medicine 25:3039-3047),
    recommended for paired ratios by Fagerland, Lydersen and Laake (2014). Examples that show
    the error in neither system say nothing about the ratio.
    """
    count_a, count_b = both + a_only, both + b_only
    if count_a == 0:
        return UNKNOWN
    either = both + a_only + b_only
    spread = math.sqrt((a_only + b_only + 2) / ((count_a + 1) * (count_b + 1)))
    error_a = math.sqrt((1 - (count_a + 1) / (either + 2)) / (count_a + 1))
    error_b = math.sqrt((1 - (count_b + 1) / (either + 2)) / (count_b + 1))
    z = Z * spread / (error_a + error_b)
    low_a, high_a = wilson(count_a, either, z)
    low_b, high_b = wilson(count_b, either, z)
    return count_b / count_a, low_b / high_a, high_b / low_a


def compare_shares(
    values: Sequence[tuple[float, float]],
    context: str,
    metric: str,
    system_a: str,
    system_b: str,
    seed: int = 0,
) -> PairedTest:
    """Paired bootstrap for means: intervals by percentiles, p by flipping signs at random.

    Under the null hypothesis the two systems may be swapped in every example, so the sign of
    each difference is a coin; ``p`` is the share of :data:`RESAMPLES` swappings whose mean
    difference is at least as large as the one seen. Seeded.
    """
    rows = np.asarray(values, dtype=float).reshape(-1, 2)
    n = len(rows)
    gaps = rows[:, 1] - rows[:, 0]
    higher_in = (int((gaps < 0).sum()), int((gaps > 0).sum()))
    if n == 0:
        return PairedTest(
            context, metric, system_a, system_b, 0, *higher_in, *UNKNOWN, *UNKNOWN, p=None
        )
    means = resample_means(rows, seed)
    quantiles = [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2]
    low, high = np.quantile(means[:, 1] - means[:, 0], quantiles)
    mean_a, mean_b = rows.mean(axis=0)
    ratio = UNKNOWN
    if mean_a > 0 and (means[:, 0] > 0).all():
        ratios = np.quantile(means[:, 1] / means[:, 0], quantiles)
        ratio = (float(mean_b / mean_a), float(ratios[0]), float(ratios[1]))
    return PairedTest(
        context,
        metric,
        system_a,
        system_b,
        n,
        *higher_in,
        float(mean_b - mean_a),
        float(low),
        float(high),
        *ratio,
        p=_swap_test(gaps, seed),
    )


def _swap_test(gaps: np.ndarray, seed: int) -> float:
    """Share of random swappings with a sum of differences as far from 0 as the one seen."""
    sizes, counts = np.unique(np.abs(gaps[gaps != 0]).round(12), return_counts=True)
    if not len(sizes):
        return 1.0
    positive = np.random.default_rng(seed).binomial(counts, 0.5, size=(RESAMPLES, len(sizes)))
    sums = (2 * positive - counts) @ sizes
    extreme = int((np.abs(sums) >= abs(float(gaps.sum())) - 1e-9).sum())
    return (extreme + 1) / (RESAMPLES + 1)


def correct_by_holm(tests: Sequence[PairedTest]) -> list[PairedTest]:
    """Fill in ``p_holm``: the tests of one metric, over all contexts and systems, are a family."""
    families: dict[str, list[int]] = {}
    for index, test in enumerate(tests):
        if test.p is not None:
            families.setdefault(test.metric, []).append(index)
    corrected = list(tests)
    for members in families.values():
        for index, p in zip(members, holm([tests[i].p or 0.0 for i in members]), strict=True):
            corrected[index] = replace(tests[index], p_holm=p)
    return corrected


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
