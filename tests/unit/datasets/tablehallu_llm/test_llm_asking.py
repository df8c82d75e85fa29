"""A row's talk with its models: retries are bounded, and nothing unreadable counts as an answer."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from tablemend.backends.requests import Completion, Request, Sampling
from tablemend.datasets.tablehallu_llm.asking import Asked, GivenUp, Talk
from tablemend.datasets.tablehallu_llm.parsing import read_query
from tablemend.datasets.tablehallu_llm.prompting import render
from tablemend.prompting.replies import (
    CUT,
    NO_VERDICT,
    REFUSED,
    TWO_VERDICTS,
    Problem,
)

QUERY = render("query", table="T", context="C", sort_column="S", sort_order="ascending")
VERIFY = render("verify_preserved", adversarial="A", context="C")


class Fake:
    """Answers in turn, and remembers what it was asked."""

    def __init__(self, *answers: str | dict[str, Any]) -> None:
        self.answers = list(answers)
        self.requests: list[Request] = []

    async def answer(self, request: Request) -> Completion:
        self.requests.append(request)
        given = self.answers.pop(0)
        fields = {"text": given} if isinstance(given, str) else given
        return Completion(
            **{
                "id": request.id,
                "text": "",
                "prompt_tokens": 7,
                "completion_tokens": 3,
                "finish_reason": "stop",
                **fields,
            }
        )


def asked(model: Fake) -> Asked:
    return Asked("openai:writer", model, Sampling(50, 0.6), thinking=False)


def refuse(*words: str) -> Callable[[str], Sequence[Problem]]:
    """A check that refuses answers that hold one of the words."""

    def check(value: str) -> Sequence[Problem]:
        return [Problem("bad word", f"It says {word}.") for word in words if word in value]

    return check


def draft(talk: Talk, model: Fake, *bad: str) -> tuple[str, str]:
    return asyncio.run(talk.draft(asked(model), "query", QUERY, read_query, refuse(*bad)))


def test_a_rejected_answer_comes_back_with_its_reasons() -> None:
    model = Fake("one bad query", "one good query")
    talk = Talk(5, seed=3, retries=2)
    assert draft(talk, model, "bad", "worse")[0] == "one good query"
    assert model.requests[0].messages == QUERY
    again = model.requests[1].messages
    assert again[: len(QUERY)] == QUERY and again[-2]["content"] == "one bad query"
    assert "It says bad." in again[-1]["content"] and "worse" not in again[-1]["content"]
    assert [call.verdict for call in talk.calls] == ["rejected", "accepted"]
    assert [call.attempt for call in talk.calls] == [0, 1]
    assert talk.calls[0].prompt.startswith("query/") and talk.calls[0].model == "openai:writer"
    assert (talk.calls[0].prompt_tokens, talk.calls[0].completion_tokens) == (7, 3)
    assert talk.rejections == [("query", "bad word", "It says bad.", 0)]


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        ({"text": "half a qu", "finish_reason": "length"}, CUT),
        ({"text": "no, thank you", "finish_reason": "refusal"}, REFUSED),
    ],
)
def test_an_answer_that_is_none_is_drawn_anew_and_never_shown(
    answer: dict[str, Any], kind: str
) -> None:
    model = Fake(answer, "a query")
    talk = Talk(0, seed=0, retries=1)
    assert draft(talk, model)[0] == "a query"
    assert model.requests[1].messages == QUERY
    assert model.requests[1].seed != model.requests[0].seed
    assert [call.verdict for call in talk.calls] == ["unreadable", "accepted"]
    assert [rejection.kind for rejection in talk.rejections] == [kind]
    never = Fake(*[answer] * 9)
    with pytest.raises(GivenUp):
        draft(Talk(0, seed=0, retries=1), never)
    assert len(never.requests) == 2


def verdict(talk: Talk, model: Fake) -> bool:
    return asyncio.run(talk.verdict(asked(model), "verify_preserved", VERIFY, "YES", "NO")).ok


@pytest.mark.parametrize(("text", "ok"), [("VERDICT: YES", True), ("lost.\nVERDICT: NO", False)])
def test_a_verdict_is_recorded_as_what_it_says(text: str, ok: bool) -> None:
    talk = Talk(0, seed=0, retries=0)
    assert verdict(talk, Fake(text)) is ok
    assert talk.calls[0].verdict == ("accepted" if ok else "rejected")
    assert talk.rejections == []  # what follows from a no is for the stage to say


def test_what_is_no_verdict_is_neither_yes_nor_no() -> None:
    model = Fake("perhaps", "VERDICT: YES\nVERDICT: NO", "VERDICT: YES")
    talk = Talk(0, seed=0, retries=2)
    assert verdict(talk, model)
    assert [call.verdict for call in talk.calls] == ["unreadable", "unreadable", "accepted"]
    assert [rejection.kind for rejection in talk.rejections] == [NO_VERDICT, TWO_VERDICTS]
    with pytest.raises(GivenUp):
        verdict(Talk(0, seed=0, retries=1), Fake("perhaps", "who knows"))


@pytest.mark.parametrize(
    ("answers", "last"),
    [
        (["perhaps"], "unreadable"),
        ([{"finish_reason": "error", "error": "503"}], "unreadable"),
        (["VERDICT: NO"], "rejected"),
    ],
)
def test_a_draft_that_nobody_verified_is_neither_accepted_nor_rejected(
    answers: list[str | dict[str, Any]], last: str
) -> None:
    writer, reader = Fake("a query"), Fake(*answers)
    talk = Talk(0, seed=0, retries=0)

    async def verify(_: str) -> Sequence[Problem]:
        said = await talk.verdict(asked(reader), "verify_preserved", VERIFY, "YES", "NO")
        return () if said.ok else [Problem("no", "It says no.")]

    with pytest.raises(GivenUp):
        asyncio.run(talk.draft(asked(writer), "query", QUERY, read_query, refuse(), verify))
    first = "rejected" if last == "rejected" else "unverified"
    assert [call.verdict for call in talk.calls] == [first, last]
