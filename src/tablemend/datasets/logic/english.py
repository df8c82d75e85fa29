"""Formulas of the blocks world in controlled English, and back: one grammar for both directions.

A line of :data:`GRAMMAR` is a kind of phrase, words, and what they mean, a formula; or several of
the kind. ``{S1}`` in the words is a phrase of kind S, and ``S1`` in the formula what that means;
``N1(X1)`` is what ``{N1}`` says of ``X1``: in its own meaning that place is ``_``, a second ``__``.

The lines with ``!`` are the ambiguous ones: precedence of connectives, scope of quantifiers, scope
of negation. What is said without them has one reading; :func:`readings` knows them all.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import count, islice
from random import Random
from typing import NamedTuple

from tablemend.datasets.logic.formula import (
    Atom,
    Binary,
    Formula,
    Name,
    Not,
    Quantified,
    Term,
    Variable,
    canonical,
    children,
    free_variables,
    substitute,
    walk,
    with_children,
)
from tablemend.datasets.logic.parse_formula import parse_formula
from tablemend.errors import TablemendError
from tablemend.foreign import shown

GRAMMAR = """
A | small | Small(_) ; medium | Medium(_) ; large | Large(_) ; green | Green(_)
K | cube | Cube(_) ; tetrahedron | Tet(_) ; dodecahedron | Dodec(_)
K | {A1} block | A1(_) ; {A1} {K1} | A1(_) ∧ K1(_)
M | cubes | Cube(_) ; tetrahedra | Tet(_) ; dodecahedra | Dodec(_)
M | {A1} blocks | A1(_) ; {A1} {M1} | A1(_) ∧ M1(_)
N | {K1} | K1(_) ; {K1} that {P1} | K1(_) ∧ P1(_) ; {K1} that {Q1} | K1(_) ∧ Q1(_)
B | larger than | Larger(_, __) ; smaller than | Smaller(_, __)
B | to the left of | LeftOf(_, __) ; to the right of | RightOf(_, __)
B | in front of | FrontOf(_, __) ; behind | Behind(_, __) ; in back of | BackOf(_, __)
B | the same size as | SameSize(_, __) ; the same shape as | SameShape(_, __)
B | in the same column as | SameCol(_, __) ; in the same row as | SameRow(_, __)
B | identical to | _ = __ ; the same block as | _ = __
R | {A1} | A1(_) ; a {K1} | K1(_) ; {B1} {T1} | B1(_, T1)
R | between {T1} and {T2} | Between(_, T1, T2)
P | is {R1} | R1(_) ; adjoins {T1} | Adjoins(_, T1)
Q | is not {R1} | ¬R1(_) ; does not adjoin {T1} | ¬Adjoins(_, T1)
S | {T1} {P1} | P1(T1) ; {T1} {Q1} | Q1(T1)
S | {T1} and {T2} are the same size | SameSize(T1, T2)
S | {T1} and {T2} are the same shape | SameShape(T1, T2)
S | {T1} and {T2} are in the same column | SameCol(T1, T2)
S | {T1} and {T2} are in the same row | SameRow(T1, T2)
S | it is not the case that {S1} | ¬S1 ; it is false that {S1} | ¬S1
S | neither {S1} nor {S2} | ¬(S1 ∨ S2)
S | both {S1} and {S2} | S1 ∧ S2
S | either {S1} or {S2} | S1 ∨ S2
S | exactly one of these holds : {S1} or {S2} | S1 ⊕ S2
S | if {S1} then {S2} | S1 → S2 ; unless {S1} , {S2} | ¬S1 → S2
S | if and only if {S1} then {S2} | S1 ↔ S2
S | every {N1} {P1} | ∀X1 (N1(X1) → P1(X1)) ; not every {N1} {P1} | ¬∀X1 (N1(X1) → P1(X1))
U | {A1} | A1(_) ; {M1} | M1(_) ; {B1} {T1} | B1(_, T1)
S | all {M1} are {U1} | ∀X1 (M1(X1) → U1(X1)) ; not all {M1} are {U1} | ¬∀X1 (M1(X1) → U1(X1))
S | some {N1} {P1} | ∃X1 (N1(X1) ∧ P1(X1)) ; some {N1} {Q1} | ∃X1 (N1(X1) ∧ Q1(X1))
S | at least one {N1} {P1} | ∃X1 (N1(X1) ∧ P1(X1)) ; no {N1} {P1} | ¬∃X1 (N1(X1) ∧ P1(X1))
S | everything {P1} | ∀X1 P1(X1) ; nothing {P1} | ¬∃X1 P1(X1)
S | something {P1} | ∃X1 P1(X1) ; something {Q1} | ∃X1 Q1(X1)
S | there is a {N1} | ∃X1 N1(X1) ; there is no {N1} | ¬∃X1 N1(X1)
S | for every block {X1} , {S1} | ∀X1 S1 ; every block {X1} is such that {S1} | ∀X1 S1
S | for every {N1} {X1} , {S1} | ∀X1 (N1(X1) → S1)
S | there is a block {X1} such that {S1} | ∃X1 S1 ; there is no block {X1} such that {S1} | ¬∃X1 S1
S | there is a {N1} {X1} such that {S1} | ∃X1 (N1(X1) ∧ S1)
S | there is no {N1} {X1} such that {S1} | ¬∃X1 (N1(X1) ∧ S1)
D | {S1} . | S1 ; {S1} . moreover , {S2} . | S1 ∧ S2
! S | {S1} and {S2} | S1 ∧ S2 ; {S1} or {S2} | S1 ∨ S2 ; {S1} if and only if {S2} | S1 ↔ S2
! S | every {N1} is not {R1} | ∀X1 (N1(X1) → ¬R1(X1))
! S | every {N1} is not {R1} | ¬∀X1 (N1(X1) → R1(X1))
! S | all {M1} are not {U1} | ∀X1 (M1(X1) → ¬U1(X1))
! S | all {M1} are not {U1} | ¬∀X1 (M1(X1) → U1(X1))
! S | every {N1} is {B1} some {N2} | ∀X1 (N1(X1) → ∃X2 (N2(X2) ∧ B1(X1, X2)))
! S | every {N1} is {B1} some {N2} | ∃X2 (N2(X2) ∧ ∀X1 (N1(X1) → B1(X1, X2)))
"""
HOLES = (Name("_"), Name("__"))
NATURAL = 0.9
"""How often the line with the fewest clauses is taken: *every cube*, not *every block x*."""
MOST_READINGS = 64
"""Of one phrase; no more are looked for."""
_SLOT = re.compile(r"[A-Z]\d")
_TERM = re.compile(r"[a-z]\d*")
Found = dict[str, Formula | Term]


class EnglishError(TablemendError):
    """A text that the grammar does not read, or a formula that it cannot say."""


class _Line(NamedTuple):
    words: tuple[str, ...]
    meaning: Formula
    ambiguous: bool

    @property
    def clauses(self) -> int:
        """How many whole sentences it has within."""
        return sum(bool(re.fullmatch(r"S\d", word)) for word in self.words)

    @property
    def literals(self) -> set[str]:
        """The words that it must have."""
        return {word for word in self.words if not _SLOT.fullmatch(word)}


@cache
def _lines(kind: str) -> tuple[_Line, ...]:
    found = []
    for line in GRAMMAR.strip().splitlines():
        own, _, alternatives = line.removeprefix("! ").partition(" | ")
        for alternative in alternatives.split(" ; ") if own == kind else ():
            words, meaning = alternative.split(" | ")
            parts = tuple(word.strip("{}") for word in words.split())
            found.append(_Line(parts, parse_formula(meaning), line.startswith("!")))
    return tuple(found)


def say(formula: Formula, rng: Random, *, ambiguous: bool = False) -> str:
    """The formula in English, in one of its wordings.

    Args:
        formula: of the blocks world; its names and variables are single small letters.
        rng: chooses the wording.
        ambiguous: use wordings that leave open what was meant, where there are some.

    Raises:
        EnglishError: the grammar has no words for it.
    """
    words = _say("D", formula, rng, ambiguous)
    if words is None:
        raise EnglishError("the formula has other predicates or names than those of the grammar")
    text = re.sub(r" (?=[.,:])", "", " ".join(words))
    return re.sub(r"(?:^|(?<=\. ))\w", lambda match: match[0].upper(), text)


def readings(text: str) -> tuple[Formula, ...]:
    """All readings of a text that differ by more than names of variables and flat brackets."""
    found = _Reader(re.findall(r"\w+|[^\w\s]", text.lower())).whole()
    fewest = min((len(free_variables(one)) for one in found), default=0)
    different = {canonical(one): one for one in found if len(free_variables(one)) == fewest}
    return tuple(different.values())


def read(text: str) -> Formula:
    """The formula that a text of controlled English says.

    Raises:
        EnglishError: it is no such text, or it is ambiguous.
    """
    found = readings(text)
    if len(found) != 1:
        what = "has no reading" if not found else f"has {len(found)} readings"
        raise EnglishError(f"{shown(text)[:60]!r} {what} in controlled English")
    return found[0]


def _say(kind: str, formula: Formula, rng: Random, ambiguous: bool) -> list[str] | None:
    lines = [line for line in _lines(kind) if ambiguous or not line.ambiguous]
    rng.shuffle(lines)
    if rng.random() < NATURAL:
        lines.sort(key=lambda line: (line.clauses, -len(list(walk(line.meaning)))))
    for line in sorted(lines, key=lambda line: not line.ambiguous):
        found: Found = {}
        if not _match(line.meaning, formula, found):
            continue
        said: list[str] = []
        for word in line.words:
            part = [word]
            if _SLOT.fullmatch(word):
                value = found[word]
                if isinstance(value, Name | Variable):
                    part = [value.name] if _TERM.fullmatch(value.name) else []
                else:
                    part = _say(word[0], value, rng, ambiguous) or []
            if not part:
                break
            said += part
        else:
            return said
    return None


def _match(meaning: Formula, formula: Formula, found: Found) -> bool:
    """Whether a formula has the form of a meaning; what stands in its slots goes into ``found``."""
    match meaning, formula:
        case Atom(slot, terms), _ if _SLOT.fullmatch(slot):
            for place, (term, hole) in enumerate(zip(terms, HOLES, strict=False)):
                if term in HOLES:
                    continue
                if term.name in found:
                    formula = substitute(formula, _term(found[term.name]), hole)
                    continue
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
            if one != other or not _match_term(variable, bound, found):
                return False
        case Binary(one, _, _), Binary(other, _, _):
            if one != other:
                return False
        case Not(), Not():
            pass
        case _:
            return False
    return all(map(_match, children(meaning), children(formula), [found] * 2))


def _match_term(meaning: Term, term: Term, found: Found) -> bool:
    if not _SLOT.fullmatch(meaning.name):
        return meaning == term
    return found.setdefault(meaning.name, term) == term


def _term(value: Formula | Term) -> Term:
    assert isinstance(value, Name | Variable)
    return value


def _formula(value: Formula | Term) -> Formula:
    assert not isinstance(value, Name | Variable)
    return value


def _build(meaning: Formula, found: Found) -> Formula:
    """A meaning with its slots filled, the inverse of :func:`_match`."""
    match meaning:
        case Atom(slot, terms) if _SLOT.fullmatch(slot):
            formula = _formula(found[slot])
            for term, hole in zip(terms, HOLES, strict=False):
                formula = substitute(formula, hole, _term(found.get(term.name, term)))
            return formula
        case Atom(predicate, terms):
            return Atom(predicate, tuple(_term(found.get(term.name, term)) for term in terms))
        case Quantified(quantifier, variable, body):
            if variable.name not in found:
                found = {**found, variable.name: _unused(found)}
            bound = _term(found[variable.name])
            assert isinstance(bound, Variable)
            return Quantified(quantifier, bound, _build(body, found))
        case _:
            return with_children(meaning, tuple(_build(one, found) for one in children(meaning)))


def _unused(found: Found) -> Variable:
    """A variable that occurs in none of these."""
    used = {value for value in found.values() if isinstance(value, Variable)}
    for value in found.values():
        for part in () if isinstance(value, Name | Variable) else walk(value):
            used |= {part.variable} if isinstance(part, Quantified) else free_variables(part)
    return next(one for one in _variables() if one not in used)


def _variables() -> Iterator[Variable]:
    for number in count():
        yield from (Variable(f"{letter}{number or ''}") for letter in "xyzuvw")


class _Reader:
    """A chart of all phrases of a text."""

    def __init__(self, words: Sequence[str]) -> None:
        self._words = words
        self._chart: dict[tuple[str, int, int], tuple[Formula | Term, ...]] = {}

    def whole(self) -> list[Formula]:
        """What the whole text can say."""
        return [_formula(value) for value in self._phrase("D", 0, len(self._words))]

    def _phrase(self, kind: str, start: int, end: int) -> tuple[Formula | Term, ...]:
        key = kind, start, end
        if key not in self._chart:
            if kind in "TX":
                self._chart[key] = tuple(self._terms(kind, start, end))
            else:
                found = (
                    _build(line.meaning, slots)
                    for line in _lines(kind)
                    if line.literals <= set(self._words[start:end])
                    for slots in self._fill(line.words, start, end, {})
                )
                self._chart[key] = tuple(islice(dict.fromkeys(found), MOST_READINGS))
        return self._chart[key]

    def _terms(self, kind: str, start: int, end: int) -> Iterator[Term]:
        word = self._words[start]
        if end == start + 1 and _TERM.fullmatch(word):
            if word[0] in "uvwxyz":
                yield Variable(word)
            elif kind == "T":
                yield Name(word)

    def _fill(self, words: Sequence[str], start: int, end: int, found: Found) -> Iterator[Found]:
        """The ways in which the words of a line make up a stretch of the text."""
        if not words:
            if start == end:
                yield found
            return
        word, *others = words
        if not _SLOT.fullmatch(word):
            if start < end and self._words[start] == word:
                yield from self._fill(others, start + 1, end, found)
            return
        for middle in range(start + 1 if others else end, end - len(others) + 1):
            for value in self._phrase(word[0], start, middle) if middle > start else ():
                yield from self._fill(others, middle, end, {**found, word: value})
