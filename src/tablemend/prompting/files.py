"""Prompts, one file each: rendered into messages, told apart, versioned.

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
from typing import NamedTuple

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

    def messages(self, slots: dict[str, str]) -> tuple[dict[str, str], ...]:
        """The chat: the system turn, and the user turn with every slot filled."""
        return (
            {"role": "system", "content": self.system},
            {"role": "user", "content": self.fill(slots)},
        )


class Recognised(NamedTuple):
    """Which prompt a chat was rendered from, and what stands in its slots."""

    name: str
    slots: dict[str, str]


@dataclass(frozen=True)
class PromptFolder:
    """The prompt files of one room.

    Attributes:
        path: their folder.
        stages: names of those that begin a chat. System and user text together tell them apart.
    """

    path: Path
    stages: tuple[str, ...]

    def prompt(self, name: str) -> Prompt:
        """The prompt of this name."""
        return _read(self.path / f"{name}.md")

    def render(self, name: str, **slots: str) -> tuple[dict[str, str], ...]:
        """The chat that asks for one stage.

        Args:
            name: one of the stages.
            slots: a text for each slot of the prompt; :attr:`Prompt.slots` names them.
        """
        return self.prompt(name).messages(slots)

    def version(self, name: str) -> str:
        """Name and version as they are recorded: ``kernel/1``."""
        return f"{name}/{self.prompt(name).version}"

    def recognise(self, messages: Sequence[Message]) -> Recognised | None:
        """The stage that a chat was rendered for, with its slots; ``None`` for any other chat.

        A slot ends where the words that follow it in the prompt first appear.
        """
        if len(messages) < 2:
            return None
        system, user = messages[0]["content"], messages[1]["content"]
        for name in self.stages:
            found = self.prompt(name)
            if found.system == system and (match := _pattern(found.user).fullmatch(user)):
                return Recognised(name, match.groupdict())
        return None

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
    return Prompt(path.stem, int(head["version"]), str(head["purpose"]), system, match[3].strip())


@cache
def _pattern(user: str) -> re.Pattern[str]:
    """A prompt as a pattern; a slot that stands twice must hold the same text twice."""
    seen: set[str] = set()
    parts = []
    for place, part in enumerate(_SLOT.split(user)):
        if place % 2 == 0:
            parts.append(re.escape(part))
        else:
            parts.append(f"(?P={part})" if part in seen else f"(?P<{part}>.*?)")
            seen.add(part)
    return re.compile("".join(parts), re.DOTALL)
