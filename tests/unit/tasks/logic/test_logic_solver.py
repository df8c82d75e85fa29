"""The solver: every axiom, the cases of Table 3, what it leaves undecided; as an annotator."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from random import Random

import pytest

from tablemend.backends.backend import Backend, open_backend
from tablemend.config import BackendOptions, ConfigError, parse
from tablemend.runs import write_jsonl
from tablemend.tasks.logic.annotating import AnnotateCommand
from tablemend.tasks.logic.english import say
from tablemend.tasks.logic.formula import BLOCKS, parse_formula, show
from tablemend.tasks.logic.generate import CATEGORIES, make_pairs, to_pair
from tablemend.tasks.logic.pair import Annotation, Domain, Pair, follow, read_annotations
from tablemend.tasks.logic.solver import Theory, annotate_by_solver, formalise
from tests.support.scripts import run_script

WORLD, SYMMETRIC, PURE = Theory(), Theory(symmetric=True), Theory(blocks=False)
AXIOMS = """
∀x (Small(x) ∨ Medium(x) ∨ Large(x))
∀x (Cube(x) ∨ Tet(x) ∨ Dodec(x))
¬∃x (Small(x) ∧ Large(x))
¬∃x (Medium(x) ∧ (Small(x) ∨ Large(x)))
¬∃x (Cube(x) ∧ Tet(x))
¬∃x (Dodec(x) ∧ (Cube(x) ∨ Tet(x)))
∀x ∀y (Larger(x, y) ↔ Smaller(y, x))
∀x ∀y (Larger(x, y) ⊕ Smaller(x, y) ⊕ SameSize(x, y))
∀x ∀y ∀z (Larger(x, y) ∧ Larger(y, z) → Large(x) ∧ Medium(y) ∧ Small(z))
∀x ∀y (Medium(x) ∧ Small(y) → Larger(x, y))
∀x ∀y (SameSize(x, y) ∧ Medium(x) → Medium(y))
∀x ∀y ∀z (SameSize(x, y) ∧ SameSize(z, y) → SameSize(x, z))
∀x ∀y (SameShape(x, y) ↔ ((Cube(x) ∧ Cube(y)) ∨ (Tet(x) ∧ Tet(y)) ∨ (Dodec(x) ∧ Dodec(y))))
∀x ∀y (LeftOf(x, y) ↔ RightOf(y, x))
∀x ∀y (FrontOf(x, y) ↔ Behind(y, x))
∀x ∀y (BackOf(x, y) ↔ Behind(x, y))
∀x ∀y (LeftOf(x, y) ⊕ RightOf(x, y) ⊕ SameCol(x, y))
∀x ∀y (FrontOf(x, y) ⊕ BackOf(x, y) ⊕ SameRow(x, y))
∀x ∀y ∀z (LeftOf(x, y) ∧ LeftOf(y, z) → LeftOf(x, z))
∀x ∀y ∀z (SameCol(x, y) ∧ LeftOf(y, z) → LeftOf(x, z))
∀x ∀y ∀z (SameRow(x, y) ∧ SameRow(y, z) → SameRow(z, x))
¬∃x (LeftOf(x, x) ∨ Behind(x, x) ∨ Larger(x, x))
∀x ∀y ∀z (Between(x, y, z) → Between(x, z, y) ∧ x ≠ y ∧ x ≠ z ∧ y ≠ z)
∀x ∀y ∀z (Between(x, y, z) → ¬Between(y, x, z))
∀x ∀y ∀z (Between(x, y, z) ∧ SameRow(y, z) → SameRow(x, z))
¬∃x ∃y ∃z (Between(x, y, z) ∧ LeftOf(x, y) ∧ LeftOf(x, z))
¬∃x Adjoins(x, x)
""".strip().splitlines()
OPEN = """
∀x Green(x)
∀x ∀y (SameCol(x, y) ∧ SameRow(x, y) → x = y)
∀x ∀y (Adjoins(x, y) → SameRow(x, y) ∨ SameCol(x, y))
∀x ∀y ∀z (LeftOf(x, y) ∧ LeftOf(y, z) → Between(y, x, z))
∃x Cube(x)
a ≠ b
""".strip().splitlines()
CASES = [
    ("∀x (Cube(x) → Large(x))", "¬∃x (¬Large(x) ∧ Cube(x))", "well_matched"),
    ("∀x (Cube(x) → Large(x))", "∀x (Cube(x) ∧ Green(x) → Large(x))", "too_weak"),
    ("∀x (Cube(x) ∧ Green(x) → Large(x))", "∀x (Cube(x) → Large(x))", "too_strong"),
    ("∀x (Cube(x) ∧ Green(x) → Large(x))", "∀x (Cube(x) ∧ Small(x) → Large(x))", "independent"),
    ("∃x Cube(x) ∧ ∀x (Cube(x) → Large(x))", "∀x (Cube(x) → ¬Large(x))", "contradictory"),
    ("∀x (Cube(x) → Large(x))", "∃x (Cube(x) ∧ Tet(x))", "output_contradictory"),
    ("Cube(a)", "Cube(b) → ¬Tet(b)", "tautologous"),
    ("Cube(a) → ¬Tet(a)", "Cube(b) → ¬Tet(b)", "well_matched"),
    ("Larger(a, b) ∧ Larger(b, c)", "Medium(b) ∧ Large(a) ∧ Small(c)", "well_matched"),
]


@pytest.mark.parametrize("text", AXIOMS)
def test_axioms_follow_in_a_world_of_blocks_alone(text: str) -> None:
    axiom = parse_formula(text, BLOCKS)
    assert WORLD.follows([], axiom).holds is True
    assert PURE.follows([], axiom).holds is False


@pytest.mark.parametrize("text", OPEN)
def test_what_no_axiom_says_does_not_follow(text: str) -> None:
    assert WORLD.follows([], parse_formula(text, BLOCKS)).holds is False


@pytest.mark.parametrize(("input", "output", "expected"), CASES)
def test_the_cases_of_table_3(input: str, output: str, expected: str) -> None:
    pair = parse_formula(input, BLOCKS), parse_formula(output, BLOCKS)
    assert WORLD.judge(*pair) == (expected, "")


def test_the_papers_annotators_split_where_adjoining_may_be_symmetric() -> None:
    pair = (
        parse_formula("∀x ¬(Adjoins(a, x) ∨ Adjoins(x, a))"),
        parse_formula("¬∃x Adjoins(x, a)"),
    )
    assert WORLD.judge(*pair).relation == "too_weak"
    assert SYMMETRIC.judge(*pair).relation == "well_matched"


def test_an_input_that_contradicts_itself_is_not_judged() -> None:
    pair = parse_formula("Cube(a) ∧ ¬Cube(a)"), parse_formula("Small(a)")
    assert WORLD.judge(*pair) == (None, "the input contradicts itself")


def test_a_world_that_must_be_infinite_is_left_undecided_within_the_limit() -> None:
    endless = parse_formula("∀x ∃y LeftOf(x, y)", BLOCKS)
    answer = Theory(seconds=0.3).consistent([endless])
    assert answer == (None, "undecided within 0.3 s")
    judged = Theory(seconds=0.3).judge(endless, parse_formula("Cube(a)"))
    assert judged.relation is None and "undecided" in judged.reason


def test_pure_logic_knows_no_block_and_takes_any_predicate() -> None:
    premises = [parse_formula("∀x (Bird(x) → Sings(x) ⊕ Small(x))"), parse_formula("Bird(a)")]
    sings = parse_formula("Sings(a)")
    assert PURE.follows([*premises, parse_formula("¬Small(a)")], sings).holds is True
    assert PURE.follows(premises, sings).holds is False
    assert PURE.consistent([parse_formula("Small(a) ∧ Large(a)")]).holds is True
    assert PURE.follows([parse_formula("Rains")], parse_formula("Rains ∨ Small(a)")).holds is True


def test_a_variable_bound_twice_is_the_inner_one() -> None:
    formula = parse_formula("∀x (Cube(x) → ∃x Tet(x))")
    assert PURE.follows([parse_formula("∃y Tet(y)")], formula).holds is True
    assert PURE.follows([parse_formula("∃y Cube(y)")], formula).holds is False


# ---- as an annotator, of formulas that a model writes ----


def _model(folder: Path, lines: Mapping[str, str | Mapping[str, str]]) -> Backend:
    """A model that answers so where these words are in what it is asked."""
    script = [
        {"contains": words, **({"text": said} if isinstance(said, str) else said)}
        for words, said in lines.items()
    ]
    path = folder / "model.jsonl"
    path.write_text("\n".join(map(json.dumps, script)), encoding="utf-8")
    return open_backend(f"scripted:{path}", BackendOptions())


def _formulas(found: Mapping[str, str]) -> dict[str, str]:
    """Answers with these formulas of texts, and that they say the same."""
    said = {text: json.dumps({"formula": formula}) for text, formula in found.items()}
    return {"Second statement": "VERDICT: same", **said, "": "I cannot tell."}


def _annotated(
    pairs: Sequence[Pair], folder: Path, formulas: Mapping[str, str], added: bool = True
) -> list[Annotation]:
    with _model(folder, _formulas(formulas)) as backend:
        return list(annotate_by_solver(pairs, backend, added, Theory(seconds=10)))


def test_a_models_formula_counts_where_it_says_the_same(tmp_path: Path) -> None:
    lines = {
        "Each cube is big.\n\nSecond": "Both say that all cubes are large.\nVERDICT: same",
        "Some cube is big.\n\nSecond": "The first speaks of one.\nVERDICT: different",
        "Each cube is big.": '{"formula": "∀x (Cube(x) → Large(x))"}',
        "Some cube is big.": 'Sure: {"formula": "exists x. Cube(x) & Large(x)"}',
        "There are cubes.": '{"formula": "∃x Cone(x)"}',
        "It is a cube.": '{"formula": "Cube(x)"}',
        "No idea.": "I cannot tell.",
        "Ann is a cube.": '{"formula": "Cube(ann)"}',
    }
    with _model(tmp_path, lines) as backend:
        first, *others = formalise(list(lines)[2:], backend)
    assert first.formula is not None and show(first.formula) == "∀x (Cube(x) → Large(x))"
    assert first.said == say(first.formula, Random(0)) and not first.reason
    assert all(one.formula is None and one.reason for one in others)
    reasons = [one.reason for one in others]
    assert reasons[0] == "read back, it says something else: The first speaks of one."
    assert "expected one of the predicates Small" in reasons[1]
    assert reasons[2] == "nothing binds the variable x"
    assert reasons[3].startswith("refusal") and "other predicates or names" in reasons[4]


def test_a_check_that_fails_leaves_the_text_unjudged(tmp_path: Path) -> None:
    cut = {"text": "", "finish_reason": "length"}
    with _model(tmp_path, {"Second statement": cut, "": '{"formula": "Cube(a)"}'}) as backend:
        (found,) = formalise(["A is a cube."], backend)
    assert found.formula is None and "cut after" in found.reason


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
    ("domain", "input", "output", "reason"),
    [
        ("logic", "Cube(a)", "Who knows what a is?", "no formula: "),
        ("logic", "Cube(a", "A is a cube.", "the input: "),
        ("logic", f"∀{'x, ' * 330}y Cube(y)", "A is a cube.", "the input: formula .*no more than"),
        ("logic", "Cube(a) & ~Cube(a)", "A is a cube.", "the input contradicts itself"),
        ("hotel", "Name: Hotel A", "Hotel A.", "a description is not put into a formula"),
    ],
)
def test_what_cannot_be_decided_is_unscored(
    tmp_path: Path, domain: Domain, input: str, output: str, reason: str
) -> None:
    pair = Pair(domain, input, output, "made")
    (one,) = _annotated([pair], tmp_path, {"A is a cube.": "Cube(a)"})
    assert one.relation is None and re.search(reason, one.unscored) and one.path == {}


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
    with _model(tmp_path, _formulas({pair.output: "Cube(a)"})):
        model = f"scripted:{tmp_path / 'model.jsonl'}"
    tokens = [f"formaliser={model}", f"data={tmp_path}", f"run={run}", "options.cache=null"]
    assert run_script("eval/annotate.py", tokens, monkeypatch) == 0
    assert "| solver" in capsys.readouterr().out
    assert len(read_annotations(run / "annotations.jsonl")) == 1
    accuracy = json.loads((run / "annotations.json").read_text())["logic"]["accuracy"]["CAT"]
    assert accuracy["annotators"] == {"solver": 1.0} and accuracy["n"] == 1
