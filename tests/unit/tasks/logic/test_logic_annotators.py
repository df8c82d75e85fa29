"""Models as annotators: training, check, tree; strict reading, resuming, and the scripts."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tablemend.config import parse
from tablemend.errors import Stopped, TablemendError
from tablemend.prompting.replies import Unreadable
from tablemend.runs import read_jsonl, write_jsonl
from tablemend.tasks.logic import annotating, protocol
from tablemend.tasks.logic.annotating import AnnotateCommand, annotate, hold
from tablemend.tasks.logic.pair import DOMAINS, Annotation, Pair, leaves, path_to, read_annotations
from tablemend.tasks.logic.protocol import CHECK, LESSONS, MARKS, QUESTIONS, passes
from tests.support.answering import AnsweringServer
from tests.support.logic_annotators import Expert
from tests.support.scripts import run_script

OUTPUT = "Hotel A is lovely. It has a pool."
PAIRS = [
    Pair(
        "hotel",
        f"Name: Hotel A\nStar rating: {number}",
        OUTPUT,
        "made",
        (label,),
        divergent_output=((11, 17), (26, 32)) if "weak" not in label else (),
        wrong=((26, 32),) if label in ("too_strong", "independent", "contradictory") else (),
    )
    for number, label in enumerate(leaves("hotel"))
] + [
    Pair("logic", f"Cube(a) \u2228 P{number}", "A cube.", "made", (label,), ambiguous=number == 1)
    for number, label in enumerate(leaves("logic"))
]


@pytest.fixture
def data(tmp_path: Path) -> Path:
    folder = tmp_path / "data"
    folder.mkdir()
    write_jsonl(folder / "test.jsonl", [one.to_json() for one in PAIRS])
    return folder


@pytest.fixture
def server() -> Iterator[AnsweringServer]:
    with AnsweringServer(Expert(PAIRS)) as open_server:
        yield open_server


def command(data: Path, server: AnsweringServer, *more: str) -> AnnotateCommand:
    settings = [
        f"data={data}", f"run={data.parent / 'run'}", f"models={{ann: '{server.model}'}}",
        "options.cache=null", "options.retries=0", "options.backoff=0.01", *more,
    ]  # fmt: skip
    return parse(AnnotateCommand, settings)


def by_pair(run: Path) -> dict[str, Annotation]:
    return {one.pair: one for one in read_annotations(run / "annotations.jsonl")}


def test_an_expert_reaches_every_relation_and_passes_the_check(
    data: Path, server: AnsweringServer
) -> None:
    run = annotate(command(data, server))
    found = by_pair(run)
    for one in PAIRS:
        own = found[one.id]
        assert (own.relation, own.unscored, own.comment) == (one.labels[0], "", "")
        way = path_to(one.domain, one.labels[0])
        assert {k: v for k, v in own.path.items() if k != "ambiguous"} == way
        assert own.prompt_tokens == 100 * own.completion_tokens / 50 > 0
        if one.domain == "hotel":
            assert own.passed_check is True and own.slider == 4
            assert (own.divergent_input, own.divergent_output) == ((), one.divergent_output)
            assert own.wrong == one.wrong
        else:
            assert own.passed_check is None and own.wrong is None
            assert own.ambiguities == (("quantifier_scope", "other") if one.ambiguous else ())
    # every answer stays in the conversation, and no pair shows its labels
    longest = max(server.bodies, key=lambda body: len(body["messages"]))["messages"]
    roles = ["system", *["user", "assistant"] * 99]
    assert [turn["role"] for turn in longest] == roles[: len(longest)]
    text = "\n".join(turn["content"] for turn in longest)
    assert text.count("Exercise ") == len(LESSONS["hotel"])
    assert text.index("Exercise 1") < text.index(CHECK.output) < text.index(OUTPUT)
    lines = {line.get("id"): line for line in read_jsonl(run / "annotators" / "ann.jsonl")}
    training = lines["training hotel"]
    assert (training["right"], training["exercises"]) == (len(LESSONS["hotel"]),) * 2
    assert training["check"]["relation"] == "too_strong"
    titles = ("independent", "too_strong", "too strong", "too_weak", "too weak")
    for body in server.bodies:
        users = " ".join(turn["content"] for turn in body["messages"] if turn["role"] == "user")
        assert not any(title in users for title in titles)
    with pytest.raises(TablemendError, match="added was True, is False"):  # other settings
        annotate(command(data, server, "added=false"))


def test_feedback_depends_on_the_answer() -> None:
    for domain in DOMAINS:
        for says in ("yes", "no"):
            script = protocol.train(domain)
            turn, shown = next(script), []
            try:
                while True:
                    text = LESSONS[domain][len(shown)]
                    shown.append(turn.text)
                    is_question = isinstance(text.answer, bool)
                    turn = script.send(turn.read(says) if is_question else ())  # marks nothing
            except StopIteration as end:
                shown.append(end.value[0])
                right = end.value[1]
            for one, after in zip(LESSONS[domain], shown[1:], strict=True):
                given = says == "yes" and isinstance(one.answer, bool)
                assert after.startswith(one.feedback[given])
            assert right == sum(one.answer == (says == "yes") for one in LESSONS[domain])


def test_exercises_cover_every_question_and_have_both_feedbacks() -> None:
    for domain in DOMAINS:
        for added in (True, False):
            lessons = protocol.lessons(domain, added)
            asked = {one.ask for one in lessons if isinstance(one.answer, bool)}
            own = QUESTIONS[domain].items()
            assert asked == {name for name, one in own if added or one.unless is None}
        for one in LESSONS[domain]:
            assert set(one.feedback) == {True, False}
            assert one.feedback[True] != one.feedback[False]
            text = one.input if one.ask == "divergent_input" else one.output
            assert isinstance(one.answer, bool) or all(quote in text for quote in one.answer)


ALLURING, POOL = CHECK.divergent_output
GOOD = Annotation(
    "a", CHECK.id, path_to("hotel", "too_strong"), "too_strong",
    divergent_output=(ALLURING, POOL), wrong=(POOL,),
)  # fmt: skip


@pytest.mark.parametrize(
    ("change", "passed"),
    [
        ({}, True),
        ({"wrong": ((POOL[0] - 5, POOL[1]),)}, True),  # more than the least
        ({"divergent_output": (POOL,)}, False),  # alluring is not divergent
        ({"divergent_output": (ALLURING,)}, False),
        ({"wrong": ()}, False),
        ({"wrong": (POOL, ALLURING)}, False),  # an opinion is not factually wrong
        ({"divergent_output": None, "wrong": None}, False),
        ({"relation": "output_contradictory"}, False),  # because of the pool
        ({"relation": "too_weak"}, False),  # I includes O, whatever was marked
        ({"relation": "independent"}, False),
    ],
)
def test_the_check_is_passed_by_the_right_path_and_highlights(
    change: dict[str, Any], passed: bool
) -> None:
    assert passes(replace(GOOD, **change)) is passed


def test_who_fails_the_check_goes_on_and_is_marked(data: Path, server: AnsweringServer) -> None:
    class Careless(Expert):
        def answer(self, pair: Pair, turn: str) -> str:
            if pair is CHECK and MARKS["divergent_output"] in turn:
                return "swimming pool"
            return super().answer(pair, turn)

    server.reply = Careless(PAIRS)
    found = by_pair(annotate(command(data, server)))
    hotel = [found[one.id] for one in PAIRS if one.domain == "hotel"]
    assert all(one.passed_check is False and one.relation for one in hotel)


read_quotes = partial(protocol.read_quotes, "A lovely hotel, lovely rooms (5).")


@pytest.mark.parametrize(
    ("read", "said", "value"),
    [
        *((protocol.read_yes_no, said, True) for said in ("yes", "Yes.", '"yes"')),
        *((protocol.read_yes_no, said, False) for said in ("**NO**", " no\n")),
        (protocol.read_kinds, "other, Negation scope.", ("negation_scope", "other")),
        (protocol.read_slider, "7.", 7),
        (read_quotes, "NONE", ()),
        (read_quotes, '"Lovely"\n- lovely\n', ((2, 8), (16, 22))),
        (read_quotes, "\u201crooms (5)\u201d.", ((23, 32),)),
    ],
)
def test_answers_are_read(read: Callable[[str], Any], said: str, value: object) -> None:
    assert read(said) == value


@pytest.mark.parametrize(
    ("read", "refused"),
    [
        (
            protocol.read_yes_no,
            ("", "Yes, it does.", "yes no", "Yes and no", "not", "I think no", "yesno"),
        ),
        (protocol.read_kinds, ("all of them", "other, more")),
        (protocol.read_slider, ("8", "4 of 7")),
        (read_quotes, ("", "The word lovely is", "lovely\nNONE", "lovely and rooms")),
    ],
)
def test_answers_are_read_strictly(read: Callable[[str], Any], refused: tuple[str, ...]) -> None:
    for said in refused:
        with pytest.raises(Unreadable):
            read(said)


def test_what_is_no_answer_is_asked_once_more_and_then_unscored(
    data: Path, server: AnsweringServer
) -> None:
    contradiction = QUESTIONS["logic"]["contradiction"].ask
    refused = "That is neither yes nor no"

    class Chatty(Expert):
        def __call__(self, body: Any) -> str:
            last = body["messages"][-1]["content"]
            if "Exercise" in last:
                return super().__call__(body)
            if contradiction in last:
                return "Well, they do contradict each other."
            return self.again if refused in last else super().__call__(body)

        again = "Yes."

    chatty = server.reply = Chatty(PAIRS)
    first = by_pair(annotate(command(data, server, "run=" + str(data.parent / "first"))))
    asked = [one for one in PAIRS if one.domain == "logic"
             and "contradiction" in path_to("logic", one.labels[0])]  # fmt: skip
    assert len(asked) == 2
    assert all(first[one.id].relation == "contradictory" for one in asked)
    chatty.again = "As I said, they do."
    second = by_pair(annotate(command(data, server, "run=" + str(data.parent / "second"))))
    for one in PAIRS:
        own = second[one.id]
        if one in asked:
            assert own.relation is None and "contradiction" not in own.path
            assert own.unscored.startswith("after 5 answers: neither yes nor no:")
        elif one.domain == "logic":
            assert own == replace(first[one.id], seconds=own.seconds)


def test_unreadable_highlights_and_sliders_cost_no_relation(
    data: Path, server: AnsweringServer
) -> None:
    server.reply = Expert(PAIRS, {MARKS["divergent_input"]: "the stars", "faithful is": "high"})
    found = by_pair(annotate(command(data, server)))
    hotel = [found[one.id] for one in PAIRS if one.domain == "hotel"]
    assert all(one.relation and one.divergent_input is None and one.slider is None for one in hotel)
    assert all("divergent_input: " in one.comment and "slider: " in one.comment for one in hotel)
    assert any(one.divergent_output for one in hotel)


def test_a_cut_answer_is_not_read(data: Path, server: AnsweringServer) -> None:
    expert = Expert(PAIRS)

    def cut(body: dict[str, Any]) -> str | dict[str, Any]:
        said = expert(body)
        if "A cube." in body["messages"][-1]["content"]:
            return {"message": {"content": said}, "finish_reason": "length"}
        return said

    server.reply = cut
    found = by_pair(annotate(command(data, server)))
    one = next(one for one in PAIRS if one.domain == "logic")
    assert found[one.id].relation == one.labels[0]  # asked once more, and then not cut


class Killed(BaseException):
    """As SIGKILL would end it."""


def test_a_killed_run_goes_on_where_it_was(
    data: Path, server: AnsweringServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(annotating, "TOGETHER", 3)
    whole = by_pair(annotate(command(data, server, "run=" + str(data.parent / "whole"))))
    requests = len(server.bodies)
    count = 0

    def kill(n: int) -> None:
        nonlocal count
        count += n
        if count >= 7:
            raise Killed

    with pytest.raises(Killed):
        annotate(command(data, server), kill)
    before = len(server.bodies) - requests
    run = annotate(command(data, server))
    after = len(server.bodies) - requests - before
    again = by_pair(run)
    assert {k: replace(v, seconds=0.0) for k, v in again.items()} == {
        k: replace(v, seconds=0.0) for k, v in whole.items()
    }
    assert after < 0.6 * requests and before + after <= 1.1 * requests
    annotate(command(data, server))
    assert len(server.bodies) == requests + before + after  # nothing is asked again


def test_failed_requests_are_unscored_now_and_asked_again(
    data: Path, server: AnsweringServer
) -> None:
    expert, wrong = Expert(PAIRS), QUESTIONS["hotel"]["wrong"].ask

    def failing(body: dict[str, Any]) -> str | int:
        turns = [turn["content"] for turn in body["messages"]]
        return 400 if wrong in turns[-1] and OUTPUT in "".join(turns) else expert(body)

    server.reply = failing
    found = by_pair(annotate(command(data, server)))
    lost = [one for one in found.values() if one.relation is None]
    assert len(lost) == 5 and all("request failed: " in one.unscored for one in lost)
    server.reply = expert
    assert all(one.relation for one in by_pair(annotate(command(data, server))).values())


def test_a_training_that_cannot_be_held_stops_the_run(data: Path, server: AnsweringServer) -> None:
    server.reply = lambda body: 400
    with pytest.raises(Stopped, match="training hotel"):
        annotate(command(data, server))


def test_the_papers_own_tree_asks_neither_well_formedness_nor_tautology(
    data: Path, server: AnsweringServer
) -> None:
    keep = [one for one in PAIRS if one.labels[0] not in ("not_well_formed", "tautologous")]
    write_jsonl(data / "test.jsonl", [one.to_json() for one in keep])
    found = by_pair(annotate(command(data, server, "added=false")))
    assert all(found[one.id].relation == one.labels[0] for one in keep)
    assert not any({"well_formed", "tautology"} & one.path.keys() for one in found.values())


def test_the_scripts_annotate_and_report(
    data: Path,
    server: AnsweringServer,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    run = data.parent / "run"
    tokens = [f"data={data}", f"run={run}", "options.cache=null"]
    tokens.append(f"models={{ann: '{server.model}', bob: '{server.model}'}}")
    assert run_script("eval/annotate.py", tokens, monkeypatch) == 0
    said = capsys.readouterr().out
    assert "| bob" in said and "Table 13" in said
    assert json.loads((run / "annotations.json").read_text())["logic"]["accuracy"]["CAT"] == {
        "mean": 1.0, "sd": 0.0, "n": 16, "annotators": {"ann": 1.0, "bob": 1.0},
    }  # fmt: skip
    manifest = json.loads((run / "manifest.json").read_text())["annotate"]
    assert manifest["annotators"]["ann"]["protocol"] == protocol.PROTOCOL_HASH
    assert run_script("eval/annotation_report.py", [f"run={run}"], monkeypatch) == 0
    assert capsys.readouterr().out.split("\n\n", 1)[1] == said.split("\n\n", 1)[1]
    assert run_script("eval/annotation_report.py", ["run=nowhere-at-all"], monkeypatch) == 2


def test_one_model_under_two_names_draws_twice(data: Path, server: AnsweringServer) -> None:
    write_jsonl(data / "test.jsonl", [PAIRS[-1].to_json()])
    models = f"models={{ann: '{server.model}', bob: '{server.model}'}}"
    annotate(command(data, server, models, "temperature=1"))
    seeds = {json.dumps(body["messages"]): set[int]() for body in server.bodies}
    for body in server.bodies:
        seeds[json.dumps(body["messages"])].add(body["seed"])
    assert {len(own) for own in seeds.values()} == {2}


def test_conversations_end_when_nothing_is_left() -> None:
    assert list(hold(None, {}, [], None)) == []  # type: ignore[arg-type]
