"""Repair and CAVE of answer tables: errors planted in gold tables, judged before and after.

    python benchmarks/mending_tables.py [--examples PATH]                     # repair
    python benchmarks/mending_tables.py --model scripted: [--examples PATH]   # CAVE

Every example is answered with its gold table, right and with one error of each type. The answer is
mended from query and adversarial context alone, and the detector judges it by the gold table. The
first line, "right", shows the damage: answers that were faithful before.
"""

from __future__ import annotations

import argparse
import time
from collections import Counter
from pathlib import Path
from random import Random

from tablemend.backends.backend import open_backend
from tablemend.config import Source
from tablemend.config.backend import BackendOptions
from tablemend.detector.judge import judge_answer
from tablemend.detector.order import SortRule
from tablemend.mitigations.answers import AnswerItem
from tablemend.mitigations.edits import Mended
from tablemend.mitigations.mend import mend_answers
from tablemend.records import Example, Judgement
from tablemend.scripted.tables import MISTAKES, write_answer
from tablemend.synthesis import small_world
from tablemend.tasks import tablehallu
from tablemend.tasks.sources import read_examples

RIGHT = "right"
SEED = 20261121


def plant(example: Example, number: int) -> list[tuple[str, AnswerItem]]:
    """The gold table as an answer, and with every error that it has a place for."""
    prompt = tablehallu.messages(example, "adversarial")[0]["content"]
    planted = []
    for mistake in (None, *MISTAKES):
        text, made = write_answer(prompt, example, mistake, Random(number))
        if mistake is None or made:
            item = AnswerItem(text, example.adversarial_context, example.query, "markdown")
            planted.append((mistake or RIGHT, item))
    return planted


def judge(example: Example, text: str) -> Judgement:
    """What the detector says by the gold table."""
    order = SortRule.of(example.constraints)
    context = example.adversarial_context
    return judge_answer(text, example.gold_table, context, order, "markdown")


def mend(items: list[AnswerItem], model: str | None) -> list[Mended]:
    """All answers, by CAVE where there is a model."""
    if model is None:
        return mend_answers(items)
    with open_backend(model, BackendOptions(cache=None)) as backend:
        return mend_answers(items, "cave", backend)


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--examples", type=Path, help="JSONL file of examples, or a folder")
    parser.add_argument("--split", help="of a folder")
    parser.add_argument("--model", help="what rewrites for CAVE, such as scripted:")
    parser.add_argument("--n", type=int, default=200, help="examples (default: %(default)s)")
    options = parser.parse_args()
    if options.examples is None:
        examples = list(small_world.examples(seed=SEED, n=options.n))
    else:
        source = Source(source=str(options.examples), split=options.split)
        examples = read_examples(source)[: options.n]
    answers = [
        (name, example, item)
        for number, example in enumerate(examples)
        for name, item in plant(example, number)
    ]
    start = time.perf_counter()
    mended = mend([item for _, _, item in answers], options.model)
    seconds = time.perf_counter() - start
    totals: dict[str, Counter[str]] = {}
    for (name, example, item), found in zip(answers, mended, strict=True):
        before, after = judge(example, item.text), judge(example, found.text)
        totals.setdefault(name, Counter()).update(
            n=1,
            before=before.hallucinated,
            after=after.hallucinated,
            gold=after.gold_cells,
            had=before.matched_cells,
            has=after.matched_cells,
            calls=found.usage.calls,
        )
    print(
        f"{'planted':<14} {'answers':>8} {'wrong':>8} {'then':>8} {'cells right':>12} {'then':>7}"
    )
    for name, own in totals.items():
        n, gold = own["n"], own["gold"]
        print(
            f"{name:<14} {n:>8} {own['before'] / n:>8.1%} {own['after'] / n:>8.1%}"
            f" {own['had'] / gold:>12.1%} {own['has'] / gold:>7.1%}"
        )
    calls = sum(own["calls"] for own in totals.values())
    print(f"{len(answers)} answers, {seconds:.0f} s, {calls} calls")


if __name__ == "__main__":
    main()
