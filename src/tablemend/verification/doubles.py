"""Double-doubles and triple-doubles of box scores: ten or more in two or three counts."""

from __future__ import annotations

import re
from decimal import Decimal

from tablemend.values.numbers import Number
from tablemend.values.sentences import Span
from tablemend.verification.binding import Binder
from tablemend.verification.findings import Finding
from tablemend.verification.grounding import Grounder
from tablemend.verification.reading import Amount

TOLD = re.compile(
    r"(?<!near )(?<!near-)\b(double|triple)\s*-\s*doubles?\b"
    r"(?! in (?!(?:just |only )?\d+ minutes)| of the season)"
)
COUNTS = (
    frozenset({"point"}),
    frozenset({"rebound"}),
    frozenset({"assist"}),
    frozenset({"steal"}),
    frozenset({"block"}),
)
_TEN = 10
_ONE = Decimal(1)


def judge_doubles(grounder: Grounder, binder: Binder, scoped: bool) -> list[Finding]:
    """Findings on "a double-double", where a table counts points, rebounds and assists.

    Args:
        grounder: reads cells.
        binder: of the sentence.
        scoped: whether the sentence speaks of other games than the table.
    """
    found = []
    for match in TOLD.finditer(binder.plain, *binder.sentence):
        wanted = 2 if match[1] == "double" else 3
        for grid in grounder.grids:
            columns = [
                heading.column
                for heading, terms in grounder.linking.index.terms.items()
                if heading.grid == grid.number and heading.column >= 0 and terms in COUNTS
            ]
            if len(columns) < wanted:
                continue
            words = Amount(match.start(), match.end(), match.end(), Number(_ONE))
            row = next(
                (
                    binding.entities[0].indices[0]
                    for binding in binder.bind(words)
                    if binding.grid == grid.number
                    and binding.entities
                    and binding.entities[0].clear
                    and len(binding.entities[0].indices) == 1
                ),
                None,
            )
            if row is None:
                continue
            counts = [grounder.number(grid.number, row, column) for column in columns]
            high = [
                (row, column)
                for column, count in zip(columns, counts, strict=True)
                if count is not None and count.value >= _TEN
            ]
            told = len(high) >= wanted
            if not told and (scoped or len(columns) < 3):
                continue  # what the table does not count may be the second one
            cells = high if told else [(row, column) for column in columns]
            found.append(
                Finding(
                    match.start(),
                    match.end(),
                    "number",
                    "supported" if told else "contradicted",
                    None if told else "NUM",
                    grounder.evidence(grid.number, cells),
                    f"ten or more in {len(high)} of the counts",
                    None if told else Span(*match.span()),
                    firm=True,
                )
            )
            break
    return found
