"""The prompts of all stages, and how tables and constraints are shown in them.

The two steps of verifier 2 share their system text and begin with the same long text, so that an
engine with prefix caching reads it once; everywhere else the system text alone names the stage.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from pathlib import Path

from tablemend.backends.requests import Message
from tablemend.detector.keys import primary_key
from tablemend.prompting.files import PromptFolder, after_rejection
from tablemend.prompting.replies import Problem
from tablemend.records import Constraints
from tablemend.tables.read import write_table
from tablemend.tables.table import Table

STAGES = (
    *("kernel", "query", "constraints", "perturb"),
    *("verify_kernel", "verify_preserved", "verify_distractors"),
    "word",
)

PROMPTS = PromptFolder(Path(__file__).parent / "prompts")
prompt, render, version = PROMPTS.prompt, PROMPTS.render, PROMPTS.version


def with_problems(
    messages: Sequence[Message], answer: str, problems: Iterable[Problem]
) -> tuple[dict[str, str], ...]:
    """The chat with a rejected answer and the reasons as two more turns."""
    reasons = (problem.text for problem in problems)
    return after_rejection(messages, answer, reasons, prompt("retry"))


def show_table(table: Table) -> str:
    """A table as every prompt shows it: Markdown, an empty cell as ``-``."""
    return write_table(table.filled("-"), "markdown").strip()


def show_blanks(table: Table) -> str:
    """The empty cells of a table, one on a line, for the slot ``nulls``."""
    key = primary_key(table)
    cells = ((row[key], zip(table.columns, row, strict=True)) for row in table.rows)
    blanks = [f"- {name} of {entity}" for entity, row in cells for name, cell in row if not cell]
    return "\n".join(blanks) or "none"


def show_constraints(constraints: Constraints) -> str:
    """Constraints as the JSON object that the prompt ``constraints`` asks for."""
    return json.dumps(asdict(constraints), ensure_ascii=False)
