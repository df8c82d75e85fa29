"""results.json: every number of a comparison, and where it comes from."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from tablemend.generations import Stored
from tablemend.records import ContextKind, Judgement, Metric, SampleView
from tablemend.reports.paired import compare_systems
from tablemend.reports.rates import Rate, summarise

RESULTS_VERSION = 2
"""Raised with every change of what results.json holds under a name."""
BINS = 4

Judgements = Mapping[str, Mapping[ContextKind, Mapping[str, Judgement]]]
"""system -> context -> example id -> judgement."""
Views = Mapping[ContextKind, Mapping[str, SampleView]]
"""context -> example id -> what was shown."""


def tabulate(judgements: Judgements, views: Views, metrics: Sequence[Metric]) -> dict[str, Any]:
    """The part of results.json that follows from the judgements.

    Args:
        judgements: of every system.
        views: what the systems were shown.
        metrics: of the task.

    Returns:
        ``systems`` (system -> context -> metric -> rate), ``paired``, ``by_domain`` (system ->
        context -> domain -> metric -> rate) and ``by_length`` (system -> context -> list of bins).
    """
    bins = {
        context: length_bins([one.length for one in own.values()]) for context, own in views.items()
    }
    shown = broken_down(metrics)
    return {
        "systems": {
            system: {
                context: summarise(list(own.values()), metrics) for context, own in kinds.items()
            }
            for system, kinds in judgements.items()
        },
        "paired": [
            test.to_json()
            for test in compare_systems(
                {
                    context: {system: kinds[context] for system, kinds in judgements.items()}
                    for context in views
                },
                metrics,
            )
        ],
        "by_domain": {
            system: {
                context: _by_domain(own, views[context], shown) for context, own in kinds.items()
            }
            for system, kinds in judgements.items()
        },
        "by_length": {
            system: {
                context: _by_length(own, views[context], bins[context], shown)
                for context, own in kinds.items()
            }
            for system, kinds in judgements.items()
        },
    }


def broken_down(metrics: Sequence[Metric]) -> list[Metric]:
    """What is also reported by domain and by length: groups of errors, and the first share."""
    shares = [metric for metric in metrics if metric.kind == "share"]
    return [*(metric for metric in metrics if metric.kind == "group"), *shares[:1]]


def _by_domain(
    judgements: Mapping[str, Judgement], views: Mapping[str, SampleView], shown: Sequence[Metric]
) -> dict[str, dict[str, Rate]]:
    groups: dict[str, list[Judgement]] = {}
    for example_id, judgement in judgements.items():
        groups.setdefault(views[example_id].domain, []).append(judgement)
    return {domain: summarise(groups[domain], shown) for domain in sorted(groups)}


def _by_length(
    judgements: Mapping[str, Judgement],
    views: Mapping[str, SampleView],
    bins: Sequence[tuple[int, int]],
    shown: Sequence[Metric],
) -> list[dict[str, Any]]:
    return [
        {"from": first, "to": last}
        | summarise(
            [judgements[one.id] for one in views.values() if first <= one.length <= last], shown
        )
        for first, last in bins
    ]


def length_bins(lengths: Sequence[int], count: int = BINS) -> list[tuple[int, int]]:
    """Inclusive bounds that part lengths into groups of about the same size; no empty group.

    >>> length_bins([1, 2, 3, 4, 5, 6, 7, 8], 4)
    [(1, 2), (3, 4), (5, 6), (7, 8)]
    >>> length_bins([5, 5, 5], 4)
    [(5, 5)]
    """
    if not lengths:
        return []
    ordered = sorted(lengths)
    cuts = sorted({ordered[len(ordered) * index // count] for index in range(count)})
    values = np.array(ordered)
    bins = []
    for start, stop in zip(cuts, [*cuts[1:], ordered[-1] + 1], strict=True):
        inside = values[(values >= start) & (values < stop)]
        bins.append((int(inside[0]), int(inside[-1])))
    return bins


MILLION = 1_000_000


def cost(
    stored: Iterable[Stored],
    seconds: float,
    price_in: float | None = None,
    price_out: float | None = None,
) -> dict[str, Any]:
    """Tokens, seconds, price and endings of one system's answers on one context.

    Args:
        stored: the answers.
        seconds: what generating them took.
        price_in: price of a million prompt tokens.
        price_out: price of a million tokens of answers; ``None`` for both: no price is given.
    """
    listed = list(stored)
    answers = [one.answer for one in listed]
    endings = Counter(answer.finish_reason for answer in answers)
    prompt = sum(answer.prompt_tokens for answer in answers)
    completion = sum(answer.completion_tokens for answer in answers)
    counted: dict[str, Any] = {
        "answers": len(listed),
        "calls": sum(one.calls for one in listed),
        "edits": sum(one.edits for one in listed),
        "edited": sum(one.edits > 0 for one in listed),
        "passes": {str(n): count for n, count in sorted(Counter(o.passes for o in listed).items())},
        "prompt_tokens": prompt,
        "cached_tokens": sum(one.cached_tokens for one in listed),
        "completion_tokens": completion,
        "estimated": sum(one.estimated for one in listed),
        "seconds": round(seconds, 2),
        "finish_reasons": dict(sorted(endings.items())),
    }
    if price_in is not None or price_out is not None:
        price = (prompt * (price_in or 0) + completion * (price_out or 0)) / MILLION
        counted["price"] = round(price, 6)
    return counted
