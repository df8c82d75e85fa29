"""Which values a sentence of a context gives to which attribute: "V as the LABEL", "LABEL is V".

The reading is of English attribution in general: names of entities and of attributes part a
sentence into segments, and the words between an attribute and its value (*is*, *of*, *as the*,
*in*, a colon, nothing at all) say on which side of it the value stands.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from tablemend.values.number_words import ONE_TO_TWELVE
from tablemend.values.places import singular
from tablemend.values.sentences import Span
from tablemend.values.text import tokens_of
from tablemend.values.units import Unit, header_unit
from tablemend.values.words import LITTLE_WORDS, akin, content_words
from tablemend.verifier.context_text import ContextReader

_FUNCTION_WORDS = LITTLE_WORDS - {"no", "number", "total"}
_BRACKETS = re.compile(r"[(\[][^()\[\]]*[)\]]")
# "LABEL is V", "LABEL of V", "LABEL: V"
_VALUE_AFTER = re.compile(
    r"\s*:\s*|\s+(?:(?:figure|value|number|amount|total)\s+)?"
    r"(?:is|was|are|were|reads?|of|at|stands?\s+at|stood\s+at|comes?\s+to|came\s+to"
    r"|amount(?:s|ed)\s+to|falls?\s+on|reach(?:es|ed)|totall?(?:s|ed)|remains?"
    r"|(?:is|was|are|were)\s+(?:given|reported|recorded|listed|put)\s+(?:as|at))\b\s*:?\s*",
    re.I,
)
# Words stand where an attribute does, not inside a value ("Hill High School"), behind these.
_LICENCE = re.compile(
    r"(?:(?:^|[\s,(:])(?:the|an?|this|its|his|her|their|as|in|for|under|by|with|and|or|was|were|is|are"
    r"|of|no|each|total|which|who|that)|[\d%),;:\"]|"
    rf"\b(?:{ONE_TO_TWELVE}))[\s-]+$",
    re.I,
)
_BEFORE_DIGIT = re.compile(r"\s+(?:in|on|at|by|to|with)\s+[$\u20ac\u00a3]?\d")
# "a red LABEL": whether it is the value only other sentences of the kind can tell
_ADJECTIVE = re.compile(
    r"(?:^|[\s,])(?:an?|the|its|his|her|their) ([\w'-]+(?: [\w'-]+){0,2}) $", re.I
)
_BOUNDARY = re.compile(r"\s*(?:[.,;]|and\b|$)")
# "V as the LABEL", "V in LABEL"; "V is the LABEL of E"
_VALUE_BEFORE = re.compile(
    r"(?:^|[\s,;])(?:as|in|for|under)\s+(?:(?:the|its|his|her|their|an?)\s+)?$", re.I
)
_NAMED_AS = re.compile(
    r"\s(?:is|was|are|were)\s+(?:(?:given|listed|named)\s+)?(?:as\s+)?the\s+$", re.I
)
_HEAD = re.compile(r"[\W_]*(?:as|under|by|in|for|as for)\s+(?:the\s+)?$", re.I)
_OF_ENTITY = re.compile(
    r"\s+(?:(?:figure|value|given|noted|recorded|reported|listed)\s+)?(?:of|for)\s+(?:the\s+)?$",
    re.I,
)
_BEFORE_AMOUNT = re.compile(r"\s*(?:in|on|at|by|to|of|with|:)?\s*(?:about|only|just|over)?\s*$")
_ARTICLE = re.compile(r"(?:^|[\s,(])(?:the|an?|this|its|his|her|their)\s+$", re.I)
_PREPOSITION = re.compile(r"\s(?:with|in|for|by|at|from|while|which|who|but|when|after|before)\s")
_AS = re.compile(r"\s+as\s+(?:the|its|his|her|their|an?)\s+", re.I)
_OF = re.compile(r"\s+(?:\w+\s+)?(?:of|for)\b")
_NEXT_DIGIT = re.compile(r"\s+[$\u20ac\u00a3]?\d")
_JOINT = re.compile(r",\s+(?:and\s+)?|\s+and\s+|;\s+")
_RANGE = re.compile(r"\s*[-\u2013/:]\s*")
_BRACKET_BEHIND = re.compile(r" ?\([^()]{1,20}\)")
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
        forms: runs of words that name it, with and without what stands in brackets.
        unit: what the name states.
    """

    name: str
    forms: tuple[tuple[str, ...], ...]
    unit: Unit

    @classmethod
    def of(cls, name: str) -> Label:
        """The label of a column."""
        texts = (name, _BRACKETS.sub(" ", name))
        forms = [tuple(map(singular, tokens_of(text).words)) for text in texts]
        forms.append(tuple(content_words(name)))
        forms = [form for form in forms if form and not _FUNCTION_WORDS.issuperset(form)]
        return cls(name, tuple(dict.fromkeys(forms)), header_unit(name))


class Piece(NamedTuple):
    """An attribute or an entity in a sentence; ``label`` is empty for an entity."""

    start: int
    end: int
    label: str


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


Found = tuple[Span, bool] | None
"""A value and whether it is plain."""


def read_sentence(
    reader: ContextReader, sentence: int, labels: Sequence[Label]
) -> Iterator[StatedValue]:
    """Everything that a sentence states of these attributes."""
    span, text = reader.sentences[sentence], reader.text
    names = [place for place, _ in reader.names_in(sentence)]
    pieces = sorted(
        [*(Piece(*place, "") for place in names), *_find_labels(reader, span, labels, names)]
    )
    pieces = [
        piece
        for piece, after in zip(pieces, [*pieces[1:], Piece(0, 0, "")], strict=False)
        if not (piece.label and after.label and _AS.fullmatch(text, piece.end, after.start))
    ]  # "+ 1 lap as the time" speaks of no laps
    taken = span.start  # values never overlap
    for number, piece in enumerate(pieces):
        if piece.label:
            segment = _Segment(reader, span, pieces, number, taken)
            found = segment.before() or segment.after() or segment.adjective()
            if found is not None:
                taken = max(taken, found[0].end)
                yield StatedValue(piece.label, *found)


def _find_labels(
    reader: ContextReader, sentence: Span, labels: Sequence[Label], names: Sequence[Span]
) -> Iterator[Piece]:
    """Where attributes are named: as they are spelled, in the same words, in forms of them.

    A word belongs to one of them, the longest first.
    """
    tokens, plain = reader.tokens(sentence), reader.text[slice(*sentence)].lower()
    free = [not any(name.start <= token.start < name.end for name in names) for token in tokens]
    forms = [(form, label.name) for label in labels for form in label.forms]
    forms.sort(key=lambda one: -len(one[0]))
    found: set[str] = set()
    for step in ("spelled", "same", "akin"):
        same: Callable[[str, str], bool] = akin if step == "akin" else str.__eq__
        for form, label in forms:
            if step == "akin" and label in found:
                continue
            for place in range(len(tokens) - len(form) + 1):
                run = range(place, place + len(form))
                if not all(free[i] and same(tokens[i].word, form[i - place]) for i in run):
                    continue
                start, end = tokens[place].start, tokens[run[-1]].end
                whole = start + len(label)
                is_spelled = plain.startswith(label.lower(), start - sentence.start)
                if is_spelled and not reader.text[whole : whole + 1].isalnum():
                    end = max(end, whole)
                elif step == "spelled":
                    continue
                free[run.start : run.stop] = [False] * len(form)
                piece = Piece(start, end, label)
                if _is_licensed(reader, piece):
                    found.add(label)
                    yield piece


def _is_licensed(reader: ContextReader, piece: Piece) -> bool:
    """Whether words stand where an attribute does: behind an article, an amount, before a link."""
    text = reader.text
    before = text[max(0, piece.start - 24) : piece.start]
    return bool(
        _LICENCE.search(before)
        or (_ADJECTIVE.search(before) and _BOUNDARY.match(text, piece.end))
        or _VALUE_AFTER.match(text[piece.end : piece.end + 40])
        or _BEFORE_DIGIT.match(text[piece.end : piece.end + 24])
        or reader.starts[reader.sentence_at(piece.start)] == piece.start
    )


class _Segment:
    """An attribute in its sentence, with what stands between it and its neighbours.

    Args:
        reader: the context.
        sentence: place of the sentence.
        pieces: all that it names.
        number: of the attribute.
        taken: where the last value ends.
    """

    def __init__(
        self,
        reader: ContextReader,
        sentence: Span,
        pieces: Sequence[Piece],
        number: int,
        taken: int,
    ) -> None:
        self._reader, self._text, self._sentence, self._pieces = (
            reader,
            reader.text,
            sentence,
            pieces,
        )
        self._place = pieces[number]
        before = pieces[number - 1] if number else None
        self._start = max(before.end if before else sentence.start, taken)
        self._named = before if before and not before.label and before.end == self._start else None
        self._next = number + 1
        self._left = self._text[self._start : self._place.start]
        self._right = self._text[self._place.end : self._end(self._next)]
        at_start = self._start == sentence.start and _HEAD.match(self._left)
        self._leads = bool(at_start) and self._right.startswith(",")
        self._alone = sum(bool(piece.label) for piece in pieces) == 1

    def _end(self, number: int) -> int:
        """Where a piece begins, or the sentence ends."""
        return self._pieces[number].start if number < len(self._pieces) else self._sentence.end

    def _entity(self, number: int) -> Piece | None:
        """A piece that is an entity."""
        piece = self._pieces[number] if number < len(self._pieces) else None
        return piece if piece and not piece.label else None

    def before(self) -> Found:
        """The value that stands before its attribute."""
        if self._leads:
            return None
        match = _VALUE_BEFORE.search(self._left)
        if match is None and _OF.match(self._right):
            match = _NAMED_AS.search(self._left)
        if match is not None and not (self._named and _NEXT_DIGIT.match(self._right)):
            span = self._trim(Span(self._start, self._start + match.start()))
            if span is not None:
                return self._last_part(span)
            if self._named and not self._left[: match.start()].strip():
                return Span(self._named.start, self._named.end), True  # "E has F as the LABEL"
            return None
        amounts = self._reader.amounts(Span(self._start, self._place.start))
        if amounts:
            between = self._text[amounts[-1].end : self._place.start].strip()
            if not between:
                return self._with_bracket(amounts[-1]), True
            if between == "-":  # "a 13-point victory" is no number of points
                return amounts[-1], False
        return None

    def after(self) -> Found:
        """The value that stands behind its attribute."""
        start, number = self._place.end, self._next
        entity = self._entity(number)
        if self._leads:  # "As LABEL, E has V", "In LABEL, V is given for E"
            span = self._trim(Span(start, self._end(number)))
            if span is not None or entity is None:
                return (span, True) if span else None
        if self._leads or (entity and _OF_ENTITY.match(self._right)):  # "The LABEL of E is V"
            assert entity is not None
            start, number = entity.end, number + 1
            link = _VALUE_AFTER.match(self._text, start, self._end(number))
            if link is None and not self._leads:
                return None
        else:
            link = _VALUE_AFTER.match(self._text, start, self._end(number))
            if link is None:
                return self._beside()
        start = link.end() if link else start
        entity = self._entity(number)
        if entity and not self._text[start : entity.start].strip():
            return Span(entity.start, entity.end), True  # "The LABEL of E is another entity"
        return self._first_part(Span(start, self._end(number)), number < len(self._pieces))

    def _beside(self) -> Found:
        """The amount or the name directly behind an attribute: "LABEL 12", "the LABEL Hamar"."""
        span = Span(self._place.end, self._end(self._next))
        amounts = self._reader.amounts(span)
        if amounts and _BEFORE_AMOUNT.match(self._text[span.start : amounts[0].start]):
            value = amounts[0]
            for one in amounts[1:]:  # "4-0", "29 - 30 June 2010"
                if not _RANGE.fullmatch(self._text, value.end, one.start):
                    break
                value = Span(value.start, one.end)
            return self._with_bracket(value), True
        if _ARTICLE.search(self._left) and self._right[:1] == " ":
            found = self._first_part(span, self._next < len(self._pieces))
            if found and not self._reader.amounts(found[0]):
                words = self._text[slice(*found[0])].split()
                return found[0], found[1] and all(word[:1].isupper() for word in words)
        return None

    def adjective(self) -> Found:
        """The words between an article and an attribute: "a red flag"."""
        match = _ADJECTIVE.search(self._left)
        if match is None or not _EDGE_WORDS.isdisjoint(match[1].split()):
            return None
        return Span(self._start + match.start(1), self._start + match.end(1)), False

    def _with_bracket(self, amount: Span) -> Span:
        """An amount and the bracket behind it that belongs to its cell: "118 (3.5)"."""
        match = _BRACKET_BEHIND.match(self._text, amount.end)
        return Span(amount.start, match.end()) if match else amount

    def _last_part(self, span: Span) -> Found:
        """What stands last in a listing; unsure where more than one thing stands there."""
        amounts = self._reader.amounts(span)
        cuts = list(_JOINT.finditer(self._text, *span))
        if not cuts:
            return span, True
        cut = cuts[-1]
        if any(one.start < cut.start() < one.end for one in amounts):  # "october 16 , 1983"
            return span, len(amounts) == 1
        first, last = Span(span.start, cut.start()), Span(cut.end(), span.end)
        if self._trim(first) and self._trim(last):
            return span, False
        return self._trim(last) or self._trim(first) or span, True

    def _first_part(self, span: Span, followed: bool) -> Found:
        """What stands first behind an attribute; up to the next joint where another one follows."""
        trimmed = self._trim(span)
        if trimmed is None:
            return None
        amounts = self._reader.amounts(trimmed)
        if amounts and amounts[0].start == trimmed.start:  # "12.2 million in the first quarter"
            rest = _PREPOSITION.search(self._text, amounts[0].end, trimmed.end)
            trimmed = Span(trimmed.start, rest.start() if rest else trimmed.end)
        joints = [
            match
            for match in _JOINT.finditer(self._text, *trimmed)
            if not any(one.start < match.start() < one.end for one in amounts)
        ]
        if not joints:
            return trimmed, True
        if not followed and self._alone:
            return trimmed, not any(map(str.isdigit, self._text[slice(*trimmed)]))
        first = self._trim(Span(trimmed.start, joints[0].start()))
        return (first, followed and len(joints) == 1) if first else None

    def _trim(self, span: Span) -> Span | None:
        """A place without the little words, verbs and marks at its ends; ``None`` of nothing."""
        start, end = span
        while True:
            while start < end and self._text[start] in _EDGES:
                start += 1
            while end > start and self._text[end - 1] in _EDGES:
                end -= 1
            if not any(map(str.isalnum, self._text[start:end])):
                return None
            first = re.match(r"[^\W_]*", self._text[start:end])
            last = re.search(r"(?<![^\W_])[^\W_]*$", self._text[start:end])
            if first and first[0] in _EDGE_WORDS:
                start += len(first[0])
            elif last and last[0] in _EDGE_WORDS:
                end -= len(last[0])
            else:
                return Span(start, end)
