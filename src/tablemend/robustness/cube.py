"""The scores of models on data sets under prompt configurations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tablemend.errors import TablemendError

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
