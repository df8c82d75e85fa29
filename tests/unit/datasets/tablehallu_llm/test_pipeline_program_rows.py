"""Kernels of the program in a model's words, perturbed by the program or by a model."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

import pytest

from tablemend.backends.requests import Completion, Request, Sampling
from tablemend.datasets.tablehallu.engine import open_maker
from tablemend.datasets.tablehallu.verification import Limits, verify
from tablemend.datasets.tablehallu_llm.asking import Asked
from tablemend.datasets.tablehallu_llm.program_rows import NO_EXAMPLE, make_program_row
from tablemend.datasets.tablehallu_llm.rows import Row
from tablemend.datasets.tablehallu_llm.settings import LlmSynthesis
from tablemend.datasets.tablehallu_llm.stages import Models
from tablemend.records import Example
from tests.support.prompts import recognise


class Rewriter:
    """Puts a word before every sentence; verdicts and long texts as it is told."""

    def __init__(self, **verdicts: list[str]) -> None:
        self.verdicts = verdicts
        self.stages: list[str] = []
        self.perturb: Callable[[str], str] = lambda context: context

    async def answer(self, request: Request) -> Completion:
        found = recognise(request.messages)
        assert found is not None
        self.stages.append(found.name)
        due = self.verdicts.get(found.name)
        if due:
            text = due.pop(0)
        elif found.name == "paraphrase":
            lines = [line.partition(". ")[2] for line in found.slots["sentences"].splitlines()]
            text = json.dumps({"sentences": [f"Indeed, {line}" for line in lines]})
        elif found.name == "perturb":
            text = self.perturb(found.slots["context"])
        else:
            yes = {"verify_kernel": "CORRECT", "verify_preserved": "YES"}
            text = f"VERDICT: {yes.get(found.name, 'VALID')}"
        return Completion(request.id, text, 5, 5, "stop")


def settings(**given: Any) -> LlmSynthesis:
    return LlmSynthesis(generator="hf:a/b", kernel="program", **given)


def make(model: Rewriter, example: Example | None, **given: Any) -> Row:
    asked = Asked("openai:writer", model, Sampling(1000))
    return asyncio.run(make_program_row(7, example, settings(**given), Models(asked, asked)))


@pytest.fixture(scope="module")
def example() -> Example:
    made = open_maker(settings(perturbation="program").program_settings()).make(7)
    assert made is not None
    return made


def test_a_program_example_in_other_words_keeps_its_truth(example: Example) -> None:
    model = Rewriter()
    row = make(model, example, perturbation="program")
    made = row.example
    assert made is not None and row.rejections == ()
    assert set(model.stages) == {"paraphrase", "verify_kernel"}
    assert made.gold_context.count("Indeed, ") > 4
    assert (made.query, made.gold_table, made.constraints, made.source_hash) == (
        example.query, example.gold_table, example.constraints, example.source_hash,
    )  # fmt: skip
    assert verify(made, Limits()) is None
    assert len(made.facts) == len(example.facts)
    assert "paraphrase/" in made.engine and made.engine.startswith(example.engine)
    assert made.id != example.id and made.calls == row.calls
    assert Example.from_json(made.to_json()) == made


def test_words_that_the_verifier_refuses_are_drawn_anew(example: Example) -> None:
    model = Rewriter(verify_kernel=["VERDICT: INCORRECT"])
    row = make(model, example, perturbation="program", restarts=1)
    assert row.example is not None and model.stages.count("verify_kernel") == 2
    assert [r.kind for r in row.rejections] == ["verify_kernel: INCORRECT"]
    never = Rewriter(verify_kernel=["VERDICT: INCORRECT"] * 9)
    assert make(never, example, perturbation="program", restarts=1).example is None


def test_a_model_perturbs_the_reworded_gold_context(example: Example) -> None:
    model = Rewriter()
    # a long text that is certainly in order: the program's own, with the reworded gold sentences
    reworded = make(Rewriter(), example, perturbation="program").example
    assert reworded is not None
    model.perturb = lambda context: reworded.adversarial_context
    row = make(model, example, perturbation="llm", min_expansion=0.2)
    made = row.example
    assert made is not None, row.rejections
    assert {"paraphrase", "verify_kernel", "perturb", "verify_preserved", "verify_distractors"} == (
        set(model.stages)
    )
    assert made.adversarial_context == reworded.adversarial_context
    assert all(fact.violates is None for fact in made.facts)
    for fact in made.facts:
        start, end, *_ = fact.adversarial
        assert made.adversarial_context[start:end] == fact.value
    lost = Rewriter()
    lost.perturb = lambda context: context
    assert make(lost, example, perturbation="llm", retries=0).example is None


def test_without_an_example_nothing_is_asked() -> None:
    model = Rewriter()
    row = make(model, None, perturbation="program")
    assert row.example is None and model.stages == []
    assert [rejection.kind for rejection in row.rejections] == [NO_EXAMPLE]


def test_a_row_does_not_change_with_n() -> None:
    small, large = settings(n=3).program_settings(), settings(n=300).program_settings()
    assert small == large
