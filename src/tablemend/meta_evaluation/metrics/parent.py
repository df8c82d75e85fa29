"""PARENT: n-gram precision and recall of a text against references and the table.

Dhingra et al. 2019, "Handling divergent reference texts when evaluating table-to-text generation",
with the word-overlap model of entailment. Tokens are lower-cased words between spaces.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tablemend.errors import TablemendError
from tablemend.tables.table import Table

Entries = Sequence[Sequence[str]]
"""A table as ``[attribute, value]`` or ``[head, relation, tail]``, each a text."""
ORDERS = (1, 2, 3, 4)
SMOOTHING = 1e-5
"""Stands for a precision or recall of 0 in orders above the first, and in the table's recall."""
Words = tuple[str, ...]
Grams = Counter[tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class Parent:
    """PARENT of one text: of several references, the one with the best F."""

    precision: float
    recall: float
    f: float


def table_entries(table: Table) -> list[list[str]]:
    """A table as attribute-value pairs: a column's name with each of its filled cells."""
    return [
        [column, cell]
        for row in table.rows
        for column, cell in zip(table.columns, row, strict=True)
        if cell and cell.strip()
    ]


def score(
    predictions: Sequence[str],
    references: Sequence[Sequence[str]],
    tables: Sequence[Entries],
    weight: float | None = None,
) -> list[float]:
    """PARENT's F of every text, 0 to 1; see :func:`parent`."""
    return [one.f for one in parent(predictions, references, tables, weight)]


def parent(
    predictions: Sequence[str],
    references: Sequence[Sequence[str]],
    tables: Sequence[Entries],
    weight: float | None = None,
) -> list[Parent]:
    """Precision, recall and F of every text.

    Args:
        predictions: the texts.
        references: what people wrote, at least one text each.
        tables: the entries of the table that each text is about.
        weight: lambda, the share of the table in the recall, from 0 to 1; ``None`` takes it from
            how much of the table the reference leaves out (their section 4.2).

    Raises:
        TablemendError: a text without a reference, or whose table has no value.
    """
    found = []
    for number, (prediction, own, table) in enumerate(
        zip(predictions, references, tables, strict=True), 1
    ):
        values = _values(table)
        if not values:
            raise TablemendError(f"text {number}: its table has no value to compare with (PARENT)")
        if not own:
            raise TablemendError(f"text {number} has no reference; PARENT needs one")
        found.append(_best(_words(prediction), map(_words, own), values, weight))
    return found


def overlap(
    predictions: Sequence[str], references: Sequence[object], tables: Sequence[Entries]
) -> list[float]:
    """PARENT's precision without references: n-grams of every text entailed by its table alone."""
    found = []
    for prediction, table in zip(predictions, tables, strict=True):
        words, lexicon = _words(prediction), _lexicon(_values(table))
        found.append(_geometric([_entailed_share(words, lexicon, n) for n in ORDERS]))
    return found


def _words(text: str) -> Words:
    return tuple(text.lower().split())


def _values(table: Entries) -> list[Words]:
    """The words of each entry's value, or of a triple's head and tail; empty ones are left out."""
    values = []
    for entry in table:
        said = (entry[1],) if len(entry) == 2 else (entry[0], entry[2])
        words = _words(" ".join(said))
        if words:
            values.append(words)
    return values


def _lexicon(values: Sequence[Words]) -> set[str]:
    return {word for value in values for word in value}


def _best(
    prediction: Words,
    references: Iterable[Words],
    values: Sequence[Words],
    weight: float | None,
) -> Parent:
    lexicon = _lexicon(values)
    grams = {order: _grams(prediction, order) for order in ORDERS}
    entailed = {order: _window_sums(prediction, lexicon, order) for order in ORDERS}
    mentioned = _mentioned(prediction, values) or SMOOTHING
    found = []
    for reference in references:
        precisions, recalls = [], []
        for order in ORDERS:
            own, total = entailed[order], max(0, len(prediction) - order + 1)
            shared, shared_weight = _shared(grams[order], reference, order, lexicon)
            # An n-gram counts 1 where the reference has it, else as far as the table entails it.
            precisions.append((own + shared - shared_weight) / total if total else 0.0)
            wanted = _window_sums(reference, lexicon, order)
            recalls.append(shared_weight / wanted if wanted else 1.0)
        precision = _geometric(precisions)
        reference_recall = _geometric(recalls) or SMOOTHING
        share = 1 - _mentioned(reference, values) if weight is None else weight
        recall = math.exp((1 - share) * math.log(reference_recall) + share * math.log(mentioned))
        f = 2 * precision * recall / (precision + recall + 1e-8)
        found.append(Parent(precision, recall, f))
    return max(found, key=lambda one: one.f)


def _grams(words: Words, order: int) -> Grams:
    return Counter(zip(*(words[start:] for start in range(order)), strict=False))


def _window_sums(words: Words, lexicon: set[str], order: int) -> float:
    """Sum over all n-grams of the share of their words that the table has."""
    total = inside = 0
    for index, word in enumerate(words):
        inside += word in lexicon
        if index >= order:
            inside -= words[index - order] in lexicon
        if index >= order - 1:
            total += inside
    return total / order


def _entailed_share(words: Words, lexicon: set[str], order: int) -> float:
    total = len(words) - order + 1
    return _window_sums(words, lexicon, order) / total if total > 0 else 0.0


def _shared(grams: Grams, reference: Words, order: int, lexicon: set[str]) -> tuple[int, float]:
    """N-grams that both texts have, each as often as the rarer side, and their entailed part."""
    both = grams & _grams(reference, order)
    weight = sum(count * sum(word in lexicon for word in gram) for gram, count in both.items())
    return sum(both.values()), weight / order


def _mentioned(words: Words, values: Sequence[Words]) -> float:
    """Mean over the entries of the share of their words that stand in a text, in order."""
    places: dict[str, int] = {}
    for index, word in enumerate(words):
        places[word] = places.get(word, 0) | 1 << index
    every = (1 << len(words)) - 1
    total = 0.0
    for value in values:
        total += _common_length(value, places, every) / len(value)
    return total / len(values)


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
