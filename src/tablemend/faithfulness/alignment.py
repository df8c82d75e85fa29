"""Where in a text a claim stands that a model has put into its own sentence."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import SequenceMatcher

from tablemend.claims.extract import extract_claims
from tablemend.records import Claim, ClaimKind, Document
from tablemend.values.numbers import find_quantities, find_spelled
from tablemend.values.sentences import Span, sentence_spans
from tablemend.values.text import PlacedToken, align, placed_tokens

EXACT = 0.6
"""Share of a claim's content words that one sentence must hold, in their order, so that the claim
is given the words between the first and the last of them as its place."""
LEAST = 0.3
"""Share below which a claim is none of this text; between the two it gets the whole sentence."""
_EMPTY = frozenset(
    "a an the of in on at to for and by with from as its their his her is are was were be been "
    "has have had that this these those it they he she there which who or".split()
)


class Aligner:
    """A text, ready to find claims in it.

    Args:
        text: the text.
    """

    def __init__(self, text: str) -> None:
        self._text = text
        self._program = extract_claims(text).claims
        plain = align(text)
        self._sentences = [
            (span, _content(plain[span.start : span.end], span.start), _numbers(plain, span))
            for span in sentence_spans(text)
        ]

    def place(self, statement: str) -> Claim | None:
        """The claim with its place; ``None`` for one that the text does not make.

        Its numbers must all stand in one sentence: a model that states another number makes
        another claim. Kind and focus are those of the program's claim that it overlaps most.
        """
        plain = align(statement)
        words = _content(plain, 0)
        numbers = _numbers(plain, Span(0, len(plain)))
        best: tuple[float, Span, Span] | None = None
        for sentence, tokens, stated in self._sentences:
            if not numbers <= stated:
                continue
            share, span = _overlap(words, tokens)
            if span is not None and (best is None or share > best[0]):
                best = share, span, sentence
        if best is None or best[0] < LEAST:
            return None
        share, span, sentence = best
        return self._claim(span if share >= EXACT else sentence, sentence, statement)

    def _claim(self, span: Span, sentence: Span, statement: str) -> Claim:
        alike = max(self._program, key=lambda claim: _likeness(claim, span), default=None)
        kind: ClaimKind = "attribute"
        focus = None
        if alike is not None and _shared(alike, span) > 0:
            kind, focus = alike.kind, alike.focus
        if focus is not None and not (span.start <= focus.start and focus.end <= span.end):
            focus = None
        return Claim(
            self._text[span.start : span.end],
            span.start,
            span.end,
            kind,
            statement,
            focus,
            sentence,
        )


def align_claims(text: str, statements: Sequence[str]) -> tuple[Document, int]:
    """The claims of a text by a model's sentences, in the text's order, and how many were dropped.

    A sentence that says again what one before it said at the same place is no second claim.
    """
    aligner = Aligner(text)
    claims, dropped = [], 0
    known = set()
    for statement in statements:
        claim = aligner.place(statement)
        if claim is None:
            dropped += 1
        elif (key := (claim.start, claim.end, align(statement))) not in known:
            known.add(key)
            claims.append(claim)
    claims.sort(key=lambda claim: (claim.start, claim.end))
    return Document(text, tuple(claims)), dropped


def _content(plain: str, offset: int) -> list[PlacedToken]:
    """The words that say something, with their places in the text."""
    return [
        PlacedToken(token.word, token.start + offset, token.end + offset)
        for token in placed_tokens(plain)
        if token.word not in _EMPTY
    ]


def _numbers(plain: str, span: Span) -> frozenset[str]:
    """The values of the numbers of a passage."""
    passage = plain[span.start : span.end]
    return frozenset(
        str(stated.number.value.normalize())
        for stated in (*find_quantities(passage), *find_spelled(passage))
    )


def _overlap(
    words: Sequence[PlacedToken], tokens: Sequence[PlacedToken]
) -> tuple[float, Span | None]:
    """Share of the words that a sentence holds in the same order, and where they stand."""
    if not words:
        return 0.0, None
    matcher = SequenceMatcher(
        None, [one.word for one in words], [one.word for one in tokens], autojunk=False
    )
    blocks = [block for block in matcher.get_matching_blocks() if block.size]
    if not blocks:
        return 0.0, None
    matched = {place for block in blocks for place in range(block.b, block.b + block.size)}
    # "in 2019" may stand at either end: numbers count wherever they are
    left = {one.word for one in words if one.word[0].isdigit()}
    left -= {tokens[place].word for place in matched}
    matched |= {place for place, token in enumerate(tokens) if token.word in left}
    span = Span(tokens[min(matched)].start, tokens[max(matched)].end)
    return len(matched) / len(words), span


def _likeness(claim: Claim, span: Span) -> tuple[bool, int]:
    """Whether a program's claim turns on words of a span, and how much it shares with it."""
    focus = claim.focus
    inside = focus is not None and span.start <= focus.start and focus.end <= span.end
    return inside, _shared(claim, span)


def _shared(claim: Claim, span: Span) -> int:
    """Characters that a claim and a span share."""
    if claim.start is None or claim.end is None:
        return 0
    return max(0, min(claim.end, span.end) - max(claim.start, span.start))
