"""Speed of the program verifier: claims a second on one core, growth with the table's size.

    python benchmarks/verification.py

Summaries of invented tables of 50 cells, every table new: claims are extracted, the table is
read and indexed, every claim is scored, as `tablemend verify` does it. Then one text against
tables of growing size. Times are processor seconds; making tables and texts is not counted.
"""

from __future__ import annotations

import argparse
import random
import time

from tablemend.evidence.source import Source
from tablemend.tables.table import Table
from tablemend.verifier.staf import verify_text

COLUMNS = ("Region", "Revenue ($ millions)", "Customers", "Churn (%)", "Manager")
SYLLABLES = "bra dul fen gor hal jin kel mor nis pol rud sav tem vor wex zan".split()
GROWTH = (10, 100, 1_000, 10_000)
"""Rows of the growing tables, five cells each."""


def invent_name(source: random.Random, syllables: int = 3) -> str:
    """Syllables."""
    return "".join(source.choices(SYLLABLES, k=syllables)).title()


def make_table(rows: int, source: random.Random) -> Table:
    """A table of invented regions."""
    names: set[str] = set()
    while len(names) < rows:
        names.add(invent_name(source, 3 if rows < 1_000 else 5))
    body = [
        (
            name,
            f"{source.uniform(1, 9000):,.1f}",
            f"{source.randint(100, 99_999):,}",
            f"{source.uniform(0.1, 30):.1f}",
            f"{invent_name(source)} {invent_name(source)}",
        )
        for name in sorted(names, key=lambda _: source.random())
    ]
    return Table.of(COLUMNS, body, "Regions in 2023")


def make_text(table: Table, source: random.Random) -> str:
    """Five sentences on the first rows, one number in four wrong, and one on the whole table."""
    first, second, third = table.rows[:3]
    wrong = source.randrange(4)
    said = [str(cell) for cell in (first[1], first[2], second[3], third[2])]
    said[wrong] = f"{source.uniform(1, 90):.1f}"
    fluctuating = sum(float(str(row[3])) > 10 for row in table.rows)
    highest = max(table.rows, key=lambda row: float(str(row[1]).replace(",", "")))
    return (
        f"{first[0]} had revenue of ${said[0]} million and {said[1]} customers. "
        f"Churn in {second[0]} was {said[2]}%, and it was led by {second[4]}. "
        f"{third[0]} counted {said[3]} customers, more than {source.choice(table.rows)[0]}. "
        f"The highest revenue was that of {highest[0]}. "
        f"In total, {fluctuating} regions had churn above 10%."
    )


def measure(items: list[tuple[Table, str]]) -> tuple[float, int]:
    """Processor seconds of verifying texts against their tables, and how many claims they make."""
    claims = 0
    start = time.process_time()
    for table, text in items:
        claims += len(verify_text(text, Source((table,))).verdicts)
    return time.process_time() - start, claims


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--texts", type=int, default=400, help="summaries of 50-cell tables")
    parser.add_argument("--largest", type=int, default=GROWTH[-1], help="rows of the largest table")
    options = parser.parse_args()
    source = random.Random(0)

    def draw(rows: int, count: int) -> list[tuple[Table, str]]:
        tables = [make_table(rows, source) for _ in range(count)]
        return [(table, make_text(table, source)) for table in tables]

    measure(draw(10, 20))  # code and bounded caches are warm from here on
    seconds, claims = measure(draw(10, options.texts))
    print(f"claims a second, one core, 50-cell tables {claims / seconds:8.0f}   (to reach: 500)")
    each = 1000 * seconds / options.texts
    print(f"{claims / options.texts:.1f} claims a text, {each:.1f} ms a text")
    per_cell = 0.0
    for rows in (size for size in GROWTH if size <= options.largest):
        count = max(1, min(20, 2_000 // rows))
        seconds, _ = measure(draw(rows, count))
        micro = 1e6 * seconds / count / (5 * rows)
        growth = f"{micro / per_cell:8.2f} times the cell before" if per_cell else ""
        each = 1000 * seconds / count
        print(f"{5 * rows:>7} cells {each:10.1f} ms a text {micro:8.1f} us a cell {growth}")
        per_cell = micro


if __name__ == "__main__":
    main()
