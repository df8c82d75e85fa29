"""Where the sentences of a running text begin and end."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from sentencex import get_sentence_boundaries

# "Lohust Corp. The", "Phase I. In": an abbreviation, but a word that no name goes on with.
_BEGINNING = re.compile(
    r"(?<![\w.])(?:[A-Z][\w&'.-]{0,60}|a\.m|p\.m|etc)\.[\"\u201d')\]]*(\s+)"
    r"(?=(?:The|It|Its|In|On|At|He|She|They|His|Her|Their|This|These|Those|There|For|By|As|An|After"
    r"|Another|With|From|Both|All|Each|Meanwhile|However|Among|While|When)\b)"
)
# "came to 8.42 m. It was", "carries 95 m³/s. The": a unit behind a number.
_AFTER_UNIT = re.compile(
    r"\d ?(?:[kcm]?m[²³23]?|k?g|lbs?|mi|ft|yds?|s|min|h|hrs?|pp|pg|f?L"
    r"|[a-zA-Z]{1,3}[²³]?/[a-z]{1,3})\.(\s+)(?=[A-Z][a-z]|[A-Z]\b)"
)
_ITEM = re.compile(r"^[ \t]*(?:[-*\u2022\u2013]|\d{1,3}[.)])[ \t]+", re.M)
LONGEST_SENTENCE = 1_200
"""Characters; what has no end within them is no sentence, and linking its words to one another
would take time without bound."""


class Span(NamedTuple):
    """Half-open character places in a text."""

    start: int
    end: int


def sentence_spans(text: str) -> list[Span]:
    """The sentences of an English text in order, without the space around them.

    A boundary is left out rather than put into the middle of a sentence: "Dr. Venn", "3.5",
    "U.S. Army" and "No. 5" are no ends. A line break between paragraphs always is one.
    """
    spans: list[Span] = []
    joined = False
    for start, end in _boundaries(text):
        said = text[start:end]
        start += len(said) - len(said.lstrip())
        end -= len(said) - len(said.rstrip())
        if start >= end:
            joined = False
            continue
        if joined:
            start = spans.pop().start
        spans += _divide(text, start, end)
        # "Approx." and "Vol." before a number are no sentences.
        joined = " " not in text[start:end] and text[end - 1] == "." and "\n" not in said
        joined |= text[end : end + 1] == "/"  # "Famous for.../Occupation"
    return spans


def _boundaries(text: str) -> Iterator[Span]:
    """Sentences and line breaks; the sentences of a list's item one by one."""
    items = [match.span() for match in _ITEM.finditer(text)]
    starts = [(0, 0), *items]
    ends = [start for start, _ in items] + [len(text)]
    for (start, words), stop in zip(starts, ends, strict=True):
        for boundary in get_sentence_boundaries("en", text[words:stop]):
            end = words + boundary["end_index"]
            yield Span(start, end)
            start = end


def _divide(text: str, start: int, end: int) -> Iterator[Span]:
    """Sentences that an abbreviation seemed to join."""
    found = [*_BEGINNING.finditer(text, start, end), *_AFTER_UNIT.finditer(text, start, end)]
    for match in sorted(found, key=lambda match: match.start(1)):
        yield Span(start, match.start(1))
        start = match.end()
    yield Span(start, end)


def pieces(text: str, span: Span) -> Iterator[Span]:
    """A sentence, or where it is too long to be one, its parts between spaces."""
    start, end = span
    while end - start > LONGEST_SENTENCE:
        cut = text.rfind(" ", start, start + LONGEST_SENTENCE)
        cut = start + LONGEST_SENTENCE if cut <= start else cut + 1
        yield Span(start, cut)
        start = cut
    yield Span(start, end)


def paragraph_spans(text: str) -> list[Span]:
    """The paragraphs of a text, which empty lines part."""
    spans, position = [], 0
    for part in text.split("\n\n"):
        start = position + len(part) - len(part.lstrip())
        end = position + len(part.rstrip())
        if start < end:
            spans.append(Span(start, end))
        position += len(part) + 2
    return spans
