"""Formulas stratified as the paper samples its own, and outputs of every relation to them.

That an output follows from its input, or the input from it, or that they exclude each other, is
known from the edits that made it (:mod:`rewriting`). That something does *not* follow is shown by a
small world in which it fails (:mod:`world`). No prover has a say.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from functools import cache, partial
from itertools import count
from random import Random
from typing import NamedTuple

from tablemend.datasets.logic.english import EnglishError, readings, say
from tablemend.datasets.logic.formula import (
    BLOCKS,
    EQUAL,
    Atom,
    Binary,
    Connective,
    Formula,
    Not,
    Quantified,
    Quantifier,
    Size,
    Term,
    Variable,
    canonical,
    free_variables,
    size,
)
from tablemend.datasets.logic.notation import show_indented
from tablemend.datasets.logic.pair import Pair
from tablemend.datasets.logic.rewriting import places, put, rewrite, strengthen, weaken
from tablemend.datasets.logic.world import NAMES, World, holds, random_world
from tablemend.records import Relation

SHOWN: dict[Relation, set[tuple[bool, bool]]] = {
    "well_matched": {(True, True), (False, False)},
    "too_weak": {(True, True), (False, True), (False, False)},
    "tautologous": {(True, True), (False, True)},
    "too_strong": {(True, True), (True, False), (False, False)},
    "output_contradictory": {(True, False), (False, False)},
    "independent": {(True, True), (True, False), (False, True)},
    "contradictory": {(True, False), (False, True)},
}
"""Pairs of truth values of input and output that worlds must show; the edits see to the rest."""
CATEGORIES = tuple(SHOWN)
MOST_QUANTIFIERS, MOST_CONNECTIVES = 3, 5
MOST_SYMBOLS = 40
"""Of an output, before another is tried."""
POOL = 10
"""Formulas that are drawn for each that is sampled."""
TRIES = 20
WORLDS = 1000
EVERY_PREDICATE = {**BLOCKS, EQUAL: 2}
SYSTEM = "program"
_LIKELY: dict[Connective, int] = {"and": 4, "or": 3, "implies": 3, "iff": 1, "xor": 1}


class Made(NamedTuple):
    """An output made for an input, with the relation that it was made for."""

    input: Formula
    output: Formula
    category: Relation


def sample_formulas(n: int, seed: int) -> list[Formula]:
    """Formulas of all sizes, each stratum as often as any other while it has some (3.3.2).

    A stratum is a number of quantifiers and thirds of the pool by length, predicates and
    connectives.
    """
    rng = Random(f"logic formulas:{seed}")
    pool = dict[Formula, Size]()
    for _ in range(POOL * n):
        sizes = rng.randint(0, MOST_QUANTIFIERS), rng.randint(1, MOST_CONNECTIVES)
        formula = random_formula(rng, *sizes)
        if not is_settled(formula):
            pool[formula] = size(formula)
    strata = defaultdict[tuple[int, ...], list[Formula]](list)
    order = [sorted(values) for values in zip(*pool.values(), strict=True)]
    for formula, own in pool.items():
        thirds = [order[k].index(value) * 3 // len(pool) for k, value in enumerate(own[:3])]
        strata[(*thirds, own.quantifiers)].append(formula)
    found: list[Formula] = []
    while len(found) < n and strata:
        for key in sorted(strata):
            found.append(strata[key].pop())
            if not strata[key]:
                del strata[key]
    rng.shuffle(found)
    return found[:n]


def random_formula(
    rng: Random, quantifiers: int, connectives: int, bound: tuple[Term, ...] = ()
) -> Formula:
    """A formula of so many quantifiers and connectives, closed but for what is bound around it."""
    if not quantifiers and not connectives:
        return random_atom(rng, bound)
    if quantifiers and (not connectives or rng.random() < 0.6):
        return _quantified(rng, quantifiers - 1, connectives, bound)
    if rng.random() < 0.25:
        denied = random_formula(rng, quantifiers, connectives - 1, bound)
        if not isinstance(denied, Not):
            return Not(denied)
    split = rng.randint(0, quantifiers), rng.randint(0, connectives - 1)
    left = random_formula(rng, *split, bound)
    right = random_formula(rng, quantifiers - split[0], connectives - 1 - split[1], bound)
    connective = rng.choices(list(_LIKELY), list(_LIKELY.values()))[0]
    return Binary(connective, left, right)


def _quantified(
    rng: Random, quantifiers: int, connectives: int, bound: tuple[Term, ...]
) -> Formula:
    """Mostly of some kind of block, as people write: ``∀x (Cube(x) → ...)``."""
    variable = Variable("xyzuvw"[len(bound)])
    quantifier: Quantifier = rng.choice(("forall", "exists"))
    connective: Connective = "implies" if quantifier == "forall" else "and"
    for _ in range(TRIES):
        kind = None
        if connectives and rng.random() < 0.8:
            kind = Atom(rng.choice("Cube Tet Dodec Small Medium Large Green".split()), (variable,))
        body = random_formula(rng, quantifiers, connectives - bool(kind), (*bound, variable))
        if variable in free_variables(body):
            break
    return Quantified(quantifier, variable, Binary(connective, kind, body) if kind else body)


def random_atom(rng: Random, bound: Sequence[Term]) -> Formula:
    """An atom of different terms: of what is bound, the innermost most often, or named."""
    predicate = rng.choice(list(EVERY_PREDICATE))
    wanted = EVERY_PREDICATE[predicate]
    variables = [term for term in bound[::-1] if rng.random() < 0.8][:wanted]
    terms = [*variables, *rng.sample(NAMES[:3], wanted - len(variables))]
    rng.shuffle(terms)
    return Atom(predicate, tuple(terms))


@cache
def worlds() -> tuple[World, ...]:
    """The worlds in which pairs are tried; the same for every seed."""
    rng = Random("logic worlds")
    return tuple(random_world(rng) for _ in range(WORLDS))


def is_settled(formula: Formula) -> bool:
    """Whether a formula is true, or false, in each of :func:`worlds`."""
    first, *others = worlds()
    return all(holds(formula, world) == holds(formula, first) for world in others[:50])


def make_output(input: Formula, category: Relation, rng: Random) -> Formula | None:
    """An output of that relation to the input; ``None`` where no world shows it."""
    for _ in range(TRIES):
        output = rewrite(_edited(input, category, rng), rng, rng.randint(1, 3))
        if size(output).length > MOST_SYMBOLS or canonical(output) == canonical(input):
            continue
        missing = set(SHOWN[category])
        for world in worlds():
            missing.discard((holds(input, world), holds(output, world)))
            if not missing:
                return output
    return None


def _edited(formula: Formula, category: Relation, rng: Random) -> Formula:
    new = partial(random_atom, rng)
    match category:
        case "too_weak":
            return weaken(formula, rng, new)
        case "too_strong":
            return strengthen(formula, rng, new)
        case "independent":
            return strengthen(weaken(formula, rng, new), rng, new)
        case "contradictory":
            denied = rewrite(Not(formula), rng, 2)
            return strengthen(denied, rng, new) if rng.random() < 0.5 else denied
        case "output_contradictory":
            return _settled(formula, rng, "and")
        case "tautologous":
            return _settled(formula, rng, "or")
        case _:
            return formula


def _settled(formula: Formula, rng: Random, connective: Connective) -> Formula:
    """A part is joined to its denial, where that makes the whole false (``and``) or true."""
    path, part, *_ = rng.choice([one for one in places(formula) if connective in one[-1]])
    both = [part, rewrite(Not(part), rng, 2)]
    rng.shuffle(both)
    return put(formula, path, Binary(connective, *both))


def make_pairs(n: int, categories: Sequence[Relation], seed: int) -> Iterator[Made]:
    """Outputs of every category for the same inputs, where there are some, until there are n.

    The categories share n evenly. One seed gives the same pairs on every machine.
    """
    left = Counter({one: (n + k) // len(categories) for k, one in enumerate(categories)})
    for round_ in count():
        for number, input in enumerate(sample_formulas(n // len(categories) + 1, seed + round_)):
            for category in categories:
                rng = Random(f"logic pair:{seed}:{round_}:{number}:{category}")
                output = make_output(input, category, rng) if left[category] else None
                if output is not None:
                    left[category] -= 1
                    yield Made(input, output, category)
            if not left.total():
                return


def to_pair(made: Made, rng: Random, ambiguous: bool = False) -> Pair:
    """The pair as annotators are shown it; what is said ambiguously is labelled as it was meant."""
    output = say(made.output, rng, ambiguous=ambiguous)
    try:
        is_open = ambiguous and len(readings(output)) > 1
    except EnglishError:  # too many readings
        is_open = True
    input = show_indented(made.input)
    return Pair("logic", input, output, SYSTEM, (made.category,), ambiguous=is_open)
