"""Models of several runs in one table: rates, their average, and paired differences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

from tablemend.errors import TablemendError
from tablemend.records import Judgement, Metric
from tablemend.reports.content import Cell, Rows
from tablemend.reports.rendering import render, resource
from tablemend.reports.tabulation import compare_pair, correct_by_holm
from tablemend.reports.wording import (
    DASH,
    TOTAL,
    interval,
    metrics_of,
    p_value,
    percent,
    points,
)
from tablemend.reproduction.cells import Answers
from tablemend.reproduction.writing import latex, plain
from tablemend.runs import write_json, write_text
from tablemend.statistics import Rate, mean_interval

RULE = (
    "Rates have 95 % intervals, each for itself, clustered by table. Differences are paired, on "
    "the same samples; all pairs of rows are the family of a metric: p is corrected by Holm, and "
    "the intervals are Bonferroni's, so that all of a metric hold together with 95 %."
)
OWN_WEIGHTS = ("model", "merged")
"""Folders of a run with the checkpoint that it trained."""


@dataclass(frozen=True)
class Entry:
    """A row: a system of a run on one context."""

    run: Path
    system: str
    answers: Answers
    judgements: Mapping[str, Judgement]

    @property
    def model(self) -> str:
        """Its model and, unless it is the plain one, the system."""
        every = self.answers.results["settings"]
        settings = every[self.system]
        settings = every.get(settings.get("after"), settings)
        path = Path(str(settings.get("model") or settings["named"]).partition("@")[0])
        name = self.run.name if path.name in OWN_WEIGHTS else path.name
        return name if self.system == "base" else f"{name}, {self.system}"

    @property
    def hash(self) -> str:
        """Of the samples."""
        return str(self.answers.results["data"]["hash"])


def read_entries(
    runs: Sequence[Path], systems: Sequence[str], context: str | None, mixed: bool
) -> tuple[dict[str, Entry], str]:
    """The rows by label, and the context.

    Args:
        runs: their folders.
        systems: that get a row; empty: all.
        context: that was shown; ``None``: the last one of the first run.
        mixed: whether data and scorers may differ.

    Raises:
        TablemendError: a run that cannot be read, has none of the systems or no such context, or
            does not go with the first one.
    """
    found: list[Entry] = []
    first: Mapping[str, Any] = {}
    for run in runs:
        if not (run / "results.json").is_file():
            raise TablemendError(f"no {run / 'results.json'}: run the comparison first")
        answers = Answers.of(run)
        first = first or answers.results
        context = context or list(first["contexts"])[-1]
        _refuse(run, answers.results, first, context, mixed)
        own = [name for name in answers.results["systems"] if name in (systems or (name,))]
        if not own:
            known = ", ".join(answers.results["systems"])
            raise TablemendError(f"{run} has none of systems={list(systems)}; it has {known}")
        found += [Entry(run, one, answers, answers.judgements[one][context]) for one in own]
    names = [entry.model for entry in found]
    labels = [
        name if names.count(name) == 1 else f"{name} ({entry.run.name})"
        for name, entry in zip(names, found, strict=True)
    ]
    if len(set(labels)) < len(labels):
        raise TablemendError("runs names a run twice: name each once")
    return dict(zip(labels, found, strict=True)), context or ""


def _refuse(
    run: Path, own: Mapping[str, Any], first: Mapping[str, Any], context: str, mixed: bool
) -> None:
    if own["task"] != first["task"]:
        raise TablemendError(f"{run} is of task {own['task']}, the first run of {first['task']}")
    if context not in own["contexts"]:
        shown = ", ".join(own["contexts"])
        raise TablemendError(f"{run} has no context {context}; it has {shown}")
    differing = {
        "data hash": (first["data"]["hash"], own["data"]["hash"]),
        "scorer": (first["scorer"], own["scorer"]),
        "rule for cut answers": (first["cut"], own["cut"]),
    }
    said = [f"{what} {a} and {b}" for what, (a, b) in differing.items() if a != b]
    if said and not mixed:
        raise TablemendError(
            f"{run} does not go with the first run: {'; '.join(said)}: compare them on the same "
            "samples (score again with rescore=true), or mixed=true joins them, and compares only "
            "those on the same samples"
        )


def make_leaderboard(entries: Mapping[str, Entry], context: str) -> dict[str, Any]:
    """Rates, average and differences, as leaderboard.json has them."""
    first = next(iter(entries.values()))
    metrics = [m for m in metrics_of(first.answers.results) if m.kind == "error"]
    others = [m for m in metrics_of(first.answers.results) if m.name == TOTAL or m.kind == "share"]
    metrics += others
    rows = {
        label: {
            m.name: one.answers.results["systems"][one.system][context][m.name] for m in metrics
        }
        for label, one in entries.items()
    }
    pairs = [
        (a, b) for a, b in combinations(entries, 2)
        if (entries[a].hash, entries[a].answers.results["scorer"])
        == (entries[b].hash, entries[b].answers.results["scorer"])
    ]  # fmt: skip
    own = {label: {context: one.judgements} for label, one in entries.items()}
    tests = [
        test
        for a, b in pairs
        for test in compare_pair(context, a, b, own, metrics, entries[a].answers.tables, len(pairs))
    ]
    return {
        "context": context,
        "rule": RULE,
        "metrics": {m.name: m.title for m in metrics},
        "rows": rows,
        "average": {m.name: _average(entries, m, rows) for m in metrics},
        "pairs": len(pairs),
        "differences": correct_by_holm(tests),
        "runs": {
            label: {"run": str(one.run), "system": one.system, "hash": one.hash}
            | {key: one.answers.results[key] for key in ("n", "scorer", "recipe")}
            for label, one in entries.items()
        },
    }


def _average(
    entries: Mapping[str, Entry], metric: Metric, rows: Mapping[str, Mapping[str, Rate]]
) -> Rate:
    """The mean of the rows; with an interval where all are of the same samples."""
    rates = [row[metric.name]["rate"] for row in rows.values()]
    known = [rate for rate in rates if rate is not None]
    mean = sum(known) / len(known) if len(known) == len(rates) else None
    every = list(entries.values())
    values: dict[str, float] = {}
    for name in every[0].judgements if len({one.hash for one in every}) == 1 else ():
        own = [one.judgements[name] for one in every]
        found = [value for j in own if not j.unscored and (value := metric.value(j)) is not None]
        if found:
            values[name] = sum(found) / len(found)
    tables = every[0].answers.tables
    spread = mean_interval(list(values.values()), clusters=[tables[name] for name in values])
    return Rate(rate=mean, low=spread["low"], high=spread["high"], n=spread["n"])


def write_leaderboard(found: Mapping[str, Any], out: Path) -> str:
    """Write leaderboard.md, .tex, .html and .json; the Markdown."""
    titles = list(found["metrics"].values())
    rates = {**found["rows"], "Average": found["average"]}
    lines = [
        [Cell(label), *map(_rate, row.values()), Cell(str(row[TOTAL]["n"]))]
        for label, row in rates.items()
    ]
    table = Rows(["model, %", *titles, "n"], lines, frozenset({len(lines) - 1}))
    tests = [test for test in found["differences"] if test["metric"] == TOTAL]
    shown = [
        [
            *(test["system_b"], test["system_a"], str(test["n"])),
            points(test["difference"], test["low"], test["high"]) if test["n"] else DASH,
            p_value(test["p_holm"]).removeprefix("= "),
        ]
        for test in tests
    ]
    differences = plain(["model", "less", "n", "TotalHallu, points", "p, Holm"], shown)
    text = "\n\n".join(
        [
            f"# Leaderboard: {found['context']}",
            table.markdown(),
            RULE,
            f"Pairs of rows on the same samples: {found['pairs']}.",
            *([differences.markdown()] if shown else []),
        ]
    )
    out.mkdir(parents=True, exist_ok=True)
    write_text(out / "leaderboard.md", text + "\n")
    write_text(out / "leaderboard.tex", latex(table) + "\n")
    write_json(out / "leaderboard.json", dict(found))
    page = render(
        "tablemend.reports",
        "leaderboard.html.j2",
        css=resource("tablemend.reports", "style.css"),
        found=found,
        table=table,
        differences=differences if shown else None,
    )
    write_text(out / "leaderboard.html", page)
    return text


def _rate(rate: Rate) -> Cell:
    return Cell(percent(rate["rate"]), interval(rate["low"], rate["high"]))
