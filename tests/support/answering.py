"""An OpenAI-compatible server that answers what a test tells it to, and recipes that ask it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import yaml

from tablemend.config import parse
from tablemend.evaluation.command import CompareCommand
from tablemend.evaluation.compare import compare as compare_systems
from tablemend.records import ContextKind, Example
from tablemend.tasks.tablehallu import prompts
from tests.support.chat_server import ChatServer, Reply, Seen, answer, refuse

USAGE = {"prompt_tokens": 100, "completion_tokens": 50, "total_tokens": 150}
Say = Callable[[dict[str, Any]], str | dict[str, Any] | int]
"""From a body a text, a choice's ``finish_reason`` and ``message``, or the status of a failure."""


class AnsweringServer(ChatServer):
    """Notes every body and its headers; ``reply`` may be exchanged."""

    def __init__(self, reply: Say) -> None:
        self.reply = reply
        self.latency = 0.0
        self.bodies: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        super().__init__(self._respond)

    @property
    def model(self) -> str:
        """The model string to ask it by."""
        return f"openai:tester@{self.url}"

    def _respond(self, seen: Seen) -> Reply:
        self.bodies.append(seen.body)
        self.headers.append(dict(seen.headers))
        said = self.reply(seen.body)
        if isinstance(said, int):
            return refuse(said, "told to fail", seconds=self.latency)
        text, finish = said, "stop"
        if isinstance(said, dict):
            text, finish = said["message"]["content"], said["finish_reason"]
        return answer(text, finish, seconds=self.latency, usage=USAGE)


def evaluation(
    folder: Path,
    model: str,
    systems: dict[str, dict[str, Any]],
    test: dict[str, Any],
    task: str = "table_generation",
    **settings: Any,
) -> list[str]:
    """Tokens of an evaluation of these systems, on the small world where ``test`` names no other
    source; its run is below the folder.
    """
    options = {"cache": None, "retries": 0, "backoff": 0.01, **settings.pop("options", {})}
    recipe = {
        "kind": "evaluation",
        "name": "asking",
        "task": task,
        "model": {"path": model},
        "data": {"test": {"source": "small-world", **test}},
        "evaluation": {
            "contexts": ["adversarial"],
            "max_new_tokens": 500,
            "options": options,
            "systems": systems,
            **settings,
        },
    }
    path = folder / "recipe.yaml"
    path.write_text(yaml.safe_dump(recipe, sort_keys=False), encoding="utf-8")
    return [f"recipe={path}", f"run={folder / 'run'}"]


def compare(tokens: Sequence[str], *overrides: str) -> dict[str, Any]:
    """What eval/compare.py does, in this process and without the reports."""
    return compare_systems(parse(CompareCommand, [*tokens, *overrides]))


def asked(body: dict[str, Any], examples: Sequence[Example]) -> tuple[Example, ContextKind]:
    """The example that a request is about, and the context that it shows."""
    text = body["messages"][-1]["content"]
    for example in examples:
        for context in ("clean", "adversarial"):
            if f"Context:\n{example.context(context)}\n\nQuery:\n{example.query}\n" in text:
                return example, context
    raise AssertionError(text)


def right_answer(body: dict[str, Any], examples: Sequence[Example]) -> str:
    """The gold table, in the format that the prompt asks for."""
    text = body["messages"][-1]["content"]
    example, _ = asked(body, examples)
    (output,) = [name for name, words in prompts.FORMATS.items() if words in text]
    return prompts.answer(example.gold_table, output)
