"""CAVE on texts: only flagged words change, and only for the better."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

from tablemend.evidence.source import Source
from tablemend.mitigations.cave import cave
from tablemend.mitigations.edits import Draft, Mended, Tools, apply_edits
from tablemend.mitigations.rewriting import PASSES, PROMPTS, RETRY, read_rewrite
from tablemend.prompting.replies import Unreadable
from tablemend.tables.table import Table
from tablemend.verifier.verifiers import ProgramExtractor, ProgramVerifier
from tests.support.faithfulness_models import Answer, CannedBackend
from tests.support.prompts import recognise

TABLE = Table.of(
    ["Team", "Points", "City", "Founded"],
    [
        ["Alba", "41", "Oslo", "1921"],
        ["Sella", "37", "Rome", "1934"],
        ["Vey", "12", "Lima", "1950"],
    ],
)
SOURCE = Source((TABLE,))
RIGHT = "Alba won 41 points. Sella won 37 points."
WRONG = (
    "The  league\tis old. Alba won 41 points. Sella won 39 points \u2014 a lot! Vey won 12 points."
)


def cave_texts(texts: list[str], backend: object) -> list[Mended]:
    tools = Tools(ProgramVerifier(), ProgramExtractor(), backend)  # type: ignore[arg-type]
    return cave([Draft(text, SOURCE) for text in texts], tools)


def mend(text: str, answer: Callable[[str], Answer]) -> tuple[Mended, int]:
    """The text after CAVE, and how often the model was asked."""
    backend = CannedBackend(answer)
    (found,) = cave_texts([text], backend)
    assert apply_edits(text, found.edits) == found.text
    return found, len(backend.asked)


def words_of(prompt: str) -> str:
    return prompt.partition("Words to rewrite:\n")[2].partition("\n\nWhat is wrong")[0]


def test_a_text_without_a_flag_costs_no_call() -> None:
    found, calls = mend(RIGHT, lambda _: "nothing")
    assert found.text == RIGHT and not found.edits and calls == found.usage.calls == 0
    assert found.before is found.after


def test_the_wrong_number_alone_is_replaced() -> None:
    found, calls = mend(WRONG, lambda prompt: words_of(prompt).replace("39", "37"))
    assert found.text == WRONG.replace("39", "37") and calls == 1
    (edit,) = found.edits
    assert (edit.old, edit.new, edit.type) == ("39", "37", "NUM")
    assert WRONG[slice(*edit.span)] == "39" and "37" in edit.reason
    assert found.before is not None and found.after is not None
    assert found.before.staf is not None and found.before.staf < 1 == found.after.staf
    assert found.usage.calls == 1 and found.usage.prompt_tokens == 10


def test_the_prompt_of_the_error_type_shows_what_is_wrong_and_the_cells() -> None:
    backend = CannedBackend(lambda prompt: words_of(prompt))
    cave_texts([WRONG], backend)
    recognised = recognise(backend.asked[0].messages)
    assert recognised is not None and recognised.name == "rewrite_value"
    slots = recognised.slots
    assert slots["sentence"] == "Sella won 39 points \u2014 a lot!"
    assert 'right would be "37" for "39"' in slots["findings"]
    assert 'Row "Sella", Column "Points": 37' in slots["evidence"]


@pytest.mark.parametrize(
    ("text", "stage", "shown"),
    [
        ("Vey won the most points.", "rewrite_comparison", "41, of Alba"),
        ("Three teams won more than 30 points.", "rewrite_comparison", "- 2 rows"),
        ("Alba was founded in 1934.", "rewrite_time", ""),
        ("The city of Sella is Lima.", "rewrite_relation", ""),
    ],
)
def test_the_error_type_decides_the_prompt(text: str, stage: str, shown: str) -> None:
    backend = CannedBackend(lambda prompt: words_of(prompt))
    cave_texts([text], backend)
    recognised = recognise(backend.asked[0].messages)
    assert recognised is not None and recognised.name == stage
    assert shown in recognised.slots.get("computed", "")
    assert "Computed" not in recognised.slots["evidence"]


@pytest.mark.parametrize(
    "answer",
    [
        "Sella won 99 points",
        "Alba won 39 points",
        ("", "error"),
        ("Sella won", "length"),
        ("I will not.", "refusal"),
        "",
        "I'm sorry, but I cannot do that.",
        "Here it is.\n\nSella won 37 points\n\nAnything else?",
        "Sella won 37 points " + "and many more things happened " * 20,
        '{"words": "Sella won 37 points"}',
    ],
)
def test_what_mends_nothing_is_undone(answer: Answer) -> None:
    found, calls = mend(WRONG, lambda _: answer)
    assert found.text == WRONG and not found.edits
    assert calls == PASSES and len(found.undone) == PASSES
    assert all(edit.reason for edit in found.undone)
    assert found.after is found.before


def test_the_second_pass_says_why_the_first_did_not_do() -> None:
    asked: list[str] = []

    def answer(prompt: str) -> str:
        asked.append(prompt)
        return "Sella won 99 points" if len(asked) == 1 else "Sella won 37 points"

    found, calls = mend(WRONG, answer)
    assert found.text == WRONG.replace("39", "37") and calls == 2
    frame = PROMPTS.prompt(RETRY).user.partition("{{problems}}")[0]
    assert asked[1].startswith(frame) and "as wrong as before" in asked[1]
    assert len(found.undone) == 1 and found.undone[0].new == "Sella won 99 points"


def test_many_texts_are_asked_for_together() -> None:
    batches: list[int] = []

    class Counting(CannedBackend):
        def generate(self, requests):  # type: ignore[no-untyped-def]
            batches.append(len(requests))
            yield from super().generate(requests)

    texts = [WRONG, RIGHT, WRONG.replace("39", "40"), RIGHT]
    backend = Counting(lambda p: re.sub("39|40", "37", words_of(p)))
    found = cave_texts(texts, backend)
    assert batches == [2]
    assert [one.usage.calls for one in found] == [1, 0, 1, 0]
    assert [one.text for one in found] == [WRONG.replace("39", "37"), RIGHT] * 2


def test_a_rewrite_is_read_as_the_words_alone() -> None:
    words, before, after = "Sella won 39 points", "In 2019, ", ", said Vey."
    for said in (
        "Sella won 37 points",
        '"Sella won 37 points"',
        "Sella won 37 points.",
        "In 2019, Sella won 37 points, said Vey.",
        "Here is the rewritten text:\nSella won 37 points",
        "```\nSella won 37 points\n```",
        "**Sella won 37 points**",
    ):
        assert read_rewrite(said, words, before, after) == "Sella won 37 points"
    assert read_rewrite("But it fell", "but it rose") == "but it fell"
    assert read_rewrite("It fell", "It rose.") == "It fell."
    for said in ("", " . ", "a\nb", "x" * 400, '{"a": 1}', "I'm sorry, no."):
        with pytest.raises(Unreadable):
            read_rewrite(said, words, before, after)
