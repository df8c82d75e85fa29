"""Adversarial contexts by program, and what a model gets wrong in them."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

from tablemend.datasets.tablehallu.engine import EXPANSION
from tablemend.datasets.tablehallu.kernel import Rejected
from tablemend.datasets.tablehallu.sentences import label_of
from tablemend.datasets.tablehallu_llm.perturbation import perturb_kernel
from tablemend.records import Constraints
from tablemend.tables.table import Table
from tablemend.values.sentences import sentence_spans
from tests.support.model_server.queries import type_shown

MISTAKES = (
    "lost-gold",
    "stated-blank",
    "changed-gold",
    "no-distractor",
    "clustered",
)


@dataclass(frozen=True, slots=True)
class Shown:
    """What the prompt shows."""

    table: Table
    constraints: Constraints
    context: str


def write_perturbation(
    shown: Shown, factor: int, mistake: str | None, rng: Random
) -> tuple[str, bool]:
    """The context among distractors; whether it has the mistake.

    Where the program knows no distractor the context comes back alone, as a weak model's would.
    """
    difficulty = min(EXPANSION, key=lambda name: abs(EXPANSION[name] - factor))
    if mistake == "no-distractor":
        return shown.context, True
    try:
        text = perturb_kernel(
            shown.table, shown.constraints, shown.context, difficulty, rng.getrandbits(31)
        ).context
    except Rejected:
        return shown.context, False
    wrong = None if mistake is None else _with_mistake(text, shown, mistake, rng)
    return (text, False) if wrong is None else (wrong, True)


def _with_mistake(text: str, shown: Shown, mistake: str, rng: Random) -> str | None:
    """The text with one thing wrong; ``None`` where there is nothing to get wrong."""
    table = shown.table
    key = type_shown(table).key
    if mistake == "lost-gold":
        return _without(text, [rng.choice(sentences_of(shown.context))])
    if mistake == "clustered":
        return f"{shown.context}\n\n{_without(text, sentences_of(shown.context))}"
    if mistake == "stated-blank":
        blanks = [
            (row[key] or "", label_of(column))
            for row in table.rows
            for column, cell in zip(table.columns, row, strict=True)
            if cell is None
        ]
        if not blanks:
            return None
        name, label = rng.choice(blanks)
        return _insert(text, f"The {label} of {name} is not known.", rng)
    if mistake == "changed-gold":
        others = [
            (row[key] or "", label_of(table.columns[index]), other)
            for row in table.rows
            for index, cell in enumerate(row)
            if index != key and cell is not None
            for other in table.column(table.columns[index])
            if other is not None and other != cell
        ]
        if not others:
            return None
        name, label, value = rng.choice(others)
        return _insert(text, f"The {label} of {name} is {value}.", rng)
    return None


def _without(text: str, sentences: list[str]) -> str:
    """The text without some of its sentences."""
    for sentence in sentences:
        text = text.replace(sentence, "", 1)
    return "\n\n".join(" ".join(part.split()) for part in text.split("\n\n") if part.strip())


def sentences_of(text: str) -> list[str]:
    """The sentences of a text."""
    return [text[start:end] for start, end in sentence_spans(text)]


def _insert(text: str, sentence: str, rng: Random) -> str:
    """The text with a sentence more behind one of its own."""
    _, end = rng.choice(sentence_spans(text))
    return f"{text[:end]} {sentence}{text[end:]}"
