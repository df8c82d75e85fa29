"""Formulas stratified as the paper samples its own, and outputs of every relation to them.

That an output follows from its input, or the input from it, or that they exclude each other, is
known from the edits that made it: a part gives way to one that is equivalent to it in every world
of blocks, to one that follows from it, or to one from which it follows, by where in the formula it
stands. That something does *not* follow is shown by a small world in which it fails. No prover has
a say.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, partial
from itertools import count
from random import Random
from typing import NamedTuple

from tablemend.records import Relation
from tablemend.tasks.logic.english import word
from tablemend.tasks.logic.formula import (
    BLOCKS,
    DATA,
    EQUAL,
    Atom,
    Binary,
    Connective,
    Formula,
    Name,
    Not,
    Quantified,
    Quantifier,
    Size,
    Term,
    Variable,
    build,
    canonical,
    children,
    free_variables,
    match,
    parse_formula,
    show_indented,
    size,
    with_children,
)
from tablemend.tasks.logic.pair import Pair

NAMES = tuple(map(Name, "abcdef"))
SIDE = 4
"""Columns and rows of the board of a world."""
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


class FormulaPair(NamedTuple):
    """An input and an output, with the relation that the output was made for."""

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


def make_pairs(n: int, categories: Sequence[Relation], seed: int) -> Iterator[FormulaPair]:
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
                    yield FormulaPair(input, output, category)
            if not left.total():
                return


def to_pair(made: FormulaPair, rng: Random, ambiguous: bool = False) -> Pair:
    """The pair as annotators are shown it; what is said ambiguously is labelled as it was meant."""
    input, output = show_indented(made.input), word(made.output, rng, ambiguous=ambiguous)
    labels = (made.category,)
    return Pair("logic", input, output.text, SYSTEM, labels, ambiguous=output.ambiguous)


# ---- worlds ----


class Block(NamedTuple):
    """A block; sizes and shapes count from 0 in the order of their predicates."""

    column: int
    row: int
    size: int
    shape: int
    green: bool


class World(NamedTuple):
    """Blocks, and which of them each name is of."""

    blocks: tuple[Block, ...]
    names: Mapping[Term, Block]


@cache
def worlds() -> tuple[World, ...]:
    """The worlds in which pairs are tried; the same for every seed.

    One to five blocks on different squares, of few sizes and shapes, so that some are alike.
    """
    rng, found = Random("logic worlds"), list[World]()
    board = [(column, row) for column in range(SIDE) for row in range(SIDE)]
    for _ in range(WORLDS):
        kinds = [(rng.randrange(3), rng.randrange(3)) for _ in range(rng.randint(1, 3))]
        squares = rng.sample(board, rng.randint(1, 5))
        green = rng.choice((0.0, 0.5, 1.0))
        blocks = tuple(Block(*at, *rng.choice(kinds), rng.random() < green) for at in squares)
        found.append(World(blocks, {name: rng.choice(blocks) for name in NAMES}))
    return tuple(found)


def holds(formula: Formula, world: World, bound: Mapping[Term, Block] | None = None) -> bool:
    """Whether a formula without free variables is true in a world."""
    at = world.names if bound is None else bound
    match formula:
        case Atom(predicate, terms):
            return PREDICATES[predicate](*(at[term] for term in terms))
        case Not(body):
            return not holds(body, world, at)
        case Quantified(quantifier, variable, body):
            every = (holds(body, world, {**at, variable: block}) for block in world.blocks)
            return all(every) if quantifier == "forall" else any(every)
        case Binary(connective, left, right):
            first = holds(left, world, at)
            match connective:
                case "and":
                    return first and holds(right, world, at)
                case "or":
                    return first or holds(right, world, at)
                case "implies":
                    return not first or holds(right, world, at)
                case "xor":
                    return first != holds(right, world, at)
                case "iff":
                    return first == holds(right, world, at)


def _between(x: Block, y: Block, z: Block) -> bool:
    """Strictly, in one row, column or diagonal."""
    across, along = (y.column - x.column, y.row - x.row), (z.column - x.column, z.row - x.row)
    opposite = across[0] * along[0] + across[1] * along[1] < 0
    straight = 0 in across or abs(across[0]) == abs(across[1])
    return straight and opposite and across[0] * along[1] == across[1] * along[0]


PREDICATES: dict[str, Callable[..., bool]] = {
    "Small": lambda x: x.size == 0,
    "Medium": lambda x: x.size == 1,
    "Large": lambda x: x.size == 2,
    "Cube": lambda x: x.shape == 0,
    "Tet": lambda x: x.shape == 1,
    "Dodec": lambda x: x.shape == 2,
    "Green": lambda x: x.green,
    "SameSize": lambda x, y: x.size == y.size,
    "SameShape": lambda x, y: x.shape == y.shape,
    "SameCol": lambda x, y: x.column == y.column,
    "SameRow": lambda x, y: x.row == y.row,
    "Smaller": lambda x, y: x.size < y.size,
    "Larger": lambda x, y: x.size > y.size,
    "LeftOf": lambda x, y: x.column < y.column,
    "RightOf": lambda x, y: x.column > y.column,
    "FrontOf": lambda x, y: x.row < y.row,
    "BackOf": lambda x, y: x.row > y.row,
    "Behind": lambda x, y: x.row > y.row,
    "Adjoins": lambda x, y: abs(x.column - y.column) + abs(x.row - y.row) == 1,
    "Between": _between,
    EQUAL: lambda x, y: x == y,
}


Path = tuple[int, ...]
Place = tuple[Path, Formula, int, tuple[Term, ...], tuple[str, ...]]
"""Way from the root, the part there, 1 or -1 for what it does to the whole (0: unknown), the
variables bound around it, and ``and`` where the whole is false if it is, ``or`` where true."""
Make = Callable[[tuple[Term, ...]], Formula]
"""A new formula about something bound there, or named."""
Rules = list[tuple[Formula, list[Formula]]]
"""Forms of a part, of which the first that fits counts, and what the part may give way to."""
ADDING = 0.3
"""How often a part is widened or narrowed by something new, where it could be edited otherwise."""


def _rules(name: str, pattern: str) -> Rules:
    """Rules of logic.yaml, and what of its ``one_of_three`` the others may say in a pattern."""
    found = [line.split(" | ") for line in DATA[name].splitlines()]
    for terms, three in DATA["one_of_three"]:
        atoms = [f"{one}({terms})" for one in three.split()]
        for one in atoms:
            first, second = (other for other in atoms if other != one)
            found.append(pattern.format(one, first, second).split(" | "))
    return [
        (parse_formula(form), list(map(parse_formula, new.split(" ; ")))) for form, new in found
    ]


EQUIVALENT = _rules("equivalent", "{} | ¬{} ∧ ¬{}")
WEAKER = _rules("weaker", "{} | ¬{} ; ¬{}")
STRONGER = _rules("stronger", "¬{} | {} ; {}")


def _edits(rules: Rules, part: Formula) -> list[Formula]:
    for form, new in rules:
        if (found := match(form, part)) is not None:
            return [build(one, found) for one in new]
    return []


def places(
    formula: Formula,
    path: Path = (),
    effect: int = 1,
    bound: tuple[Term, ...] = (),
    settles: tuple[str, ...] = ("and", "or"),
) -> Iterator[Place]:
    """All parts of a formula."""
    yield path, formula, effect, bound, settles
    for number, child in enumerate(children(formula)):
        below, around, kept = effect, bound, ""
        match formula:
            case Not():
                below = -effect
            case Binary("implies"):
                below, kept = (effect, "or") if number else (-effect, "")
            case Binary("and" | "or" as own):
                kept = own
            case Binary():
                below = 0
            case Quantified(quantifier, variable, _):
                around, kept = (*bound, variable), "and" if quantifier == "exists" else "or"
        both = tuple(one for one in settles if one == kept)
        yield from places(child, (*path, number), below, around, both)


def put(formula: Formula, path: Path, new: Formula) -> Formula:
    """The formula with another part at that place."""
    if not path:
        return new
    below = list(children(formula))
    below[path[0]] = put(below[path[0]], path[1:], new)
    return with_children(formula, tuple(below))


def rewrite(formula: Formula, rng: Random, times: int = 1) -> Formula:
    """An equivalent formula, by so many edits, that denies nothing twice."""
    for _ in range(times):
        found = [
            (way, new) for way, part, *_ in places(formula) for new in _edits(EQUIVALENT, part)
        ]
        if found:
            formula = put(formula, *rng.choice(found))
    return _without_double_negation(formula)


def _without_double_negation(formula: Formula) -> Formula:
    while isinstance(formula, Not) and isinstance(formula.body, Not):
        formula = formula.body.body
    return with_children(formula, tuple(map(_without_double_negation, children(formula))))


def weaken(formula: Formula, rng: Random, make: Make) -> Formula:
    """A formula that follows from this one; ``make`` gives what may be added."""
    return _one_way(formula, rng, make, 1)


def strengthen(formula: Formula, rng: Random, make: Make) -> Formula:
    """A formula from which this one follows; ``make`` gives what may be added."""
    return _one_way(formula, rng, make, -1)


def _one_way(formula: Formula, rng: Random, make: Make, direction: int) -> Formula:
    path, part, effect, bound, _ = rng.choice([one for one in places(formula) if one[2]])
    options = _edits(WEAKER if effect == direction else STRONGER, part)
    more: Connective = "or" if effect == direction else "and"
    if not options or rng.random() < ADDING:
        options = [Binary(more, part, make(bound))]
    return put(formula, path, rng.choice(options))
