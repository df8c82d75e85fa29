"""From a data set to a verified one: sample, sheet, answers, verdicts, report, copies."""

from __future__ import annotations

import csv
import json
import random
import subprocess
import sys
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tablemend.annotation.answers import gather, read_answers, same_name
from tablemend.annotation.content import constraints, distractors, segments
from tablemend.annotation.report import make_report
from tablemend.annotation.sample import Data, choose, read_data
from tablemend.annotation.sheet import guard, split_cell, unguard
from tablemend.annotation.steps import STEPS
from tablemend.annotation.verdicts import combine, rule
from tablemend.cli import main
from tablemend.config import Source
from tablemend.records import Condition, Constraints, Example
from tablemend.reports.rates import rate_interval
from tablemend.synthesis import small_world
from tablemend.synthesis.files import open_writer
from tablemend.tasks.sources import read_examples

Choices = dict[str, dict[str, str | None]]
"""example -> step -> answer"""
HOSTILE = "</script><script>alert(1)</script> <!-- \u2028 & 😀"
SEVERAL = 40


@pytest.fixture(scope="module")
def examples() -> list[Example]:
    return list(small_world.examples(seed=3, n=SEVERAL))


def write_data(folder: Path, examples: Iterable[Example], form: str = "jsonl") -> Path:
    folder.mkdir(parents=True)
    writer = open_writer(folder, "test", form)
    for example in examples:
        writer.write(example)
    writer.close()
    return folder


@pytest.fixture
def folder(tmp_path: Path, examples: list[Example]) -> Path:
    return write_data(tmp_path / "data", examples)


def all_answers(data: Data, choice: str | None = "yes") -> Choices:
    return {name: dict.fromkeys(STEPS, choice) for name in data.examples}


def write_answers(path: Path, of: Data, by: str, choices: Choices, **changes: Any) -> Path:
    """What the page downloads."""
    answers = [
        {"example": name, "step": step, "answer": choice, "note": ""}
        for name, steps in choices.items()
        for step, choice in steps.items()
    ]
    record = {
        "format": "tablemend-annotation",
        "version": 1,
        "data": of.hash,
        "source": of.source,
        "split": of.split,
        "annotator": by,
        "answers": answers,
    }
    path.write_text(json.dumps({**record, **changes}), encoding="utf-8")
    return path


def report_of(folder: Path, *files: Path) -> dict[str, Any]:
    data = read_data(str(folder))
    return make_report(gather(map(read_answers, files), data), data)


@pytest.fixture
def refused(capsys: pytest.CaptureFixture[str]) -> Callable[..., str]:
    """Run a command that must be refused: its one line."""

    def run(*arguments: str | Path) -> str:
        assert main(["annotate", *map(str, arguments)]) == 2
        lines = capsys.readouterr().err.splitlines()
        assert len(lines) == 1 and lines[0].startswith("error: ")
        return lines[0]

    return run


# ---- the sample ----


def test_the_sample_is_seeded_nested_and_disjoint_by_skip(folder: Path) -> None:
    data = read_data(str(folder))
    ten, twenty = choose(data, 10, seed=0), choose(data, 20, seed=0)
    assert ten == twenty[:10] and len(set(twenty)) == 20
    assert choose(data, 10, seed=0, skip=10) == twenty[10:]
    assert choose(data, 10, seed=1) != ten


def test_hash_and_sample_do_not_depend_on_format_or_order(
    tmp_path: Path, examples: list[Example]
) -> None:
    one = read_data(str(write_data(tmp_path / "one", examples)))
    other = read_data(str(write_data(tmp_path / "other", examples[::-1], "parquet")))
    assert one.hash == other.hash
    assert choose(one, 9, seed=4) == choose(other, 9, seed=4)


def test_the_hash_sees_an_edited_text_behind_the_same_id(
    tmp_path: Path, examples: list[Example]
) -> None:
    edited = replace(examples[0], query=f"{examples[0].query} ", id=examples[0].id)
    one = read_data(str(write_data(tmp_path / "one", examples)))
    other = read_data(str(write_data(tmp_path / "other", [edited, *examples[1:]])))
    assert list(one.examples) == list(other.examples) and one.hash != other.hash


def test_sampling_is_uniform(folder: Path) -> None:
    data = read_data(str(folder))
    counts = dict.fromkeys(data.examples, 0)
    for seed in range(400):
        for example in choose(data, 10, seed):
            counts[example.id] += 1
    # 400 draws at 1/4: mean 100, standard deviation 8.7
    assert all(100 - 40 < count < 100 + 40 for count in counts.values())


def test_what_cannot_be_exported_is_refused_in_one_line(
    folder: Path, tmp_path: Path, refused: Callable[..., str]
) -> None:
    out = tmp_path / "page.html"
    assert "40 examples in its split test; --n 41" in refused(
        "export", folder, "--n", "41", "--out", out
    )
    assert "after --skip 35" in refused("export", folder, "--n=6", "--skip=35", "--out", out)
    assert "at least 1" in refused("export", folder, "--n", "0", "--out", out)
    assert "validation.jsonl" in refused("export", folder, "--split", "validation", "--out", out)
    assert "leave --split out" in refused(
        "export", folder / "test.jsonl", "--split", "test", "--out", out
    )
    assert "--revision" in refused("export", folder, "--revision", "abc", "--out", out)
    assert "generated anew" in refused("export", "small-world", "--out", out)
    assert "no file or folder" in refused("export", tmp_path / "none", "--out", out)
    assert "has no marks" in refused("export", folder, "--csv", "--no-marks", "--out", out)
    assert not out.exists()
    out.write_text("answers typed in by hand")
    assert "may hold answers" in refused("export", folder, "--n", "5", "--out", out)
    assert out.read_text() == "answers typed in by hand"


def test_two_examples_with_one_id_are_refused(
    tmp_path: Path, examples: list[Example], refused: Callable[..., str]
) -> None:
    twin = replace(examples[1], id=examples[0].id)
    data = write_data(tmp_path / "data", [examples[0], twin])
    assert "two different examples" in refused("export", data, "--n=1", "--out", tmp_path / "x")


# ---- what annotators see ----


def test_segments_join_to_the_context_and_hold_the_facts(examples: list[Example]) -> None:
    for example in examples:
        for context in ("clean", "adversarial"):
            parts = segments(example, context, marks=True)
            assert "".join(part[0] for part in parts) == example.context(context)
            marked = [part for part in parts if len(part) == 5]
            assert len(marked) == sum(
                context == "adversarial" or fact.clean is not None for fact in example.facts
            )
            values = {(fact.row, fact.column, fact.value) for fact in example.facts}
            assert {(part[1], part[3], part[0]) for part in marked} <= values
            assert segments(example, context, marks=False) == [(example.context(context),)]


def test_facts_that_stand_nowhere_are_not_marked(examples: list[Example]) -> None:
    example = examples[0]
    beyond = example.facts[0].adversarial._replace(start=10**6, end=10**6 + 4)
    same = (example.facts[0]._replace(adversarial=beyond), *example.facts[1:], example.facts[1])
    parts = segments(replace(example, facts=same), "adversarial", marks=True)
    assert "".join(part[0] for part in parts) == example.adversarial_context
    assert sum(len(part) == 5 for part in parts) == len(example.facts) - 1


def test_distractors_say_what_they_break(examples: list[Example]) -> None:
    example = examples[0]
    rows = distractors(example)
    broken = [fact for fact in example.facts if fact.violates == fact.column]
    assert rows and len(rows) == len({fact.row for fact in example.facts if fact.violates})
    assert {(row, value) for row, _, _, value in rows} == {
        (fact.row, fact.value) for fact in broken
    }


def test_constraints_in_words(examples: list[Example]) -> None:
    fields = Constraints(
        ("films", "plays"),
        None,
        "Year",
        "descending",
        (
            Condition("Year", low="1990", high="1999"),
            Condition("Budget", high="5"),
            Condition("Genre", values=("Drama", "Comedy")),
        ),
    )
    assert constraints(replace(examples[0], constraints=fields)) == [
        ("Entity scope", "films; plays"),
        ("Condition on Year", "at least 1990, at most 1999"),
        ("Condition on Budget", "at most 5"),
        ("Condition on Genre", "Drama or Comedy"),
        ("Sorted by", "Year, descending"),
    ]


# ---- the sheet ----


def export_sheet(folder: Path, out: Path, n: int = SEVERAL) -> list[dict[str, str]]:
    assert main(["annotate", "export", str(folder), f"--n={n}", "--csv", f"--out={out}"]) == 0
    with out.open(encoding="utf-8-sig", newline="") as file:
        return list(csv.DictReader(file))


def save_sheet(path: Path, rows: list[dict[str, str]], **form: Any) -> Path:
    with path.open("w", encoding=form.pop("encoding", "utf-8"), newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]), **form)
        writer.writeheader()
        writer.writerows(rows)
    return path


def test_a_sheet_leads_through_the_steps(folder: Path, tmp_path: Path) -> None:
    rows = export_sheet(folder, tmp_path / "sheet.csv", n=2)
    data = read_data(str(folder))
    chosen = choose(data, 2, seed=0)
    assert (tmp_path / "sheet.csv").read_bytes().startswith(b"\xef\xbb\xbf")
    assert [(row["example"], row["step"]) for row in rows] == [
        (f"#{example.id}", step) for example in chosen for step in STEPS
    ]
    assert {row["answer"] for row in rows} == {""} and {row["data"] for row in rows} == {
        f"#{data.hash}"
    }
    assert [bool(row["gold_table"]) for row in rows[:3]] == [False, True, True]
    assert rows[2]["adversarial_context"] == chosen[0].adversarial_context
    assert rows[2]["gold_context"] == chosen[0].gold_context


def test_a_sheet_cuts_nothing_and_holds_no_formula(tmp_path: Path, examples: list[Example]) -> None:
    long = "=1+2 " + "word " * 9000
    evil = replace(examples[0], query='=HYPERLINK("x")', topic="@SUM(1)", adversarial_context=long)
    rows = export_sheet(write_data(tmp_path / "data", [evil]), tmp_path / "sheet.csv", n=1)
    assert all(len(cell) <= 16_001 for row in rows for cell in row.values())
    assert rows[0]["query"] == '\'=HYPERLINK("x")' and rows[0]["topic"] == "'@SUM(1)"
    names = [name for name in rows[0] if name.startswith("adversarial_context")]
    assert names == [
        "adversarial_context",
        "adversarial_context 2",
        "adversarial_context 3",
    ]
    assert "".join(unguard(rows[2][name]) for name in names) == long


@pytest.mark.parametrize(
    "text", ["=1", "+1", "-1", "@x", "\tx", "\rx", "'=1", "''-", "'a", "a=1", ""]
)
def test_guarded_cells_come_back(text: str) -> None:
    assert unguard(guard(text)) == text
    assert not guard(text).startswith(("=", "+", "-", "@", "\t", "\r"))


def test_cells_are_split_behind_white_space() -> None:
    assert split_cell("ab cd ef", 5) == ["ab ", "cd ef"]
    assert split_cell("abcdefgh", 3) == ["abc", "def", "gh"]
    assert split_cell("", 3) == [""]


@pytest.mark.parametrize(
    "form", [{}, {"delimiter": ";"}, {"delimiter": "\t"}, {"encoding": "utf-8-sig"}]
)
def test_a_sheet_comes_back_as_spreadsheets_save_it(
    folder: Path, tmp_path: Path, form: dict[str, str]
) -> None:
    rows = export_sheet(folder, tmp_path / "sheet.csv")
    for row, answer in zip(rows, ["yes", "NO", " u ", "", "Y", "unsure"], strict=False):
        row["answer"] = answer
    rows[1]["note"] = '\'-3 is wrong;\nsee\t"row" 2'
    saved = save_sheet(tmp_path / "Anna Kowalska.csv", rows, **form)
    votes = read_answers(saved).votes
    assert [vote.choice for vote in votes[:7]] == [
        "yes",
        "no",
        "unsure",
        None,
        "yes",
        "unsure",
        None,
    ]
    assert {vote.annotator for vote in votes} == {"anna kowalska"}
    assert votes[1].note == '-3 is wrong;\nsee\t"row" 2'
    assert gather([read_answers(saved)], read_data(str(folder)))


def test_who_filled_a_sheet(folder: Path, tmp_path: Path, refused: Callable[..., str]) -> None:
    rows = export_sheet(folder, tmp_path / "sheet.csv")
    rows[0] |= {"annotator": " Jo ", "answer": "yes"}
    saved = save_sheet(tmp_path / "a.csv", rows)
    assert {vote.annotator for vote in read_answers(saved).votes} == {"jo"}
    rows[1]["annotator"] = "Kim"
    saved = save_sheet(tmp_path / "b.csv", rows)
    assert "b.csv, line" in (line := refused("report", folder, saved)) and "several" in line


# ---- answers that are refused ----


def test_bad_answer_files_are_refused_in_one_line(
    folder: Path, tmp_path: Path, refused: Callable[..., str]
) -> None:
    data = read_data(str(folder))
    good = all_answers(data)
    name = next(iter(good))

    def line(choices: Choices = good, **changes: Any) -> str:
        path = write_answers(tmp_path / "a.json", data, "anna", choices, **changes)
        return refused("report", folder, path)

    assert "is about the data set 0123, " in line(data="0123")
    assert "no example 'nobody'" in line({**good, "nobody": {"query": "yes"}})
    assert "answers.0.answer" in line({name: {"query": "maybe"}})
    assert "answers.0.step" in line({name: {"quest": "yes"}})
    assert "version" in line(version=2)
    assert "annotator" in line(annotator=" ")
    assert "color" in line(color="red")
    assert "no answer yet" in line(all_answers(data, None))
    (tmp_path / "a.json").write_text("{")
    assert "a.json: Invalid JSON" in refused("report", folder, tmp_path / "a.json")
    (tmp_path / "a.json").write_text("[" * 100_000)
    assert "a.json" in refused("report", folder, tmp_path / "a.json")
    (tmp_path / "a.txt").write_text("yes")
    assert ".json or .csv" in refused("report", folder, tmp_path / "a.txt")
    assert "cannot read the answers" in refused("report", folder, tmp_path / "none.json")


def test_bad_sheets_are_refused_in_one_line(
    folder: Path, tmp_path: Path, refused: Callable[..., str]
) -> None:
    rows = export_sheet(folder, tmp_path / "sheet.csv", n=3)
    path = tmp_path / "a.csv"

    def line(**changes: str) -> str:
        save_sheet(path, [*rows[:2], {**rows[2], **changes}, *rows[3:]])
        return refused("report", folder, path)

    assert "answer 'perhaps' is none of yes, no, unsure" in line(answer="perhaps")
    assert "step 'last'" in line(step="last")
    assert "no example 'x'" in line(example="#x", answer="yes")
    assert "holds 2 values" in line(data="#0")
    path.write_text("")
    assert "is empty" in refused("report", folder, path)
    path.write_text("example,step\n1,2\n")
    assert "needs one column 'answer'" in refused("report", folder, path)
    path.write_text("example,step,answer,note,annotator,data\n1,2\n")
    assert "line 2: 2 cells under 6 columns" in refused("report", folder, path)
    path.write_bytes(
        "example,step,answer,note,annotator,data\nx,query,yes,\xe9,,y\n".encode("latin-1")
    )
    assert "CSV UTF-8" in refused("report", folder, path)


def test_one_annotator_twice(folder: Path, tmp_path: Path, refused: Callable[..., str]) -> None:
    data = read_data(str(folder))
    half = all_answers(data, None)
    name, other = list(half)[:2]
    half[name]["query"] = "no"
    one = write_answers(tmp_path / "one.json", data, "Anna  K", half)
    later = {**half, other: dict.fromkeys(STEPS, "yes")}
    two = write_answers(tmp_path / "two.json", data, "anna k", later)
    for files in ((one, two), (two, one), (two, two)):
        (anna,) = report_of(folder, *files)["annotators"]
        assert (anna["name"], anna["yes"], anna["no"]) == ("anna k", 3, 1)
    changed = write_answers(tmp_path / "three.json", data, "ANNA K", {name: {"query": "yes"}})
    assert "twice: no (" in refused("report", folder, one, changed)


def test_names_are_the_same_whatever_their_case_and_spacing() -> None:
    assert same_name(" ANNA\tk ") == same_name("Anna K") == "anna k"
    assert same_name("Zoe\u0301") == same_name("zo\u00e9")


# ---- verdicts ----


@pytest.mark.parametrize(
    ("votes", "verdict", "cause"),
    [
        ("y", "right", ""),
        ("n", "wrong", ""),
        ("yyn", "right", ""),
        ("nny", "wrong", ""),
        ("yn", "unjudged", "tie"),
        ("ynu", "unjudged", "tie"),
        ("yuu", "right", ""),
        ("u.", "unjudged", "unsure"),
        ("..", "unjudged", "unanswered"),
        ("", "unjudged", "unanswered"),
    ],
)
def test_majority(votes: str, verdict: str, cause: str) -> None:
    words = {"y": "yes", "n": "no", "u": "unsure", ".": None}
    ruling = rule(words[vote] for vote in votes)  # type: ignore[misc]
    assert (ruling.verdict, ruling.cause) == (verdict, cause)


@pytest.mark.parametrize(
    ("steps", "expected"),
    [
        ("yyy", ("right", "")),
        ("yny", ("wrong", "")),
        ("nu.", ("wrong", "")),
        ("yyu", ("unjudged", "unsure")),
        ("yu.", ("unjudged", "unanswered")),
    ],
)
def test_an_example_is_right_when_every_step_is(steps: str, expected: tuple[str, str]) -> None:
    words = {"y": "yes", "n": "no", "u": "unsure", ".": None}
    assert combine(rule([words[step]]) for step in steps) == expected  # type: ignore[list-item]


def test_unsure_ties_and_gaps_are_in_their_own_column(folder: Path, tmp_path: Path) -> None:
    data = read_data(str(folder))
    right, wrong, tie, unsure, gap = list(data.examples)[:5]
    one: Choices = {name: dict.fromkeys(STEPS, "yes") for name in (right, wrong, tie, unsure, gap)}
    two = json.loads(json.dumps(one))
    one[wrong]["context"] = two[wrong]["context"] = "no"
    one[tie]["table"] = "no"
    one[unsure]["query"] = two[unsure]["query"] = "unsure"
    one[gap]["query"] = two[gap]["query"] = None
    report = report_of(
        folder,
        write_answers(tmp_path / "1.json", data, "a", one),
        write_answers(tmp_path / "2.json", data, "b", two),
    )
    whole = report["results"]["overall"]
    assert (whole["examples"], whole["right"], whole["wrong"], whole["unjudged"]) == (5, 1, 1, 3)
    assert whole["unjudged_by"] == {"tie": 1, "unsure": 1, "unanswered": 1}
    assert whole["accuracy"] == rate_interval(1, 2)
    assert report["results"]["query"]["accuracy"] == rate_interval(3, 3)
    assert report["results"]["table"]["accuracy"] == rate_interval(4, 4)
    assert report["results"]["context"]["accuracy"] == rate_interval(4, 5)
    # whole examples judged by both: right, wrong (twice no), tie; 4 of 6 answers pair up alike
    agreed = whole["agreement"]
    assert (agreed["units"], agreed["judgements"]) == (3, 6)
    assert agreed["observed"] == pytest.approx(2 / 3)
    assert report["results"]["query"]["agreement"]["alpha"] is None


def test_round_trip_with_annotators_who_err_at_known_rates(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Export, answer as three people of known faults do, report: the counts made by hand."""
    folder = write_data(tmp_path / "data", small_world.examples(seed=8, n=300))
    sheet = export_sheet(folder, tmp_path / "sheet.csv", n=250)
    data = read_data(str(folder))
    generator = random.Random(2)
    keys = [(row["example"][1:], row["step"]) for row in sheet]
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


def test_a_report_overwrites_nothing_else(
    folder: Path, tmp_path: Path, refused: Callable[..., str]
) -> None:
    data = read_data(str(folder))
    answers = write_answers(tmp_path / "a.json", data, "a", all_answers(data))
    before = answers.read_bytes(), (folder / "test.jsonl").read_bytes()
    assert "no report of ours" in refused("report", folder, answers, "--json", answers)
    assert "no report of ours" in refused(
        "report", folder, answers, "--json", folder / "test.jsonl"
    )
    assert "exists" in refused("report", folder, answers, "--drop", folder)
    assert "exists" in refused("report", folder, answers, "--mark", tmp_path)
    assert "lies inside" in refused("report", folder, answers, "--mark", folder / "marked")
    assert (answers.read_bytes(), (folder / "test.jsonl").read_bytes()) == before


def test_one_annotator_has_no_alpha(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = read_data(str(folder))
    path = write_answers(tmp_path / "a.json", data, "a", all_answers(data))
    assert main(["annotate", "report", str(folder), str(path)]) == 0
    printed = capsys.readouterr().out
    assert "query, table, context, all steps: alpha is not defined: no example" in printed
    assert "1 annotator." in printed
    assert "100.0 (91.2\N{EN DASH}100.0)" in printed  # Wilson, 40 of 40


# ---- verified copies ----


@pytest.fixture
def judged(folder: Path, tmp_path: Path, examples: list[Example]) -> tuple[Path, Path, list[str]]:
    """A folder with another split and a card, answers by which three examples fail, and those."""
    writer = open_writer(folder, "train", "parquet")
    for example in small_world.examples(seed=77, n=5):
        writer.write(example)
    writer.close()
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
    judged: tuple[Path, Path, list[str]],
    tmp_path: Path,
    examples: list[Example],
    capsys: pytest.CaptureFixture[str],
) -> None:
    folder, answers, failed = judged
    before, out = contents(folder), tmp_path / "good"
    assert main(["annotate", "report", str(folder), str(answers), "--drop", str(out)]) == 0
    assert "37 examples, 3 dropped" in capsys.readouterr().out
    assert contents(folder) == before
    assert read_split(out, "test") == [one for one in examples if one.id not in failed]
    assert read_split(out, "train") == read_split(folder, "train")
    assert set(contents(out)) == {"test.jsonl", "train.parquet", "README.md", "verification.jsonl"}
    card = (out / "README.md").read_text()
    assert card.startswith(
        "---\nlicense: mit\n---\n\n# Mine\n\nText.\n\n## Human verification: test"
    )
    assert "3 examples that were judged wrong have been left out" in card
    assert "40 of 40 examples of the split test were read by one annotator" in card
    assert "secret" not in card.lower() and "92.3 (79.7\N{EN DASH}97.3)" in card  # 36 of 39


def test_mark_keeps_the_data_and_says_the_verdicts(
    judged: tuple[Path, Path, list[str]], tmp_path: Path
) -> None:
    folder, answers, failed = judged
    out = tmp_path / "new" / "marked"
    assert main(["annotate", "report", str(folder), str(answers), "--mark", str(out)]) == 0
    before, after = contents(folder), contents(out)
    assert all(after[name] == before[name] for name in before if name != "README.md")
    lines = [json.loads(line) for line in (out / "verification.jsonl").read_text().splitlines()]
    verdicts = {line["example"]: line["verdict"] for line in lines}
    assert {name for name, verdict in verdicts.items() if verdict == "wrong"} == set(failed)
    assert list(verdicts.values()).count("unjudged") == 1 and len(verdicts) == 40
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
    judged: tuple[Path, Path, list[str]], tmp_path: Path
) -> None:
    folder, answers, _ = judged
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


def test_a_verified_data_set_without_a_card_loads_by_its_new_one(
    tmp_path: Path, examples: list[Example]
) -> None:
    folder = write_data(tmp_path / "data", examples, "parquet")
    data = read_data(str(folder))
    answers = write_answers(tmp_path / "a.json", data, "a", all_answers(data))
    out = tmp_path / "marked"
    assert main(["annotate", "report", str(folder), str(answers), "--mark", str(out)]) == 0
    datasets = pytest.importorskip("datasets")
    loaded = datasets.load_dataset(str(out), cache_dir=str(tmp_path / "cache"))
    assert {split: len(rows) for split, rows in loaded.items()} == {"test": 40}
    assert [Example.from_json(row) for row in loaded["test"]] == examples


def test_a_single_file_is_verified_too(tmp_path: Path, examples: list[Example]) -> None:
    path = write_data(tmp_path / "data", examples) / "test.jsonl"
    data = read_data(str(path))
    assert data.split is None
    choices = all_answers(data)
    choices[examples[0].id]["table"] = "no"
    answers = write_answers(tmp_path / "a.json", data, "a", choices)
    out = tmp_path / "good"
    assert main(["annotate", "report", str(path), str(answers), "--drop", str(out)]) == 0
    assert read_split(out, "test") == examples[1:]


def test_nothing_is_written_where_nothing_is_left(
    folder: Path, tmp_path: Path, refused: Callable[..., str]
) -> None:
    data = read_data(str(folder))
    answers = write_answers(tmp_path / "a.json", data, "a", all_answers(data, "no"))
    assert "nothing to write" in refused("report", folder, answers, "--drop", tmp_path / "out")
    assert not (tmp_path / "out").exists() and not list(tmp_path.glob(".*"))


def test_commands_are_quick_to_import() -> None:
    code = "import sys, tablemend.annotation.command; sys.exit('numpy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


def test_a_hub_data_set_is_verified_too(
    tmp_path: Path, examples: list[Example], monkeypatch: pytest.MonkeyPatch
) -> None:
    datasets = pytest.importorskip("datasets")
    asked: list[Any] = []

    def load(name: str, split: str, revision: str | None) -> list[dict[str, Any]]:
        asked.append((name, split, revision))
        return [example.to_json() for example in examples]

    monkeypatch.setattr(datasets, "load_dataset", load)
    data = read_data("hub:me/mine", "validation", "abc")
    choices = all_answers(data)
    choices[examples[0].id]["table"] = "no"
    answers = write_answers(tmp_path / "a.json", data, "a", choices)
    arguments = ["annotate", "report", "hub:me/mine", str(answers), "--split=validation"]
    for option, left in (("--drop", examples[1:]), ("--mark", examples)):
        out = tmp_path / option[2:]
        assert main([*arguments, "--revision=abc", option, str(out)]) == 0
        assert read_split(out, "validation") == left
        assert set(contents(out)) == {"validation.jsonl", "README.md", "verification.jsonl"}
    assert set(asked) == {("me/mine", "validation", "abc")}
