"""results.json: every number of a comparison, where it comes from, and the second scorer's part."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any, Self, TypeVar

import numpy as np

from tablemend.errors import TablemendError
from tablemend.generations import Stored
from tablemend.records import (
    ANSWERED_BOTH,
    UNMOVED,
    UNSCORED,
    ContextKind,
    Judgement,
    Metric,
    SampleView,
    is_flawless,
)
from tablemend.runs import read_jsonl
from tablemend.statistics import (
    Rate,
    cohens_kappa,
    compare_events,
    compare_shares,
    design_effect,
    holm,
    mean_interval,
    rate_interval,
)

TOTAL = "total_hallu"
"""Name of the metric that every task has: answers with an error of any type."""
RESULTS_VERSION = 5
"""Raised with every change of what results.json holds under a name."""
BINS = 4
T = TypeVar("T")
R = TypeVar("R")

Judgements = Mapping[str, Mapping[ContextKind, Mapping[str, Judgement]]]
"""system -> context -> example id -> judgement."""
Views = Mapping[ContextKind, Mapping[str, SampleView]]
"""context -> example id -> what was shown."""
Part = Callable[[SampleView], str]
"""What part of the data an example belongs to."""
Tables = Mapping[str, str]
"""example id -> the table that it was made from: intervals and tests draw whole tables."""


def tabulate(
    judgements: Judgements, views: Views, metrics: Sequence[Metric], tables: Tables
) -> dict[str, Any]:
    """The part of results.json that follows from the judgements, by metrics of the task and
    :func:`context_metrics`.

    Returns:
        ``systems`` (system -> context -> metric -> rate), ``left_out`` (system -> context -> metric
        -> contexts or pairs with an answer that cannot be compared), ``paired``, ``by_domain`` and
        ``by_calculation`` (system -> context -> domain or calculation -> metric -> rate) and
        ``by_length`` (system -> context -> list of bins).
    """
    shared = [metric for metric in metrics if metric.kind == "context"]
    metrics = [metric for metric in metrics if metric.kind != "context"]
    groups = [metric for metric in metrics if metric.kind == "group"]
    few = groups + [metric for metric in metrics if metric.kind == "share"][:1]
    errors = [metric for metric in metrics if metric.kind == "error"]

    def rates(
        own: Mapping[str, Judgement], names: Iterable[str], shown: Sequence[Metric]
    ) -> dict[str, Rate]:
        listed = list(names)
        return summarise([own[n] for n in listed], shown, [tables[n] for n in listed])

    def broken_down(part: Part, shown: Sequence[Metric]) -> dict[str, Any]:
        parts: dict[ContextKind, dict[str, list[str]]] = {context: {} for context in views}
        for context, shown_there in views.items():
            for name, one in shown_there.items():
                parts[context].setdefault(part(one), []).append(name)
        return each_part(
            judgements,
            lambda _, context, own: {
                name: rates(own, ids, shown) for name, ids in sorted(parts[context].items())
            },
        )

    together = each_part(
        judgements,
        lambda _, context, own: rate_contexts(own, views[context], shared, metrics, tables),
    )
    lengths = {
        context: {
            (first, last): [name for name, one in own.items() if first <= one.length <= last]
            for first, last in length_bins([one.length for one in own.values()])
        }
        for context, own in views.items()
    }
    return {
        "systems": each_part(
            judgements,
            lambda system, context, own: (
                rates(own, own, metrics)
                | {name: rate for name, (rate, _) in together[system][context].items()}
            ),
        ),
        "left_out": each_part(
            together, lambda _, __, own: {name: left_out for name, (_, left_out) in own.items()}
        ),
        "paired": compare_all(judgements, views, metrics, tables),
        "by_domain": broken_down(lambda view: view.domain, few),
        "by_calculation": broken_down(lambda view: view.calculation, errors),
        "by_length": each_part(
            judgements,
            lambda _, context, own: [
                {"from": first, "to": last} | rates(own, ids, few)
                for (first, last), ids in lengths[context].items()
            ],
        ),
    }


def each_part(
    parts: Mapping[str, Mapping[ContextKind, T]], make: Callable[[str, ContextKind, T], R]
) -> dict[str, dict[ContextKind, R]]:
    """What is made of each system's part on each context, by system and context."""
    return {
        system: {context: make(system, context, own) for context, own in kinds.items()}
        for system, kinds in parts.items()
    }


def summarise(
    judgements: Sequence[Judgement], metrics: Sequence[Metric], tables: Sequence[str] | None = None
) -> dict[str, Rate]:
    """All metrics over one system's judgements of one context.

    Unscored answers count in ``unscored`` alone: elsewhere they are neither 0 nor 1. ``tables`` are
    those that the examples were made from, in the same order; ``None``: one each.
    """
    rates = {}
    for metric in metrics:
        counted = {
            place: value
            for place, one in enumerate(judgements)
            if (metric.kind == "unscored" or not one.unscored)
            and (value := metric.value(one)) is not None
        }
        values = list(counted.values())
        clusters = tables and [tables[place] for place in counted]
        if metric.kind == "share":
            rates[metric.name] = mean_interval(values, clusters=clusters)
        else:
            effect = design_effect(values, clusters)
            rates[metric.name] = rate_interval(round(sum(values)), len(values), effect)
    return rates


def context_metrics(views: Views) -> list[Metric]:
    """What can be said of answers to samples that share a context; nothing where none do."""
    groups = [group for own in views.values() for group in _sharing(own)]
    comparable = any(one.wanted for group in groups for one in group)
    return [ANSWERED_BOTH] * bool(groups) + [UNMOVED] * comparable


def _sharing(views: Mapping[str, SampleView]) -> list[list[SampleView]]:
    """Samples that share a context, together."""
    groups: dict[str, list[SampleView]] = {}
    for one in views.values():
        if one.context_id:
            groups.setdefault(one.context_id, []).append(one)
    return [group for group in groups.values() if len(group) > 1]


def rate_contexts(
    judgements: Mapping[str, Judgement],
    views: Mapping[str, SampleView],
    wanted: Sequence[Metric],
    metrics: Sequence[Metric],
    tables: Tables,
) -> dict[str, tuple[Rate, int]]:
    """Rates over samples that share a context, for one system and way of showing it.

    ``wanted`` are the metrics of kind ``context``; of the others those of shares say what is left
    out.

    Returns:
        By metric the rate, and how many contexts or pairs are left out: an answer is unscored, or
        of a pair its rows cannot be read. Pairs are queries that ask for other rows of the same
        text; a clean context is that of one query.
    """
    right: list[tuple[bool | None, str]] = []
    unmoved: list[tuple[bool | None, str]] = []
    for group in _sharing(views) if wanted else ():
        own = [judgements[one.id] for one in group]
        whole = all(is_flawless(one, metrics) for one in own)
        known = not any(one.unscored for one in own)
        right.append((whole if known else None, tables[group[0].id]))
        for (one, answer), (other, beside) in combinations(zip(group, own, strict=True), 2):
            if one.wanted != other.wanted and one.text == other.text:
                read = answer.said and beside.said
                unmoved.append((answer.said == beside.said if read else None, tables[one.id]))
    seen = {ANSWERED_BOTH: right, UNMOVED: unmoved}
    found = {}
    for metric in wanted:
        events = [float(value) for value, _ in seen[metric] if value is not None]
        clusters = [table for value, table in seen[metric] if value is not None]
        rate = rate_interval(round(sum(events)), len(events), design_effect(events, clusters))
        found[metric.name] = rate, len(seen[metric]) - len(events)
    return found


def compare_all(
    judgements: Judgements,
    contexts: Iterable[ContextKind],
    metrics: Sequence[Metric],
    tables: Tables,
) -> list[dict[str, Any]]:
    """Every two systems on every context (:func:`compare_pair`), corrected by Holm."""
    return correct_by_holm(
        [
            test
            for context in contexts
            for a, b in combinations(judgements, 2)
            for test in compare_pair(context, a, b, judgements, metrics, tables)
        ]
    )


def compare_pair(
    context: ContextKind,
    system_a: str,
    system_b: str,
    judgements: Judgements,
    metrics: Sequence[Metric],
    tables: Tables,
    family: int = 1,
) -> list[dict[str, Any]]:
    """Two systems on the examples that were scored in both, by all metrics but those of
    distractors and of unscored answers; the intervals of so many pairs hold together.

    Returns:
        One dict a metric: who was compared and how, and what :class:`statistics.Paired` has;
        ``system_a`` is the one compared against.
    """
    a, b = judgements[system_a][context], judgements[system_b][context]
    shared = [n for n in a if n in b and not a[n].unscored and not b[n].unscored]
    tests = []
    for metric in metrics:
        if metric.kind in ("distractor", "unscored"):
            continue
        values = {
            name: (first, second)
            for name in shared
            if (first := metric.value(a[name])) is not None
            and (second := metric.value(b[name])) is not None
        }
        clusters = [tables[name] for name in values]
        if metric.kind == "share":
            paired = compare_shares(list(values.values()), clusters, family=family)
        else:
            outcomes = [(first > 0, second > 0) for first, second in values.values()]
            paired = compare_events(outcomes, clusters, family)
        names = {"context": context, "metric": metric.name}
        names |= {"system_a": system_a, "system_b": system_b}
        tests.append({**names, **paired, "p_holm": None})  # filled in over a whole report
    return tests


def correct_by_holm(tests: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Fill in ``p_holm``: the tests of one metric, over all contexts and systems, are a family."""
    families: dict[str, list[dict[str, Any]]] = {}
    for test in tests:
        if test["p"] is not None:
            families.setdefault(test["metric"], []).append(test)
    for family in families.values():
        for test, p in zip(family, holm([test["p"] for test in family]), strict=True):
            test["p_holm"] = p
    return tests


def length_bins(lengths: Sequence[int], count: int = BINS) -> list[tuple[int, int]]:
    """Inclusive bounds that part lengths into groups of about the same size; no empty group.

    >>> length_bins([1, 2, 3, 4, 5, 6, 7, 8], 4)
    [(1, 2), (3, 4), (5, 6), (7, 8)]
    >>> length_bins([5, 5, 5], 4)
    [(5, 5)]
    """
    if not lengths:
        return []
    ordered = np.sort(lengths)
    cuts = np.unique([ordered[len(ordered) * index // count] for index in range(count)])
    groups = np.split(ordered, np.searchsorted(ordered, cuts[1:]))
    return [(int(group[0]), int(group[-1])) for group in groups]


MILLION = 1_000_000


def cost(
    stored: Iterable[Stored],
    seconds: float,
    price_in: float | None = None,
    price_out: float | None = None,
) -> dict[str, Any]:
    """Tokens, seconds, price and endings of one system's answers on one context; prices are of a
    million tokens, of prompts and of answers.
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


MOST_EXAMPLES = 20
"""Ids that are listed of each kind of disagreement."""
ROW_RECALL = Metric("row_recall", "Row recall", "row recall", "rows that are there", "share")


def tabulate_second(second: Judgements, first: Judgements, tables: Tables) -> dict[str, Any]:
    """What results.json says of the second scorer, beside ``first``, the detector.

    Returns:
        ``scorer``, its name or ``None``; ``systems`` (system -> context -> rates and
        ``agreement``) and ``paired`` (tests of TotalHallu). Empty without a scorer.
    """
    every = [one for kinds in second.values() for own in kinds.values() for one in own.values()]
    if not every:
        return {"scorer": None, "systems": {}, "paired": []}
    types = {finding.type for one in every for finding in one.findings}
    total = Metric(TOTAL, "TotalHallu", "TotalHallu", "any", "group", tuple(sorted(types)))
    shown = (total, ROW_RECALL, UNSCORED)
    return {
        "scorer": every[0].scorer,
        "systems": each_part(
            second,
            lambda system, context, own: {
                **summarise(list(own.values()), shown, [tables[name] for name in own]),
                "agreement": compare_scorers(first[system][context], own),
            },
        ),
        "paired": compare_all(second, next(iter(second.values())), (total,), tables),
    }


def compare_scorers(
    first: Mapping[str, Judgement], second: Mapping[str, Judgement]
) -> dict[str, Any]:
    """How often the detector and the second scorer say the same of the answers that both scored.

    Returns:
        ``n``; the counts ``both`` (hallucinated), ``detector_only``, ``second_only``, ``neither``;
        ``disagreement``, their number; ``kappa``, Cohen's, ``None`` where chance alone would agree
        always; and ``examples``, ids of those on which they differ.
    """
    ids: dict[str, list[str]] = {
        name: [] for name in ("both", "detector_only", "second_only", "neither")
    }
    for example_id, other in second.items():
        one = first[example_id]
        if not one.unscored and not other.unscored:
            if one.hallucinated:
                name = "both" if other.hallucinated else "detector_only"
            else:
                name = "second_only" if other.hallucinated else "neither"
            ids[name].append(example_id)
    counts = {name: len(own) for name, own in ids.items()}
    differing = ("detector_only", "second_only")
    return {
        "n": sum(counts.values()),
        **counts,
        "disagreement": sum(counts[name] for name in differing),
        "kappa": cohens_kappa(*counts.values()),
        "examples": {name: ids[name][:MOST_EXAMPLES] for name in differing},
    }


def read_results(path: Path) -> dict[str, Any]:
    """Read a results.json.

    Raises:
        TablemendError: there is none, it is no JSON, or of another version.
    """
    if not path.is_file():
        raise TablemendError(
            f"no {path}: run the comparison first (python eval/compare.py recipe=... run=...)"
        )
    try:
        results = json.loads(path.read_text(encoding="utf-8"))
        version = results.get("version") if isinstance(results, dict) else None
        why = "" if version == RESULTS_VERSION else f"version {version}, not {RESULTS_VERSION}"
    except (ValueError, RecursionError) as error:
        why = str(error)
    if why:
        raise TablemendError(
            f"{path} is no result of a comparison as this version writes it ({why}): run the "
            "comparison again (python eval/compare.py recipe=... run=...); answers that are stored "
            "are not generated again"
        )
    return dict(results)


@dataclass(frozen=True, slots=True)
class FinishedRun:
    """What a comparison left in its folder.

    Attributes:
        results: results.json.
        judgements: of the detector.
        views: what was shown.
        tables: that the examples were made from; its own where the run does not say.
    """

    results: dict[str, Any]
    judgements: Judgements
    views: Views
    tables: Tables

    @classmethod
    def read(cls, run: Path) -> Self:
        """Read a run folder.

        Raises:
            TablemendError: no results, of another version, or files of two comparisons.
        """
        results = read_results(run / "results.json")
        judgements: dict[str, dict[str, dict[str, Judgement]]] = {}
        views: dict[str, dict[str, SampleView]] = {}
        for line in read_jsonl(run / "judgements.jsonl"):
            system, context, name = map(line.pop, ("system", "context", "example_id"))
            own = judgements.setdefault(system, {}).setdefault(context, {})
            own[name] = Judgement.from_json(line)
        for line in read_jsonl(run / "views.jsonl"):
            view = SampleView.from_json(line)
            views.setdefault(view.view, {})[view.id] = view
        shown = next(iter(views.values()), {})
        examples = list(read_jsonl(run / "examples.jsonl"))
        if len(examples) != len(shown):
            raise TablemendError(
                f"{run}: views.jsonl has {len(shown)} samples, examples.jsonl {len(examples)}: "
                "repeat the comparison"
            )
        sources = (one.get("source_hash") for one in examples)
        tables = dict(zip(shown, sources, strict=True))
        return cls(results, judgements, views, {n: str(own or n) for n, own in tables.items()})
