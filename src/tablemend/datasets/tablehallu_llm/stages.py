"""The stages of one row (TableHallu, 3.2 and Appendix A), and the models that are asked.

A row is a chain: kernel, query, constraints, verifier 1, perturbation, verifier 2 in two steps.
What a program can check it checks first; a model verifies what is left. A rejected stage is asked
again with the reasons in the prompt, a bounded number of times, and every rejection is noted.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace
from random import Random
from typing import Any, NamedTuple

from tablemend.backends.asking import short_name
from tablemend.backends.backend import open_backend
from tablemend.backends.requests import Sampling
from tablemend.datasets.tablehallu_llm.asking import Asked, GivenUp, Row, Talk
from tablemend.datasets.tablehallu_llm.checks import check_adversarial, check_kernel, locate_facts
from tablemend.datasets.tablehallu_llm.parsing import (
    KernelDraft,
    read_constraints,
    read_context,
    read_kernel,
    read_query,
)
from tablemend.datasets.tablehallu_llm.prompting import (
    render,
    show_blanks,
    show_constraints,
    show_table,
)
from tablemend.datasets.tablehallu_llm.queries import check_constraints, check_query
from tablemend.datasets.tablehallu_llm.settings import LlmSynthesis
from tablemend.datasets.tablehallu_llm.topics import Topic, Topics
from tablemend.prompting.replies import Problem
from tablemend.records import Constraints, Example, Fact
from tablemend.tasks.tablehallu.engine import EXPANSION

ENGINE = "llm/2"
"""Version of the chain; the prompts have versions of their own."""
THINKS = {None: None, "on": True, "off": False}


class Models(NamedTuple):
    """The two models (the paper: GPT-4.1 writes, Qwen3-235B verifies)."""

    generator: Asked
    verifier: Asked


class Kernel(NamedTuple):
    """The ground truth of a row: table and context, query, constraints."""

    draft: KernelDraft
    query: str
    constraints: Constraints


class RowMaker:
    """Makes the row of a number with the models of the settings, which the stack closes.

    Raises:
        TablemendError: a model cannot be had; weights are loaded with the first request.
    """

    def __init__(self, settings: LlmSynthesis, topics: Topics, stack: ExitStack) -> None:
        self._settings, self._topics = settings, topics
        sampling = Sampling(settings.max_new_tokens, settings.temperature)
        writes = settings.generator, settings.generator_options
        verifies = settings.verifier_model, settings.asked_of_verifier
        generator = verifier = stack.enter_context(open_backend(*writes))
        if verifies != writes:
            verifier = stack.enter_context(open_backend(*verifies))
        self._models = Models(
            Asked(short_name(generator), generator, sampling, THINKS[settings.generator_thinking]),
            Asked(short_name(verifier), verifier, sampling, THINKS[settings.verifier_thinking]),
        )

    @property
    def identity(self) -> dict[str, Any]:
        """What answers depend on beside the request; the address of a server is left out."""
        return {
            role: {name: value for name, value in asked.model.identity.items() if name != "server"}
            for role, asked in self._models._asdict().items()
        }

    async def make(self, number: int) -> Row:
        """The row of a number."""
        return await make_row(number, self._topics.topic(number), self._settings, self._models)

    async def leave(self) -> None:
        """Take the models out of the event loop, at its end."""
        for backend in {asked.model for asked in self._models}:
            await backend.leave()


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
        return Row(number, (), tuple(talk.rejections), tuple(talk.calls))
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
    return Row(number, (example,), tuple(talk.rejections), tuple(talk.calls))


class Stages:
    """The stages of one row, each asked until it passes or is given up."""

    def __init__(self, settings: LlmSynthesis, models: Models, talk: Talk) -> None:
        self._settings, self._models, self._talk = settings, models, talk
        drawn = Random(f"{ENGINE}:{settings.seed}:{talk.number}").choice(tuple(EXPANSION))
        self.difficulty = drawn if settings.difficulty == "mixed" else settings.difficulty

    async def kernel(self, topic: Topic) -> Kernel:
        """Stage 1 and the constraints of its query, passed by verifier 1 (A.3.1).

        Raises:
            GivenUp: no kernel passed, or its query or constraints could not be had.
        """
        shape = self._settings.shape
        made: list[Kernel] = []

        async def verify(draft: KernelDraft) -> Sequence[Problem]:
            made.append(await self._ask_for_table(draft))
            query, table = made[-1].query, show_table(draft.table)
            shown = render("verify_kernel", context=draft.context, query=query, table=table)
            return await self._talk.verify(
                self._models.verifier, "verify_kernel", shown, "CORRECT", "INCORRECT"
            )

        await self._talk.draft(
            self._models.generator,
            "kernel",
            render(
                "kernel",
                topic=topic.text,
                category=topic.category,
                columns=f"{shape.min_columns} to {shape.max_columns}",
                rows=f"{shape.min_rows} to {shape.max_rows}",
            ),
            read_kernel,
            lambda draft: check_kernel(draft, shape),
            verify,
        )
        return made[-1]

    async def _ask_for_table(self, draft: KernelDraft) -> Kernel:
        """The request for a table, and its constraints."""
        table, generator = show_table(draft.table), self._models.generator
        column, order = draft.sort_column, draft.sort_order
        query = await self._talk.draft(
            generator,
            "query",
            render(
                "query", table=table, context=draft.context, sort_column=column, sort_order=order
            ),
            read_query,
            lambda query: check_query(query, draft),
        )
        constraints = await self._talk.draft(
            generator,
            "constraints",
            render("constraints", query=query, table=table),
            read_constraints,
            lambda constraints: check_constraints(constraints, draft, query),
        )
        # the query says the kernel's sort rule: that was checked
        return Kernel(draft, query, replace(constraints, sort_column=column, sort_order=order))

    async def perturb(self, kernel: Kernel) -> tuple[str, tuple[Fact, ...]]:
        """Stage 2, passed by verifier 2: the adversarial context, the gold facts' places in both.

        Raises:
            GivenUp: nothing passed.
        """
        draft, factor = kernel.draft, EXPANSION[self.difficulty]
        shown = {
            "context": draft.context,
            "query": kernel.query,
            "constraints": show_constraints(kernel.constraints),
            "table": show_table(draft.table),
        }
        words = str(round(len(draft.context.split()) * factor, -2))
        nulls = show_blanks(draft.table)

        async def verify(text: str) -> Sequence[Problem]:
            """Verifier 2 (A.3.2): first what was there, then what came in."""
            preserved = render("verify_preserved", adversarial=text, context=draft.context)
            added = render("verify_distractors", adversarial=text, **shown)
            if problems := await self._talk.verify(
                self._models.verifier, "verify_preserved", preserved, "YES", "NO"
            ):
                return problems
            return await self._talk.verify(
                self._models.verifier, "verify_distractors", added, "VALID", "INVALID"
            )

        text = await self._talk.draft(
            self._models.generator,
            "perturb",
            render("perturb", nulls=nulls, factor=str(factor), words=words, **shown),
            read_context,
            lambda text: check_adversarial(draft, text, self._settings.min_expansion * factor),
            verify,
        )
        return text, locate_facts(draft, text)
