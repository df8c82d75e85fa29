"""Scores of models under prompt configurations: small cases worked by hand, the formulas as loops,
and all analyses over one small random cube.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from importlib import import_module
from itertools import chain

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tablemend.errors import TablemendError
from tablemend.robustness.rankings import (
    compare_models,
    fewest_configurations,
    ranking_agreement,
    separability,
)
from tablemend.robustness.scores import (
    Array,
    Factor,
    ScoreCube,
    count_unscored,
    level_scores,
    mean_scored,
    performance,
    perturbation_impact,
    robustness,
    sorted_scores,
    win_rates,
)

NAN = float("nan")
FACTORS: list[Factor] = ["serialisation", "perturbation"]
MODELS = ["weak", "middling", "good", "best"]
SERIALISATIONS = ["csv", "html", "json"]
PERTURBATIONS = ["none", "transposed"]
EXAMPLES = {"small": 12, "large": 30, "binary": 20}


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


def one_model(*examples: list[list[float]]) -> ScoreCube:
    """From scores by example, serialisation and perturbation; the first is unperturbed."""
    block = np.array([examples], dtype=float)
    s, p = block.shape[2:]
    serialisations, perturbations = [f"s{i}" for i in range(s)], [f"p{i}" for i in range(p)]
    return ScoreCube(["m"], serialisations, perturbations, {"d": block})


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
    found = mean_scored(np.array([[1.0, NAN, 0.0], [NAN, NAN, NAN]]))
    assert found == pytest.approx([0.5, NAN], nan_ok=True)


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


# ---- win rates ----


def test_win_rates_of_the_papers_example() -> None:
    """Scores 1, 1, 1, 0, 0, 0, 0: wins 4, 4, 4, 0, 0, 0, 0, divided by 12."""
    cube = one_model([[1], [1], [1], [0], [0], [0], [0]])
    assert win_rates(cube, "serialisation")[0, 0] == pytest.approx([1 / 3] * 3 + [0] * 4)


def test_win_rates_are_averaged_over_examples_with_a_winner() -> None:
    """Wins 2, 1, 0 of 3, then 0, 0, 2 of 2, then a tie that does not count."""
    cube = one_model([[0.9], [0.5], [0.1]], [[0], [0], [1]], [[0.4], [0.4], [0.4]])
    assert win_rates(cube, "serialisation")[0, 0] == pytest.approx([1 / 3, 1 / 6, 1 / 2])


def test_a_level_scores_its_mean_over_the_other_factor() -> None:
    """Serialisations 0.5 and 0.4; perturbations 0.3 and 0.6."""
    cube = one_model([[0.2, 0.8], [0.4, 0.4]])
    assert win_rates(cube, "serialisation").tolist() == [[[1, 0]]]
    assert win_rates(cube, "perturbation").tolist() == [[[0, 1]]]
    assert level_scores(cube, "serialisation")[0, 0] == pytest.approx([0.5, 0.4])
    assert level_scores(cube, "perturbation")[0, 0] == pytest.approx([0.3, 0.6])


def test_an_unscored_answer_loses_no_comparison() -> None:
    """Only the second perturbation is scored under both, where the first serialisation wins."""
    shared = one_model([[NAN, 0.8], [1, 0.4]])
    assert win_rates(shared, "serialisation").tolist() == [[[1, 0]]]
    apart = one_model([[NAN, 0.8], [1, NAN]])
    assert np.isnan(win_rates(apart, "serialisation")).all()


def test_means_of_the_same_scores_are_tied_whatever_their_order() -> None:
    cube = one_model([[0.1, 0.2, 0.3], [0.3, 0.1, 0.2]])
    assert np.isnan(win_rates(cube, "serialisation")).all()


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10_000), st.sampled_from(FACTORS), st.sampled_from([0.0, 0.1, 0.5]))
def test_win_rates_sum_to_1_wherever_something_is_decided(
    seed: int, factor: Factor, unscored: float
) -> None:
    generator = np.random.default_rng(seed)
    blocks = {name: generator.integers(0, 3, (2, 4, 3, 2)) / 2 for name in ("one", "two")}
    for block in blocks.values():
        block[generator.random(block.shape) < unscored] = np.nan
    rates = win_rates(ScoreCube(["a", "b"], ["x", "y", "z"], ["n", "r"], blocks), factor)
    sums = rates.sum(-1)
    assert sums[~np.isnan(sums)] == pytest.approx(1)
    assert (np.isnan(rates).any(-1) == np.isnan(rates).all(-1)).all()


def test_serialisations_are_compared_where_all_are_scored() -> None:
    """The first example counts with its first perturbation alone, the second not at all."""
    cube = one_model([[1, NAN], [0.5, 0]], [[NAN, 0], [0, NAN]])
    assert level_scores(cube, "serialisation")[0, 0] == pytest.approx([1, 0.5])
    assert np.isnan(level_scores(one_model([[1, NAN], [NAN, 0]]), "serialisation")).all()


# ---- perturbations ----


def test_the_impact_of_perturbations_worked_by_hand() -> None:
    """First serialisation: -1 and +0.5. Second: 0 and -0.5."""
    cube = one_model([[1, 0], [1, 1]], [[0.5, 1], [0.5, 0]])
    found = perturbation_impact(cube, "p0")
    assert [*found] == ["p1"] and found["p1"][0, 0] == pytest.approx([0.75, 0.25])


def test_the_baseline_may_have_any_place_and_a_missing_side_does_not_count() -> None:
    cube = one_model([[0.5, 1, 0.2]], [[1, NAN, 1]], [[NAN, 0, 1]])
    found = perturbation_impact(cube, "p1")
    assert {name: one.item() for name, one in found.items()} == pytest.approx(
        {"p0": 0.5, "p2": 0.9}
    )


def test_an_unknown_baseline_is_refused() -> None:
    with pytest.raises(TablemendError, match=r"no perturbation 'no'; there are \['p0'\]"):
        perturbation_impact(one_model([[1]]), "no")


# ---- all analyses ----


@pytest.fixture(scope="module")
def cube() -> ScoreCube:
    """Transposed tables cost 0.1, HTML gains 0.1; 1 in 20 answers is unscored."""
    generator = np.random.default_rng(11)
    skills = np.linspace(0.2, 0.8, 4)[:, None, None, None]
    formats = np.array([0.0, 0.1, 0.0])[:, None] - np.array([0.0, 0.1])
    scores = {}
    for name, e in EXAMPLES.items():
        block = (skills + formats + generator.normal(0, 0.15, (4, e, 3, 2))).clip(0, 1)
        block = block.round() if name == "binary" else block
        block[generator.random(block.shape) < 0.05] = np.nan
        scores[name] = block
    return ScoreCube(MODELS, SERIALISATIONS, PERTURBATIONS, scores)


def test_all_analyses_of_one_cube_agree_with_how_it_was_made(cube: ScoreCube) -> None:
    unscored = count_unscored(cube)
    assert unscored.sum() == sum(np.isnan(block).sum() for block in cube.scores.values()) > 0

    p, r = performance(cube), robustness(cube)
    scores = [rate["rate"] for rate in p.overall()]
    assert scores == sorted(scores, key=lambda score: score or 0)
    assert all(rate["n"] == 62 for rate in p.overall())
    for rate in chain(p.overall(), r.overall(), *p.rates(), *r.rates()):
        assert rate["low"] is not None and rate["rate"] is not None and rate["high"] is not None
        assert 0 <= rate["low"] <= rate["rate"] <= rate["high"] <= 1

    curves = sorted_scores(cube)
    assert curves.shape == (4, 6)
    assert curves[:, -1] - curves[:, 0] == pytest.approx(1 - r.by_dataset.mean(1))

    serialisations = win_rates(cube, "serialisation").mean((0, 1))
    assert serialisations.argmax() == SERIALISATIONS.index("html")
    assert win_rates(cube, "perturbation").mean((0, 1))[0] > 0.6
    assert (perturbation_impact(cube, "none")["transposed"].mean((1, 2)) > 0.05).all()

    agreement = ranking_agreement(cube, examples=[3, 30])
    assert agreement.by_dataset.shape == (2, 6, 3)
    assert agreement.overall[1, -1] == pytest.approx(1)
    assert fewest_configurations(agreement.overall[1], 0.9, agreement.configurations) == 1
    by_dataset, overall = separability(p)
    assert overall >= by_dataset.mean() and overall == 1

    compared = compare_models(cube)
    assert len(compared.pairs) == 6
    assert (compared.effect > 0).all()  # the second of a pair is the better one
    assert (compared.p_adjusted < 0.05).all()


def test_the_benchmark_times_every_analysis(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["robustness.py", "--examples", "3"])
    import_module("robustness").main()
    lines = capsys.readouterr().out.splitlines()
    assert len([line for line in lines if line.endswith(" s")]) == 12
    assert [line.split("  ")[0] for line in lines[-2:]] == ["all", "peak memory"]
