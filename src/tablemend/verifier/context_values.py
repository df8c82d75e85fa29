"""Which values a sentence of a context gives to which attribute: "V as the LABEL", "LABEL is V".

The reading is of English attribution in general: names of entities and of attributes part a
sentence into segments, and the words between an attribute and its value (*is*, *of*, *as the*,
*in*, a colon, nothing at all) say on which side of it the value stands.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import zip_longest
from typing import NamedTuple

from tablemend.values.sentences import Span
from tablemend.verifier.context_labels import ADJECTIVE, VALUE_AFTER, Label, Piece, find_labels
from tablemend.verifier.context_reading import ContextReader

# "V as the LABEL", "V in LABEL"
_VALUE_BEFORE = re.compile(
    r"(?:^|[\s,;])(?:as|in|for|under)\s+(?:(?:the|its|his|her|their|an?)\s+)?$", re.I
)
# "V is the LABEL of E"
_NAMED_AS = re.compile(
    r"\s(?:is|was|are|were)\s+(?:(?:given|listed|named|reported|recorded)\s+)?(?:as\s+)?the\s+$",
    re.I,
)
_HEAD = re.compile(r"^[\W_]*(?:as|under|by|in|for|as for)\s+(?:the\s+)?$", re.I)
_OF_ENTITY = re.compile(
    r"^\s+(?:(?:figure|value|given|noted|recorded|reported|listed)\s+)?(?:of|for)\s+(?:the\s+)?$",
    re.I,
)
_BEFORE_AMOUNT = re.compile(r"^\s*(?:in|on|at|by|to|of|with|:)?\s*(?:about|only|just|over)?\s*$")
_ARTICLE = re.compile(r"(?:^|[\s,(])(?:the|an?|this|its|his|her|their)\s+$", re.I)
_CODE = re.compile(r"((?: [A-Z]\w*){1,2})\s*(?:[.,;]|and\b|$)")
_HAS = re.compile(r"\w\s+(?:has|have|had|lists?|names?|gives?|shows?)\s+$")
_PREPOSITION = re.compile(r"\s(?:with|in|for|by|at|from|while|which|who|but|when|after|before)\s")
_AS = re.compile(r"\s+as\s+(?:the|its|his|her|their|an?)\s+", re.I)
_OF = re.compile(r"\s+(?:\w+\s+)?(?:of|for)\b")
_NEXT_DIGIT = re.compile(r"\s+[$\u20ac\u00a3]?\d")
_JOINT = re.compile(r",\s+(?:and\s+)?|\s+and\s+|;\s+")
_EDGE_WORDS = frozenset(
    "a an and appear appeared appears are as at be by came carried carries come comes "
    "counts credited down entries entry falls figure for from gave given gives got grouped "
    "had has have in into is it its line list listed lists named names noted of on one out "
    "over place placed put puts ranks reach reached reaches record recorded records report "
    "reported reports says show shown shows stand stands stood tally that the their there this "
    "to under was were which who with within".split()
)
_EDGES = " \t\n,;:.!?"


class StatedValue(NamedTuple):
    """A value that a sentence gives to an attribute.

    Attributes:
        label: the attribute's name.
        span: where the value stands.
        sure: whether its extent and its attribute are plain from the wording.
    """

    label: str
    span: Span
    sure: bool


def read_sentence(
    reader: ContextReader, sentence: int, labels: Sequence[Label]
) -> tuple[StatedValue, ...]:
    """Everything that a sentence states of these attributes."""
    span = reader.sentences[sentence]
    names = [place for place, _ in reader.names_in(sentence)]
    pieces = [Piece(*place, "") for place in names]
    pieces += find_labels(reader, span, labels, names)
    pieces.sort()
    pieces = [
        piece
        for piece, following in zip_longest(pieces, pieces[1:])
        if not (
            piece.label
            and following
            and following.label
            and _AS.fullmatch(reader.text, piece.end, following.start)
        )
    ]  # "+ 1 lap as the time" speaks of no laps
    return tuple(_read(reader, span, pieces))


def _read(reader: ContextReader, sentence: Span, pieces: Sequence[Piece]) -> Iterator[StatedValue]:
    text = reader.text
    taken = sentence.start  # values never overlap
    alone = sum(bool(piece.label) for piece in pieces) == 1
    for number, piece in enumerate(pieces):
        if not piece.label:
            continue
        before = pieces[number - 1] if number else None
        start = max(before.end if before else sentence.start, taken)
        after = pieces[number + 1].start if number + 1 < len(pieces) else sentence.end
        left, right = text[start : piece.start], text[piece.end : after]
        named = before if before and not before.label and before.end == start else None
        leads = start == sentence.start and bool(_HEAD.match(left)) and right.startswith(",")
        found = (
            (None if leads else _before(reader, start, left, right, named))
            or _after(reader, sentence, pieces, number, left, right, (leads, alone))
            or _adjective(start, left)
            or _across(reader, sentence, pieces, number, left)
        )
        if found is None:
            continue
        place, sure = found
        taken = max(taken, place.end)
        yield StatedValue(piece.label, place, sure)


def _before(
    reader: ContextReader, start: int, left: str, right: str, named: Piece | None
) -> tuple[Span, bool] | None:
    """The value that stands before its attribute; ``named``: the entity directly before."""
    match = _VALUE_BEFORE.search(left)
    if match is None and _OF.match(right):
        match = _NAMED_AS.search(left)
    if match is not None and not (named and _NEXT_DIGIT.match(right)):
        span = _trim(reader.text, Span(start, start + match.start()))
        if span is not None:
            return _last_part(reader, span)
        if named and not left[: match.start()].strip():  # "Essendon has Richmond as the LABEL"
            return Span(named.start, named.end), True
        return None
    amounts = reader.amounts(Span(start, start + len(left)))
    if amounts:
        last = amounts[-1]
        between = reader.text[last.end : start + len(left)]
        if not between.strip():
            return _with_bracket(reader, last), True
        if between.strip() == "-":  # "a 13-point victory" is no number of points
            return last, False
    return None


def _across(
    reader: ContextReader, sentence: Span, pieces: Sequence[Piece], number: int, left: str
) -> tuple[Span, bool] | None:
    """The time before the entity: "It was in 1970 that E was founded", "1970 saw E founded"."""
    if number == 0 or pieces[number - 1].label or left.strip() not in ("", "was", "were"):
        return None
    start = pieces[number - 2].end if number > 1 else sentence.start
    amounts = reader.amounts(Span(start, pieces[number - 1].start))
    between = reader.text[amounts[-1].end : pieces[number - 1].start].strip() if amounts else ""
    return (amounts[-1], True) if between in ("saw", "that") else None


def _adjective(start: int, left: str) -> tuple[Span, bool] | None:
    """The words between an article and an attribute: "a red flag"."""
    match = ADJECTIVE.search(left)
    if match is None or not _EDGE_WORDS.isdisjoint(match[1].split()):
        return None
    return Span(start + match.start(1), start + match.end(1)), False


def _after(
    reader: ContextReader,
    sentence: Span,
    pieces: Sequence[Piece],
    number: int,
    left: str,
    right: str,
    place: tuple[bool, bool],
) -> tuple[Span, bool] | None:
    """The value that stands behind its attribute.

    ``place``: whether the attribute leads its sentence ("As city, ..."), and is the only one in it.
    """
    text = reader.text
    leads, alone = place
    start, end = pieces[number].end, pieces[number].end + len(right)
    following = pieces[number + 1] if number + 1 < len(pieces) else None
    if leads or (following and not following.label and _OF_ENTITY.match(right)):
        # "The LABEL of E is V", "As LABEL, E has V", "In LABEL, V is given for E"
        span = _trim(text, Span(start, end))
        if leads and following and not following.label and _HAS.search(right):
            return Span(following.start, following.end), True  # "As LABEL, another has E"
        if span is not None and leads:
            return (span, True) if any(map(str.isalnum, text[slice(*span)])) else None
        if following is None or following.label:
            return None
        start, number = following.end, number + 1
        following = pieces[number + 1] if number + 1 < len(pieces) else None
        end = following.start if following else sentence.end
        link = VALUE_AFTER.match(text[start:end])
        if link is None and not leads:
            return None
        start += link.end() if link else 0
    elif link := VALUE_AFTER.match(right):
        start += link.end()
    else:
        amounts = reader.amounts(Span(start, end))
        if amounts and _BEFORE_AMOUNT.match(text[start : amounts[0].start]):
            return _whole(reader, amounts[0], end), True
        if _ARTICLE.search(left) and right[:1] == " ":
            found = _first_part(reader, Span(start, end), following is not None, alone)
            if found and not reader.amounts(found[0]):
                said = text[slice(*found[0])]
                return found[0], found[1] and all(word[:1].isupper() for word in said.split())
        return None
    if following and not following.label and not text[start:end].strip():
        return Span(following.start, following.end), True  # "The LABEL of E is another entity"
    return _first_part(reader, Span(start, end), following is not None, alone)


def _with_bracket(reader: ContextReader, amount: Span) -> Span:
    """An amount and the bracket behind it that belongs to its cell: "118 (3.5)"."""
    match = re.match(r" ?\([^()]{1,20}\)", reader.text[amount.end : amount.end + 24])
    return Span(amount.start, amount.end + len(match[0])) if match else amount


def _whole(reader: ContextReader, amount: Span, end: int) -> Span:
    """An amount with what belongs to it behind: "7.1 L6", "4-0", "29 - 30 June 2010"."""
    text = reader.text
    if match := _CODE.match(text[amount.end : end]):
        return Span(amount.start, amount.end + match.end(1))
    for following in reader.amounts(Span(amount.end, end)):
        if text[amount.end : following.start].strip() not in ("-", "\u2013", "/", ":"):
            break
        amount = Span(amount.start, following.end)
    return _with_bracket(reader, amount)


def _last_part(reader: ContextReader, span: Span) -> tuple[Span, bool]:
    """What stands last in a listing; unsure where more than one thing stands there."""
    cut = None
    for match in _JOINT.finditer(reader.text, span.start, span.end):
        cut = match
    if cut is None:
        return span, True
    first = _trim(reader.text, Span(span.start, cut.start()))
    last = _trim(reader.text, Span(cut.end(), span.end))
    if first is None or last is None:
        return (last or first or span), True
    amounts = reader.amounts(span)
    if any(one.start < cut.start() < one.end for one in amounts):  # "october 16 , 1983"
        return span, len(amounts) == 1
    return span, False


def _first_part(
    reader: ContextReader, span: Span, followed: bool, alone: bool
) -> tuple[Span, bool] | None:
    """What stands first behind an attribute; up to the next joint where another one follows."""
    trimmed = _trim(reader.text, span)
    if trimmed is None:
        return None
    amounts = reader.amounts(trimmed)
    if amounts and amounts[0].start == trimmed.start:  # "12.2 million in the first quarter"
        rest = _PREPOSITION.search(reader.text, amounts[0].end, trimmed.end)
        trimmed = Span(trimmed.start, rest.start() if rest else trimmed.end)
    joints = [
        match
        for match in _JOINT.finditer(reader.text, trimmed.start, trimmed.end)
        if not any(one.start < match.start() < one.end for one in reader.amounts(trimmed))
    ]
    if not joints:
        return trimmed, True
    if not followed and alone:
        return trimmed, not any(map(str.isdigit, reader.text[slice(*trimmed)]))
    first = _trim(reader.text, Span(trimmed.start, joints[0].start()))
    return (first, followed and len(joints) == 1) if first else None


def _trim(text: str, span: Span) -> Span | None:
    """A place without the little words, verbs and marks at its ends; ``None`` where nothing is."""
    start, end = span
    while True:
        while start < end and text[start] in _EDGES:
            start += 1
        while end > start and text[end - 1] in _EDGES:
            end -= 1
        if start >= end:
            return None
        first = re.match(r"[^\W_]+", text[start:end])
        if first and first[0] in _EDGE_WORDS:
            start += len(first[0])
            continue
        last = re.search(r"(?<![^\W_])[^\W_]+$", text[start:end])
        if last and last[0] in _EDGE_WORDS:
            end -= len(last[0])
            continue
        return Span(start, end)
