"""The page of the error types' figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tablemend.records import CLAIM_ERRORS

_HEAD = """# Error types

Written by `train/error_types.py`; the types are those of [verification](../docs/verification.md).
Every figure is measured on tables that nothing was learnt from: the examples are
claims made false by one injected error. Accuracy is over errors, with a 95 % bootstrap interval;
an error whose claims are told apart counts in parts. "Turns on the error" takes only the claims
whose number, date, name or word is the wrong one. "Kind alone" says NUM of every numeric claim,
CMP of every comparative one, and so on: what is to be beaten.
"""


def figures_page(results: Mapping[str, Any]) -> str:
    """The whole page as Markdown."""
    parts = [
        _HEAD,
        f"Classifier: {results['classifier']}. Learnt from {results['learnt']['claims']} claims of "
        f"{results['learnt']['errors']} injected errors in {results['learnt']['tables']} made-up "
        f"tables. Command: `{results['command']}`, commit {results['commit']}.\n",
        summary_table(results["sets"]) + shortened_lines(results),
    ]
    for name, figures in results["sets"].items():
        parts += [f"## Confusion on {name}\n", _matrix(figures["classifier"])]
    return "\n".join(parts)


def summary_table(sets: Mapping[str, Any]) -> str:
    """One line a set and judge."""
    rows = [
        [
            name,
            judge,
            str(own["tables"]),
            str(own["errors"]),
            _rate(own["accuracy"]),
            _rate(own["accuracy_focused"]),
            f"{own['macro_f1']:.2f}",
            *(f"{own['f1'][type]:.2f}" for type in CLAIM_ERRORS),
        ]
        for name, figures in sets.items()
        for judge, own in figures.items()
    ]
    head = ["held-out tables", "by", "tables", "errors", "accuracy", "turns on the error"]
    return _table([*head, "macro F1", *(f"F1 {type}" for type in CLAIM_ERRORS)], rows)


def shortened_lines(results: Mapping[str, Any]) -> str:
    """What an encoder's window did not hold, a line a set; empty where it held all."""
    lines = []
    if too_long := results["learnt"]["too_long"]:
        lines.append(f"Not learnt from, as they are too long for the encoder: {too_long} claims.\n")
    for name, counts in results["shortened"].items():
        if counts:
            lines.append(
                f"Not read whole, {name}: {counts.get('fewer_cells', 0)} claims with fewer cells "
                f"of evidence than there are, {counts.get('cut', 0)} that were cut themselves.\n"
            )
    return "\n".join(["", *lines])


def _matrix(figures: Mapping[str, Any]) -> str:
    rows = [
        [f"**{type}**", *(f"{figures['confusion'][type][other]:.0f}" for other in CLAIM_ERRORS)]
        for type in CLAIM_ERRORS
    ]
    return _table(["injected \\ said", *CLAIM_ERRORS], rows)


def _rate(rate: Mapping[str, Any]) -> str:
    if rate["rate"] is None:
        return "-"
    return f"{rate['rate']:.2f} [{rate['low']:.2f}, {rate['high']:.2f}]"


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"
