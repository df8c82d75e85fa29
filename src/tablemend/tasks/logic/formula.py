"""First-order formulas without functions, as text, and the predicates of the blocks world.

Source of the predicates: *Annotating Hallucinations in Data-to-Text NLG*, Appendix F.

Text is read from Unicode, ASCII and LaTeX, and shown so that it is read back. ``¬`` and quantifiers
bind tightest, then ``∧``, ``∨``, ``⊕``, ``→`` and ``↔``; arrows of the same kind group to the right
(``A → B → C`` is ``A → (B → C)``), the others to the left. A quantifier with a dot, ``∀x. A → B``,
reaches as far to the right as it can.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path
from typing import Any, Literal, NamedTuple, NoReturn, TypeVar, get_args

import yaml

from tablemend.errors import TablemendError
from tablemend.foreign import shown

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
Slots = dict[str, Any]
"""What stands in the slots of a form: formulas and terms."""


def match(form: Formula, formula: Formula, found: Slots | None = None) -> Slots | None:
    """What stands in the slots of a form where a formula has it; else ``None``.

    In a form ``A1`` is any formula and ``X1`` any term; ``N1(X1)`` is what a formula N1 says of X1,
    which in N1 itself is ``_``, and a second such term ``__``.
    """
    found = {} if found is None else found
    return found if _match(form, formula, found) else None


def _match(form: Formula, formula: Formula, found: Slots) -> bool:
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


def _match_term(form: Term, term: Term, found: Slots) -> bool:
    if not SLOT.fullmatch(form.name):
        return form == term
    return bool(found.setdefault(form.name, term) == term)


def build(form: Formula, found: Slots) -> Formula:
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


def _unused(found: Slots) -> Variable:
    """A variable that occurs in none of these."""
    used = {value for value in found.values() if isinstance(value, Variable)}
    for value in found.values():
        for part in walk(value) if isinstance(value, Formula) else ():
            used |= {part.variable} if isinstance(part, Quantified) else free_variables(part)
    names = (Variable(f"{letter}{n or ''}") for n in count() for letter in "xyzuvw")
    return next(one for one in names if one not in used)


T = TypeVar("T")
_NOTATION: Mapping[str, tuple[str, str, str]] = DATA["notation"]
UNICODE, LATEX = ({name: both[n] for name, both in _NOTATION.items()} for n in (0, 1))
_KINDS = tuple(_NOTATION)
_TOKEN = re.compile("|".join(f"({read})" for *_, read in _NOTATION.values()))
_OPERATOR = re.compile(r"\\(?:operatorname|mathrm|mathit|text)\s*\{\s*(\w+)\s*\}")
_VARIABLE = re.compile(r"[u-z]\d{0,2}")
_TO_THE_RIGHT = ("implies", "iff")
MOST_PARTS = 200
"""Connectives, variables of quantifiers, and pairs of brackets of one formula."""
MOST_CHARACTERS = 20_000
"""Of the text of one formula."""


class FormulaError(TablemendError):
    """A text that is no formula: where, and what was expected there."""


class _Token(NamedTuple):
    kind: str
    text: str
    place: int


def parse_formula(text: str, predicates: Mapping[str, int] | None = None) -> Formula:
    """A formula from its text.

    A word that a quantifier around it binds is a variable, and so is a free u, v, w, x, y or z,
    with or without a number; any other is a name. ``predicates`` are those that there are, with the
    number of their terms; ``None``: any.

    Raises:
        FormulaError: no formula, in one line.
    """
    parser = _Parser(text, predicates)
    formula = parser.formula()
    parser.take("end", "a connective or the end")
    return formula


class _Parser:
    def __init__(self, text: str, predicates: Mapping[str, int] | None) -> None:
        self.text = _OPERATOR.sub(lambda match: match[1].ljust(len(match[0])), text)
        self.predicates, self.parts, self.bound = predicates, 0, list[str]()
        self.left: list[_Token] = []
        if len(text) > MOST_CHARACTERS:
            self.fail(f"no more than {MOST_CHARACTERS:,} characters", MOST_CHARACTERS)
        for match in _TOKEN.finditer(self.text):
            kind = _KINDS[(match.lastindex or 0) - 1]
            if kind == "other":
                self.fail("a symbol of logic or a word", match.start())
            if kind != "space":
                self.left.append(_Token(kind, match[0], match.start()))
        self.left = [*self.left, _Token("end", "", len(self.text))][::-1]

    @property
    def next(self) -> _Token:
        return self.left[-1]

    def take(self, kind: str, said: str) -> str:
        return self.left.pop().text if self.next.kind == kind else self.fail(said)

    def skip(self, kind: str) -> bool:
        """Whether a token of this kind comes next, which is passed over."""
        is_next = self.next.kind == kind
        if is_next:
            self.left.pop()
        return is_next

    def fail(self, expected: str, place: int | None = None) -> NoReturn:
        place = self.next.place if place is None else place
        found = shown(self.text[place : place + 12]) or "the end"
        raise FormulaError(
            f"formula {shown(self.text)[:60]!r}, character {place + 1}: expected {expected}, "
            f"found {found!r}"
        )

    def part(self, kind: str, said: str = "") -> str:
        """Take a symbol that makes a formula larger."""
        self.parts += 1
        if self.parts > MOST_PARTS:
            self.fail(f"no more than {MOST_PARTS} connectives, variables and brackets")
        return self.take(kind, said)

    def listed(self, one: Callable[[], T]) -> list[T]:
        """What commas stand between."""
        found = [one()]
        while self.skip(","):
            found.append(one())
        return found

    def formula(self, loosest: int = len(CONNECTIVES) - 1) -> Formula:
        formula = self.single()
        for level, connective in enumerate(CONNECTIVES[: loosest + 1]):
            while self.next.kind == connective:
                self.part(connective)
                right = self.formula(level if connective in _TO_THE_RIGHT else level - 1)
                formula = Binary(connective, formula, right)
        return formula

    def single(self) -> Formula:
        match self.next.kind:
            case "not":
                self.part("not")
                return Not(self.single())
            case "forall" | "exists" as quantifier:
                self.left.pop()
                words = self.listed(lambda: self.part("word", "a variable"))
                self.bound += words
                formula = self.formula() if self.skip("dot") else self.single()
                del self.bound[-len(words) :]
                for word in reversed(words):
                    formula = Quantified(quantifier, Variable(word), formula)
                return formula
            case "(":
                self.part("(")
                formula = self.formula()
                self.take(")", "a connective or )")
                return formula
            case "word" if self.left[-2].kind in (EQUAL, "unequal"):
                left, sign = self.term(), self.left.pop()
                equation = Atom(EQUAL, (left, self.term()))
                return equation if sign.kind == EQUAL else Not(equation)
            case "word":
                return self.atom()
            case _:
                self.fail("a formula")

    def term(self) -> Term:
        word = self.take("word", "a name or a variable")
        if self.next.kind == "(":
            self.fail(f", or ) after {word[:60]!r} (functions are not read)")
        return Variable(word) if word in self.bound or _VARIABLE.fullmatch(word) else Name(word)

    def atom(self) -> Atom:
        _, predicate, place = self.left.pop()
        terms: list[Term] = []
        if self.skip("("):
            terms = self.listed(self.term)
            self.take(")", ", or )")
        if self.predicates is not None:
            wanted = self.predicates.get(predicate)
            if wanted is None:
                self.fail(f"one of the predicates {', '.join(self.predicates)}", place)
            if wanted != len(terms):
                self.fail(f"{predicate} with {wanted} terms, not {len(terms)}", place)
        return Atom(predicate, tuple(terms))


def show(formula: Formula, symbols: Mapping[str, str] = UNICODE) -> str:
    """A formula on one line; brackets stand wherever two connectives meet."""
    return _joined(_lines(formula, symbols))


def show_latex(formula: Formula) -> str:
    """A formula in LaTeX, to stand between dollar signs."""
    return show(formula, LATEX)


def show_indented(formula: Formula, width: int = 40) -> str:
    """A formula whose parts of more than ``width`` characters are broken into lines (Table 2)."""
    return "\n".join(_lines(formula, UNICODE, width))


def _joined(lines: list[str]) -> str:
    return re.sub(r"(?<=\() | (?=\))", "", " ".join(line.strip() for line in lines))


def _lines(formula: Formula, symbols: Mapping[str, str], width: int = 0) -> list[str]:
    """A formula, broken into lines where it is longer than ``width``."""

    def opened(part: Formula, bracketed: bool) -> list[str]:
        lines = _lines(part, symbols, width)
        if bracketed and len(lines) > 1:
            return ["(", *(f"  {line}" for line in lines), ")"]
        return [f"({lines[0]})"] if bracketed else lines

    match formula:
        case Atom(predicate, (left, right)) if predicate == EQUAL:
            return [f"{left.name} {symbols[EQUAL]} {right.name}"]
        case Atom(predicate, terms):
            inner = ", ".join(term.name for term in terms)
            return [f"{predicate}({inner})" if terms else predicate]
        case Not(Atom(predicate, (left, right))) if predicate == EQUAL:
            return [f"{left.name} {symbols['unequal']} {right.name}"]
        case Not(body) | Quantified(_, _, body):
            head = symbols["not"]
            if isinstance(formula, Quantified):
                head = f"{symbols[formula.quantifier]}{formula.variable.name} "
            lines = opened(body, isinstance(body, Binary))
            lines[0] = head + lines[0]
        case Binary(connective, left, right):  # no brackets where the parser groups so by itself
            to_the_right = connective in _TO_THE_RIGHT
            first, second = (
                opened(p, isinstance(p, Binary) and (p.connective != connective or against))
                for p, against in ((left, to_the_right), (right, not to_the_right))
            )
            lines = [*first[:-1], f"{first[-1]} {symbols[connective]}", *second]
    text = _joined(lines)
    return [text] if len(text) <= width else lines
