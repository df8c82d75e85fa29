"""A period against the one before it: "up 11.1% from the previous quarter"."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tablemend.values.numbers import plain_digits
from tablemend.verification.findings import Finding
from tablemend.verification.phrases.repeated import periods
from tablemend.verification.phrases.shape import Shape

_SINCE = re.compile(
    r"\b(?P<word>(?P<up>up|an increase of|a rise of|a gain of)|down|a decrease of|a decline of"
    r"|a drop of) (?:by )?(?P<number>N\d+) (?:from|on|over|compared (?:to|with)|versus) the"
    r" (?:previous|prior|preceding) (?:quarter|year|month|week|day|period|season)"
)


def judge_earlier(shape: Shape) -> Iterator[Finding]:
    """Findings on a change since the period before the one that the sentence names."""
    times = periods(shape)
    for match in _SINCE.finditer(shape.text):
        amount = shape.part(match["number"]).amount
        before = shape.parts_in(0, match.start())
        columns = [time.columns for time in times if time.columns is not None]
        named = [part for part in before if part.mark == "P" and part.columns in columns]
        rows = [part for part in before if part.mark in "RC"]
        if amount is None or len(named) != 1 or not rows:
            continue
        place = columns.index(named[0].columns or frozenset())
        if not place:
            continue
        new, old = shape.only([*rows, named[0]]), shape.only([*rows, times[place - 1]])
        if new is None or old is None or not old.value:
            continue
        change = new.value - old.value
        rose = change > 0
        reason = f"{shape.grid.cell(old.row, old.column)}, {shape.grid.cell(new.row, new.column)}"
        where = shape.span(*match.span("word"))
        yield shape.finding(where, bool(match["up"]) == rose, "CMP", reason, (old, new))
        relative = abs(change / old.value * 100)
        apart = relative if amount.number.percent else abs(change)
        agreement = shape.agreement(amount, apart, new)
        if amount.number.percent and not new.unit.symbol:
            rounded = round(relative, amount.number.decimals)
            agreement = "same" if rounded == amount.value else "different"
        if agreement in ("same", "different"):
            right = plain_digits(round(apart, max(amount.number.decimals, 1)))
            where = shape.span(*match.span("number"))
            yield shape.finding(
                where,
                agreement == "same",
                "NUM",
                f"{reason}: {right}",
                (old, new),
                kind="number",
                expected=(right,),
            )
