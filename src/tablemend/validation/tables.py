"""The figures of a validation as Markdown tables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from tablemend.reports.markdown import align
from tablemend.reports.rates import Rate

HEAD = (
    "set",
    "scorer",
    "texts",
    "coverage",
    "level",
    "precision",
    "recall",
    "F1",
    "recall, all",
    "balanced acc.",
    "acc. on judged",
    "unjudged",
    "Pearson r",
    "Spearman",
)
NOTHING = "-"


def summary(results: Mapping[str, Any], intervals: bool = False) -> str:
    """One row a set, scorer and level; of a single set also its parts."""
    rows = [list(HEAD)]
    single = len(results["sets"]) == 1
    for name, figures in results["sets"].items():
        for scorer, own in figures["scorers"].items():
            rows += _rows(name, scorer, own, intervals)
            for group, part in own["groups"].items() if single else ():
                rows += _rows(f"{name}: {group}", scorer, part, intervals)
    return align(rows)


def _rows(name: str, scorer: str, own: Mapping[str, Any], intervals: bool) -> Iterator[list[str]]:
    def show(rates: Mapping[str, Rate], measure: str) -> str:
        return percent(rates.get(measure), intervals)

    for level in ("span", "sentence", "text"):
        if level in own:
            rates = own[level]
            yield [
                name,
                scorer,
                str(own["texts"]),
                percent(own.get("coverage"), intervals),
                level,
                *(show(rates, m) for m in ("precision", "recall", "f1", "recall_all")),
                *(show(rates, m) for m in ("balanced_accuracy", "accuracy")),
                show(rates, "open" if level == "span" else "unjudged"),
                *(number(own["correlation"][m], intervals) for m in ("pearson", "spearman")),
            ]
    if not {"span", "text"} & set(own):
        yield [
            name,
            scorer,
            str(own["texts"]),
            percent(own.get("coverage"), intervals),
            *[NOTHING] * 8,
            *(number(own["correlation"][m], intervals) for m in ("pearson", "spearman")),
        ]


def percent(rate: Rate | None, interval: bool = False) -> str:
    """``71.3``, or ``71.3 (68.0 to 74.5)``."""
    return _shown(rate, interval, 100, 1)


def number(rate: Rate | None, interval: bool = False) -> str:
    """``0.71``, or ``0.71 (0.68 to 0.74)``."""
    return _shown(rate, interval, 1, 2)


def _shown(rate: Rate | None, interval: bool, scale: float, digits: int) -> str:
    if rate is None or rate["rate"] is None:
        return NOTHING
    text = f"{scale * rate['rate']:.{digits}f}"
    if not interval or rate["low"] is None or rate["high"] is None:
        return text
    return f"{text} ({scale * rate['low']:.{digits}f} to {scale * rate['high']:.{digits}f})"
