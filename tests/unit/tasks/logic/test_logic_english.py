"""Controlled English: what formulas are called."""

from __future__ import annotations

from random import Random

import pytest

from tablemend.tasks.logic.english import GRAMMAR, EnglishError, say, word
from tablemend.tasks.logic.formula import BLOCKS, Formula, canonical, parse_formula
from tablemend.tasks.logic.generate import random_formula


def test_no_two_formulas_are_said_alike() -> None:
    """So what is said has one reading: that which was meant."""
    meant: dict[str, Formula] = {}
    for seed in range(600):
        rng = Random(seed)
        formula = random_formula(rng, rng.randint(0, 3), rng.randint(0, 3))
        for _ in range(3):
            one = meant.setdefault(say(formula, rng), formula)
            assert canonical(one) == canonical(formula)


@pytest.mark.parametrize("predicate", BLOCKS)
def test_every_predicate_has_words(predicate: str) -> None:
    terms = ", ".join("abc"[: BLOCKS[predicate]])
    assert f" {predicate}(" in GRAMMAR
    plain, denied = (
        {say(parse_formula(f"{sign}{predicate}({terms})"), Random(n)) for n in range(20)}
        for sign in ("", "¬")
    )
    assert plain and denied and not plain & denied


@pytest.mark.parametrize(
    ("text", "formula"),
    [
        ("All cubes are large.", "∀x (Cube(x) → Large(x))"),
        ("Nothing adjoins a.", "¬∃x Adjoins(x, a)"),
        ("No large cube is behind b.", "¬∃x ((Large(x) ∧ Cube(x)) ∧ Behind(x, b))"),
        ("Not every tetrahedron that is small is green.", "¬∀x ((Tet(x) ∧ Small(x)) → Green(x))"),
        ("Neither a adjoins b nor a is between b and c.", "¬(Adjoins(a, b) ∨ Between(a, b, c))"),
        ("Exactly one of these holds: a is small or b is small.", "Small(a) ⊕ Small(b)"),
        ("Unless a is green, b is green.", "¬Green(a) → Green(b)"),
    ],
)
def test_formulas_are_said_in_english(text: str, formula: str) -> None:
    assert text in {say(parse_formula(formula), Random(n)) for n in range(300)}


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("Every cube is behind some tetrahedron.", "∀x (Cube(x) → ∃y (Tet(y) ∧ Behind(x, y)))"),
        ("Every cube is behind some tetrahedron.", "∃y (Tet(y) ∧ ∀x (Cube(x) → Behind(x, y)))"),
        ("Every cube is not large.", "∀x (Cube(x) → ¬Large(x))"),
        ("Every cube is not large.", "¬∀x (Cube(x) → Large(x))"),
        ("A is small and b is small or c is small.", "(Small(a) ∧ Small(b)) ∨ Small(c)"),
        ("A is small and b is small or c is small.", "Small(a) ∧ (Small(b) ∨ Small(c))"),
    ],
    ids=["every-some", "some-every", "every-not", "not-every", "and-or", "or-and"],
)
def test_an_ambiguous_wording_is_used_where_there_is_one(text: str, meant: str) -> None:
    formula = parse_formula(meant)
    said = {word(formula, Random(n), ambiguous=True) for n in range(300)}
    assert (text, True) in said and text not in {say(formula, Random(n)) for n in range(300)}
    assert not word(parse_formula("Cube(a)"), Random(0), ambiguous=True).ambiguous


def test_what_has_no_words_is_refused() -> None:
    for text in ("Bird(a)", "Cube(tweety)"):
        with pytest.raises(EnglishError, match="other predicates or names"):
            say(parse_formula(text), Random(0))
