"""Writing a set of pairs: the splits, by input, and the counts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from random import Random
from typing import Any

from tablemend.datasets.build import build
from tablemend.datasets.logic.generate import make_pairs, to_pair
from tablemend.datasets.logic.pair import Domain, Pair
from tablemend.datasets.logic.settings import LogicSet
from tablemend.datasets.splits import SPLITS, Split, split_of
from tablemend.runs import Store, write_jsonl

ENGINE = "logic-1"


def make_logic_pairs(settings: LogicSet) -> Iterator[Pair]:
    """Formulas of the blocks world, and what a program says of them."""
    for number, made in enumerate(make_pairs(settings.n, settings.categories, settings.seed)):
        rng = Random(f"logic english:{settings.seed}:{number}")
        yield to_pair(made, rng, ambiguous=rng.random() < settings.ambiguous)


DOMAINS: dict[Domain, Callable[[LogicSet], Iterator[Pair]]] = {"logic": make_logic_pairs}


def make_dataset(settings: LogicSet) -> dict[str, Any]:
    """Write the splits, or find them written; the counts, as in ``counts.json``.

    Raises:
        TablemendError: a folder that holds something else.
    """
    out = Path(settings.out)
    noted = {"engine_version": ENGINE, **settings.model_dump(mode="json", exclude={"out", "kind"})}

    def write(store: Store) -> dict[str, Any]:
        counts = Counter[str]()
        found: dict[Split, list[Pair]] = {split: [] for split in SPLITS}
        for domain in settings.domains:
            for pair in DOMAINS[domain](settings):
                split = split_of(pair.source_hash, settings.shares)
                found[split].append(pair)
                counts[f"{split} {domain}"] += 1
                counts[f"{domain} {pair.labels[0]}"] += 1
                counts[f"{domain} ambiguous"] += bool(pair.ambiguous)
        for split, pairs in found.items():
            if pairs:
                write_jsonl(out / f"{split}.jsonl", [pair.to_json() for pair in pairs])
        return dict(sorted(counts.items()))

    return build(out, noted, write)


def describe(counts: Mapping[str, int], settings: LogicSet) -> Iterator[str]:
    """What came of a set, in lines for a person."""
    yield from (f"{name}: {count}" for name, count in counts.items())
    yield f"written to {settings.out}"
