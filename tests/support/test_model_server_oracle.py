"""The model server: what it answers passes the pipeline's checks, and its mistakes do not."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace

import pytest

from tablemend.backends.backend import open_backend
from tablemend.backends.requests import Sampling
from tablemend.config.backend import BackendOptions
from tablemend.datasets.tablehallu.settings import Shape
from tablemend.datasets.tablehallu_llm import checks, omissions, parsing, preservation
from tablemend.datasets.tablehallu_llm import queries as checked_queries
from tablemend.datasets.tablehallu_llm.asking import Asked
from tablemend.datasets.tablehallu_llm.drafts import KernelDraft
from tablemend.datasets.tablehallu_llm.prompting import (
    STAGES,
    render,
    show_blanks,
    show_constraints,
    show_table,
    with_problems,
)
from tablemend.datasets.tablehallu_llm.rows import Row
from tablemend.datasets.tablehallu_llm.settings import LlmSynthesis
from tablemend.datasets.tablehallu_llm.stages import Models, make_row
from tablemend.datasets.tablehallu_llm.topics import PoolTopics
from tablemend.prompting import replies
from tablemend.prompting.replies import Problem
from tablemend.records import Constraints
from tests.support.model_server import kernels, oracle, perturbations, queries
from tests.support.model_server.chat import Chat, Reply, read_chat
from tests.support.model_server.faults import MISTAKES
from tests.support.model_server.oracle import Oracle
from tests.support.prompts import openings

SEEDS = range(20)
SHAPE = Shape(min_rows=5, max_rows=8)
TOPICS = PoolTopics(seed=1)
FACTOR = 10
FLOOR = 5.0


def chat_of(name: str, seed: int = 0, temperature: float = 0.6, **slots: str) -> Chat:
    turns = tuple((turn["role"], turn["content"]) for turn in render(name, **slots))
    return Chat("m", turns, seed, temperature)


def say(name: str, mistake: str | None = None, seed: int = 0, **slots: str) -> Reply:
    chat = chat_of(name, seed, **slots)
    assert Oracle().stage(chat) == name
    return Oracle().answer(chat, mistake, 0)


def kernel_slots(seed: int) -> dict[str, str]:
    topic = TOPICS.topic(seed)
    return {
        "topic": topic.text,
        "category": topic.category,
        "columns": "4 to 7",
        "rows": "5 to 8",
    }


@dataclass(frozen=True)
class Made:
    """One chain as far as the perturbation, with the slots of its later prompts."""

    seed: int
    draft: KernelDraft
    query: str
    constraints: Constraints
    adversarial: str

    @property
    def query_slots(self) -> dict[str, str]:
        draft = self.draft
        shown = {"sort_column": draft.sort_column, "sort_order": draft.sort_order}
        return {"table": show_table(draft.table), "context": draft.context, **shown}

    @property
    def perturb_slots(self) -> dict[str, str]:
        return {
            "context": self.draft.context,
            "query": self.query,
            "constraints": show_constraints(self.constraints),
            "table": show_table(self.draft.table),
            "nulls": show_blanks(self.draft.table),
            "factor": str(FACTOR),
            "words": "1000",
        }

    def verdict(self, text: str) -> dict[str, bool]:
        """What the three verifiers say of a long text."""
        slots = {"context": self.draft.context, "adversarial": text}
        table = show_table(self.draft.table)
        kernel = {"context": self.draft.context, "query": self.query, "table": table}
        more = {"query": self.query, "constraints": show_constraints(self.constraints)}
        answers = (
            ("verify_kernel", "CORRECT", "INCORRECT", kernel),
            ("verify_preserved", "YES", "NO", slots),
            ("verify_distractors", "VALID", "INVALID", {**slots, **more, "table": table}),
        )
        return {
            name: replies.read_verdict(say(name, **asked).content, yes, no).ok
            for name, yes, no, asked in answers
        }


def make(seed: int) -> Made:
    draft = parsing.read_kernel(say("kernel", seed=seed, **kernel_slots(seed)).content)
    made = Made(seed, draft, "", Constraints((), None, "", "ascending"), "")
    query = parsing.read_query(say("query", seed=seed, **made.query_slots).content)
    read = say("constraints", seed=seed, query=query, table=show_table(draft.table))
    made = replace(made, query=query, constraints=parsing.read_constraints(read.content))
    text = say("perturb", seed=seed, **made.perturb_slots).content
    return replace(made, adversarial=parsing.read_context(text))


@pytest.fixture(scope="module")
def chains() -> list[Made]:
    return [make(seed) for seed in SEEDS]


def test_every_stage_of_the_chain_passes_the_checks(chains: list[Made]) -> None:
    for made in chains:
        assert checks.check_kernel(made.draft, SHAPE) == []
        assert checked_queries.check_query(made.query, made.draft) == []
        assert checked_queries.check_constraints(made.constraints, made.draft, made.query) == []
        assert made.constraints.conditions
        found = preservation.check_adversarial(
            made.draft, made.constraints, made.adversarial, FLOOR
        )
        assert found == []
        assert all(made.verdict(made.adversarial).values())


def test_the_chains_differ(chains: list[Made]) -> None:
    assert len({made.draft.table.content_hash() for made in chains}) == len(chains)
    assert len({tuple(made.draft.table.columns) for made in chains}) > 8
    kinds = Counter(
        "values" if one.values else "open" if None in (one.low, one.high) else "range"
        for made in chains
        for one in made.constraints.conditions
    )
    assert {"open", "range"} <= set(kinds)
    assert {made.draft.sort_order for made in chains} == {"ascending", "descending"}
    assert any(len(made.constraints.conditions) == 2 for made in chains)


def kinds_of(problems: list[Problem]) -> set[str]:
    return {problem.kind for problem in problems}


def rejections(answer: Callable[[int], tuple[Reply, list[Problem]]], seeds: range) -> Counter[str]:
    """How often each kind of problem stands in answers that say that they are mistaken."""
    found: Counter[str] = Counter()
    for seed in seeds:
        reply, problems = answer(seed)
        if reply.mistaken:
            assert problems, reply.content
            found.update(kinds_of(problems))
    return found


KERNEL_KINDS = {
    "lost-fact": {checks.NOT_STATED},
    "stated-null": {omissions.NULL_STATED, omissions.NULL_REMARKED},
    "unsorted": {checks.UNSORTED},
    "no-null": {checks.NO_NULL},
    "double-row": {checks.SAME_ROW},
    "small-table": {checks.ROWS},
    "blank-word": {checks.BLANK_WORD},
    "lost-sort-column": {checks.SORT_COLUMN},
}


@pytest.mark.parametrize("mistake", kernels.MISTAKES)
def test_a_kernel_with_a_mistake_is_rejected_for_it(mistake: str) -> None:
    def answer(seed: int) -> tuple[Reply, list[Problem]]:
        reply = say("kernel", mistake, seed, **kernel_slots(seed))
        assert reply.mistaken
        return reply, checks.check_kernel(parsing.read_kernel(reply.content), SHAPE)

    found = rejections(answer, range(8))
    assert KERNEL_KINDS[mistake] <= set(found)


QUERY_KINDS = {
    "cell-in-query": checked_queries.CELL_IN_QUERY,
    "column-left-out": checked_queries.COLUMN_MISSING,
    "columns-shuffled": checked_queries.COLUMNS_UNORDERED,
    "no-sort": checked_queries.NO_SORT_RULE,
    "other-sort": checked_queries.OTHER_SORT_RULE,
}


@pytest.mark.parametrize("mistake", queries.MISTAKES)
def test_a_query_with_a_mistake_is_rejected_for_it(mistake: str, chains: list[Made]) -> None:
    def answer(seed: int) -> tuple[Reply, list[Problem]]:
        made = chains[seed]
        reply = say("query", mistake, seed, **made.query_slots)
        assert reply.mistaken
        return reply, checked_queries.check_query(parsing.read_query(reply.content), made.draft)

    assert rejections(answer, SEEDS)[QUERY_KINDS[mistake]] == len(SEEDS)


CONSTRAINT_KINDS = {
    "wrong-sort": checked_queries.SORT_FIELDS,
    "wrong-range": checked_queries.GOLD_OUT_OF_SCOPE,
    "unknown-column": checked_queries.NO_SUCH_COLUMN,
    "empty-condition": checked_queries.EMPTY_CONDITION,
    "no-scope": checked_queries.NO_SCOPE,
}


@pytest.mark.parametrize("mistake", queries.MISREADINGS)
def test_misread_constraints_are_rejected_for_it(mistake: str, chains: list[Made]) -> None:
    def answer(seed: int) -> tuple[Reply, list[Problem]]:
        made = chains[seed]
        table = show_table(made.draft.table)
        reply = say("constraints", mistake, seed, query=made.query, table=table)
        read = parsing.read_constraints(reply.content)
        assert reply.mistaken
        return reply, checked_queries.check_constraints(read, made.draft, made.query)

    assert rejections(answer, SEEDS)[CONSTRAINT_KINDS[mistake]] == len(SEEDS)


PERTURB_KINDS = {
    "lost-gold": {preservation.LOST},
    "stated-blank": {omissions.NULL_STATED, omissions.NULL_REMARKED},
    "changed-gold": {preservation.RESTATED},
    "no-distractor": {preservation.TOO_SHORT},
    "clustered": {preservation.CLUSTERED},
}


@pytest.mark.parametrize("mistake", PERTURB_KINDS)
def test_a_perturbation_with_a_mistake_is_rejected_for_it(mistake: str, chains: list[Made]) -> None:
    found: Counter[str] = Counter()
    for made in chains[:8]:
        reply = say("perturb", mistake, made.seed, **made.perturb_slots)
        assert reply.mistaken
        text = parsing.read_context(reply.content)
        found.update(
            kinds_of(preservation.check_adversarial(made.draft, made.constraints, text, FLOOR))
            & PERTURB_KINDS[mistake]
        )
    # "Restated" is what can be read without doubt, so not in every case.
    assert found.total() >= (2 if mistake == "changed-gold" else 8)


def test_verifiers_see_what_is_wrong_and_can_be_wrong_themselves(chains: list[Made]) -> None:
    made, other = chains[0], chains[1]
    assert not made.verdict(other.adversarial)["verify_preserved"]
    assert not made.verdict(other.adversarial)["verify_distractors"]
    table = show_table(made.draft.table)
    slots = {"context": made.draft.context, "query": made.query, "table": table}
    foreign = say("verify_kernel", **{**slots, "context": other.draft.context}).content
    assert not replies.read_verdict(foreign, "CORRECT", "INCORRECT").ok
    wrong = say("verify_kernel", "wrong-verdict", **slots)
    assert wrong.mistaken and not replies.read_verdict(wrong.content, "CORRECT", "INCORRECT").ok
    both = say("verify_kernel", "two-verdicts", **slots)
    with pytest.raises(replies.Unreadable, match=replies.TWO_VERDICTS):
        replies.read_verdict(both.content, "CORRECT", "INCORRECT")


def test_an_answer_depends_on_turns_and_seed_and_on_nothing_else() -> None:
    slots = kernel_slots(3)
    first = say("kernel", seed=1, **slots)
    assert say("kernel", seed=1, **slots) == first
    assert say("kernel", seed=2, **slots) != first
    cold = [Oracle().answer(chat_of("kernel", seed, 0.0, **slots), None, 0) for seed in (1, 2)]
    assert cold[0] == cold[1]
    assert Oracle().answer(chat_of("kernel", 1, **slots), None, seed=9) != first


def test_a_rejected_answer_is_mended_in_the_next_turn() -> None:
    messages = render("kernel", **kernel_slots(5))
    first = say("kernel", "unsorted", **kernel_slots(5))
    problems = checks.check_kernel(parsing.read_kernel(first.content), SHAPE)
    turns = with_problems(messages, first.content, problems)
    chat = Chat("m", tuple((turn["role"], turn["content"]) for turn in turns))
    assert Oracle().stage(chat) == "kernel"
    second = Oracle().answer(chat, None, 0)
    draft = parsing.read_kernel(second.content)
    assert checks.check_kernel(draft, SHAPE) == []
    assert draft.table != parsing.read_kernel(first.content).table


@pytest.mark.parametrize("switch", ["", " /no_think", " /think"])
def test_thinking_is_switched_by_the_template_and_by_the_prompt(switch: str) -> None:
    (system, user) = render("kernel", **kernel_slots(0))
    turns = [system, {**user, "content": user["content"] + switch}]
    for given in (True, False):
        body = {"messages": turns, "chat_template_kwargs": {"enable_thinking": given}}
        chat = read_chat(json.dumps(body).encode())
        assert Oracle().stage(chat) == "kernel"
        reply = Oracle().answer(chat, None, 0)
        assert bool(reply.thought) == (switch == " /think" if switch else given)
        assert "<think>" not in reply.content


def test_every_mistake_belongs_to_a_stage() -> None:
    by_stage = [stage.mistakes for stage in oracle.STAGES.values()]
    known = [prompt.name for prompt in openings()]
    assert len(known) == len(set(known)) and set(oracle.STAGES) == set(known)
    assert {name for names in by_stage for name in names} == set(MISTAKES) - {"mistake"}
    assert set(perturbations.MISTAKES) == set(PERTURB_KINDS)


@pytest.mark.parametrize(
    "faults", ["", "429:0.15+500:0.1+cut:0.1+reset:0.05+mistake:0.1+prose:0.1"]
)
def test_whole_rows_are_made_through_the_server(
    faults: str, model_server: Callable[..., str]
) -> None:
    """The pipeline, its client and the server as a process: three stages over HTTP."""
    settings = LlmSynthesis(generator="hf:a/b", retries=6, restarts=3)
    asked_of = BackendOptions(cache=None, backoff=0.01, retries=8)
    with open_backend(model_server("--seed=2", f"--faults={faults}"), asked_of) as backend:
        asked = Asked("scripted", backend, Sampling(30_000, 0.6))

        async def rows() -> list[Row]:
            numbers = range(4)
            return await asyncio.gather(
                *(make_row(n, TOPICS.topic(n), settings, Models(asked, asked)) for n in numbers)
            )

        made = asyncio.run(rows())
    assert all(row.example is not None for row in made)
    assert {call.stage for row in made for call in row.calls} == set(STAGES)
    assert any(row.rejections for row in made) == bool(faults)
