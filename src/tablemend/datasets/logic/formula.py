"""First-order formulas without functions, and the predicates of the blocks world.

Source of the predicates: *Annotating Hallucinations in Data-to-Text NLG*, Appendix F.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path
from typing import Any, Literal, NamedTuple, get_args

import yaml

Connective = Literal["and", "or", "xor", "implies", "iff"]
CONNECTIVES: tuple[Connective, ...] = get_args(Connective)
"""From the tightest to the loosest."""
Quantifier = Literal["forall", "exists"]
EQUAL = "="
DATA: Mapping[str, Any] = yaml.safe_load(Path(__file__).with_name("logic.yaml").read_text("utf-8"))
"""All of logic.yaml."""


@dataclass(frozen=True, slots=True)
class Name:
    """Of one thing; two names may be of the same."""

    name: str


@dataclass(frozen=True, slots=True)
class Variable:
    """Bound by a quantifier around it, or free."""

    name: str


@dataclass(frozen=True, slots=True)
class Atom:
    """A predicate of terms; that of an equation is :data:`EQUAL`."""

    predicate: str
    terms: tuple[Term, ...] = ()


@dataclass(frozen=True, slots=True)
class Not:
    """A formula denied."""

    body: Formula


@dataclass(frozen=True, slots=True)
class Binary:
    """Two formulas and what connects them."""

    connective: Connective
    left: Formula
    right: Formula


@dataclass(frozen=True, slots=True)
class Quantified:
    """A formula said of every thing, or of one at least."""

    quantifier: Quantifier
    variable: Variable
    body: Formula


Term = Name | Variable
Formula = Atom | Not | Binary | Quantified
BLOCKS: Mapping[str, int] = DATA["predicates"]
"""Predicate of the blocks world -> number of its terms; equality aside."""


class Size(NamedTuple):
    """What the paper stratifies by (3.3.2).

    ``length`` counts symbols without brackets and commas, ``predicates`` different ones, equality
    included, and ``connectives`` negations too.
    """

    length: int
    predicates: int
    connectives: int
    quantifiers: int


def children(formula: Formula) -> tuple[Formula, ...]:
    """The formulas directly below."""
    match formula:
        case Atom():
            return ()
        case Binary(_, left, right):
            return (left, right)
        case Not(body) | Quantified(_, _, body):
            return (body,)


def with_children(formula: Formula, new: tuple[Formula, ...]) -> Formula:
    """The same formula over others."""
    match formula:
        case Atom():
            return formula
        case Binary(connective):
            return Binary(connective, *new)
        case _:
            return replace(formula, body=new[0])


def walk(formula: Formula) -> Iterator[Formula]:
    """The formula and all below it, from left to right."""
    yield formula
    for child in children(formula):
        yield from walk(child)


def size(formula: Formula) -> Size:
    """How large a formula is."""
    parts = list(walk(formula))
    atoms = [part for part in parts if isinstance(part, Atom)]
    connectives = sum(isinstance(part, Not | Binary) for part in parts)
    quantifiers = sum(isinstance(part, Quantified) for part in parts)
    length = sum(1 + len(atom.terms) for atom in atoms) + connectives + 2 * quantifiers
    return Size(length, len({atom.predicate for atom in atoms}), connectives, quantifiers)


def free_terms(formula: Formula) -> frozenset[Term]:
    """The names, and the variables that no quantifier binds."""
    match formula:
        case Atom(_, terms):
            return frozenset(terms)
        case Quantified(_, variable, body):
            return free_terms(body) - {variable}
        case _:
            return frozenset[Term]().union(*map(free_terms, children(formula)))


def free_variables(formula: Formula) -> frozenset[Variable]:
    """The variables that no quantifier binds."""
    return frozenset(term for term in free_terms(formula) if isinstance(term, Variable))


def substitute(formula: Formula, term: Term, new: Term) -> Formula:
    """The formula with a term in place of a name, or of a variable where it is free.

    The new one must be a name, or a variable that nothing in the formula binds.
    """
    match formula:
        case Atom(predicate, terms):
            return Atom(predicate, tuple(new if one == term else one for one in terms))
        case Quantified(_, bound, _) if bound == term:
            return formula
        case _:
            below = (substitute(child, term, new) for child in children(formula))
            return with_children(formula, tuple(below))


def canonical(formula: Formula) -> Formula:
    """One form of all that differ in bound variables and in brackets among ∧, or among ∨."""

    def number(formula: Formula, depth: int) -> Formula:
        match formula:
            case Quantified(quantifier, variable, body):
                new = Variable(f"#{depth}")
                return Quantified(
                    quantifier, new, number(substitute(body, variable, new), depth + 1)
                )
            case Binary("and" | "or" as one, left, Binary(other, middle, right)) if one == other:
                return number(Binary(one, Binary(one, left, middle), right), depth)
            case _:
                return with_children(formula, tuple(number(c, depth) for c in children(formula)))

    return number(formula, 0)


# ---- forms ----

HOLES = (Name("_"), Name("__"))
SLOT = re.compile(r"[A-Z]\d")
Found = dict[str, Any]
"""What stands in the slots of a form: formulas and terms."""


def match(form: Formula, formula: Formula, found: Found | None = None) -> Found | None:
    """What stands in the slots of a form where a formula has it; else ``None``.

    In a form ``A1`` is any formula and ``X1`` any term; ``N1(X1)`` is what a formula N1 says of X1,
    which in N1 itself is ``_``, and a second such term ``__``.
    """
    found = {} if found is None else found
    return found if _match(form, formula, found) else None


def _match(form: Formula, formula: Formula, found: Found) -> bool:
    match form, formula:
        case Atom(slot, terms), _ if SLOT.fullmatch(slot):
            for place, (term, hole) in enumerate(zip(terms, HOLES, strict=False)):
                if term.name in found:
                    formula = substitute(formula, found[term.name], hole)
                elif term not in HOLES:
                    literal = formula.body if isinstance(formula, Not) else formula
                    if not isinstance(literal, Atom) or len(literal.terms) <= place:
                        return False
                    own = literal.terms
                    found[term.name] = own[place]
                    literal = Atom(literal.predicate, (*own[:place], hole, *own[place + 1 :]))
                    formula = Not(literal) if isinstance(formula, Not) else literal
            found[slot] = formula
            return True
        case Atom(one, terms), Atom(other, others):
            same_form = one == other and len(terms) == len(others)
            return same_form and all(map(_match_term, terms, others, [found] * len(terms)))
        case Quantified(one, variable, _), Quantified(other, bound, _):
            alike = one == other and _match_term(variable, bound, found)
        case Binary(one), Binary(other):
            alike = one == other
        case _:
            alike = isinstance(form, Not) and isinstance(formula, Not)
    return alike and all(map(_match, children(form), children(formula), [found] * 2))


def _match_term(form: Term, term: Term, found: Found) -> bool:
    if not SLOT.fullmatch(form.name):
        return form == term
    return bool(found.setdefault(form.name, term) == term)


def build(form: Formula, found: Found) -> Formula:
    """A form with its slots filled, the inverse of :func:`match`."""
    match form:
        case Atom(slot, terms):
            own = tuple(found.get(term.name, term) for term in terms)
            if not SLOT.fullmatch(slot):
                return Atom(slot, own)
            formula: Formula = found[slot]
            for term, hole in zip(own, HOLES, strict=False):
                formula = substitute(formula, hole, term)
            return formula
        case Quantified(quantifier, variable, body):
            found = {variable.name: None, **found}
            bound = found[variable.name] = found[variable.name] or _unused(found)
            return Quantified(quantifier, bound, build(body, found))
        case _:
            return with_children(form, tuple(build(one, found) for one in children(form)))


def _unused(found: Found) -> Variable:
    """A variable that occurs in none of these."""
    used = {value for value in found.values() if isinstance(value, Variable)}
    for value in found.values():
        for part in walk(value) if isinstance(value, Formula) else ():
            used |= {part.variable} if isinstance(part, Quantified) else free_variables(part)
    names = (Variable(f"{letter}{n or ''}") for n in count() for letter in "xyzuvw")
    return next(one for one in names if one not in used)
