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

from tablemend.values.places import singular
from tablemend.values.sentences import Span
from tablemend.values.text import tokens_of
from tablemend.values.units import Unit, header_unit
from tablemend.values.words import LITTLE_WORDS, akin, content_words
from tablemend.verification.context_reading import ContextReader

_FUNCTION_WORDS = LITTLE_WORDS - {"no", "number", "total"}
_BRACKETS = re.compile(r"[(\[][^()\[\]]*[)\]]")
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
# "LABEL is V", "LABEL of V", "LABEL: V"
_LINK = (
    r"(?:(?:figure|value|number|amount|total)\s+)?"
    r"(?:is|was|are|were|reads?|of|at|stands?\s+at|stood\s+at|comes?\s+to|came\s+to"
    r"|amounts?\s+to|amounted\s+to|falls?\s+on|reach(?:es|ed)|totall?(?:s|ed)|remains?"
    r"|(?:is|was|are|were)\s+(?:given|reported|recorded|listed|put)\s+(?:as|at))"
)
_VALUE_AFTER = re.compile(rf"^(?:\s*:|\s+{_LINK}\b\s*:?)\s*", re.I)
_OF_ENTITY = re.compile(
    r"^\s+(?:(?:figure|value|given|noted|recorded|reported|listed)\s+)?(?:of|for)\s+(?:the\s+)?$",
    re.I,
)
_BEFORE_AMOUNT = re.compile(r"^\s*(?:in|on|at|by|to|of|with|:)?\s*(?:about|only|just|over)?\s*$")
_ARTICLE = re.compile(r"(?:^|[\s,(])(?:the|an?|this|its|his|her|their)\s+$", re.I)
_LICENCE = re.compile(
    r"(?:(?:^|[\s,(:])(?:the|an?|this|its|his|her|their|as|in|for|under|by|with|and|or|was|were|is|are"
    r"|of|no|each|total|which|who|that)|[\d%),;:\"]|\b(?:one|two|three|four|five|six|seven|eight|nine|ten"
    r"|eleven|twelve))[\s-]+$",
    re.I,
)
_BEFORE_DIGIT = re.compile(r"\s+(?:in|on|at|by|to|with)\s+[$\u20ac\u00a3]?\d")
# "a red LABEL": whether it is the value only other sentences of the kind can tell
_ADJECTIVE = re.compile(
    r"(?:^|[\s,])(?:an?|the|its|his|her|their) ([\w'-]+(?: [\w'-]+){0,2}) $", re.I
)
_CODE = re.compile(r"((?: [A-Z]\w*){1,2})\s*(?:[.,;]|and\b|$)")
_HAS = re.compile(r"\w\s+(?:has|have|had|lists?|names?|gives?|shows?)\s+$")
_BOUNDARY = re.compile(r"\s*(?:[.,;]|and\b|$)")
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


class Label(NamedTuple):
    """An attribute as a text may name it.

    Attributes:
        name: the column's name, or the query's word for it.
        spellings: the name in small letters, with and without what stands in brackets.
        forms: runs of words that name it, the longest first; none where it has no words.
        unit: what the name states.
    """

    name: str
    spellings: tuple[str, ...]
    forms: tuple[tuple[str, ...], ...]
    unit: Unit

    @classmethod
    def of(cls, name: str) -> Label:
        """The label of a column."""
        forms = []
        for text in (name, _BRACKETS.sub(" ", name)):
            forms.append(tuple(map(singular, tokens_of(text).words)))
        forms.append(tuple(content_words(name)))
        forms = [form for form in forms if form and not _FUNCTION_WORDS.issuperset(form)]
        texts = (name.lower(), " ".join(_BRACKETS.sub(" ", name.lower()).split()))
        spellings = dict.fromkeys(text for text in texts if any(map(str.isalnum, text)))
        return cls(name, tuple(spellings), tuple(dict.fromkeys(forms)), header_unit(name))


class Stated(NamedTuple):
    """A value that a sentence gives to an attribute.

    Attributes:
        label: the attribute's name.
        span: where the value stands.
        sure: whether its extent and its attribute are plain from the wording.
    """

    label: str
    span: Span
    sure: bool


class _Piece(NamedTuple):
    """An attribute or an entity in a sentence; ``label`` is empty for an entity."""

    start: int
    end: int
    label: str


def read_sentence(
    reader: ContextReader, sentence: int, labels: Sequence[Label]
) -> tuple[Stated, ...]:
    """Everything that a sentence states of these attributes."""
    span = reader.sentences[sentence]
    names = [place for place, _ in reader.names_in(sentence)]
    pieces = [_Piece(*place, "") for place in names]
    pieces += _find_labels(reader, span, labels, names)
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


def _find_labels(
    reader: ContextReader, sentence: Span, labels: Sequence[Label], names: Sequence[Span]
) -> Iterator[_Piece]:
    """Where attributes are named; a word belongs to one of them, the longest first."""
    tokens, offset = reader.tokens(sentence), sentence.start
    plain = reader.text[sentence.start : sentence.end].lower()
    free = [not any(name.start <= token.start < name.end for name in names) for token in tokens]
    wholes = [(text, label.name) for label in labels for text in label.spellings]
    forms = [(form, label.name) for label in labels for form in label.forms]
    wholes.sort(key=lambda one: -len(one[0]))
    forms.sort(key=lambda one: -len(one[0]))
    found: set[str] = set()

    def take(place: int, size: int, end: int, label: str) -> Iterator[_Piece]:
        for index in range(place, place + size):
            free[index] = False
        piece = _Piece(tokens[place].start, max(end, tokens[place + size - 1].end), label)
        if _is_licensed(reader, piece):
            found.add(label)
            yield piece

    for text, label in wholes:
        for place, token in enumerate(tokens):
            end = token.start + len(text)
            if free[place] and plain.startswith(text, token.start - offset):
                size = sum(token.start <= other.start < end for other in tokens[place:])
                if not plain[end - offset : end - offset + 1].isalnum():
                    yield from take(place, size, end, label)
    for same in (str.__eq__, akin):
        for form, label in forms:
            if label in found:
                continue
            place, size = 0, len(form)
            while place + size <= len(tokens):
                run = range(place, place + size)
                if all(free[i] and same(tokens[i].word, form[i - place]) for i in run):
                    yield from take(place, size, 0, label)
                    place += size
                else:
                    place += 1


def _is_licensed(reader: ContextReader, piece: _Piece) -> bool:
    """Whether words stand where an attribute does, not inside a value: "Hill High School".

    Behind an article, a preposition or an amount, at the beginning, or before a link.
    """
    text = reader.text
    before = text[max(0, piece.start - 24) : piece.start]
    return bool(
        _LICENCE.search(before)
        or (_ADJECTIVE.search(before) and _BOUNDARY.match(text, piece.end))
        or _VALUE_AFTER.match(text[piece.end : piece.end + 40])
        or _BEFORE_DIGIT.match(text[piece.end : piece.end + 24])
        or piece.start in reader.starts_of_sentences
    )


def _read(reader: ContextReader, sentence: Span, pieces: Sequence[_Piece]) -> Iterator[Stated]:
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
        yield Stated(piece.label, place, sure)


def _before(
    reader: ContextReader, start: int, left: str, right: str, named: _Piece | None
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
    reader: ContextReader, sentence: Span, pieces: Sequence[_Piece], number: int, left: str
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
    match = _ADJECTIVE.search(left)
    if match is None or not _EDGE_WORDS.isdisjoint(match[1].split()):
        return None
    return Span(start + match.start(1), start + match.end(1)), False


def _after(
    reader: ContextReader,
    sentence: Span,
    pieces: Sequence[_Piece],
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
        link = _VALUE_AFTER.match(text[start:end])
        if link is None and not leads:
            return None
        start += link.end() if link else 0
    elif link := _VALUE_AFTER.match(right):
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
