"""Speed of PARENT, beside an implementation that follows the paper's formulas word for word.

    python benchmarks/parent.py [--pairs 10000] [--repeats 5]

Texts of about 25 words with one reference each, tables of 12 attributes, as in WikiBio. Both
score the same pairs in turn; the ratio is the median of the ratios of each turn. Both must agree
to 1e-9. Times are processor seconds of one thread.
"""

from __future__ import annotations

import argparse
import math
import random
import statistics
import time
from collections import Counter
from collections.abc import Callable, Sequence

from tablemend.meta_evaluation.metrics import parent

Words = list[str]
Entry = tuple[Words, Words]
Case = tuple[str, list[str], list[list[str]]]
VOCABULARY = 4000


def plain_parent(case: Case) -> float:
    """PARENT's F by the definition (Dhingra et al. 2019, section 4), lambda estimated."""
    prediction = case[0].lower().split()
    table = [(name.lower().split(), value.lower().split()) for name, value in case[2]]
    return max(_plain_f(prediction, text.lower().split(), table) for text in case[1])


def _plain_f(prediction: Words, reference: Words, table: Sequence[Entry]) -> float:
    precisions, recalls = [], []
    for order in parent.ORDERS:
        said, wanted = _counts(prediction, order), _counts(reference, order)
        above = below = 0.0
        for gram, count in said.items():
            in_reference = min(1.0, wanted[gram] / count)
            entailed = _entailed(gram, table)
            above += count * (in_reference + (1 - in_reference) * entailed)
            below += count
        precisions.append(above / below if below else 0.0)
        above = below = 0.0
        for gram, count in wanted.items():
            entailed = _entailed(gram, table)
            above += count * entailed * min(1.0, said[gram] / count)
            below += count * entailed
        recalls.append(above / below if below else 1.0)
    mentioned = sum(_mentioned(value, prediction) for _, value in table) / len(table)
    share = 1 - sum(_mentioned(value, reference) for _, value in table) / len(table)
    precision, own_recall = _geometric(precisions), _geometric(recalls) or parent.SMOOTHING
    recall = own_recall ** (1 - share) * (mentioned or parent.SMOOTHING) ** share
    return 2 * precision * recall / (precision + recall + 1e-8)


def _counts(words: Words, order: int) -> Counter[tuple[str, ...]]:
    return Counter(tuple(words[at : at + order]) for at in range(len(words) - order + 1))


def _entailed(gram: Sequence[str], table: Sequence[Entry]) -> float:
    values = {word for _, value in table for word in value}
    return sum(word in values for word in gram) / len(gram)


def _mentioned(value: Words, text: Words) -> float:
    lengths = [[0] * (len(text) + 1) for _ in range(len(value) + 1)]
    for row, word in enumerate(value, 1):
        for column, other in enumerate(text, 1):
            lengths[row][column] = (
                lengths[row - 1][column - 1] + 1
                if word == other
                else max(lengths[row - 1][column], lengths[row][column - 1])
            )
    return lengths[-1][-1] / len(value)


def _geometric(shares: Sequence[float]) -> float:
    if not shares[0]:
        return 0.0
    return math.prod(share or parent.SMOOTHING for share in shares) ** (1 / len(parent.ORDERS))


def make_cases(count: int, seed: int = 0) -> list[Case]:
    """Pairs of a text and a reference that share part of the table and part of their words."""
    source = random.Random(seed)
    words = [f"w{number}" for number in range(VOCABULARY)]
    cases = []
    for _ in range(count):
        table = [[f"a{at}", " ".join(source.choices(words, k=3))] for at in range(12)]
        common = source.choices(words, k=8)
        texts = []
        for _ in range(2):
            parts = [value for _, value in source.sample(table, 5)] + common[:4]
            texts.append(" ".join([*parts, *source.choices(words, k=4), *common[4:]]))
        cases.append((texts[0], texts[1:], table))
    return cases


def ours(cases: Sequence[Case]) -> list[float]:
    """The same from the package."""
    predictions, references, tables = zip(*cases, strict=True)
    return parent.score(predictions, references, tables)


def plain(cases: Sequence[Case]) -> list[float]:
    """The plain implementation on all."""
    return [plain_parent(case) for case in cases]


def timed(score: Callable[[Sequence[Case]], list[float]], cases: Sequence[Case]) -> float:
    """Processor seconds."""
    start = time.process_time()
    score(cases)
    return time.process_time() - start


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--pairs", type=int, default=10_000, help="pairs to score")
    parser.add_argument("--repeats", type=int, default=5, help="turns")
    options = parser.parse_args()
    cases = make_cases(options.pairs)
    worst = max(
        abs(one - other) for one, other in zip(ours(cases[:200]), plain(cases[:200]), strict=True)
    )
    assert worst < 1e-9, worst
    turns = [(timed(ours, cases), timed(plain, cases)) for _ in range(options.repeats)]
    print(f"pairs                         {options.pairs:10d}")
    print(f"tablemend, seconds            {statistics.median(own for own, _ in turns):10.2f}")
    print(f"plain, seconds                {statistics.median(slow for _, slow in turns):10.2f}")
    ratio = statistics.median(slow / own for own, slow in turns)
    print(f"times faster                  {ratio:10.1f}   (to reach: more than 1)")


if __name__ == "__main__":
    main()
