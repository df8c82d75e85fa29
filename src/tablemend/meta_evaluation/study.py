"""The figures of the injection study: by number of errors, by type, by table size."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tablemend.meta_evaluation.baselines import balanced_threshold
from tablemend.meta_evaluation.counting import Counts, count_text
from tablemend.meta_evaluation.injection import (
    METRICS,
    MOST_ERRORS,
    Named,
    Tried,
    read_tables,
    synthetic_tables,
    try_tables,
)
from tablemend.meta_evaluation.measures import (
    COVERAGE,
    TEXT,
    Formula,
    Rates,
    harmonic,
    rates,
    ratio,
    share,
)
from tablemend.meta_evaluation.opinions import Called, by_score
from tablemend.meta_evaluation.splits import Split
from tablemend.records import CLAIM_ERRORS
from tablemend.statistics import correlations

CLAIM: dict[str, Formula] = {
    "precision": ratio("called_right", "called"),
    "recall": lambda sums: share(sums("detected"), sums("injected") - sums("open")),
    "recall_all": ratio("detected", "injected"),
    "f1_all": harmonic(ratio("called_right", "called"), ratio("detected", "injected")),
    "open": ratio("open", "injected"),
    "false_alarms": ratio("called", "claims"),
    "precision_words": ratio("hits", "predicted"),
    "recall_words": ratio("exact", "injected"),
}
"""Of claims called wrong; ``words``: of the words at fault."""

STAF = "STAF"


def study(
    data: Path, split: Split | None, n: int | None, workers: int
) -> tuple[dict[str, Any], list[Tried]]:
    """Run the study.

    Args:
        data: folder of the sets.
        split: whose tables are summarised; the metrics' thresholds are chosen on the dev split.
        n: at most so many tables of each source.
        workers: processes.

    Returns:
        The figures, and every summary.
    """
    tables = [*read_tables(data, split, n), *synthetic_tables(n, split)]
    tried = try_tables(tables, workers)
    others = tried
    if split != "dev":
        seen = [*read_tables(data, "dev", n), *synthetic_tables(n)]
        others = try_tables(seen, workers, verify=False)
    thresholds = {metric: threshold_of(others, metric) for metric in METRICS}
    return figures_of(tables, tried, thresholds), tried


def figures_of(
    tables: Sequence[Named], tried: Sequence[Tried], thresholds: Mapping[str, float | None]
) -> dict[str, Any]:
    """All figures of the study."""
    sources = sorted({one.source for one in tried})
    return {
        "tables": {
            source: {
                "read": sum(named.source == source for named in tables),
                "told": sum(one.source == source and not one.errors for one in tried),
            }
            for source in sources
        },
        "thresholds": thresholds,
        "by_errors": {
            str(count): at_count(tried, count, thresholds) for count in range(MOST_ERRORS + 1)
        },
        "by_source": {
            source: at_count([one for one in tried if one.source == source], 1, thresholds)
            for source in sources
        },
        "by_type": by_type(tried),
        "correlation": {
            name: correlations(
                [one.staf if name == STAF else one.scores[name] for one in tried],
                [one.truth for one in tried],
                [one.key for one in tried],
            )
            for name in (STAF, *METRICS)
        },
    }


def threshold_of(tried: Sequence[Tried], metric: str) -> float | None:
    """The score below which a metric best tells summaries with errors from those without."""
    pairs = [(one.scores[metric], bool(one.errors)) for one in tried]
    return balanced_threshold(pairs)


def at_count(
    tried: Sequence[Tried], errors: int, thresholds: Mapping[str, float | None]
) -> dict[str, Any]:
    """The figures of summaries with so many errors; of texts beside their faithful versions."""
    chosen = [one for one in tried if one.errors == errors]
    keys = [one.key for one in chosen]
    figures: dict[str, Any] = {
        "texts": len(chosen),
        **rates([one.counts for one in chosen], keys, COVERAGE | CLAIM),
    }
    if errors:
        tables = {one.table for one in chosen}
        pairs = [one for one in tried if one.errors in (0, errors) and one.table in tables]
        figures["text"] = {STAF: _text_rates(pairs, [one.verdict for one in pairs])}
        for metric, threshold in thresholds.items():
            if threshold is not None:
                opinions = [by_score(one.scores[metric], threshold).verdict for one in pairs]
                figures["text"][metric] = _text_rates(pairs, opinions)
    return figures


def _text_rates(tried: Sequence[Tried], opinions: Sequence[bool | None]) -> Rates:
    counts = [
        count_text(bool(one.errors), Called(opinion))
        for one, opinion in zip(tried, opinions, strict=True)
    ]
    return rates(counts, [one.key for one in tried], TEXT)


def by_type(tried: Sequence[Tried]) -> dict[str, Any]:
    """Errors by injected type, over all numbers of errors: found, and with which type."""
    keys = [one.key for one in tried]
    counts = [one.counts for one in tried]
    total = sum(counts, start=Counts())
    return {
        kind: {
            "injected": total[f"injected {kind}"],
            "typed": {other: total[f"typed {kind} {other}"] for other in CLAIM_ERRORS},
            **rates(
                counts,
                keys,
                {
                    "recall_all": ratio(f"detected {kind}", f"injected {kind}"),
                    "recall_words": ratio(f"exact {kind}", f"injected {kind}"),
                    "open": ratio(f"open {kind}", f"injected {kind}"),
                },
            ),
        }
        for kind in CLAIM_ERRORS
    }
