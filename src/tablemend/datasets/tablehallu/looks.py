"""Whether distractors can be told from gold rows by their looks, for the card of a data set.

A small classifier (naive Bayes over character n-grams) sees neither query nor table, learns from
the train split and is tested on the tables of the others. ``benchmarks/shortcuts.py`` asks stronger
ones and needs scikit-learn.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from random import Random
from zlib import crc32

import numpy as np

from tablemend.datasets.splits import SPLITS
from tablemend.records import Example, Fact

EXAMPLES = 150
"""Most examples to learn from, and to test on."""
FEWEST = 20
_BUCKETS = 1 << 16
_VIEWS = ("names", "values", "sentences")
Looks = tuple[str, ...]
"""Name, values and sentences of a row."""


def rows_of(example: Example) -> Iterator[tuple[bool, list[Fact], Looks]]:
    """Every row: whether it is a distractor, its facts, and how it looks."""
    rows: dict[tuple[bool, int], list[Fact]] = defaultdict(list)
    for fact in example.facts:
        rows[fact.violates is not None, fact.row].append(fact)
    for (made, _), facts in rows.items():
        name = facts[0].entity
        values = [f"{fact.column}: {fact.value}" for fact in facts if fact.value != name]
        spans = sorted({fact.adversarial[2:] for fact in facts})
        words = [template(example, facts, start, end) for start, end in spans]
        yield made, facts, (name, " | ".join(values), " | ".join(words))


def template(example: Example, facts: list[Fact], start: int, end: int) -> str:
    """A sentence with ``VALUE`` and ``NAME`` in the places of what it states."""
    text, position = "", start
    for fact in sorted(facts, key=lambda fact: fact.adversarial.start):
        if start <= fact.adversarial.start < end:
            text += example.adversarial_context[position : fact.adversarial.start] + "VALUE"
            position = fact.adversarial.end
    return (text + example.adversarial_context[position:end]).replace(facts[0].entity, "NAME")


def say_looks(out: Path) -> str:
    """A sentence for the card of a data set: the AUC by names, values, sentences and everything."""
    train, test = (_read(out, splits) for splits in (SPLITS[:1], SPLITS[1:]))
    if min(len(train), len(test)) < FEWEST:
        return (
            f"Fewer than {FEWEST} examples in train, or in validation and test together, are too "
            "few to measure what the looks of distractors give away."
        )
    found = []
    for view in (*range(len(_VIEWS)), None):
        weights = _learn([row for rows in train for row in rows], view)
        rows = [row for own in test for row in own]
        scores = np.array([weights[_grams(looks, view)].mean() for _, looks in rows])
        found.append(f"{_auc(np.array([made for made, _ in rows]), scores):.2f}")
    said = ", ".join(f"{auc} by {name}" for auc, name in zip(found, (*_VIEWS, "all"), strict=True))
    return (
        "A classifier of character n-grams that sees neither query nor table tells distractors "
        f"from gold rows of other tables with an AUC of {said} (0.5 is chance)."
    )


def _read(out: Path, splits: tuple[str, ...]) -> list[list[tuple[bool, Looks]]]:
    """The first examples of some splits: as many rows of either kind of each."""
    paths = [path for split in splits if (path := out / f"{split}.jsonl").exists()]
    lines = (line for path in paths for line in path.open(encoding="utf-8"))
    rng, found = Random(0), []
    for line in islice(lines, EXAMPLES):
        kinds: tuple[list[Looks], list[Looks]] = ([], [])
        for made, _, looks in rows_of(Example.from_json(json.loads(line))):
            kinds[made].append(looks)
        size = min(map(len, kinds))
        found.append([(bool(m), one) for m in (0, 1) for one in rng.sample(kinds[m], size)])
    return [rows for rows in found if rows]


def _grams(looks: Looks, view: int | None) -> np.ndarray:
    """Buckets of the character 1- to 3-grams of a view; ``None``: of all, apart."""
    return np.array(
        [
            crc32(f"{place}{text[start : start + size]}".encode()) % _BUCKETS
            for place, text in enumerate(looks)
            if view in (place, None)
            for size in (1, 2, 3)
            for start in range(len(text) + 2 - size)
        ]
    )


def _learn(rows: list[tuple[bool, Looks]], view: int | None) -> np.ndarray:
    """The log odds of each bucket."""
    counts = np.ones((2, _BUCKETS))
    for made, looks in rows:
        counts[int(made)] += np.bincount(_grams(looks, view), minlength=_BUCKETS)
    odds: np.ndarray = np.log(counts[1] / counts[1].sum()) - np.log(counts[0] / counts[0].sum())
    return odds


def _auc(made: np.ndarray, scores: np.ndarray) -> float:
    from scipy.stats import rankdata  # slow to load

    ranks, positive = rankdata(scores), int(made.sum())
    return float((ranks[made].sum() - positive * (positive + 1) / 2) / positive / (~made).sum())
