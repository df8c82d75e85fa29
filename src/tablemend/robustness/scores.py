"""Performance and robustness, and the curve of sorted scores (ToRR, 2.2 and 3.1)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tablemend.robustness.cube import Array, Counts, ScoreCube, mean_scored, ratio
from tablemend.statistics import Rate, interval, resample_means


@dataclass(frozen=True, eq=False)
class Estimates:
    """A score of each model by data set, with its bootstrap resamples.

    Attributes:
        by_dataset: (M, D); NaN where no example of the data set counts.
        resampled: (resamples, M, D), examples drawn anew within each data set. In one resample
            all models have the same examples; the draws of the data sets are independent.
        examples: (M, D), how many examples count.
    """

    by_dataset: Array
    resampled: Array
    examples: Counts

    def overall(self) -> list[Rate]:
        """Of each model the mean over data sets, which weigh the same, with its 95 % interval.

        All ``None`` for a model without a score on some data set: its mean would be one over
        other data sets than those of the rest. ``n`` counts examples.
        """
        values, resampled, n = self.by_dataset.mean(1), self.resampled.mean(2), self.examples.sum(1)
        places = range(len(values))
        return [interval(float(values[m]), resampled[:, m], int(n[m])) for m in places]

    def rates(self) -> list[list[Rate]]:
        """By model and data set (Table 2), with 95 % intervals."""
        m, d = self.by_dataset.shape
        return [[self._rate(one, other) for other in range(d)] for one in range(m)]

    def _rate(self, m: int, d: int) -> Rate:
        n = int(self.examples[m, d])
        return interval(float(self.by_dataset[m, d]), self.resampled[:, m, d], n)


def performance(cube: ScoreCube, seed: int = 0) -> Estimates:
    """Performance P, from 0 to 1 (ToRR, 2.2).

    The mean over data sets of the mean over examples of the mean over configurations. What is
    unscored is left out: an example's mean is that of its scored configurations, and an example
    without any does not count.
    """
    return _estimate(cube, [mean_scored(block) for block in cube.blocks()], seed)


def robustness(cube: ScoreCube, seed: int = 0) -> Estimates:
    """Robustness R, from 0 to 1 (ToRR, 2.2).

    1 minus the mean over data sets of the mean over examples of the range of an example's scores,
    highest minus lowest over the configurations. An example counts with at least two scored
    configurations: one score has no range. A range grows with the number of scores, so compare
    R only between models that were run under the same configurations; unscored answers raise it.
    """
    return _estimate(cube, [1 - _ranges(block) for block in cube.blocks()], seed)


def _has_range(block: Array) -> NDArray[np.bool]:
    """Examples with at least two scored configurations: (M, E, C) -> (M, E)."""
    return np.asarray((~np.isnan(block)).sum(-1) > 1)


def _ranges(block: Array) -> Array:
    """Highest minus lowest score of each example: (M, E, C) -> (M, E)."""
    highest = np.where(np.isnan(block), -np.inf, block).max(-1)
    lowest = np.where(np.isnan(block), np.inf, block).min(-1)
    return np.where(_has_range(block), highest - lowest, np.nan)


def _estimate(cube: ScoreCube, values: Sequence[Array], seed: int) -> Estimates:
    """From one value an example, of each data set (M, E), NaN where it does not count."""
    seeds = np.random.SeedSequence(seed).generate_state(len(values))
    resampled = [
        _resample(own, _places(cube, name, own.shape[1]), int(one))
        for name, own, one in zip(cube.scores, values, seeds, strict=True)
    ]
    return Estimates(
        by_dataset=np.stack([mean_scored(own) for own in values], axis=1),
        resampled=np.stack(resampled, axis=2),
        examples=np.stack([(~np.isnan(own)).sum(1) for own in values], axis=1),
    )


def _places(cube: ScoreCube, dataset: str, n: int) -> NDArray[np.intp]:
    """Of each example of a data set, the number of the table that it was made from."""
    if cube.tables is None:
        return np.arange(n)
    return np.unique(np.asarray(cube.tables[dataset]), return_inverse=True)[1]


def _resample(values: Array, places: NDArray[np.intp], seed: int) -> Array:
    """Bootstrap means of the values that are there: (M, E) -> (resamples, M)."""
    scored = ~np.isnan(values)
    columns = np.concatenate([np.where(scored, values, 0.0), scored]).T
    drawn = np.zeros((places.max() + 1, columns.shape[1]))
    np.add.at(drawn, places, columns)
    return ratio(*np.split(resample_means(drawn, seed), 2, axis=1))


def sorted_scores(cube: ScoreCube) -> Array:
    """Scores at rank 1 (lowest) to C (highest) of an example, averaged: (M, C) (ToRR, Figure 3).

    Each example's scores are sorted; each rank is averaged over examples, then over data sets, as
    P is. Without unscored answers the mean of a curve is therefore P, and its last value minus
    its first is always 1 - R. An example with fewer than C scored configurations is read at C
    evenly spaced places between its lowest and its highest score, by linear interpolation; one
    with fewer than two does not count, as in R.
    """
    curves = []
    for block in cube.blocks():
        quantiles, counts = np.full(block.shape, np.nan), _has_range(block)
        places = np.linspace(0, 1, block.shape[-1])
        if counts.any():
            quantiles[counts] = np.nanquantile(block[counts], places, axis=-1).T
        curves.append(mean_scored(quantiles, axis=1))
    return np.asarray(np.mean(curves, axis=0))
