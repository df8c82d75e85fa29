"""Metrics that compare a text with references and the table, as scorers beside the verifiers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise

from tablemend.meta_evaluation.counting import Counts, count_text
from tablemend.meta_evaluation.items import Item
from tablemend.meta_evaluation.metrics import bleu, parent
from tablemend.meta_evaluation.metrics.parent import Entries, table_entries
from tablemend.meta_evaluation.opinions import by_score

Scores = list[float | None]
NEED_REFERENCES = ("bleu", "parent", "bertscore")


def _bleu(
    texts: Sequence[str], references: Sequence[Sequence[str]], tables: Sequence[Entries]
) -> Scores:
    return list(bleu.score(texts, references, tables))


def _parent(
    texts: Sequence[str], references: Sequence[Sequence[str]], tables: Sequence[Entries]
) -> Scores:
    return list(parent.score(texts, references, tables))


def _overlap(
    texts: Sequence[str], references: Sequence[Sequence[str]], tables: Sequence[Entries]
) -> Scores:
    return [
        parent.overlap_precision(text, table) for text, table in zip(texts, tables, strict=True)
    ]


METRICS: dict[str, Callable[..., Scores]] = {
    "bleu": _bleu,
    "parent": _parent,
    "overlap": _overlap,
}
"""Metrics without a model; ``overlap`` is PARENT's precision without a reference."""
MODEL_METRICS = ("bertscore", "true")


def score_items(items: Sequence[Item], metric: str) -> Scores:
    """A metric of every text; ``None`` where it needs a reference or a table that is not there.

    Args:
        items: the texts.
        metric: a name in :data:`METRICS`, or ``bertscore`` or ``true``, with ``:MODEL`` or
            without.
    """
    name, _, model = metric.partition(":")
    tables = [
        [entry for table in item.source.tables for entry in table_entries(table)] for item in items
    ]
    usable = [
        index
        for index, item in enumerate(items)
        if item.text.strip() and tables[index] and (item.references or name not in NEED_REFERENCES)
    ]
    found: Scores = [None] * len(items)
    if usable:
        scores = _function(name, model)(
            [items[index].text for index in usable],
            [items[index].references for index in usable],
            [tables[index] for index in usable],
        )
        for index, score in zip(usable, scores, strict=True):
            found[index] = score
    return found


def _function(name: str, model: str) -> Callable[..., Scores]:
    if name in METRICS:
        return METRICS[name]
    from functools import partial

    from tablemend.meta_evaluation.metrics import bertscore, true_nli  # torch

    score = bertscore.score if name == "bertscore" else true_nli.score
    return partial(score, model=model) if model else score


def best_threshold(scores: Scores, items: Sequence[Item]) -> float | None:
    """The score below which to call a text wrong: with the best balanced accuracy here.

    To be chosen on the dev split. ``None`` where there are no texts of both kinds.
    """
    return balanced_threshold(
        [
            (score, wrong)
            for score, item in zip(scores, items, strict=True)
            if score is not None
            for wrong in item.judgements
        ]
    )


def balanced_threshold(pairs: Sequence[tuple[float, bool]]) -> float | None:
    """The score below which to call a text wrong, of pairs of a score and what people say."""
    pairs = sorted(pairs)
    bad = sum(wrong for _, wrong in pairs)
    good = len(pairs) - bad
    if not bad or not good:
        return None
    best, threshold = 0.5, pairs[0][0]
    caught = passed = 0
    for (score, wrong), (following, _) in pairwise(pairs):
        caught, passed = caught + wrong, passed + (not wrong)
        balanced = (caught / bad + 1 - passed / good) / 2
        if following > score and balanced > best:
            best, threshold = balanced, (score + following) / 2
    return threshold


def count_scored(item: Item, score: float | None, threshold: float) -> Counts:
    """A text against a metric's opinion."""
    counts: Counts = Counts(texts=1)
    for wrong in item.judgements:
        counts.update(count_text(wrong, by_score(score, threshold)))
    return counts
