"""Metrics to compare with: BLEU and PARENT."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tablemend.meta_evaluation.items import Item
from tablemend.meta_evaluation.metrics import bleu, parent

METRICS: dict[str, Callable[..., list[float]]] = {
    "bleu": bleu.score,
    "parent": parent.score,
    "overlap": parent.overlap,
}
"""By name; ``overlap`` is PARENT's precision without a reference."""
NEED_REFERENCES = ("bleu", "parent")


def score_items(items: Sequence[Item], metric: str) -> list[float | None]:
    """A metric of every text; ``None`` where it needs a reference or a table that is not there."""
    usable = {
        number: (item.text, item.references, entries)
        for number, item in enumerate(items)
        if item.text.strip() and (item.references or metric not in NEED_REFERENCES)
        if (entries := [e for table in item.source.tables for e in parent.table_entries(table)])
    }
    if not usable:
        return [None] * len(items)
    scores = METRICS[metric](*map(list, zip(*usable.values(), strict=True)))
    found = dict(zip(usable, scores, strict=True))
    return [found.get(number) for number in range(len(items))]
