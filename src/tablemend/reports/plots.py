"""The plots of a report, as SVG text for a page (matplotlib).

Colours are CSS variables of the page, so that one drawing fits a light and a dark page; systems
are told apart by colour (Okabe and Ito's palette, made for colour-blind readers) and by marker.
"""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import matplotlib as mpl
from markupsafe import Markup, escape
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from tablemend.records import ContextKind
from tablemend.reports.content import DASH, metrics_of, parts_of
from tablemend.reports.tabulation import TOTAL

MARKERS = "osD^vPX*"
# Stand-ins that matplotlib accepts and that are replaced in the SVG by the page's variables.
INK, LINE, PAPER = "#010203", "#040506", "#070809"
COLOURS = [f"#0a0b{index:02x}" for index in range(len(MARKERS))]
VARIABLES = {INK: "currentColor", LINE: "var(--line)", PAPER: "var(--paper)"} | {
    colour: f"var(--system-{index})" for index, colour in enumerate(COLOURS)
}
STYLE: Any = {
    "svg.fonttype": "none",  # text stays text: it can be read aloud, searched and restyled
    "text.parse_math": False,  # a name may hold dollars
    "font.size": 11,
    "text.color": INK,
    "axes.edgecolor": LINE,
    "axes.labelcolor": INK,
    "axes.facecolor": "none",
    "axes.grid": True,
    "axes.axisbelow": True,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlelocation": "left",
    "axes.titlesize": 11,
    "figure.facecolor": "none",
    "grid.color": LINE,
    "grid.linewidth": 0.7,
    "legend.frameon": False,
    "xtick.color": LINE,
    "ytick.color": LINE,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
}
WIDTH = 9.0  # inches; the page scrolls a drawing that is wider than the screen
SPACE, LETTER = 0.75, 0.095
"""Inches of a column of the legend and of a letter in it; the page may have a wider font."""


MOST_CONTEXTS = 4
"""Panels side by side; of more contexts the last alone is drawn."""


def look(system_index: int) -> dict[str, Any]:
    """Colour and marker of a system; where colours come round again, each has another marker."""
    count = len(MARKERS)
    marker = MARKERS[(system_index + system_index // count) % count]
    return {"color": COLOURS[system_index % count], "marker": marker}


def plot_errors(results: Mapping[str, Any]) -> Markup:
    """Rates by kind of error and system, one panel a context."""
    shown = [metric for metric in metrics_of(results) if metric.kind == "error"]
    titles = {metric.name: metric.title for metric in shown} | {TOTAL: "TotalHallu"}
    rates = {
        system: {context: [own[name] for name in titles] for context, own in kinds.items()}
        for system, kinds in results["systems"].items()
    }
    return _plot_rows(results, list(titles.values()), rates, "errors", "Kinds of error, by system")


def plot_parts(results: Mapping[str, Any], by: str, metric: str) -> Markup | None:
    """A rate by part of the data, one panel a context; ``None`` where there is one part only."""
    parts, names = results.get(by, {}), parts_of(results, by)
    if len(names) < 2:
        return None
    rates = {
        system: {
            context: [own.get(name, {}).get(metric, {"rate": None}) for name in names]
            for context, own in kinds.items()
        }
        for system, kinds in parts.items()
    }
    title = next(one.title for one in metrics_of(results) if one.name == metric)
    return _plot_rows(results, names, rates, by, f"{title} {by.replace('_', ' ')} and system")


def _plot_rows(
    results: Mapping[str, Any],
    labels: Sequence[str],
    rates: Mapping[str, Mapping[ContextKind, Sequence[Any]]],
    name: str,
    title: str,
) -> Markup:
    """Rows of dots with their intervals, one row a label, one dot a system."""

    def draw(axes: Axes, context: ContextKind) -> None:
        for index, kinds in enumerate(rates.values()):
            for place, rate in enumerate(kinds[context]):
                _dot(axes, rate, place + _shift(index, len(rates)), look(index))
        for border in range(1, len(labels)):
            axes.axhline(border - 0.5, color=LINE, linewidth=0.7)
        _name_rows(axes, labels)
        axes.grid(axis="y", visible=False)
        _percent_axis(axes, "% of the scored answers")

    height = max(2.2, 0.85 + 0.12 * len(rates) * len(labels))
    return _panels(results, draw, height=height, name=name, title=title)


def plot_contexts(results: Mapping[str, Any]) -> Markup | None:
    """TotalHallu of every system on each context, joined by a line; the last context is filled.

    ``None`` for more contexts than can be told apart: the report on robustness draws them.
    """
    contexts = list(results["contexts"])
    if len(contexts) > MOST_CONTEXTS:
        return None
    systems = list(results["systems"])
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(WIDTH, 0.9 + 0.45 * len(systems)), layout="constrained")
        axes = figure.subplots()
        for place, system in enumerate(systems):
            rates = [results["systems"][system][context][TOTAL] for context in contexts]
            known = [rate["rate"] * 100 for rate in rates if rate["rate"] is not None]
            colour = look(place)["color"]
            axes.plot(known, [place] * len(known), color=colour, linewidth=7, alpha=0.18)
            for context, rate in zip(contexts, rates, strict=True):
                _dot(axes, rate, place, look(place), filled=context == contexts[-1])
        _name_rows(axes, systems)
        _percent_axis(axes, "answers with at least one error, %")
        fills = {context: INK if context == contexts[-1] else PAPER for context in contexts}
        handles = [
            _handle(results["contexts"][context], color=INK, marker="o", markerfacecolor=fill)
            for context, fill in fills.items()
        ]
        axes.legend(handles=handles, loc="lower left", bbox_to_anchor=(0, 1), ncols=2)
        return _svg(figure, "contexts", "Answers with an error, by system and context")


def plot_lengths(results: Mapping[str, Any]) -> Markup:
    """TotalHallu by length of what was read, one panel a context."""
    systems = results["by_length"]

    def draw(axes: Axes, context: ContextKind) -> None:
        bins = next(iter(systems.values()))[context]
        for index, kinds in enumerate(systems.values()):
            shift = _shift(index, len(systems))
            known = {
                place + shift: one[TOTAL]
                for place, one in enumerate(kinds[context])
                if one[TOTAL]["rate"] is not None
            }
            heights = [100 * rate["rate"] for rate in known.values()]
            axes.plot(list(known), heights, color=look(index)["color"], linewidth=1.2, alpha=0.6)
            for place, rate in known.items():
                _dot(axes, rate, place, look(index), vertical=True)
        labels = [f"{one['from']:,}{DASH}\n{one['to']:,}" for one in bins]
        for border in range(1, len(labels)):
            axes.axvline(border - 0.5, color=LINE, linewidth=0.7)
        axes.set_xticks(range(len(labels)), labels)
        axes.set_xlabel(results["length_unit"])
        axes.set_ylim(-3, 103)
        axes.grid(axis="x", visible=False)

    title, ylabel = "Answers with an error, by length and system", "answers with an error, %"
    return _panels(results, draw, height=3.4, name="lengths", title=title, ylabel=ylabel)


def _panels(
    results: Mapping[str, Any],
    draw: Callable[[Axes, ContextKind], None],
    *,
    height: float,
    name: str,
    title: str,
    ylabel: str = "",
) -> Markup:
    contexts = list(results["contexts"])
    if len(contexts) > MOST_CONTEXTS:
        contexts = contexts[-1:]
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(WIDTH, height + 0.5), layout="constrained")
        panels = figure.subplots(1, len(contexts), sharey=True, squeeze=False)[0]
        for axes, context in zip(panels, contexts, strict=True):
            draw(axes, context)
            axes.set_title(results["contexts"][context])
        panels[0].set_ylabel(ylabel)
        _legend(figure, {name: look(place) for place, name in enumerate(results["systems"])})
        return _svg(figure, name, title)


def plot_curves(
    name: str,
    places: Sequence[int],
    curves: Mapping[str, Sequence[float]],
    labels: tuple[str, str],
    top: float = 1,
    strong: str = "",
) -> Markup:
    """A line of each name over the same whole numbers, from 0 to ``top``; NaN is a gap."""
    styles = {own: look(place) for place, own in enumerate(curves)}
    if strong:
        styles[strong] = {"color": INK, "marker": "_", "markeredgewidth": 3}
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(WIDTH, 4.4), layout="constrained")
        axes = figure.subplots()
        for own, values in curves.items():
            width = 3.0 if own == strong else 1.3
            axes.plot(places, values, linewidth=width, markersize=4, **styles[own])
        axes.set(xlabel=labels[0], ylabel=labels[1], ylim=(-0.03 * top, 1.03 * top))
        few = [place for place in places if place % 5 == 0 or place == 1]
        axes.set_xticks(places if len(places) < 10 else few)
        _legend(figure, styles)
        return _svg(figure, name, f"{labels[1]}, by {labels[0]}")


def _legend(figure: Figure, styles: Mapping[str, Mapping[str, Any]]) -> None:
    """The names by row, in as many columns as they leave room for."""
    names = list(styles)
    columns = max(1, min(len(names), int(WIDTH / (SPACE + LETTER * max(map(len, names))))))
    # matplotlib fills column by column
    order = [name for column in range(columns) for name in names[column::columns]]
    handles = [_handle(name, **styles[name]) for name in order]
    figure.legend(handles=handles, loc="outside upper left", ncols=columns)


def _handle(label: str, **style: Any) -> mpl.lines.Line2D:
    return mpl.lines.Line2D([], [], linestyle="none", label=label, **style)


def _shift(index: int, count: int) -> float:
    return (index - (count - 1) / 2) * 0.7 / max(1, count - 1) if count > 1 else 0.0


def _dot(
    axes: Axes,
    rate: Mapping[str, Any],
    place: float,
    style: Mapping[str, Any],
    *,
    filled: bool = True,
    vertical: bool = False,
) -> None:
    """A rate with its interval; nothing where there is no rate."""
    if rate["rate"] is None:
        return
    ends = (rate["rate"] if rate[key] is None else rate[key] for key in ("rate", "low", "high"))
    value, low, high = (100 * end for end in ends)
    bars = [[max(0.0, value - low)], [max(0.0, high - value)]]
    x, y = (place, value) if vertical else (value, place)
    axes.errorbar(
        [x],
        [y],
        xerr=None if vertical else bars,
        yerr=bars if vertical else None,
        color=style["color"],
        marker=style["marker"],
        markersize=5.5,
        markerfacecolor=style["color"] if filled else PAPER,
        elinewidth=1.6,
        linestyle="none",
    )


def _name_rows(axes: Axes, labels: Sequence[str]) -> None:
    axes.set_yticks(range(len(labels)), labels)
    axes.set_ylim(len(labels) - 0.5, -0.5)
    axes.tick_params(axis="y", length=0)


def _percent_axis(axes: Axes, label: str) -> None:
    axes.set_xlim(-2, 102)
    axes.set_xticks(range(0, 101, 20))
    axes.set_xlabel(label)


def _svg(figure: Figure, name: str, title: str) -> Markup:
    """The figure as an ``<svg>`` element whose ids and colours belong to the page."""
    buffer = io.StringIO()
    with mpl.rc_context({"svg.hashsalt": name, **STYLE}):
        figure.savefig(buffer, format="svg", metadata={"Date": None})
    svg = buffer.getvalue()
    svg = svg[svg.index("<svg") :]
    named = f"<title>{escape(title)}</title>"
    svg = re.sub(r"<metadata>.*?</metadata>", lambda _: named, svg, count=1, flags=re.DOTALL)
    svg = re.sub(r'(id="|href="#|url\(#)', rf"\g<1>{name}-", svg)
    for colour, variable in VARIABLES.items():
        svg = svg.replace(colour, variable)
    return Markup(svg)
