"""Krippendorff's alpha: published examples, its interval, and where it is not defined."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence

import krippendorff
import numpy as np
import pytest

from tablemend.annotation.agreement import agreement


def counted(*observers: str) -> list[list[int]]:
    """Counts of each value for every unit; a dot is a missing value."""
    values = sorted(set("".join(observers)) - {"."})
    return [[unit.count(value) for value in values] for unit in zip(*observers, strict=True)]


# Krippendorff, "Computing Krippendorff's Alpha-Reliability" (2011), sections A, B and C
PUBLISHED = [
    (("0100000010", "1110010000"), 0.095),
    (("aabbdcccedda", "babbbccceddd"), 0.692),
    (("123321412...", "1233224125.3", ".3332342251.", "12332441251."), 0.743),
]


@pytest.mark.parametrize(("observers", "alpha"), PUBLISHED, ids=["binary", "two", "four"])
def test_published_examples(observers: Sequence[str], alpha: float) -> None:
    found = agreement(counted(*observers))
    assert found["alpha"] == pytest.approx(alpha, abs=0.0005)
    assert found["low"] is not None and found["high"] is not None
    assert found["low"] < alpha < found["high"]


def test_units_that_fewer_than_two_observers_scored_do_not_count() -> None:
    found = agreement(counted(*PUBLISHED[2][0]))
    assert (found["units"], found["judgements"]) == (11, 40)  # Krippendorff's unit 12 falls out
    alone = [[0, 0], [1, 0], [0, 1]] * 50
    binary = counted(*PUBLISHED[0][0])
    assert agreement(binary + alone) == agreement(binary)


def test_observed_agreement_is_the_share_of_agreeing_pairs() -> None:
    # three judges, one against two: a third of the pairs agrees; two judges agree
    assert agreement([[2, 1], [0, 2]])["observed"] == pytest.approx((3 * 1 / 3 + 2) / 5)


@pytest.mark.parametrize(
    ("counts", "reason"),
    [
        ([], "no example was scored by two"),
        ([[1, 0], [0, 1], [0, 0]], "no example was scored by two"),
        ([[2, 0], [3, 0], [0, 1]], "all answers are the same"),
        ([[0, 2]], "all answers are the same"),
    ],
)
def test_alpha_is_undefined_and_not_zero_or_one(counts: list[list[int]], reason: str) -> None:
    found = agreement(counts)
    assert (found["alpha"], found["low"], found["high"]) == (None, None, None)
    assert found["reason"].startswith(reason)


def test_perfect_agreement_has_no_interval_of_width_zero() -> None:
    found = agreement([[2, 0]] * 9 + [[0, 2]])
    assert found["alpha"] == 1 and found["low"] is None
    assert found["reason"] == "no interval: not one pair disagrees"


def test_one_odd_answer_gives_no_interval() -> None:
    # a third of the resamples of 50 does not draw the one example with a no
    found = agreement([[2, 0]] * 49 + [[1, 1]])
    assert found["alpha"] == pytest.approx(0.0) and found["observed"] == pytest.approx(0.98)
    assert found["low"] is None and "too few different answers" in found["reason"]


def test_the_interval_is_that_of_resampled_units() -> None:
    """The same bootstrap the slow way, through the package, with another generator."""
    generator = random.Random(5)
    counts = [
        (yes := sum(generator.random() < chance for _ in range(3)), 3 - yes)
        for chance in generator.choices((0.9, 0.2), k=60)
    ]
    alphas = [
        krippendorff.alpha(
            value_counts=generator.choices(counts, k=60), level_of_measurement="nominal"
        )
        for _ in range(3000)
    ]
    found = agreement(counts)
    low, high = np.quantile(alphas, [0.025, 0.975])
    assert found["low"] == pytest.approx(low, abs=0.02)
    assert found["high"] == pytest.approx(high, abs=0.02)
    assert agreement(counts) == found  # seeded


def test_alpha_of_annotators_who_err_at_a_known_rate() -> None:
    """Truth wrong with p, each of four flips it with e: the expectation in closed form."""
    p, e, n = 0.3, 0.1, 4000
    generator = random.Random(1)
    counts = []
    for _ in range(n):
        wrong = generator.random() < p
        votes = Counter(wrong != (generator.random() < e) for _ in range(4))
        counts.append((votes[False], votes[True]))
    found = agreement(counts)
    share = p * (1 - e) + (1 - p) * e
    alpha = 1 - e * (1 - e) / (share * (1 - share))
    assert found["observed"] == pytest.approx(1 - 2 * e * (1 - e), abs=0.01)
    assert found["alpha"] == pytest.approx(alpha, abs=0.02)
    assert found["low"] is not None and found["high"] is not None
    assert found["low"] < alpha < found["high"]
    assert found["high"] - found["low"] < 0.05
