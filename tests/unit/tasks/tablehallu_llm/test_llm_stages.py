"""The chain of one row: what its models answer is read, checked and asked for again."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict
from itertools import count
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tablemend.backends.requests import Completion, Message, Request, Sampling
from tablemend.prompting import replies
from tablemend.prompting.replies import REQUEST_FAILED, Unreadable
from tablemend.records import Condition
from tablemend.tasks.tablehallu_llm import stages
from tablemend.tasks.tablehallu_llm.settings import LlmSynthesis, Topic
from tablemend.tasks.tablehallu_llm.stages import (
    ENGINE,
    SCHEMAS,
    ChatModel,
    Models,
    Row,
    make_row,
    prompt,
)
from tests.support.model_server import pipeline
from tests.support.prompts import recognise

KERNEL: dict[str, Any] = {
    "title": "Ferries",
    "columns": ["Ferry", "Launched", "Length (m)"],
    "rows": [["Alba", "1998", "62.5"], ["Sella", "2004", None]],
    "sort_column": "Launched",
    "sort_order": "ascending",
    "context": "The Alba was launched in 1998.\nIt is 62.5 m long.\n\n\nThe Sella came in 2004.",
}
CONSTRAINTS: dict[str, Any] = {
    "entity_scope": ["ferries"],
    "numerical_range": "1995 to 2005",
    "sort_column": "Launched",
    "sort_order": "descending",
    "conditions": [{"column": "Launched", "low": 1995, "high": "2005", "values": []}],
}


def kernel(**changes: Any) -> str:
    return json.dumps({**KERNEL, **changes})


WRAPPINGS = [
    "{}",
    "```json\n{}\n```",
    "```\n{}\n```",
    "Here is the table:\n\n{}\n\nI hope it helps!",
    "I kept to {{columns}} as asked. {}",
    "{} {}",
    'Example of a cell: {{"a": 1}}. Answer: {}',
]


@pytest.mark.parametrize("wrapping", WRAPPINGS)
def test_one_object_is_found_whatever_stands_around_it(wrapping: str) -> None:
    text = wrapping.replace("{}", kernel()).replace("{{", "{").replace("}}", "}")
    draft = stages.read_kernel(text)
    assert draft.table.columns == ("Ferry", "Launched", "Length (m)")
    assert draft.table.rows == (("Alba", "1998", "62.5"), ("Sella", "2004", None))
    assert draft.table.title == "Ferries"
    assert (draft.sort_column, draft.sort_order) == ("Launched", "ascending")
    assert draft.context == (
        "The Alba was launched in 1998. It is 62.5 m long.\n\nThe Sella came in 2004."
    )


def test_line_breaks_and_last_commas_in_json_are_read() -> None:
    said = '"A, ] is\tone.\n\nThe Sella, ,] came."'
    text = (
        kernel(context=0).replace('"context": 0', f'"context": {said},').replace("null]", "null,]")
    )
    draft = stages.read_kernel(text)
    assert draft.context == "A, ] is one.\n\nThe Sella, ,] came."
    assert draft.table.rows[1] == ("Sella", "2004", None)


def test_a_text_may_begin_with_unfortunately() -> None:
    for text in (
        "Unfortunately, the season was lost.",
        "Unfortunately, this was Alba's last year.",
    ):
        assert stages.read_context(text) == text


def test_the_example_in_the_prompt_is_read() -> None:
    draft = stages.read_kernel(prompt("kernel").user.partition("answer:\n\n")[2])
    assert draft.table.rows[1] == ("Sella", "2004", None, "Vey")
    user = prompt("constraints").user
    constraints = stages.read_constraints(user[user.index("gives") :])
    assert constraints.conditions == (Condition("Launched", "1995", "2005"),)


def test_cells_are_the_text_that_was_written() -> None:
    rows = '[["Alba", 1.50, 12345678901234567890123], [true, 1e5, ""], ["x", "  a  b ", null]]'
    text = kernel(rows=0).replace('"rows": 0', f'"rows": {rows}')
    assert stages.read_kernel(text).table.rows == (
        ("Alba", "1.50", "12345678901234567890123"),
        ("true", "1e5", None),
        ("x", "a b", None),
    )


def read_valid(text: str) -> object:
    return replies.read_verdict(text, "VALID", "INVALID")


KERNELS = [
    ("", replies.EMPTY),
    ("  \n ", replies.EMPTY),
    ("I'm sorry, but I can't help with that.", replies.REFUSED),
    ("I\u2019m sorry, I cannot produce this table.", replies.REFUSED),
    ("The table is about ferries.", replies.NO_JSON),
    ('["Alba", "Sella"]', replies.NO_JSON),
    (kernel()[:80], replies.TRUNCATED),
    (kernel()[:-1], replies.TRUNCATED),
    ("```json\n" + kernel()[:-40] + "\n```", replies.TRUNCATED),
    (kernel().replace('"columns":', "columns:"), replies.INVALID),
    (kernel().replace('"1998"', "'1998'"), replies.INVALID),
    (kernel().replace('"1998"', "NaN"), replies.INVALID),
    (kernel().replace('"title"', '"columns"'), replies.INVALID),
    ('{"columns":' * 100_000, replies.TRUNCATED),
    ('{"columns":' * 100_000 + "0" + "}" * 100_000, replies.INVALID),
    (kernel() + kernel(title="Other"), replies.SEVERAL),
    (kernel(rows=[["Alba", "1998"]]), stages.UNEVEN),
    (kernel(rows=[["Alba", "1998", ["1", "2"]]]), replies.WRONG_FIELD),
    (kernel(rows=[{"Ferry": "Alba"}]), replies.WRONG_FIELD),
    (kernel(rows="none"), replies.WRONG_FIELD),
    (kernel(columns=[]), replies.WRONG_FIELD),
    (kernel(columns=["Ferry", None, "Length"]), replies.WRONG_FIELD),
    (kernel(sort_order="by size"), replies.WRONG_FIELD),
    (kernel(sort_column=[3]), replies.WRONG_FIELD),
    (kernel(context=" "), replies.WRONG_FIELD),
    (json.dumps({k: v for k, v in KERNEL.items() if k != "context"}), replies.WRONG_FIELD),
    (kernel().replace("Alba", "\\ud800"), replies.BAD_CHARACTER),
    (kernel().replace("Alba", "\\u0000"), replies.BAD_CHARACTER),
]
PROSE = [
    ("", replies.EMPTY),
    ("Here is the request:\n", replies.EMPTY),
    ("Sorry, I cannot do this.", replies.REFUSED),
    ("Unfortunately, I am not able to do this.", replies.REFUSED),
    ("Unfortunately, this request cannot be met.", replies.REFUSED),
    ("As an AI language model, I have no opinion.", replies.REFUSED),
    ('{"query": "Make a table."}', replies.NOT_PROSE),
    ("Text\n```\nmore\n```", replies.NOT_PROSE),
    ("a\x00b", replies.BAD_CHARACTER),
]
VERDICTS = [
    ("", replies.EMPTY),
    ("I cannot judge this.", replies.REFUSED),
    ("It is valid.", replies.NO_VERDICT),
    ("VERDICT: VALID or INVALID", replies.NO_VERDICT),
    ("VERDICT: VALID (or INVALID, if row 2 counts)", replies.NO_VERDICT),
    ("VERDICT: UNSURE", replies.NO_VERDICT),
    ("The VERDICT: VALID would need more.", replies.NO_VERDICT),
    ("VERDICT: VALID\nVERDICT: INVALID", replies.TWO_VERDICTS),
    ("VERDICT: VALID\n\nOn reflection I am wrong: row 2 fits.", replies.NO_VERDICT),
    ("VERDICT: INVALID\nHm.\nVERDICT: VALID\nNo, wait.", replies.TWO_VERDICTS),
]


@pytest.mark.parametrize(
    ("read", "text", "kind"),
    [
        *((stages.read_kernel, *case) for case in KERNELS),
        *((read, *case) for read in (stages.read_context, stages.read_query) for case in PROSE),
        *((read_valid, *case) for case in VERDICTS),
    ],
)
def test_what_cannot_be_read(read: Callable[[str], object], text: str, kind: str) -> None:
    with pytest.raises(Unreadable) as caught:
        read(text)
    problem = caught.value.problem
    assert problem.kind == kind and problem.text.endswith(".") and "\n" not in problem.text


@pytest.mark.parametrize(
    "line",
    [
        "VERDICT: VALID",
        "**VERDICT: VALID**",
        "**Verdict:** valid.",
        "VERDICT: [VALID]",
        "- VERDICT = VALID",
        "VERDICT: VALID (no leaks found)",
        "**FINAL VERDICT:** VALID - nothing that was added fits.",
    ],
)
def test_verdicts(line: str) -> None:
    verdict = replies.read_verdict(
        f"All of 3 break it.\nNone fits.\n\n{line}\n", "VALID", "INVALID"
    )
    assert verdict.ok and verdict.reason.startswith("All of 3 break it.\nNone fits.")
    assert ("no leaks" in verdict.reason) == ("no leaks" in line)
    refusing = line.upper().replace("VALID", "INVALID")
    assert not replies.read_verdict(refusing, "VALID", "INVALID").ok
    twice = f"{line}\nSo, finally:\n{line}"
    assert replies.read_verdict(twice, "VALID", "INVALID").ok
    assert replies.read_verdict(f"```\n{line}\n```\n\n---\n", "VALID", "INVALID").ok


def test_schemas_are_strict_objects_that_admit_what_is_read() -> None:
    assert set(SCHEMAS) == {"kernel", "constraints", "word"}
    assert set(SCHEMAS["kernel"]["properties"]) == set(KERNEL)
    assert set(SCHEMAS["constraints"]["properties"]) == set(CONSTRAINTS)

    for schema in SCHEMAS.values():
        for part in (schema, *schema.get("$defs", {}).values()):
            assert part["additionalProperties"] is False
            assert part["required"] == list(part["properties"])


READERS: list[Callable[[str], object]] = [
    stages.read_kernel,
    stages.read_constraints,
    stages.read_query,
    stages.read_context,
    stages.read_texts,
    read_valid,
]


@settings(max_examples=150, deadline=None)
@given(st.text(alphabet=st.characters(), max_size=200))
@example("{" * 5000)
@example("[" * 200_000)
@example('{"a":' * 50_000)
@example('{"' + '\\"' * 50_000 + "\\")
@example("```" * 3000)
@example("verdict" + ":" * 5000)
@example(" " * 50_000 + "x")
@example("here is " + " " * 50_000)
def test_no_text_raises_anything_but_unreadable(text: str) -> None:
    for read in READERS:
        try:
            read(text).__repr__().encode()
        except Unreadable as error:
            assert error.problem.kind and error.problem.text


TOPIC = Topic("ferries of the Lunel Islands", "Technology & Business", "Transport & Energy")
SCRIPT = pipeline.script(next(filter(pipeline.passes, count())))
CONTEXT, LONG, RULE = SCRIPT.gold_context, SCRIPT.adversarial_context, SCRIPT.constraints
FACT = next(fact for fact in SCRIPT.facts if fact.clean and CONTEXT.count(fact.value) == 1)
"""A value that both texts state once."""


def scripted_kernel(context: str = CONTEXT) -> str:
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
    "kernel": scripted_kernel(),
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
        kernel=[scripted_kernel(CONTEXT.replace(FACT.value, "some"))],
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
