"""How often the program names the relation of a description to its record (docs/logic.md).

    python -m benchmarks.hotel_entailment [n=200] [seed=7]

Descriptions by the program, whose relation is known, are read with all of the lexicon and
with every second word of it: what is said in the others must come out unscored, not wrong.
"""

from __future__ import annotations

from typing import Any

from pydantic import Field

from tablemend.config import Section, load
from tablemend.datasets.logic.describe import SHARES, make_pair
from tablemend.datasets.logic.entailment import compare
from tablemend.datasets.logic.hotel import Attribute, Lexicon, lexicon
from tablemend.records import Relation
from tablemend.reports.rendering import align
from tablemend.script import run_script


class Benchmark(Section):
    """What to measure."""

    n: int = Field(default=200, ge=1)
    """Descriptions of each relation."""
    seed: int = Field(default=7, ge=0)
    """Seed of the records and descriptions."""


def half(words: Lexicon) -> Lexicon:
    """Every second wording of each value, and every second harmless phrase."""

    def halve(found: Any) -> Any:
        if isinstance(found, dict):
            return {key: halve(value) for key, value in found.items()}
        return found[::2] if isinstance(found, list) else found

    attributes = {
        name: Attribute(own.general, own.frames, {v: said[::2] for v, said in own.values.items()})
        for name, own in words.attributes.items()
    }
    return Lexicon(attributes, {**words.data, "harmless": halve(words.data["harmless"])})


def measure(relation: Relation, n: int, seed: int, words: Lexicon | None) -> tuple[int, int]:
    """How many descriptions of a relation are scored, and how many of these rightly."""
    pairs = [make_pair(seed, number, relation) for number in range(n)]
    found = [compare(pair.input, pair.output, words).relation for pair in pairs]
    return n - found.count(None), found.count(relation)


def main() -> None:
    """Print a table."""
    settings = load(Benchmark)
    known = half(lexicon())
    rows = [["relation", "scored", "right", "half: scored", "half: right"]]
    sums = [0, 0, 0, 0]
    for relation in SHARES:
        own = [
            *measure(relation, settings.n, settings.seed, None),
            *measure(relation, settings.n, settings.seed, known),
        ]
        rows.append([relation, *map(str, own)])
        sums = [one + other for one, other in zip(sums, own, strict=True)]
    rows.append([f"all, of {settings.n * len(SHARES)}", *map(str, sums)])
    print(align(rows))


if __name__ == "__main__":
    run_script(main)
