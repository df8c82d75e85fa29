"""How likely a claim is, from all its readings and their weights."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import lru_cache
from math import exp
from pathlib import Path
from typing import NamedTuple

from tablemend.verifier.candidate import Candidate

_LARGEST = 20.0


class Weights(NamedTuple):
    """Weights of features for readings that hold, that do not, and that leave it open."""

    true: Mapping[str, float]
    false: Mapping[str, float]
    unclear: Mapping[str, float]

    def mass(self, candidate: Candidate) -> float:
        """How much a reading weighs beside no reading at all, which weighs 1."""
        weights = (
            self.unclear
            if candidate.truth is None
            else self.true
            if candidate.truth
            else self.false
        )
        score = sum(weights.get(name, 0.0) * value for name, value in candidate.features.items())
        return exp(max(-_LARGEST, min(score, _LARGEST)))


@lru_cache(maxsize=1)
def fitted() -> Weights:
    """The weights that ``benchmarks/verifier_weights.py`` fits."""
    text = Path(__file__).with_name("weights.json").read_text(encoding="utf-8")
    read = json.loads(text)
    return Weights(read["true"], read["false"], read["unclear"])


class Belief(NamedTuple):
    """How likely a claim holds, and the readings with their shares, the likeliest first.

    Attributes:
        likely: how likely it holds.
        at_most: the same if what is doubtful proves nothing.
        shares: each reading with its share.
    """

    likely: float
    at_most: float
    shares: tuple[tuple[float, Candidate], ...]


def weigh(candidates: Sequence[Candidate], weights: Weights) -> Belief:
    """Let readings compete; one more, of weight 1, is the meaning that none of them has."""
    masses = [weights.mass(candidate) for candidate in candidates]
    total = 1.0 + sum(masses)
    shares = sorted(zip(masses, candidates, strict=True), key=lambda one: -one[0])
    true = sum(mass for mass, one in shares if one.truth)
    false = sum(mass for mass, one in shares if one.truth is False)
    doubtful = sum(mass for mass, one in shares if one.truth is False and one.doubtful)
    return Belief(
        0.5 + 0.5 * (true - false) / total,
        0.5 + 0.5 * (true - false + doubtful) / total,
        tuple((mass / total, one) for mass, one in shares),
    )
