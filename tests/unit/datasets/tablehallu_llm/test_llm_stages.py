"""The chain of one row, with a model whose answers are written down."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Sequence
from random import Random
from typing import Any

import pytest

from tablemend.backends.requests import Completion, Message, Request, Sampling
from tablemend.datasets.tablehallu.settings import Shape
from tablemend.datasets.tablehallu_llm.asking import Asked, Row
from tablemend.datasets.tablehallu_llm.settings import LlmSynthesis
from tablemend.datasets.tablehallu_llm.stages import ENGINE, Models, make_row
from tablemend.datasets.tablehallu_llm.topics import Topic
from tablemend.prompting.replies import REQUEST_FAILED
from tests.support.prompts import recognise

TOPIC = Topic("ferries of the Lunel Islands", "Technology & Business", "Transport & Energy")
ROWS = [
    ["Alba", "1995", "62.5", "Corran"],
    ["Sella", "1997", None, "Vey"],
    ["Morwen", "1999", "48.2", "Corran"],
    ["Isbel", "2002", "71.0", "Tarsk"],
    ["Dunlin", "2004", "55.9", "Vey"],
]
COLUMNS = ["Ferry", "Launched", "Length (m)", "Home Port"]


def tell(rows: Sequence[Sequence[str | None]]) -> str:
    """Prose that states rows, and no blank."""
    said = []
    for name, year, length, port in rows:
        size = f" and is {length} m long" if length else ""
        said.append(f"The ferry {name} was launched in {year}{size}. {name} sails from {port}.")
    return " ".join(said)


CONTEXT = tell(ROWS)
KERNEL = json.dumps(
    {
        "title": "Ferries of the Lunel Islands",
        "columns": COLUMNS,
        "rows": ROWS,
        "sort_column": "Launched",
        "sort_order": "ascending",
        "context": CONTEXT,
    }
)
QUERY = (
    "Please make a table of the ferries of the Lunel Islands launched from 1995 to 2005, both "
    'years included. Its columns should be, in this order, "Ferry", "Launched", "Length (m)" and '
    '"Home Port". Sort the rows by "Launched" in ascending order.'
)
CONSTRAINTS = json.dumps(
    {
        "entity_scope": ["ferries of the Lunel Islands"],
        "numerical_range": "1995 to 2005",
        "sort_column": "Launched",
        "sort_order": "ascending",
        "conditions": [{"column": "Launched", "low": "1995", "high": "2005", "values": []}],
    }
)


def long_text(factor: int = 10) -> str:
    """The context dispersed among ferries of other years."""
    rng = Random(1)
    gold = [f"{sentence.rstrip('.')}." for sentence in CONTEXT.split(". ")]
    paragraphs = []
    for sentence in gold:
        others = [
            f"The ferry {name} was launched in {rng.choice([1960, 1971, 1983, 2011, 2016])} and "
            f"is {rng.randint(30, 90)}.4 m long."
            for name in rng.sample(NAMES, 2 * factor // 3)
        ]
        paragraphs.append(" ".join([*others, sentence, *others[:2]]))
    return "\n\n".join(paragraphs)


NAMES = (
    "Brackwater Cormorant Fulmar Guillemot Hesperus Jocelyn Kittiwake Lapwing Northwind Osprey "
    "Petrel Quaver Rosemary Tern Undine"
).split()
GOOD = {
    "kernel": KERNEL,
    "query": QUERY,
    "constraints": CONSTRAINTS,
    "verify_kernel": "All six hold.\nVERDICT: CORRECT",
    "perturb": long_text(),
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
    asked = Asked("openai:writer", model, Sampling(1000))
    given = LlmSynthesis(generator="hf:a/b", shape=Shape(min_columns=4), **settings)
    return asyncio.run(make_row(number, TOPIC, given, Models(asked, asked)))


def test_a_row_goes_through_all_stages() -> None:
    model = Fake()
    row = make(model)
    assert row.rejections == ()
    assert model.stages == list(GOOD)
    example = row.example
    assert example is not None
    assert (example.topic, example.category, example.domain) == TOPIC
    assert example.query == QUERY and example.gold_context == CONTEXT
    assert example.adversarial_context == long_text()
    assert example.constraints.numerical_range == "1995 to 2005"
    assert (example.engine, example.source) == (ENGINE, "openai:writer")
    assert example.calls == row.calls and len(row.calls) == 7
    assert {call.verdict for call in row.calls} == {"accepted"}
    stated = {(fact.entity, fact.column): fact for fact in example.facts}
    assert len(stated) == sum(cell is not None for cells in ROWS for cell in cells)
    for fact in example.facts:
        start, end, *_ = fact.adversarial
        assert example.adversarial_context[start:end] == fact.value
        assert fact.clean is not None and CONTEXT[fact.clean.start : fact.clean.end] == fact.value


def test_what_a_program_can_see_no_model_is_asked_about() -> None:
    lost = CONTEXT.replace(" and is 48.2 m long", "")
    model = Fake(
        kernel=[KERNEL.replace(CONTEXT, lost)],
        perturb=[long_text().replace("48.2", "some"), CONTEXT],
    )
    row = make(model)
    assert row.example is not None
    assert model.stages == ["kernel", "kernel", *list(GOOD)[1:4], *["perturb"] * 3, *list(GOOD)[5:]]
    assert Counter(rejection.stage for rejection in row.rejections) >= Counter(
        {"kernel": 1, "perturb": 2}
    )
    (reason,) = [r.text for r in row.rejections if r.stage == "kernel"]
    assert "48.2" in reason
    assert reason in model.asked[1][1][-1]["content"]


def test_a_kernel_that_the_verifier_refuses_is_written_anew_with_its_reason() -> None:
    model = Fake(verify_kernel=["Alba is said to be new.\nVERDICT: INCORRECT"])
    row = make(model)
    assert row.example is not None
    assert model.stages == [*list(GOOD)[:4], *GOOD]
    assert "Alba is said to be new." in model.asked[4][1][-1]["content"]
    assert [(r.stage, r.kind) for r in row.rejections] == [("kernel", "verify_kernel: INCORRECT")]
    never = Fake(verify_kernel=["VERDICT: INCORRECT"] * 9)
    assert make(never, retries=2).example is None
    assert never.stages.count("kernel") == 3


@pytest.mark.parametrize(
    ("stage", "no"), [("verify_preserved", "NO"), ("verify_distractors", "INVALID")]
)
def test_a_text_that_the_verifier_refuses_is_written_anew_with_its_reason(
    stage: str, no: str
) -> None:
    model = Fake(**{stage: [f"Petrel fits.\nVERDICT: {no}"]})
    row = make(model)
    assert row.example is not None and model.stages.count("perturb") == 2
    again = [chat for asked, chat in model.asked if asked == "perturb"][1]
    assert "Petrel fits." in again[-1]["content"]
    first = next(call for call in row.calls if call.stage == "perturb")
    assert first.verdict == "rejected"
    assert [r.kind for r in row.rejections] == [f"{stage}: {no}"]
    never = Fake(**{stage: [f"VERDICT: {no}"] * 9})
    assert make(never, retries=1).example is None
    assert never.stages.count("perturb") == 2


def test_a_failed_request_gives_the_row_up_at_once_and_says_so() -> None:
    model = Fake(constraints=[{"finish_reason": "error", "error": "503 after 7 tries"}])
    row = make(model, retries=5)
    assert row.example is None and model.stages == list(GOOD)[:3]
    assert row.rejections == (("constraints", REQUEST_FAILED, "503 after 7 tries", 0),)
