"""What models write for inputs: pairs without labels, and reasons where there is none."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from tablemend.config.section import BackendOptions
from tablemend.runs import read_jsonl
from tablemend.tasks.logic.dataset import PROMPTS, STAGES, LogicSet, write_outputs
from tablemend.tasks.logic.hotel import hotel_pairs
from tablemend.tasks.logic.pair import Domain, Pair
from tests.support.scripts import run_script

HOTEL = "Name: Alba Court\nStar rating: 4\nCity: Oslo\nSport: Diving"


def _model(path: Path, *lines: dict[str, str]) -> str:
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
    return f"scripted:{path}"


@pytest.mark.parametrize(
    ("domain", "input"), [("hotel", HOTEL), ("logic", "∃x (Cube(x) ∧ Large(x))")]
)
def test_a_model_is_shown_the_input_and_no_more(domain: Domain, input: str) -> None:
    _, turn = PROMPTS.render(STAGES[domain], input=input)
    assert turn["role"] == "user" and input in turn["content"]


def test_outputs_are_pairs_without_labels_and_failures_say_why(tmp_path: Path) -> None:
    other = HOTEL.replace("Alba Court", "Yllana Mill")
    good = "Alba Court is a charming 4-star place in Oslo with diving."
    models = {
        "first": _model(
            tmp_path / "first.jsonl",
            {"contains": "Alba Court", "text": f"Here is the description:\n\n{good}\n"},
            {"contains": "Yllana Mill", "text": "cut sho", "finish_reason": "length"},
        ),
        "second": _model(tmp_path / "second.jsonl", {"text": "I'm sorry, I cannot do that."}),
    }
    counts = Counter[str]()
    settings = LogicSet(models=models, options=BackendOptions(cache=None))
    assert list(write_outputs(settings, "hotel", [HOTEL, other], counts)) == [
        Pair("hotel", HOTEL, good, "first")
    ]
    assert counts == {
        "hotel first": 1,
        "hotel first dropped: cut by the token limit": 1,
        "hotel second dropped: refusal": 2,
    }


def test_the_data_command_asks_models_and_counts_what_they_did_not_write(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    good = _model(tmp_path / "good.jsonl", {"text": "A place to stay."})
    bad = _model(tmp_path / "bad.jsonl", {"text": "", "finish_reason": "length"})
    out = tmp_path / "set"
    tokens = [
        "domains=[hotel,logic]", "n=4", f"models={{good: '{good}', bad: '{bad}'}}", f"out={out}",
        "options.cache=null", "shares.test=1", "shares.train=0", "shares.validation=0",
    ]  # fmt: skip
    assert run_script("data_gen/logic.py", tokens, monkeypatch) == 0
    pairs = [Pair.from_json(line) for line in read_jsonl(out / "test.jsonl")]
    assert {(one.domain, one.system, one.labels) for one in pairs} == {
        ("hotel", "good", ()),
        ("logic", "good", ()),
    }
    said = capsys.readouterr().out
    assert "hotel good: 4" in said and "hotel bad dropped: cut by the token limit: 4" in said
    inputs = {one.input for one in pairs if one.domain == "hotel"}
    assert inputs == {one.input for one in hotel_pairs(4)}


def test_the_data_command_makes_hotels_with_labels(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tokens = ["domains=[hotel]", "n=20", f"out={tmp_path / 'set'}", "categories=[too_weak]"]
    assert run_script("data_gen/logic.py", tokens, monkeypatch) == 0
    files = list((tmp_path / "set").glob("t*.jsonl")) + list((tmp_path / "set").glob("v*.jsonl"))
    found = [Pair.from_json(line) for path in files for line in read_jsonl(path)]
    assert sorted(map(str, found)) == sorted(map(str, hotel_pairs(20, 0, ("too_weak",))))


@pytest.mark.parametrize(
    ("tokens", "why"),
    [
        (["domains=[logic]", "categories=[not_well_formed]"], "logic has none of them"),
        (["temperature=0.5"], "only read where models are set"),
        (["models={a: 'scripted:x'}", "categories=[too_weak]"], "no relation by construction"),
    ],
)
def test_settings_that_nobody_reads_are_refused(
    tokens: list[str],
    why: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run_script("data_gen/logic.py", tokens, monkeypatch) == 2
    assert why in capsys.readouterr().err
