"""results.json: every number of a comparison, and where it comes from."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from tablemend.generations import Stored
from tablemend.records import ContextKind, Example, Judgement
from tablemend.reports.paired import compare_arms
from tablemend.reports.rates import Rate, summarise

BINS = 4
BROKEN_DOWN = ("constraint_violation", "context_violation", "total_hallu", "row_recall")
"""Metrics that are also reported by domain and by length."""

Judgements = Mapping[str, Mapping[ContextKind, Mapping[str, Judgement]]]
"""arm -> context -> example id -> judgement."""


def tabulate(judgements: Judgements, examples: Sequence[Example]) -> dict[str, Any]:
    """The part of results.json that follows from the judgements.

    Returns:
        ``arms`` (arm -> context -> metric -> rate), ``paired``, ``by_domain`` (arm -> context
        -> domain -> metric -> rate) and ``by_length`` (arm -> context -> list of bins).
    """
    contexts: dict[ContextKind, None] = {c: None for kinds in judgements.values() for c in kinds}
    domains = {example.id: example.domain for example in examples}
    bins = {
        context: length_bins([len(e.context(context)) for e in examples]) for context in contexts
    }
    return {
        "arms": {
            arm: {context: summarise(list(own.values())) for context, own in kinds.items()}
            for arm, kinds in judgements.items()
        },
        "paired": [
            test.to_json()
            for test in compare_arms(
                {
                    context: {arm: kinds[context] for arm, kinds in judgements.items()}
                    for context in contexts
                }
            )
        ],
        "by_domain": {
            arm: {context: _by_domain(own, domains) for context, own in kinds.items()}
            for arm, kinds in judgements.items()
        },
        "by_length": {
            arm: {
                context: _by_length(own, context, examples, bins[context])
                for context, own in kinds.items()
            }
            for arm, kinds in judgements.items()
        },
    }


def _broken_down(judgements: Iterable[Judgement]) -> dict[str, Rate]:
    rates = summarise(list(judgements))
    return {metric: rates[metric] for metric in BROKEN_DOWN}


def _by_domain(
    judgements: Mapping[str, Judgement], domains: Mapping[str, str]
) -> dict[str, dict[str, Rate]]:
    groups: dict[str, list[Judgement]] = {}
    for example_id, judgement in judgements.items():
        groups.setdefault(domains[example_id], []).append(judgement)
    return {domain: _broken_down(groups[domain]) for domain in sorted(groups)}


def _by_length(
    judgements: Mapping[str, Judgement],
    context: ContextKind,
    examples: Sequence[Example],
    bins: Sequence[tuple[int, int]],
) -> list[dict[str, Any]]:
    return [
        {"from": first, "to": last}
        | _broken_down(
            judgements[example.id]
            for example in examples
            if first <= len(example.context(context)) <= last
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
    """Tokens, seconds, price and endings of one arm's answers on one context.

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
