"""The sentences and list items of a text."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tablemend.values.sentences import Span, pieces, sentence_spans

_BULLET = re.compile(r"\s*(?:[-*•●▪◦‣·+>|]+|#{1,6}|\(?\d{1,2}[.)](?!\d)|\(?[a-z]\))(?=[\s*])\s*")
_SPLIT_DECIMAL = re.compile(r"\d \.$")
_LINE = re.compile(r"\n")


def sentences(text: str) -> list[Span]:
    """The sentences and list items of a text, without bullets and heading marks.

    Of one without an end, its :func:`~tablemend.values.sentences.pieces`.
    """
    spans: list[Span] = []
    for span in sentence_spans(text):
        before = text[spans[-1].start : spans[-1].end] if spans else ""
        # "73 . 95 %" of tokenised texts is one number.
        if text[span.start].isdigit() and _SPLIT_DECIMAL.search(before[-4:]):
            spans[-1] = Span(spans[-1].start, span.end)
        else:
            spans += _lines(text, span)
    return spans


def _lines(text: str, span: Span) -> Iterator[Span]:
    """A sentence at its line breaks that end a list item or a heading, without the bullets."""
    start = span.start
    ends = [match.start() for match in _LINE.finditer(text, span.start, span.end)]
    for end in [*ends, span.end]:
        if end < span.end:
            following = text[end : end + 12].lstrip()
            ended = text[start:end].rstrip().endswith((":", ".", "|"))
            if not (ended or _BULLET.match(following) or text[end : end + 2].isspace()):
                continue
        before = text[text.rfind("\n", max(0, start - 12), start) + 1 : start]
        bullet = _BULLET.match(text, start, end) if not before.strip() or start == 0 else None
        if bullet:
            start = bullet.end()
        for piece in pieces(text, Span(start, end)):
            line = text[piece.start : piece.end]
            first = piece.start + len(line) - len(line.lstrip())
            if any(character.isalnum() for character in line):
                yield Span(first, piece.start + len(line.rstrip()))
        start = end
