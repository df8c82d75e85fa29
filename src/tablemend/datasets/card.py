"""The card of a data set: a README that ``datasets`` and a person can read, and its picture.

The picture has domains, lengths and sizes (TableHallu, Figures 3 to 5).
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import cycle
from math import log10
from pathlib import Path
from shlex import quote
from typing import Any, get_args, get_origin, get_type_hints

import yaml

from tablemend.config import Section
from tablemend.datasets.splits import UNKNOWN
from tablemend.errors import install
from tablemend.programs.program import Statement
from tablemend.records import Example
from tablemend.runs import leaves

LICENCE = (
    "## Licence\n\nThe texts are synthetic; cells come from the source tables, so their licence "
    "applies. Whoever publishes this data set has to state it here."
)
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


def write_card(
    parts: Iterable[str],
    *,
    categories: Sequence[str],
    tags: Sequence[str],
    files: Mapping[str, str],
    record: type,
) -> str:
    """A card of the parts that are not empty; ``record`` is the dataclass of an example."""
    head = {
        "task_categories": list(categories),
        "tags": list(tags),
        "configs": [
            {
                "config_name": "default",
                "data_files": [{"split": split, "path": path} for split, path in files.items()],
            }
        ],
        "dataset_info": {"features": features(record)},
    }
    body = "\n\n".join(part for part in parts if part)
    return f"---\n{yaml.safe_dump(head, sort_keys=False, allow_unicode=True)}---\n\n{body}\n"


def features(record: type) -> list[dict[str, Any]]:
    """The types of a record's fields as the head of a card spells them."""
    return [{"name": name, **_feature(kind)} for name, kind in get_type_hints(record).items()]


def _feature(kind: Any) -> dict[str, Any]:
    """The type of a field; spans are lists of numbers, statements are JSON in a text."""
    given = [part for part in get_args(kind) if part not in (type(None), ...)]
    if get_origin(kind) is tuple:
        inner = _feature(given[0])
        return {"list": inner.get("dtype") or inner.get("struct") or inner}
    if type(None) in get_args(kind):
        return _feature(given[0])
    hints = get_type_hints(kind) if isinstance(kind, type) and kind is not Statement else {}
    if set(hints.values()) == {int}:
        return {"list": "int64"}
    if hints:
        return {"struct": features(kind)}
    return {"dtype": {int: "int64", bool: "bool"}.get(kind, "string")}


def counted_parts(counts: Mapping[str, Any], means: Mapping[str, str]) -> Iterator[str]:
    """What every card of a program's data set says of its examples and of what was left out.

    Args:
        counts: as in ``counts.json``.
        means: what is averaged over the examples, by its name in ``counts``.
    """
    made, sums, tables = counts["examples"]["made"], counts["counts"], counts["tables"]
    yield table_of("split | examples", counts["splits"])
    yield table_of(
        "per example | mean",
        {name: f"{sums[key] / made:.1f}" for key, name in means.items() if key in sums},
    )
    yield "No table is in two splits: the content hash of the source table decides."
    said = f"{tables['usable']} usable, {tables['skipped']} skipped"
    if "unfit" in tables:
        said += f", {tables['unfit']} of them usable by other settings"
    yield f"## Source tables\n\n{said}."
    yield table_of("reason for skipping a table | tables", counts["skipped"])
    if counts["dropped"] or counts["notes"]:
        yield "## Dropped and drawn anew"
    yield table_of("reason for dropping an example | examples", counts["dropped"])
    yield table_of("drawn anew because | times", counts["notes"])
    yield LICENCE


def table_of(header: str, rows: Mapping[str, Any]) -> str:
    """A Markdown table, figures to the right; an empty text where there is no row.

    Args:
        header: titles of the columns, with bars between them.
        rows: by the text of their first cell; a tuple for more than one more cell.
    """
    if not rows:
        return ""
    lines = [f"| {header} |", f"|---|{'---:|' * header.count('|')}"]
    for name, value in rows.items():
        cells = [name, *(value if isinstance(value, tuple) else (value,))]
        lines.append(f"| {' | '.join(str(cell).replace('|', chr(92) + '|') for cell in cells)} |")
    return "\n".join(lines)


def command_of(
    script: str, settings: Section, first: Mapping[str, Any], left_out: Collection[str] = ()
) -> str:
    """The command that makes a data set again, as a block of code.

    Args:
        script: in ``data_gen/``.
        settings: of these, what differs from the defaults is named.
        first: what is named before them in any case.
        left_out: settings that change nothing in the data.
    """
    given = dict(first)
    for name, value in settings.model_dump(mode="json", exclude_defaults=True).items():
        if name not in left_out:
            given.update(leaves(value, name))
    said = (
        f"{name}={json.dumps(value) if isinstance(value, bool | list | None) else value}"
        for name, value in given.items()
    )
    return f"```\npython data_gen/{script} {' '.join(map(quote, said))}\n```"


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

    The counts are sums over the examples, with :func:`distributions_of`.
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
