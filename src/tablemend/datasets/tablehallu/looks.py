"""Whether what is made up can be told by its looks: for the card of a data set, and for
``benchmarks/shortcuts.py``.

Classifiers that see neither query nor table learn from the train split and are tested on the
tables of the others. They need scikit-learn, which is slow to load.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from random import Random
from typing import NamedTuple

import numpy as np

from tablemend.datasets.splits import SPLITS
from tablemend.errors import install
from tablemend.records import Example, Fact

EXAMPLES = 100
"""Most examples to learn from, and to test on, for a card."""
FEWEST = 20
COMPONENTS = 10
"""Dimensions of the n-grams for gradient boosting."""
RESAMPLES = 200


class Item(NamedTuple):
    """A row, a sentence, a claim or a summary.

    Attributes:
        table: which it is from.
        made: a distractor, or false.
        texts: of each kind: names, values, sentences.
        numbers: place and sizes.
    """

    table: str
    made: bool
    texts: tuple[str, ...]
    numbers: tuple[float, ...] = ()


def rows_of(example: Example) -> Iterator[Item]:
    """Every row: its name, its values, and its sentences without either."""
    rows: dict[tuple[bool, int], list[Fact]] = defaultdict(list)
    for fact in example.facts:
        rows[fact.violates is not None, fact.row].append(fact)
    for (made, _), facts in rows.items():
        name = facts[0].entity
        values = [fact for fact in facts if fact.value != name]
        spans = sorted({fact.adversarial[2:] for fact in facts})
        words = " | ".join(template(example, facts, start, end) for start, end in spans)
        said = " | ".join(f"{fact.column}: {fact.value}" for fact in values)
        first = spans[0][0] / len(example.adversarial_context)
        sizes = len(spans), len(values), sum(len(fact.value) for fact in values)
        yield Item(example.source_hash, made, (name, said, words), (first, *map(float, sizes)))


def template(example: Example, facts: list[Fact], start: int, end: int) -> str:
    """A sentence with ``VALUE`` and ``NAME`` in the places of what it states."""
    text, position = "", start
    for fact in sorted(facts, key=lambda fact: fact.adversarial.start):
        if start <= fact.adversarial.start < end:
            text += example.adversarial_context[position : fact.adversarial.start] + "VALUE"
            position = fact.adversarial.end
    return (text + example.adversarial_context[position:end]).replace(facts[0].entity, "NAME")


def balanced(items: Iterable[Item], rng: Random) -> list[Item]:
    """As many of either kind, from one example: what it is about is to say nothing."""
    kinds: tuple[list[Item], list[Item]] = ([], [])
    for item in items:
        kinds[item.made].append(item)
    size = min(map(len, kinds))
    return [item for kind in kinds for item in rng.sample(kind, size)]


def say_looks(out: Path) -> str:
    """A sentence for the card of a data set: what tells distractors from gold rows."""
    rng = Random(0)
    found: list[list[Item]] = []
    for splits in (SPLITS[:1], SPLITS[1:]):
        paths = [path for split in splits if (path := out / f"{split}.jsonl").exists()]
        lines = islice((line for path in paths for line in path.open(encoding="utf-8")), EXAMPLES)
        read = [balanced(rows_of(Example.from_json(json.loads(line))), rng) for line in lines]
        if sum(map(bool, read)) < FEWEST:
            return (
                f"Fewer than {FEWEST} examples in train, or in validation and test together, are "
                "too few to measure what the looks of distractors give away."
            )
        found.append([item for items in read for item in items])
    train, test = found
    try:
        said = auc(test, held_out_scores(train, test, (0, 1, 2), with_numbers=True))
    except ModuleNotFoundError:
        return f"What looks give away is not measured: that needs {install('metrics')}."
    return (
        "Gradient boosting over names, values, words around them, lengths and places "
        "(`benchmarks/shortcuts.py`) sees neither query nor table, and tells distractors from gold "
        f"rows of other tables with an AUC of {said} (95 % interval; 0.5 is chance)."
    )


def auc(items: list[Item], scores: np.ndarray) -> str:
    """The AUC with its interval: tables are drawn with replacement."""
    from sklearn.metrics import roc_auc_score

    made = np.array([item.made for item in items])
    _, place = np.unique([item.table for item in items], return_inverse=True)
    rng = np.random.default_rng(0)
    tables = place.max() + 1
    draws = []
    for _ in range(RESAMPLES):
        weights = np.bincount(rng.integers(0, tables, tables), minlength=tables)[place]
        draws.append(roc_auc_score(made, scores, sample_weight=weights))
    low, high = np.quantile(draws, (0.025, 0.975))
    return f"{roc_auc_score(made, scores):.2f} [{low:.2f}, {high:.2f}]"


def held_out_scores(
    train: list[Item],
    test: list[Item],
    views: tuple[int, ...],
    with_numbers: bool,
    boosting: bool = True,
) -> np.ndarray:
    """Scores of the test items by gradient boosting, or logistic regression, over the others:
    character and word n-grams of some texts, their shape, and the numbers.
    """
    from scipy.sparse import csr_array, hstack
    from sklearn.decomposition import TruncatedSVD
    from sklearn.ensemble import HistGradientBoostingClassifier
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.preprocessing import StandardScaler

    items, size = [*train, *test], len(train)
    plain = [[float(number) for number in item.numbers * with_numbers] for item in items]
    blocks = []
    for view in views:
        texts = [re.sub(r"\s+", " ", item.texts[view]) for item in items]
        for analyzer, sizes in (("char_wb", (1, 3)), ("word", (1, 2))):
            tfidf = TfidfVectorizer(
                analyzer=analyzer, ngram_range=sizes, min_df=3, max_features=20_000
            )
            grams = tfidf.fit(texts[:size]).transform(texts)
            if boosting:  # names of metrics have few n-grams
                svd = TruncatedSVD(min(COMPONENTS, grams.shape[1]), random_state=0)
                grams = csr_array(svd.fit(grams[:size]).transform(grams))
            blocks.append(grams)
        plain = [[*numbers, *_shape(text)] for numbers, text in zip(plain, texts, strict=True)]
    blocks.append(csr_array(StandardScaler().fit(plain[:size]).transform(plain)))
    features = hstack(blocks, format="csr")
    if boosting:
        features = features.toarray()
        classifier = HistGradientBoostingClassifier(max_iter=100, random_state=0)
    else:
        classifier = LogisticRegression(solver="liblinear")
    classifier.fit(features[:size], [item.made for item in train])
    scores: np.ndarray = classifier.predict_proba(features[size:])[:, 1]
    return scores


def _shape(text: str) -> tuple[float, ...]:
    """Length, words, shares of digits, capitals and other letters, largest number."""
    size = max(1, len(text))
    figures = [float(n.replace(",", "")) for n in re.findall(r"\d[\d,]*\.?\d*", text)]
    return (
        len(text),
        len(text.split()),
        sum(map(str.isdigit, text)) / size,
        sum(map(str.isupper, text)) / size,
        sum(not c.isascii() for c in text) / size,
        float(np.log1p(max(figures, default=0.0))),
    )
