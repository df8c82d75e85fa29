"""The solver as an annotator: a model writes texts as formulas, z3 decides what follows.

z3 decides in worlds of blocks, or in pure first-order logic.
What is taken for granted of blocks is said in results/logic.md: sizes, shapes and places are
defined, so that their axioms hold by themselves, and logic.yaml has the others. There can be
infinitely many blocks, and several at one place; two names may be of one block.

What z3 answers is sound. Whatever follows can be proved, given time; what does not follow is found
wherever a world of at most :data:`MOST_BLOCKS` shows it, given time, and often where none does.
What takes longer than the limit is undecided: unscored with the reason, as is a text that is not
put into a formula.
"""

from __future__ import annotations

import operator
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

from tablemend.backends.backend import Backend, ask
from tablemend.backends.requests import Completion, Request, Sampling
from tablemend.prompting.files import PromptFolder
from tablemend.prompting.replies import (
    WRONG_FIELD,
    Unreadable,
    one_object,
    read_verdict,
    why_no_answer,
)
from tablemend.records import Relation, relation
from tablemend.tasks.logic.english import EnglishError, say
from tablemend.tasks.logic.formula import (
    BLOCKS,
    DATA,
    EQUAL,
    Atom,
    Binary,
    Formula,
    FormulaError,
    Name,
    Not,
    Quantified,
    Term,
    Variable,
    free_terms,
    free_variables,
    parse_formula,
    walk,
)
from tablemend.tasks.logic.pair import AMBIGUOUS, Annotation, Pair, Question, follow, path_to

SOLVER = "solver"
"""Name of the solver as an annotator."""
MOST_BLOCKS = 6
WAYS = (
    (0, True, 300_000),
    *((blocks, True, 0) for blocks in (1, 2, 3)),
    (0, False, 1_000_000),
    *((blocks, True, 0) for blocks in range(4, MOST_BLOCKS + 1)),
    (0, False, 0),
)
"""What z3 tries in turn: blocks of a world (0: any number); whether quantifiers are instantiated by
patterns, which is fast but can go on for ever; and the most steps, some millions a second (0: any
number, as long as there is time)."""
AXIOMS: Mapping[str, str] = DATA["axioms"]
DEFINITIONS = {parse_formula(k): parse_formula(text) for k, text in DATA["definitions"].items()}
PLACES: Mapping[str, tuple[str, str]] = DATA["places"]
_VARIABLES = (Variable("x"), Variable("y"))


class Answer(NamedTuple):
    """Yes or no; ``None`` where it is undecided, and why."""

    holds: bool | None
    reason: str = ""


class Entailment(NamedTuple):
    """How an output relates to its input; ``None`` where that is undecided, and why."""

    relation: Relation | None
    reason: str = ""


class _Undecided(Exception):
    pass


@dataclass(frozen=True, slots=True)
class Theory:
    """What is taken for granted, and how long a question may take.

    Attributes:
        blocks: the axioms of the blocks world; ``False``: nothing is taken for granted.
        symmetric: what adjoins a block is adjoined by it.
        seconds: most time for one answer or judgement.
    """

    blocks: bool = True
    symmetric: bool = False
    seconds: float = 1.0

    def consistent(self, formulas: Sequence[Formula]) -> Answer:
        """Whether all can be true at once; free variables are of one thing in all of them."""
        try:
            return Answer(_Questions(self).possible(*formulas))
        except _Undecided as undecided:
            return Answer(None, str(undecided))

    def follows(self, premises: Sequence[Formula], conclusion: Formula) -> Answer:
        """Whether the conclusion is true wherever all premises are."""
        found = self.consistent([*premises, Not(conclusion)])
        return found if found.holds is None else Answer(not found.holds)

    def judge(self, input: Formula, output: Formula) -> Entailment:
        """The case of Table 3; of an input that contradicts itself there is none."""
        possible = _Questions(self).possible
        try:
            if not possible(output):
                return Entailment("output_contradictory")
            if not possible(input, output):
                if not possible(input):
                    return Entailment(None, "the input contradicts itself")
                return Entailment("contradictory")
            follows = not possible(input, Not(output))
            implies = not possible(output, Not(input))
            if follows and not implies and not possible(Not(output)):
                return Entailment("tautologous")
            return Entailment(relation(follows, implies))
        except _Undecided as undecided:
            return Entailment(None, str(undecided))


class _Questions:
    """Questions to z3 in a context of their own, so that threads do not meet."""

    def __init__(self, theory: Theory) -> None:
        import z3

        self._theory, self._z3 = theory, z3
        self._end = time.monotonic() + theory.seconds
        self._context = z3.Context()
        self._thing = z3.DeclareSort("Thing", self._context)
        self._truth, self._place = z3.BoolSort(self._context), z3.RealSort(self._context)
        self._things = [z3.Const(f"thing {n}", self._thing) for n in range(MOST_BLOCKS)]
        self._read: dict[tuple[Formula, int], Any] = {}

    def possible(self, *formulas: Formula) -> bool:
        """Whether all can be true at once, found in one of :data:`WAYS`.

        Raises:
            _Undecided: neither was found in time.
        """
        used = {part.predicate for one in formulas for part in walk(one) if isinstance(part, Atom)}
        wanted = [name for name in used if name in AXIOMS] if self._theory.blocks else []
        wanted += ["symmetry"] if self._theory.symmetric and "Adjoins" in wanted else []
        asked = [*formulas, *(parse_formula(AXIOMS[name]) for name in sorted(wanted))]
        for way in WAYS:
            found, blocks = self._check(asked, *way), way[0]
            if found == self._z3.sat or (found == self._z3.unsat and not blocks):
                return bool(found == self._z3.sat)
        raise _Undecided(f"undecided within {self._theory.seconds:g} s")

    def _check(self, formulas: Sequence[Formula], blocks: int, matching: bool, steps: int) -> Any:
        """Ask z3 in one of :data:`WAYS`."""
        left = self._end - time.monotonic()
        if left <= 0:
            return self._z3.unknown
        solver = self._z3.Solver(ctx=self._context)
        solver.set("timeout", max(1, round(left * 1000)))
        solver.set("ematching", matching)
        solver.set("rlimit", steps)
        for formula in formulas:
            if (formula, blocks) not in self._read:
                self._read[formula, blocks] = self._formula(formula, {}, blocks)
            solver.add(self._read[formula, blocks])
            terms = sorted(free_terms(formula), key=str) if blocks else []  # z3 minds the order
            for named in map(self._named, terms):
                solver.add(self._z3.Or(*(named == one for one in self._things[:blocks])))
        return solver.check()

    def _formula(self, formula: Formula, bound: Mapping[Term, Any], blocks: int) -> Any:
        z3 = self._z3
        match formula:
            case Atom(predicate, terms):
                things = [bound.get(one, self._named(one)) for one in terms]
                return self._atom(predicate, things, blocks)
            case Not(body):
                return z3.Not(self._formula(body, bound, blocks))
            case Quantified(quantifier, variable, body) if blocks:
                ways = ({**bound, variable: one} for one in self._things[:blocks])
                each = (self._formula(body, way, blocks) for way in ways)
                return (z3.And if quantifier == "forall" else z3.Or)(*each)
            case Quantified(quantifier, variable, body):
                # a variable can be bound within its own scope: the depth tells them apart
                own = z3.Const(f"bound {len(bound)} {variable.name}", self._thing)
                inner = self._formula(body, {**bound, variable: own}, blocks)
                return (z3.ForAll if quantifier == "forall" else z3.Exists)([own], inner)
            case Binary(connective, left, right):
                sides = [self._formula(side, bound, blocks) for side in (left, right)]
                made = {"and": z3.And, "or": z3.Or, "xor": z3.Xor, "implies": z3.Implies}
                return sides[0] == sides[1] if connective == "iff" else made[connective](*sides)

    def _named(self, term: Term) -> Any:
        kind = "name" if isinstance(term, Name) else "free"
        return self._z3.Const(f"{kind} {term.name}", self._thing)

    def _free(self, name: str, things: Sequence[Any], sort: Any) -> Any:
        """A predicate, or a place, that nothing defines."""
        if not things:
            return self._z3.Const(name, sort)
        sorts = [self._thing] * len(things)
        return self._z3.Function(f"{name}/{len(things)}", *sorts, sort)(*things)

    def _atom(self, predicate: str, things: Sequence[Any], blocks: int) -> Any:
        if predicate == EQUAL:
            return things[0] == things[1]
        if self._theory.blocks and predicate in PLACES and len(things) == 2:
            line, compare = PLACES[predicate]
            places = (self._free(line, [one], self._place) for one in things)
            return getattr(operator, compare)(*places)
        terms = _VARIABLES[: len(things)]
        if self._theory.blocks and (known := DEFINITIONS.get(Atom(predicate, terms))):
            return self._formula(known, dict(zip(terms, things, strict=True)), blocks)
        return self._free(predicate, things, self._truth)


def annotate_by_solver(
    pairs: Sequence[Pair], formaliser: Backend, added: bool, theory: Theory
) -> Iterator[Annotation]:
    """The relation of each pair of the logic domain, in their order; hotels are unscored.

    ``formaliser`` writes the formulas of outputs; ``added`` answers questions that the paper's
    tree lacks as well.

    Raises:
        Stopped: the formaliser's server is gone.
    """
    texts = list(dict.fromkeys(one.output for one in pairs if one.domain == "logic"))
    written = dict(zip(texts, formalise(texts, formaliser), strict=True))
    for pair in pairs:
        start = time.perf_counter()
        if pair.domain == "hotel":
            found = Entailment(None, "a description is not put into a formula")
        elif (output := written[pair.output].formula) is None:
            found = Entailment(None, f"no formula: {written[pair.output].reason}")
        else:
            try:
                found = theory.judge(parse_formula(pair.input, BLOCKS), output)
            except FormulaError as error:
                found = Entailment(None, f"the input: {error}")
        annotation = _annotation(pair, found, added)
        yield replace(annotation, seconds=time.perf_counter() - start)


def _annotation(pair: Pair, found: Entailment, added: bool) -> Annotation:
    """With the path to the relation; unscored where the tree without additions has no such path."""
    if found.relation is None:
        return Annotation(SOLVER, pair.id, unscored=found.reason)
    answers = {**path_to(pair.domain, found.relation), AMBIGUOUS: False}
    path, leaf = follow(pair.domain, answers, added)
    if isinstance(leaf, Question):
        return Annotation(SOLVER, pair.id, path, unscored=f"nothing answers: {leaf.ask}")
    return Annotation(SOLVER, pair.id, path, leaf)


PROMPTS = PromptFolder(Path(__file__).parent / "data_prompts")
FORMALISE, SAME = "formalise", "same_meaning"
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"formula": {"type": "string"}},
    "required": ["formula"],
    "additionalProperties": False,
}
MAX_NEW_TOKENS = 2048


class Formalisation(NamedTuple):
    """What a text says: a formula, or the reason why there is none and the text is unjudged.

    ``said`` is the formula in controlled English, as the model was asked about it.
    """

    formula: Formula | None
    said: str = ""
    reason: str = ""


def formalise(texts: Sequence[str], backend: Backend) -> list[Formalisation]:
    """The formulas of texts, in their order.

    A formula counts only where the same model, shown what it says, finds that to be the same.

    Raises:
        Stopped: the server is gone.
    """
    written = ask(backend, [_request(FORMALISE, n, text=text) for n, text in enumerate(texts)])
    found = [_read(written[f"{FORMALISE}.{n}"]) for n in range(len(texts))]
    asked = {n: one.said for n, one in enumerate(found) if one.formula is not None}
    checks = [_request(SAME, n, text=texts[n], said=said) for n, said in asked.items()]
    checked = ask(backend, checks)
    for n in asked:
        completion = checked[f"{SAME}.{n}"]
        try:
            if problem := why_no_answer(completion):
                reason = problem.text
            else:
                verdict = read_verdict(completion.answer, "same", "different")
                reason = f"read back, it says something else: {verdict.reason}".strip(": ")
                reason = "" if verdict.ok else reason
        except Unreadable as error:
            reason = str(error)
        if reason:
            found[n] = Formalisation(None, found[n].said, reason)
    return found


def _request(prompt: str, number: int, **slots: str) -> Request:
    schema = SCHEMA if prompt == FORMALISE else None
    messages = PROMPTS.render(prompt, **slots)
    return Request(f"{prompt}.{number}", messages, Sampling(MAX_NEW_TOKENS), schema=schema)


def _read(completion: Completion) -> Formalisation:
    try:
        if problem := why_no_answer(completion):
            return Formalisation(None, reason=problem.text)
        text = one_object(completion.answer, ("formula",))["formula"]
        if not isinstance(text, str):
            raise Unreadable(WRONG_FIELD, "The formula must be a text.")
        formula = parse_formula(text, BLOCKS)
        if free := free_variables(formula):
            name = min(variable.name for variable in free)
            return Formalisation(None, reason=f"nothing binds the variable {name}")
        return Formalisation(formula, say(formula, Random(0)))
    except (Unreadable, FormulaError, EnglishError) as error:
        return Formalisation(None, reason=str(error))
