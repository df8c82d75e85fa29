"""Rates with their intervals: what share of the answers shows an error, and how sure is that."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TypedDict

import numpy as np
from scipy.stats import norm

from tablemend.records import Judgement, Metric

CONFIDENCE = 0.95
Z = float(norm.ppf((1 + CONFIDENCE) / 2))
RESAMPLES = 10_000


class Rate(TypedDict):
    """A rate or a mean with its 95 % interval; all ``None`` where nothing could be scored."""

    rate: float | None
    low: float | None
    high: float | None
    n: int


def rate_interval(count: int, n: int) -> Rate:
    """``count`` of ``n`` with Wilson's 95 % score interval.

    >>> {name: round(value, 3) for name, value in rate_interval(3, 10).items()}
    {'rate': 0.3, 'low': 0.108, 'high': 0.603, 'n': 10}
    """
    if n == 0:
        return Rate(rate=None, low=None, high=None, n=0)
    low, high = wilson(count, n)
    return Rate(rate=count / n, low=low, high=high, n=n)


def wilson(count: int, n: int, z: float = Z) -> tuple[float, float]:
    """Wilson's score limits for ``count`` of ``n`` at a normal quantile (Wilson 1927)."""
    rate = count / n
    centre = (count + z**2 / 2) / (n + z**2)
    half = z / (n + z**2) * math.sqrt(rate * (1 - rate) * n + z**2 / 4)
    low = 0.0 if count == 0 else max(0.0, centre - half)
    high = 1.0 if count == n else min(1.0, centre + half)
    return low, high


def mean_interval(values: Sequence[float], seed: int = 0) -> Rate:
    """The mean of values from 0 to 1 with a 95 % percentile bootstrap interval, seeded.

    Where all values are equal, resampling shows no spread at all. Values that are all 0 or all
    1 then get Wilson's interval, as a count does; other constants keep an interval of width 0.
    """
    n = len(values)
    if n == 0:
        return Rate(rate=None, low=None, high=None, n=0)
    if set(values) <= {0.0} or set(values) <= {1.0}:
        return rate_interval(n if values[0] else 0, n)
    means = resample_means(np.asarray(values, dtype=float)[:, None], seed)[:, 0]
    low, high = np.quantile(means, [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2])
    return Rate(rate=math.fsum(values) / n, low=float(low), high=float(high), n=n)


def resample_means(rows: np.ndarray, seed: int) -> np.ndarray:
    """Bootstrap means of the columns of ``rows``: (n, k) -> (RESAMPLES, k).

    Few different rows occur (recalls are fractions of small numbers), so drawing how often
    each occurs is enough: memory does not grow with n.
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


def summarise(judgements: Sequence[Judgement], metrics: Sequence[Metric]) -> dict[str, Rate]:
    """All metrics over one system's judgements of one context.

    Unscored answers count in ``unscored`` alone: elsewhere they are neither 0 nor 1.
    """
    scored = [judgement for judgement in judgements if not judgement.unscored]
    rates = {}
    for metric in metrics:
        among = judgements if metric.kind == "unscored" else scored
        values = [value for one in among if (value := metric.value(one)) is not None]
        if metric.kind == "share":
            rates[metric.name] = mean_interval(values)
        else:
            rates[metric.name] = rate_interval(round(sum(values)), len(values))
    return rates
