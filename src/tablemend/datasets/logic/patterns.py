"""Forms of formulas: found in a formula, and filled again.

In a form ``A1`` is any formula and ``X1`` any term; ``N1(X1)`` is what a formula N1 says of X1,
which in N1 itself is ``_``, and a second such term ``__``.
"""

from __future__ import annotations

import re
from itertools import count
from typing import Any

from tablemend.datasets.logic.formula import (
    Atom,
    Binary,
    Formula,
    Name,
    Not,
    Quantified,
    Term,
    Variable,
    children,
    free_variables,
    substitute,
    walk,
    with_children,
)

HOLES = (Name("_"), Name("__"))
SLOT = re.compile(r"[A-Z]\d")
Found = dict[str, Any]
"""What stands in the slots of a form: formulas and terms."""


def match(form: Formula, formula: Formula, found: Found | None = None) -> Found | None:
    """What stands in the slots of a form where a formula has it; else ``None``."""
    found = {} if found is None else found
    return found if _match(form, formula, found) else None


def _match(form: Formula, formula: Formula, found: Found) -> bool:
    match form, formula:
        case Atom(slot, terms), _ if SLOT.fullmatch(slot):
            for place, (term, hole) in enumerate(zip(terms, HOLES, strict=False)):
                if term in HOLES:
                    continue
                if term.name not in found:
                    literal = formula.body if isinstance(formula, Not) else formula
                    if not isinstance(literal, Atom) or len(literal.terms) <= place:
                        return False
                    found[term.name] = literal.terms[place]
                    terms_ = (*literal.terms[:place], hole, *literal.terms[place + 1 :])
                    literal = Atom(literal.predicate, terms_)
                    formula = Not(literal) if isinstance(formula, Not) else literal
                else:
                    formula = substitute(formula, found[term.name], hole)
            found[slot] = formula
            return True
        case Atom(one, terms), Atom(other, others):
            same_form = one == other and len(terms) == len(others)
            return same_form and all(map(_match_term, terms, others, [found] * len(terms)))
        case Quantified(one, variable, _), Quantified(other, bound, _):
            if one != other or not _match_term(variable, bound, found):
                return False
        case Binary(one, _, _), Binary(other, _, _):
            if one != other:
                return False
        case Not(), Not():
            pass
        case _:
            return False
    return all(map(_match, children(form), children(formula), [found] * 2))


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
