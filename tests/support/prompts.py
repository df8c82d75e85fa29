"""Prompts read back: which one a chat was rendered from, and what stands in its slots."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

from tablemend.backends.requests import Message
from tablemend.mitigations.rewriting import PROMPTS as MITIGATIONS
from tablemend.prompting.files import Prompt
from tablemend.tasks.tabfaith.task import PROMPTS as TABFAITH
from tablemend.tasks.tablehallu_llm.stages import PROMPTS as PIPELINE
from tablemend.verifier.llm import PROMPTS as FAITHFULNESS

FOLDERS = (PIPELINE, FAITHFULNESS, MITIGATIONS, TABFAITH)


class Recognised(NamedTuple):
    """Which prompt a chat was rendered from, and what stands in its slots."""

    name: str
    slots: dict[str, str]


@cache
def openings() -> tuple[Prompt, ...]:
    """The prompts that begin a chat, in the order of their folders and files."""
    files = [(folder, path.stem) for folder in FOLDERS for path in sorted(folder.path.glob("*.md"))]
    return tuple(
        prompt for folder, name in files if (prompt := folder.prompt(name)) and prompt.system
    )


def recognise(messages: Sequence[Message]) -> Recognised | None:
    """The prompt that a chat was rendered from, with its slots; ``None`` for any other chat.

    System and user text together tell prompts apart. A slot ends where the words that follow it in
    the prompt first appear.
    """
    if len(messages) < 2:
        return None
    system, user = messages[0]["content"], messages[1]["content"]
    for prompt in openings():
        if prompt.system == system and (match := _pattern(prompt.user).fullmatch(user)):
            return Recognised(prompt.name, match.groupdict())
    return None


@cache
def _pattern(user: str) -> re.Pattern[str]:
    """A prompt as a pattern; a slot that stands twice must hold the same text twice."""
    seen: set[str] = set()
    parts = []
    for place, part in enumerate(re.split(r"\{\{(\w+)\}\}", user)):
        if place % 2 == 0:
            parts.append(re.escape(part))
        else:
            parts.append(f"(?P={part})" if part in seen else f"(?P<{part}>.*?)")
            seen.add(part)
    return re.compile("".join(parts), re.DOTALL)
