"""How often the program names the relation of a description to its record (docs/logic.md).

    python -m benchmarks.hotel_entailment [n=200] [seed=7]

Descriptions by the program, whose relation is known, are read with all of the lexicon and
with every second word of it: what is said in the others must come out unscored, not wrong.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from pydantic import Field

from tablemend.config import Section, load
from tablemend.datasets.logic.describe import make_pair
from tablemend.datasets.logic.entailment import compare
from tablemend.datasets.logic.hotel import Attribute, Lexicon, lexicon
from tablemend.records import RELATIONS, Relation
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


def spans(n: int, seed: int) -> str:
    """How far divergent spans and their kinds are those of the construction."""
    ratios: list[float] = []
    kinds = Counter[bool]()
    for relation in RELATIONS:
        for number in range(n if relation != "not_well_formed" else 0):
            pair = make_pair(seed, number, relation)
            found = compare(pair.input, pair.output).divergent
            own, other = (
                {place for start, end in some for place in range(start, end)}
                for some in (pair.divergent_output, [span for span, _ in found])
            )
            ratios.append(len(own & other) / len(own | other) if own | other else 1.0)
            for (start, end), kind in zip(pair.divergent_output, pair.kinds, strict=True):
                kinds[kind in {k for (a, b), k in found if a < end and start < b}] += 1
    return (
        f"divergent spans of the output: mean Jaccard index {sum(ratios) / len(ratios):.2f} "
        f"(characters), kind right in {kinds[True]} of {kinds.total()}"
    )


def main() -> None:
    """Print a table."""
    settings = load(Benchmark)
    known = half(lexicon())
    rows = [["relation", "scored", "right", "half: scored", "half: right"]]
    sums = [0, 0, 0, 0]
    for relation in RELATIONS:
        own = [
            *measure(relation, settings.n, settings.seed, None),
            *measure(relation, settings.n, settings.seed, known),
        ]
        rows.append([relation, *map(str, own)])
        sums = [one + other for one, other in zip(sums, own, strict=True)]
    rows.append([f"all, of {settings.n * len(RELATIONS)}", *map(str, sums)])
    print(align(rows))
    print(spans(settings.n, settings.seed))


if __name__ == "__main__":
    run_script(main)
