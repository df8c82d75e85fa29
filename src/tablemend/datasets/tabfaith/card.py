"""The card of a TabFaith set: a README that ``datasets`` and a person can read."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import is_dataclass
from typing import Any, get_args, get_origin, get_type_hints

from tablemend.datasets.card import command_of, table_of, write_card
from tablemend.datasets.splits import SPLITS
from tablemend.datasets.tabfaith.domains import DOMAINS
from tablemend.datasets.tabfaith.examples import TabFaithExample
from tablemend.datasets.tabfaith.settings import MIMIC, SYNTHETIC, TabFaith
from tablemend.datasets.tablehallu.settings import POOL
from tablemend.programs.program import Statement
from tablemend.records import CLAIM_ERRORS
from tablemend.tables.table import Table
from tablemend.values.sentences import Span

_TABLE = {"title": str, "columns": [str], "rows": [[str]]}


def _field(kind: Any) -> Any:
    """A type of a record's field as the card's head has it."""
    if kind is Table:
        return _TABLE
    if kind is Statement:  # as JSON
        return str
    if is_dataclass(kind):
        return {name: _field(inner) for name, inner in get_type_hints(kind).items()}
    if kind is Span:
        return [int]
    if get_origin(kind) is tuple:
        return [_field(get_args(kind)[0])]
    return kind if kind in (int, bool) else str


def card_of(settings: TabFaith, engine: str, counts: dict[str, Any]) -> str:
    """The card of a finished set."""
    found = counts["counts"]
    return write_card(
        _parts(settings, engine, counts),
        categories=["summarization", "text-classification"],
        tags=["table-to-text", "hallucination", "faithfulness"],
        files={split: f"{split}.jsonl" for split in SPLITS if f"split {split}" in found},
        fields={"id": str} | _field(TabFaithExample),
    )


def _parts(settings: TabFaith, engine: str, counts: dict[str, Any]) -> Iterator[str]:
    found, examples = counts["counts"], counts["examples"]
    yield "# Tables with faithful and unfaithful summaries"
    yield f"{examples['made']} of {examples['asked']} examples, by `{engine}`. {_truth(settings)}"
    yield command_of(
        "tabfaith.py",
        settings,
        {"seed": settings.seed},
        ("kind", "workers", "out", "generator_options"),
    )
    yield table_of(
        "split | examples",
        {split: found[f"split {split}"] for split in SPLITS if f"split {split}" in found},
    )
    labels = ("faithful", "unfaithful", "unscored")
    yield table_of(
        f"domain | {' | '.join(labels)}",
        {
            domain: tuple(found.get(f"domain {domain} {label}", 0) for label in labels)
            for domain in DOMAINS
            if settings.sizes.of(domain)
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
    yield table_of(
        "per example | mean",
        {
            name: f"{found[name] / examples['made']:.1f}"
            for name in ("cells", "facts", "errors")
            if name in found
        },
    )
    yield "No table stands in two splits: the content hash of the table decides."
    yield "## Tables"
    yield "\n".join(
        f"- {domain}: {_source(settings.sources.of(domain))}"
        for domain in DOMAINS
        if settings.sizes.of(domain)
    )
    for domain, reasons in counts["skipped"].items():
        yield table_of(f"{domain}: reason for leaving a table out | tables", reasons)
    yield "## Dropped and drawn anew"
    yield table_of("reason for dropping an example | examples", counts["dropped"])
    yield table_of("drawn anew | times", counts["notes"])
    yield (
        "## Licence\n\nSummaries and errors are synthetic; cells come from the tables, so their "
        "licence applies. Whoever publishes this set has to state it here."
    )


def _truth(settings: TabFaith) -> str:
    if settings.generator is None:
        return (
            "Summaries are table programs in words, true by construction; each injected error "
            "is one slot of a program, edited until the statement is false."
        )
    return (
        f"Summaries are by `{settings.generator.partition('@')[0]}`; labels and errors are by the "
        f"verifier `{settings.verifier}`, not by people."
    )


def _source(name: str) -> str:
    if name.startswith(MIMIC):
        return "MIMIC-IV laboratory events: credentialed data, not to be passed on"
    built_in = {
        SYNTHETIC: "synthetic; nothing in them is a fact",
        POOL: "fictional tables of the built-in topic pool",
    }
    return built_in.get(name, f"`{name}`")
