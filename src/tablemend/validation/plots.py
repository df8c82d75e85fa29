"""The plots of a validation, as small PNG files (matplotlib)."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine

from tablemend.reports.plots import INK, LINE, PAPER, STYLE, WIDTH, marker
from tablemend.reports.rates import Rate
from tablemend.validation.tables import scorer_name

COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000", "#999999")
"""Okabe and Ito's palette, as in the reports."""
PRINT = {INK: "#222222", LINE: "#cccccc", PAPER: "#ffffff"}
ON_PAPER: Any = {
    name: PRINT.get(value, value) if isinstance(value, str) else value
    for name, value in STYLE.items()
} | {"figure.facecolor": "#ffffff", "savefig.dpi": 110}


def draw(results: Mapping[str, Any], folder: Path) -> list[Path]:
    """Draw what there are figures for.

    Returns:
        The files.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with mpl.rc_context(ON_PAPER):
        made = []
        if results["sets"]:
            made.append(_save(_plot_correlations(results["sets"]), folder / "correlations.png"))
        marked = {
            name: figures["scorers"]
            for name, figures in results["sets"].items()
            if any("span" in own for own in figures["scorers"].values())
        }
        if marked:
            made.append(_save(_plot_spans(marked), folder / "spans.png"))
        if "injection" in results:
            made.append(_save(_plot_injection(results["injection"]), folder / "injection.png"))
            made.append(_save(_plot_size(results["injection"]), folder / "size.png"))
    return made


def _save(figure: Figure, path: Path) -> Path:
    figure.savefig(path, metadata={"Software": None})
    return path


def _point(
    axes: Axes, rate: Rate | None, place: float, index: int, label: str, across: bool = True
) -> None:
    """A rate with its interval, whose ends have caps; nothing where there is no rate."""
    if rate is None or rate["rate"] is None:
        return
    value = rate["rate"]
    low, high = (value if rate[end] is None else rate[end] for end in ("low", "high"))
    bars = [[max(0.0, value - (low or 0.0))], [max(0.0, (high or 0.0) - value)]]
    axes.errorbar(
        [value if across else place],
        [place if across else value],
        xerr=bars if across else None,
        yerr=None if across else bars,
        color=COLOURS[index % len(COLOURS)],
        marker=marker(index),
        markersize=4.5,
        elinewidth=1.3,
        capsize=2.5,
        linestyle="none",
        label=label,
    )


def _legend(figure: Figure, *panels: Axes) -> None:
    """One legend above all panels, with each name once."""
    unique: dict[str, Any] = {}
    for axes in panels:
        handles, names = axes.get_legend_handles_labels()
        for name, handle in zip(names, handles, strict=True):
            unique.setdefault(name, handle)
    figure.legend(
        unique.values(),
        unique.keys(),
        loc="outside upper left",
        ncols=4,
        fontsize=9,
        columnspacing=1.6,
    )


def _own_legend(axes: Axes) -> None:
    """A legend above one panel, in one column."""
    handles, names = axes.get_legend_handles_labels()
    unique = dict(zip(reversed(names), reversed(handles), strict=True))
    axes.legend(
        [unique[name] for name in dict.fromkeys(names)],
        dict.fromkeys(names),
        loc="lower left",
        bbox_to_anchor=(0, 1.09),
        fontsize=9,
    )


def _rows(axes: Axes, names: Sequence[str]) -> None:
    axes.set_yticks(range(len(names)), names)
    axes.set_ylim(len(names) - 0.5, -0.5)
    axes.grid(axis="y", visible=False)
    axes.tick_params(axis="y", length=0)


def _spread(index: int, number: int, width: float) -> float:
    """Where the index-th of some scorers stands beside its row, so that none hides another."""
    return (index - (number - 1) / 2) * width / max(1, number)


def _zoom(axes: Axes, rates: Iterable[Rate | None]) -> None:
    """Cut the axis of shares below what is drawn, at a tenth; never above 0.8."""
    ends = [
        end
        for rate in rates
        if rate is not None and rate["rate"] is not None
        for end in (rate["rate"], rate["low"])
        if end is not None
    ]
    least = min([*ends, 0.8])
    bottom = max(0.0, math.floor(least * 10) / 10)
    axes.set_ylim(bottom - 0.02, 1.0 + 0.06 * (1 - bottom))
    axes.set_ylabel(f"share (from {bottom:.1f})" if bottom else "share")


def _plot_correlations(sets: Mapping[str, Any]) -> Figure:
    """Pearson's r of every scorer with people, one row a set."""
    scorers = list(dict.fromkeys(s for figures in sets.values() for s in figures["scorers"]))
    figure = Figure(figsize=(WIDTH, 1.2 + 0.55 * len(sets)), layout="constrained")
    axes = figure.subplots()
    names = []
    for place, (name, figures) in enumerate(sets.items()):
        counts = []
        for index, scorer in enumerate(scorers):
            own = figures["scorers"].get(scorer)
            rate = own and own["correlation"]["pearson"]
            _point(
                axes, rate, place + _spread(index, len(scorers), 0.75), index, scorer_name(scorer)
            )
            if rate and rate["rate"] is not None:
                counts.append(rate["n"])
        few, many = (f"{end:,}" for end in (min(counts, default=0), max(counts, default=0)))
        names.append(f"{name}\nn = {few if few == many else f'{few} to {many}'}")
    axes.axvline(0, color=PRINT[INK], linewidth=0.8)
    _rows(axes, names)
    axes.set_xlabel("Pearson's r with people; n: texts that both have a number for")
    _legend(figure, axes)
    return figure


def _plot_spans(sets: Mapping[str, Mapping[str, Any]]) -> Figure:
    """Precision and recall of marked words, one row a set."""
    layout = ConstrainedLayoutEngine(wspace=0.08)
    figure = Figure(figsize=(WIDTH, 1.4 + 0.5 * len(sets)), layout=layout)
    panels = figure.subplots(1, 2, sharey=True)
    scorers = list(dict.fromkeys(s for own in sets.values() for s in own if "span" in own[s]))
    names = [f"{name}\n{next(iter(own.values()))['texts']:,} texts" for name, own in sets.items()]
    for axes, measure, title in zip(
        panels,
        ("precision", "recall_all"),
        ("Precision of words called wrong", "Recall over all marked errors"),
        strict=True,
    ):
        for index, scorer in enumerate(scorers):
            shift = _spread(index, len(scorers), 0.5)
            for place, own in enumerate(sets.values()):
                rate = own[scorer]["span"][measure] if scorer in own else None
                _point(axes, rate, place + shift, index, scorer_name(scorer))
        axes.set_xlim(-0.04, 1.04)
        axes.set_xticks([0, 0.25, 0.5, 0.75, 1], ["0", "0.25", "0.5", "0.75", "1"])
        axes.set_xlabel("share")
        axes.set_title(title)
        _rows(axes, names)
    _legend(figure, *panels)
    return figure


_OF_CLAIMS = (
    ("precision", "precision"),
    ("recall_all", "recall"),
    ("recall", "recall on scored claims"),
)
_OF_TEXTS = (
    ("precision", "Summaries: precision"),
    ("recall_all", "Summaries: recall"),
)
_SCORERS = ("STAF", "parent", "parent_own")


def _plot_injection(study: Mapping[str, Any]) -> Figure:
    """Precision and recall by number of injected errors: of claims, and of whole summaries.

    No colour and marker has two meanings: measures of claims and scorers of summaries differ.
    """
    counts = [count for count in study["by_errors"] if count != "0"]
    figure = Figure(figsize=(WIDTH * 1.15, 4.3), layout="constrained")
    panels = figure.subplots(1, 3)
    own = study["by_errors"]
    for index, (measure, label) in enumerate(_OF_CLAIMS):
        for count in counts:
            place = int(count) + _spread(index, 3, 0.5)
            _point(panels[0], own[count][measure], place, index, label, across=False)
    _zoom(panels[0], (own[count][measure] for count in counts for measure, _ in _OF_CLAIMS))
    panels[0].set_title("Claims: injected errors called")
    for axes, (measure, title) in zip(panels[1:], _OF_TEXTS, strict=True):
        for index, scorer in enumerate(_SCORERS):
            for count in counts:
                rates = own[count].get("text", {}).get(scorer)
                place = int(count) + _spread(index, 3, 0.5)
                label = scorer_name(scorer)
                _point(axes, rates and rates[measure], place, 3 + index, label, across=False)
        axes.set_ylim(-0.02, 1.06)
        axes.set_title(title)
    texts = [own[count]["texts"] for count in counts]
    few, many = f"{min(texts, default=0):,}", f"{max(texts, default=0):,}"
    each = few if few == many else f"{few} to {many}"
    for axes in panels:
        axes.set_xticks([int(count) for count in counts])
        axes.set_xlim(0.5, len(counts) + 0.5)
        axes.set_xlabel(f"injected errors a summary\n(n = {each} summaries)")
        axes.set_ylabel(axes.get_ylabel() or "share")
    for axes in panels[:2]:
        _own_legend(axes)
    return figure


def _plot_size(study: Mapping[str, Any]) -> Figure:
    """Precision, recall and coverage by the number of cells of the table."""
    bins = study["size"]["bins"]
    figure = Figure(figsize=(WIDTH, 3.6), layout="constrained")
    axes = figure.subplots()
    measures = (
        ("precision", "precision"),
        ("recall_all", "recall"),
        ("coverage", "claims scored"),
    )
    for index, (measure, label) in enumerate(measures):
        for place, one in enumerate(bins):
            _point(axes, one[measure], place + _spread(index, 3, 0.4), index, label, across=False)
    names = []
    for one in bins:
        cells = f"{one['from']} to {one['to'] - 1}" if one["to"] else f"{one['from']} or more"
        names.append(f"{cells}\nn = {one['texts']:,}")
    axes.set_xticks(range(len(bins)), names)
    axes.set_xlim(-0.5, len(bins) - 0.5)
    axes.set_xlabel("cells of the table; n: summaries with no or one injected error")
    _zoom(axes, (one[measure] for one in bins for measure, _ in measures))
    _legend(figure, axes)
    return figure
