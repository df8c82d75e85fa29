"""Run folders of comparisons that never were: judgements by hand, and results.json of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from tablemend.records import Finding, Judgement, Metric, SampleView, Share
from tablemend.reports.tabulation import RESULTS_VERSION, tabulate
from tablemend.runs import write_json, write_jsonl
from tablemend.tables.table import Table

Said = Sequence[str]
"""Of each sample the errors of its answer, by their types in one string; `?` is unscored."""
GOLD = Table(("Name", "Year"), (("Ann", "1990"), ("Bo", "1995")))


def judgement(said: str, share: str) -> Judgement:
    if said == "?":
        return Judgement(unscored="no answer", scorer="made up 1")
    findings = tuple(Finding(type, None, None, None, None, "made up") for type in said.split())
    return Judgement(findings, {share: Share(4 - len(findings), 4)}, scorer="made up 1")


def made_up_run(
    folder: Path,
    answers: Mapping[str, Mapping[str, Said]],
    metrics: Sequence[Metric],
    *,
    domains: Sequence[str] = ("History & Politics", "Law"),
    share: str = "row_recall",
    **changes: Any,
) -> Path:
    """A run folder.

    Args:
        folder: where it is to be.
        answers: by system and context.
        metrics: of the task.
        domains: of the samples, in turn; two samples each are of one table.
        share: that every answer has.
        changes: to results.json.
    """
    contexts = list(next(iter(answers.values())))
    n = len(next(iter(next(iter(answers.values())).values())))
    ids = [f"{number:016x}" for number in range(n)]
    tables = {name: f"table {number // 2}" for number, name in enumerate(ids)}
    views = {
        context: {
            name: SampleView(
                name, context, "title", "note", domains[number % len(domains)],
                text="x" * (10 + number), gold=GOLD,
            )
            for number, name in enumerate(ids)
        }
        for context in contexts
    }  # fmt: skip
    judgements = {
        system: {
            context: {name: judgement(said, share) for name, said in zip(ids, own, strict=True)}
            for context, own in kinds.items()
        }
        for system, kinds in answers.items()
    }
    results: dict[str, Any] = {
        "version": RESULTS_VERSION,
        "run": folder.name,
        "recipe": "made-up",
        "task": "table_generation",
        "contexts": {context: context for context in contexts},
        "length_unit": "characters",
        "metrics": [asdict(metric) for metric in metrics],
        "n": n,
        "scorer": "made up 1",
        "cut": "format_error",
        "data": {"source": "made up", "hash": "0123456789abcdef"},
        "settings": {
            name: {
                "named": "hf:checkpoints/tiny-base",
                "model": "checkpoints/tiny-base",
                "thinking": "off",
            }
            | {"prompt": "base", "format": "markdown"}
            for name in answers
        },
        "cost": {},
        **tabulate(judgements, views, metrics, tables),
    }
    folder.mkdir(parents=True)
    write_json(folder / "results.json", results | changes)
    write_jsonl(folder / "examples.jsonl", [{"source_hash": tables[name]} for name in ids])
    write_jsonl(
        folder / "views.jsonl", [one.to_json() for own in views.values() for one in own.values()]
    )
    write_jsonl(
        folder / "judgements.jsonl",
        [
            {"system": system, "context": context, "example_id": name} | one.to_json()
            for system, kinds in judgements.items()
            for context, own in kinds.items()
            for name, one in own.items()
        ],
    )
    return folder
