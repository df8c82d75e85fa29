"""Numbers of a finished comparison, over all of its samples or a part of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from tablemend.records import Judgement, SampleView
from tablemend.reports.content import metrics_of
from tablemend.reports.tabulation import compare_pair, length_bins, read_results, summarise
from tablemend.reproduction.items import Pick, choose
from tablemend.runs import read_jsonl
from tablemend.statistics import Rate, interval, resample_means
from tablemend.tables.table import Table

NOTHING = Rate(rate=None, low=None, high=None, n=0)


@dataclass(frozen=True)
class Answers:
    """The answers of a run folder, judged.

    Attributes:
        results: results.json.
        judgements: by system, context and sample.
        views: what was shown, by context and sample.
        tables: the table that each sample was made from.
    """

    results: Mapping[str, Any]
    judgements: Mapping[str, Mapping[str, Mapping[str, Judgement]]]
    views: Mapping[str, Mapping[str, SampleView]]
    tables: Mapping[str, str]

    @classmethod
    def of(cls, run: Path) -> Answers:
        """What a comparison left in its folder.

        Raises:
            TablemendError: results of another version.
        """
        results = read_results(run / "results.json")
        judgements: dict[str, dict[str, dict[str, Judgement]]] = {}
        views: dict[str, dict[str, SampleView]] = {}
        for line in read_jsonl(run / "judgements.jsonl"):
            system, context, name = (line.pop(key) for key in ("system", "context", "example_id"))
            own = judgements.setdefault(system, {}).setdefault(context, {})
            own[name] = Judgement.from_json(line)
        for line in read_jsonl(run / "views.jsonl"):
            view = SampleView.from_json(line)
            views.setdefault(view.view, {})[view.id] = view
        sources = [line.get("source_hash") for line in read_jsonl(run / "examples.jsonl")]
        tables = dict(zip(next(iter(views.values())), sources, strict=True))
        return cls(results, judgements, views, {n: str(own or n) for n, own in tables.items()})

    def parts(self, kind: str, context: str) -> dict[str, list[str]]:
        """Samples by part of the data: ``domain``, ``category``, ``calculation``, ``length``."""
        shown, unit = self.views[context], self.results["length_unit"]
        if kind == "length":
            return {
                f"{low:,} to {high:,} {unit}": [
                    n for n, v in shown.items() if low <= v.length <= high
                ]
                for low, high in length_bins([view.length for view in shown.values()])
            }
        found: dict[str, list[str]] = {}
        for name, view in shown.items():
            part = view.calculation if kind == "calculation" else view.domain
            part = _categories().get(part, part) if kind == "category" else part
            found.setdefault(part, []).append(name)
        return dict(sorted(found.items()))

    def cell(self, pick: Pick, names: Sequence[str] | None = None) -> Rate | None:
        """The number of a cell with its interval, clustered by table.

        Args:
            pick: which number.
            names: samples that count; ``None``: all.

        Returns:
            ``None`` where the run has no such system, context or metric.
        """
        context, system = pick["context"], choose(pick, self.results["settings"])
        metric = next((m for m in metrics_of(self.results) if m.name == pick.get("metric")), None)
        own = self.judgements.get(system or "", {}).get(context)
        if own is None or system is None:
            return None
        shown = self.views[context]
        kept = {n: own[n] for n in names or own if n in own and _fits(shown[n], pick)}
        if "size" in pick:
            sizes = [s for n in kept if (s := _size(shown[n], pick["size"])) is not None]
            value = float(np.quantile(sizes, pick["quantile"])) if sizes else None
            return Rate(rate=value, low=None, high=None, n=len(sizes))
        if pick.get("metric") == "n":
            return Rate(rate=len(kept), low=None, high=None, n=len(kept))
        tables = [self.tables[name] for name in kept]
        if "share" in pick:
            return share_of_errors(list(kept.values()), tables, pick["share"])
        if metric is None:
            return None
        if "minus" not in pick:
            return summarise(list(kept.values()), [metric], tables)[metric.name]
        before = self.judgements.get(pick["minus"], {}).get(context)
        if before is None:
            return None
        pair: dict[str, dict[str, Mapping[str, Judgement]]]
        pair = {pick["minus"]: {context: before}, system: {context: kept}}
        test = compare_pair(context, pick["minus"], system, pair, [metric], self.tables)[0]
        return Rate(rate=test["difference"], low=test["low"], high=test["high"], n=test["n"])


def _fits(view: SampleView, pick: Pick) -> bool:
    """Whether a sample is of the part of the data that is asked for."""
    source = "general" if view.domain == "general" else "enterprise"
    return pick.get("source", source) == source and view.domain.startswith(pick.get("scenario", ""))


def _size(view: SampleView, kind: str) -> int | None:
    """Characters of the text, or columns, rows or cells of the gold table."""
    if kind == "length":
        return len(view.text)
    if not isinstance(view.gold, Table):
        return None
    columns, rows = len(view.gold.columns), len(view.gold.rows)
    return {"columns": columns, "rows": rows, "cells": columns * rows}[kind]


def share_of_errors(judgements: Sequence[Judgement], tables: Sequence[str], type: str) -> Rate:
    """Share of all errors found that are of a type, with a bootstrap interval over tables.

    ``n`` counts errors.
    """
    sums: dict[str, list[float]] = {}
    for one, table in zip(judgements, tables, strict=True):
        own = sums.setdefault(table, [0.0, 0.0])
        own[0] += sum(finding.type == type for finding in one.findings)
        own[1] += len(one.findings)
    rows = np.array(list(sums.values()) or [[0.0, 0.0]])
    of_type, errors = rows.sum(axis=0)
    if not errors:
        return NOTHING
    means = resample_means(rows, seed=0)
    with np.errstate(invalid="ignore"):  # a resample without an error has no share
        return interval(of_type / errors, means[:, 0] / means[:, 1], int(errors))


@cache
def _categories() -> dict[str, str]:
    text = files("tablemend.datasets.source_tables").joinpath("domains.yaml").read_text("utf-8")
    return {d: category for category, own in yaml.safe_load(text).items() for d in own}
