"""Edits of formulas whose effect is known: as strong as before, no stronger, no weaker.

A part gives way to one that is equivalent to it in every world of blocks, to one that follows from
it, or to one from which it follows, by where in the formula it stands.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from random import Random

from tablemend.datasets.logic.formula import (
    EQUAL,
    Atom,
    Binary,
    Connective,
    Formula,
    Not,
    Quantified,
    Quantifier,
    Term,
    Variable,
    children,
    substitute,
    with_children,
)
from tablemend.datasets.logic.world import NAMES

Path = tuple[int, ...]
Place = tuple[Path, Formula, int, tuple[Term, ...]]
"""Way from the root, the part there, 1 or -1 for what it does to the whole (0: unknown), and the
variables bound around it."""
Make = Callable[[tuple[Term, ...]], Formula]
"""A new formula about something bound there, or named."""

ONE_OF_THREE = tuple(
    tuple(three.split())
    for three in (
        "Small Medium Large",
        "Cube Tet Dodec",
        "Larger Smaller SameSize",
        "LeftOf RightOf SameCol",
        "FrontOf BackOf SameRow",
    )
)
"""Of the same terms exactly one of the three is true."""
OTHERS = {one: [two for two in three if two != one] for three in ONE_OF_THREE for one in three}
CONVERSES = {"Larger": "Smaller", "LeftOf": "RightOf", "FrontOf": "BackOf"}
CONVERSES |= {other: one for one, other in CONVERSES.items()} | {"Behind": "FrontOf"}
ADDING = 0.3
"""How often a part is widened or narrowed by something new, where it could be edited otherwise."""
SYMMETRIC = {"SameSize", "SameShape", "SameCol", "SameRow", EQUAL}


def places(
    formula: Formula, path: Path = (), effect: int = 1, bound: tuple[Term, ...] = ()
) -> Iterator[Place]:
    """All parts of a formula."""
    yield path, formula, effect, bound
    for number, child in enumerate(children(formula)):
        below, around = effect, bound
        match formula:
            case Not():
                below = -effect
            case Binary("implies"):
                below = effect if number else -effect
            case Binary("xor" | "iff"):
                below = 0
            case Quantified(_, variable, _):
                around = (*bound, variable)
        yield from places(child, (*path, number), below, around)


def put(formula: Formula, path: Path, new: Formula) -> Formula:
    """The formula with another part at that place."""
    if not path:
        return new
    below = list(children(formula))
    below[path[0]] = put(below[path[0]], path[1:], new)
    return with_children(formula, tuple(below))


def rewrite(formula: Formula, rng: Random, times: int = 1) -> Formula:
    """An equivalent formula, by so many edits."""
    for _ in range(times):
        options = [(path, new) for path, part, _, _ in places(formula) for new in equivalents(part)]
        if options:
            formula = put(formula, *rng.choice(options))
    return without_double_negation(formula)


def without_double_negation(formula: Formula) -> Formula:
    """An equivalent formula that denies nothing twice."""
    while isinstance(formula, Not) and isinstance(formula.body, Not):
        formula = formula.body.body
    return with_children(formula, tuple(map(without_double_negation, children(formula))))


def weaken(formula: Formula, rng: Random, make: Make) -> Formula:
    """A formula that follows from this one; ``make`` gives what may be added."""
    return _one_way(formula, rng, make, 1)


def strengthen(formula: Formula, rng: Random, make: Make) -> Formula:
    """A formula from which this one follows; ``make`` gives what may be added."""
    return _one_way(formula, rng, make, -1)


def _one_way(formula: Formula, rng: Random, make: Make, direction: int) -> Formula:
    path, part, effect, bound = rng.choice([place for place in places(formula) if place[2]])
    options = weaker(part) if effect == direction else stronger(part)
    more: Connective = "or" if effect == direction else "and"
    if not options or rng.random() < ADDING:
        options = [Binary(more, part, make(bound))]
    return put(formula, path, rng.choice(options))


def weaker(part: Formula) -> list[Formula]:
    """Formulas that follow from this one."""
    match part:
        case Binary("and", left, right):
            return [left, right, Binary("or", left, right)]
        case Binary("xor", left, right):
            return [Binary("or", left, right)]
        case Binary("iff", left, right):
            return [Binary("implies", left, right), Binary("implies", right, left)]
        case Quantified("forall", variable, body):
            return [Quantified("exists", variable, body), *_instances(variable, body)]
        case Atom(predicate, terms):
            return [Not(Atom(other, terms)) for other in OTHERS.get(predicate, ())]
        case _:
            return []


def stronger(part: Formula) -> list[Formula]:
    """Formulas from which this one follows."""
    match part:
        case Binary("or", left, right):
            return [left, right, Binary("and", left, right), Binary("xor", left, right)]
        case Binary("implies", left, right):
            return [right, Not(left), Binary("iff", left, right)]
        case Quantified("exists", variable, body):
            return [Quantified("forall", variable, body), *_instances(variable, body)]
        case Not(Atom(predicate, terms)):
            return [Atom(other, terms) for other in OTHERS.get(predicate, ())]
        case _:
            return []


def _instances(variable: Variable, body: Formula) -> list[Formula]:
    return [substitute(body, variable, name) for name in NAMES[:2]]


def equivalents(part: Formula) -> list[Formula]:
    """Formulas that are true in the same worlds of blocks as this one."""
    match part:
        case Not(Binary("and" | "or" as connective, left, right)):
            return [Binary("or" if connective == "and" else "and", Not(left), Not(right))]
        case Not(Binary("implies", left, right)):
            return [Binary("and", left, Not(right))]
        case Not(Quantified(quantifier, variable, body)):
            other: Quantifier = "exists" if quantifier == "forall" else "forall"
            return [Quantified(other, variable, Not(body))]
        case Binary("implies", left, Binary("implies", middle, right)):
            return [Binary("implies", Binary("and", left, middle), right)]
        case Binary("implies", left, right):
            contrary = Binary("implies", Not(right), Not(left))
            return [contrary, Binary("or", Not(left), right), Not(Binary("and", left, Not(right)))]
        case Binary("iff", left, right):
            ways = Binary("implies", left, right), Binary("implies", right, left)
            return [Binary("iff", right, left), Binary("and", *ways)]
        case Binary("xor", left, right):
            return [Binary("xor", right, left), Binary("iff", left, Not(right))]
        case Binary(connective, left, right):
            return [Binary(connective, right, left)]
        case Quantified(quantifier, variable, body):
            opposite: Quantifier = "exists" if quantifier == "forall" else "forall"
            return [Not(Quantified(opposite, variable, Not(body)))]
        case Atom(predicate, (left, right)) if predicate in SYMMETRIC:
            return [Atom(predicate, (right, left))]
        case Atom(predicate, (left, right)) if predicate in CONVERSES:
            return [Atom(CONVERSES[predicate], (right, left))]
        case Atom(predicate, terms) if predicate in OTHERS:
            return [Binary("and", *(Not(Atom(name, terms)) for name in OTHERS[predicate]))]
        case _:
            return []
