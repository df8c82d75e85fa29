"""What is said of the thing that a list of attributes, or a table of one row, is about."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tablemend.verification.findings import Finding
from tablemend.verification.lexicon import header_terms, terms
from tablemend.verification.phrases.shape import Shape

_ATTRIBUTE = re.compile(
    r"\b(?P<verb>[a-z]{5,}|[RC]\d+) (?:in|at|by|as|on) (?:the )?(?P<value>[RVP]\d+)"
)
_STEM = 6  # letters that "headquartered" shares with "Headquarters"
_WHEN = re.compile(r"(?P<attribute>[RC]\d+) (?:in|on) (?P<value>P\d+)")
_OFFICE = re.compile(
    r"\b(?:was|is|were|are|became|an|a) (?:an? )?(?:\w+ly |\w+an |\w+ish )?"
    r"(?P<noun>[a-z]{3,}(?:ist|er|or|ian|man|woman|ess|ect|ant|eon|cian))\b"
)
_OFFICES = frozenset(t for word in ("occupation", "profession", "job", "role") for t in terms(word))
# Who is called one of these is often something narrower in the table.
_BROAD = frozenset(
    "musician entertainer performer author leader player master creator professor partner other "
    "member winner number former longer daughter sister brother mother father sometimes "
    "singer woman man human christian american senior junior major minor".split()
)


def judge_attributes(shape: Shape) -> Iterator[Finding]:
    """Findings on dates, on what a verb names, and on what somebody is by profession."""
    yield from _dates(shape)
    yield from _attributes(shape)
    yield from _offices(shape)


def _attributes(shape: Shape) -> Iterator[Finding]:
    """As "headquartered in Oslo" in a list of attributes: the verb says which."""
    grid = shape.grid
    if not grid.key_value:
        return
    for match in _ATTRIBUTE.finditer(shape.text):
        value, verb = shape.part(match["value"]), match["verb"]
        if verb[0] in "RC":
            rows = set(shape.part(verb).rows or ())
        else:
            rows = {n.index for n in grid.lines if n.name.casefold().startswith(verb[:_STEM])}
        if len(rows) != 1 or not value.places:
            continue
        row = next(iter(rows))
        if any(place == row for place, _ in value.places):
            where = shape.span(*match.span("value"))
            reason = grid.evidence(row, value.places[0][1]).text
            yield shape.finding(where, True, "ATT", reason)


def _dates(shape: Shape) -> Iterator[Finding]:
    """As "born in 1852" in a list of attributes, where 1852 is that of another one."""
    grid = shape.grid
    if not grid.key_value and len(grid.lines) != 1:
        return
    for match in _WHEN.finditer(shape.text):
        attribute, value = shape.part(match["attribute"]), shape.part(match["value"])
        rows, columns = attribute.rows, attribute.columns
        if grid.key_value:
            columns = frozenset({column.index for column in grid.columns} - {grid.key})
        else:
            rows = frozenset(line.index for line in grid.lines)
        cells = [(row, column) for row in sorted(rows or ()) for column in sorted(columns or ())]
        dated = [cell for cell in cells if grid.value(*cell).dates]
        if not value.places or len(dated) != 1 or any(cell in value.places for cell in cells):
            continue
        cell = grid.cell(*dated[0])
        span = shape.span(*match.span("value"))
        yield Finding(
            value.start,
            value.end,
            "moment",
            "contradicted",
            "TMP",
            (grid.evidence(*dated[0]),),
            f"{shape.name(attribute)}: {cell}",
            span,
            (cell,),
            firm=True,
        )


def _offices(shape: Shape) -> Iterator[Finding]:
    """As "was a physicist" where the occupation is another one: the table does not say so."""
    grid = shape.grid
    if not grid.key_value and len(grid.lines) != 1:
        return
    places = [
        (line.index, column.index)
        for line in grid.lines
        for column in grid.columns
        if column.index != grid.key
        and _OFFICES & frozenset(header_terms(line.name if grid.key_value else column.header))
    ]
    if len(places) != 1:
        return
    known = shape.linking.index.known | shape.linking.index.caption
    for match in _OFFICE.finditer(shape.text):
        noun = match["noun"]
        if noun in _BROAD:
            continue
        if any(word.startswith(noun[:5]) or noun.startswith(word[:5]) for word in known):
            continue
        span = shape.span(*match.span("noun"))
        right = grid.cell(*places[0])
        yield Finding(
            span.start,
            span.end,
            "name",
            "not_in_source",
            "ATT",
            (grid.evidence(*places[0]),),
            f"the table has {right}, and nowhere {noun}",
            span,
            firm=True,
        )
