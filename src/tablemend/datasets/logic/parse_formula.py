"""Formulas read from text: Unicode, ASCII and LaTeX, of the blocks world or of any predicates.

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
    EQUAL,
    NOTATION,
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
_KINDS = tuple(NOTATION)
_TOKEN = re.compile("|".join(f"({read})" for *_, read in NOTATION.values()))
_OPERATOR = re.compile(r"\\(?:operatorname|mathrm|mathit|text)\s*\{\s*(\w+)\s*\}")
_VARIABLE = re.compile(r"[u-z]\d{0,2}")
_TO_THE_RIGHT = ("implies", "iff")
MOST_PARTS = 200
"""Connectives, quantifiers and pairs of brackets of one formula."""


class FormulaError(TablemendError):
    """A text that is no formula: where, and what was expected there."""


class _Token(NamedTuple):
    kind: str
    text: str
    place: int


def parse_formula(text: str, predicates: Mapping[str, int] | None = None) -> Formula:
    """A formula from its text.

    A word that a quantifier around it binds is a variable, and so is a free u, v, w, x, y or z,
    with or without a number; any other is a name.

    Args:
        text: the formula.
        predicates: those that there are, with the number of their terms; ``None``: any.

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
        place = 0
        while place < len(self.text):
            match = _TOKEN.match(self.text, place)
            if match is None or match.lastindex is None:
                self.fail("a symbol of logic or a word", place)
            self.left.append(_Token(_KINDS[match.lastindex - 1], match[0], place))
            place = match.end()
        self.left = [one for one in self.left if one.kind != "space"]
        self.left = [*self.left, _Token("end", "", place)][::-1]

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

    def part(self) -> None:
        """Take a symbol that makes a formula larger."""
        self.parts += 1
        if self.parts > MOST_PARTS:
            self.fail(f"no more than {MOST_PARTS} connectives, quantifiers and brackets")
        self.left.pop()

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
                self.part()
                right = self.formula(level if connective in _TO_THE_RIGHT else level - 1)
                formula = Binary(connective, formula, right)
        return formula

    def single(self) -> Formula:
        match self.next.kind:
            case "not":
                self.part()
                return Not(self.single())
            case "forall" | "exists" as quantifier:
                self.part()
                words = self.listed(lambda: self.take("word", "a variable"))
                self.bound += words
                formula = self.formula() if self.skip("dot") else self.single()
                del self.bound[-len(words) :]
                for word in reversed(words):
                    formula = Quantified(quantifier, Variable(word), formula)
                return formula
            case "(":
                self.part()
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
            self.fail(f", or ) after {word!r} (functions are not read)")
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
