"""Writing a set of pairs: the splits, by input, and the counts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from random import Random
from typing import Any

from tablemend.backends.requests import Sampling
from tablemend.datasets.build import build
from tablemend.datasets.logic.describe import hotel_pairs
from tablemend.datasets.logic.generate import make_pairs, to_pair
from tablemend.datasets.logic.model_outputs import write_outputs
from tablemend.datasets.logic.pair import Domain, Pair
from tablemend.datasets.logic.settings import LogicSet
from tablemend.datasets.splits import SPLITS, Split, split_of
from tablemend.runs import Store, write_jsonl

ENGINE = "logic-2"


def make_logic_pairs(settings: LogicSet) -> Iterator[Pair]:
    """Formulas of the blocks world, and what a program says of them."""
    for number, made in enumerate(make_pairs(settings.n, settings.of("logic"), settings.seed)):
        rng = Random(f"logic english:{settings.seed}:{number}")
        yield to_pair(made, rng, ambiguous=rng.random() < settings.ambiguous)


def make_all(settings: LogicSet, domain: Domain, counts: Counter[str]) -> Iterator[Pair]:
    """The pairs of a domain, by the program or by models; what a model did not write is counted.

    Raises:
        Stopped: the server of a model is gone.
        TablemendError: a model that cannot be used.
    """
    made = make_logic_pairs(settings)
    if domain == "hotel":
        made = hotel_pairs(settings.n, settings.seed, settings.of("hotel"))
    if not settings.models:
        yield from made
        return
    inputs = list(dict.fromkeys(pair.input for pair in made))
    sampling = Sampling(settings.max_new_tokens, settings.temperature)
    models, options = settings.models, settings.options
    for one in write_outputs(domain, inputs, models, options, sampling, settings.seed):
        if isinstance(one, Pair):
            counts[f"{domain} {one.system}"] += 1
            yield one
        else:
            counts[f"{domain} {one.system} dropped: {one.problem.kind}"] += 1


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
            for pair in make_all(settings, domain, counts):
                split = split_of(pair.source_hash, settings.shares)
                found[split].append(pair)
                counts[f"{split} {domain}"] += 1
                if pair.labels:
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
