"""Domains, lengths and sizes of a data set in one picture (TableHallu, Figures 3 to 5)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from itertools import cycle
from math import log10
from pathlib import Path
from typing import Any

from tablemend.datasets.source_tables.sources import UNKNOWN
from tablemend.errors import install
from tablemend.records import Example

FILE = "statistics.png"
CARD_PART = (
    "## Statistics\n\n![Examples by category and domain; characters of the contexts; rows, columns "
    f"and cells of the gold tables]({FILE})\n\nWhere the picture is missing, "
    f"`{install('report')}` and the command above draw it. A real table's domain is found by the "
    f"words of its title and header (`domains.yaml`); it may be {UNKNOWN}."
)
_BINS = 20
"""Of lengths, from one power of ten to the next."""
_CONTEXTS = {"clean": "#0072b2", "adversarial": "#d55e00"}
_COLOURS = ("#0072b2", "#009e73", "#d55e00", "#cc79a7", "#56b4e9", "#e69f00")


def distributions_of(example: Example) -> dict[str, int]:
    """What is counted of an example for the picture: ``name=value``, each once."""
    table = example.gold_table
    values = {
        "domain": f"{example.category} / {example.domain}",
        "clean": int(_BINS * log10(len(example.gold_context) or 1)),
        "adversarial": int(_BINS * log10(len(example.adversarial_context) or 1)),
        "rows": len(table.rows),
        "columns": len(table.columns),
        "cells": len(table.rows) * len(table.columns) // 5 * 5,
    }
    return {f"{name}={value}": 1 for name, value in values.items()}


def draw_statistics(out: Path, counts: Mapping[str, int]) -> None:
    """Draw the picture into the folder of a data set, unless it is there or matplotlib is not.

    Args:
        out: the folder.
        counts: sums over the examples, with :func:`distributions_of`.
    """
    found: dict[str, Counter[str]] = {}
    for key, count in counts.items():
        name, is_one, value = key.partition("=")
        if is_one:
            found.setdefault(name, Counter())[value] += count
    try:
        from matplotlib.figure import Figure
    except ImportError:
        return
    if not found or (out / FILE).exists():
        return
    figure = Figure(figsize=(11, 6.5), layout="constrained")
    axes = figure.subplot_mosaic(
        [["domain", "length", "length", "length"], ["domain", "rows", "columns", "cells"]],
        width_ratios=[2, 1, 1, 1],
    )
    by_category: dict[str, dict[str, int]] = {}
    for name, count in sorted(found["domain"].items()):
        category, _, domain = name.partition(" / ")
        by_category.setdefault(category, {})[domain] = count
    for (category, own), colour in zip(by_category.items(), cycle(_COLOURS), strict=False):
        bars = axes["domain"].barh(list(own), list(own.values()), color=colour, label=category)
        axes["domain"].bar_label(bars, padding=3)
    axes["domain"].set_title("examples by domain", loc="left")
    axes["domain"].invert_yaxis()
    axes["domain"].margins(x=0.15)
    axes["domain"].legend(loc="upper left", bbox_to_anchor=(-0.5, -0.05), ncols=2, frameon=False)
    for name, colour in _CONTEXTS.items():
        edges = [10 ** (int(value) / _BINS) for value in found[name]]
        widths = [edge * (10 ** (1 / _BINS) - 1) for edge in edges]
        style: dict[str, Any] = {"color": colour, "alpha": 0.7, "label": f"{name} context"}
        axes["length"].bar(edges, list(found[name].values()), widths, align="edge", **style)
    axes["length"].set_xscale("log")
    axes["length"].xaxis.set_major_formatter("{x:,.0f}")
    axes["length"].xaxis.set_minor_formatter("")
    axes["length"].set_title("by characters", loc="left")
    axes["length"].legend(loc="lower right", bbox_to_anchor=(1, 0.97), ncols=2, frameon=False)
    for name in ("rows", "columns", "cells"):
        width = 4 if name == "cells" else 0.8
        axes[name].bar([int(value) for value in found[name]], list(found[name].values()), width)
        axes[name].set_title("by cells, in fives" if name == "cells" else f"by {name}", loc="left")
        axes[name].locator_params(axis="x", integer=True)
    for one in axes.values():
        one.spines[["top", "right"]].set_visible(False)
    figure.savefig(out / FILE, dpi=100, metadata={"Software": None})
