"""Answers by program: what a model would say to a prompt, worked out from the prompt alone.

It keeps nothing between requests. Chance comes from the server's seed, the turns of the chat and
the request's seed, so an answer that is asked for again with the reasons for its rejection, or
with another seed, is another one, and the same request always has the same answer.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import asdict
from random import Random
from typing import NamedTuple

from tablemend.datasets.tabfaith.prompting import STAGES as SUMMARIES
from tablemend.datasets.tablehallu.kernel import Rejected
from tablemend.datasets.tablehallu_llm.parsing import read_constraints
from tablemend.datasets.tablehallu_llm.prompting import BLANK
from tablemend.errors import TablemendError
from tablemend.prompting.replies import Unreadable
from tablemend.records import SortOrder
from tablemend.tables.markdown import read_markdown
from tablemend.tables.table import Table
from tests.support.model_server import (
    claims,
    kernels,
    perturbations,
    queries,
    rewrites,
    summaries,
    verdicts,
)
from tests.support.model_server.chat import Chat, Reply
from tests.support.prompts import Recognised, recognise

OTHER = "other"
THOUGHT = "I go through what is asked, one point after the other."
_SWITCH = re.compile(r"\s*/(no_)?think\s*$")

Slots = Mapping[str, str]
Said = tuple[str, bool]
"""An answer, and whether it has the mistake that was asked for."""


class Stage(NamedTuple):
    """How one prompt is answered.

    Attributes:
        answer: from the prompt's slots, a mistake and a source of chance.
        mistakes: those that it can make.
    """

    answer: Callable[[Slots, str | None, Random], Said]
    mistakes: tuple[str, ...]


class Oracle:
    """Tells the stages of all rooms apart by their prompts and answers each."""

    def stage(self, chat: Chat) -> str:
        """The name of the prompt; ``other`` for what is none of ours."""
        found = _recognise(chat)
        return OTHER if found is None else found.name

    def answer(self, chat: Chat, mistake: str | None, seed: int) -> Reply:
        """What is asked for, or where that cannot be had, a plain sentence that says so."""
        rng = chat.rng(seed)
        thought = THOUGHT if _thinks(chat) else ""
        if found := _recognise(chat):
            stage = STAGES[found.name]
            try:
                text, made = stage.answer(found.slots, drawn(mistake, stage.mistakes, rng), rng)
            except (Rejected, Unreadable, TablemendError) as error:
                text, made = f"There is nothing that I could answer: {error}", False
        else:
            text, made = "I have read this, and there is nothing that I can add to it.", False
        return Reply(text, thought=thought, mistaken=made)


def _recognise(chat: Chat) -> Recognised | None:
    """The prompt; a switch for thinking behind it is not part of it."""
    messages = [{"role": role, "content": _SWITCH.sub("", text)} for role, text in chat.turns[:2]]
    return recognise(messages)


def _thinks(chat: Chat) -> bool:
    """Whether to think: a switch behind the last user turn comes before the template's."""
    match = _SWITCH.search(chat.users[-1]) if chat.users else None
    return chat.thinking if match is None else match[1] is None


def drawn(mistake: str | None, known: tuple[str, ...], rng: Random) -> str | None:
    """The mistake as this stage can make it; ``mistake`` is any."""
    if mistake == "mistake" and known:
        return rng.choice(known)
    return mistake if mistake in known else None


def _shown(text: str) -> Table:
    """A table as a prompt shows it, with its empty cells."""
    table = read_markdown(text)
    rows = [[None if cell == BLANK else cell for cell in row] for row in table.rows]
    return Table.of(table.columns, rows)


def _kernel(slots: Slots, mistake: str | None, rng: Random) -> Said:
    draft, made = kernels.write_kernel(slots, mistake, rng)
    data = {
        "title": draft.table.title,
        "columns": draft.table.columns,
        "rows": draft.table.rows,
        "sort_column": draft.sort_column,
        "sort_order": draft.sort_order,
        "context": draft.context,
    }
    return json.dumps(data, ensure_ascii=False), made


def _query(slots: Slots, mistake: str | None, rng: Random) -> Said:
    order: SortOrder = "descending" if slots["sort_order"] == "descending" else "ascending"
    table = _shown(slots["table"])
    return queries.write_query(table, slots["sort_column"], order, mistake, rng)


def _constraints(slots: Slots, mistake: str | None, rng: Random) -> Said:
    constraints = queries.read_query(slots["query"], _shown(slots["table"]))
    wrong = None if mistake is None else queries.misread(constraints, mistake)
    return json.dumps(asdict(wrong or constraints), ensure_ascii=False), wrong is not None


def _perturb(slots: Slots, mistake: str | None, rng: Random) -> Said:
    return perturbations.write_perturbation(
        perturbations.Shown(
            _shown(slots["table"]), read_constraints(slots["constraints"]), slots["context"]
        ),
        int(slots["factor"]),
        mistake,
        rng,
    )


def _verify_kernel(slots: Slots, mistake: str | None, rng: Random) -> Said:
    problems = verdicts.judge_kernel(slots, _shown(slots["table"]))
    return verdicts.say(problems, "CORRECT", "INCORRECT", mistake)


def _verify_preserved(slots: Slots, mistake: str | None, rng: Random) -> Said:
    return verdicts.say(verdicts.judge_preserved(slots), "YES", "NO", mistake)


def _verify_distractors(slots: Slots, mistake: str | None, rng: Random) -> Said:
    problems = verdicts.judge_distractors(slots, _shown(slots["table"]))
    return verdicts.say(problems, "VALID", "INVALID", mistake)


STAGES: dict[str, Stage] = {
    "kernel": Stage(_kernel, kernels.MISTAKES),
    "query": Stage(_query, queries.MISTAKES),
    "constraints": Stage(_constraints, queries.MISREADINGS),
    "perturb": Stage(_perturb, perturbations.MISTAKES),
    "verify_kernel": Stage(_verify_kernel, verdicts.MISTAKES),
    "verify_preserved": Stage(_verify_preserved, verdicts.MISTAKES),
    "verify_distractors": Stage(_verify_distractors, verdicts.MISTAKES),
    "extract": Stage(claims.extract, claims.EXTRACT_MISTAKES),
    "verify": Stage(claims.verify, claims.VERIFY_MISTAKES),
    "rewrite_value": Stage(rewrites.rewrite, rewrites.WORDS_MISTAKES),
    "rewrite_comparison": Stage(rewrites.rewrite, rewrites.WORDS_MISTAKES),
    "rewrite_time": Stage(rewrites.rewrite, rewrites.WORDS_MISTAKES),
    "rewrite_relation": Stage(rewrites.rewrite, rewrites.WORDS_MISTAKES),
    "rewrite_cell": Stage(rewrites.rewrite_cell, rewrites.CELL_MISTAKES),
    "rewrite_row": Stage(rewrites.judge_row, rewrites.ROW_MISTAKES),
    **dict.fromkeys(SUMMARIES.values(), Stage(summaries.summarise, summaries.MISTAKES)),
}
