"""Tests and effect sizes of pairs of models: by hand, against scipy, and by simulation."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import ttest_rel, wilcoxon

from tablemend.robustness.rankings import (
    adjust_p,
    compare_models,
    harmonic_mean_p,
    paired_effect,
    signed_rank_p,
    weighted_mean,
)
from tablemend.robustness.scores import Array, ScoreCube

NAN = float("nan")


def cube_from(**blocks: Array) -> ScoreCube:
    m, _, s, p = next(iter(blocks.values())).shape
    models, serialisations, perturbations = (list(map(str, range(n))) for n in (m, s, p))
    return ScoreCube(models, serialisations, perturbations, blocks)


# ---- one pair on one data set ----


def test_five_differences_of_one_sign_have_the_exact_p_of_2_in_32() -> None:
    assert signed_rank_p(np.array([0.1, 0.2, 0.3, 0.4, 0.5])) == pytest.approx(2 / 32)


def test_equal_models_have_a_p_of_1_and_an_effect_of_0() -> None:
    assert signed_rank_p(np.zeros(8)) == 1
    assert paired_effect(np.zeros(8)) == (0, 1 / 8)


def test_without_observations_there_is_no_p() -> None:
    assert math.isnan(signed_rank_p(np.array([])))


def test_cohens_d_and_its_variance_worked_by_hand() -> None:
    """Mean 0.2, standard deviation 0.1: d is 2, its variance 1/3 + 4/6."""
    assert paired_effect(np.array([0.1, 0.2, 0.3])) == pytest.approx((2, 1))


def test_cohens_d_is_the_t_statistic_over_the_root_of_n() -> None:
    one, other = np.random.default_rng(0).random((2, 40))
    t = ttest_rel(other, one).statistic
    assert paired_effect(other - one)[0] == pytest.approx(t / math.sqrt(40))


def test_the_variance_of_cohens_d_is_that_of_a_simulation() -> None:
    draws = np.random.default_rng(1).normal(0.5, 1, (4000, 200))
    effects = [paired_effect(draw)[0] for draw in draws]
    assert np.var(effects) == pytest.approx(1 / 200 + 0.5**2 / 400, rel=0.08)


@pytest.mark.parametrize("differences", [[0.3], [0.3, 0.3, 0.1 + 0.2]])
def test_differences_without_spread_have_no_effect_size(differences: list[float]) -> None:
    assert np.isnan(paired_effect(np.array(differences))).all()


# ---- many pairs, many data sets ----


def test_benjamini_and_yekutieli_worked_by_hand() -> None:
    """Times 3 / rank x (1 + 1/2 + 1/3), then no more than what follows."""
    found = adjust_p(np.array([0.04, 0.01, NAN, 0.02]))
    expected = [0.04 * 11 / 6, 0.01 * 3 * 11 / 6, NAN, 0.02 * 3 / 2 * 11 / 6]
    assert found == pytest.approx(np.array(expected), nan_ok=True)


def test_each_data_set_is_a_family_of_its_own() -> None:
    p = np.random.default_rng(2).random((6, 3))
    p[0, 1] = np.nan
    whole = adjust_p(p)
    for column in range(3):
        assert whole[:, column] == pytest.approx(adjust_p(p[:, column]), nan_ok=True)


def test_the_harmonic_mean_worked_by_hand() -> None:
    """Inverses 100, 20 and 30: mean 50."""
    mean, _ = harmonic_mean_p(np.array([[0.01, 0.05, 1 / 30]]))
    assert mean == pytest.approx([0.02])


def test_the_p_of_a_harmonic_mean_is_the_integral_of_the_landau_density() -> None:
    """The density as in the documentation of the R package harmonicmeanp, at L = 10."""
    centre, scale = math.log(10) + 0.874367, math.pi / 2

    def density(x: float) -> float:
        value: float = quad(
            lambda t: (
                math.exp(-t * (x - centre) / scale - 2 / math.pi * t * math.log(t))
                * math.sin(2 * t)
                / (math.pi * scale)
            ),
            1e-12,
            30,
            limit=200,
        )[0]
        return value

    _, at_fortieth = harmonic_mean_p(np.full((1, 10), 1 / 40))
    _, at_twentieth = harmonic_mean_p(np.full((1, 10), 1 / 20))
    between = quad(density, 20, 40)[0]
    assert at_twentieth - at_fortieth == pytest.approx([between], rel=1e-4)


@pytest.mark.parametrize("shared", [0.0, 0.8])
def test_the_p_of_a_harmonic_mean_rejects_as_often_as_it_says(shared: float) -> None:
    """Independent tests, and tests that share most of their data."""
    generator = np.random.default_rng(3)
    common, own = generator.normal(size=(20_000, 1)), generator.normal(size=(20_000, 10))
    z = np.sqrt(shared) * common + np.sqrt(1 - shared) * own
    _, found = harmonic_mean_p(np.vectorize(math.erfc)(np.abs(z) / math.sqrt(2)))
    assert np.mean(found < 0.05) == pytest.approx(0.05, abs=0.008)


def test_a_single_p_stays_and_missing_ones_are_left_out() -> None:
    p = np.array([[0.03, NAN], [NAN, NAN], [0.0, 0.5], [1e-320, 0.5]])
    mean, found = harmonic_mean_p(p)
    assert mean == pytest.approx([0.03, NAN, 0, 0], nan_ok=True)
    assert found == pytest.approx([0.03, NAN, 0, 0], nan_ok=True)


def test_the_weighted_mean_worked_by_hand() -> None:
    """Weights 100 and 25: (20 + 12.5) / 125, and an error of 1 over the root of 125."""
    effects = np.array([[0.2, 0.5, NAN], [NAN, NAN, NAN]])
    mean, error = weighted_mean(effects, np.array([[0.01, 0.04, NAN], [NAN, NAN, NAN]]))
    assert mean == pytest.approx([0.26, NAN], nan_ok=True)
    assert error == pytest.approx([125**-0.5, NAN], nan_ok=True)


def test_all_pairs_of_models_are_compared() -> None:
    generator = np.random.default_rng(4)
    blocks = {name: generator.random((3, 20, 2, 2)) for name in ("one", "two")}
    for block in blocks.values():
        block[2] = (block[2] + 0.4).clip(0, 1)
        block[generator.random(block.shape) < 0.05] = np.nan
    found = compare_models(cube_from(**blocks))
    assert found.pairs == [(0, 1), (0, 2), (1, 2)]
    for q, (a, b) in enumerate(found.pairs):
        for d, block in enumerate(blocks.values()):
            gaps = (block[b] - block[a]).ravel()
            gaps = gaps[~np.isnan(gaps)]
            assert found.n[q, d] == len(gaps) < 80
            assert found.p[q, d] == pytest.approx(wilcoxon(gaps).pvalue)
            assert found.effect[q, d] == pytest.approx(gaps.mean() / gaps.std(ddof=1))
    assert (found.p_adjusted >= found.p).all()
    assert (found.combined_effect[1:] > 0.5).all() and abs(found.combined_effect[0]) < 0.3
    assert (found.combined_p_adjusted[1:] < 0.001).all() and found.combined_p_adjusted[0] > 0.05
    assert found.standard_error == pytest.approx((1 / (1 / found.variance).sum(1)) ** 0.5)


def test_an_example_may_be_one_observation() -> None:
    """Differences of 0.2 and 0.4 of one example are 0.3; of NaN and 0.1 they are 0.1."""
    block = np.zeros((2, 2, 2, 1))
    block[1, :, :, 0] = [[0.2, 0.4], [NAN, 0.1]]
    found = compare_models(cube_from(d=block), "example")
    assert found.n.tolist() == [[2]]
    assert found.effect.item() == pytest.approx(0.2 / np.std([0.3, 0.1], ddof=1))


def test_tests_of_configurations_reject_too_often_and_tests_of_examples_do_not() -> None:
    """Two equal models, and scores that depend on the example more than on the configuration."""
    generator = np.random.default_rng(5)
    rejected = {"configuration": 0, "example": 0}
    for _ in range(60):
        levels = generator.random((2, 30, 1, 1))
        block = (levels + generator.normal(0, 0.05, (2, 30, 3, 2))).clip(0, 1)
        cube = cube_from(d=block)
        rejected["configuration"] += int(compare_models(cube).p.item() < 0.05)
        rejected["example"] += int(compare_models(cube, "example").p.item() < 0.05)
    assert rejected["example"] <= 8 and rejected["configuration"] >= 15


def test_one_model_has_no_pairs() -> None:
    found = compare_models(cube_from(d=np.zeros((1, 2, 2, 1))))
    assert found.pairs == [] and found.p_adjusted.shape == (0, 1)
    assert found.combined_p.shape == found.standard_error.shape == (0,)
