"""Rates and paired tests: against hand-computed values, invariants, and simulated coverage."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest

from tablemend.detector.errors import METRICS
from tablemend.records import Finding, Judgement, Share
from tablemend.reports.paired import (
    compare_events,
    compare_shares,
    compare_systems,
    difference_interval,
    holm,
    mcnemar,
    ratio_interval,
)
from tablemend.reports.rates import mean_interval, rate_interval, summarise


def make_judgement(*errors: str, matched: int = 4, abstained=False, unscored="") -> Judgement:
    findings = tuple(Finding(error, 0, None, None, None, "made up") for error in errors)
    shares = {"row_recall": Share(matched, 4), "cell_recall": Share(matched, 4)}
    return Judgement(findings, shares, abstained, unscored, "test judge")


def test_the_metrics_are_those_of_the_results_file():
    assert {metric.name for metric in METRICS} == {
        "format_error",
        "out_of_range",
        "order_mismatch",
        "attribute",
        "blank_filling",
        "entity_fabrication",
        "constraint_violation",
        "context_violation",
        "total_hallu",
        "row_recall",
        "cell_recall",
        "abstention",
        "unscored",
    }


def test_summary_counts_answers_not_findings():
    rates = summarise(
        [
            make_judgement("attribute", "attribute", "out_of_range", matched=2),
            make_judgement(matched=4),
            make_judgement(matched=0, abstained=True),
            make_judgement("format_error", matched=0),
        ],
        METRICS,
    )
    assert list(rates) == [metric.name for metric in METRICS]
    assert rates["attribute"]["rate"] == 0.25
    assert rates["total_hallu"]["rate"] == 0.5
    assert rates["constraint_violation"]["rate"] == 0.5
    assert rates["context_violation"]["rate"] == 0.25
    assert rates["abstention"]["rate"] == 0.25
    assert rates["row_recall"]["rate"] == pytest.approx(1.5 / 4)
    assert rates["unscored"] == rate_interval(0, 4)


def test_unscored_is_neither_right_nor_wrong():
    wrong, right = make_judgement("attribute", matched=0), make_judgement()
    unscored = make_judgement(matched=0, unscored="the request failed")
    with_them = summarise([wrong, right, unscored, unscored], METRICS)
    without = summarise([wrong, right], METRICS)
    assert {k: v for k, v in with_them.items() if k != "unscored"} == {
        k: v for k, v in without.items() if k != "unscored"
    }
    assert (with_them["unscored"]["rate"], with_them["unscored"]["n"]) == (0.5, 4)


def test_no_scored_answer_has_no_rate():
    rates = summarise([make_judgement(unscored="no answer")], METRICS)
    assert rates["total_hallu"] == {"rate": None, "low": None, "high": None, "n": 0}
    assert rates["row_recall"]["rate"] is None
    assert rates["unscored"]["rate"] == 1.0
    assert summarise([], METRICS)["unscored"]["n"] == 0


def test_wilson_against_published_values():
    # Newcombe 1998, Statistics in Medicine 17:857-872, table I: 15/148 and 0/20.
    rate = rate_interval(15, 148)
    assert (rate["low"], rate["high"]) == pytest.approx((0.0624, 0.1605), abs=5e-5)
    zero = rate_interval(0, 20)
    assert (zero["low"], zero["high"]) == pytest.approx((0.0, 0.1611), abs=5e-5)


@given(st.integers(1, 500).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_wilson_is_scipys(pair):
    count, n = pair
    interval = binomtest(count, n).proportion_ci(0.95, method="wilson")
    rate = rate_interval(count, n)
    assert (rate["low"], rate["high"]) == pytest.approx((interval.low, interval.high), abs=1e-12)


@given(st.lists(st.sampled_from([0.0, 0.25, 1 / 3, 0.5, 1.0]), min_size=1, max_size=60))
def test_mean_interval_contains_the_mean(values):
    rate = mean_interval(values)
    assert 0 <= rate["low"] <= rate["rate"] + 1e-12
    assert rate["rate"] - 1e-12 <= rate["high"] <= 1
    assert rate["n"] == len(values)
    assert rate == mean_interval(values[::-1])  # seeded, and the order does not matter


def test_mean_interval_is_as_wide_as_the_spread_says():
    values = np.random.default_rng(0).choice([0.0, 0.5, 1.0], size=400).tolist()
    rate = mean_interval(values)
    half = 1.96 * np.std(values) / math.sqrt(400)
    assert rate["high"] - rate["low"] == pytest.approx(2 * half, rel=0.05)


def test_all_perfect_recalls_are_not_certain():
    assert mean_interval([1.0] * 10)["low"] == pytest.approx(0.722, abs=1e-3)


def test_newcombe_against_published_values():
    # Newcombe 1998, Statistics in Medicine 17:2635-2650, table II, method 10:
    # (both, first only, second only, neither) = (36, 12, 2, 0): +0.2000 (0.0569, 0.3404).
    difference, low, high = difference_interval(both=36, a_only=2, b_only=12, n=50)
    assert (difference, low, high) == pytest.approx((0.2, 0.0569, 0.3404), abs=5e-5)


def simulate(rate_a: float, rate_b: float, link: float, n: int, rounds: int):
    """Counts of correlated pairs; ``link`` is how often b copies a coin shared with a."""
    generator = np.random.default_rng(5)
    for _ in range(rounds):
        shared, own_a, own_b = generator.random((3, n))
        linked = generator.random(n) < link
        a = np.where(linked, shared, own_a) < rate_a
        b = np.where(linked, shared, own_b) < rate_b
        yield int((a & b).sum()), int((a & ~b).sum()), int((b & ~a).sum())


@pytest.mark.parametrize(("rate_a", "rate_b", "link"), [(0.6, 0.25, 0.5), (0.9, 0.85, 0.0)])
def test_intervals_cover_as_often_as_they_say(rate_a, rate_b, link):
    n, rounds, hits_difference, hits_ratio = 120, 800, 0, 0
    for both, a_only, b_only in simulate(rate_a, rate_b, link, n, rounds):
        _, low, high = difference_interval(both, a_only, b_only, n)
        hits_difference += low <= rate_b - rate_a <= high
        _, low, high = ratio_interval(both, a_only, b_only)
        hits_ratio += low <= rate_b / rate_a <= high
    assert 0.93 <= hits_difference / rounds <= 0.98
    assert 0.93 <= hits_ratio / rounds <= 0.98


@given(st.integers(0, 40), st.integers(0, 40), st.integers(0, 40), st.integers(0, 40))
def test_intervals_are_antisymmetric_and_hold_the_estimate(both, a_only, b_only, neither):
    n = both + a_only + b_only + neither
    if n == 0:
        assert difference_interval(0, 0, 0, 0) == (None, None, None)
        return
    difference, low, high = difference_interval(both, a_only, b_only, n)
    back = difference_interval(both, b_only, a_only, n)
    assert back == pytest.approx((-difference, -high, -low))
    assert -1 - 1e-12 <= low <= difference + 1e-12
    assert difference - 1e-12 <= high <= 1 + 1e-12
    ratio, ratio_low, ratio_high = ratio_interval(both, a_only, b_only)
    if both + a_only == 0:
        assert ratio is None
    else:
        assert 0 <= ratio_low <= ratio <= ratio_high


def test_mcnemar_exact():
    assert mcnemar(0, 0) == 1.0
    assert mcnemar(3, 3) == 1.0
    assert mcnemar(0, 10) == pytest.approx(2 * 0.5**10)


def test_direction_b_against_a():
    outcomes = [(True, False)] * 30 + [(True, True)] * 20 + [(False, False)] * 50
    test = compare_events(outcomes, "adversarial", "total_hallu", "base", "sft")
    assert (test.a_only, test.b_only, test.n) == (30, 0, 100)
    assert test.difference == pytest.approx(-0.3)
    assert test.ratio == pytest.approx(0.4)
    assert test.high < 0
    assert test.ratio_high < 1
    assert test.p < 1e-6


def test_shares_paired():
    generator = np.random.default_rng(1)
    one = generator.choice([0.0, 0.5, 1.0], size=200)
    same = compare_shares(list(zip(one, one, strict=True)), "clean", "row_recall", "a", "b")
    assert (same.difference, same.low, same.high, same.p) == (0, 0, 0, 1)
    other = np.minimum(1.0, one + generator.choice([0.0, 0.5], size=200))
    better = compare_shares(list(zip(one, other, strict=True)), "clean", "row_recall", "a", "b")
    assert better.low > 0
    assert better.p < 0.001
    assert better.a_only == 0
    assert better.ratio > 1


def test_swap_test_holds_its_level():
    generator = np.random.default_rng(2)
    small = 0
    for _ in range(200):
        values = generator.choice([0.0, 0.25, 0.5, 1.0], size=(60, 2))
        pairs = [tuple(row) for row in values.tolist()]
        small += compare_shares(pairs, "clean", "row_recall", "a", "b").p < 0.05
    assert small / 200 < 0.1


def test_holm():
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert holm([0.5, 0.9]) == pytest.approx([1.0, 1.0])
    assert holm([]) == []


def test_only_examples_scored_in_both_are_compared():
    wrong, right = make_judgement("attribute"), make_judgement()
    unscored = make_judgement(unscored="no answer")
    judgements = {
        "clean": {
            "base": {"e1": wrong, "e2": wrong, "e3": unscored, "e4": right},
            "sft": {"e1": right, "e2": unscored, "e3": right},
        }
    }
    tests = {test.metric: test for test in compare_systems(judgements, METRICS)}
    assert tests["attribute"].n == 1
    assert tests["attribute"].a_only == 1
    assert tests["attribute"].p_holm == 1.0


def test_systems_without_a_common_example():
    judgements = {"clean": {"a": {"e1": make_judgement()}, "b": {"e2": make_judgement()}}}
    for test in compare_systems(judgements, METRICS):
        assert (test.n, test.difference, test.p, test.p_holm) == (0, None, None, None)


def test_holm_family_is_one_metric():
    wrong, right = make_judgement("attribute"), make_judgement()
    systems = {
        "base": {f"e{i}": wrong for i in range(10)},
        "cot": {f"e{i}": wrong if i else right for i in range(10)},
        "sft": {f"e{i}": right for i in range(10)},
    }
    tests = compare_systems({"adversarial": systems}, METRICS)
    attribute = [test for test in tests if test.metric == "attribute"]
    assert len(attribute) == 3
    strongest = min(attribute, key=lambda test: test.p)
    assert strongest.p_holm == pytest.approx(3 * strongest.p)
