"""Writing a TabFaith set, and its card."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from tablemend.datasets import build
from tablemend.datasets.card import command_of, counted_parts, table_of, write_card
from tablemend.datasets.splits import POOL
from tablemend.datasets.tabfaith.domains import DOMAINS
from tablemend.datasets.tabfaith.examples import TabFaithExample
from tablemend.datasets.tabfaith.program_summaries import ENGINE, Opened, make_records
from tablemend.datasets.tabfaith.settings import SYNTHETIC, TabFaith
from tablemend.datasets.tabfaith.sources import open_tables
from tablemend.records import CLAIM_ERRORS

FREE = {"kind", "workers", "out"}
"""Settings that change nothing in the files."""
_LABELS = ("faithful", "unfaithful", "unscored")
_TRUTH = (
    "Summaries are table programs in words, true by construction; each injected error is one slot "
    "of a program, edited until the statement is false."
)
_MEANS = {"cells": "cells", "facts": "facts", "errors": "errors"}


def make_dataset(settings: TabFaith, progress: Callable[[int], object]) -> dict[str, Any]:
    """Make a set: :func:`~tablemend.datasets.build.build_resumable`.

    Args:
        settings: what to make and where.
        progress: called with the number of examples that are newly done.

    Raises:
        TablemendError: as above.
    """
    return build.build_resumable(
        Path(settings.out),
        {"engine_version": ENGINE, **settings.model_dump(mode="json", exclude=FREE)},
        settings.sizes.total,
        lambda: _open_sources(settings),
        lambda opened, numbers: make_records(settings, opened, numbers),
        lambda counts: _card(settings, counts),
        progress,
    )


def _open_sources(settings: TabFaith) -> build.OpenedSource:
    """The tables of each domain, why others were left out, and a hash of those of users."""
    opened: Opened = {}
    skipped: list[build.SkippedTable] = []
    hashes: list[str] = []
    for domain in DOMAINS:
        tables, left_out = open_tables(settings, domain)
        opened[domain] = tables
        skipped += left_out
        hashes += (tables[number].table.content_hash() for number in range(tables.count or 0))
    found = build.OpenedSource(opened, hashes, skipped)
    if all(opened[domain].count for domain in DOMAINS if settings.sizes.of(domain)):
        build.refuse_empty_splits("sources", found, settings.shares)
    return found


def _card(settings: TabFaith, counts: dict[str, Any]) -> str:
    return write_card(
        _parts(settings, counts),
        categories=["summarization", "text-classification"],
        tags=["table-to-text", "hallucination", "faithfulness"],
        files={split: f"{split}.jsonl" for split in counts["splits"]},
        record=TabFaithExample,
    )


def _parts(settings: TabFaith, counts: dict[str, Any]) -> Iterator[str]:
    found, examples = counts["counts"], counts["examples"]
    used = [domain for domain in DOMAINS if settings.sizes.of(domain)]
    yield "# Tables with faithful and unfaithful summaries"
    yield f"{examples['made']} of {examples['asked']} examples, by `{ENGINE}`. {_TRUTH}"
    yield command_of("tabfaith.py", settings, {"seed": settings.seed}, FREE)
    yield table_of(
        f"domain | {' | '.join(_LABELS)}",
        {
            domain: tuple(found.get(f"domain {domain} {label}", 0) for label in _LABELS)
            for domain in used
        },
    )
    yield table_of(
        "error | injected | %",
        {
            type: (found[name], f"{100 * found[name] / found['errors']:.1f}")
            for type in CLAIM_ERRORS
            if (name := f"type {type}") in found
        },
    )
    yield "\n".join(f"- {domain}: {_source(settings.sources.of(domain))}" for domain in used)
    yield from counted_parts(counts, _MEANS)


def _source(name: str) -> str:
    built_in = {
        SYNTHETIC: "synthetic; nothing in them is a fact",
        POOL: "fictional tables of the built-in topic pool",
    }
    return built_in.get(name, f"`{name}`")
