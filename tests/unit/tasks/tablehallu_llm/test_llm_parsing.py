"""Reading what models answer: tolerant of wrapping, strict on content."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tablemend.prompting import replies
from tablemend.prompting.replies import Unreadable
from tablemend.records import Condition
from tablemend.tasks.tablehallu_llm import stages
from tablemend.tasks.tablehallu_llm.stages import SCHEMAS, prompt

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
