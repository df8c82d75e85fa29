"""The solver as an annotator, of formulas that a model writes."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from random import Random

import pytest

from tablemend.backends.backend import open_backend
from tablemend.config import BackendOptions, ConfigError, parse
from tablemend.runs import write_jsonl
from tablemend.tasks.logic.annotating import AnnotateCommand
from tablemend.tasks.logic.formula import show
from tablemend.tasks.logic.generate import CATEGORIES, make_pairs, to_pair
from tablemend.tasks.logic.hotel import hotel_pairs
from tablemend.tasks.logic.pair import Annotation, Pair, follow, read_annotations
from tablemend.tasks.logic.solver import Theory, annotate_by_solver
from tests.support.scripts import run_script


def _model(path: Path, formulas: Mapping[str, str]) -> str:
    """A model that writes these formulas for texts, and finds that they say the same."""
    script = [{"contains": "Second statement", "text": "VERDICT: same"}]
    for text, formula in formulas.items():
        script.append({"contains": text, "text": json.dumps({"formula": formula})})
    script.append({"contains": "", "text": "I cannot tell."})
    path.write_text("\n".join(map(json.dumps, script)), encoding="utf-8")
    return f"scripted:{path}"


def _annotated(
    pairs: Sequence[Pair], path: Path, formulas: Mapping[str, str], added: bool = True
) -> list[Annotation]:
    with open_backend(_model(path / "model.jsonl", formulas), BackendOptions()) as backend:
        return list(annotate_by_solver(pairs, backend, added, Theory(seconds=10)))


def test_the_solver_finds_the_relation_by_construction(tmp_path: Path) -> None:
    made = list(make_pairs(14, CATEGORIES, seed=4))
    pairs = [to_pair(one, Random(number)) for number, one in enumerate(made)]
    formulas = {pair.output: show(one.output) for pair, one in zip(pairs, made, strict=True)}
    found = _annotated(pairs, tmp_path, formulas)
    for pair, one in zip(pairs, found, strict=True):
        assert one.pair == pair.id and one.relation in pair.labels
        assert follow("logic", one.path)[1] == one.relation


def test_the_papers_tree_has_no_tautologies(tmp_path: Path) -> None:
    pair = Pair("logic", "Cube(a)", "B is a cube or not.", "made", ("tautologous",))
    formulas = {pair.output: "Cube(b) | ~Cube(b)"}
    assert [one.relation for one in _annotated([pair], tmp_path, formulas)] == ["tautologous"]
    (plain,) = _annotated([pair], tmp_path, formulas, added=False)
    assert plain.relation == "too_weak" and "tautology" not in plain.path


@pytest.mark.parametrize(
    ("input", "output", "reason"),
    [
        ("Cube(a)", "Who knows what a is?", "no formula: "),
        ("Cube(a", "A is a cube.", "the input: "),
        (f"∀{'x, ' * 330}y Cube(y)", "A is a cube.", "the input: formula .*no more than"),
        ("Cube(a) & ~Cube(a)", "A is a cube.", "the input contradicts itself"),
    ],
)
def test_what_cannot_be_decided_is_unscored(
    tmp_path: Path, input: str, output: str, reason: str
) -> None:
    pair = Pair("logic", input, output, "made")
    (one,) = _annotated([pair], tmp_path, {"A is a cube.": "Cube(a)"})
    assert one.relation is None and re.search(reason, one.unscored) and one.path == {}


def test_descriptions_of_hotels_are_unscored(tmp_path: Path) -> None:
    (one,) = _annotated(list(hotel_pairs(1)), tmp_path, {})
    assert one.relation is None and "description" in one.unscored


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ([], "models: name one, or a formaliser"),
        (["formaliser=hf:x", "models={solver: 'hf:x'}"], "the solver's own name"),
        (["models={a: 'hf:x'}", "symmetric=true"], "symmetric: only read with a formaliser"),
    ],
)
def test_settings_that_make_no_sense_are_refused(given: list[str], problem: str) -> None:
    with pytest.raises(ConfigError, match=problem):
        parse(AnnotateCommand, given)


def test_the_script_annotates_by_solver_and_reports(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pair = Pair("logic", "Cube(a) ∧ Large(a)", "A is a cube.", "made", ("too_weak",))
    write_jsonl(tmp_path / "test.jsonl", [pair.to_json()])
    run = tmp_path / "run"
    model = _model(tmp_path / "model.jsonl", {pair.output: "Cube(a)"})
    tokens = [f"formaliser={model}", f"data={tmp_path}", f"run={run}", "options.cache=null"]
    assert run_script("eval/annotate.py", tokens, monkeypatch) == 0
    assert "| solver" in capsys.readouterr().out
    assert len(read_annotations(run / "annotations.jsonl")) == 1
    accuracy = json.loads((run / "annotations.json").read_text())["logic"]["accuracy"]["CAT"]
    assert accuracy["annotators"] == {"solver": 1.0} and accuracy["n"] == 1
