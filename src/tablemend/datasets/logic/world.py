"""Small worlds of blocks in which formulas are true or false: they show what does not follow."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from random import Random
from typing import NamedTuple

from tablemend.datasets.logic.formula import (
    EQUAL,
    Atom,
    Binary,
    Formula,
    Name,
    Not,
    Quantified,
    Term,
)

NAMES = tuple(map(Name, "abcdef"))
SIDE = 4
"""Columns and rows of the board."""


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


def random_world(rng: Random) -> World:
    """One to five blocks on different squares, of few sizes and shapes, so that some are alike."""
    kinds = [(rng.randrange(3), rng.randrange(3)) for _ in range(rng.randint(1, 3))]
    squares = rng.sample([(c, r) for c in range(SIDE) for r in range(SIDE)], rng.randint(1, 5))
    green = rng.choice((0.0, 0.5, 1.0))
    blocks = tuple(Block(*at, *rng.choice(kinds), rng.random() < green) for at in squares)
    return World(blocks, {name: rng.choice(blocks) for name in NAMES})


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
