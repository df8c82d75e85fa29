"""Rates, paired tests and agreement: published values, invariants, simulated coverage, clusters."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence

import krippendorff
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest

from tablemend import statistics
from tablemend.statistics import (
    cohens_kappa,
    compare_events,
    compare_shares,
    design_effect,
    difference_interval,
    holm,
    krippendorffs_alpha,
    mean_interval,
    rate_interval,
)

# ---- one rate, one mean ----


@given(st.integers(1, 500).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_wilson_is_scipys(pair: tuple[int, int]) -> None:
    interval = binomtest(*pair).proportion_ci(0.95, method="wilson")
    rate = rate_interval(*pair)
    assert (rate["low"], rate["high"]) == pytest.approx((interval.low, interval.high), abs=1e-12)


@given(st.lists(st.sampled_from([0.0, 0.25, 1 / 3, 0.5, 1.0]), min_size=1, max_size=60))
def test_mean_interval_contains_the_mean(values: list[float]) -> None:
    rate = mean_interval(values)
    if len(values) == 1 and values[0] not in (0, 1):
        assert rate["low"] is rate["high"] is None
        return
    assert 0 <= rate["low"] <= rate["rate"] + 1e-12
    assert rate["rate"] - 1e-12 <= rate["high"] <= 1
    assert rate["n"] == len(values)
    assert rate == mean_interval(values[::-1])  # seeded, and the order does not matter


# ---- clusters ----


@pytest.mark.parametrize("copies", [2, 5])
def test_copies_of_an_example_say_nothing_new(copies: int) -> None:
    """Every table asked about several times, always with the same outcome: as if asked once."""
    generator = np.random.default_rng(4)
    once = generator.choice([0.0, 0.5, 1.0], size=(60, 2), p=[0.3, 0.3, 0.4])
    tables = [f"t{index}" for index in range(60)] * copies
    pairs = [tuple(row) for row in once.tolist()]
    events = [(a > 0.5, b > 0.5) for a, b in pairs]
    rate = mean_interval([a for a, _ in pairs] * copies, clusters=tables)
    for end in ("rate", "low", "high"):
        assert rate[end] == pytest.approx(mean_interval([a for a, _ in pairs])[end])
    many, few = compare_events(events * copies, tables), compare_events(events)
    for name in ("difference", "low", "high"):
        assert many[name] == pytest.approx(few[name], rel=0.05, abs=0.005), name
    assert many["p"] == pytest.approx(few["p"], abs=0.02)
    assert (many["n"], many["a_only"]) == (few["n"] * copies, few["a_only"] * copies)
    shares = compare_shares(pairs * copies, tables)
    assert shares["p"] == pytest.approx(compare_shares(pairs)["p"], abs=0.02)
    assert compare_shares(pairs * copies)["p"] < shares["p"]
    assert design_effect([0.0] * 60 * copies, tables) == copies


def test_intervals_of_clustered_rates_cover_as_often_as_they_say() -> None:
    generator = np.random.default_rng(5)
    tables = np.repeat(np.arange(60), 5)
    hits = {True: 0, False: 0}
    for _ in range(400):
        values = (generator.random(300) < generator.beta(0.9, 2.1, size=60)[tables]).astype(float)
        for known in hits:
            effect = design_effect(values.tolist(), [str(t) for t in tables] if known else None)
            rate = rate_interval(int(values.sum()), 300, effect)
            hits[known] += rate["low"] <= 0.3 <= rate["high"]
    assert 0.93 <= hits[True] / 400 <= 0.98 and hits[False] / 400 < 0.9


def test_one_cluster_has_no_interval() -> None:
    """It shows no spread; a constant outcome of one table is worth one observation."""
    for found in (
        mean_interval([0.2, 0.4, 0.9], clusters=["t"] * 3),
        mean_interval([0.8]),
        compare_shares([(0.9, 0.1), (0.8, 0.3)], ["t", "t"]),
    ):
        assert found["low"] is None and found["high"] is None
    assert mean_interval([1.0] * 9, clusters=["t"] * 9)["low"] < 0.3
    few = compare_shares([(0.9, 0.1), (0.8, 0.3)], ["t", "u"])
    assert few["low"] < -0.65 < few["high"] and few["low"] >= -1


def drawn(sizes: str, tables: int, generator: np.random.Generator) -> list[str]:
    """Of each value, its table: tables of equal sizes, of 2 or 40, or of all sizes."""
    counts = {
        "equal": np.full(tables, 10),
        "unequal": generator.choice([2, 40], tables),
        "mixed": generator.geometric(0.1, tables),
    }[sizes]
    return [str(table) for table in np.repeat(np.arange(tables), counts)]


@pytest.mark.parametrize("sizes", ["equal", "unequal", "mixed"])
@pytest.mark.parametrize("tables", [5, 8, 15])
def test_intervals_of_few_tables_cover_as_often_as_they_say(
    sizes: str, tables: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Percentiles and normal quantiles cover in 66 to 92 % here."""
    monkeypatch.setattr(statistics, "RESAMPLES", 20)  # of the p-values
    generator, rounds = np.random.default_rng(11), 800
    hits = dict.fromkeys(("share", "event", "pair of shares", "pair of events"), 0)
    for _ in range(rounds):
        clusters = drawn(sizes, tables, generator)
        rates = generator.beta(2, 2, size=(2, tables))[:, list(map(int, clusters))]
        rates[1] = rates.mean(axis=0)
        shares = np.clip(rates + generator.normal(0, 0.05, rates.shape), 0, 1)
        events = generator.random(rates.shape) < rates
        effect = design_effect(events[0].astype(float).tolist(), clusters)
        found = {
            "share": mean_interval(shares[0].tolist(), clusters=clusters),
            "event": rate_interval(int(events[0].sum()), len(clusters), effect),
            "pair of shares": compare_shares(list(zip(*shares.tolist(), strict=True)), clusters),
            "pair of events": compare_events(list(zip(*events.tolist(), strict=True)), clusters),
        }
        for name, one in found.items():
            truth = 0.0 if "pair" in name else 0.5
            hits[name] += one["low"] is not None and one["low"] <= truth <= one["high"]
    assert min(hits.values()) / rounds >= 0.93, hits


# ---- two systems ----


def test_intervals_of_a_family_hold_together() -> None:
    """Of three comparisons each interval has 1 - 0.05/3; p is left to Holm."""
    outcomes = [(True, False)] * 12 + [(False, True)] * 2 + [(True, True)] * 20
    one, three = compare_events(outcomes), compare_events(outcomes, family=3)
    assert three["low"] < one["low"] < one["difference"] == three["difference"]
    assert three["high"] > one["high"] and three["p"] == one["p"]
    z = 2.3939798  # the normal quantile of 1 - 0.05/6
    expected = difference_interval(20, 12, 2, 34, z)
    found = (three["difference"], three["low"], three["high"])
    assert found == pytest.approx(expected, abs=1e-6)
    shares = [(0.5, 0.75), (1.0, 0.5), (0.25, 0.5), (0.0, 0.75)] * 5
    narrow, wide = compare_shares(shares), compare_shares(shares, family=10)
    assert wide["low"] < narrow["low"] and wide["high"] > narrow["high"]
    assert wide["p"] == narrow["p"]


def test_newcombe_against_published_values() -> None:
    # Newcombe 1998, Statistics in Medicine 17:2635-2650, table II, method 10:
    # (both, first only, second only, neither) = (36, 12, 2, 0): +0.2000 (0.0569, 0.3404).
    difference, low, high = difference_interval(both=36, a_only=2, b_only=12, n=50)
    assert (difference, low, high) == pytest.approx((0.2, 0.0569, 0.3404), abs=5e-5)


def simulate(
    rate_a: float, rate_b: float, link: float, n: int, rounds: int
) -> Iterator[tuple[int, int, int]]:
    """Counts of correlated pairs; ``link`` is how often b copies a coin shared with a."""
    generator = np.random.default_rng(5)
    for _ in range(rounds):
        shared, own_a, own_b = generator.random((3, n))
        linked = generator.random(n) < link
        a = np.where(linked, shared, own_a) < rate_a
        b = np.where(linked, shared, own_b) < rate_b
        yield int((a & b).sum()), int((a & ~b).sum()), int((b & ~a).sum())


@pytest.mark.parametrize(("rate_a", "rate_b", "link"), [(0.6, 0.25, 0.5), (0.9, 0.85, 0.0)])
def test_intervals_cover_as_often_as_they_say(rate_a: float, rate_b: float, link: float) -> None:
    n, rounds, hits = 120, 800, 0
    for both, a_only, b_only in simulate(rate_a, rate_b, link, n, rounds):
        _, low, high = difference_interval(both, a_only, b_only, n)
        hits += low <= rate_b - rate_a <= high
    assert 0.93 <= hits / rounds <= 0.98


@given(st.integers(0, 40), st.integers(0, 40), st.integers(0, 40), st.integers(0, 40))
def test_intervals_are_antisymmetric_and_hold_the_estimate(
    both: int, a_only: int, b_only: int, neither: int
) -> None:
    n = both + a_only + b_only + neither
    if n == 0:
        assert difference_interval(0, 0, 0, 0) == (None, None, None)
        return
    difference, low, high = difference_interval(both, a_only, b_only, n)
    back = difference_interval(both, b_only, a_only, n)
    assert back == pytest.approx((-difference, -high, -low))
    assert -1 - 1e-12 <= low <= difference + 1e-12
    assert difference - 1e-12 <= high <= 1 + 1e-12


def test_direction_b_against_a() -> None:
    outcomes = [(True, False)] * 30 + [(True, True)] * 20 + [(False, False)] * 50
    test = compare_events(outcomes)
    assert (test["a_only"], test["b_only"], test["n"]) == (30, 0, 100)
    assert test["difference"] == pytest.approx(-0.3)
    assert test["high"] < 0 and test["p"] < 1e-6


def test_shares_paired() -> None:
    generator = np.random.default_rng(1)
    one = generator.choice([0.0, 0.5, 1.0], size=200)
    same = compare_shares(list(zip(one, one, strict=True)))
    assert [same[name] for name in ("difference", "low", "high", "p")] == [0, 0, 0, 1]
    other = np.minimum(1.0, one + generator.choice([0.0, 0.5], size=200))
    better = compare_shares(list(zip(one, other, strict=True)))
    assert better["low"] > 0 and better["p"] < 0.001
    assert better["a_only"] == 0
    assert compare_shares([])["p"] is None


def test_holm() -> None:
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert holm([0.5, 0.9]) == pytest.approx([1.0, 1.0])
    assert holm([]) == []


# ---- agreement ----


def test_kappa() -> None:
    assert cohens_kappa(20, 5, 10, 15) == pytest.approx(0.4)  # Cohen's kappa, by hand
    assert cohens_kappa(10, 0, 0, 10) == 1.0 and cohens_kappa(9, 0, 0, 0) is None


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
def test_published_alphas(observers: Sequence[str], alpha: float) -> None:
    found = krippendorffs_alpha(counted(*observers))
    assert found["alpha"] == pytest.approx(alpha, abs=0.0005)
    assert found["low"] < alpha < found["high"]


def test_units_that_fewer_than_two_observers_scored_do_not_count() -> None:
    found = krippendorffs_alpha(counted(*PUBLISHED[2][0]))
    assert (found["units"], found["judgements"]) == (11, 40)  # Krippendorff's unit 12 falls out
    alone = [[0, 0], [1, 0], [0, 1]] * 50
    binary = counted(*PUBLISHED[0][0])
    assert krippendorffs_alpha(binary + alone) == krippendorffs_alpha(binary)


@pytest.mark.parametrize(
    ("counts", "reason"),
    [
        ([], "no example was scored by two"),
        ([[1, 0], [0, 1], [0, 0]], "no example was scored by two"),
        ([[2, 0], [3, 0], [0, 1]], "all answers are the same"),
    ],
)
def test_alpha_is_undefined_and_not_zero_or_one(counts: list[list[int]], reason: str) -> None:
    found = krippendorffs_alpha(counts)
    assert (found["alpha"], found["low"], found["high"]) == (None, None, None)
    assert found["reason"].startswith(reason)


def test_alpha_and_its_interval_are_the_packages() -> None:
    """The same bootstrap the slow way, with another generator."""
    generator = random.Random(5)
    counts = [
        (yes := sum(generator.random() < chance for _ in range(3)), 3 - yes)
        for chance in generator.choices((0.9, 0.2), k=60)
    ]

    def packages(counts: Sequence[Sequence[int]]) -> float:
        return krippendorff.alpha(value_counts=counts, level_of_measurement="nominal")

    alphas = [packages(generator.choices(counts, k=60)) for _ in range(1000)]
    found = krippendorffs_alpha(counts)
    assert found["alpha"] == pytest.approx(packages(counts), abs=1e-12)
    low, high = np.quantile(alphas, [0.025, 0.975])
    assert found["low"] == pytest.approx(low, abs=0.03)
    assert found["high"] == pytest.approx(high, abs=0.03)
    assert krippendorffs_alpha(counts) == found  # seeded
