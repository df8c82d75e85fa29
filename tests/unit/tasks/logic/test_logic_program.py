"""The program as an annotator: by the solver, by evidence, with a model that writes formulas."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path

import pytest

from tablemend.backends.backend import open_backend
from tablemend.config import BackendOptions, ConfigError, parse
from tablemend.datasets.logic.dataset import make_logic_pairs
from tablemend.datasets.logic.describe import hotel_pairs
from tablemend.datasets.logic.pair import Annotation, Pair, read_annotations
from tablemend.datasets.logic.settings import LogicSet
from tablemend.datasets.logic.solver import Theory
from tablemend.runs import write_jsonl
from tablemend.tasks.logic.command import AnnotateCommand
from tablemend.tasks.logic.program import annotate_by_program
from tablemend.tasks.logic.tree import walk
from tests.support.scripts import run_script


def annotated(
    pairs: Sequence[Pair], answers: Path | None = None, added: bool = True
) -> list[Annotation]:
    theory = Theory(seconds=10)
    if answers is None:
        return list(annotate_by_program(pairs, None, added, theory))
    with open_backend(f"scripted:{answers}", BackendOptions()) as backend:
        return list(annotate_by_program(pairs, backend, added, theory))


def test_the_solver_finds_the_relation_of_formulas_by_construction() -> None:
    pairs = list(make_logic_pairs(LogicSet(n=70, seed=4)))
    found = annotated(pairs)
    for pair, one in zip(pairs, found, strict=True):
        assert one.pair == pair.id and (one.relation in pair.labels or "readings" in one.unscored)
        assert not one.relation or one.path["ambiguous"] == pair.ambiguous
        assert not one.relation or walk("logic", one.path) == one.relation
    clear = [one for one, pair in zip(found, pairs, strict=True) if not pair.ambiguous]
    assert len(clear) > 50 and all(one.relation for one in clear)


def test_evidence_finds_relation_and_spans_of_descriptions() -> None:
    pairs = list(hotel_pairs(60, seed=2))
    scored = [(p, one) for p, one in zip(pairs, annotated(pairs), strict=True) if one.relation]
    assert len(scored) > 50
    for pair, one in scored:
        assert one.relation in pair.labels and walk("hotel", one.path) == one.relation
        assert one.divergent_output is not None and one.wrong is not None
        assert set(one.wrong) <= set(one.divergent_output)
        assert bool(one.wrong) == bool(pair.wrong)


@pytest.mark.parametrize(
    ("input", "output", "reason"),
    [
        (f"∀{'x, ' * 330}y Cube(y)", "A is a cube.", "the input: formula '∀x, x, .* no more than"),
        ("Cube(a)", "Every cube is large" + " and every cube is large" * 40, "more than 150 words"),
    ],
)
def test_what_is_too_large_to_be_read_is_unscored(input: str, output: str, reason: str) -> None:
    (found,) = annotated([Pair("logic", input, output, "made")])
    assert found.relation is None and re.search(reason, found.unscored)


def test_the_papers_tree_has_no_tautologies() -> None:
    pair = Pair("logic", "Cube(a)", "B is a cube or b is not a cube.", "made", ("tautologous",))
    assert [one.relation for one in annotated([pair])] == ["tautologous"]
    (plain,) = annotated([pair], added=False)
    assert plain.relation == "too_weak" and "tautology" not in plain.path


@pytest.mark.parametrize(
    ("input", "output", "reason"),
    [
        ("Cube(a)", "Who knows what a is?", "not in controlled English"),
        ("Cube(a", "A is a cube.", "the input: "),
        ("Cube(a) & ~Cube(a)", "A is a cube.", "the input contradicts itself"),
        ("Small(a)", "A is small and b is small or c is small.", "2 readings, which differ: "),
    ],
)
def test_what_cannot_be_decided_is_unscored(input: str, output: str, reason: str) -> None:
    (one,) = annotated([Pair("logic", input, output, "made")])
    assert one.relation is None and reason in one.unscored and one.path == {}


def test_what_is_wrong_with_a_hotel_is_said() -> None:
    scrambled = list(hotel_pairs(8, relations=("not_well_formed",)))
    *made, broken = annotated([*scrambled, Pair("hotel", "no attribute", "A hotel.", "made")])
    told = [one for one in made if "which the tree does not have" in one.unscored]
    assert told and all(one.relation is one.wrong is None for one in made)
    assert broken.unscored.startswith("the input: ")


def test_so_many_readings_that_some_are_not_found_are_unscored() -> None:
    output = " and ".join(["a is small or b is large"] * 8)
    (one,) = annotated([Pair("logic", "Small(a)", f"{output}.", "made")])
    assert "readings or more" in one.unscored


def test_a_model_writes_the_formulas_of_free_english(tmp_path: Path) -> None:
    script = [
        {"contains": "Second statement", "text": "VERDICT: same"},
        {"contains": "big as anything", "text": '{"formula": "Cube(a) ∧ Large(a)"}'},
        {"contains": "", "text": "I cannot tell."},
    ]
    answers = tmp_path / "answers.jsonl"
    answers.write_text("\n".join(map(json.dumps, script)), encoding="utf-8")
    pairs = [
        Pair("logic", "Cube(a)", "a, a cube, is big as anything", "model"),
        Pair("logic", "Cube(a)", "whatever", "model"),
        Pair("logic", "Cube(a)", "A is a cube.", "model"),
    ]
    free, none, controlled = annotated(pairs, answers)
    assert (free.relation, controlled.relation) == ("too_strong", "well_matched")
    assert none.relation is None and none.unscored.startswith("no formula: ")


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ([], "models: name one, or set program=true"),
        (["program=true", "models={program: 'hf:x'}"], "the program's own name"),
        (["models={a: 'hf:x'}", "formaliser=hf:x"], "formaliser: only read with program=true"),
        (["models={a: 'hf:x'}", "symmetric=true"], "symmetric: only read with program=true"),
    ],
)
def test_settings_that_make_no_sense_are_refused(given: list[str], problem: str) -> None:
    with pytest.raises(ConfigError, match=problem):
        parse(AnnotateCommand, given)


def test_the_script_annotates_by_program_and_reports(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pairs = [*make_logic_pairs(LogicSet(n=14, ambiguous=0)), *hotel_pairs(10)]
    write_jsonl(tmp_path / "test.jsonl", [one.to_json() for one in pairs])
    run = tmp_path / "run"
    tokens = ["program=true", f"data={tmp_path}", f"run={run}"]
    assert run_script("eval/annotate.py", tokens, monkeypatch) == 0
    assert "| program" in capsys.readouterr().out
    assert len(read_annotations(run / "annotations.jsonl")) == len(pairs)
    accuracy = json.loads((run / "annotations.json").read_text())["logic"]["accuracy"]["CAT"]
    assert accuracy["annotators"] == {"program": 1.0} and accuracy["n"] == 14
