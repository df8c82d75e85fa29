"""eval/validate.py end to end on made-up sets, and that real ones are read as they are."""

from __future__ import annotations

import json
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import pytest

from tests.support.files import SHARED_DATA
from tests.support.made_up_sets import write_sets
from tests.support.scripts import run_captured

pytest.importorskip("sacrebleu")
pytest.importorskip("matplotlib")

from tablemend.config import ConfigError, parse
from tablemend.datasets.labelled_texts import SETS, file_of, read_set
from tablemend.errors import TablemendError
from tablemend.meta_evaluation.command import ValidateCommand
from tablemend.meta_evaluation.validate import (
    KNOWN,
    fill_page,
    report,
    terminal,
    validate,
)

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_sets(tmp_path_factory.mktemp("data"))


@pytest.fixture(scope="module")
def results(data: Path, tmp_path_factory: pytest.TempPathFactory) -> dict:
    folder = tmp_path_factory.mktemp("runs") / "all"
    settings = [f"data={data}", f"run={folder}", "split=all"]
    command = parse(ValidateCommand, [*settings, f"sets=[{','.join(SETS)}]"])
    found, _ = validate(command)
    command = parse(ValidateCommand, [*settings, "sets=[injection]", "n=3"])
    return found | {"injection": validate(command)[0]["injection"]}


def test_every_set_has_figures_of_every_level_that_it_can_have(results: dict) -> None:
    assert list(results["sets"]) == list(SETS)
    for name, figures in results["sets"].items():
        own = figures["scorers"]["program"]
        assert own["texts"] == figures["texts"] > 0 and own["claims"] > 0, name
        assert ("span" in own) == bool(own["by_label"]) == (name in MARKED), name
        assert ("text" in own) == (name != "d2t_human_ratings"), name
        assert ("labels" in own) == (name in {"tabfact", "logicnlg", "infotabs", "scitab"}), name
        with_references = name in {
            "scigen",
            "accuracy_shared_task",
            "d2t_human_ratings",
            "logicnlg",
        }
        assert ("bleu" in figures["scorers"]) == ("parent" in figures["scorers"]) == with_references
        assert "overlap" in figures["scorers"]


MARKED = {"quintd", "d2t_span_annotation", "scigen", "accuracy_shared_task"}


def test_the_injection_study_injects_and_counts(results: dict) -> None:
    study = results["injection"]
    assert study["by_source"]["wikitablequestions"]["read"] == 3
    assert {"synthetic financial", "synthetic clinical", "synthetic operations"} <= set(
        study["by_source"]
    )
    assert set(study["by_errors"]) == set("012345")
    first = study["by_errors"]["1"]
    assert first["texts"] > 8 and set(first["text"]) >= {"STAF", "parent", "bleu", "overlap"}
    assert sum(own["injected"] for own in study["by_type"].values()) > 30


def test_all_figures_are_json_and_on_the_page(results: dict, tmp_path: Path) -> None:
    json.dumps(results, allow_nan=False)
    assert "errors" in terminal(results) and "STAF, program" in terminal(results)
    page = tmp_path / "page.md"
    names = list(KNOWN)
    marks = "\n".join(f"Prose {n}.\n\n<!-- figures: {n} -->\nold\n<!-- end -->\n" for n in names)
    page.write_text(marks, "utf-8")
    fill_page(page, results)
    text = page.read_text("utf-8")
    assert "old" not in text and all(f"Prose {name}." in text for name in names)
    for first, second in pairwise(names):
        between = text[text.index(f"figures: {first} -->") : text.index(f"Prose {second}.")]
        assert len(between.strip().splitlines()) >= 3, first
    fill_page(page, results)
    assert page.read_text("utf-8") == text  # filling again changes nothing
    page.write_text("<!-- figures: wrong -->\n<!-- end -->\n", "utf-8")
    with pytest.raises(TablemendError, match="no figures are called 'wrong'"):
        fill_page(page, results)


def test_the_command_writes_results_before_pages(data: Path, tmp_path: Path) -> None:
    tokens = (f"data={data}", f"run={tmp_path / 'run'}", "sets=[tabfact,quintd]", "split=dev")
    done = run_captured("eval/validate.py", *tokens, "metrics=[]")
    assert done.returncode == 0, done.stderr
    assert "- simple" not in done.stdout and "STAF, program" in done.stdout
    names = {path.name for path in (tmp_path / "run").iterdir()}
    assert {"results.json", "report.md", "manifest.json", "validate.yaml"} <= names
    manifest = json.loads((tmp_path / "run" / "manifest.json").read_text("utf-8"))["validate"]
    assert set(manifest["data"]) == {"tabfact/open.jsonl", "quintd/open.jsonl"}


@pytest.mark.parametrize(
    ("tokens", "message"),
    [
        (["data=nope"], "data: no folder nope"),
        (["metrics=[blue]"], "did you mean bleu?"),
        (["sets=[tabfakt]"], "'logicnlg' or 'injection', not 'tabfakt'; did you mean tabfact?"),
        (["sets=[]"], "sets: needs at least 1, and has 0"),
        (["sets=tabfact"], "sets: needs a list, such as sets=[tabfact], not 'tabfact'"),
        (["verifiers=[program,gpt]"], "verifiers: no verifier 'gpt'; there are program, nli"),
    ],
)
def test_settings_that_cannot_be_are_one_problem(tokens: list[str], message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse(ValidateCommand, tokens)
    problem, *_ = caught.value.problems
    assert message in problem


def test_missing_and_damaged_sets_are_one_line(tmp_path: Path) -> None:
    with pytest.raises(TablemendError, match="leave tabfact out of sets="):
        read_set("tabfact", tmp_path)
    path = tmp_path / "quintd" / "open.jsonl"
    path.parent.mkdir()
    path.write_text('{"split_key": "a"}\n', "utf-8")
    with pytest.raises(TablemendError, match=r"open\.jsonl:1 is no record of quintd .* nor is any"):
        read_set("quintd", tmp_path)


def test_records_that_cannot_be_read_are_left_out_named_and_counted(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = read_set("tabfact", data)[0]
    lines = (data / file_of("tabfact")).read_text("utf-8").splitlines()
    odd = [
        "{",
        "[" * 100_000,
        '{"n": ' + "9" * 5_000 + "}",
        '{"split_key": "a"}',
        "null",
        "\\ud800",
    ]
    path = tmp_path / file_of("tabfact")
    path.parent.mkdir()
    path.write_text("\n".join([*odd, *lines]), "utf-8")
    monkeypatch.chdir(tmp_path)
    results, _ = validate(parse(ValidateCommand, [f"data={tmp_path}", "sets=[tabfact]"]))
    shown = capsys.readouterr().err
    for number in range(1, len(odd) + 1):
        assert f"left out: {path}:{number} is no record of tabfact (" in shown
    assert results["sets"]["tabfact"]["left_out"] == len(odd)
    assert results["sets"]["tabfact"]["texts"] <= len(whole)
    for page in (terminal(results), report(results)):
        assert "Records left out because they could not be read: 6 of tabfact." in page


@pytest.mark.parametrize("kind", ["llm", "program-by"])
def test_a_model_is_compared_beside_the_program(
    kind: str, data: Path, tmp_path: Path, model_server: Callable[..., str]
) -> None:
    pytest.importorskip("openai")
    name = f"{kind}:{model_server()}"
    verifiers = f"verifiers=[program,'{name}','program+{name}']"
    settings = [f"data={data}", f"run={tmp_path / 'run'}", "split=all", "metrics=[]"]
    command = parse(ValidateCommand, [*settings, "sets=[quintd]", verifiers, "options.cache=null"])
    program, model, both = validate(command)[0]["sets"]["quintd"]["scorers"].values()
    assert program["calls"] == 0 <= both["calls"] <= model["calls"] > 0
    assert both["coverage"]["rate"] >= program["coverage"]["rate"]


@pytest.mark.parametrize("name", SETS)
def test_real_sets_are_read_and_their_marks_stand_in_their_texts(name: str) -> None:
    if not (SHARED_DATA / name).is_dir():
        pytest.skip(f"no {SHARED_DATA / name}: real data is not part of the repository")
    items = read_set(name, SHARED_DATA)[0]
    assert len({item.id for item in items}) == len(items) > 30
    for item in items:
        assert item.source.tables and item.split_key
        assert item.label is not None or item.marks or item.rating is not None
        for marks in item.marks:
            assert all(0 <= mark.start < mark.end <= len(item.text) for mark in marks)


def test_the_shared_tasks_marks_move_with_their_words() -> None:
    path = SHARED_DATA / "accuracy_shared_task" / "open.jsonl"
    if not path.is_file():
        pytest.skip(f"no {path}: real data is not part of the repository")
    records = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    items = read_set("accuracy_shared_task", SHARED_DATA)[0]
    for record, item in zip(records, items, strict=True):
        for error, mark in zip(record["errors"], item.marks[0], strict=True):
            words = item.text[mark.start : mark.end]
            assert "".join(words.split()) == "".join(error["text"].split())
