"""Contexts that a program draws, in a model's words: passages on rows, and passages reworded."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from random import Random

import pytest

from tablemend.backends.engine import ReplayEngine
from tablemend.backends.requests import Completion, Request
from tablemend.config import parse
from tablemend.config.load import ConfigError
from tablemend.errors import TablemendError
from tablemend.prompting.replies import Unreadable
from tablemend.records import Example
from tablemend.runs import read_jsonl
from tablemend.tasks.tablehallu.dataset import make_dataset
from tablemend.tasks.tablehallu.engine import Engine, open_maker
from tablemend.tasks.tablehallu.settings import Synthesis
from tablemend.tasks.tablehallu.verification import verify
from tablemend.tasks.tablehallu_llm.dataset import make_llm_dataset
from tablemend.tasks.tablehallu_llm.settings import LlmSynthesis, open_topics
from tablemend.tasks.tablehallu_llm.stages import Row
from tablemend.tasks.tablehallu_llm.wording import (
    REWORDED,
    ContextMaker,
    Passage,
    make_reworded,
    passages_of,
    read_passage,
    read_rewording,
)
from tests.support.model_server.server import ModelServer

CELLS = {"Ferry": "Alba", "Launched": "1998", "Length (m)": "62.5", "Operator": "Lunel Lines"}
FERRY = Passage(0, 0, "", CELLS, ("Home Port", "Crew"), first=True)
SAID = "Launched in 1998, the Alba is 62.5 m long. Its operator is Lunel Lines."
SMALL = ["order=query-last", "difficulty=paper", "shape.min_rows=2", "shape.max_rows=3"]


def make(server: ModelServer, number: int, *tokens: str) -> Row:
    options = ["generator_options.cache=null", "generator_options.backoff=0.01"]
    settings = parse(LlmSynthesis, [f"generator={server.model}", *SMALL, *options, *tokens])

    async def asked() -> Row:
        with ExitStack() as stack:
            maker = ContextMaker(settings, open_topics(None, 0), stack)
            try:
                return await maker.make(number)
            finally:
                await maker.leave()

    return asyncio.run(asked())


def test_a_passage_that_states_its_row_is_taken() -> None:
    sentence, problems = read_passage(FERRY, SAID)
    assert not problems
    assert {one.column: SAID[one.start : one.end] for one in sentence.stated} == CELLS
    assert all(one.value == SAID[one.start : one.end] for one in sentence.stated)
    sentence, _ = read_passage(FERRY._replace(first=False), SAID)
    assert {one.column for one in sentence.stated} == {*CELLS} - {"Ferry"}
    assert not read_passage(FERRY._replace(kind="Ferry"), f"{SAID[:-1]}, a ferry line.")[1]


@pytest.mark.parametrize(
    ("old", "new", "kind"),
    [
        ("62.5 m", "some 62 m", "value not stated"),
        (" Its operator is Lunel Lines.", "", "value not stated"),
        ("1998", "1999", "number that the table does not have"),
        ("long.", "long, more than 3 others.", "number that the table does not have"),
        ("the Alba", "she", "value not stated"),
        ("Launched in 1998, the Alba", "She was launched in 1998. The Alba", "first sentence"),
        ("Its operator", "She has her home port elsewhere. Its operator", "empty cell stated"),
        ("Its operator", "Of her crew there is no word. Its operator", "empty cell stated"),
        ("long.", "long, as the Sella is.", "name that the row does not have"),
        ("long.", "long. It is in service since 1998.", "value repeated in its sentence"),
        ("Launched", "# Alba\nLaunched", "heading, list or unfinished sentence"),
        ("Lines.", "Lines", "heading, list or unfinished sentence"),
    ],
)
def test_what_a_row_does_not_say_is_refused(old: str, new: str, kind: str) -> None:
    assert old in SAID
    _, problems = read_passage(FERRY, SAID.replace(old, new))
    assert any(kind in problem.kind for problem in problems), problems
    assert all(problem.text and "\n" not in problem.text for problem in problems)


@pytest.mark.parametrize("source", ["pool", "data_gen/tables"])
def test_the_programs_own_passages_are_taken_and_no_other_cells(source: str) -> None:
    drawing = parse(Synthesis, [f"source={source}", "n=9", "distractor_types.entity=4"])
    engine, rng, count = open_maker(drawing), Random(0), 0
    assert isinstance(engine, Engine)
    for drawn in filter(None, map(engine.draw, range(drawing.n))):
        for passage in passages_of(drawn):
            said = {one.theme: one for one in drawn.context.rows[passage.row].sentences}[
                passage.theme
            ]
            sentence, problems = read_passage(passage, said.text)
            assert not problems, (said.text, problems)
            assert sorted(one[:2] for one in sentence.stated) == sorted(
                one[:2] for one in said.stated
            )
            cell = rng.choice(said.stated[1:] or said.stated)
            for other in ("Xanthe", "7,654", ""):
                text = said.text[: cell.start] + other + said.text[cell.end :]
                assert read_passage(passage, text)[1], (text, passage)
                count += 1
    assert count > 500


def test_a_row_of_one_of_two_kinds_says_which() -> None:
    ship = FERRY._replace(kind="Ship")
    assert [p.kind for p in read_passage(ship, SAID)[1]] == ["kind of the row not said"]


def test_the_words_of_a_context_do_not_depend_on_what_is_asked() -> None:
    with ModelServer() as server:
        row, more = make(server, 1, "queries=1"), make(server, 1, "queries=4")
        asked = [seen.body["messages"] for seen in server.seen]
    assert not row.rejections and not more.rejections
    assert len(row.examples) == 1 and len(more.examples) == 4
    assert len({one.adversarial_context for one in (*row.examples, *more.examples)}) == 1
    assert len({one.query for one in more.examples}) == 4
    for example in more.examples:
        assert verify(example) is None
        assert example.engine.startswith("llm-query-last/") and example.groups
        assert len(example.calls) == len(row.calls) == len(asked) // 2
        for fact in example.facts:
            start, end, first, last = fact.adversarial
            assert example.adversarial_context[start:end] == fact.value
            assert fact.entity in example.adversarial_context[first:last]
    shown = "\n".join(turn["content"] for chat in asked[: len(row.calls)] for turn in chat)
    assert not any(one.query in shown for one in more.examples)
    rows = re.findall(r"^\d+\. (?:\(.*?\) )?({.*})$", shown, re.MULTILINE)
    rows = [row for row in rows if "Alba" not in row and "Sella" not in row]
    assert len(rows) == len({*rows})


def test_groups_are_mixed_in_every_request() -> None:
    with ModelServer() as server:
        row = make(server, 2, "shape.max_rows=6", "shape.min_rows=5", "few=0")
        chats = [seen.body["messages"][1]["content"] for seen in server.seen]
    (example,) = row.examples[:1]
    group = {
        fact.entity: -1 if fact.violates is None else example.groups[fact.row]
        for fact in example.facts
    }
    for chat in chats[:-1]:
        names = [json.loads(cells) for cells in re.findall(r"^\d+\. (?:\(.*?\) )?({.*})$", chat, 8)]
        found = {group[next(iter(cells.values()))] for cells in names[:-2]}
        assert len(found) > 1


def test_a_wrong_passage_is_asked_for_again_and_the_right_ones_are_kept() -> None:
    with ModelServer("wrong-cell:0.5", seed=2) as server:
        row = make(server, 0, "retries=8", "batch=3")
        chats = [seen.body["messages"] for seen in server.seen]
    assert row.examples and row.rejections
    assert all(verify(example) is None for example in row.examples)
    assert {rejection.stage for rejection in row.rejections} == {"word"}
    assert {call.verdict for call in row.calls} == {"accepted", "rejected"}
    again = [chat for chat in chats if len(chat) == 4]
    assert len(again) == sum(call.attempt > 0 for call in row.calls) > 0
    assert re.search(r"^- Row \d+: ", again[0][3]["content"], re.MULTILINE)
    with ModelServer("wrong-cell:1") as server:
        given_up = make(server, 0, "retries=0")
    assert not given_up.examples and [call.verdict for call in given_up.calls] == ["rejected"]


def test_tables_of_a_file_are_used_and_unfit_ones_named(tmp_path: Path) -> None:
    path = tmp_path / "ships.csv"
    path.write_text("Ship,Port\nAlba,Vey\n")
    with ModelServer() as server, pytest.raises(TablemendError, match="none of 1 tables is usabl"):
        make(server, 0, f"source={path}")
    assert not server.seen


def test_a_set_is_counted_and_its_card_says_the_order(tmp_path: Path) -> None:
    out = tmp_path / "out"
    with ModelServer() as server:
        given = [f"generator={server.model}", *SMALL, "n=3", f"out={out}", "queries=2"]
        cache = f"generator_options.cache={tmp_path / 'cache.sqlite'}"
        make_llm_dataset(parse(LlmSynthesis, [*given, cache]))
        count = len(server.seen)
        make_llm_dataset(parse(LlmSynthesis, [*given, cache]))
        assert len(server.seen) == count
        with pytest.raises(TablemendError, match="order"):
            make_llm_dataset(
                parse(LlmSynthesis, [f"generator={server.model}", "n=3", f"out={out}"])
            )
    counts = json.loads((out / "counts.json").read_text())
    assert counts["examples"]["made"] == 6 and counts["examples"]["asked"] == 3
    assert counts["sizes"]["contexts"] == 3 and counts["calls"]["word"]["calls"] == count
    card = (out / "README.md").read_text()
    assert "`order=query-last`" in card and "6 examples of 3 contexts" in card
    assert "order=query-last" in card.partition("```")[2]


PASSAGE = "The Alba was launched in 1998 and is operated by Lunel Lines. The ferry is 62.5 m long."
GOOD = "The Alba, operated by Lunel Lines, is 62.5 m long. It was launched in 1998."


def test_a_rewording_with_all_facts_and_no_other_is_taken() -> None:
    sentence = read_rewording(FERRY, PASSAGE, GOOD)
    assert {one.column: GOOD[one.start : one.end] for one in sentence.stated} == CELLS
    sentence = read_rewording(FERRY._replace(first=False, theme=1), PASSAGE, GOOD)
    assert {one.column for one in sentence.stated} == {*CELLS} - {"Ferry"}
    assert sentence.theme == 1


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ("62.5 m", "some 62 m", "number not there"),
        (" It was launched in 1998.", "", "number not there"),
        ("Lunel Lines", "the Lunel company", "name not there"),
        ("The Alba", "The ferry", "name not there"),
        ("long.", "long, with 3 decks.", "number added"),
        ("long.", "long, with two decks.", "number added"),
        ("is 62.5", "is $62.5", "number added"),
        ("62.5 m", "62.5 million m", "number added"),
        ("long.", "long, as the Sella is.", "name added"),
        (" long", "", "word not there"),
        (" by", "", "word not there"),
        ("long.", "long, a character of the sea.", "word added"),
        ("in 1998.", "in 1998, unlike others.", "word added"),
        ("It was", "She was", "word added"),
        (
            "The Alba, operated by Lunel Lines,",
            "It is the Alba, operated by Lunel Lines, and",
            "subj",
        ),
        ("Lunel Lines, is", "Lunel Lines, which is", "subject lost"),
        (
            "62.5 m long. It was launched in 1998",
            "1998 m long. It was launched in 62.5",
            "exchanged",
        ),
        ("62.5 m long. It was launched in", "launched in 62.5. It was long m", "exchanged"),
        ("is 62.5", "62.5", "sentence without a verb"),
        (
            "operated by Lunel Lines, is 62.5 m long",
            "62.5 m long, is operated by Lunel Lines",
            "verb",
        ),
        ("1998.", "1998", "heading, list or unfinished sentence"),
        ("1998.", "1998" + ", as it is, as it was" * 5 + ".", "too short or too long"),
        (GOOD, PASSAGE.replace(". The", "; the"), "the same words"),
    ],
)
def test_what_a_passage_does_not_say_is_refused(old: str, new: str, why: str) -> None:
    assert old in GOOD
    with pytest.raises(Unreadable, match=why):
        read_rewording(FERRY, PASSAGE, GOOD.replace(old, new))


FEW = ["source=pool", "n=2", "shape.min_rows=2", "shape.max_rows=3", "few=0", "seed=4"]
ALL = "shares={train: 1, validation: 0, test: 0}"
TWICE = 2


@pytest.fixture
def tokens(tmp_path: Path) -> list[str]:
    """Settings with a model that joins sentences, and refuses passages of one."""
    maker = open_maker(parse(Synthesis, [*FEW, ALL]))
    assert isinstance(maker, Engine)
    rows = [row for n in range(2) if (drawn := maker.draw(n)) for row in drawn.context.rows]
    said = [one.text for row in rows for one in row.sentences]
    joined = [(text, text.replace(". It ", ", and it ", 1)) for text in said if ". It " in text]
    lines = [{"contains": text, "text": new} for text, new in joined]
    (tmp_path / "answers.jsonl").write_text(
        "\n".join(map(json.dumps, [*lines, {"text": "Sorry, I cannot reword this."}]))
    )
    assert 5 < len(joined) < len(said)
    model = [f"wording.model=scripted:{tmp_path / 'answers.jsonl'}", f"wording.samples={TWICE}"]
    return [*FEW, ALL, *model, f"wording.options.cache={tmp_path / 'requests.sqlite'}"]


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The ids of all requests that a model got."""
    ids, answer = list[str](), ReplayEngine.answer

    async def noted(self: ReplayEngine, request: Request) -> Completion:
        ids.append(request.id)
        return await answer(self, request)

    monkeypatch.setattr(ReplayEngine, "answer", noted)
    return ids


def examples_in(out: Path) -> Iterator[Example]:
    return map(Example.from_json, read_jsonl(out / "train.jsonl"))


def test_a_reworded_set_has_its_facts_in_place_and_says_who_worded_it(
    tokens: list[str], tmp_path: Path
) -> None:
    counts = make_reworded(parse(Synthesis, [*tokens, f"out={tmp_path / 'set'}"]), lambda _: None)
    found = counts["counts"]
    kept, refused = found["passages reworded"], found["rewording refused: refusal"]
    assert kept > 5 and refused == TWICE * (found["passages"] - kept)
    for example in examples_in(tmp_path / "set"):
        assert verify(example) is None and example.engine == REWORDED
        assert ", and it " in example.adversarial_context
        for fact in example.facts:
            places = [(example.adversarial_context, fact.adversarial)]
            places += [(example.gold_context, fact.clean)] if fact.clean else []
            for text, (start, end, first, last) in places:
                assert text[start:end] == fact.value
                assert fact.entity in text[first:last]
    card = (tmp_path / "set" / "README.md").read_text()
    assert f"**Reworded by a model.** {kept} of {found['passages']} passages" in card
    assert f"| refusal | {refused} |" in card and f"wording.samples={TWICE}" in card


def test_words_do_not_depend_on_what_is_asked(tokens: list[str], tmp_path: Path) -> None:
    contexts = []
    for queries in 1, 3:
        out = tmp_path / f"{queries}"
        given = parse(Synthesis, [*tokens, f"queries={queries}", f"out={out}"])
        make_reworded(given, lambda _: None)
        contexts.append({one.adversarial_context for one in examples_in(out)})
    assert contexts[0] == contexts[1] and len(contexts[0]) == 2


def test_an_interrupted_run_asks_nothing_again(
    tokens: list[str], tmp_path: Path, asked: list[str]
) -> None:
    def interrupt(done: int) -> None:
        if done:
            raise KeyboardInterrupt

    whole, broken = (parse(Synthesis, [*tokens, f"out={tmp_path / out}"]) for out in "ab")
    with pytest.raises(KeyboardInterrupt):
        make_reworded(broken, interrupt)
    first = len(asked)
    make_reworded(broken, lambda _: None)
    assert 0 < first < len(asked) == len({*asked})
    make_reworded(whole, lambda _: None)  # all from the cache
    assert len(asked) == len({*asked})
    for name in "train.jsonl", "counts.json", "settings.json":
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()


def test_bad_models_are_one_line_before_anything_is_made(tokens: list[str], tmp_path: Path) -> None:
    out = f"out={tmp_path / 'none'}"
    for model, why in (
        ("gpt", "names no engine"),
        ("openai:gpt@http://127.0.0.1:9/v1", "no server answers"),
        (f"hf:{tmp_path / 'model'}", "model"),
    ):
        given = parse(Synthesis, [*tokens, out, f"wording.model={model}"])
        with pytest.raises(TablemendError, match=why) as error:
            make_reworded(given, lambda _: None)
        assert "\n" not in str(error.value) and not (tmp_path / "none").exists()
    with pytest.raises(TablemendError, match="only data_gen"):
        make_dataset(given, lambda _: None)
    with pytest.raises(ConfigError, match="greater than 0"):
        parse(Synthesis, [*tokens, "wording.temperature=0"])
    with pytest.raises(ConfigError, match="small world has no such setting"):
        parse(Synthesis, ["source=small-world", tokens[-3]])


def test_without_wording_nothing_is_noted_of_it(tmp_path: Path) -> None:
    """Sets that were begun before there was such a setting go on."""
    make_dataset(parse(Synthesis, [*FEW, ALL, f"out={tmp_path}"]), lambda _: None)
    assert "wording" not in (tmp_path / "settings.json").read_text()
    assert "Reworded" not in (tmp_path / "README.md").read_text()
