"""A table of a paper made again: our numbers, those published, and what is missing and why."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import Any

from tablemend.backends.names import ModelName
from tablemend.errors import TablemendError
from tablemend.recipe.experiment import STAGES, Comparison
from tablemend.reports.content import metrics_of
from tablemend.reports.tabulation import compare_pair, correct_by_holm, read_results
from tablemend.reproduction.cells import Answers
from tablemend.reproduction.items import Item, choose, models
from tablemend.reproduction.published import Published
from tablemend.statistics import Rate

ABOVE = 7
"""Billions of parameters above which a model needs more than is at hand everywhere."""


@dataclass
class Made:
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
    published: Published
    item: Item
    ours: dict[str, dict[str, Rate]] = field(default_factory=dict)
    missing: dict[str, str] = field(default_factory=dict)
    tests: list[dict[str, Any]] = field(default_factory=list)
    measured: dict[str, Any] = field(default_factory=dict)

    def put(self, row: str, column: str, value: Rate | None) -> None:
        """A number of ours, if there is one."""
        if value is not None:
            self.ours.setdefault(row, {})[column] = value

    def say_missing(self) -> None:
        """Why rows have no number of ours."""
        known = models()
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


def fill(made: Made, run: Path, config: Comparison | None) -> None:
    """Put in the numbers of a run folder.

    Args:
        made: the table, without ours.
        run: the folder.
        config: the recipe of its comparison; ``None`` where it is of something else.

    Raises:
        TablemendError: files that cannot be read.
    """
    model = _model_label(made, config.model.path) if config else ""
    if not made.item.file:
        _fill_from_answers(made, Answers.of(run), model)
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


def _model_label(made: Made, path: str) -> str:
    """What our model is called: as the paper calls it, if it has it."""
    name = ModelName.parse(path, "hf").model
    own = Path(name).name
    rows = {label.partition(",")[0] for label in made.published.rows or {}}
    known = models().items()
    fits = (n for n, said in known if name == said[0] or own.casefold() == n.casefold())
    return next((one for one in fits if one in rows), own)


def _answering_model(
    made: Made, settings: Mapping[str, Mapping[str, Any]], system: str | None, base: str
) -> str:
    """What the model is called that a system's answers came from: the run's own checkpoints as the
    recipe's, ``base``, that they began with.
    """
    model = str(settings.get(system or "", {}).get("named", "")).partition(":")[2]
    is_own = not model or model in STAGES.values()
    return base if is_own else _model_label(made, f"hf:{model}")


def _fill_from_answers(made: Made, answers: Answers, model: str) -> None:
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
    made: Made, data: Mapping[str, Any], settings: Mapping[str, Any], base: str
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
