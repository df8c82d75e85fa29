"""Edits of formulas whose effect is known: as strong as before, no stronger, no weaker.

A part gives way to one that is equivalent to it in every world of blocks, to one that follows from
it, or to one from which it follows, by where in the formula it stands.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from random import Random

from tablemend.datasets.logic.formula import (
    DATA,
    Binary,
    Connective,
    Formula,
    Not,
    Quantified,
    Term,
    build,
    children,
    match,
    with_children,
)
from tablemend.datasets.logic.notation import parse_formula

Path = tuple[int, ...]
Place = tuple[Path, Formula, int, tuple[Term, ...], tuple[str, ...]]
"""Way from the root, the part there, 1 or -1 for what it does to the whole (0: unknown), the
variables bound around it, and ``and`` where the whole is false if it is, ``or`` where true."""
Make = Callable[[tuple[Term, ...]], Formula]
"""A new formula about something bound there, or named."""
Rules = list[tuple[Formula, list[Formula]]]
"""Forms of a part, of which the first that fits counts, and what the part may give way to."""
ADDING = 0.3
"""How often a part is widened or narrowed by something new, where it could be edited otherwise."""


def _rules(name: str, pattern: str) -> Rules:
    """Rules of logic.yaml, and what of its ``one_of_three`` the others may say in a pattern."""
    found = [line.split(" | ") for line in DATA[name].splitlines()]
    for terms, three in DATA["one_of_three"]:
        atoms = [f"{one}({terms})" for one in three.split()]
        for one in atoms:
            first, second = (other for other in atoms if other != one)
            found.append(pattern.format(one, first, second).split(" | "))
    return [
        (parse_formula(form), list(map(parse_formula, new.split(" ; ")))) for form, new in found
    ]


EQUIVALENT = _rules("equivalent", "{} | ¬{} ∧ ¬{}")
WEAKER = _rules("weaker", "{} | ¬{} ; ¬{}")
STRONGER = _rules("stronger", "¬{} | {} ; {}")


def _edits(rules: Rules, part: Formula) -> list[Formula]:
    for form, new in rules:
        if (found := match(form, part)) is not None:
            return [build(one, found) for one in new]
    return []


def places(
    formula: Formula,
    path: Path = (),
    effect: int = 1,
    bound: tuple[Term, ...] = (),
    settles: tuple[str, ...] = ("and", "or"),
) -> Iterator[Place]:
    """All parts of a formula."""
    yield path, formula, effect, bound, settles
    for number, child in enumerate(children(formula)):
        below, around, kept = effect, bound, ""
        match formula:
            case Not():
                below = -effect
            case Binary("implies"):
                below, kept = (effect, "or") if number else (-effect, "")
            case Binary("and" | "or" as own):
                kept = own
            case Binary():
                below = 0
            case Quantified(quantifier, variable, _):
                around, kept = (*bound, variable), "and" if quantifier == "exists" else "or"
        both = tuple(one for one in settles if one == kept)
        yield from places(child, (*path, number), below, around, both)


def put(formula: Formula, path: Path, new: Formula) -> Formula:
    """The formula with another part at that place."""
    if not path:
        return new
    below = list(children(formula))
    below[path[0]] = put(below[path[0]], path[1:], new)
    return with_children(formula, tuple(below))


def rewrite(formula: Formula, rng: Random, times: int = 1) -> Formula:
    """An equivalent formula, by so many edits, that denies nothing twice."""
    for _ in range(times):
        found = [
            (way, new) for way, part, *_ in places(formula) for new in _edits(EQUIVALENT, part)
        ]
        if found:
            formula = put(formula, *rng.choice(found))
    return _without_double_negation(formula)


def _without_double_negation(formula: Formula) -> Formula:
    while isinstance(formula, Not) and isinstance(formula.body, Not):
        formula = formula.body.body
    return with_children(formula, tuple(map(_without_double_negation, children(formula))))


def weaken(formula: Formula, rng: Random, make: Make) -> Formula:
    """A formula that follows from this one; ``make`` gives what may be added."""
    return _one_way(formula, rng, make, 1)


def strengthen(formula: Formula, rng: Random, make: Make) -> Formula:
    """A formula from which this one follows; ``make`` gives what may be added."""
    return _one_way(formula, rng, make, -1)


def _one_way(formula: Formula, rng: Random, make: Make, direction: int) -> Formula:
    path, part, effect, bound, _ = rng.choice([one for one in places(formula) if one[2]])
    options = _edits(WEAKER if effect == direction else STRONGER, part)
    more: Connective = "or" if effect == direction else "and"
    if not options or rng.random() < ADDING:
        options = [Binary(more, part, make(bound))]
    return put(formula, path, rng.choice(options))
