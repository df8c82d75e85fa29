"""Whom and when no table knows: "Sweden won 8 gold medals", "in Q5 2023"."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tablemend.values.sentences import Span
from tablemend.verification.findings import Finding
from tablemend.verification.lexicon import stem
from tablemend.verification.phrases.shape import Shape

_SUBJECT = re.compile(
    r"(?:The )?(?P<name>[A-Z][\w.-]*)(?:'s [a-z]+)?(?: (?:\w+ly|also|only))? "
    r"(?:won|wins|had|has|scored|scores|recorded|posted|reach(?:ed|es)|reported|finished|achiev\w+"
    r"|grew|rose|fell|sold|earned|received|got|took|obtain\w+|attain\w+|gross\w+|made|costs?"
    r"|was|is|were) "
)
_COMMON = frozenset(
    "revenue sales profit income total overall average he she it they this that these there who "
    "which what all both each most some none one two three four five six seven eight nine ten "
    "nobody everyone no only another the a an in on at its their his her we i you results "
    "performance growth attendance population temperature temperatures rainfall turnout".split()
)
_QUARTER = re.compile(r"\b[Qq](?P<number>[05-9]|\d\d)\b(?: (?:of )?(?:19|20)\d\d)?")


def judge_missing(shape: Shape) -> Iterator[Finding]:
    """Findings on a subject and on quarters that stand nowhere."""
    yield from _subject(shape)
    yield from _quarters(shape)


def _subject(shape: Shape) -> Iterator[Finding]:
    """A name that opens a sentence on what a column counts, and that no cell has."""
    text = shape.linking.reading.text
    match = _SUBJECT.match(text, shape.start)
    if match is None or shape.grid.key_value or len(shape.grid.lines) < 2:
        return
    name, start, end = match["name"], *match.span("name")
    if any(part.start < end and start < part.end for part in shape.parts):
        return
    marks = {part.mark for part in shape.parts}
    if "R" in marks or "S" in marks or "N" not in marks or not marks & {"C", "P"}:
        return
    index = shape.linking.index
    word = stem(name.casefold())
    pieces = [stem(piece) for piece in re.split(r"[^a-z0-9]+", name.casefold()) if piece]
    if name.casefold() in _COMMON or word in index.known or word in index.header_terms:
        return
    if any(piece in index.known or piece in index.header_terms for piece in pieces):
        return
    named = [line.name for line in shape.grid.lines if line.name]
    if not named or sum(name[:1].isupper() for name in named) < 0.8 * len(named):
        return
    span = Span(start, end)
    yield Finding(
        start,
        end,
        "name",
        "not_in_source",
        "ATT",
        (),
        f'"{name}" stands in no cell, header or caption',
        span,
        firm=True,
    )


def _quarters(shape: Shape) -> Iterator[Finding]:
    """A fifth quarter, where the tables have quarters."""
    index = shape.linking.index
    known = {*index.dates, *index.header_dates}
    if not any(re.fullmatch(r"(?:\d{4}-)?q[1-4]", reading) for reading in known):
        return
    text = shape.linking.reading.text
    for match in _QUARTER.finditer(text, shape.start, shape.end):
        yield Finding(
            match.start(),
            match.end(),
            "moment",
            "not_in_source",
            "TMP",
            (),
            "no year has such a quarter",
            Span(match.start(), match.end()),
            firm=True,
        )
