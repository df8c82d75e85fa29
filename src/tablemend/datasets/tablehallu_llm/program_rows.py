"""Rows whose kernel the program makes and a model puts into other words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tablemend.datasets.tablehallu_llm.asking import GivenUp, Talk
from tablemend.datasets.tablehallu_llm.drafts import KernelDraft
from tablemend.datasets.tablehallu_llm.paraphrase import ENGINE as PARAPHRASE
from tablemend.datasets.tablehallu_llm.paraphrase import paraphrase_example
from tablemend.datasets.tablehallu_llm.rows import Rejection, Row
from tablemend.datasets.tablehallu_llm.settings import LlmSynthesis
from tablemend.datasets.tablehallu_llm.stages import ENGINE, Kernel, Models, Stages
from tablemend.prompting.replies import Problem
from tablemend.records import Example

NO_EXAMPLE = "the program found no example"


async def make_program_row(
    number: int, example: Example | None, settings: LlmSynthesis, models: Models
) -> Row:
    """Make row ``number`` of an example of the program engine, or give it up.

    Table, query and constraints stay the program's. Verifier 1 reads the reworded kernel: a
    program sees that every value is there, not that each is said of the right attribute. With
    ``perturbation=program`` the distractors are out of scope by construction; otherwise a model
    perturbs the reworded gold context and verifier 2 reads the result.

    Args:
        number: the row's.
        example: ``None`` where the program could make none.
        settings: with ``kernel=program``.
        models: who is asked.
    """
    talk = Talk(number, settings.seed, settings.retries)
    if example is None:
        return Row(number, None, (Rejection("kernel", NO_EXAMPLE, NO_EXAMPLE, 0),))
    stages = Stages(settings, models, talk)
    try:
        made = await _reword(example, settings, models, talk, stages)
        if settings.perturbation == "llm":
            text, facts = await stages.perturb(_kernel(made))
            made = replace(
                made,
                adversarial_context=text,
                facts=facts,
                difficulty=stages.difficulty,
                id="",
            )
    except GivenUp:
        return Row(number, None, tuple(talk.rejections), tuple(talk.calls))
    perturbed = f"{ENGINE} " if settings.perturbation == "llm" else ""
    made = replace(
        made,
        engine=f"{example.engine} {PARAPHRASE} {perturbed}".rstrip(),
        calls=tuple(talk.calls),
        id="",
    )
    return Row(number, made, tuple(talk.rejections), tuple(talk.calls))


async def _reword(
    example: Example, settings: LlmSynthesis, models: Models, talk: Talk, stages: Stages
) -> Example:
    """The example in words that verifier 1 takes; other words are drawn where it does not.

    Raises:
        GivenUp: none were taken.
    """
    only_gold = settings.perturbation == "llm"
    for restart in range(settings.restarts + 1):
        made, _, _ = await paraphrase_example(
            example, talk, models.generator, settings.paraphrase, settings.retries, only_gold
        )
        problems: Sequence[Problem] = await stages.verify_kernel(_kernel(made).draft, made.query)
        if not problems:
            return made
        talk.reject("verify_kernel", restart, problems)
    raise GivenUp


def _kernel(example: Example) -> Kernel:
    constraints = example.constraints
    draft = KernelDraft(
        example.gold_table, constraints.sort_column, constraints.sort_order, example.gold_context
    )
    return Kernel(draft, example.query, constraints)
