"""Ordinary instruction data: chats that keep a model's general ability while it learns tables."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tablemend.errors import TablemendError

ROLES = ("system", "user", "assistant")


@dataclass(frozen=True, slots=True)
class Chat:
    """A chat whose last turn, the assistant's, is what is trained on.

    Attributes:
        messages: the turns before it, as the renderer takes them.
        answer: its text, with its own ``<think>`` block where it has one.
        source_hash: of the table, where the chat was made from a sample's.
        made_with: the settings of its prompt, where that is a sample's.
    """

    messages: tuple[Mapping[str, str], ...]
    answer: str
    source_hash: str = ""
    made_with: Mapping[str, str] | None = None

    @property
    def thinks(self) -> bool:
        """Whether the prompt is to leave room for thinking: only where the answer thinks."""
        return self.answer.startswith("<think>")

    @classmethod
    def of(cls, record: Mapping[str, Any]) -> Chat:
        """The chat of a record ``{"messages": [{"role": ..., "content": ...}, ...]}``.

        Raises:
            TablemendError: what is wrong with the record.
        """
        turns = record.get("messages")
        if not isinstance(turns, list) or len(turns) < 2:
            raise TablemendError("needs a list `messages` of at least two turns")
        messages = tuple(_turn(number, turn) for number, turn in enumerate(turns, 1))
        if messages[-1]["role"] != "assistant" or messages[-2]["role"] == "assistant":
            raise TablemendError("the last turn, and no other at the end, must be the assistant's")
        made = str(record.get("source_hash", "")), record.get("made_with")
        return cls(messages[:-1], messages[-1]["content"], *made)


def _turn(number: int, turn: Any) -> dict[str, str]:
    if not isinstance(turn, dict):
        raise TablemendError(f"turn {number} is no mapping with role and content")
    known = {name: value for name, value in turn.items() if value is not None}  # Parquet fills up
    role, content = known.pop("role", None), known.pop("content", None)
    if role not in ROLES:
        raise TablemendError(f"turn {number}: the role is one of {', '.join(ROLES)}, not {role!r}")
    if not isinstance(content, str) or not content.strip():
        raise TablemendError(f"turn {number}: content must be a text that is not empty")
    if known:
        raise TablemendError(f"turn {number}: no place for {', '.join(sorted(known))}")
    return {"role": role, "content": content}
