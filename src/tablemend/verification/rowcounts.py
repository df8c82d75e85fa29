"""How many rows there are: "all twelve warehouses", "four of the nine segments"."""

from __future__ import annotations

import re

from tablemend.records import Evidence
from tablemend.values.sentences import Span
from tablemend.verification.binding import Binder
from tablemend.verification.findings import Finding
from tablemend.verification.grounding import Grounder
from tablemend.verification.lexicon import header_terms, terms
from tablemend.verification.reading import Amount

_BEFORE = re.compile(
    r"\b(?:(?:of|among|amongst|across|over|for|in)(?: all)?(?: of)? (?:the|these)"
    r"|(?:across|among|over|for)? ?all(?: of)?(?: the)?)\s+$"
)
_NOUN = re.compile(r"\s+([a-z]+)\b")
_ANY_ROW = frozenset("entry row item record case".split())


def count_of_rows(grounder: Grounder, binder: Binder, amount: Amount) -> Finding | None:
    """The finding on a number that says how many rows the table has; ``None`` for any other.

    The noun behind it names what a row is: the header of the column of names, or "entries".
    """
    if amount.role != "value" or amount.hedge or amount.number.decimals or amount.pair:
        return None
    before = binder.plain[max(0, amount.start - 24) : amount.start]
    noun = _NOUN.match(binder.plain, amount.digits_end)
    if not _BEFORE.search(before) or noun is None:
        return None
    said = set(terms(noun[1]))
    for grid in grounder.grids:
        names = {
            term
            for c in grid.columns
            if c.kind in ("name", "text", "date")
            for term in header_terms(c.header)
        }
        rows = [line for line in grid.lines if not line.total]
        generic = bool(said & _ANY_ROW) and len(grounder.grids) == 1
        if not (said & names or generic) or len(rows) < 2:
            continue
        distinct = {line.name for line in rows}
        if amount.value in (len(rows), len(distinct)):
            return Finding(
                amount.start,
                amount.end,
                "number",
                "supported",
                evidence=(Evidence(f"{len(rows)} rows", grid.number),),
                reason=f"the table has {len(rows)} rows",
                firm=True,
            )
        if len(distinct) == len(rows) and amount.value > 1:
            return Finding(
                amount.start,
                amount.end,
                "number",
                "contradicted",
                "NUM",
                (Evidence(f"{len(rows)} rows", grid.number),),
                f"the table has {len(rows)} rows",
                Span(amount.start, amount.digits_end),
                (str(len(rows)),),
                firm=True,
            )
    return None
