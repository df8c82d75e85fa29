"""The chain of one row, with a model whose answers are written down."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from itertools import count
from typing import Any

import pytest

from tablemend.backends.requests import Completion, Message, Request, Sampling
from tablemend.prompting.replies import REQUEST_FAILED
from tablemend.tasks.tablehallu_llm.settings import LlmSynthesis, Topic
from tablemend.tasks.tablehallu_llm.stages import ENGINE, ChatModel, Models, Row, make_row
from tests.support.model_server import pipeline
from tests.support.prompts import recognise

TOPIC = Topic("ferries of the Lunel Islands", "Technology & Business", "Transport & Energy")
SCRIPT = pipeline.script(next(filter(pipeline.passes, count())))
CONTEXT, LONG, RULE = SCRIPT.gold_context, SCRIPT.adversarial_context, SCRIPT.constraints
FACT = next(fact for fact in SCRIPT.facts if fact.clean and CONTEXT.count(fact.value) == 1)
"""A value that both texts state once."""


def kernel(context: str = CONTEXT) -> str:
    return json.dumps(
        {
            "title": "Ferries of the Lunel Islands",
            "columns": SCRIPT.gold_table.columns,
            "rows": SCRIPT.gold_table.rows,
            "sort_column": RULE.sort_column,
            "sort_order": RULE.sort_order,
            "context": context,
        }
    )


GOOD = {
    "kernel": kernel(),
    "query": SCRIPT.query,
    "constraints": json.dumps(asdict(RULE)),
    "verify_kernel": "All six hold.\nVERDICT: CORRECT",
    "perturb": LONG,
    "verify_preserved": "VERDICT: YES",
    "verify_distractors": "VERDICT: VALID",
}


class Fake:
    """Gives the good answer of each stage, unless another is due first."""

    def __init__(self, **first: Sequence[str | dict[str, Any]]) -> None:
        self.first = {stage: list(answers) for stage, answers in first.items()}
        self.asked: list[tuple[str, Sequence[Message]]] = []

    async def answer(self, request: Request) -> Completion:
        found = recognise(request.messages)
        assert found is not None
        self.asked.append((found.name, request.messages))
        due = self.first.get(found.name)
        given = due.pop(0) if due else GOOD[found.name]
        fields = {"text": given} if isinstance(given, str) else given
        base = {"prompt_tokens": 9, "completion_tokens": 4, "finish_reason": "stop", "text": ""}
        return Completion(**{"id": request.id, **base, **fields})

    @property
    def stages(self) -> list[str]:
        return [stage for stage, _ in self.asked]


def make(model: Fake, number: int = 3, **settings: Any) -> Row:
    asked = ChatModel("openai:writer", model, Sampling(1000))
    given = LlmSynthesis(generator="hf:a/b", shape=pipeline.SHAPE, **settings)
    return asyncio.run(make_row(number, TOPIC, given, Models(asked, asked)))


def test_a_row_goes_through_all_stages() -> None:
    model = Fake()
    row = make(model)
    assert row.rejections == ()
    assert model.stages == list(GOOD)
    (example,) = row.examples
    assert (example.topic, example.category, example.domain) == TOPIC
    assert example.query == SCRIPT.query and example.gold_context == CONTEXT
    assert example.adversarial_context == LONG
    assert example.constraints.conditions == RULE.conditions
    assert (example.engine, example.source) == (ENGINE, "openai:writer")
    assert example.calls == row.calls and len(row.calls) == 7
    assert {call.verdict for call in row.calls} == {"accepted"}
    stated = {(fact.row, fact.column) for fact in example.facts}
    assert len(stated) == sum(cell is not None for row in SCRIPT.gold_table.rows for cell in row)
    for fact in example.facts:
        start, end, *_ = fact.adversarial
        assert example.adversarial_context[start:end] == fact.value
        assert fact.clean is not None and CONTEXT[fact.clean.start : fact.clean.end] == fact.value


def test_what_a_program_can_see_no_model_is_asked_about() -> None:
    model = Fake(
        kernel=[kernel(CONTEXT.replace(FACT.value, "some"))],
        perturb=[LONG.replace(FACT.value, "some"), CONTEXT],
    )
    row = make(model)
    assert row.examples
    assert model.stages == ["kernel", "kernel", *list(GOOD)[1:4], *["perturb"] * 3, *list(GOOD)[5:]]
    assert Counter(rejection.stage for rejection in row.rejections) >= Counter(
        {"kernel": 1, "perturb": 2}
    )
    reasons = [r.text for r in row.rejections if r.stage == "kernel"]
    assert any(FACT.value in reason for reason in reasons)
    assert all(reason in model.asked[1][1][-1]["content"] for reason in reasons)


@pytest.mark.parametrize(
    ("stage", "no", "writes"),
    [
        ("verify_kernel", "INCORRECT", "kernel"),
        ("verify_preserved", "NO", "perturb"),
        ("verify_distractors", "INVALID", "perturb"),
    ],
)
def test_what_the_verifier_refuses_is_written_anew_with_its_reason(
    stage: str, no: str, writes: str
) -> None:
    model = Fake(**{stage: [f"Petrel fits.\nVERDICT: {no}"]})
    row = make(model)
    assert row.examples and model.stages.count(writes) == 2
    again = [chat for asked, chat in model.asked if asked == writes][1]
    assert "Petrel fits." in again[-1]["content"]
    assert next(call for call in row.calls if call.stage == writes).verdict == "rejected"
    assert [(r.stage, r.kind) for r in row.rejections] == [(writes, f"{stage}: {no}")]
    never = Fake(**{stage: [f"VERDICT: {no}"] * 9})
    assert not make(never, retries=1).examples
    assert never.stages.count(writes) == 2


def test_a_failed_request_gives_the_row_up_at_once_and_says_so() -> None:
    model = Fake(constraints=[{"finish_reason": "error", "error": "503 after 7 tries"}])
    row = make(model, retries=5)
    assert not row.examples and model.stages == list(GOOD)[:3]
    assert row.rejections == (("constraints", REQUEST_FAILED, "503 after 7 tries", 0),)
