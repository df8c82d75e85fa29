"""Can a distractor be told from a gold row, or an injected error from a true claim, by its looks?

    python benchmarks/shortcuts.py data=FOLDER [examples=400]

Trains classifiers that see neither query nor table on the train split of a data set of data_gen,
with as many of either kind from each example, and prints their AUC on the other splits with its
95 % interval (resampled by table). No table is in two splits, nor do tables of two splits borrow
names from each other; `shares={train: 0.5, validation: 0.25, test: 0.25}` leaves enough of them.
The figures are written into the card of the data set, too; data_gen writes those of gradient
boosting over 100 examples.
Of tablehallu, a distractor row is told from a gold one by its name
alone, its values alone, one of its sentences (words around the values, place, length) or
everything; of tabfaith, a false claim from a true one by its names, its values and cues, its
sentence or everything, and a summary with errors from a faithful one. 0.5 is chance, at most 0.60
is wanted. Needs `pip install -e '.[metrics]'`.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from random import Random

from pydantic import Field

from tablemend.config import Section, load
from tablemend.datasets.splits import SPLITS
from tablemend.datasets.tabfaith.examples import TabFaithExample
from tablemend.datasets.tablehallu.looks import (
    Item,
    auc,
    balanced,
    held_out_scores,
    rows_of,
    template,
)
from tablemend.errors import TablemendError
from tablemend.records import Example, Fact
from tablemend.runs import write_text
from tablemend.script import run_script

HEADING = "## Looks"
NAMES = ("entity", "other", "category", "column", "against")


class Benchmark(Section):
    """What to measure."""

    data: str
    """A folder that data_gen/tablehallu.py or data_gen/tabfaith.py has written."""
    examples: int = Field(default=400, ge=20)
    """Most examples to train on, and to test on."""
    card: bool = True
    """Write the figures into the card of the data set, too."""


def sentences_of(example: Example) -> Iterator[Item]:
    """The sentences of an example, without names and values."""
    sentences: dict[tuple[int, int], list[Fact]] = defaultdict(list)
    for fact in example.facts:
        sentences[fact.adversarial[2:]].append(fact)
    for (start, end), facts in sentences.items():
        words = template(example, facts, start, end)
        place = start / len(example.adversarial_context)
        numbers = (place, float(end - start), float(len(facts)))
        made = facts[0].violates is not None
        yield Item(example.source_hash, made, (words,), numbers)


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


def read(folder: Path, splits: Iterable[str], most: int) -> tuple[list[Item], ...]:
    """The rows (or claims), the sentences and the summaries of the first examples of some splits.

    Raises:
        TablemendError: there are none of both kinds.
    """
    files = [path for split in splits if (path := folder / f"{split}.jsonl").exists()]
    lines = (line for path in files for line in path.open(encoding="utf-8"))
    whole, single, texts, rng = list[Item](), list[Item](), list[Item](), Random(0)
    for record in map(json.loads, islice(lines, most)):
        if "summary" in record:
            summary = TabFaithExample.from_json(record)
            whole += balanced(claims_of(summary), rng)
            numbers = (float(len(summary.summary)), float(len(summary.facts)))
            unfaithful = bool(summary.errors)
            texts.append(Item(summary.source_hash, unfaithful, (summary.summary,), numbers))
            continue
        example = Example.from_json(record)
        whole += balanced(rows_of(example), rng)
        single += balanced(sentences_of(example), rng)
    if not whole:
        names = ", ".join(f"{split}.jsonl" for split in splits)
        if not files:
            raise TablemendError(f"data={folder}: no {names} there; data_gen writes such a folder")
        raise TablemendError(f"data={folder}: no example in {names} that holds both kinds")
    return whole, single, texts


def main() -> None:
    """Print the figures."""
    settings = load(Benchmark)
    first, *others = SPLITS
    folder = Path(settings.data)
    train_rows, train_sentences, train_texts = read(folder, [first], settings.examples)
    rows, sentences, texts = read(folder, others, settings.examples)
    if sentences:
        sentence_view = ("sentences", train_sentences, sentences, (0,), True)
    else:
        sentence_view = ("sentences", train_rows, rows, (2,), True)
    views = [
        ("names alone", train_rows, rows, (0,), False),
        ("values alone", train_rows, rows, (1,), False),
        sentence_view,
        ("everything", train_rows, rows, (0, 1, 2), True),
    ]
    if all(len({item.made for item in items}) == 2 for items in (train_texts, texts)):
        views.append(("summaries", train_texts, texts, (0,), True))
    tables = [len({item.table for item in items}) for items in (train_rows, rows)]
    lines = [
        HEADING,
        "",
        "What looks alone tell (`benchmarks/shortcuts.py`): classifiers without query and table, "
        f"trained on {tables[0]} tables, tested on {tables[1]} others. 0.5 is chance.",
        "",
        "| AUC on held-out tables | items | logistic regression | gradient boosting |",
        "|---|---:|---|---|",
    ]
    print("\n".join(lines[2:]))
    for name, train, test, used, with_numbers in views:
        found = [
            auc(test, held_out_scores(train, test, used, with_numbers, boosting))
            for boosting in (False, True)
        ]
        lines.append(f"| {name} | {len(test)} | {found[0]} | {found[1]} |")
        print(lines[-1], flush=True)
    if settings.card:
        card = folder / "README.md"
        before = card.read_text("utf-8").partition(f"\n{HEADING}\n")[0]
        write_text(card, "\n".join((before, *lines, "")))


if __name__ == "__main__":
    run_script(main)
