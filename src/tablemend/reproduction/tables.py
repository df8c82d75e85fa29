"""A table of a paper made again: our numbers, those published, and what is missing and why."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from tablemend.backends.names import ModelName
from tablemend.errors import TablemendError
from tablemend.recipe.experiment import STAGES, Comparison
from tablemend.records import Judgement
from tablemend.reports.content import metrics_of
from tablemend.reports.tabulation import (
    FinishedRun,
    compare_pair,
    correct_by_holm,
    length_bins,
    read_results,
    summarise,
)
from tablemend.reproduction.papers import Item, Pick, PublishedTable, choose, items_file
from tablemend.statistics import Rate, interval, resample_means
from tablemend.tables.table import Table

NOTHING = Rate(rate=None, low=None, high=None, n=0)


class Answers(FinishedRun):
    """The answers of a run folder, judged, and the numbers of a paper's cells of them."""

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
        of_domain: dict[str, str] = {}
        if kind == "category":
            path = files("tablemend.datasets.source_tables").joinpath("domains.yaml")
            groups = yaml.safe_load(path.read_text("utf-8"))
            of_domain = {domain: category for category, own in groups.items() for domain in own}
        for name, view in shown.items():
            part = view.calculation if kind == "calculation" else view.domain
            part = of_domain.get(part, part)
            found.setdefault(part, []).append(name)
        return dict(sorted(found.items()))

    def cell(self, pick: Pick, names: Sequence[str] | None = None) -> Rate | None:
        """The number of a cell, over some samples or all, with its interval, clustered by table;
        ``None`` where the run has no such system, context or metric.
        """
        context, system = pick["context"], choose(pick, self.results["settings"])
        metric = next((m for m in metrics_of(self.results) if m.name == pick.get("metric")), None)
        own = self.judgements.get(system or "", {}).get(context)
        if own is None or system is None:
            return None
        shown, kept = self.views[context], dict[str, Judgement]()
        for name in names or own:
            domain = shown[name].domain if name in own else ""
            source = "general" if domain == "general" else "enterprise"
            of_part = pick.get("source", source) == source
            if name in own and of_part and domain.startswith(pick.get("scenario", "")):
                kept[name] = own[name]
        if "size" in pick:
            kind, golds = pick["size"], [shown[n].gold for n in kept]
            sizes = [len(shown[n].text) for n in kept if kind == "length"]
            for gold in golds if kind != "length" else ():
                if isinstance(gold, Table):
                    columns, rows = len(gold.columns), len(gold.rows)
                    sizes.append({"columns": columns, "rows": rows, "cells": columns * rows}[kind])
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


ABOVE = 7
"""Billions of parameters above which a model needs more than is at hand everywhere."""


@dataclass
class ReproducedTable:
    """A table, made again.

    Attributes:
        paper: which.
        published: as published.
        item: how ours is made.
        ours: our numbers, by row and column.
        missing: by row, or for the whole table under ``""``: why there is no number of ours.
        tests: paired tests between the first row's system and the others'; of a metric all
            intervals hold together (Bonferroni), and p is corrected by Holm.
        measured: on what ours are.
    """

    paper: str
    published: PublishedTable
    item: Item
    ours: dict[str, dict[str, Rate]] = field(default_factory=dict)
    missing: dict[str, str] = field(default_factory=dict)
    tests: list[dict[str, Any]] = field(default_factory=list)
    measured: dict[str, Any] = field(default_factory=dict)

    @property
    def notes(self) -> list[str]:
        """What a reader must know."""
        own = self.published
        unread = own.unread and f"No published number: {own.unread}."
        return [*filter(None, (unread, own.note, self.item.note))]

    def put(self, row: str, column: str, value: Rate | None) -> None:
        """A number of ours, if there is one."""
        if value is not None:
            self.ours.setdefault(row, {})[column] = value

    def say_missing(self) -> None:
        """Why rows have no number of ours."""
        known = items_file()["models"]
        for label, row in self.ours.items():
            if all(rate["rate"] is None for rate in row.values()):
                self.missing[label] = "nothing could be scored"
        for label in self.published.rows or {} if "" not in self.missing else ():
            model = known.get(label) or known.get(label.partition(",")[0])
            if label in self.ours:
                continue
            if model == "hosted":
                why = "needs a hosted model: model.path=openai:MODEL@URL run=NAME"
            elif model:
                size = f"above {ABOVE}B" if model[1] > ABOVE else f"of {model[1]}B"
                why = f"needs a model {size}: model.path={model[0]} run=NAME"
            else:
                why = "needs all models" if label in ("Avg.", "Average") else "not in our data"
            self.missing.setdefault(label, why)


def fill(made: ReproducedTable, run: Path, config: Comparison | None) -> None:
    """Put in the numbers of a run folder; without a recipe it is of no comparison.

    Raises:
        TablemendError: files that cannot be read.
    """
    model = _model_label(made, config.model.path) if config else ""
    if not made.item.file:
        _fill_from_answers(made, Answers.read(run), model)
        return
    needs_data = made.item.file == "counts.json"
    folder = Path(config.data.test.source) if config and needs_data else run
    path = folder / made.item.file
    settings: Mapping[str, Any] = {}
    if made.item.needs == "robustness":
        settings = read_results(run / "results.json")["settings"]
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise TablemendError(f"{path} cannot be read: {error}") from error
    answered = _fill_from_file(made, data, settings, model)
    made.measured = {"from": str(path), **({"model": ", ".join(answered)} if answered else {})}
    if not made.ours:
        made.missing[""] = f"{path} has no such number: nothing was scored, or nothing to compare"


def _model_label(made: ReproducedTable, path: str) -> str:
    """What our model is called: as the paper calls it, if it has it."""
    name = ModelName.parse(path, "hf").model
    own = Path(name).name
    rows = {label.partition(",")[0] for label in made.published.rows or {}}
    known = items_file()["models"].items()
    fits = (n for n, said in known if name == said[0] or own.casefold() == n.casefold())
    return next((one for one in fits if one in rows), own)


def _answering_model(
    made: ReproducedTable, settings: Mapping[str, Mapping[str, Any]], system: str | None, base: str
) -> str:
    """What the model is called that a system's answers came from: the run's own checkpoints as the
    recipe's, ``base``, that they began with.
    """
    model = str(settings.get(system or "", {}).get("named", "")).partition(":")[2]
    is_own = not model or model in STAGES.values()
    return base if is_own else _model_label(made, f"hf:{model}")


def _fill_from_answers(made: ReproducedTable, answers: Answers, model: str) -> None:
    item, results = made.item, answers.results
    impossible = results.get("not_possible", {})
    kept = ("run", "recipe", "n", "scorer")
    settings = results["settings"]
    made.measured = {key: results[key] for key in kept} | {
        "model": model,
        "data": f"{results['data']['source']}, hash {results['data']['hash']}",
    }
    chosen: dict[str, None] = {}
    contexts = item.contexts or (item.cell.get("context", ""),)
    answered: dict[str, None] = {}  # by which models
    for row, column, pick in item.cells():
        name = choose(pick, settings)
        own = _answering_model(made, settings, name, model)
        column = column.replace("{model}", own)
        for context in contexts if item.parts else ():
            for part, names in answers.parts(item.parts, context).items():
                label = f"{context}, {part}" if len(contexts) > 1 else part
                answered[own] = None
                made.put(label, column, answers.cell({**pick, "context": context}, names))
        if item.parts:
            continue
        label = row.replace("{model}", own)
        if name is None or pick["context"] not in results["contexts"]:
            asked = f"system {' or '.join(pick['system'])} that is asked so, on {pick['context']}"
            why = [
                f"{n}: not possible here: {impossible[n]}"
                for n in pick["system"]
                if n in impossible
            ]
            made.missing[label] = (why or [f"recipe {results['recipe']} has no {asked}"])[0]
        else:
            chosen[name] = answered[own] = None
            rewriter = settings[name].get("rewriter", "").partition(":")[2]
            if rewriter and (by := _model_label(made, f"hf:{rewriter}")) != own:
                answered[f"{own} rewritten by {by}"] = None
            made.put(label, column, answers.cell(pick))
    if answered:
        made.measured["model"] = ", ".join(answered)
    named = {pick.get("metric") for _, _, pick in item.cells()}
    metrics = [metric for metric in metrics_of(results) if metric.name in named]
    first, *others = chosen or [""]
    made.tests = correct_by_holm(
        [
            test
            for other in others
            for test in compare_pair(
                contexts[0], first, other, answers.judgements, metrics, answers.tables, len(others)
            )
        ]
    )


def _fill_from_file(
    made: ReproducedTable, data: Mapping[str, Any], settings: Mapping[str, Any], base: str
) -> list[str]:
    """Numbers at the paths that the item says; the models of the systems that are its keys."""
    answered: dict[str, None] = {}
    item, domain = made.item, "hotel" if "hotel" in made.published.title else "logic"
    lists = [found for path in item.each if (found := _at(data, path))]
    keys = list(dict.fromkeys(key for found in lists for key in found)) if item.each else [""]
    for (i, key), (row, value) in product(enumerate(keys), item.rows.items()):
        model = _answering_model(made, settings, key, base)
        answered |= {model: None} if key in settings else {}
        words = {"model": model, "key": key, "i": i, "domain": domain, "value": value}
        label = row.format(**words).removesuffix(", base")
        columns = item.columns
        if isinstance(value, list):
            columns = dict.fromkeys(made.published.head[1:], value[0])
        for column, path in columns.items():
            a, _, b = column.partition(" ")
            made.put(label, column, _rate(data, path.format(**words, a=a, b=b)))
        for j, name in enumerate(_at(data, item.by[0]) or () if item.by else ()):
            column = item.names.get(name, name)
            made.put(label, column, _rate(data, item.by[1].format(**words, j=j)))
    return list(answered)


def _rate(data: Mapping[str, Any], path: str) -> Rate | None:
    """A rate or number at a path, a quotient of two (`a / b`), or how many begin so (`a *`)."""
    over, _, under = path.partition(" / ")
    found: Any = _at(data, over)
    if path.endswith("*"):
        before, _, start = path[:-1].rpartition(".")
        found = sum(name.startswith(start) for name in _at(data, before) or ())
    if under:
        below = _at(data, under)
        found = found / below if found is not None and below else None
    if isinstance(found, dict):
        rate, low, high = (found.get(key) for key in ("rate", "low", "high"))
        return Rate(rate=rate, low=low, high=high, n=found.get("n", 0))
    return None if found is None else Rate(rate=float(found), low=None, high=None, n=0)


def _at(data: Any, path: str) -> Any:
    """What is at a path of keys and places; ``None`` where nothing is."""
    for key in path.split("."):
        try:
            data = data[int(key)] if isinstance(data, list) else data[key]
        except (LookupError, TypeError, ValueError):
            return None
    return data
