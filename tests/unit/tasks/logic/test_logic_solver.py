"""The solver: every axiom, the cases of Table 3, and what it leaves undecided."""

from __future__ import annotations

import pytest

from tablemend.tasks.logic.formula import BLOCKS, parse_formula
from tablemend.tasks.logic.solver import Theory

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
