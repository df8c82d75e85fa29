"""Formulas: what is read, what is refused and where, and that what is shown is read back."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tablemend.tasks.logic.english import say
from tablemend.tasks.logic.formula import (
    BLOCKS,
    CONNECTIVES,
    EQUAL,
    MOST_PARTS,
    Atom,
    Binary,
    Formula,
    FormulaError,
    Name,
    Not,
    Quantified,
    Size,
    Variable,
    canonical,
    free_variables,
    parse_formula,
    show,
    show_indented,
    show_latex,
    size,
)

TERMS = st.one_of(
    st.sampled_from("abcde").map(Name),
    st.sampled_from("uvwxyz").map(Variable),
)
ATOMS = st.one_of(
    *(
        st.tuples(*[TERMS] * places).map(lambda terms, name=name: Atom(name, terms))
        for name, places in {**BLOCKS, EQUAL: 2, "Rains": 0}.items()
    )
)
FORMULAS: st.SearchStrategy[Formula] = st.recursive(
    ATOMS,
    lambda below: st.one_of(
        below.map(Not),
        st.builds(Binary, st.sampled_from(CONNECTIVES), below, below),
        st.builds(
            Quantified,
            st.sampled_from(("forall", "exists")),
            st.sampled_from("uvwxyz").map(Variable),
            below,
        ),
    ),
    max_leaves=12,
)
TABLE_2 = (
    r"\exists x \neg (\operatorname{Cube}(x) \to"
    r" \forall y \; (\operatorname{Tet}(y) \to \operatorname{Smaller}(x, y)))"
)


@settings(deadline=None)
@given(FORMULAS)
def test_what_is_shown_is_read_back(formula: Formula) -> None:
    for text in (show(formula), show_latex(formula), show_indented(formula, 12)):
        assert parse_formula(text) == formula


@pytest.mark.parametrize(
    "text",
    [
        "∀x (Cube(x) ∧ x ≠ a → ¬Small(x) ∨ Large(x))",
        "forall x (Cube(x) & x != a -> ~Small(x) | Large(x))",
        "forall x. Cube(x) and not x = a implies not Small(x) or Large(x)",
        r"$\forall x \left( Cube(x) \land x \neq a \to \lnot Small(x) \lor Large(x) \right)$",
        "∀x [Cube(x) /\\ x != a => !Small(x) || Large(x)]",
    ],
)
def test_spellings_are_one_formula(text: str) -> None:
    said = "∀x ((Cube(x) ∧ x ≠ a) → (¬Small(x) ∨ Large(x)))"
    assert show(parse_formula(text, BLOCKS)) == said


@pytest.mark.parametrize(
    ("text", "grouped"),
    [
        ("A ∧ B ∧ C", "(A ∧ B) ∧ C"),
        ("A → B → C", "A → (B → C)"),
        ("A ∨ B ⊕ C ∨ D", "(A ∨ B) ⊕ (C ∨ D)"),
        ("A ↔ B → C ⊕ D ∨ E ∧ F", "A ↔ (B → (C ⊕ (D ∨ (E ∧ F))))"),
        ("∀x P(x) → Q(a)", "(∀x P(x)) → Q(a)"),
        ("∃x, y P(x, y)", "∃x ∃y P(x, y)"),
    ],
)
def test_connectives_group_by_their_strength(text: str, grouped: str) -> None:
    assert parse_formula(text) == parse_formula(grouped)


@pytest.mark.parametrize(
    ("text", "place", "expected"),
    [
        ("Cube(a) ∧", 10, "expected a formula, found 'the end'"),
        ("∀ (Cube(x))", 3, "expected a variable, found '(Cube(x))'"),
        ("Cube(mother(a))", 12, "functions are not read"),
        ("Small(a) Cube(a)", 10, "expected a connective or the end"),
        ("(Cube(a)", 9, "expected a connective or )"),
        ("Cube(a) § Cube(b)", 9, "expected a symbol of logic or a word"),
        ("Cone(a)", 1, "expected one of the predicates Small, "),
        ("Larger(a)", 1, "expected Larger with 2 terms, not 1"),
        ("¬" * 300 + "Cube(a)", MOST_PARTS + 1, f"no more than {MOST_PARTS} connectives"),
        ("(" * 300 + "Cube(a)", MOST_PARTS + 1, f"no more than {MOST_PARTS} connectives"),
        ("∃x " * 300 + "Cube(x)", 3 * MOST_PARTS + 2, f"no more than {MOST_PARTS} connectives"),
        (f"∀{'x, ' * 330}y. Cube(x)", 3 * MOST_PARTS + 2, f"no more than {MOST_PARTS} connectives"),
        ("Cube(a) ∧ " * 300 + "Cube(a)", 10 * MOST_PARTS + 9, "connectives, variables"),
        (f"Cube({'a' * 10_000}(b))", 10_006, "functions are not read"),
        ("C" * 30_000 + "(a)", 20_001, "no more than 20,000 characters"),
        (f"Cube({'a, ' * 10_000}a)", 20_001, "no more than 20,000 characters"),
    ],
)
def test_errors_say_where_and_what_was_expected(text: str, place: int, expected: str) -> None:
    with pytest.raises(FormulaError) as caught:
        parse_formula(text, BLOCKS)
    message = str(caught.value)
    assert f"character {place}: " in message and expected in message and "\n" not in message
    assert len(message) < 400


@pytest.mark.parametrize(
    "text",
    [
        f"∀{', '.join(f'x{n}' for n in range(MOST_PARTS))}. Cube(x1)",
        "¬" * MOST_PARTS + "Cube(a)",
        "∀x (" * (MOST_PARTS // 2) + "Cube(x)" + ")" * (MOST_PARTS // 2),
        "Cube(a) ∧ " * MOST_PARTS + "Cube(a)",
        "Cube(a) → " * MOST_PARTS + "Cube(a)",
    ],
)
def test_the_largest_formulas_are_compared_said_and_shown(text: str) -> None:
    formula = parse_formula(text)
    assert parse_formula(show(formula)) == formula and canonical(formula)
    assert size(formula).length >= MOST_PARTS // 2 and show_indented(formula)
    assert say(formula, Random(0))


def test_a_variable_outside_the_reach_of_its_quantifier_is_free() -> None:
    assert free_variables(parse_formula("∀x (Cube(x)) → Large(x)")) == {Variable("x")}
    assert not free_variables(parse_formula("∀x. Cube(x) → Large(x)"))


def test_a_long_formula_is_opened_at_its_brackets() -> None:
    assert show_indented(parse_formula(TABLE_2), 30).splitlines() == [
        "∃x ¬(",
        "  Cube(x) →",
        "  ∀y (Tet(y) → Smaller(x, y))",
        ")",
    ]


def test_sizes_are_counted() -> None:
    assert size(parse_formula(TABLE_2)) == Size(14, 3, 3, 2)
    assert size(parse_formula("a = b")) == Size(3, 1, 0, 0)


def test_bound_names_and_brackets_of_conjunctions_do_not_tell_formulas_apart() -> None:
    one = parse_formula("∀x (Cube(x) ∧ (Small(x) ∧ ∃y Larger(y, x)))")
    other = parse_formula("∀u ((Cube(u) ∧ Small(u)) ∧ ∃x Larger(x, u))")
    assert one != other and canonical(one) == canonical(other)
    assert canonical(parse_formula("∃x ∃y Larger(x, y)")) != canonical(
        parse_formula("∃x ∃y Larger(y, x)")
    )
