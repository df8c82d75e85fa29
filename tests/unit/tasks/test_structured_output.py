"""Records: errors by value wherever an object is, and the Structured Output Benchmark's figures."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from tablemend.config import Source
from tablemend.errors import TablemendError
from tablemend.tasks.all_tasks import TASKS
from tablemend.tasks.structured_output import RecordSample, detect_records
from tablemend.tasks.task import Task
from tests.support.scripts import ROOT, run_script

GOLD: Any = {
    "title": "League",
    "teams": [
        {"name": "Alba", "numbers": {"points": 41, "goals": 1200.5}, "players": ["Ann", "Bo"]},
        {"name": "Sella", "numbers": {"points": 37, "goals": None}, "players": []},
    ],
}
SCHEMA = {"type": "object", "required": ["title", "teams"], "additionalProperties": False,
          "properties": {"title": {"type": "string"}, "teams": {"type": "array"}}}  # fmt: skip
TEXT = "League: Alba won 41 points and 1,200.5 goals with Ann and Bo, Sella 37 points."


def edited(path: str, value: Any) -> Any:
    """Gold with another value, or (``...``) without it."""
    record = copy.deepcopy(GOLD)
    *steps, last = [int(one) if one.isdigit() else one for one in path.split("/")]
    place = record
    for step in steps:
        place = place[step]
    if value is ...:
        del place[last]
    elif isinstance(place, list) and last == len(place):
        place.append(value)
    else:
        place[last] = value
    return record


def found(answer: Any, **given: Any) -> tuple[list[tuple[str, str | None]], list[float | None]]:
    text = answer if isinstance(answer, str) else json.dumps(answer)
    judged = detect_records(text, **({"gold": GOLD, "source": TEXT, "schema": SCHEMA} | given))
    shares = [judged.share(name) for name in ("schema", "values", "record")]
    return [(one.type, one.column) for one in judged.findings], shares


@pytest.mark.parametrize(
    ("answer", "errors", "shares"),
    [
        (GOLD, [], [1, 1, 1]),
        (f"Here:\n```json\n{json.dumps(GOLD, indent=1)}\n```", [], [1, 1, 1]),
        (edited("teams/0/numbers/points", "41"), [], [1, 8 / 9, 0]),  # the value, not the type
        (edited("teams/0/numbers/points", 14), [("wrong_value", "teams[0].numbers.points")],
         [1, 8 / 9, 0]),
        (edited("teams/1/numbers/goals", 5), [("made_up", "teams[1].numbers.goals")],
         [1, 8 / 9, 0]),
        (edited("teams/0/players", ["Bo", "Ann"]), [], [1, 7 / 9, 0]),
        (edited("teams/0/players/2", "Cy"), [("made_up", "teams[0].players[2]")], [1, 0, 0]),
        (edited("teams/0", ...), [("left_out", "teams[0]")], [1, 0, 0]),
        ({**GOLD, "teams": GOLD["teams"][::-1]}, [], [1, 0, 0]),
        (edited("year", 2019), [("schema_error", None), ("made_up", "year")], [0, 0, 0]),
        (edited("title", ...), [("schema_error", None), ("left_out", "title")], [0, 0, 0]),
        ("Alba won.", [("schema_error", None)], [0, 0, 0]),
        ("[" * 100_000, [("schema_error", None)], [0, 0, 0]),
        ("7", [("schema_error", None)], [0, 0, 0]),
    ],
)  # fmt: skip
def test_errors_by_value_and_figures_by_place(answer: Any, errors: Any, shares: Any) -> None:
    types, figures = found(answer)
    assert types == errors
    assert figures == [pytest.approx(one) for one in shares]


def test_keys_are_mapped_at_every_depth_and_without_gold_the_text_decides() -> None:
    said = json.loads(json.dumps(GOLD).replace('"points"', '"Pts"').replace('"teams"', '"Teams"'))
    assert found(said, columns={"Pts": "points", "Teams": "teams"}) == ([], [1, 1, 1])
    assert found(GOLD, gold=None) == ([], [1, 1, 1])
    types, figures = found(edited("teams/1/numbers/points", 38), gold=None)
    assert types == [("made_up", "teams[1].numbers.points")] and figures == [1, 8 / 9, 0]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda own: st.lists(own, max_size=3) | st.dictionaries(st.text(max_size=3), own, max_size=3),
    max_leaves=12,
)


@given(st.dictionaries(st.text(max_size=3), JSON, max_size=4), JSON)
@settings(max_examples=60, deadline=None)
def test_a_record_is_right_beside_itself_and_no_answer_is_a_defect(gold: Any, other: Any) -> None:
    judged = detect_records(json.dumps(gold), gold)
    assert judged.findings == () and judged.share("record") == 1
    detect_records(json.dumps(other), gold)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("records")
    lines = (ROOT / "data_gen/tables/wikipedia.jsonl").read_text(encoding="utf-8").splitlines()
    (folder / "tables.jsonl").write_text("\n".join(lines[:60]), encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        arguments = [f"source={folder / 'tables.jsonl'}", f"out={folder / 'set'}"]
        assert run_script("data_gen/records.py", arguments, patch) == 0
    return folder / "set"


def test_every_gold_of_the_set_is_right_by_gold_and_by_text(made: Path) -> None:
    task: Task[Any] = TASKS["records"]()
    samples = task.samples(Source(source=str(made), split="train"))
    assert len(samples) > 20 and any("groups" in one.record for one in samples)
    assert {sample.source_hash for sample in samples}.isdisjoint(
        one.source_hash for one in task.samples(Source(source=str(made), split="test"))
    )
    for sample in samples:
        gold = task.target(sample, "text", "off")
        assert task.is_flawless(task.score(sample, gold))
        assert detect_records(gold, None, sample.text, sample.schema).findings == ()
        assert task.reward({}, "off", "base").score(sample, "text", gold).reward == 1.0


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"schema": {}}, "needs text, a str"),
        ({"text": "x", "schema": "y"}, "needs schema, a dict"),
        ({"text": "x", "schema": {"type": "thing"}}, "schema: 'thing' is not"),
        ({"text": "x", "schema": SCHEMA, "record": {}}, "record does not fit its schema: "),
    ],
)
def test_what_is_no_sample_is_refused(fields: Any, said: str) -> None:
    with pytest.raises(TablemendError, match=said) as caught:
        RecordSample.from_json(fields)
    assert "\n" not in str(caught.value)


def test_it_trains_compares_and_reports(
    tmp_path: Path, tiny_model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    schema = {"type": "object", "required": ["points"]}
    for name, first in (("train", 1), ("test", 50)):
        lines = [{"text": f"Alba won {n}.", "schema": schema, "record": {"points": n}}
                 for n in range(first, first + 2)]  # fmt: skip
        (tmp_path / f"{name}.jsonl").write_text("\n".join(map(json.dumps, lines)))
    content = {
        "kind": "experiment", "name": "records", "task": "records",
        "model": {"path": str(tiny_model), "context_length": 1024},
        "data": {"train": {"source": str(tmp_path / "train.jsonl")},
                 "test": {"source": str(tmp_path / "test.jsonl")}},
        "train": {"max_steps": 1, "learning_rate": 1e-3, "global_batch": 2, "micro_batch": 1,
                  "context": "text"},
        "evaluation": {"max_new_tokens": 8, "second_scorer": "none",
                       "systems": {"base": {"model": f"scripted:{tmp_path / 'said.jsonl'}"},
                                   "sft": {"model": "sft"}}},
    }  # fmt: skip
    (tmp_path / "said.jsonl").write_text(json.dumps({"text": '{"points": 50}'}) + "\n")
    (tmp_path / "own.yaml").write_text(yaml.safe_dump(content))
    arguments = [f"recipe={tmp_path / 'own.yaml'}", f"run={tmp_path / 'run'}"]
    for script in ("train/sft.py", "eval/compare.py"):
        assert run_script(script, arguments, monkeypatch) == 0
    own = json.loads((tmp_path / "run/results.json").read_text())["systems"]["base"]["text"]
    rates = [own[name]["rate"] for name in ("schema_error", "wrong_value", "values", "record")]
    assert rates == [0.0, 0.5, 0.5, 0.5]
    assert "Value accuracy" in (tmp_path / "run/report.md").read_text(encoding="utf-8")
