"""The plots of a validation, as small PNG files (matplotlib)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from tablemend.reports.plots import INK, LINE, MARKERS, PAPER, STYLE, WIDTH
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
    axes: Axes,
    rate: Rate | None,
    place: float,
    index: int,
    label: str,
    across: bool = True,
    filled: bool = True,
) -> None:
    """A rate with its interval; nothing where there is no rate."""
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
        marker=MARKERS[index % len(MARKERS)],
        markersize=5,
        markerfacecolor=COLOURS[index % len(COLOURS)] if filled else PRINT[PAPER],
        elinewidth=1.4,
        linestyle="none",
        label=label,
    )


def _legend(axes: Axes, columns: int = 3) -> None:
    handles, names = axes.get_legend_handles_labels()
    unique = dict(zip(names[::-1], handles[::-1], strict=True))  # the first of each name
    unique = dict(reversed(unique.items()))
    axes.legend(
        unique.values(),
        unique.keys(),
        loc="lower left",
        bbox_to_anchor=(0, 1),
        ncols=columns,
        fontsize=9,
    )


def _rows(axes: Axes, names: Sequence[str]) -> None:
    axes.set_yticks(range(len(names)), names)
    axes.set_ylim(len(names) - 0.5, -0.5)
    axes.grid(axis="y", visible=False)
    axes.tick_params(axis="y", length=0)


def _plot_correlations(sets: Mapping[str, Any]) -> Figure:
    """Pearson's r of every scorer with people, one row a set."""
    scorers = list(dict.fromkeys(s for figures in sets.values() for s in figures["scorers"]))
    figure = Figure(figsize=(WIDTH, 1.2 + 0.5 * len(sets)), layout="constrained")
    axes = figure.subplots()
    for index, scorer in enumerate(scorers):
        shift = (index - (len(scorers) - 1) / 2) * 0.7 / max(1, len(scorers))
        for place, figures in enumerate(sets.values()):
            own = figures["scorers"].get(scorer)
            rate = own and own["correlation"]["pearson"]
            _point(axes, rate, place + shift, index, scorer_name(scorer))
    axes.axvline(0, color=PRINT[LINE])
    _rows(axes, list(sets))
    axes.set_xlabel("Pearson's r with people")
    _legend(axes)
    return figure


def _plot_spans(sets: Mapping[str, Mapping[str, Any]]) -> Figure:
    """Precision and recall of marked words, one row a set."""
    figure = Figure(figsize=(WIDTH, 1.4 + 0.45 * len(sets)), layout="constrained")
    panels = figure.subplots(1, 2, sharey=True)
    scorers = list(dict.fromkeys(s for own in sets.values() for s in own if "span" in own[s]))
    for axes, measure, title in zip(
        panels,
        ("precision", "recall_all"),
        ("precision", "recall, over all marked errors"),
        strict=True,
    ):
        for index, scorer in enumerate(scorers):
            shift = (index - (len(scorers) - 1) / 2) * 0.5 / max(1, len(scorers))
            for place, own in enumerate(sets.values()):
                rate = own[scorer]["span"][measure] if scorer in own else None
                _point(axes, rate, place + shift, index, scorer_name(scorer))
        axes.set_xlim(-0.02, 1.02)
        axes.set_xlabel(title)
        _rows(axes, list(sets))
    _legend(panels[0])
    return figure


def _plot_injection(study: Mapping[str, Any]) -> Figure:
    """Precision and recall by number of planted errors: claims, and whole summaries."""
    figure = Figure(figsize=(WIDTH, 3.4), layout="constrained")
    panels = figure.subplots(1, 2, sharey=True)
    counts = [count for count in study["by_errors"] if count != "0"]
    for index, (measure, label) in enumerate(
        (("precision", "precision"), ("recall_all", "recall"), ("recall", "recall on judged"))
    ):
        for count in counts:
            shift = (index - 1) * 0.1
            rate = study["by_errors"][count][measure]
            _point(panels[0], rate, int(count) + shift, index, label, across=False)
    for index, scorer in enumerate(("STAF", "parent", "parent_own")):
        for half, measure in enumerate(("precision", "recall_all")):
            for count in counts:
                own = study["by_errors"][count].get("text", {}).get(scorer)
                place = int(count) + (index - 1) * 0.2 + (half - 0.5) * 0.1
                _point(
                    panels[1],
                    own and own[measure],
                    place,
                    index,
                    scorer_name(scorer),
                    across=False,
                    filled=not half,
                )
    titles = ("errors among claims", "summaries: precision filled, recall hollow")
    for axes, title in zip(panels, titles, strict=True):
        axes.set_xlabel(f"planted errors\n{title}")
        axes.set_xticks([int(count) for count in counts])
        axes.set_ylim(-0.02, 1.02)
        _legend(axes, columns=2)
    return figure


def _plot_size(study: Mapping[str, Any]) -> Figure:
    """Precision, recall and coverage by rows times columns."""
    bins = study["size"]["bins"]
    figure = Figure(figsize=(WIDTH, 3.0), layout="constrained")
    axes = figure.subplots()
    measures = (
        ("precision", "precision"),
        ("recall_all", "recall"),
        ("coverage", "claims judged"),
    )
    for index, (measure, label) in enumerate(measures):
        for place, one in enumerate(bins):
            _point(axes, one[measure], place + (index - 1) * 0.1, index, label, across=False)
    names = [
        f"{one['from']} to {one['to'] - 1}" if one["to"] else f"{one['from']}+" for one in bins
    ]
    axes.set_xticks(range(len(bins)), names)
    axes.set_xlim(-0.5, len(bins) - 0.5)
    axes.set_xlabel("rows x columns")
    axes.set_ylim(-0.02, 1.02)
    _legend(axes)
    return figure
