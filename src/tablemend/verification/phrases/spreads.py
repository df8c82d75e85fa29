"""From the smallest to the largest: "temperatures ranged from 6 °C to 20 °C"."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tablemend.values.sentences import Span
from tablemend.verification.findings import Finding
from tablemend.verification.phrases.shape import Cell, Part, Shape

_RANGED = re.compile(
    r"^(?:the )?(?P<what>(?:\w+ )?(?:\w+|C\d+)) (?:rang(?:ed|es?)|var(?:y|ies|ied)|were|was|stayed"
    r"|lay) (?:from|between) (?P<low>N\d+) (?:to|and) (?P<high>N\d+)(?=[.;,]|$)"
)


def judge_spreads(shape: Shape) -> Iterator[Finding]:
    """Findings on the two ends of all values of the columns that a unit, or a name, fits.

    A subject that no header has is about the columns in the unit of the amounts: all of them
    together, or any of them alone.
    """
    match = _RANGED.match(shape.text)
    if match is None or shape.grid.transposed or shape.grid.key_value:
        return
    low, high = shape.part(match["low"]), shape.part(match["high"])
    if low.amount is None or high.amount is None:
        return
    named = [shape.part(mark) for mark in re.findall(r"C\d+", match["what"])]
    symbols = {low.amount.number.unit.symbol, high.amount.number.unit.symbol} - {""}
    if named:
        columns = sorted(set(named[0].columns or ()) & shape.numeric)
    elif len(symbols) == 1:
        columns = [c for c in sorted(shape.numeric) if shape.grid.columns[c].unit.symbol in symbols]
    else:
        return
    choices = [columns, *([column] for column in columns if len(columns) > 1)]
    ends: list[tuple[Cell, Cell]] = []
    for choice in choices:
        measure = Part("C", -1, -1, columns=frozenset(choice))
        cells = [cell for cell in shape.numbers([measure]) if cell.row in shape.rows]
        if len(cells) > 1 and choice:
            ends.append((min(cells, key=lambda c: c.value), max(cells, key=lambda c: c.value)))
    if not ends:
        return
    told = [
        (
            shape.agreement(low.amount, least.value, least),
            shape.agreement(high.amount, most.value, most),
        )
        for least, most in ends
    ]
    if "near" in told[0] or (("same", "same") not in told and "same" not in told[0]):
        return  # another spread than that of all values may be meant
    whole = ("same", "same") in told
    chosen = told.index(("same", "same")) if whole else 0
    for part, agreement, cell in zip((low, high), told[chosen], ends[chosen], strict=True):
        assert part.amount is not None
        evidence = shape.grid.evidence(cell.row, cell.column).text
        yield shape.finding(
            Span(part.start, part.amount.digits_end if agreement != "same" else part.end),
            agreement == "same",
            "NUM",
            evidence,
            (cell,),
            kind="number",
            expected=(shape.grid.cell(cell.row, cell.column),),
        )
