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


def align_claims(text: str, statements: Sequence[str]) -> tuple[Document, int]:
    """The claims of a text by a model's sentences, in the text's order, and how many were dropped.

    A sentence that says again what one before it said at the same place is no second claim. Kind
    and focus are those of the program's claim that it overlaps most.
    """
    sentences = [
        (span, _content(text, span), _numbers(text[span.start : span.end]))
        for span in sentence_spans(text)
    ]
    own = extract_claims(text).claims
    claims: dict[tuple[Span, str], Claim] = {}
    dropped = 0
    for statement in statements:
        found = _place(statement, sentences)
        if found is None:
            dropped += 1
            continue
        span, sentence = found
        alike = max(
            own, key=lambda one: (_holds_focus(span, one), _shared(one, span)), default=None
        )
        kind: ClaimKind = "attribute"
        focus = None
        if alike is not None and _shared(alike, span):
            kind = alike.kind
            focus = alike.focus if _holds_focus(span, alike) else None
        words = text[span.start : span.end]
        claim = Claim(words, span.start, span.end, kind, statement, focus, sentence)
        claims.setdefault((span, align(statement)), claim)
    in_order = sorted(claims.values(), key=lambda one: (one.start, one.end))
    return Document(text, tuple(in_order)), dropped


def _place(
    statement: str, sentences: Sequence[tuple[Span, list[PlacedToken], frozenset[str]]]
) -> tuple[Span, Span] | None:
    """Where a claim stands, and its sentence; ``None`` for one that the text does not make.

    Its numbers must all stand in one sentence: a model that states another number makes another
    claim.
    """
    words = _content(statement, Span(0, len(statement)))
    numbers = _numbers(statement)
    best, found = 0.0, None
    for sentence, tokens, stated in sentences if words else ():
        if numbers <= stated:
            matched = _matched(words, tokens)
            if matched and (share := len(matched) / len(words)) > best:
                exact = Span(tokens[min(matched)].start, tokens[max(matched)].end)
                best, found = share, (exact if share >= EXACT else sentence, sentence)
    return found if best >= LEAST else None


def _content(text: str, span: Span) -> list[PlacedToken]:
    """The words that say something, with their places in the text."""
    return [
        PlacedToken(token.word, token.start + span.start, token.end + span.start)
        for token in placed_tokens(align(text[span.start : span.end]))
        if token.word not in _EMPTY
    ]


def _numbers(passage: str) -> frozenset[str]:
    """The values of the numbers of a passage."""
    plain = align(passage)
    stated = (*find_quantities(plain), *find_spelled(plain))
    return frozenset(str(one.number.value.normalize()) for one in stated)


def _matched(words: Sequence[PlacedToken], tokens: Sequence[PlacedToken]) -> set[int]:
    """Places of the tokens that a sentence shares with a claim, in the same order."""
    matcher = SequenceMatcher(
        None, [one.word for one in words], [one.word for one in tokens], autojunk=False
    )
    blocks = matcher.get_matching_blocks()
    matched = {place for block in blocks for place in range(block.b, block.b + block.size)}
    if not matched:
        return set()
    # "in 2019" may stand at either end: numbers count wherever they are
    left = {one.word for one in words if one.word[0].isdigit()}
    left -= {tokens[place].word for place in matched}
    return matched | {place for place, token in enumerate(tokens) if token.word in left}


def _holds_focus(span: Span, claim: Claim) -> bool:
    """Whether the words that a program's claim turns on are inside a span."""
    focus = claim.focus
    return focus is not None and span.start <= focus.start and focus.end <= span.end


def _shared(claim: Claim, span: Span) -> int:
    """Characters that a claim and a span share."""
    assert claim.start is not None and claim.end is not None
    return max(0, min(claim.end, span.end) - max(claim.start, span.start))
