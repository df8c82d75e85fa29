"""Which serialisations and perturbations raise or lower the scores (ToRR, 3.3 and F)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from tablemend.errors import TablemendError
from tablemend.robustness.cube import Array, Counts, ScoreCube, mean_scored, ratio

Factor = Literal["serialisation", "perturbation"]
"""What is compared, by its L levels; the mean is taken over the other one."""
LEAST = 1e-9
"""Scores that differ by less are tied: means of the same numbers differ in their last digits."""


def _by_level(scores: Array, factor: Factor) -> Array:
    """(M, E, S, P) -> (M, E, L, the other factor's)."""
    return scores if factor == "serialisation" else scores.swapaxes(2, 3)


@dataclass(frozen=True, eq=False)
class WinRates:
    """How often each level of a factor scores higher than others (ToRR, F).

    Attributes:
        rates: (M, D, L), each row's sum 1; NaN where no example is decided.
        decided: (M, D), examples that count: not all levels tied, all of them comparable.
    """

    rates: Array
    decided: Counts

    def by_model(self) -> Array:
        """Mean over the data sets that have a decided example: (M, L) (Figure 10)."""
        return mean_scored(self.rates, axis=1)

    def by_dataset(self) -> Array:
        """Mean over the models that have a decided example: (D, L) (Figure 11)."""
        return mean_scored(self.rates, axis=0)

    def overall(self) -> Array:
        """Mean over models and data sets: (L,) (Figures 9 and 15)."""
        return mean_scored(self.rates, axis=(0, 1))


def win_rates(cube: ScoreCube, factor: Factor) -> WinRates:
    """Win rates of the levels of a factor, at the level of examples (ToRR, F).

    On each example of a model, count for each level how many others score lower, and divide by
    the sum of all those counts; then average over examples. Scores 1, 1, 1, 0, 0, 0, 0 are 4, 4,
    4, 0, 0, 0, 0 wins and rates of 1/3, 1/3, 1/3, 0, 0, 0, 0. A level's score on an example is its
    mean over the other factor; of two levels, over where both are scored. Examples with two
    levels that are never scored together do not count, nor do those without a win.
    """
    rates, decided = [], []
    for scores in cube.scores.values():
        levels = _by_level(scores, factor)
        ahead = mean_scored(levels[:, :, :, None] - levels[:, :, None])
        wins = (ahead > LEAST).sum(-1)
        total = np.where(np.isnan(ahead).any((-2, -1)), 0, wins.sum(-1))
        shares = ratio(wins, np.broadcast_to(total[..., None], wins.shape))
        rates.append(mean_scored(shares, axis=1))
        decided.append((total > 0).sum(1))
    return WinRates(np.stack(rates, axis=1), np.stack(decided, axis=1))


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


def score_spread(cube: ScoreCube, factor: Factor = "serialisation") -> Array:
    """Highest minus lowest score over the levels of a factor: (M, D) (ToRR, F.1.1, Table 7)."""
    return np.asarray(np.ptp(level_scores(cube, factor), axis=-1))


@dataclass(frozen=True, eq=False)
class Impact:
    """Scores under perturbations minus those of the same serialisation without (ToRR, F.2).

    Attributes:
        perturbations: the P - 1 others.
        difference: (M, D, S, P - 1), from -1 to 1, the mean over examples.
        absolute: (M, D, S, P - 1), from 0 to 1, the mean over examples of its size: the Mean
            Absolute Impact (F.2.2).
        examples: (M, D, S, P - 1), how many are scored with and without.
    """

    perturbations: list[str]
    difference: Array
    absolute: Array
    examples: Counts

    def difference_by_model(self) -> Array:
        """Mean over data sets and serialisations: (M, P - 1) (Figure 12)."""
        return np.asarray(self.difference.mean((1, 2)))

    def absolute_by_model(self) -> Array:
        """Mean over data sets and serialisations: (M, P - 1) (Figure 14)."""
        return np.asarray(self.absolute.mean((1, 2)))

    def absolute_by_dataset(self) -> Array:
        """Mean over models and serialisations: (D, P - 1) (Figure 13)."""
        return np.asarray(self.absolute.mean((0, 2)))


def perturbation_impact(cube: ScoreCube, baseline: str) -> Impact:
    """Compare each perturbation with its baseline, serialisation by serialisation (ToRR, F.2).

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
    others = [p for p in range(len(names)) if p != base]
    changes = [scores[..., others] - scores[..., [base]] for scores in cube.scores.values()]
    return Impact(
        perturbations=[names[p] for p in others],
        difference=np.stack([mean_scored(change, axis=1) for change in changes], axis=1),
        absolute=np.stack([mean_scored(np.abs(change), axis=1) for change in changes], axis=1),
        examples=np.stack([(~np.isnan(change)).sum(1) for change in changes], axis=1),
    )
