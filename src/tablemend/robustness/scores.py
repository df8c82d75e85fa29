"""Scores of models under prompt configurations: performance, robustness, and which serialisations
and perturbations raise or lower them (ToRR, 2.2, 3 and F).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from tablemend.errors import TablemendError
from tablemend.statistics import Rate, interval, resample_means

Array = NDArray[np.float64]
Counts = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class ScoreCube:
    """Scores of M models on D data sets under C = S x P prompt configurations (ToRR, 2.1).

    A configuration is a pair of a serialisation and a perturbation. Data sets may have different
    numbers of examples, so each has an array of its own.

    Attributes:
        models: M names.
        serialisations: S names.
        perturbations: P names, that of the unperturbed tables among them.
        scores: of each of the D data sets, by name: (M, E, S, P), from 0 to 1, NaN where a
            model's answer is unscored. The same examples, in the same order, for all models.
        tables: of each data set, the table that each of its E examples was made from; ``None``
            where each has its own. Intervals then draw whole tables, as everywhere in tablemend.

    Raises:
        TablemendError: a shape that does not fit, a score outside 0 to 1, a name used twice.
    """

    models: Sequence[str]
    serialisations: Sequence[str]
    perturbations: Sequence[str]
    scores: Mapping[str, Array]
    tables: Mapping[str, Sequence[str]] | None = None

    def __post_init__(self) -> None:
        for kind in ("models", "serialisations", "perturbations"):
            names: Sequence[str] = vars(self)[kind]
            if not names or len(set(names)) < len(names):
                raise TablemendError(f"{kind}: at least one, each named once, not {list(names)}")
        if not self.scores:
            raise TablemendError("scores: no data set")
        m, s, p = len(self.models), len(self.serialisations), len(self.perturbations)
        for name, block in self.scores.items():
            e = block.shape[1] if block.ndim > 1 else 0
            if not e or block.shape != (m, e, s, p):
                raise TablemendError(f"scores of {name}: {block.shape}, not ({m}, E, {s}, {p})")
            if not (np.isnan(block) | ((block >= 0) & (block <= 1))).all():
                raise TablemendError(f"scores of {name}: each is from 0 to 1, or NaN if unscored")
            if self.tables is not None and len(self.tables.get(name, ())) != e:
                raise TablemendError(f"tables of {name}: one for each of the {e} examples")

    def blocks(self) -> list[Array]:
        """Of each data set the scores by configuration: (M, E, C)."""
        return [block.reshape(*block.shape[:2], -1) for block in self.scores.values()]


def count_unscored(cube: ScoreCube) -> Counts:
    """How many of the E x C answers of each model on each data set are unscored: (M, D)."""
    return np.stack([np.isnan(block).sum((1, 2)) for block in cube.blocks()], axis=1)


def mean_scored(values: Array, axis: int | tuple[int, ...] = -1) -> Array:
    """Mean over axes of the values that are there; NaN where none is."""
    scored = ~np.isnan(values)
    return ratio(np.where(scored, values, 0.0).sum(axis), scored.sum(axis))


def ratio(sums: Array, counts: Array | Counts) -> Array:
    """``sums / counts``; NaN where a count is 0."""
    found = np.full(np.shape(sums), np.nan)
    np.divide(sums, counts, out=found, where=np.asarray(counts) > 0)
    return found


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
        return [
            [
                interval(float(value), self.resampled[:, m, d], int(self.examples[m, d]))
                for d, value in enumerate(row)
            ]
            for m, row in enumerate(self.by_dataset)
        ]


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
    ranges = []
    for block in cube.blocks():
        highest = np.where(np.isnan(block), -np.inf, block).max(-1)
        lowest = np.where(np.isnan(block), np.inf, block).min(-1)
        ranges.append(np.where(_has_range(block), highest - lowest, np.nan))
    return _estimate(cube, [1 - one for one in ranges], seed)


def _has_range(block: Array) -> NDArray[np.bool]:
    """Examples with at least two scored configurations: (M, E, C) -> (M, E)."""
    return np.asarray((~np.isnan(block)).sum(-1) > 1)


def _estimate(cube: ScoreCube, values: Sequence[Array], seed: int) -> Estimates:
    """From one value an example, of each data set (M, E), NaN where it does not count."""
    seeds = np.random.SeedSequence(seed).generate_state(len(values))
    resampled = []
    for name, own, one in zip(cube.scores, values, seeds, strict=True):
        tables = np.arange(own.shape[1])  # of each example, the number of its table
        if cube.tables is not None:
            tables = np.unique(np.asarray(cube.tables[name]), return_inverse=True)[1]
        scored = ~np.isnan(own)
        columns = np.concatenate([np.where(scored, own, 0.0), scored]).T
        drawn = np.zeros((tables.max() + 1, columns.shape[1]))
        np.add.at(drawn, tables, columns)
        resampled.append(ratio(*np.split(resample_means(drawn, int(one)), 2, axis=1)))
    return Estimates(
        by_dataset=np.stack([mean_scored(own) for own in values], axis=1),
        resampled=np.stack(resampled, axis=2),
        examples=np.stack([(~np.isnan(own)).sum(1) for own in values], axis=1),
    )


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


Factor = Literal["serialisation", "perturbation"]
"""What is compared, by its L levels; the mean is taken over the other one."""
LEAST = 1e-9
"""Scores that differ by less are tied: means of the same numbers differ in their last digits."""


def _by_level(scores: Array, factor: Factor) -> Array:
    """(M, E, S, P) -> (M, E, L, the other factor's)."""
    return scores if factor == "serialisation" else scores.swapaxes(2, 3)


def win_rates(cube: ScoreCube, factor: Factor) -> Array:
    """How often each level of a factor scores higher than others: (M, D, L) (ToRR, F).

    On each example of a model, count for each level how many others score lower, and divide by
    the sum of all those counts; then average over examples. Scores 1, 1, 1, 0, 0, 0, 0 are 4, 4,
    4, 0, 0, 0, 0 wins and rates of 1/3, 1/3, 1/3, 0, 0, 0, 0. A level's score on an example is its
    mean over the other factor; of two levels, over where both are scored. Examples with two
    levels that are never scored together do not count, nor do those without a win. The sum of a
    row is 1; where no example counts it is NaN.
    """
    rates = []
    for scores in cube.scores.values():
        levels = _by_level(scores, factor)
        ahead = mean_scored(levels[:, :, :, None] - levels[:, :, None])
        wins = (ahead > LEAST).sum(-1)
        total = np.where(np.isnan(ahead).any((-2, -1)), 0, wins.sum(-1))
        shares = ratio(wins, np.broadcast_to(total[..., None], wins.shape))
        rates.append(mean_scored(shares, axis=1))
    return np.stack(rates, axis=1)


def level_scores(cube: ScoreCube, factor: Factor) -> Array:
    """Score of each level of a factor, by model and data set: (M, D, L).

    The mean over examples of the mean over the other factor, where all levels are scored: they
    are compared on the same. NaN where there is no such place.
    """
    means = []
    for scores in cube.scores.values():
        levels = _by_level(scores, factor)
        shared = ~np.isnan(levels).any(axis=2, keepdims=True)
        means.append(mean_scored(mean_scored(np.where(shared, levels, np.nan)), axis=1))
    return np.stack(means, axis=1)


def perturbation_impact(cube: ScoreCube, baseline: str) -> dict[str, Array]:
    """Mean absolute impact of each perturbation beside its baseline, from 0 to 1 (ToRR, F.2.2).

    The mean over examples of how far the score is from that of the same serialisation without the
    perturbation: (M, D, S), where both are scored.

    Args:
        cube: the scores.
        baseline: the name under which the cube has the unperturbed tables.

    Raises:
        TablemendError: the cube has no perturbation of that name.
    """
    names = list(cube.perturbations)
    if baseline not in names:
        raise TablemendError(f"baseline: no perturbation {baseline!r}; there are {names}")
    base = names.index(baseline)
    changes = [np.abs(scores - scores[..., [base]]) for scores in cube.scores.values()]
    impact = np.stack([mean_scored(change, axis=1) for change in changes], axis=1)
    return {name: impact[..., p] for p, name in enumerate(names) if p != base}
