"""Where a sentence of a context names the attributes of an answer."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from tablemend.values.number_words import ONE_TO_TWELVE
from tablemend.values.places import singular
from tablemend.values.sentences import Span
from tablemend.values.text import tokens_of
from tablemend.values.units import Unit, header_unit
from tablemend.values.words import LITTLE_WORDS, akin, content_words
from tablemend.verifier.context_reading import ContextReader

_FUNCTION_WORDS = LITTLE_WORDS - {"no", "number", "total"}
_BRACKETS = re.compile(r"[(\[][^()\[\]]*[)\]]")
# "LABEL is V", "LABEL of V", "LABEL: V"
_LINK = (
    r"(?:(?:figure|value|number|amount|total)\s+)?"
    r"(?:is|was|are|were|reads?|of|at|stands?\s+at|stood\s+at|comes?\s+to|came\s+to"
    r"|amounts?\s+to|amounted\s+to|falls?\s+on|reach(?:es|ed)|totall?(?:s|ed)|remains?"
    r"|(?:is|was|are|were)\s+(?:given|reported|recorded|listed|put)\s+(?:as|at))"
)
VALUE_AFTER = re.compile(rf"^(?:\s*:|\s+{_LINK}\b\s*:?)\s*", re.I)
_LICENCE = re.compile(
    r"(?:(?:^|[\s,(:])(?:the|an?|this|its|his|her|their|as|in|for|under|by|with|and|or|was|were|is|are"
    r"|of|no|each|total|which|who|that)|[\d%),;:\"]|"
    rf"\b(?:{ONE_TO_TWELVE}))[\s-]+$",
    re.I,
)
_BEFORE_DIGIT = re.compile(r"\s+(?:in|on|at|by|to|with)\s+[$\u20ac\u00a3]?\d")
# "a red LABEL": whether it is the value only other sentences of the kind can tell
ADJECTIVE = re.compile(
    r"(?:^|[\s,])(?:an?|the|its|his|her|their) ([\w'-]+(?: [\w'-]+){0,2}) $", re.I
)
_BOUNDARY = re.compile(r"\s*(?:[.,;]|and\b|$)")


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


class Piece(NamedTuple):
    """An attribute or an entity in a sentence; ``label`` is empty for an entity."""

    start: int
    end: int
    label: str


def find_labels(
    reader: ContextReader, sentence: Span, labels: Sequence[Label], names: Sequence[Span]
) -> Iterator[Piece]:
    """Where attributes are named; a word belongs to one of them, the longest first."""
    tokens, offset = reader.tokens(sentence), sentence.start
    plain = reader.text[sentence.start : sentence.end].lower()
    free = [not any(name.start <= token.start < name.end for name in names) for token in tokens]
    wholes = [(text, label.name) for label in labels for text in label.spellings]
    forms = [(form, label.name) for label in labels for form in label.forms]
    wholes.sort(key=lambda one: -len(one[0]))
    forms.sort(key=lambda one: -len(one[0]))
    found: set[str] = set()

    def take(place: int, size: int, end: int, label: str) -> Iterator[Piece]:
        for index in range(place, place + size):
            free[index] = False
        piece = Piece(tokens[place].start, max(end, tokens[place + size - 1].end), label)
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


def _is_licensed(reader: ContextReader, piece: Piece) -> bool:
    """Whether words stand where an attribute does, not inside a value: "Hill High School".

    Behind an article, a preposition or an amount, at the beginning, or before a link.
    """
    text = reader.text
    before = text[max(0, piece.start - 24) : piece.start]
    return bool(
        _LICENCE.search(before)
        or (ADJECTIVE.search(before) and _BOUNDARY.match(text, piece.end))
        or VALUE_AFTER.match(text[piece.end : piece.end + 40])
        or _BEFORE_DIGIT.match(text[piece.end : piece.end + 24])
        or piece.start in reader.starts_of_sentences
    )
