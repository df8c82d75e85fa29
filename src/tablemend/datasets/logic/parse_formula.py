"""Formulas read from text: Unicode, ASCII and LaTeX, of the blocks world or of any predicates.

``¬`` and quantifiers bind tightest, then ``∧``, ``∨``, ``⊕``, ``→`` and ``↔``; arrows of the same
kind group to the right (``A → B → C`` is ``A → (B → C)``), the others to the left. A quantifier
with a dot, ``∀x. A → B``, reaches as far to the right as it can.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple, NoReturn

from tablemend.datasets.logic.formula import (
    CONNECTIVES,
    EQUAL,
    Atom,
    Binary,
    Formula,
    Name,
    Not,
    Quantified,
    Quantifier,
    Term,
    Variable,
)
from tablemend.errors import TablemendError
from tablemend.foreign import shown

SPELLINGS = {
    "forall": r"∀|\\forall\b|\bforall\b",
    "exists": r"∃|\\exists\b|\bexists\b",
    "iff": r"↔|⟷|⇔|<->|<=>|\\leftrightarrow\b|\\Leftrightarrow\b|\\iff\b|\biff\b",
    "implies": r"→|⟶|⇒|->|=>|\\rightarrow\b|\\Rightarrow\b|\\to\b|\\implies\b|\bimplies\b",
    "unequal": r"≠|!=|\\neq?\b",
    "not": r"¬|~|!|\\neg\b|\\lnot\b|\bnot\b",
    "and": r"∧|\^|&&?|/\\|\\wedge\b|\\land\b|\band\b",
    "or": r"∨|\|\|?|\\/|\\vee\b|\\lor\b|\bor\b",
    "xor": r"⊕|\\oplus\b|\bxor\b",
    "=": r"=",
    "(": r"(?:\\left)?[(\[]",
    ")": r"(?:\\right)?[)\]]",
    ",": r",",
    "dot": r"[.:]",
    "word": r"\w(?:[-'’+]?\w)*\+*",
    "space": r"(?:\s|\\[,;:! ]|\\quad\b|\$)+",
}
_TOKEN = re.compile("|".join(f"(?P<t{n}>{one})" for n, one in enumerate(SPELLINGS.values())))
_OPERATOR = re.compile(r"\\(?:operatorname|mathrm|mathit|text)\s*\{\s*(\w+)\s*\}")
_VARIABLE = re.compile(r"[u-z]\d{0,2}")
_LEVELS: dict[str, int] = {connective: level for level, connective in enumerate(CONNECTIVES)}
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
    return _Parser(text, predicates).whole()


class _Parser:
    def __init__(self, text: str, predicates: Mapping[str, int] | None) -> None:
        self._text = _OPERATOR.sub(lambda match: match[1].ljust(len(match[0])), text)
        self._predicates = predicates
        self._tokens = list(self._split())
        self._next = 0
        self._bound: list[str] = []
        self._parts = 0

    def whole(self) -> Formula:
        formula = self._formula()
        if self._kind != "end":
            self._fail("a connective or the end")
        return formula

    def _split(self) -> list[_Token]:
        tokens, place = [], 0
        while place < len(self._text):
            match = _TOKEN.match(self._text, place)
            if match is None:
                self._fail("a symbol of logic or a word", place)
            assert match.lastgroup is not None
            kind = tuple(SPELLINGS)[int(match.lastgroup[1:])]
            if kind != "space":
                tokens.append(_Token(kind, match[0], place))
            place = match.end()
        return [*tokens, _Token("end", "", len(self._text))]

    @property
    def _kind(self) -> str:
        return self._tokens[self._next].kind

    def _take(self, kind: str) -> _Token | None:
        if self._kind != kind:
            return None
        self._next += 1
        return self._tokens[self._next - 1]

    def _expect(self, kind: str, said: str) -> _Token:
        return self._take(kind) or self._fail(said)

    def _fail(self, expected: str, place: int | None = None) -> NoReturn:
        place = self._tokens[self._next].place if place is None else place
        found = shown(self._text[place : place + 12]) or "the end"
        raise FormulaError(
            f"formula {shown(self._text)[:60]!r}, character {place + 1}: expected {expected}, "
            f"found {found!r}"
        )

    def _formula(self, loosest: int = len(CONNECTIVES)) -> Formula:
        formula = self._single()
        while (level := _LEVELS.get(self._kind, loosest + 1)) <= loosest:
            connective = CONNECTIVES[level]
            self._part()
            right = self._formula(level if connective in _TO_THE_RIGHT else level - 1)
            formula = Binary(connective, formula, right)
        return formula

    def _part(self) -> None:
        """Take a symbol that makes a formula larger."""
        self._parts += 1
        if self._parts > MOST_PARTS:
            self._fail(f"no more than {MOST_PARTS} connectives, quantifiers and brackets")
        self._next += 1

    def _single(self) -> Formula:
        match self._kind:
            case "not":
                self._part()
                return Not(self._single())
            case "forall" | "exists" as quantifier:
                self._part()
                return self._quantified(quantifier)
            case "(":
                self._part()
                formula = self._formula()
                self._expect(")", "a connective or )")
                return formula
            case _:
                return self._atom()

    def _quantified(self, quantifier: Quantifier) -> Formula:
        words = [self._expect("word", "a variable").text]
        while self._take(","):
            words.append(self._expect("word", "a variable").text)
        is_wide = self._take("dot")
        self._bound += words
        formula = self._formula() if is_wide else self._single()
        del self._bound[-len(words) :]
        for word in reversed(words):
            formula = Quantified(quantifier, Variable(word), formula)
        return formula

    def _term(self) -> Term:
        token = self._expect("word", "a name or a variable")
        if self._kind == "(":
            self._fail(f", or ) after {token.text!r} (functions are not read)")
        is_variable = token.text in self._bound or _VARIABLE.fullmatch(token.text)
        return Variable(token.text) if is_variable else Name(token.text)

    def _atom(self) -> Formula:
        token = self._tokens[self._next]
        if token.kind != "word":
            self._fail("a formula")
        if self._tokens[self._next + 1].kind in (EQUAL, "unequal"):
            left, sign = self._term(), self._tokens[self._next].kind
            self._next += 1
            equation = Atom(EQUAL, (left, self._term()))
            return equation if sign == EQUAL else Not(equation)
        self._next += 1
        terms: list[Term] = []
        if self._take("("):
            terms.append(self._term())
            while self._take(","):
                terms.append(self._term())
            self._expect(")", ", or )")
        if self._predicates is not None:
            self._check(token, len(terms))
        return Atom(token.text, tuple(terms))

    def _check(self, token: _Token, terms: int) -> None:
        assert self._predicates is not None
        wanted = self._predicates.get(token.text)
        if wanted is None:
            self._fail(f"one of the predicates {', '.join(self._predicates)}", token.place)
        if wanted != terms:
            self._fail(f"{token.text} with {wanted} terms, not {terms}", token.place)
