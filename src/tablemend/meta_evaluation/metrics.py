"""Metrics to compare with: BLEU, and PARENT with and without a reference, of one text each.

PARENT is n-gram precision and recall of a text against references and the table (Dhingra et al.
2019, "Handling divergent reference texts when evaluating table-to-text generation"), with the
word-overlap model of entailment. Tokens are lower-cased words between spaces.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from typing import Any

from tablemend.datasets.labelled_texts import Item
from tablemend.tables.table import Table

ORDERS = (1, 2, 3, 4)
SMOOTHING = 1e-5
"""Stands for a precision or recall of 0 in orders above the first, and in the table's recall."""
Words = tuple[str, ...]


def parent(text: str, references: Sequence[str], cells: Sequence[str]) -> float:
    """PARENT's F of one text, 0 to 1; of several references, the best.

    The share of the table in the recall is how much of it the reference leaves out (section 4.2).

    Args:
        text: what is scored.
        references: what people wrote, at least one text.
        cells: of the table, filled, at least one.
    """
    values = [_words(cell) for cell in cells]
    return max(_score(_words(text), _words(reference), values) for reference in references)


def overlap(text: str, cells: Sequence[str]) -> float:
    """PARENT's precision without references: n-grams of a text entailed by its table alone."""
    words, lexicon = _words(text), _lexicon(map(_words, cells))
    shares = []
    for order in ORDERS:
        total = len(words) - order + 1
        shares.append(_entailed(words, lexicon, order) / total if total > 0 else 0.0)
    return _geometric(shares)


def _words(text: str) -> Words:
    return tuple(text.lower().split())


def _lexicon(values: Iterable[Words]) -> set[str]:
    return {word for value in values for word in value}


def _score(text: Words, reference: Words, values: Sequence[Words]) -> float:
    lexicon = _lexicon(values)
    precisions, recalls = [], []
    for order in ORDERS:
        both = _grams(text, order) & _grams(reference, order)
        shared = both.total()
        shared_entailed = (
            sum(count * sum(word in lexicon for word in gram) for gram, count in both.items())
            / order
        )
        total = max(0, len(text) - order + 1)
        # An n-gram counts 1 where the reference has it, else as far as the table entails it.
        right = _entailed(text, lexicon, order) + shared - shared_entailed
        precisions.append(right / total if total else 0.0)
        wanted = _entailed(reference, lexicon, order)
        recalls.append(shared_entailed / wanted if wanted else 1.0)
    precision = _geometric(precisions)
    share = 1 - _mentioned(reference, values)
    of_reference = _geometric(recalls) or SMOOTHING
    of_table = _mentioned(text, values) or SMOOTHING
    recall = math.exp((1 - share) * math.log(of_reference) + share * math.log(of_table))
    return 2 * precision * recall / (precision + recall + 1e-8)


def _grams(words: Words, order: int) -> Counter[Words]:
    return Counter(zip(*(words[start:] for start in range(order)), strict=False))


def _entailed(words: Words, lexicon: set[str], order: int) -> float:
    """Sum over all n-grams of the share of their words that the table has."""
    total = inside = 0
    for index, word in enumerate(words):
        inside += word in lexicon
        if index >= order:
            inside -= words[index - order] in lexicon
        if index >= order - 1:
            total += inside
    return total / order


def _mentioned(words: Words, values: Sequence[Words]) -> float:
    """Mean over the cells of the share of their words that stand in a text, in order."""
    places: dict[str, int] = {}
    for index, word in enumerate(words):
        places[word] = places.get(word, 0) | 1 << index
    every = (1 << len(words)) - 1
    return sum(_common_length(one, places, every) / len(one) for one in values) / len(values)


def _common_length(value: Words, places: dict[str, int], every: int) -> int:
    """Length of the longest common subsequence, one bit a word of the text (Hyyrö 2004)."""
    rest = every
    for word in value:
        matches = rest & places.get(word, 0)
        if matches:
            rest = (rest + matches | rest - matches) & every
    return (every ^ rest).bit_count()


def _geometric(shares: Sequence[float]) -> float:
    """Geometric mean over the orders; 0 where no single word counts."""
    if not shares[0]:
        return 0.0
    return math.exp(math.fsum(math.log(share or SMOOTHING) for share in shares) / len(ORDERS))


NEED_REFERENCES = ("bleu", "parent", "bertscore")
OF_MODELS = ("bertscore", "true")
"""Metrics that a model computes, written ``bertscore:MODEL`` and ``true:MODEL``."""


def bleu(text: str, references: Sequence[str]) -> float:
    """Sentence BLEU, 0 to 100, with exponential smoothing (Papineni et al. 2002), by sacrebleu.

    Raises:
        ModuleNotFoundError: without the extra ``metrics``.
    """
    return float(_sacrebleu().sentence_score(text, list(references)).score)


@cache
def _sacrebleu() -> Any:
    from sacrebleu.metrics import BLEU

    return BLEU(effective_order=True)


METRICS: Mapping[str, Callable[[str, Sequence[str], Sequence[str]], float]] = {
    "bleu": lambda text, references, cells: bleu(text, references),
    "parent": parent,
    "overlap": lambda text, references, cells: overlap(text, cells),
}
"""By name: of a text, what people wrote of the same table, and its cells."""


def filled_cells(tables: Sequence[Table]) -> list[str]:
    """The cells of tables that say something, row by row."""
    rows = (row for table in tables for row in table.rows)
    return [cell for row in rows for cell in row if cell and cell.strip()]


def score_items(items: Sequence[Item], metric: str) -> list[float | None]:
    """A metric of every text; ``None`` where it needs a reference or a table that is not there.

    ``metric`` is one of :data:`METRICS`, or one of :data:`OF_MODELS` with its model.
    """
    kind, _, model = metric.partition(":")
    cells = [filled_cells(item.source.tables) for item in items]
    known = [any(map(str.strip, one.references)) or kind not in NEED_REFERENCES for one in items]
    usable = [i for i, item in enumerate(items) if item.text.strip() and cells[i] and known[i]]
    own = [items[i] for i in usable]
    if kind in OF_MODELS:
        from tablemend.meta_evaluation import model_metrics

        second = [one.source.tables if kind == "true" else one.references for one in own]
        found = getattr(model_metrics, kind)([one.text for one in own], second, model)
    else:
        found = [METRICS[kind](items[i].text, items[i].references, cells[i]) for i in usable]
    scores = dict(zip(usable, found, strict=True))
    return [scores.get(i) for i in range(len(items))]
