"""Sentences of the program read back: which entity they name, and which values they give it.

The patterns are those that :class:`~tablemend.datasets.tablehallu.sentences.Speaker` writes with. A
sentence that fits several of them has several readings; all are given, and who asks has to see
that they agree.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import chain
from typing import NamedTuple

from tablemend.datasets.tablehallu.sentences import (
    CLAUSES,
    FRAMES,
    SINGLE,
    label_of,
    with_article,
)
from tablemend.values.sentences import sentence_spans

Readings = dict[str, dict[str, set[str]]]
"""Entity -> column -> values."""

_ORDERED: tuple[str, ...] = (
    "year", "date", "event", "amount", "amounts", "count", "unit", "period",
)  # fmt: skip
_WORDED: tuple[str, ...] = ("category", "name", "text", "many")
_NUMBER_OR_DATE = re.compile(
    r"[-+$€£]*\d[\w.,%/-]*(?: [A-Z][a-z]+\.? \d{4}"
    r"| (?!(?:under|in|as|for|of)\b)[a-z%/]+)?|[A-Z][a-z]+\.? \d{1,2}, \d{4}"
)
_AFTER_INITIAL = re.compile(r"(?<= [A-Z]\.) (?=[A-Z\d])")
_PARTS = re.compile(r", | and ")


def read_sentences(sentences: Iterable[str], columns: Mapping[str, bool]) -> Readings:
    """Everything that sentences of the program say.

    Args:
        sentences: each as it is written.
        columns: the columns that they may speak of, and whether a column holds numbers or dates.
    """
    found: Readings = defaultdict(lambda: defaultdict(set))
    patterns = [_patterns(column, ordered) for column, ordered in columns.items()]
    for sentence in sentences:
        for entity, column, value in _read(sentence, patterns):
            found[entity][column].add(value)
    # A name that holds the words of a frame is also read too short: "Letters" of "Letters to Mo".
    return {
        entity: values
        for entity, values in found.items()
        if not any(other.startswith(f"{entity} ") for other in found)
    }


def added_sentences(text: str, original: str) -> list[str]:
    """The sentences of a text that the original does not have.

    A name such as "Zifim I" ends its sentence, though an initial does not; so does "Corp." before
    a sentence of the original.
    """
    for sentence in sentences_of(original):
        text = text.replace(sentence, "\n\n", 1)
    return [
        part
        for sentence in sentences_of(text)
        for part in _AFTER_INITIAL.split(sentence)
        if part not in original
    ]


def sentences_of(text: str) -> list[str]:
    """The sentences of a text."""
    return [text[start:end] for start, end in sentence_spans(text)]


class _Pattern(NamedTuple):
    """Literal text around an entity and an item."""

    before: str
    between: str
    after: str
    entity_first: bool


class _Patterns(NamedTuple):
    """How one column is spoken of.

    Attributes:
        ordered: its values are numbers or dates.
        single: sentences with one value.
        clauses: what stands before and behind a value in a listing.
    """

    column: str
    label: str
    ordered: bool
    single: tuple[_Pattern, ...]
    clauses: tuple[tuple[str, str], ...]


@lru_cache(maxsize=1024)
def _patterns(column: str, ordered: bool) -> _Patterns:
    label = label_of(column)

    def named(wordings: Mapping[str, Sequence[str]]) -> dict[str, None]:
        texts = (text for style in (_ORDERED if ordered else _WORDED) for text in wordings[style])
        return dict.fromkeys(
            text.replace("{a}", with_article(label)).replace("{c}", label).replace("{p}", word)
            for text in texts
            for word in ("in", "on")
        )

    return _Patterns(
        column,
        label,
        ordered,
        tuple(_pattern(text, "{v}") for text in named(SINGLE)),
        tuple((text.partition("{v}")[0], text.partition("{v}")[2]) for text in named(CLAUSES)),
    )


def _pattern(text: str, item: str) -> _Pattern:
    entity_at, item_at = text.index("{e}"), text.index(item)
    first, second = sorted((entity_at, item_at))
    return _Pattern(text[:first], text[first + 3 : second], text[second + 3 :], entity_at < item_at)


_FRAMES = tuple(
    _pattern(text, "{l}") for text in dict.fromkeys(chain.from_iterable(FRAMES.values()))
)


def _splits(text: str, pattern: _Pattern) -> Iterator[tuple[str, str]]:
    """Every entity and item that a sentence fits the pattern with."""
    before, between, after, entity_first = pattern
    if not (text.startswith(before) and text.endswith(after)):
        return
    inner = text[len(before) : len(text) - len(after)]
    place = inner.find(between, 1)
    while place > 0:
        parts = inner[:place], inner[place + len(between) :]
        if parts[1]:
            yield parts if entity_first else (parts[1], parts[0])
        place = inner.find(between, place + 1)


def _read(sentence: str, patterns: Sequence[_Patterns]) -> Iterator[tuple[str, str, str]]:
    spoken = [of_column for of_column in patterns if of_column.label in sentence]
    for of_column in spoken:
        for pattern in of_column.single:
            for entity, value in _splits(sentence, pattern):
                if _fits(value, of_column):
                    yield entity, of_column.column, value
                    break  # the shortest entity: longer ones swallow words of the frame
    for pattern in _FRAMES if spoken else ():
        for entity, listing in _splits(sentence, pattern):
            said = [list(_clause(part, spoken)) for part in _PARTS.split(listing)]
            if all(said):
                for column, value in chain.from_iterable(said):
                    yield entity, column, value
                break


def _clause(text: str, patterns: Sequence[_Patterns]) -> Iterator[tuple[str, str]]:
    for of_column in patterns:
        for before, after in of_column.clauses:
            if text.startswith(before) and text.endswith(after):
                value = text[len(before) : len(text) - len(after)]
                if _fits(value, of_column):
                    yield of_column.column, value


def _fits(value: str, of_column: _Patterns) -> bool:
    return bool(value) and (not of_column.ordered or bool(_NUMBER_OR_DATE.fullmatch(value)))
