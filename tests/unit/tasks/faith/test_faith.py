"""FAITH as a task: what is shown, taught, scored, asked again and mended; sets and their votes."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from random import Random

import pytest
from pydantic import ValidationError

from tablemend.config import Source
from tablemend.errors import Stopped, TablemendError
from tablemend.records import Judgement
from tablemend.runs import read_jsonl
from tablemend.tables.table import Table
from tablemend.tasks.faith import data
from tablemend.tasks.faith.data import (
    FaithSet,
    Question,
    decide,
    describe,
    make_dataset,
    pattern_of,
    vote,
)
from tablemend.tasks.faith.reports import Unusable
from tablemend.tasks.faith.sample import MaskedSpan
from tablemend.tasks.faith.task import VIEW, Faith, judge, read_reply
from tablemend.tasks.task import Submission
from tablemend.values.text import Span
from tests.support.faithfulness_models import CannedBackend

TABLE = Table.of(
    ["(in millions)", "2023", "2022"],
    [["Revenue", "$1,234.5", "$1,100.2"], ["Margin", "45.4%", "44.1%"], ["EPS", "$1.25", "$1.10"]],
    "Results of operations:",
)
SAMPLE = MaskedSpan(
    "Firm", "Firm_2023", (TABLE,), "It was a good year.", "Revenue was [MASK] in 2023.",
    "We thank all.", "$1,234.5 million", "A", "a = Revenue: $1,234.5",
)  # fmt: skip
TASK = Faith()


@pytest.fixture(scope="module")
def invented(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("faith") / "set"
    shares = {"train": 0.6, "validation": 0.1, "test": 0.3}
    settings = {"n": 24, "out": str(out), "shares": shares, "workers": 1, "sentences": 3}
    make_dataset(FaithSet.model_validate(settings), lambda n: None)
    return out


def read(folder: Path, split: str) -> list[MaskedSpan]:
    return TASK.samples(Source(source=str(folder), split=split))


def test_the_prompt_shows_tables_sentence_and_hint_and_never_the_masked_words() -> None:
    (_, user) = TASK.messages(SAMPLE, VIEW, "base")
    shown = user["content"]
    assert "Table 1: Results of operations:" in shown and "| Revenue |" in shown
    assert "It was a good year. Revenue was [MASK] in 2023. We thank all." in shown
    assert "an amount of money" in shown and SAMPLE.answer not in shown
    assert "Work in steps" in TASK.messages(SAMPLE, VIEW, "cot")[1]["content"]
    assert (
        "table 1, Revenue: 2023 $1,234.5" in TASK.messages(SAMPLE, VIEW, "assisted")[1]["content"]
    )


@pytest.mark.parametrize("thinking", ["off", "empty", "rationale"])
def test_gold_scores_and_earns_everything(thinking: str, invented: Path) -> None:
    samples = [SAMPLE, *read(invented, "train"), *read(invented, "test")]
    assert len(samples) > 30
    reward = TASK.reward({}, thinking, "base")
    for sample in samples:
        gold = TASK.target(sample, VIEW, thinking)
        found = judge(sample, gold)
        assert not found.findings and found.share("accuracy") == 1.0
        assert TASK.is_flawless(found) and reward.score(sample, VIEW, gold).reward == 1.0


@pytest.mark.parametrize(
    ("answer", "finding", "shares"),
    [
        ("$1,234.5 million", None, (1, 1, 1)),
        ("USD 1.2345 billion", None, (1, 1, 1)),
        ("$1,234.5", "scale", (0, 1, 1)),
        ("1,234.5 million", "unit", (1, 0, 1)),
        ("$1,100.2 million", "value", (0, 1, 0)),
    ],
)
def test_an_answer_is_scored_by_value_unit_and_scale(
    answer: str, finding: str | None, shares: tuple[int, int, int]
) -> None:
    found = judge(SAMPLE, f'First I look.\n```json\n{{"results": {{"answer": "{answer}"}}}}\n```')
    assert [one.type for one in found.findings] == ([finding] if finding else [])
    names = ("value_accuracy", "unit_accuracy", "without_scale_errors")
    assert tuple(found.share(name) for name in names) == shares
    assert found.share("accuracy") == float(finding is None)


@pytest.mark.parametrize(
    ("said", "scenario"),
    [("A", "A"), ("scenario b)", "B"), ("Bivariate", "C"), ("Comparative", "B"), ("Absurd", "")],
)
def test_a_scenario_is_read_by_its_letter_or_its_name(said: str, scenario: str) -> None:
    assert (
        read_reply(f'{{"results": {{"answer": "$5", "scenario": "{said}"}}}}').scenario == scenario
    )


def test_the_reward_wants_the_precision_of_the_masked_number_and_no_further_unit() -> None:
    reward = TASK.reward({}, "off", "base")
    earned = [
        reward.score(SAMPLE, VIEW, f'{{"results": {{"answer": "{said}"}}}}').reward
        for said in ("$1,234.5 million", "$1 billion", "$1,234.5 million per share")
    ]
    assert earned[0] == 1.0 and max(earned[1:]) < 1.0


def test_no_json_is_unscored_and_unknown_is_an_abstention() -> None:
    with TASK.scorer() as scorer:
        texts = ["It was good.", '{"results": {"answer": "N/A"}}', ""]
        answers = [Submission(SAMPLE, VIEW, text) for text in texts]
        prose, unknown, failed = scorer.score([*answers[:2], answers[2]._replace(unscored="gone")])
    assert "no JSON object" in prose.unscored and "gone" in failed.unscored
    assert unknown.abstained and not unknown.unscored


@pytest.mark.parametrize("type", ["value", "scale", "unit"])
def test_an_error_that_is_put_in_is_found(type: str) -> None:
    gold = TASK.target(SAMPLE, VIEW, "rationale")
    (made,) = TASK.corruptions(SAMPLE, VIEW, gold, [type], Random(0))
    assert made.text.startswith("<think>") and judge(SAMPLE, made.text).counts == {type: 1}


def test_an_answer_that_cannot_be_read_is_asked_for_again() -> None:
    chat = TASK.messages(SAMPLE, VIEW, "base")
    again = TASK.ask_again(chat, "I would say much.")
    assert again is not None and again[-2]["content"] == "I would say much."
    assert "must be one JSON object" in again[-1]["content"]
    assert TASK.ask_again(chat, '{"results": {"answer": "$5"}}') is None


def test_a_scenario_that_nobody_has_labelled_is_what_most_right_answers_say() -> None:
    unknown = MaskedSpan.from_json(SAMPLE.to_json() | {"scenario": ""})
    right = [
        (f'{{"results": {{"answer": "{SAMPLE.answer}", "scenario": "{said}"}}}}',)
        for said in ("B", "A", "B")
    ]
    answers = [(text, judge(unknown, text)) for (text,) in right]
    wrong = '{"results": {"answer": "$5", "scenario": "D"}}'
    answers += [(wrong, judge(unknown, wrong))] * 5 + [("", Judgement(unscored="gone"))]
    assert TASK.domain(unknown, answers).startswith("B ")
    assert TASK.domain(SAMPLE, answers).startswith("A ")
    assert TASK.domain(unknown, []) == "scenario unknown"
    assert unknown.id == SAMPLE.id  # a label changes no answer


def test_a_set_keeps_companies_apart_and_is_the_same_again(invented: Path, tmp_path: Path) -> None:
    splits = {split: read(invented, split) for split in ("train", "test")}
    companies = [{one.company for one in own} for own in splits.values()]
    assert not companies[0] & companies[1]
    counts = json.loads((invented / "counts.json").read_text())
    assert counts["counts"]["spans"] == sum(
        1 for file in invented.glob("*.jsonl") if file.stem in ("train", "validation", "test")
        for _ in read_jsonl(file)
    )  # fmt: skip
    settings = json.loads((invented / "settings.json").read_text())
    again = {key: settings[key] for key in ("n", "shares", "sentences", "seed")}
    made = FaithSet.model_validate({**again, "out": str(tmp_path / "again"), "workers": 2})
    make_dataset(made, lambda n: None)
    files = ("train.jsonl", "test.jsonl", "votes.jsonl")
    assert all((invented / f).read_bytes() == (tmp_path / "again" / f).read_bytes() for f in files)


def test_faiths_own_records_are_read_as_labelled(tmp_path: Path) -> None:
    record = {
        "metadata": {"cik": "7", "filing_date": "2024-02-02"},
        "tables": [{"table_index": "0", "pre_text": "Results:", "cells": [
            ["(in millions)", "2023"], ["Revenue", "$1,234.5"]]}],
        "instances": [{
            "sentence": "Revenue was $1.2 billion.", "pre_sentence": None, "post_sentence": "Good.",
            "mask_type": "A", "mask_span": [12, 24], "ground_truth": "$1,234,500,000"}],
    }  # fmt: skip
    path = tmp_path / "pilot.json"
    path.write_text(json.dumps([record]))
    shares = {"train": 0, "validation": 0, "test": 1}
    out = str(tmp_path / "out")
    settings = FaithSet.model_validate({"reports": [str(path)], "shares": shares, "out": out})
    counts = make_dataset(settings, lambda n: None)
    (found,) = read(Path(out), "test")
    assert (found.sentence, found.answer, found.scenario, found.exact, found.company) == (
        "Revenue was [MASK].", "$1.2 billion", "A", "$1,234,500,000", "7",
    )  # fmt: skip
    assert "a = Revenue, 2023 (table 1): $1,234.5" in found.derivation
    assert any("1 of 1 reports in" in line for line in describe(counts, settings))


def test_models_vote_and_the_quorum_decides(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def answer(prompt: str) -> str:
        marked = [part.partition("</SPAN>")[0] for part in prompt.split("<SPAN>")[1:-1]]
        return json.dumps({"reasoning": "", "spans": dict.fromkeys(marked, "answerable")})

    class Loaded(CannedBackend):
        def load(self) -> None: ...

        def __enter__(self) -> Loaded:
            return self

        def __exit__(self, *_: object) -> None: ...

    monkeypatch.setattr(data, "open_backend", lambda name, options: Loaded(answer, name))
    common = {"n": 12, "sentences": 4, "workers": 1}
    found = {}
    for quorum in (None, 1):
        out = tmp_path / str(quorum)
        annotators = ["program", "hf:one"]
        settings = {**common, "annotators": annotators, "quorum": quorum, "out": str(out)}
        make_dataset(FaithSet.model_validate(settings), lambda n: None)
        found[quorum] = json.loads((out / "counts.json").read_text())["counts"]
        votes = list(read_jsonl(out / "votes.jsonl"))
        assert all(set(one["votes"]) == {"program", "hf:one"} for one in votes)
        assert all(one["votes"]["hf:one"] for one in votes)
    assert found[None]["spans"] == found[None]["votes 2 yes, 0 no"]
    assert found[1]["spans"] > found[None]["spans"]


def test_a_model_that_does_not_say_has_no_vote() -> None:
    def ask(text: str, spans: Sequence[Span]) -> list[bool | None]:
        backend = CannedBackend(lambda _: text)
        question = Question("q", (TABLE,), "", "Revenue was $5 and $6.", "", spans)
        return vote([question], backend)[1][0]

    spans = [Span(12, 14), Span(19, 21)]
    said = '{"reasoning": "", "spans": {"$5": "answerable", "<SPAN>$6</SPAN>": "Unanswerable"}}'
    assert ask(said, spans) == [True, False]
    assert ask('{"spans": {"$5": "perhaps"}}', spans) == [None, None]
    assert ask("No idea.", spans) == [None, None]
    assert decide({"a": True, "b": None}, None) is False and decide({"a": True, "b": None}, 1)
    assert pattern_of({"a": True, "b": None, "c": False}) == "1 yes, 1 no, 1 silent"


def test_a_model_that_fails_stops_and_tables_that_do_not_fit_skip_the_report() -> None:
    question = Question("q", (TABLE,), "", "Revenue was $5.", "", [Span(12, 14)])
    gone = CannedBackend(lambda _: ("", "error"))
    with pytest.raises(Stopped, match="goes on with this report"):
        vote([question], gone)
    gone.too_long = lambda requests: {"q": "9,000 tokens"}  # type: ignore[method-assign]
    with pytest.raises(Unusable, match="9,000 tokens"):
        vote([question], gone)


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"reports": ["nowhere"]}, "no folder or file nowhere"),
        ({"quorum": 2}, "there are 1 annotators"),
        ({"annotators": []}, "name one"),
        ({"annotators": ["hf:one", "hf:one@2"]}, "each once"),
        ({"reports": []}, "name a folder"),
    ],
)
def test_settings_that_cannot_work_are_refused(settings: dict[str, object], says: str) -> None:
    with pytest.raises(ValidationError, match=says):
        FaithSet.model_validate(settings)


def test_a_file_that_is_no_json_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_text("{broken")
    settings = FaithSet.model_validate({"reports": [str(path)], "out": str(tmp_path / "out")})
    with pytest.raises(TablemendError, match="is no JSON"):
        make_dataset(settings, lambda n: None)
