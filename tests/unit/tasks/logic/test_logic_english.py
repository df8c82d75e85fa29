"""Controlled English: both directions of its grammar, its ambiguities, and a model's formulas."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tablemend.backends.backend import open_backend
from tablemend.config import BackendOptions
from tablemend.tasks.logic.english import GRAMMAR, EnglishError, readings, say
from tablemend.tasks.logic.formula import BLOCKS, canonical, parse_formula, show
from tablemend.tasks.logic.generate import random_formula
from tablemend.tasks.logic.solver import Formalisation, formalise


@settings(deadline=None)
@given(st.integers(0, 10**6), st.integers(0, 3), st.integers(0, 5))
def test_what_is_said_has_one_reading_and_that_is_what_was_meant(
    seed: int, quantifiers: int, connectives: int
) -> None:
    rng = Random(seed)
    formula = random_formula(rng, quantifiers, connectives)
    (found,) = readings(say(formula, rng))
    assert canonical(found) == canonical(formula)


@pytest.mark.parametrize("predicate", BLOCKS)
def test_every_predicate_has_words(predicate: str) -> None:
    terms = ", ".join("abc"[: BLOCKS[predicate]])
    for text in (f"{predicate}({terms})", f"¬{predicate}({terms})"):
        formula = parse_formula(text)
        found = [readings(say(formula, Random(n))) for n in range(20)]
        assert all([canonical(one) for one in own] == [formula] for own in found)


@pytest.mark.parametrize(
    ("text", "formula"),
    [
        ("All cubes are large.", "∀x (Cube(x) → Large(x))"),
        ("Nothing adjoins a.", "¬∃x Adjoins(x, a)"),
        ("No large cube is behind b.", "¬∃x ((Large(x) ∧ Cube(x)) ∧ Behind(x, b))"),
        ("Not every tetrahedron that is small is green.", "¬∀x ((Tet(x) ∧ Small(x)) → Green(x))"),
        ("A is a cube. Moreover, b is not a.", None),
        ("For every cube x, there is a cube y such that x is y.", None),
        ("Neither a adjoins b nor a is between b and c.", "¬(Adjoins(a, b) ∨ Between(a, b, c))"),
        ("Exactly one of these holds: a is small or b is small.", "Small(a) ⊕ Small(b)"),
        ("Unless a is green, b is green.", "¬Green(a) → Green(b)"),
    ],
)
def test_texts_are_read(text: str, formula: str | None) -> None:
    wanted = [] if formula is None else [canonical(parse_formula(formula))]
    assert [canonical(one) for one in readings(text)] == wanted


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        (
            "Every cube is behind some tetrahedron.",
            {
                "∀x (Cube(x) → ∃y (Tet(y) ∧ Behind(x, y)))",
                "∃y (Tet(y) ∧ ∀x (Cube(x) → Behind(x, y)))",
            },
        ),
        (
            "Every cube is not large.",
            {"∀x (Cube(x) → ¬Large(x))", "¬∀x (Cube(x) → Large(x))"},
        ),
        (
            "A is small and b is small or c is small.",
            {
                "(Small(a) ∧ Small(b)) ∨ Small(c)",
                "Small(a) ∧ (Small(b) ∨ Small(c))",
            },
        ),
        ("A is small and b is small and c is small.", {"Small(a) ∧ Small(b) ∧ Small(c)"}),
    ],
    ids=["scope of quantifiers", "scope of negation", "precedence", "no matter"],
)
def test_ambiguous_texts_have_all_their_readings(text: str, meant: set[str]) -> None:
    assert {canonical(one) for one in readings(text)} == {
        canonical(parse_formula(one)) for one in meant
    }


def test_a_long_list_of_clauses_has_one_reading() -> None:
    text = " and ".join(f"{name} is large" for name in "abcdefgh")
    assert len(readings(f"{text}.")) == 1
    with pytest.raises(EnglishError, match="64 readings or more"):
        readings(" and ".join(["a is small or b is large"] * 8) + ".")


def test_an_ambiguous_wording_is_used_where_there_is_one() -> None:
    formula = parse_formula("∀x (Cube(x) → ¬Large(x))")
    said = say(formula, Random(0), ambiguous=True)
    assert len(readings(said)) == 2
    only = parse_formula("Cube(a)")
    assert len(readings(say(only, Random(0), ambiguous=True))) == 1


def test_what_has_no_words_is_refused() -> None:
    for text in ("Bird(a)", "Cube(tweety)"):
        with pytest.raises(EnglishError, match="other predicates or names"):
            say(parse_formula(text), Random(0))


def test_the_grammar_names_every_predicate() -> None:
    assert not [name for name in BLOCKS if f" {name}(" not in GRAMMAR]


def test_a_models_formula_counts_where_it_says_the_same(tmp_path: Path) -> None:
    lines = [
        ("Each cube is big.", '{"formula": "∀x (Cube(x) → Large(x))"}'),
        ("Some cube is big.", 'Sure: {"formula": "exists x. Cube(x) & Large(x)"}'),
        ("There are cubes.", '{"formula": "∃x Cone(x)"}'),
        ("It is a cube.", '{"formula": "Cube(x)"}'),
        ("No idea.", "I cannot tell."),
        ("Ann is a cube.", '{"formula": "Cube(ann)"}'),
    ]
    verdicts = [
        ("Each cube is big.\n\nSecond", "Both say that all cubes are large.\nVERDICT: same"),
        ("Some cube is big.\n\nSecond", "The first speaks of one.\nVERDICT: different"),
    ]
    path = tmp_path / "answers.jsonl"
    script = [{"contains": said, "text": text} for said, text in [*verdicts, *lines]]
    path.write_text("\n".join(map(json.dumps, script)), encoding="utf-8")
    with open_backend(f"scripted:{path}", BackendOptions()) as backend:
        found = formalise([text for text, _ in lines], backend)
    assert found[0].formula is not None and show(found[0].formula) == "∀x (Cube(x) → Large(x))"
    (said,) = readings(found[0].said)
    assert canonical(said) == canonical(found[0].formula) and not found[0].reason
    assert all(one.formula is None and one.reason for one in found[1:])
    reasons = [one.reason for one in found[1:]]
    assert reasons[0] == "read back, it says something else: The first speaks of one."
    assert "expected one of the predicates Small" in reasons[1]
    assert reasons[2] == "nothing binds the variable x"
    assert reasons[3].startswith("refusal") and "other predicates or names" in reasons[4]


def test_a_check_that_fails_leaves_the_text_unjudged(tmp_path: Path) -> None:
    path = tmp_path / "answers.jsonl"
    script = [
        {"contains": "Second statement", "text": "", "finish_reason": "length"},
        {"contains": "", "text": '{"formula": "Cube(a)"}'},
    ]
    path.write_text("\n".join(map(json.dumps, script)), encoding="utf-8")
    with open_backend(f"scripted:{path}", BackendOptions()) as backend:
        (found,) = formalise(["A is a cube."], backend)
    assert isinstance(found, Formalisation) and found.formula is None
    assert "cut after" in found.reason
