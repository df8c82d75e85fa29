"""Answers by program: what a model would say to a prompt of ours, worked out from it alone.

It keeps nothing between requests. Chance comes from the server's seed, the turns of the chat and
the request's seed, so an answer that is asked for again with the reasons for its rejection, or
with another seed, is another one, and the same request always has the same answer.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from random import Random
from typing import NamedTuple

from tablemend.datasets.tabfaith.prompting import STAGES as SUMMARIES
from tablemend.errors import TablemendError
from tests.support.model_server import claims, pipeline, rewrites, summaries
from tests.support.model_server.chat import Chat, Reply
from tests.support.prompts import Recognised, recognise

THOUGHT = "I go through what is asked, one point after the other."
_SWITCH = re.compile(r"\s*/(no_)?think\s*$")


class Stage(NamedTuple):
    """How one prompt is answered.

    Attributes:
        answer: from the prompt's slots, a mistake and a source of chance.
        mistakes: those that it can make.
    """

    answer: Callable[[Mapping[str, str], str | None, Random], str]
    mistakes: tuple[str, ...] = ()


class PromptAnswers:
    """Recognises every prompt of the project by its text and answers it."""

    def answer(self, chat: Chat, mistake: str | None, seed: int) -> Reply:
        """What is asked for, or where that cannot be had, a plain sentence that says so."""
        rng = chat.rng(seed)
        thought = THOUGHT if _thinks(chat) else ""
        if found := _recognise(chat):
            stage = STAGES[found.name]
            if mistake == "mistake" and stage.mistakes:
                mistake = rng.choice(stage.mistakes)
            wrong = mistake if mistake in stage.mistakes else None
            try:
                text = stage.answer(found.slots, wrong, rng)
            except TablemendError as error:
                text = f"There is nothing that I could answer: {error}"
        else:
            text = "I have read this, and there is nothing that I can add to it."
        return Reply(text, thought=thought)


def _recognise(chat: Chat) -> Recognised | None:
    """The prompt; a switch for thinking behind it is not part of it."""
    messages = [{"role": role, "content": _SWITCH.sub("", text)} for role, text in chat.turns[:2]]
    return recognise(messages)


def _thinks(chat: Chat) -> bool:
    """Whether to think: a switch behind the last user turn comes before the template's."""
    match = _SWITCH.search(chat.users[-1]) if chat.users else None
    return chat.thinking if match is None else match[1] is None


def _verifier(yes: str, no: str) -> Stage:
    return Stage(lambda _, mistake, __: pipeline.verdict(yes, no, mistake), ("wrong-verdict",))


REWRITE = Stage(rewrites.rewrite, ("wrong-rewrite", "chatty", "whole-sentence"))
STAGES: dict[str, Stage] = {
    "kernel": Stage(pipeline.kernel, ("unsorted",)),
    "query": Stage(pipeline.query, ("no-sort",)),
    "constraints": Stage(pipeline.constraints, ("no-scope",)),
    "perturb": Stage(pipeline.perturb, ("lost-gold",)),
    "verify_kernel": _verifier("CORRECT", "INCORRECT"),
    "verify_preserved": _verifier("YES", "NO"),
    "verify_distractors": _verifier("VALID", "INVALID"),
    "extract": Stage(claims.extract),
    "verify": Stage(claims.verify),
    "rewrite_value": REWRITE,
    "rewrite_comparison": REWRITE,
    "rewrite_time": REWRITE,
    "rewrite_relation": REWRITE,
    "rewrite_cell": Stage(rewrites.rewrite_cell),
    "rewrite_row": Stage(rewrites.rewrite_row),
    **dict.fromkeys(
        SUMMARIES.values(), Stage(summaries.summarise, ("injected-error", "one-sentence"))
    ),
}
