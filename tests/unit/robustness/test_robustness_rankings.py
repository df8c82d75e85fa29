"""Kendall's W, samples of configurations, separability and tests of pairs of models."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import friedmanchisquare, ttest_rel, wilcoxon

from tablemend.errors import TablemendError
from tablemend.robustness.rankings import (
    adjust_p,
    compare_models,
    fewest_configurations,
    harmonic_mean_p,
    kendalls_w,
    paired_effect,
    ranking_agreement,
    separability,
    signed_rank_p,
    smallest_grid,
    weighted_mean,
)
from tablemend.robustness.scores import Array, ScoreCube, performance

NAN = float("nan")


def cube_from(**blocks: Array) -> ScoreCube:
    m, _, s, p = next(iter(blocks.values())).shape
    models, serialisations, perturbations = (list(map(str, range(n))) for n in (m, s, p))
    return ScoreCube(models, serialisations, perturbations, blocks)


def skilled(seed: int, noise: float, examples: int = 10) -> ScoreCube:
    """Five models of rising skill; the format and chance blur it."""
    generator = np.random.default_rng(seed)
    skills = np.linspace(0.3, 0.7, 5)[:, None, None, None]
    formats = generator.normal(0, noise / 4, (2, 5, 1, 3, 4))
    chance = generator.normal(0, noise, (2, 5, examples, 3, 4))
    one, two = (skills + formats + chance).clip(0, 1)
    return cube_from(one=one, two=two)


# ---- Kendall's W ----


def test_kendalls_w_worked_by_hand() -> None:
    """Ranks 1 2 3, 1 3 2 and 2 1 3: sums 4, 6, 8; W = 12 (4 + 0 + 4) / (9 (27 - 3))."""
    assert kendalls_w(np.array([[1, 2, 3], [1, 3, 2], [2, 1, 3.0]])) == pytest.approx(96 / 216)


def test_kendalls_w_with_ties_worked_by_hand() -> None:
    """Ranks 1 2 3 and 1.5 1.5 3: sums 2.5, 3.5, 6 with squared deviations of 6.5; one tie of two.

    W = 12 x 6.5 / (4 (27 - 3) - 2 (8 - 2)).
    """
    scores = np.array([[0.1, 0.2, 0.3], [0.5, 0.5, 0.9]])
    assert kendalls_w(scores) == pytest.approx(78 / 84)


@pytest.mark.parametrize("values", [3, 1000])
def test_kendalls_w_is_scipys_friedman_statistic_over_its_maximum(values: int) -> None:
    scores = np.random.default_rng(values).integers(0, values, (20, 8, 5)) / values
    for found, own in zip(kendalls_w(scores), scores, strict=True):
        assert found == pytest.approx(friedmanchisquare(*own.T).statistic / (8 * 4))


def test_equal_rankings_have_a_w_of_1_with_and_without_ties() -> None:
    assert kendalls_w(np.tile([0.1, 0.4, 0.2, 0.9], (6, 1))) == pytest.approx(1)
    assert kendalls_w(np.tile([0.1, 0.4, 0.4, 0.9], (6, 1))) == pytest.approx(1)
    dust = np.array([[0.1 + 0.2, 0.3, 0.5], [0.3, 0.1 + 0.2, 0.5]])
    assert kendalls_w(dust) == pytest.approx(1)  # sums in another order are tied


def test_random_rankings_have_a_w_of_about_0() -> None:
    """1 / m on average."""
    found = kendalls_w(np.random.default_rng(0).random((200, 30, 14)))
    assert found.mean() == pytest.approx(1 / 30, rel=0.1)
    assert found.max() < 0.15


def test_opposite_rankings_have_a_w_of_0() -> None:
    assert kendalls_w(np.array([[1, 2, 3.0], [3, 2, 1]])) == pytest.approx(0)


def test_w_leaves_out_rankings_that_miss_a_model() -> None:
    whole = np.array([[1, 2, 3], [1, 3, 2], [2, 1, 3.0]])
    assert kendalls_w(np.vstack([whole, [1, NAN, 2]])) == pytest.approx(96 / 216)


def test_w_is_missing_without_two_rankings_or_with_all_models_tied() -> None:
    assert np.isnan(kendalls_w(np.array([[1, 2, 3.0], [1, NAN, 2]])))
    assert np.isnan(kendalls_w(np.ones((3, 4))))


# ---- samples of configurations and examples ----


def test_all_configurations_and_examples_give_one_ranking() -> None:
    found = ranking_agreement(skilled(1, 0.3))
    assert found.configurations == tuple(range(1, 13)) and found.examples == ()
    assert (found.by_dataset.shape, found.overall.shape) == ((1, 12, 2), (1, 12))
    assert found.by_dataset[0, -1] == pytest.approx([1, 1])
    assert found.overall[0, -1] == pytest.approx(1)


def test_models_that_never_change_places_agree_from_the_first_configuration_on() -> None:
    found = ranking_agreement(skilled(2, 0.0), examples=[1, 10])
    assert found.by_dataset == pytest.approx(1)
    assert fewest_configurations(found.overall[0], 0.99, found.configurations) == 1


def test_w_of_single_configurations_is_that_of_their_rankings() -> None:
    """Two models, which four of the twelve configurations rank the other way."""
    block = np.zeros((2, 3, 12, 1))
    block[0, :, :8] = 1.0
    block[1, :, 8:] = 1.0
    found = ranking_agreement(cube_from(d=block), [1], sets=2000, seed=3).overall
    # squared rank sums: m a and m b of m rankings each way, W = (a - b)^2
    assert found == pytest.approx((8 / 12 - 4 / 12) ** 2, abs=0.03)


def test_more_configurations_and_more_examples_agree_better() -> None:
    found = ranking_agreement(skilled(4, 0.6, 40), [1, 4, 12], [2, 10, 40], sets=60)
    mean = found.by_dataset.mean(-1)
    assert (np.diff(mean, axis=0) > 0).all() and (np.diff(mean, axis=1) > 0).all()


def test_a_data_set_with_fewer_examples_gives_all_that_it_has() -> None:
    cube = skilled(5, 0.5, 10)
    found = ranking_agreement(cube, [1, 12], [10, 99])
    assert found.by_dataset[0] == pytest.approx(found.by_dataset[1])
    assert found.by_dataset[:, 1] == pytest.approx(1)


def test_a_sample_is_scored_on_what_is_scored_in_it() -> None:
    """The second model is unscored in most places, and always better where it is scored."""
    block = np.full((2, 6, 4, 1), 0.5)
    block[1] = np.nan
    block[1, :, 0] = 0.9
    found = ranking_agreement(cube_from(d=block), sets=40)
    assert found.overall == pytest.approx(1)  # samples without a score of it rank nothing


def test_the_same_seed_draws_the_same_samples() -> None:
    cube = skilled(6, 0.5)
    same = [ranking_agreement(cube, seed=seed).overall for seed in (1, 1, 2)]
    assert (same[0] == same[1]).all() and (same[0] != same[2]).any()


@pytest.mark.parametrize("numbers", [[0], [13], []])
def test_numbers_of_configurations_that_cannot_be_drawn_are_refused(numbers: list[int]) -> None:
    with pytest.raises(TablemendError, match="configurations: numbers from 1 to 12"):
        ranking_agreement(skilled(7, 0.1), numbers)


def test_no_examples_are_refused() -> None:
    with pytest.raises(TablemendError, match="examples: numbers from 1"):
        ranking_agreement(skilled(7, 0.1), [1], [0])


@pytest.mark.parametrize(
    ("count", "grid"), [(1, (1, 1)), (7, (7, 1)), (8, (4, 2)), (11, (6, 2)), (35, (7, 5))]
)
def test_the_smallest_grid_holds_as_many_configurations(count: int, grid: tuple[int, int]) -> None:
    assert smallest_grid(count, 7, 5) == grid


@pytest.mark.parametrize(
    ("wanted", "number"), [(0.3, 1), (0.4, 1), (0.65, 2), (0.75, 8), (0.9, 8), (0.95, None)]
)
def test_the_fewest_configurations_reach_a_w_and_keep_it(wanted: float, number: int | None) -> None:
    agreement = np.array([0.4, 0.8, 0.7, 0.9])
    assert fewest_configurations(agreement, wanted, [1, 2, 4, 8]) == number


def test_a_missing_w_reaches_nothing() -> None:
    assert fewest_configurations(np.array([NAN, 0.9]), 0.5, [1, 2]) == 2
    assert fewest_configurations(np.array([0.9, NAN]), 0.5, [1, 2]) is None


# ---- separability ----


def test_separability_counts_pairs_whose_intervals_do_not_overlap() -> None:
    """Two constant models that are equal and a better one: 2 of 3 pairs are apart."""
    block = np.full((3, 5, 2, 1), 0.3)
    block[2] = 0.8
    by_dataset, overall = separability(performance(cube_from(d=block)))
    assert by_dataset == pytest.approx([2 / 3])
    assert overall == pytest.approx(2 / 3)


def test_separability_is_that_of_the_intervals_printed() -> None:
    found = performance(skilled(8, 0.4, 30))
    rates = found.overall()
    limits = [(rate["low"] or 0, rate["high"] or 0) for rate in rates]
    pairs = [(one, other) for i, one in enumerate(limits) for other in limits[:i]]
    apart = [one[0] > other[1] or other[0] > one[1] for one, other in pairs]
    assert separability(found)[1] == pytest.approx(np.mean(apart))
    assert 0 < np.mean(apart) < 1


def test_models_without_a_score_are_in_no_pair() -> None:
    block = np.full((3, 5, 2, 1), 0.3)
    block[2], block[1] = 0.8, np.nan
    by_dataset, overall = separability(performance(cube_from(d=block, e=block)))
    assert by_dataset.tolist() == [1, 1] and overall == 1
    block[2] = np.nan
    by_dataset, overall = separability(performance(cube_from(d=block)))
    assert np.isnan(by_dataset).all() and np.isnan(overall)


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

    at_fortieth = harmonic_mean_p(np.full((1, 10), 1 / 40))
    at_twentieth = harmonic_mean_p(np.full((1, 10), 1 / 20))
    between = quad(density, 20, 40)[0]
    assert at_twentieth - at_fortieth == pytest.approx([between], rel=1e-4)


@pytest.mark.parametrize("shared", [0.0, 0.8])
def test_the_p_of_a_harmonic_mean_rejects_as_often_as_it_says(shared: float) -> None:
    """Independent tests, and tests that share most of their data."""
    generator = np.random.default_rng(3)
    common, own = generator.normal(size=(20_000, 1)), generator.normal(size=(20_000, 10))
    z = np.sqrt(shared) * common + np.sqrt(1 - shared) * own
    found = harmonic_mean_p(np.vectorize(math.erfc)(np.abs(z) / math.sqrt(2)))
    assert np.mean(found < 0.05) == pytest.approx(0.05, abs=0.008)


def test_a_single_p_stays_and_missing_ones_are_left_out() -> None:
    p = np.array([[0.03, NAN], [NAN, NAN], [0.0, 0.5], [1e-320, 0.5]])
    found = harmonic_mean_p(p)
    assert found == pytest.approx([0.03, NAN, 0, 0], nan_ok=True)


def test_the_weighted_mean_worked_by_hand() -> None:
    """Weights 100 and 25: (20 + 12.5) / 125, and an error of 1 over the root of 125."""
    effects = np.array([[0.2, 0.5, NAN], [NAN, NAN, NAN]])
    mean, error = weighted_mean(effects, np.array([[0.01, 0.04, NAN], [NAN, NAN, NAN]]))
    assert mean == pytest.approx([0.26, NAN], nan_ok=True)
    assert error == pytest.approx([125**-0.5, NAN], nan_ok=True)


def test_all_pairs_of_models_are_compared() -> None:
    generator = np.random.default_rng(4)
    block = generator.random((3, 20, 2, 2))
    block[2] = (block[2] + 0.4).clip(0, 1)
    block[generator.random(block.shape) < 0.05] = np.nan
    found = compare_models(cube_from(d=block))
    assert found.pairs == [(0, 1), (0, 2), (1, 2)]
    for q, (a, b) in enumerate(found.pairs):
        gaps = np.nanmean((block[b] - block[a]).reshape(20, -1), axis=1)
        assert found.p[q] == pytest.approx(wilcoxon(gaps).pvalue)
        assert found.effect[q] == pytest.approx(gaps.mean() / gaps.std(ddof=1))
    assert (found.p_adjusted >= found.p).all()
    assert (found.effect[1:] > 0.5).all() and abs(found.effect[0]) < 0.5
    assert (found.p_adjusted[1:] < 0.01).all() and found.p_adjusted[0] > 0.05


def test_an_example_is_one_observation() -> None:
    """Differences of 0.2 and 0.4 of one example are 0.3; of NaN and 0.1 they are 0.1."""
    block = np.zeros((2, 2, 2, 1))
    block[1, :, :, 0] = [[0.2, 0.4], [NAN, 0.1]]
    found = compare_models(cube_from(d=block))
    assert found.effect == pytest.approx([0.2 / np.std([0.3, 0.1], ddof=1)])


def test_equal_models_are_seldom_told_apart() -> None:
    """Scores depend on the example more than on the configuration, which is no observation."""
    generator, rejected = np.random.default_rng(5), 0
    for _ in range(60):
        levels = generator.random((2, 30, 1, 1))
        block = (levels + generator.normal(0, 0.05, (2, 30, 3, 2))).clip(0, 1)
        rejected += int(compare_models(cube_from(d=block)).p.item() < 0.05)
    assert rejected <= 8


def test_one_model_has_no_pairs() -> None:
    found = compare_models(cube_from(d=np.zeros((1, 2, 2, 1))))
    assert found.pairs == [] and found.p_adjusted.shape == found.standard_error.shape == (0,)
