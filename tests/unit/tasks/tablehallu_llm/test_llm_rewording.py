"""Passages that a model rewords: what is taken of its answers, and the data set made of them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

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
from tablemend.tasks.tablehallu_llm.wording import REWORDED, Passage, make_reworded, read_rewording

CELLS = {"Ferry": "Alba", "Launched": "1998", "Length (m)": "62.5", "Operator": "Lunel Lines"}
FERRY = Passage(0, 0, "", CELLS, ("Home Port", "Crew"), first=True)
SAID = "The Alba was launched in 1998 and is operated by Lunel Lines. The ferry is 62.5 m long."
GOOD = "The Alba, operated by Lunel Lines, is 62.5 m long. It was launched in 1998."


def test_a_rewording_with_all_facts_and_no_other_is_taken() -> None:
    sentence = read_rewording(FERRY, SAID, GOOD)
    assert {one.column: GOOD[one.start : one.end] for one in sentence.stated} == CELLS
    sentence = read_rewording(FERRY._replace(first=False, theme=1), SAID, GOOD)
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
        (GOOD, SAID.replace(". The", "; the"), "the same words"),
    ],
)
def test_what_a_passage_does_not_say_is_refused(old: str, new: str, why: str) -> None:
    assert old in GOOD
    with pytest.raises(Unreadable, match=why):
        read_rewording(FERRY, SAID, GOOD.replace(old, new))


SMALL = ["source=pool", "n=2", "shape.min_rows=2", "shape.max_rows=3", "few=0", "seed=4"]
ALL = "shares={train: 1, validation: 0, test: 0}"
TWICE = 2


@pytest.fixture
def tokens(tmp_path: Path) -> list[str]:
    """Settings with a model that joins sentences, and refuses passages of one."""
    maker = open_maker(parse(Synthesis, [*SMALL, ALL]))
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
    return [*SMALL, ALL, *model, f"wording.options.cache={tmp_path / 'requests.sqlite'}"]


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
    make_dataset(parse(Synthesis, [*SMALL, ALL, f"out={tmp_path}"]), lambda _: None)
    assert "wording" not in (tmp_path / "settings.json").read_text()
    assert "Reworded" not in (tmp_path / "README.md").read_text()
