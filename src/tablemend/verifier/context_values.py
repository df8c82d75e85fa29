"""Which values a sentence of a context gives to which attribute: "V as the LABEL", "LABEL is V".

The reading is of English attribution in general: names of entities and of attributes part a
sentence into segments, and the words between an attribute and its value (*is*, *of*, *as the*,
*in*, a colon, nothing at all) say on which side of it the value stands.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from tablemend.values.places import singular
from tablemend.values.sentences import Span
from tablemend.values.text import tokens_of
from tablemend.values.units import Unit, header_unit
from tablemend.values.words import LITTLE_WORDS, akin, content_words
from tablemend.verifier.context_text import ContextReader
from tablemend.verifier.wordings import any_of, words_of

_FUNCTION_WORDS = LITTLE_WORDS - {"no", "number", "total"}
_BRACKETS = re.compile(r"[(\[][^()\[\]]*[)\]]")
_THE = r"(?:the|its|his|her|their|an?)"
# "LABEL is V", "LABEL of V", "LABEL: V"
_VALUE_AFTER = re.compile(
    rf"\s*:\s*|\s+(?:{any_of('figure')}\s+)?{any_of('value_link')}\b\s*:?\s*", re.I
)
# "V as the LABEL", "V in LABEL"; "V is the LABEL of E"
_VALUE_BEFORE = re.compile(rf"(?:^|[\s,;])(?:as|in|for|under)\s+(?:{_THE}\s+)?$", re.I)
_NAMED_AS = re.compile(
    r"\s(?:is|was|are|were)\s+(?:(?:given|listed|named)\s+)?(?:as\s+)?the\s+$", re.I
)
_HEAD = re.compile(r"[\W_]*(?:as|under|by|in|for|as for)\s+(?:the\s+)?$", re.I)
# "of E", "of the match against E"
_OF_ENTITY = re.compile(
    rf"\s+(?:{any_of('figure')}\s+)?(?:of|for)\s+(?:the\s+(?:[a-z]+\s+){{0,3}})?$"
)
_PREPOSITION = re.compile(rf"\s{any_of('after_amount')}\s")
_AS = re.compile(rf"\s+as\s+{_THE}\s+", re.I)
_OF = re.compile(r"\s+(?:\w+\s+)?(?:of|for)\b")
_NEXT_DIGIT = re.compile(r"\s+[$\u20ac\u00a3]?\d")
_JOINT = re.compile(r",\s+(?:and\s+)?|\s+and\s+|;\s+")
_EDGE_WORDS = words_of("edges")
_PART = re.compile(r"[^\W_]+|[^\s,;:.!?]")  # a word, or a mark that does not part words


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
            found = segment.before() or segment.after()
            if found is not None:
                taken = max(taken, found[0].end)
                yield StatedValue(piece.label, *found)


def _find_labels(
    reader: ContextReader, sentence: Span, labels: Sequence[Label], names: Sequence[Span]
) -> Iterator[Piece]:
    """Where attributes are named: as they are spelled, in the same words, in forms of them.

    A word belongs to one of them, the longest first.
    """
    tokens, text = reader.tokens(sentence), reader.text
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
                if (
                    text[start:whole].lower() == label.lower()
                    and not text[whole : whole + 1].isalnum()
                ):
                    end = max(end, whole)  # "completion %", "Length (m)"
                elif step == "spelled":
                    continue
                free[run.start : run.stop] = [False] * len(form)
                found.add(label)
                yield Piece(start, end, label)


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
        self._reader, self._text = reader, reader.text
        self._place = pieces[number]
        before = pieces[number - 1] if number else None
        self._start = max(before.end if before else sentence.start, taken)
        self._named = before if before and not before.label and before.end == self._start else None
        self._following = [*pieces[number + 1 :], Piece(sentence.end, sentence.end, "")]
        self._left = self._text[self._start : self._place.start]
        self._right = self._text[self._place.end : self._following[0].start]
        at_start = self._start == sentence.start and _HEAD.match(self._left)
        self._leads = bool(at_start) and self._right.startswith(",")
        self._alone = sum(bool(piece.label) for piece in pieces) == 1

    def before(self) -> Found:
        """The value that stands before its attribute."""
        if self._leads:
            return None
        match = _VALUE_BEFORE.search(self._left)
        if match is None and _OF.match(self._right):
            match = _NAMED_AS.search(self._left)
        if match is not None and not (self._named and _NEXT_DIGIT.match(self._right)):
            span = self._trim(self._start, self._start + match.start())
            if span is not None:
                return self._last_part(span)
            if self._named and not self._left[: match.start()].strip():
                return Span(self._named.start, self._named.end), True  # "E has F as the LABEL"
            return None
        amounts = self._reader.amounts(Span(self._start, self._place.start))
        between = self._text[amounts[-1].end : self._place.start].strip() if amounts else None
        if between in ("", "-"):  # "a 13-point victory" is no number of points
            return amounts[-1], not between
        return None

    def after(self) -> Found:
        """The value that stands behind its attribute."""
        start, (following, *others) = self._place.end, self._following
        is_entity = bool(others) and not following.label
        if self._leads:  # "As LABEL, E has V", "In LABEL, V is given for E"
            span = self._trim(start, following.start)
            if span is not None or not is_entity:
                return (span, True) if span else None
        skips = self._leads or (is_entity and _OF_ENTITY.match(self._right))
        if skips:  # "The LABEL of E is V"
            start, (following, *others) = following.end, others
        link = _VALUE_AFTER.match(self._text, start, following.start)
        if link is None and not self._leads:
            return None
        start = link.end() if link else start
        if others and not following.label and not self._text[start : following.start].strip():
            return Span(following.start, following.end), True  # "The LABEL of E is another entity"
        return self._first_part(Span(start, following.start), bool(others))

    def _last_part(self, span: Span) -> Found:
        """What stands last in a listing; unsure where more than one thing stands there."""
        amounts = self._reader.amounts(span)
        cuts = list(_JOINT.finditer(self._text, *span))
        if not cuts:
            return span, True
        cut = cuts[-1]
        if any(one.start < cut.start() < one.end for one in amounts):  # "october 16 , 1983"
            return span, len(amounts) == 1
        first, last = self._trim(span.start, cut.start()), self._trim(cut.end(), span.end)
        return (span, False) if first and last else (last or first or span, True)

    def _first_part(self, span: Span, followed: bool) -> Found:
        """What stands first behind an attribute; up to the next joint where another one follows."""
        trimmed = self._trim(*span)
        if trimmed is None:
            return None
        amounts = self._reader.amounts(trimmed)
        if amounts and amounts[0].start == trimmed.start:  # "12.2 million in the first quarter"
            rest = _PREPOSITION.search(self._text, amounts[0].end, trimmed.end)
            trimmed = Span(trimmed.start, rest.start() if rest else trimmed.end)
        joints = [
            match.start()
            for match in _JOINT.finditer(self._text, *trimmed)
            if not any(one.start < match.start() < one.end for one in amounts)
        ]
        if not joints:
            return trimmed, True
        if not followed and self._alone:
            return trimmed, not any(map(str.isdigit, self._text[slice(*trimmed)]))
        first = self._trim(trimmed.start, joints[0])
        return (first, followed and len(joints) == 1) if first else None

    def _trim(self, start: int, end: int) -> Span | None:
        """A place without the little words, verbs and marks at its ends; ``None`` of nothing."""
        parts = deque(_PART.finditer(self._text, start, end))
        while parts and parts[0][0] in _EDGE_WORDS:
            parts.popleft()
        while parts and parts[-1][0] in _EDGE_WORDS:
            parts.pop()
        if not any(part[0].isalnum() for part in parts):
            return None
        return Span(parts[0].start(), parts[-1].end())
