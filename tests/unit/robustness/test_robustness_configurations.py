"""Win rates, spread and the impact of perturbations: small cases worked by hand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tablemend.errors import TablemendError
from tablemend.robustness.scores import (
    Factor,
    ScoreCube,
    level_scores,
    perturbation_impact,
    score_spread,
    win_rates,
)

NAN = float("nan")
FACTORS: list[Factor] = ["serialisation", "perturbation"]


def one_model(*examples: list[list[float]]) -> ScoreCube:
    """From scores by example, serialisation and perturbation; the first is unperturbed."""
    block = np.array([examples], dtype=float)
    s, p = block.shape[2:]
    serialisations, perturbations = [f"s{i}" for i in range(s)], [f"p{i}" for i in range(p)]
    return ScoreCube(["m"], serialisations, perturbations, {"d": block})


# ---- win rates ----


def test_win_rates_of_the_papers_example() -> None:
    """Scores 1, 1, 1, 0, 0, 0, 0: wins 4, 4, 4, 0, 0, 0, 0, divided by 12."""
    cube = one_model([[1], [1], [1], [0], [0], [0], [0]])
    found = win_rates(cube, "serialisation")
    assert found.rates[0, 0] == pytest.approx([1 / 3] * 3 + [0] * 4)
    assert found.decided.tolist() == [[1]]


def test_win_rates_are_averaged_over_examples_with_a_winner() -> None:
    """Wins 2, 1, 0 of 3, then 0, 0, 2 of 2, then a tie that does not count."""
    cube = one_model([[0.9], [0.5], [0.1]], [[0], [0], [1]], [[0.4], [0.4], [0.4]])
    found = win_rates(cube, "serialisation")
    assert found.rates[0, 0] == pytest.approx([1 / 3, 1 / 6, 1 / 2])
    assert found.decided.tolist() == [[2]]


def test_a_level_scores_its_mean_over_the_other_factor() -> None:
    """Serialisations 0.5 and 0.4; perturbations 0.3 and 0.6."""
    cube = one_model([[0.2, 0.8], [0.4, 0.4]])
    assert win_rates(cube, "serialisation").overall().tolist() == [1, 0]
    assert win_rates(cube, "perturbation").overall().tolist() == [0, 1]
    assert level_scores(cube, "serialisation")[0, 0] == pytest.approx([0.5, 0.4])
    assert level_scores(cube, "perturbation")[0, 0] == pytest.approx([0.3, 0.6])


def test_an_unscored_answer_loses_no_comparison() -> None:
    """Only the second perturbation is scored under both, where the first serialisation wins."""
    shared = one_model([[NAN, 0.8], [1, 0.4]])
    assert win_rates(shared, "serialisation").overall().tolist() == [1, 0]
    apart = one_model([[NAN, 0.8], [1, NAN]])
    found = win_rates(apart, "serialisation")
    assert found.decided.tolist() == [[0]] and np.isnan(found.rates).all()


def test_means_of_the_same_scores_are_tied_whatever_their_order() -> None:
    cube = one_model([[0.1, 0.2, 0.3], [0.3, 0.1, 0.2]])
    assert win_rates(cube, "serialisation").decided.tolist() == [[0]]


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10_000), st.sampled_from(FACTORS), st.sampled_from([0.0, 0.1, 0.5]))
def test_win_rates_sum_to_1_wherever_something_is_decided(
    seed: int, factor: Factor, unscored: float
) -> None:
    generator = np.random.default_rng(seed)
    blocks = {name: generator.integers(0, 3, (2, 4, 3, 2)) / 2 for name in ("one", "two")}
    for block in blocks.values():
        block[generator.random(block.shape) < unscored] = np.nan
    found = win_rates(ScoreCube(["a", "b"], ["x", "y", "z"], ["n", "r"], blocks), factor)
    for rates in (found.rates, found.by_model(), found.by_dataset(), found.overall()):
        sums = rates.sum(-1)
        assert sums[~np.isnan(sums)] == pytest.approx(1)
    assert (np.isnan(found.rates).any(-1) == (found.decided == 0)).all()


# ---- spread ----


def test_the_spread_is_the_highest_minus_the_lowest_score_of_a_serialisation() -> None:
    """Over two examples and two perturbations: 0.75, 0.5 and 0.25."""
    cube = one_model([[1, 1], [1, 0], [0, 0]], [[1, 0], [1, 0], [0, 1]])
    assert level_scores(cube, "serialisation")[0, 0] == pytest.approx([0.75, 0.5, 0.25])
    assert score_spread(cube) == pytest.approx(np.array([[0.5]]))


def test_serialisations_are_compared_where_all_are_scored() -> None:
    """The first example counts with its first perturbation alone, the second not at all."""
    cube = one_model([[1, NAN], [0.5, 0]], [[NAN, 0], [0, NAN]])
    assert level_scores(cube, "serialisation")[0, 0] == pytest.approx([1, 0.5])
    assert np.isnan(score_spread(one_model([[1, NAN], [NAN, 0]]))).all()


# ---- perturbations ----


def test_the_impact_of_perturbations_worked_by_hand() -> None:
    """First serialisation: -1 and +0.5, mean -0.25, absolute 0.75. Second: 0 and -0.5."""
    cube = one_model([[1, 0], [1, 1]], [[0.5, 1], [0.5, 0]])
    found = perturbation_impact(cube, "p0")
    assert found.perturbations == ["p1"]
    assert found.difference[0, 0, :, 0] == pytest.approx([-0.25, -0.25])
    assert found.absolute[0, 0, :, 0] == pytest.approx([0.75, 0.25])
    assert found.difference_by_model() == pytest.approx(np.array([[-0.25]]))
    assert found.absolute_by_model() == pytest.approx(np.array([[0.5]]))
    assert found.absolute_by_dataset() == pytest.approx(np.array([[0.5]]))
    assert found.examples.tolist() == [[[[2], [2]]]]


def test_the_baseline_may_have_any_place_and_a_missing_side_does_not_count() -> None:
    cube = one_model([[0.5, 1, 0.2]], [[1, NAN, 1]], [[NAN, 0, 1]])
    found = perturbation_impact(cube, "p1")
    assert found.perturbations == ["p0", "p2"]
    assert found.difference[0, 0, 0] == pytest.approx([-0.5, (-0.8 + 1) / 2])
    assert found.absolute[0, 0, 0] == pytest.approx([0.5, 0.9])
    assert found.examples[0, 0, 0].tolist() == [1, 2]


def test_an_unknown_baseline_is_refused() -> None:
    with pytest.raises(TablemendError, match=r"no perturbation 'no'; there are \['p0'\]"):
        perturbation_impact(one_model([[1]]), "no")


def test_the_absolute_impact_is_no_less_than_the_difference() -> None:
    generator = np.random.default_rng(7)
    blocks = {"d": generator.random((3, 8, 2, 4))}
    found = perturbation_impact(ScoreCube(["a", "b", "c"], ["x", "y"], list("nrct"), blocks), "n")
    assert (found.absolute >= np.abs(found.difference) - 1e-12).all()
