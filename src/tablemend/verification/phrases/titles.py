"""Who won a league, by the column of places: "the Reds won the league with 45 points"."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tablemend.verification.findings import Finding
from tablemend.verification.logic.words import RANKS
from tablemend.verification.negation import DENIED
from tablemend.verification.phrases.measures import heading_terms
from tablemend.verification.phrases.shape import Part, Shape

_WON = re.compile(
    r"^(?:the )?(?P<row>R\d+) (?:(?:have|has|had) )?(?P<word>C\d+|won|clinched|claimed|topped)"
    r" the (?:\w+ )?(?:league|division|table|standings)\b(?! (?:cup|trophy|shield))"
    r"|^(?:the )?(?P<named>R\d+) (?:were|was|are|is|became|finished as)"
    r" (?P<champion>(?:the )?(?:league |division )?(?:champions?|winners?))(?=[.;,]|$| with\b)"
)
_VERBS = frozenset({"won", "clinched", "claimed", "topped"})


def judge_titles(shape: Shape) -> Iterator[Finding]:
    """Findings on who is said to have won: the one in the first place."""
    match = _WON.match(shape.text)
    if match is None or shape.grid.transposed or DENIED.search(shape.text):
        return
    places = [c for c in sorted(shape.numeric) if heading_terms(shape, c) & RANKS]
    if len(places) != 1:
        return
    measure = Part("C", -1, -1, columns=frozenset(places))
    own = shape.only([shape.part(match["row"] or match["named"]), measure])
    first = [cell for cell in shape.numbers([measure]) if cell.value == 1]
    if own is None or len(first) != 1:
        return
    where = shape.span(*match.span("word" if match["word"] else "champion"))
    said = shape.linking.reading.plain[where.start : where.end]
    if match["word"] and said not in _VERBS:
        return
    reason = shape.grid.evidence(own.row, own.column).text
    yield shape.finding(where, own.value == 1, "CMP", reason, (own,))
