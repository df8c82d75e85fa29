"""The plots of a validation: everything is drawn, and no colour means two things."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("matplotlib")

from matplotlib.figure import Figure

from tablemend.validation import plots


def rate(value: float | None, n: int = 40) -> dict[str, Any]:
    if value is None:
        return {"rate": None, "low": None, "high": None, "n": n}
    return {"rate": value, "low": value - 0.05, "high": min(1.0, value + 0.05), "n": n}


def injection() -> dict[str, Any]:
    text = {
        scorer: {"precision": rate(0.6), "recall_all": rate(0.4)}
        for scorer in ("STAF", "parent", "parent_own")
    }
    own = {"precision": rate(0.97), "recall_all": rate(0.9), "recall": rate(0.93)}
    bins = [
        {"from": 0, "to": 20, "texts": 1200, **own, "coverage": rate(0.95)},
        {"from": 20, "to": None, "texts": 7, **own, "coverage": rate(None)},
    ]
    return {
        "by_errors": {
            "0": {"texts": 60},
            **{str(count): {"texts": 50 + count, "text": text, **own} for count in (1, 2)},
        },
        "size": {"bins": bins},
    }


def sets() -> dict[str, Any]:
    figures = {
        "texts": 40,
        "correlation": {"pearson": rate(0.4, 38)},
        "span": {"precision": rate(0.7), "recall_all": rate(0.2)},
    }
    return {
        "one": {"scorers": {"program": figures, "bleu": {"correlation": {"pearson": rate(None)}}}},
        "two": {"scorers": {"program": figures}},
    }


def colours(figure: Figure, panel: int) -> set[Any]:
    axes = figure.axes[panel]
    return {line.get_color() for line in axes.get_lines()}


def test_all_plots_are_drawn(tmp_path: Path) -> None:
    made = plots.draw({"sets": sets(), "injection": injection()}, tmp_path)
    assert [path.name for path in made] == [
        "correlations.png",
        "spans.png",
        "injection.png",
        "size.png",
    ]
    assert all(path.read_bytes().startswith(b"\x89PNG") for path in made)


def test_measures_and_scorers_share_no_colour() -> None:
    figure = plots._plot_injection(injection())
    assert not colours(figure, 0) & colours(figure, 1)
    assert colours(figure, 1) == colours(figure, 2)
    assert all(axes.get_ylabel() and axes.get_title() for axes in figure.axes)
    assert "51 to 52" in figure.axes[0].get_xlabel()


def test_groups_are_told_with_their_size_and_the_axis_fits() -> None:
    axes = plots._plot_size(injection()).axes[0]
    assert [tick.get_text() for tick in axes.get_xticklabels()] == [
        "0 to 19\nn = 1,200",
        "20 or more\nn = 7",
    ]
    bottom, top = axes.get_ylim()
    assert 0.7 < bottom < 0.85 and top > 1  # no marker on the frame
    assert "cells" in axes.get_xlabel()


def test_correlations_say_over_how_many_texts() -> None:
    axes = plots._plot_correlations(sets()).axes[0]
    assert [tick.get_text() for tick in axes.get_yticklabels()] == ["one\nn = 38", "two\nn = 38"]
