"""Metrics to compare with: BLEU, and PARENT with and without a reference, of one text each."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any

from tablemend.meta_evaluation.items import Item
from tablemend.meta_evaluation.parent import overlap, parent
from tablemend.tables.table import Table

NEED_REFERENCES = ("bleu", "parent")


def bleu(text: str, references: Sequence[str]) -> float:
    """Sentence BLEU, 0 to 100, with exponential smoothing (Papineni et al. 2002), by sacrebleu.

    Raises:
        ModuleNotFoundError: without the extra ``metrics``.
    """
    return float(_sacrebleu().sentence_score(text, list(references)).score)


@cache
def _sacrebleu() -> Any:
    from sacrebleu.metrics import BLEU

    return BLEU(effective_order=True)


METRICS: Mapping[str, Callable[[str, Sequence[str], Sequence[str]], float]] = {
    "bleu": lambda text, references, cells: bleu(text, references),
    "parent": parent,
    "overlap": lambda text, references, cells: overlap(text, cells),
}
"""By name: of a text, what people wrote of the same table, and its cells."""


def filled_cells(tables: Sequence[Table]) -> list[str]:
    """The cells of tables that say something, row by row."""
    rows = (row for table in tables for row in table.rows)
    return [cell for row in rows for cell in row if cell and cell.strip()]


def score_items(items: Sequence[Item], metric: str) -> list[float | None]:
    """A metric of every text; ``None`` where it needs a reference or a table that is not there."""
    scores: list[float | None] = []
    for item in items:
        cells = filled_cells(item.source.tables)
        usable = item.text.strip() and cells and (item.references or metric not in NEED_REFERENCES)
        scores.append(METRICS[metric](item.text, item.references, cells) if usable else None)
    return scores
