"""The card of a TabFaith set: a README that ``datasets`` and a person can read."""

from __future__ import annotations

from typing import Any

import yaml

from tablemend.datasets.tabfaith.domains import DOMAINS
from tablemend.datasets.tabfaith.settings import MIMIC, SYNTHETIC, TabFaith
from tablemend.datasets.tablehallu.card import table_of
from tablemend.datasets.tablehallu.settings import POOL, SPLITS
from tablemend.records import CLAIM_ERRORS

_TEXT, _NUMBER = {"dtype": "string"}, {"dtype": "int64"}


def _texts(*names: str) -> list[dict[str, Any]]:
    return [{"name": name, **_TEXT} for name in names]


FEATURES: list[dict[str, Any]] = [
    *_texts("id", "domain"),
    {
        "name": "table",
        "struct": [
            *_texts("title"),
            {"name": "columns", "list": "string"},
            {"name": "rows", "list": {"list": "string"}},
        ],
    },
    *_texts("summary"),
    {
        "name": "facts",
        "list": [
            *_texts("kind", "operation"),
            {
                "name": "parts",
                "list": [
                    *_texts("role"),
                    {"name": "start", **_NUMBER},
                    {"name": "end", **_NUMBER},
                    *_texts("text", "style"),
                ],
            },
            {"name": "focus", **_NUMBER},
            {"name": "cells", "list": {"list": "int64"}},
            {"name": "sentence", "list": "int64"},
        ],
    },
    *_texts("label"),
    {
        "name": "errors",
        "list": [
            *_texts("type"),
            {"name": "start", **_NUMBER},
            {"name": "end", **_NUMBER},
            *_texts("text", "original", "expected"),
            {"name": "facts", "list": "int64"},
        ],
    },
    *_texts("labelled_by", "source", "source_hash"),
    {"name": "seed", **_NUMBER},
    *_texts("engine"),
]


def write_card(settings: TabFaith, engine: str, counts: dict[str, Any]) -> str:
    """The card of a finished set."""
    found = counts["counts"]
    splits = [split for split in SPLITS if f"split {split}" in found]
    head = {
        "task_categories": ["summarization", "text-classification"],
        "tags": ["table-to-text", "hallucination", "faithfulness"],
        "configs": [
            {
                "config_name": "default",
                "data_files": [{"split": split, "path": f"{split}.jsonl"} for split in splits],
            }
        ],
        "dataset_info": {"features": FEATURES},
    }
    made = counts["examples"]["made"]
    parts = [
        f"---\n{yaml.safe_dump(head, sort_keys=False, allow_unicode=True)}---",
        "# Tables with faithful and unfaithful summaries",
        f"{made} of {counts['examples']['asked']} examples, made by `{engine}`. {_truth(settings)}",
        f"```\npython data_gen/tabfaith.py {_command(settings)}\n```",
        table_of("split", "examples", {split: found[f"split {split}"] for split in splits}),
        table_of("domain", "examples", _domains(found)),
        table_of("error", "injected", _types(found)),
        table_of(
            "per example",
            "mean",
            {
                name: f"{found.get(name, 0) / made:.1f}"
                for name in ("cells", "facts", "errors")
                if name in found
            },
        ),
        "No table stands in two splits: the content hash of the table decides.",
        f"## Tables\n\n{_sources(settings)}",
        *(
            table_of(f"{domain}: reason for leaving a table out", "tables", reasons)
            for domain, reasons in counts["skipped"].items()
        ),
        "## Dropped and drawn anew",
        table_of("reason for dropping an example", "examples", counts["dropped"]),
        table_of("drawn anew", "times", counts["notes"]),
        "## Licence\n\nSummaries and errors are synthetic; cells come from the tables, so their "
        "licence applies. Whoever publishes this set has to state it here.",
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _truth(settings: TabFaith) -> str:
    if settings.generator is None:
        return (
            "Summaries are true by construction and were worked out again from their words; "
            "each injected error was proven false in the same way."
        )
    return (
        f"Summaries are by `{settings.generator.partition('@')[0]}`; labels and errors are by the "
        f"verifier `{settings.verifier}`, not by people."
    )


def _domains(found: dict[str, int]) -> dict[str, str]:
    rows: dict[str, str] = {}
    for domain in DOMAINS:
        labels = ("faithful", "unfaithful", "unscored")
        numbers = {label: found.get(f"domain {domain} {label}", 0) for label in labels}
        if any(numbers.values()):
            said = ", ".join(f"{count} {label}" for label, count in numbers.items() if count)
            rows[domain] = said
    return rows


def _types(found: dict[str, int]) -> dict[str, str]:
    total = found.get("errors", 0)
    return {
        type: f"{found[f'type {type}']} ({100 * found[f'type {type}'] / total:.1f} %)"
        for type in CLAIM_ERRORS
        if f"type {type}" in found
    }


def _sources(settings: TabFaith) -> str:
    lines = []
    for domain in DOMAINS:
        name = settings.sources.of(domain)
        if not settings.sizes.of(domain):
            continue
        if name == SYNTHETIC:
            name = "synthetic; nothing in them is a fact"
        elif name == POOL:
            name = "fictional tables of the built-in topic pool"
        elif name.startswith(MIMIC):
            name = "MIMIC-IV laboratory events: credentialed data, not to be passed on"
        else:
            name = f"`{name}`"
        lines.append(f"- {domain}: {name}")
    return "\n".join(lines)


def _command(settings: TabFaith) -> str:
    """The settings that differ from the defaults, as they are written on the command line."""
    given: dict[str, Any] = {}
    left_out = {"kind", "workers", "out", "generator_options"}
    for name, value in settings.model_dump(exclude_defaults=True, exclude=left_out).items():
        if isinstance(value, dict):
            given.update({f"{name}.{key}": inner for key, inner in value.items()})
        else:
            given[name] = value
    given.setdefault("seed", settings.seed)
    return " ".join(f"{name}={value}" for name, value in given.items())
