"""What the answers say: verdicts, the report, and verified copies of the data set."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

from tablemend.annotation.page import STEPS, choose, read_data
from tablemend.annotation.report import rule
from tablemend.cli.app import main
from tablemend.config import Source
from tablemend.datasets.build import lines_file
from tablemend.records import Example
from tablemend.runs import to_line
from tablemend.statistics import rate_interval
from tablemend.tasks.tablehallu import small_world
from tablemend.tasks.tablehallu.task import read_examples
from tests.support.annotators import (
    Choices,
    all_answers,
    write_answers,
    write_data,
)

# ---- verdicts ----


@pytest.mark.parametrize(
    ("votes", "verdict", "cause"),
    [
        ("y", "right", ""),
        ("n", "wrong", ""),
        ("yyn", "right", ""),
        ("nny", "wrong", ""),
        ("yn", "unscored", "tie"),
        ("ynu", "unscored", "tie"),
        ("yuu", "right", ""),
        ("u.", "unscored", "unsure"),
        ("..", "unscored", "unanswered"),
        ("", "unscored", "unanswered"),
    ],
)
def test_majority(votes: str, verdict: str, cause: str) -> None:
    words = {"y": "yes", "n": "no", "u": "unsure", ".": None}
    assert rule(words[vote] for vote in votes) == (verdict, cause)  # type: ignore[misc]


def test_round_trip_with_annotators_who_err_at_known_rates(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Export, answer as three people of known faults do, report: the counts made by hand."""
    folder = write_data(tmp_path / "data", small_world.examples(seed=8, n=300))
    data = read_data(str(folder))
    generator = random.Random(2)
    keys = [(one.id, step) for one in choose(data, 250, seed=0) for step in STEPS]
    truth = {key: generator.random() > 0.05 for key in keys}
    given: dict[str, dict[tuple[str, str], bool]] = {}
    files = []
    for name, error in (("ann", 0.0), ("bob", 0.03), ("cem", 0.1)):
        given[name] = {key: truth[key] != (generator.random() < error) for key in keys}
        choices: Choices = {}
        for (example, step), says in given[name].items():
            choices.setdefault(example, {})[step] = "yes" if says else "no"
        files.append(write_answers(tmp_path / f"{name}.json", data, name, choices))
    json_out = tmp_path / "report.json"
    arguments = ["annotate", "report", str(folder), *map(str, files), "--json", str(json_out)]
    assert main(arguments) == 0
    printed = capsys.readouterr().out
    report = json.loads(json_out.read_text())

    majority = {key: sum(own[key] for own in given.values()) >= 2 for key in keys}
    for step in STEPS:
        right = sum(majority[key] for key in keys if key[1] == step)
        assert report["results"][step]["accuracy"] == rate_interval(right, 250)
    ids = list(dict.fromkeys(example for example, _ in keys))
    whole = sum(all(majority[example, step] for step in STEPS) for example in ids)
    accuracy = report["results"]["overall"]["accuracy"]
    assert accuracy == rate_interval(whole, 250)
    true_rate = sum(all(truth[example, step] for step in STEPS) for example in ids) / 250
    assert accuracy["low"] < true_rate < accuracy["high"]
    assert "250 of 300 examples" in printed and "3 annotators" in printed
    shares = {one["name"]: one["agreed"] / one["compared"] for one in report["annotators"]}
    assert shares["ann"] > shares["cem"] and 0.8 < shares["cem"] < 0.95
    # pairs differ with 0.03, 0.1 and 0.124; of all answers 0.05, 0.077 and 0.14 are no
    expected = 1 - (0.03 + 0.1 + 0.124) / 3 / (2 * 0.089 * (1 - 0.089))
    for step in STEPS:
        found = report["results"][step]["agreement"]
        assert found["low"] < found["alpha"] < found["high"]
        width = found["high"] - found["low"]  # four standard errors
        assert abs(found["alpha"] - expected) < width < 0.4
    failed = [case["example"] for case in report["cases"] if case["verdict"] == "wrong"]
    assert len(failed) == 250 - whole and failed[0] in printed
    # the same command again replaces our own report, and nothing else
    assert main(arguments) == 0
    assert json.loads(json_out.read_text()) == report


# ---- verified copies ----


@pytest.fixture
def scored(folder: Path, tmp_path: Path, examples: list[Example]) -> tuple[Path, Path, list[str]]:
    """A folder with another split and a card, answers by which three examples fail, and those."""
    with lines_file(folder / "train.jsonl") as write:
        for example in small_world.examples(seed=77, n=5):
            write(to_line(example.to_json()))
    (folder / "README.md").write_text("---\nlicense: mit\n---\n\n# Mine\n\nText.\n")
    (folder / "counts.json").write_text("{}")
    data = read_data(str(folder))
    choices = all_answers(data)
    failed = list(choices)[3:6]
    for name, step in zip(failed, STEPS, strict=True):
        choices[name][step] = "no"
    choices[list(choices)[9]]["query"] = "unsure"
    return folder, write_answers(tmp_path / "a.json", data, "Secret Name", choices), failed


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def read_split(folder: Path, split: Any) -> list[Example]:
    return read_examples(Source(source=str(folder), split=split))


def test_drop_leaves_out_what_failed(
    scored: tuple[Path, Path, list[str]],
    tmp_path: Path,
    examples: list[Example],
    capsys: pytest.CaptureFixture[str],
) -> None:
    folder, answers, failed = scored
    before, out = contents(folder), tmp_path / "good"
    assert main(["annotate", "report", str(folder), str(answers), "--drop", str(out)]) == 0
    assert "37 examples, 3 dropped" in capsys.readouterr().out
    assert contents(folder) == before
    assert read_split(out, "test") == [one for one in examples if one.id not in failed]
    assert read_split(out, "train") == read_split(folder, "train")
    assert set(contents(out)) == {"test.jsonl", "train.jsonl", "README.md", "verification.jsonl"}
    card = (out / "README.md").read_text()
    assert card.startswith(
        "---\nlicense: mit\n---\n\n# Mine\n\nText.\n\n## Human verification: test"
    )
    assert "because they were scored wrong: 3." in card
    assert "40 of 40 examples of the split test were read by one annotator" in card
    assert "secret" not in card.lower() and "92.3 (79.7\N{EN DASH}97.3)" in card  # 36 of 39


def test_mark_keeps_the_data_and_says_the_verdicts(
    scored: tuple[Path, Path, list[str]], tmp_path: Path
) -> None:
    folder, answers, failed = scored
    out = tmp_path / "new" / "marked"
    assert main(["annotate", "report", str(folder), str(answers), "--mark", str(out)]) == 0
    before, after = contents(folder), contents(out)
    assert all(after[name] == before[name] for name in before if name.endswith(".jsonl"))
    lines = [json.loads(line) for line in (out / "verification.jsonl").read_text().splitlines()]
    verdicts = {line["example"]: line["verdict"] for line in lines}
    assert {name for name, verdict in verdicts.items() if verdict == "wrong"} == set(failed)
    assert list(verdicts.values()).count("unscored") == 1 and len(verdicts) == 40
    assert lines[0]["steps"]["query"] == {
        "verdict": "right",
        "cause": "",
        "yes": 1,
        "no": 0,
        "unsure": 0,
    }
    assert b"secret" not in after["verification.jsonl"].lower()
    assert read_split(out, "test") == read_split(folder, "test")
    assert not list(tmp_path.glob("**/*.tmp"))


def test_a_second_round_replaces_the_first_and_other_splits_stay(
    scored: tuple[Path, Path, list[str]], tmp_path: Path
) -> None:
    folder, answers, _ = scored
    main(["annotate", "report", str(folder), str(answers), "--mark", str(tmp_path / "one")])
    train = read_data(str(folder), "train")
    other = write_answers(tmp_path / "b.json", train, "b", all_answers(train))
    arguments = [str(other), "--split=train", "--mark", str(tmp_path / "two")]
    assert main(["annotate", "report", str(tmp_path / "one"), *arguments]) == 0
    arguments = [str(answers), "--drop", str(tmp_path / "three")]
    assert main(["annotate", "report", str(tmp_path / "two"), *arguments]) == 0
    card = (tmp_path / "three" / "README.md").read_text()
    assert card.count("## Human verification: test") == 1
    assert card.count("## Human verification: train") == 1
    lines = (tmp_path / "three" / "verification.jsonl").read_text().splitlines()
    assert [json.loads(line)["split"] for line in lines] == ["train"] * 5 + ["test"] * 40
