"""Prompts, one file each: rendered into messages, versioned.

A prompt file has a YAML head (``version``, ``purpose``) and a ``# system`` and a ``# user`` part
with ``{{slots}}``. The system part is constant.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path

import yaml

from tablemend.backends.requests import Message

_FILE = re.compile(r"---\n(.*?)\n---\n(?:# system\n(.*?)\n)?# user\n(.*)", re.DOTALL)
_SLOT = re.compile(r"\{\{(\w+)\}\}")


@dataclass(frozen=True, slots=True)
class Prompt:
    """One prompt file.

    Attributes:
        name: the file's, without its ending.
        version: raised with every change of the wording.
        system: the constant system text; empty for a turn inside a chat.
        user: the user text with its slots.
    """

    name: str
    version: int
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

    def messages(self, slots: dict[str, str]) -> tuple[dict[str, str], ...]:
        """The chat: the system turn, and the user turn with every slot filled."""
        return (
            {"role": "system", "content": self.system},
            {"role": "user", "content": self.fill(slots)},
        )


@dataclass(frozen=True)
class PromptFolder:
    """The prompt files of one package, in the folder ``path``."""

    path: Path

    def prompt(self, name: str) -> Prompt:
        """The prompt of this name."""
        return _read(self.path / f"{name}.md")

    def render(self, name: str, **slots: str) -> tuple[dict[str, str], ...]:
        """The chat that asks for one stage.

        Args:
            name: of a prompt that begins a chat.
            slots: a text for each slot of the prompt; :attr:`Prompt.slots` names them.
        """
        return self.prompt(name).messages(slots)

    def version(self, name: str) -> str:
        """Name and version as they are recorded: ``kernel/1``."""
        return f"{name}/{self.prompt(name).version}"

    @cached_property
    def hash(self) -> str:
        """SHA-256 (first 16 hex digits) over all prompt files."""
        digest = hashlib.sha256()
        for path in sorted(self.path.glob("*.md")):
            digest.update(f"{path.stem}\n{path.read_text(encoding='utf-8')}\0".encode())
        return digest.hexdigest()[:16]


def after_rejection(
    messages: Sequence[Message], answer: str, reasons: Iterable[str], retry: Prompt
) -> tuple[dict[str, str], ...]:
    """The chat with a rejected answer and the reasons as two more turns.

    Args:
        messages: the chat that was answered.
        answer: the answer.
        reasons: why it is not taken.
        retry: a prompt with the slot ``problems``.
    """
    problems = "\n".join(f"- {reason}" for reason in reasons)
    return (
        *map(dict, messages),
        {"role": "assistant", "content": answer.strip() or "(no answer)"},
        {"role": "user", "content": retry.fill({"problems": problems})},
    )


@cache
def _read(path: Path) -> Prompt:
    match = _FILE.fullmatch(path.read_text(encoding="utf-8"))
    if match is None:
        raise ValueError(f"prompts/{path.name} is not a head, a system and a user part")
    head = yaml.safe_load(match[1])
    system = (match[2] or "").strip()
    return Prompt(path.stem, int(head["version"]), system, match[3].strip())
