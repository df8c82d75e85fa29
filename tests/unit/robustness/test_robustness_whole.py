"""All analyses over one small random cube."""

from __future__ import annotations

import sys
from importlib import import_module
from itertools import chain

import numpy as np
import pytest

from tablemend.robustness.rankings import (
    compare_models,
    dataset_agreement,
    fewest_configurations,
    ranking_agreement,
    separability,
)
from tablemend.robustness.scores import (
    ScoreCube,
    count_unscored,
    performance,
    perturbation_impact,
    robustness,
    score_spread,
    sorted_scores,
    win_rates,
)

MODELS = ["weak", "middling", "good", "best"]
SERIALISATIONS = ["csv", "html", "json"]
PERTURBATIONS = ["none", "transposed"]
EXAMPLES = {"small": 12, "large": 30, "binary": 20}


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

    serialisations = win_rates(cube, "serialisation").overall()
    assert serialisations.argmax() == SERIALISATIONS.index("html")
    assert win_rates(cube, "perturbation").overall()[0] > 0.6
    assert (score_spread(cube) > 0).all()
    impact = perturbation_impact(cube, "none")
    assert (impact.difference_by_model() < 0).all()
    assert (impact.absolute_by_model() > 0.05).all()
    assert impact.absolute_by_dataset().shape == (3, 1)

    agreement = ranking_agreement(cube, examples=[3, 30])
    assert agreement.by_dataset.shape == (2, 6, 3)
    assert agreement.overall[1, -1] == pytest.approx(1)
    assert fewest_configurations(agreement.overall[1], 0.9, agreement.configurations) == 1
    by_dataset, overall = separability(p)
    assert overall >= by_dataset.mean() and overall == 1
    assert dataset_agreement(p.by_dataset) == pytest.approx(np.ones((3, 3)))

    compared = compare_models(cube)
    assert len(compared.pairs) == 6
    assert (compared.combined_effect > 0).all()  # the second of a pair is the better one
    assert (compared.combined_p_adjusted < 0.05).all()
    assert (compare_models(cube, "example").n <= list(EXAMPLES.values())).all()


def test_the_benchmark_times_every_analysis(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["robustness.py", "--examples", "3"])
    import_module("robustness").main()
    lines = capsys.readouterr().out.splitlines()
    assert len([line for line in lines if line.endswith(" s")]) == 14
    assert [line.split("  ")[0] for line in lines[-2:]] == ["all", "peak memory"]
