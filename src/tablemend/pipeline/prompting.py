"""The prompts, one file each: rendered into messages, told apart, versioned.

A prompt file has a YAML head (``version``, ``purpose``) and a ``# system`` and a ``# user`` part
with ``{{slots}}``. The system part is constant. The two steps of verifier 2 share theirs and
begin with the same long text, so that an engine with prefix caching reads it once; everywhere
else the system text alone names the stage. :func:`recognise` tells all of them apart.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import NamedTuple

import yaml

from tablemend.backends.requests import Message
from tablemend.detector.keys import primary_key
from tablemend.pipeline.drafts import Problem
from tablemend.records import Constraints
from tablemend.tables.table import Table
from tablemend.tables.write import write_table

FOLDER = Path(__file__).parent / "prompts"
STAGES = (
    "kernel",
    "query",
    "constraints",
    "perturb",
    "verify_kernel",
    "verify_preserved",
    "verify_distractors",
    "paraphrase",
)
RETRY = "retry"
BLANK = "-"

_FILE = re.compile(r"---\n(.*?)\n---\n(?:# system\n(.*?)\n)?# user\n(.*)", re.DOTALL)
_SLOT = re.compile(r"\{\{(\w+)\}\}")


@dataclass(frozen=True, slots=True)
class Prompt:
    """One prompt file.

    Attributes:
        name: the file's, without its ending.
        version: raised with every change of the wording.
        purpose: what it is for, in a line.
        system: the constant system text; empty for a turn inside a chat.
        user: the user text with its slots.
    """

    name: str
    version: int
    purpose: str
    system: str
    user: str

    @property
    def slots(self) -> tuple[str, ...]:
        """Names of the slots, in order of first appearance."""
        return tuple(dict.fromkeys(_SLOT.findall(self.user)))

    def fill(self, slots: dict[str, str]) -> str:
        """The user text with every slot filled; what is filled in is never read for slots."""
        if set(slots) != set(self.slots):
            raise TypeError(f"prompt {self.name} takes the slots {', '.join(self.slots)}")
        return _SLOT.sub(lambda match: slots[match[1]], self.user)


class Recognised(NamedTuple):
    """Which prompt a chat was rendered from, and what stands in its slots."""

    name: str
    slots: dict[str, str]


@cache
def prompt(name: str) -> Prompt:
    """The prompt of this name: one of :data:`STAGES`, or :data:`RETRY`."""
    match = _FILE.fullmatch((FOLDER / f"{name}.md").read_text(encoding="utf-8"))
    if match is None:
        raise ValueError(f"prompts/{name}.md is not a head, a system and a user part")
    head = yaml.safe_load(match[1])
    system = (match[2] or "").strip()
    return Prompt(name, int(head["version"]), str(head["purpose"]), system, match[3].strip())


def render(name: str, **slots: str) -> tuple[dict[str, str], ...]:
    """The chat that asks for one stage.

    Args:
        name: one of :data:`STAGES`.
        slots: a text for each slot of the prompt; :attr:`Prompt.slots` names them.
    """
    found = prompt(name)
    return (
        {"role": "system", "content": found.system},
        {"role": "user", "content": found.fill(slots)},
    )


def with_problems(
    messages: Sequence[Message], answer: str, problems: Iterable[Problem]
) -> tuple[dict[str, str], ...]:
    """The chat with a rejected answer and the reasons as two more turns."""
    reasons = "\n".join(f"- {problem.text}" for problem in problems)
    return (
        *map(dict, messages),
        {"role": "assistant", "content": answer.strip() or "(no answer)"},
        {"role": "user", "content": prompt(RETRY).fill({"problems": reasons})},
    )


def show_table(table: Table) -> str:
    """A table as every prompt shows it: Markdown, an empty cell as ``-``."""
    return write_table(table.filled(BLANK), "markdown").strip()


def show_blanks(table: Table) -> str:
    """The empty cells of a table, one on a line, for the slot ``nulls``."""
    key = primary_key(table)
    lines = [
        f"- {column} of {row[key]}"
        for row in table.rows
        for column, cell in zip(table.columns, row, strict=True)
        if cell is None
    ]
    return "\n".join(lines) or "none"


def show_constraints(constraints: Constraints) -> str:
    """Constraints as the JSON object that the prompt ``constraints`` asks for."""
    return json.dumps(asdict(constraints), ensure_ascii=False)


def version(name: str) -> str:
    """Name and version as they are recorded with every row: ``kernel/1``."""
    return f"{name}/{prompt(name).version}"


def recognise(messages: Sequence[Message]) -> Recognised | None:
    """The stage that a chat was rendered for, with its slots; ``None`` for any other chat.

    A slot ends where the words that follow it in the prompt first appear.
    """
    if len(messages) < 2:
        return None
    system, user = messages[0]["content"], messages[1]["content"]
    for name in STAGES:
        if prompt(name).system == system and (match := _pattern(name).fullmatch(user)):
            return Recognised(name, match.groupdict())
    return None


@cache
def _pattern(name: str) -> re.Pattern[str]:
    """A prompt as a pattern; a slot that stands twice must hold the same text twice."""
    seen: set[str] = set()
    parts = []
    for place, part in enumerate(_SLOT.split(prompt(name).user)):
        if place % 2 == 0:
            parts.append(re.escape(part))
        else:
            parts.append(f"(?P={part})" if part in seen else f"(?P<{part}>.*?)")
            seen.add(part)
    return re.compile("".join(parts), re.DOTALL)


@cache
def prompts_hash() -> str:
    """SHA-256 (first 16 hex digits) over all prompt files."""
    digest = hashlib.sha256()
    for path in sorted(FOLDER.glob("*.md")):
        digest.update(f"{path.stem}\n{path.read_text(encoding='utf-8')}\0".encode())
    return digest.hexdigest()[:16]
