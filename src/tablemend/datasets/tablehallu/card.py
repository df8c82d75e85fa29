"""The data set card: a README that ``datasets`` and a person can read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import yaml

from tablemend.config import SMALL_WORLD
from tablemend.datasets.card import features
from tablemend.datasets.tablehallu import small_world
from tablemend.datasets.tablehallu.engine import ENGINE
from tablemend.datasets.tablehallu.files import EXAMPLE
from tablemend.datasets.tablehallu.settings import POOL, Synthesis

FEATURES = features(EXAMPLE)


def write_card(settings: Synthesis, counts: dict[str, Any]) -> str:
    """The card of a finished data set."""
    head = front_matter(settings.format, list(counts["splits"]))
    return f"{head}\n{_body(settings, counts)}"


def front_matter(form: str, splits: Sequence[str]) -> str:
    """The head of a card: which file is which split, and the types of the fields."""
    head = {
        "task_categories": ["text-generation"],
        "tags": ["table-generation", "hallucination", "synthetic"],
        "configs": [
            {
                "config_name": "default",
                "data_files": [{"split": split, "path": f"{split}.{form}"} for split in splits],
            }
        ],
        "dataset_info": {"features": FEATURES},
    }
    return f"---\n{yaml.safe_dump(head, sort_keys=False, allow_unicode=True)}---\n"


def _body(settings: Synthesis, counts: dict[str, Any]) -> str:
    made, sizes = counts["examples"]["made"], counts["sizes"]
    command = " ".join(
        f"{key}={value}" for key, value in _given(settings).items() if key not in ("workers", "out")
    )
    engine = small_world.ENGINE if settings.source == SMALL_WORLD else ENGINE
    origin = (
        "fictional tables of the built-in topic pool"
        if settings.source == POOL
        else f"`{settings.source}`"
    )
    measured = {
        "gold context, characters": "gold_characters",
        "adversarial context, characters": "adversarial_characters",
        "rows": "rows",
        "columns": "columns",
        "facts": "facts",
    }
    means = {name: f"{sizes.get(key, 0) / max(made, 1):.1f}" for name, key in measured.items()}
    parts = [
        "# Query-driven table generation among distractors",
        f"{made} examples, made by `{engine}` from {origin}. Each asks for a table of the rows "
        "in a scope; the adversarial context holds them among rows out of scope. The gold table "
        "is right by construction, and a program has checked every example.",
        f"```\npython data_gen/tablehallu.py {command}\n```",
        table_of("split", "examples", counts["splits"]),
        table_of("per example", "mean", means),
        "Splits are made by the content hash of the source table: no table stands on two sides. "
        "Every fact has its character span in both contexts. A budget in tokens is estimated as "
        "Qwen's tokenizer counts, rather too many than too few.",
        _made_up(settings),
        f"## Source tables\n\n{counts['tables']['usable']} usable, "
        f"{counts['tables']['skipped']} skipped.",
        table_of("reason for skipping a table", "tables", counts["skipped"]),
        "## Rejected draws",
        table_of("reason for rejecting a draw", "draws", counts["rejected"]),
        "## Licence\n\nThe sentences and queries are synthetic; cells come from the source "
        "tables, so their licence applies. Whoever publishes this data set has to state it here.",
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _made_up(settings: Synthesis) -> str:
    if settings.source == SMALL_WORLD:
        return "Everything is invented, gold rows and distractors alike."
    if settings.distractors == "real":
        return "All distractors are rows of the source tables."
    return (
        "Distractors are rows of the source table, near misses first; where they run out, "
        "made-up rows follow (invented names, moved numbers, cells drawn from their columns), "
        "which are no facts about the world."
    )


def _given(settings: Synthesis) -> dict[str, Any]:
    """The settings that differ from the defaults, as they are written on the command line."""
    given: dict[str, Any] = {"source": settings.source, "n": settings.n, "seed": settings.seed}
    for name, value in settings.model_dump(exclude_defaults=True, exclude={"kind"}).items():
        if isinstance(value, dict):
            given.update({f"{name}.{key}": inner for key, inner in value.items()})
        else:
            given[name] = value
    return given


def table_of(left: str, right: str, rows: Mapping[str, Any]) -> str:
    """A Markdown table of two columns; an empty text where there is no row."""
    if not rows:
        return ""
    lines = [f"| {left} | {right} |", "|---|---:|"]
    lines += [f"| {name.replace('|', chr(92) + '|')} | {value} |" for name, value in rows.items()]
    return "\n".join(lines)
