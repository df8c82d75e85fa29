"""Answers by program: what a model would say to a prompt of ours, worked out from it alone.

It keeps nothing between requests. Chance comes from the server's seed, the turns of the chat and
the request's seed, so an answer that is asked for again with the reasons for its rejection, or
with another seed, is another one, and the same request always has the same answer.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from hashlib import blake2b
from random import Random
from typing import Any, NamedTuple

from tablemend.errors import TablemendError
from tablemend.tasks.tabfaith.task import STAGE as SUMMARY
from tests.support.model_server import claims, passages, pipeline, rewrites, summaries
from tests.support.prompts import recognise


@dataclass(frozen=True, slots=True)
class Chat:
    """What is asked.

    Attributes:
        turns: role and text of every turn.
        seed: of the answer; it counts only with a temperature above 0, as on a real server.
    """

    turns: tuple[tuple[str, str], ...]
    seed: int = 0
    temperature: float = 1.0

    @classmethod
    def of(cls, body: Mapping[str, Any]) -> Chat:
        """Read the body of a request."""
        turns = tuple((turn["role"], turn["content"]) for turn in body["messages"])
        return cls(turns, body.get("seed") or 0, body.get("temperature", 1.0))

    def rng(self, seed: int) -> Random:
        """The chance that an answer is drawn by: of the server's seed, the turns, the seed."""
        content = json.dumps([seed, self.turns, self.seed if self.temperature > 0 else None])
        return Random(blake2b(content.encode()).digest())


class Stage(NamedTuple):
    """How one prompt is answered.

    Attributes:
        answer: from the prompt's slots, a mistake and a source of chance.
        mistakes: those that it can make.
    """

    answer: Callable[[Mapping[str, str], str | None, Random], str]
    mistakes: tuple[str, ...] = ()


def answer_prompt(chat: Chat, mistake: str, seed: int) -> str:
    """What is asked for, or where that cannot be had, a plain sentence that says so.

    Args:
        chat: every prompt of the project is recognised by its text.
        mistake: one of :data:`faults.MISTAKES`, made where the stage can make it.
        seed: of the server.
    """
    rng = chat.rng(seed)
    found = recognise([{"role": role, "content": text} for role, text in chat.turns[:2]])
    if found is None:
        return "I have read this, and there is nothing that I can add to it."
    stage = STAGES[found.name]
    if mistake == "mistake" and stage.mistakes:
        mistake = rng.choice(stage.mistakes)
    try:
        return stage.answer(found.slots, mistake if mistake in stage.mistakes else None, rng)
    except TablemendError as error:
        return f"There is nothing that I could answer: {error}"


def _verifier(yes: str, no: str) -> Stage:
    return Stage(lambda _, mistake, __: pipeline.verdict(yes, no, mistake), ("wrong-verdict",))


REWRITE = Stage(rewrites.rewrite)
STAGES: dict[str, Stage] = {
    "kernel": Stage(pipeline.kernel, ("unsorted",)),
    "query": Stage(pipeline.query, ("no-sort",)),
    "constraints": Stage(pipeline.constraints, ("no-scope",)),
    "perturb": Stage(pipeline.perturb, ("lost-gold",)),
    "verify_kernel": _verifier("CORRECT", "INCORRECT"),
    "verify_preserved": _verifier("YES", "NO"),
    "verify_distractors": _verifier("VALID", "INVALID"),
    "word": Stage(passages.word, ("wrong-cell",)),
    "extract": Stage(claims.extract),
    "verify": Stage(claims.verify),
    "write_program": Stage(claims.write_tests),
    "rewrite_value": REWRITE,
    "rewrite_comparison": REWRITE,
    "rewrite_time": REWRITE,
    "rewrite_relation": REWRITE,
    "rewrite_cell": Stage(rewrites.rewrite_cell),
    "rewrite_row": Stage(rewrites.rewrite_row),
    SUMMARY: Stage(summaries.summarise, ("injected-error", "one-sentence")),
}
