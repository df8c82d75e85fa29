"""Speed and memory of the detector: answers a second on one core, growth, peak memory.

    python benchmarks/detector.py

Raw Markdown answers to 6x6 tables, fresh values in every one, similarity lexical; a third of
the answers have wrong cells, a quarter a row too many, a quarter another order. Times are
processor seconds of one thread, making the answers not counted.
"""

from __future__ import annotations

import argparse
import random
import resource
import sys
import time
from collections.abc import Iterator

from tablemend.detector.algorithm import Submission, detect_in_answers
from tablemend.detector.query import SortRule
from tablemend.tables.table import Table

COLUMNS = ("Company", "Founded", "Revenue (USD million)", "City", "Listed", "Share (%)")
SYLLABLES = "bra dul fen gor hal jin kel mor nis pol rud sav tem vor wex zan".split()
WRONG = ("17", "Brenwick", "N/A", "5 May 1999", "8.25")
ORDER = SortRule("Founded", "ascending")


def invent_name(source: random.Random) -> str:
    """Three syllables."""
    return "".join(source.choices(SYLLABLES, k=3)).title()


def make_submissions(count: int, seed: int) -> Iterator[Submission]:
    """Answers, one at a time, so that memory is the detector's own."""
    source = random.Random(seed)
    for _ in range(count):
        years = sorted(source.sample(range(1850, 2020), 6))
        rows = [
            (
                f"{invent_name(source)} {invent_name(source)}",
                str(year),
                f"{source.uniform(1, 9000):,.1f}",
                invent_name(source),
                f"{source.randint(1, 28)} March {source.randint(1950, 2020)}",
                str(source.randint(1, 99)) if source.random() < 0.8 else None,
            )
            for year in years
        ]
        answer = [list(row) for row in rows]
        if source.random() < 0.33:
            for _ in range(3):
                answer[source.randrange(6)][source.randrange(1, 6)] = source.choice(WRONG)
        if source.random() < 0.25:
            answer.insert(source.randrange(6), [invent_name(source), *rows[0][1:]])
        if source.random() < 0.25:
            source.shuffle(answer)
        lines = ["| " + " | ".join(cell or "" for cell in row) + " |" for row in answer]
        header = ["| " + " | ".join(COLUMNS) + " |", "|" + "---|" * len(COLUMNS)]
        context = " ".join(
            f"{row[0]} was founded in {row[1]} in {row[3]} and listed on {row[4]}." for row in rows
        )
        text = "#### \n" + "\n".join(header + lines)
        yield Submission(text, Table(COLUMNS, tuple(rows)), context, ORDER)


class Meter:
    """Passes submissions on and takes the time that making them costs."""

    def __init__(self, submissions: Iterator[Submission]) -> None:
        self.submissions = submissions
        self.seconds = 0.0

    def __iter__(self) -> Iterator[Submission]:
        while True:
            start = time.process_time()
            submission = next(self.submissions, None)
            self.seconds += time.process_time() - start
            if submission is None:
                return
            yield submission


def measure(count: int, seed: int) -> float:
    """Processor seconds of scoring ``count`` answers."""
    meter = Meter(make_submissions(count, seed))
    start = time.process_time()
    scored = sum(1 for judgement in detect_in_answers(meter) if not judgement.unscored)
    seconds = time.process_time() - start - meter.seconds
    assert scored == count, "every answer has a verdict"
    return seconds


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--answers", type=int, default=100_000, help="size of the large run")
    count = parser.parse_args().answers
    tenth = max(1, count // 10)
    measure(tenth, seed=1)  # the bounded caches are full from here on
    small = measure(tenth, seed=2)
    large = measure(count, seed=3)
    unit = 1 if sys.platform == "darwin" else 2**10  # macOS counts bytes, others KiB
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 2**30
    print(f"answers a second, one core    {count / large:10.0f}   (to reach: 1000)")
    print(f"{tenth:>7} answers              {small:10.1f} s")
    print(f"{count:>7} answers              {large:10.1f} s   ({large / small:.2f} times)")
    print(f"peak memory                   {peak:10.2f} GiB (limit: 2)")


if __name__ == "__main__":
    main()
