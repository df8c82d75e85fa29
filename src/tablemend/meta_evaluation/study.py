"""The figures of the injection study: by number of errors, by type, by source of the tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tablemend.meta_evaluation.counting import Counts, count_text
from tablemend.meta_evaluation.injection import (
    MOST_ERRORS,
    Named,
    Summary,
    read_tables,
    summarise,
    synthetic_tables,
)
from tablemend.meta_evaluation.items import Split
from tablemend.meta_evaluation.measures import COVERAGE, TEXT, Formula, Rates, rates, ratio
from tablemend.meta_evaluation.metrics import METRICS
from tablemend.meta_evaluation.opinions import by_score
from tablemend.meta_evaluation.scoring import balanced_threshold
from tablemend.records import CLAIM_ERRORS
from tablemend.statistics import correlations

CLAIM: dict[str, Formula] = {
    "precision": ratio("rejected_right", "rejected"),
    "recall": ratio("detected", "injected", less="open"),
    "recall_all": ratio("detected", "injected"),
    "open": ratio("open", "injected"),
    "false_alarms": ratio("rejected", "claims"),
    "precision_words": ratio("hits", "predicted"),
    "recall_words": ratio("exact", "injected"),
}
"""Of claims found wrong; ``words``: of the words at fault."""
STAF = "STAF"


def study(data: Path, split: Split | None, n: int | None) -> dict[str, Any]:
    """The figures of the study.

    Args:
        data: folder of the sets.
        split: whose tables are summarised; the metrics' thresholds are chosen on the dev split.
        n: at most so many tables of each source.
    """
    tables = [*read_tables(data, split, n), *synthetic_tables(n, split)]
    summaries = others = summarise(tables)
    if split != "dev":
        seen = [*read_tables(data, "dev", n), *synthetic_tables(n)]
        others = summarise(seen, verify=False)
    thresholds = {
        metric: balanced_threshold([(one.scores[metric], bool(one.errors)) for one in others])
        for metric in METRICS
    }
    return figures_of(tables, summaries, thresholds)


def figures_of(
    tables: Sequence[Named], summaries: Sequence[Summary], thresholds: Mapping[str, float | None]
) -> dict[str, Any]:
    """All figures of the study."""
    by_source: dict[str, list[Summary]] = {}
    for one in sorted(summaries, key=lambda one: one.named.source):
        by_source.setdefault(one.named.source, []).append(one)
    return {
        "thresholds": thresholds,
        "by_errors": {
            str(count): at_count(summaries, count, thresholds) for count in range(MOST_ERRORS + 1)
        },
        "by_source": {
            source: at_count(own, 1, thresholds)
            | {
                "read": sum(named.source == source for named in tables),
                "summarised": sum(not one.errors for one in own),
            }
            for source, own in by_source.items()
        },
        "by_type": by_type(summaries),
        "correlation": {
            name: correlations(
                [one.staf if name == STAF else one.scores[name] for one in summaries],
                [one.truth for one in summaries],
                [one.named.key for one in summaries],
            )
            for name in (STAF, *METRICS)
        },
    }


def at_count(
    summaries: Sequence[Summary], errors: int, thresholds: Mapping[str, float | None]
) -> dict[str, Any]:
    """The figures of summaries with so many errors; of texts beside their faithful versions."""
    chosen = [one for one in summaries if one.errors == errors]
    keys = [one.named.key for one in chosen]
    counts = [one.counts for one in chosen]
    figures: dict[str, Any] = {"texts": len(chosen), **rates(counts, keys, COVERAGE | CLAIM)}
    if errors:
        tables = {one.named.table for one in chosen}
        pairs = [o for o in summaries if o.errors in (0, errors) and o.named.table in tables]
        figures["text"] = {STAF: _text_rates(pairs, [one.rejected for one in pairs])}
        for metric, threshold in thresholds.items():
            if threshold is not None:
                opinions = [by_score(one.scores[metric], threshold) for one in pairs]
                figures["text"][metric] = _text_rates(pairs, opinions)
    return figures


def _text_rates(summaries: Sequence[Summary], rejected: Sequence[bool | None]) -> Rates:
    pairs = zip(summaries, rejected, strict=True)
    counts = [count_text(bool(one.errors), opinion) for one, opinion in pairs]
    return rates(counts, [one.named.key for one in summaries], TEXT)


def by_type(summaries: Sequence[Summary]) -> dict[str, Any]:
    """Errors by injected type, over all numbers of errors: found, and with which type."""
    keys = [one.named.key for one in summaries]
    counts = [one.counts for one in summaries]
    total = sum(counts, start=Counts())
    measures = {"recall_all": "detected", "recall_words": "exact", "open": "open"}
    return {
        kind: {
            "injected": total[f"injected {kind}"],
            "typed": {other: total[f"typed {kind} {other}"] for other in CLAIM_ERRORS},
            **rates(
                counts,
                keys,
                {
                    name: ratio(f"{count} {kind}", f"injected {kind}")
                    for name, count in measures.items()
                },
            ),
        }
        for kind in CLAIM_ERRORS
    }
