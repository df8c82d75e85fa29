"""From items and opinions to the figures of one set."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

from tablemend.meta_evaluation.counting import (
    Counts,
    count_item,
    count_texts,
    human_score,
)
from tablemend.meta_evaluation.items import Item
from tablemend.meta_evaluation.measures import COVERAGE, SPAN, TEXT, rates
from tablemend.meta_evaluation.metrics import score_items
from tablemend.meta_evaluation.opinions import by_score
from tablemend.meta_evaluation.verifying import Scored
from tablemend.records import VERDICTS
from tablemend.statistics import correlations

LABELS = ("supported", "contradicted", "not_in_source")


class Text(NamedTuple):
    """A text, what was counted of it, and the number that a scorer gives it."""

    item: Item
    counts: Counts
    score: float | None


def score_verifier(items: Sequence[Item], scored: Scored) -> dict[str, Any]:
    """All figures of one verifier on one set, and of the parts of the set."""
    pairs = list(zip(items, scored.verifications, strict=True))
    texts = [Text(item, count_item(item, found), found.staf) for item, found in pairs]
    total = sum((one.counts for one in texts), start=Counts())
    figures = _all_figures(texts) | {
        "verifier": scored.verifier,
        "calls": sum(one.usage.calls for one in scored.verifications),
        "by_label": _by_label(total),
    }
    if scored.seconds:
        figures["claims_per_second"] = total["claims"] / scored.seconds
    return figures


def score_metric(
    items: Sequence[Item], others: Sequence[Item], metric: str
) -> dict[str, Any] | None:
    """All figures of one metric; ``None`` where the set has not what it needs.

    Args:
        items: the texts to report on.
        others: the texts of the dev split, on which the threshold is chosen.
        metric: see :func:`score_items`.
    """
    scores = score_items(items, metric)
    if all(score is None for score in scores):
        return None
    known = zip(others, scores if items is others else score_items(others, metric), strict=True)
    pairs = [
        (score, wrong) for item, score in known if score is not None for wrong in item.judgements
    ]
    threshold = balanced_threshold(pairs)
    texts = []
    for item, score in zip(items, scores, strict=True):
        counts = Counts()
        if threshold is not None:
            counts = count_texts(item, by_score(score, threshold))
        texts.append(Text(item, counts, score))
    return _all_figures(texts) | {"threshold": threshold}


def balanced_threshold(pairs: Sequence[tuple[float, bool]]) -> float | None:
    """The score below which to call a text wrong: with the best balanced accuracy.

    Args:
        pairs: a score, and whether people find the text wrong; to be taken from the dev split.

    Returns:
        ``None`` where there are no texts of both kinds.
    """
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


def _all_figures(texts: Sequence[Text]) -> dict[str, Any]:
    """The figures of a set, and below ``groups`` those of its parts."""
    return _figures(texts) | {"groups": {name: _figures(part) for name, part in _parts(texts)}}


def _parts(texts: Sequence[Text]) -> Iterator[tuple[str, list[Text]]]:
    groups = sorted({one.item.group for one in texts})
    for group in groups if len(groups) > 1 else ():
        yield group, [one for one in texts if one.item.group == group]


def _figures(texts: Sequence[Text]) -> dict[str, Any]:
    items, counts = [one.item for one in texts], [one.counts for one in texts]
    keys = [item.split_key for item in items]
    people = [human_score(item) for item in items]
    figures: dict[str, Any] = {
        "texts": len(items),
        "correlation": correlations([one.score for one in texts], people, keys),
    }
    total = sum(counts, start=Counts())
    by_verifier = any("claims" in one for one in counts)
    labelled = any(item.label is not None for item in items)
    marked = any(item.marks for item in items)
    if by_verifier:
        figures["claims"] = total["claims"]
        figures |= rates(counts, keys, COVERAGE)
    if any(counts) and (labelled or marked):
        figures["text"] = rates(counts, keys, TEXT)
    if by_verifier and marked:
        figures["span"] = rates(counts, keys, SPAN)
    if by_verifier and labelled:
        figures["labels"] = {
            label: {verdict: total[f"label {label} {verdict}"] for verdict in VERDICTS}
            for label in LABELS
        }
    return figures


def _by_label(total: Mapping[str, int]) -> dict[str, dict[str, int]]:
    """People's kinds of error: how many are marked, found, open, found one to one."""
    labels = [name.removeprefix("marked ") for name in total if name.startswith("marked ")]
    kinds = ("marked", "found", "open", "single_found")
    return {label: {kind: total[f"{kind} {label}"] for kind in kinds} for label in labels}
