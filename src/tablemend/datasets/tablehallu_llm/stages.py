"""The stages of one row (TableHallu, 3.2 and Appendix A).

A row is a chain: kernel, query, constraints, verifier 1, perturbation, verifier 2 in two steps.
What a program can check it checks first; a model verifies what is left. A rejected stage is asked
again with the reasons in the prompt, a bounded number of times, and every rejection is noted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from random import Random
from typing import NamedTuple

from tablemend.backends.requests import Message
from tablemend.datasets.tablehallu.program_engine import EXPANSION
from tablemend.datasets.tablehallu.settings import Difficulty
from tablemend.datasets.tablehallu_llm.asking import Asked, GivenUp, Talk
from tablemend.datasets.tablehallu_llm.parsing import (
    KernelDraft,
    read_constraints,
    read_context,
    read_kernel,
    read_query,
)
from tablemend.datasets.tablehallu_llm.checks import check_adversarial, check_kernel, locate_facts
from tablemend.datasets.tablehallu_llm.prompting import (
    render,
    show_blanks,
    show_constraints,
    show_table,
    with_problems,
)
from tablemend.datasets.tablehallu_llm.queries import (
    check_constraints,
    check_query,
)
from tablemend.datasets.tablehallu_llm.rows import Row
from tablemend.datasets.tablehallu_llm.settings import LlmSynthesis
from tablemend.datasets.tablehallu_llm.topics import Topic
from tablemend.prompting.replies import Problem
from tablemend.records import Constraints, Example, Fact

ENGINE = "llm/1"
"""Version of the chain; the prompts have versions of their own."""


class Models(NamedTuple):
    """The two models (the paper: GPT-4.1 writes, Qwen3-235B verifies)."""

    generator: Asked
    verifier: Asked


class Kernel(NamedTuple):
    """The ground truth of a row: table and context, query, constraints."""

    draft: KernelDraft
    query: str
    constraints: Constraints


async def make_row(number: int, topic: Topic, settings: LlmSynthesis, models: Models) -> Row:
    """Make row ``number`` with a kernel that a model writes, or give it up.

    The row depends on the settings, the topic, the number and the models' answers alone, never
    on other rows; it says what it took and what was rejected.
    """
    talk = Talk(number, settings.seed, settings.retries)
    stages = Stages(settings, models, talk)
    try:
        kernel = await stages.kernel(topic)
        adversarial, facts = await stages.perturb(kernel)
    except GivenUp:
        return Row(number, None, tuple(talk.rejections), tuple(talk.calls))
    example = Example(
        topic=topic.text,
        category=topic.category,
        domain=topic.domain,
        query=kernel.query,
        constraints=kernel.constraints,
        gold_table=kernel.draft.table,
        gold_context=kernel.draft.context,
        adversarial_context=adversarial,
        difficulty=stages.difficulty,
        facts=facts,
        source=models.generator.name,
        source_hash=kernel.draft.table.content_hash(),
        engine=ENGINE,
        seed=settings.seed,
        calls=tuple(talk.calls),
    )
    return Row(number, example, tuple(talk.rejections), tuple(talk.calls))


class Stages:
    """The stages of one row, each asked until it passes or is given up.

    Args:
        settings: what to make.
        models: who is asked.
        talk: the row's calls and rejections.
    """

    def __init__(self, settings: LlmSynthesis, models: Models, talk: Talk) -> None:
        self._settings, self._models, self._talk = settings, models, talk
        self.difficulty = draw_difficulty(settings, talk.number)

    async def kernel(self, topic: Topic) -> Kernel:
        """Stage 1 and the constraints of its query, passed by verifier 1.

        A kernel that the verifier does not take is written anew, with its reasons.

        Raises:
            GivenUp: no kernel passed.
        """
        shape = self._settings.shape
        messages: Sequence[Message] = render(
            "kernel",
            topic=topic.text,
            category=topic.category,
            columns=f"{shape.min_columns} to {shape.max_columns}",
            rows=f"{shape.min_rows} to {shape.max_rows}",
        )
        chat = messages
        for restart in range(self._settings.restarts + 1):
            answer = ""
            try:
                draft, answer = await self._write_kernel(chat)
                query = await self._write_query(draft)
                constraints = await self._find_constraints(draft, query)
            except GivenUp:
                if self._talk.failed or restart == self._settings.restarts:
                    raise
                chat = messages  # another draw: its query or constraints could not be had
                continue
            problems = await self.verify_kernel(draft, query)
            if not problems:
                return Kernel(draft, query, constraints)
            self._talk.reject("verify_kernel", restart, problems)
            chat = with_problems(messages, answer, problems)
        raise GivenUp

    async def _write_kernel(self, chat: Sequence[Message]) -> tuple[KernelDraft, str]:
        shape = self._settings.shape
        return await self._talk.draft(
            self._models.generator,
            "kernel",
            chat,
            read_kernel,
            lambda draft: check_kernel(draft, shape),
        )

    async def _write_query(self, draft: KernelDraft) -> str:
        messages = render(
            "query",
            table=show_table(draft.table),
            context=draft.context,
            sort_column=draft.sort_column,
            sort_order=draft.sort_order,
        )
        query, _ = await self._talk.draft(
            self._models.generator,
            "query",
            messages,
            read_query,
            lambda query: check_query(query, draft),
        )
        return query

    async def _find_constraints(self, draft: KernelDraft, query: str) -> Constraints:
        messages = render("constraints", query=query, table=show_table(draft.table))
        constraints, _ = await self._talk.draft(
            self._models.generator,
            "constraints",
            messages,
            read_constraints,
            lambda constraints: check_constraints(constraints, draft, query),
        )
        # the query says the kernel's sort rule: that was checked
        return replace(constraints, sort_column=draft.sort_column, sort_order=draft.sort_order)

    async def verify_kernel(self, draft: KernelDraft, query: str) -> Sequence[Problem]:
        """Verifier 1 (A.3.1)."""
        messages = render(
            "verify_kernel", context=draft.context, query=query, table=show_table(draft.table)
        )
        return await self._verify("verify_kernel", messages, "CORRECT", "INCORRECT")

    async def perturb(self, kernel: Kernel) -> tuple[str, tuple[Fact, ...]]:
        """Stage 2, passed by verifier 2.

        Returns:
            The adversarial context and the places of the gold facts in both contexts.

        Raises:
            GivenUp: nothing passed.
        """
        factor = EXPANSION[self.difficulty]
        messages = render(
            "perturb",
            context=kernel.draft.context,
            query=kernel.query,
            constraints=show_constraints(kernel.constraints),
            table=show_table(kernel.draft.table),
            nulls=show_blanks(kernel.draft.table),
            factor=str(factor),
            words=str(round(len(kernel.draft.context.split()) * factor, -2)),
        )
        text, _ = await self._talk.draft(
            self._models.generator,
            "perturb",
            messages,
            read_context,
            lambda text: check_adversarial(
                kernel.draft, text, self._settings.min_expansion * factor
            ),
            lambda text: self._verify_adversarial(kernel, text),
        )
        return text, locate_facts(kernel.draft, text)

    async def _verify_adversarial(self, kernel: Kernel, text: str) -> Sequence[Problem]:
        """Verifier 2 (A.3.2): first what was there, then what came in."""
        messages = render("verify_preserved", adversarial=text, context=kernel.draft.context)
        if problems := await self._verify("verify_preserved", messages, "YES", "NO"):
            return problems
        messages = render(
            "verify_distractors",
            adversarial=text,
            context=kernel.draft.context,
            query=kernel.query,
            constraints=show_constraints(kernel.constraints),
            table=show_table(kernel.draft.table),
        )
        return await self._verify("verify_distractors", messages, "VALID", "INVALID")

    async def _verify(
        self, stage: str, messages: Sequence[Message], yes: str, no: str
    ) -> Sequence[Problem]:
        verdict = await self._talk.verdict(self._models.verifier, stage, messages, yes, no)
        if verdict.ok:
            return ()
        return [Problem(f"{stage}: {no}", verdict.reason or f"A reader scored it {no}.")]


def draw_difficulty(settings: LlmSynthesis, number: int) -> Difficulty:
    """The difficulty of a row; where it is mixed, the number decides."""
    if settings.difficulty != "mixed":
        return settings.difficulty
    return Random(f"{ENGINE}:{settings.seed}:{number}").choice(tuple(EXPANSION))
