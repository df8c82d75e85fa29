"""Formulas as text: read from Unicode, ASCII and LaTeX, and shown so that they are read back.

``¬`` and quantifiers bind tightest, then ``∧``, ``∨``, ``⊕``, ``→`` and ``↔``; arrows of the same
kind group to the right (``A → B → C`` is ``A → (B → C)``), the others to the left. A quantifier
with a dot, ``∀x. A → B``, reaches as far to the right as it can.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import NamedTuple, NoReturn, TypeVar

from tablemend.datasets.logic.formula import (
    CONNECTIVES,
    DATA,
    EQUAL,
    Atom,
    Binary,
    Formula,
    Name,
    Not,
    Quantified,
    Term,
    Variable,
)
from tablemend.errors import TablemendError
from tablemend.foreign import shown

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
