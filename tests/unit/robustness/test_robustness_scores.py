"""The score cube, performance, robustness and sorted scores: small cases worked by hand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pytest

from tablemend.errors import TablemendError
from tablemend.robustness.scores import (
    Array,
    ScoreCube,
    count_unscored,
    mean_scored,
    performance,
    robustness,
    sorted_scores,
)

NAN = float("nan")


def cube_of(**blocks: Sequence[Sequence[Sequence[float]]]) -> ScoreCube:
    """From scores by model, example and serialisation, unperturbed."""
    scores = {name: np.array(block, dtype=float)[..., None] for name, block in blocks.items()}
    m, _, s, _ = next(iter(scores.values())).shape
    return ScoreCube([f"m{i}" for i in range(m)], [f"s{i}" for i in range(s)], ["none"], scores)


def random_cube(seed: int, unscored: float = 0.0, **changes: int) -> ScoreCube:
    """Binary and graded data sets of different sizes."""
    wanted = {"m": 4, "s": 3, "p": 2, **changes}
    m, s, p = wanted["m"], wanted["s"], wanted["p"]
    generator = np.random.default_rng(seed)
    scores = {}
    for name, e in (("small", 7), ("middle", 9), ("large", 12)):
        block = generator.random((m, e, s, p))
        block = block.round() if name == "middle" else block
        block[generator.random(block.shape) < unscored] = np.nan
        scores[name] = block
    models, serialisations, perturbations = (list(map(str, range(n))) for n in (m, s, p))
    return ScoreCube(models, serialisations, perturbations, scores)


# ---- the cube ----


@pytest.mark.parametrize(
    ("scores", "message"),
    [
        ({}, "no data set"),
        ({"d": np.zeros((1, 2, 2))}, r"scores of d: \(1, 2, 2\), not \(1, E, 2, 1\)"),
        ({"d": np.zeros((1, 0, 2, 1))}, "scores of d"),
        ({"d": np.full((1, 2, 2, 1), 1.5)}, "from 0 to 1"),
        ({"d": np.full((1, 2, 2, 1), np.inf)}, "from 0 to 1"),
    ],
)
def test_a_cube_refuses_scores_of_another_shape_or_range(
    scores: Mapping[str, Array], message: str
) -> None:
    with pytest.raises(TablemendError, match=message):
        ScoreCube(["a"], ["csv", "html"], ["none"], scores)


def test_a_cube_refuses_names_used_twice_and_tables_of_other_examples() -> None:
    scores = {"d": np.zeros((2, 3, 1, 1))}
    with pytest.raises(TablemendError, match="models"):
        ScoreCube(["a", "a"], ["csv"], ["none"], scores)
    with pytest.raises(TablemendError, match="tables of d: one for each of the 3 examples"):
        ScoreCube(["a", "b"], ["csv"], ["none"], scores, tables={"d": ["t1"]})


def test_unscored_answers_are_counted_by_model_and_data_set() -> None:
    cube = cube_of(one=[[[1, NAN], [NAN, NAN]], [[1, 0], [0, 0]]], two=[[[0, 0]], [[NAN, 1]]])
    assert count_unscored(cube).tolist() == [[3, 0], [0, 1]]


def test_the_mean_of_nothing_is_missing() -> None:
    assert mean_scored(np.array([[1.0, NAN, 0.0], [NAN, NAN, NAN]])).tolist() == [
        0.5,
        pytest.approx(NAN, nan_ok=True),
    ]


# ---- performance and robustness ----


def test_performance_and_robustness_of_a_case_worked_by_hand() -> None:
    """Data set one: means 0.5 and 0.5, ranges 1 and 0. Data set two: mean 0.4, range 0.4.

    P = (0.5 + 0.4) / 2. R = 1 - (0.5 + 0.4) / 2. Examples do not weigh the same: data sets do.
    """
    cube = cube_of(one=[[[1, 0], [0.5, 0.5]]], two=[[[0.2, 0.6]]])
    p, r = performance(cube), robustness(cube)
    assert p.by_dataset == pytest.approx(np.array([[0.5, 0.4]]))
    assert r.by_dataset == pytest.approx(np.array([[0.5, 0.6]]))
    assert p.overall()[0]["rate"] == pytest.approx(0.45)
    assert r.overall()[0]["rate"] == pytest.approx(0.55)
    assert p.overall()[0]["n"] == r.overall()[0]["n"] == 3


def test_an_unscored_answer_is_neither_0_nor_1() -> None:
    """One of two left: the example's mean is the other, and one score has no range."""
    cube = cube_of(one=[[[1, NAN], [0.5, 0.25], [NAN, NAN]]])
    p, r = performance(cube), robustness(cube)
    assert p.by_dataset == pytest.approx(np.array([[(1 + 0.375) / 2]]))
    assert r.by_dataset == pytest.approx(np.array([[0.75]]))
    assert (p.examples.item(), r.examples.item()) == (2, 1)


def test_a_model_without_a_score_on_a_data_set_has_no_overall_score() -> None:
    cube = cube_of(one=[[[1, 1]], [[0, 1]]], two=[[[NAN, NAN]], [[1, 1]]])
    without, whole = performance(cube).overall()
    assert without == {"rate": None, "low": None, "high": None, "n": 1}
    assert whole["rate"] == pytest.approx(0.75)
    assert performance(cube).rates()[0][0]["rate"] == pytest.approx(1)


@pytest.mark.parametrize("score", [0.0, 0.3, 1.0])
def test_a_constant_cube_has_its_score_as_performance_and_full_robustness(score: float) -> None:
    cube = cube_of(one=[[[score] * 4] * 3] * 2, two=[[[score] * 4] * 5] * 2)
    for estimate, wanted in ((performance(cube), score), (robustness(cube), 1.0)):
        for rate in estimate.overall():
            assert (rate["rate"], rate["low"], rate["high"]) == pytest.approx((wanted,) * 3)


@pytest.mark.parametrize("unscored", [0.0, 0.2])
def test_performance_and_robustness_follow_the_formulas(unscored: float) -> None:
    """The formulas of section 2.2 as loops."""
    cube = random_cube(1, unscored)
    for m in range(4):
        means, ranges = [], []
        for block in cube.blocks():
            own = [row[~np.isnan(row)] for row in block[m]]
            means.append(np.mean([row.mean() for row in own if len(row)]))
            ranges.append(np.mean([row.max() - row.min() for row in own if len(row) > 1]))
        assert performance(cube).overall()[m]["rate"] == pytest.approx(np.mean(means))
        assert robustness(cube).overall()[m]["rate"] == pytest.approx(1 - np.mean(ranges))


def test_intervals_are_those_of_examples_drawn_independently_in_each_data_set() -> None:
    """The variance of the mean over D data sets is the sum of theirs over D squared."""
    cube = random_cube(2)
    found = performance(cube)
    spread = found.resampled.mean(2).std(0)
    for m in range(4):
        alone = [block[m].mean(-1).var() / block.shape[1] for block in cube.blocks()]
        assert found.resampled.std(0)[m] ** 2 == pytest.approx(alone, rel=0.06)
        assert spread[m] == pytest.approx(np.sqrt(sum(alone)) / 3, rel=0.04)
        rate = found.overall()[m]
        assert rate["low"] is not None and rate["high"] is not None
        assert rate["high"] - rate["low"] == pytest.approx(2 * 1.96 * spread[m], rel=0.06)


def test_the_same_seed_gives_the_same_intervals() -> None:
    cube = random_cube(3, 0.1)
    assert robustness(cube, 5).overall() == robustness(cube, 5).overall()
    assert robustness(cube, 5).overall() != robustness(cube, 6).overall()


def test_examples_made_from_one_table_are_drawn_together() -> None:
    """Every example five times over says nothing new."""
    generator = np.random.default_rng(4)
    once = generator.random((2, 30, 2, 1))
    names = (["a", "b"], ["s1", "s2"], ["none"])
    tables = {"d": [f"t{i}" for i in range(30)] * 5}
    many = ScoreCube(*names, {"d": np.tile(once, (1, 5, 1, 1))}, tables)
    few = performance(ScoreCube(*names, {"d": once})).overall()
    for copied, single in zip(performance(many).overall(), few, strict=True):
        assert copied["n"] == 150
        for end in ("rate", "low", "high"):
            assert copied[end] == pytest.approx(single[end], abs=0.01)


# ---- sorted scores ----


def test_sorted_scores_are_averaged_rank_by_rank() -> None:
    """0, 0.5, 1 and 0.2, 0.4, 0.6 in other orders: 0.1, 0.45, 0.8."""
    cube = cube_of(one=[[[1, 0, 0.5], [0.4, 0.6, 0.2]]])
    assert sorted_scores(cube) == pytest.approx(np.array([[0.1, 0.45, 0.8]]))


def test_an_incomplete_example_is_read_between_its_lowest_and_highest_score() -> None:
    cube = cube_of(one=[[[0.8, NAN, 0.2], [NAN, 1, NAN]]])
    assert sorted_scores(cube) == pytest.approx(np.array([[0.2, 0.5, 0.8]]))


def test_a_curve_without_an_example_that_counts_is_missing() -> None:
    assert np.isnan(sorted_scores(cube_of(one=[[[NAN, 1]], [[0, 1]]]))).tolist() == [
        [True, True],
        [False, False],
    ]


@pytest.mark.parametrize("unscored", [0.0, 0.2])
def test_a_curve_spans_1_minus_robustness_and_its_mean_is_performance(unscored: float) -> None:
    cube = random_cube(5, unscored)
    curves = sorted_scores(cube)
    assert curves[:, -1] - curves[:, 0] == pytest.approx(1 - robustness(cube).by_dataset.mean(1))
    assert (np.diff(curves) >= -1e-12).all()
    if not unscored:
        assert curves.mean(1) == pytest.approx(performance(cube).by_dataset.mean(1))
