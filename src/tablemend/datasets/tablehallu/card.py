"""What the card of a program engine's data set says."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from tablemend.config import SMALL_WORLD
from tablemend.datasets.card import command_of, table_of, write_card
from tablemend.datasets.tablehallu import small_world
from tablemend.datasets.tablehallu.engine import ENGINE
from tablemend.datasets.tablehallu.files import EXAMPLE
from tablemend.datasets.tablehallu.settings import POOL, Synthesis
from tablemend.records import Example

_MEANS = {
    "gold context, characters": "gold_characters",
    "adversarial context, characters": "adversarial_characters",
    "rows": "rows",
    "columns": "columns",
    "facts with their places": "facts",
}


def sizes_of(example: Example) -> dict[str, int]:
    """What is added up over the examples of a data set."""
    return {
        "gold_characters": len(example.gold_context),
        "adversarial_characters": len(example.adversarial_context),
        "rows": len(example.gold_table.rows),
        "columns": len(example.gold_table.columns),
        "facts": len(example.facts),
        f"difficulty {example.difficulty}": 1,
        f"domain {example.domain}": 1,
    }


def examples_card(parts: Iterable[str], counts: Mapping[str, Any]) -> str:
    """The card of a data set of examples, its head as the Hub reads it.

    Args:
        parts: its text.
        counts: as in ``counts.json``.
    """
    return write_card(
        parts,
        categories=("text-generation",),
        tags=("table-generation", "hallucination", "synthetic"),
        files={split: f"{split}.jsonl" for split in counts["splits"]},
        fields=EXAMPLE,
    )


def size_tables(counts: Mapping[str, Any]) -> tuple[str, str]:
    """Examples by split, and the means of their sizes."""
    made, sizes = counts["examples"]["made"], counts["sizes"]
    means = {name: f"{sizes.get(key, 0) / max(made, 1):.1f}" for name, key in _MEANS.items()}
    return table_of("split | examples", counts["splits"]), table_of("per example | mean", means)


def card_of(settings: Synthesis, counts: dict[str, Any]) -> str:
    """The card of a finished data set."""
    made, tables = counts["examples"]["made"], counts["tables"]
    engine = small_world.ENGINE if settings.source == SMALL_WORLD else ENGINE
    is_pool = settings.source == POOL
    tables_of = "fictional tables of the built-in topics" if is_pool else f"`{settings.source}`"
    named = {"source": settings.source, "n": settings.n, "seed": settings.seed}
    parts = [
        "# Query-driven table generation among distractors",
        f"{made} examples, made by `{engine}` from {tables_of}. Each asks for a table of the rows "
        "in a scope; the adversarial context holds them among rows out of scope. The gold table "
        "is right by construction, and a program has checked every example.",
        command_of("tablehallu.py", settings, named, ("kind", "workers", "out")),
        *size_tables(counts),
        "Splits are made by the content hash of the source table: no table is in two splits. "
        "Every fact has its character span in both contexts. A budget in tokens is estimated as "
        "Qwen's tokenizer counts, rather too many than too few.",
        _made_up(settings),
        f"## Source tables\n\n{tables['usable']} usable, {tables['skipped']} skipped.",
        table_of("reason for skipping a table | tables", counts["skipped"]),
        "## Rejected draws",
        table_of("reason for rejecting a draw | draws", counts["rejected"]),
        "## Licence\n\nThe sentences and queries are synthetic; cells come from the source "
        "tables, so their licence applies. Whoever publishes this data set has to state it here.",
    ]
    return examples_card(parts, counts)


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
