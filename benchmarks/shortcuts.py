"""Can who does not read the query tell gold, or who does not see the table tell a false claim?

    python benchmarks/shortcuts.py data=FOLDER [examples=400]

Trains classifiers on the train split of a data set of data_gen and prints their AUC on the other
splits with its 95 % interval (resampled by table); 0.5 is chance. No table is in two splits, nor do
tables of two splits borrow names from each other; `shares={train: 0.5, validation: 0.25, test:
0.25}` leaves enough of them. The figures are written into the card of the data set, too; data_gen
writes those of gradient boosting over 100 examples.
Of tablehallu, a gold row is told from the others by who does not read the query: over all rows, and
within a context; also by a rule without learning, and by the value that is said most often.
Of tabfaith, a false claim is told from a true one by its names, its values and cues, its sentence
or everything, and a summary with errors from a faithful one, without the table; at most 0.60 is
wanted. Needs `pip install -e '.[metrics]'`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import numpy as np
from pydantic import Field

from tablemend.config import Section, load
from tablemend.datasets.shortcut_probe import (
    EVERYTHING,
    Probe,
    auc_interval,
    held_out_scores,
    holds_both,
    most_said,
    n_grams,
    say,
)
from tablemend.datasets.splits import SPLITS
from tablemend.errors import TablemendError
from tablemend.records import Example
from tablemend.runs import write_text
from tablemend.script import run_script
from tablemend.statistics import Rate
from tablemend.tasks.tabfaith.task import TabFaithExample

HEADING = "## Shortcuts"
IN_TURN = ", each group in turn"
NAMES = ("entity", "other", "category", "column", "against")


class Benchmark(Section):
    """What to measure."""

    data: str
    """A folder that data_gen/tablehallu.py or data_gen/tabfaith.py has written."""
    examples: int = Field(default=400, ge=20)
    """Most examples to train on, and to test on."""
    card: bool = True
    """Write the figures into the card of the data set, too."""


class Item(NamedTuple):
    """A claim or a summary.

    Attributes:
        table: which it is about.
        made: it is false.
        texts: names, values and cues, sentence; or the summary.
        numbers: place and sizes.
    """

    table: str
    made: bool
    texts: tuple[str, ...]
    numbers: tuple[float, ...]


def read(folder: Path, splits: Iterable[str], most: int) -> list[dict[str, Any]]:
    """The first records of some splits.

    Raises:
        TablemendError: there are none.
    """
    files = [path for split in splits if (path := folder / f"{split}.jsonl").exists()]
    lines = (line for path in files for line in path.open(encoding="utf-8"))
    records = [json.loads(line) for line in islice(lines, most)]
    if not records:
        names = ", ".join(f"{split}.jsonl" for split in splits)
        raise TablemendError(f"data={folder}: no example in {names} there; data_gen writes them")
    return records


def main() -> None:
    """Print the figures."""
    settings = load(Benchmark)
    folder = Path(settings.data)
    train = read(folder, SPLITS[:1], settings.examples)
    test = read(folder, SPLITS[1:], settings.examples)
    tables = [len({record["source_hash"] for record in each}) for each in (train, test)]
    lines = [
        HEADING,
        "",
        f"Trained on {tables[0]} tables, tested on {tables[1]} others. 0.5 is chance.",
    ]
    print(lines[-1])
    for line in without_table(train, test) if "summary" in train[0] else without_query(train, test):
        lines.append(line)
        print(line, flush=True)
    if settings.card:
        card = folder / "README.md"
        before = card.read_text("utf-8").partition(f"\n{HEADING}\n")[0]
        write_text(card, "\n".join((before, *lines, "")))


# ---- tablehallu: gold without the query ----


def without_query(train: list[dict[str, Any]], test: list[dict[str, Any]]) -> Iterator[str]:
    """The lines of the figures of contexts.

    Raises:
        TablemendError: no context holds gold rows and others.
    """
    examples = [[Example.from_json(record) for record in each] for each in (train, test)]
    if not all(any(map(holds_both, each)) for each in examples):
        raise TablemendError("data: no example of a split holds both gold rows and others")
    probe = Probe(*examples)
    yield ""
    yield (
        "| gold without the query, AUC | boosting: over rows | within a context "
        "| regression: over rows | within a context |"
    )
    yield "|---|---|---|---|---|"
    asked = [(family, False) for family in probe.views]
    if any(example.groups for each in examples for example in each):
        asked.append((EVERYTHING, True))
    rules = []
    for family, in_turn in asked:
        found = [probe.figures(probe.scores(family, way), in_turn) for way in (True, False)]
        cells = [say(rate) for one in found for rate in (one.rows, one.within)]
        yield f"| {family}{IN_TURN * in_turn} | {' | '.join(cells)} |"
        if family == EVERYTHING:
            shares = f"{say(found[0].rule_gold)} | {found[0].chance:.2f}"
            rules.append(
                f"| least said first{IN_TURN * in_turn} | {say(found[0].rule)} | {shares} |"
            )
    yield ""
    yield "| rule without learning | AUC within a context | gold among the first | by lot |"
    yield "|---|---|---|---|"
    yield from rules
    rate, chance = most_said([example for each in examples for example in each])
    yield ""
    yield (
        "The value that is said most often in the query's column is one that is asked for in "
        f"{say(rate)} (one by lot: {chance:.2f})."
    )


# ---- tabfaith: errors without the table ----


def claims_of(example: TabFaithExample) -> Iterator[Item]:
    """The claims of a summary."""
    false = {index for error in example.errors for index in error.facts}
    for index, fact in enumerate(example.facts):
        start, end = fact.sentence
        named = " | ".join(p.text for p in fact.parts if p.role in ("entity", "other", "category"))
        others = " | ".join(f"{p.role} {p.text}" for p in fact.parts if p.role not in NAMES)
        numbers = (start / len(example.summary), float(end - start), float(len(fact.parts)))
        texts = (named, others, example.summary[start:end])
        yield Item(example.source_hash, index in false, texts, numbers)


def balanced(items: Iterable[Item], rng: Random) -> list[Item]:
    """As many of either kind, from one example: what it is about is to say nothing."""
    kinds: tuple[list[Item], list[Item]] = ([], [])
    for item in items:
        kinds[item.made].append(item)
    size = min(map(len, kinds))
    return [item for kind in kinds for item in rng.sample(kind, size)]


def without_table(train: list[dict[str, Any]], test: list[dict[str, Any]]) -> Iterator[str]:
    """The lines of the figures of claims and summaries.

    Raises:
        TablemendError: no summary has claims of both kinds.
    """
    claims, summaries = list[list[Item]](), list[list[Item]]()
    for records in (train, test):
        rng = Random(0)
        examples = [TabFaithExample.from_json(record) for record in records]
        claims.append([item for one in examples for item in balanced(claims_of(one), rng)])
        if not claims[-1]:
            raise TablemendError("data: no summary that holds both true and false claims")
        summaries.append([])
        for one in examples:
            numbers = (float(len(one.summary)), float(len(one.facts)))
            item = Item(one.source_hash, bool(one.errors), (one.summary,), numbers)
            summaries[-1].append(item)
    views = [
        ("names alone", claims, (0,), False),
        ("values alone", claims, (1,), False),
        ("sentences", claims, (2,), True),
        ("everything", claims, (0, 1, 2), True),
    ]
    if all(len({item.made for item in items}) == 2 for items in summaries):
        views.append(("summaries", summaries, (0,), True))
    yield ""
    yield "| errors without the table, AUC | items | logistic regression | gradient boosting |"
    yield "|---|---:|---|---|"
    for name, (learnt, tested), kinds, with_numbers in views:
        found = [
            say(item_auc(learnt, tested, kinds, with_numbers, boosting))
            for boosting in (False, True)
        ]
        yield f"| {name} | {len(tested)} | {found[0]} | {found[1]} |"


def item_auc(
    train: list[Item], test: list[Item], kinds: tuple[int, ...], with_numbers: bool, boosting: bool
) -> Rate:
    """By character and word n-grams of some texts, their shape, and the numbers."""
    from scipy.sparse import csr_array, hstack
    from sklearn.preprocessing import StandardScaler

    items, size, blocks = [*train, *test], len(train), []
    plain = [list(item.numbers * with_numbers) for item in items]
    for kind in kinds:
        texts = [re.sub(r"\s+", " ", item.texts[kind]) for item in items]
        blocks.append(csr_array(n_grams(texts[:size], texts[size:])[not boosting]))
        plain = [[*numbers, *_shape(text)] for numbers, text in zip(plain, texts, strict=True)]
    blocks.append(csr_array(StandardScaler().fit(plain[:size]).transform(plain)))
    features = hstack(blocks, format="csr")
    if boosting:
        features = features.toarray()
    made = [item.made for item in train]
    scores = held_out_scores(features[:size], made, features[size:], boosting)
    return auc_interval([item.made for item in test], scores, [item.table for item in test])


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


if __name__ == "__main__":
    run_script(main)
