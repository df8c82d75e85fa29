"""How a row is put into words: each cell once, verbatim, every sentence naming its entity.

The patterns and the lists of words are in ``sentences.yaml``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Sequence
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import yaml

from tablemend.datasets.tablehallu.columns import Column, TypedTable
from tablemend.datasets.tablehallu.compose import Sentence, Stated, StatedRow
from tablemend.datasets.tablehallu.scope import Row
from tablemend.programs.nouns import EVENTS, is_plural, label_of, with_article

_DATA: dict[str, Any] = yaml.safe_load(Path(__file__).with_suffix(".yaml").read_text("utf-8"))
SINGLE: dict[str, list[str]] = _DATA["single"]
"""Style of a column -> sentences with one fact."""
CLAUSES: dict[str, list[str]] = _DATA["clauses"]
"""Style of a column -> the part of a sentence about one fact among several."""
FRAMES: dict[int | str, list[str]] = _DATA["frames"]
"""Number of facts, or ``record`` -> sentences around the clauses."""

_PERIOD = re.compile(r"\b(?:19|20)\d\d\b")
_COUNT = re.compile(r"\d{1,3}(?:,\d{3})+|\d+")
_SIZES = (1, 1, 2, 2, 2, 3, 3)  # facts a sentence


class Pattern(NamedTuple):
    """Literal text around the entity and around the item (value or listing), in order."""

    before: str
    between: str
    after: str
    entity_first: bool


class Clause(NamedTuple):
    """Literal text around one value."""

    before: str
    after: str


class Wording(NamedTuple):
    """All ways to speak of one column's value."""

    single: list[Pattern]
    clauses: list[Clause]


def _pattern(text: str, item: str) -> Pattern:
    entity_at, item_at = text.index("{e}"), text.index(item)
    first, second = sorted((entity_at, item_at))
    return Pattern(text[:first], text[first + 3 : second], text[second + 3 :], entity_at < item_at)


def _wording(style: str, label: str, preposition: str = "in") -> Wording:
    def named(text: str) -> str:
        text = text.replace("{c}", label).replace("{a}", with_article(label))
        return text.replace("{p}", preposition)

    clauses = (named(text).split("{v}") for text in CLAUSES[style])
    return Wording(
        [_pattern(named(text), "{v}") for text in SINGLE[style]],
        [Clause(before, after) for before, after in clauses],
    )


_FRAMES = {size: [_pattern(text, "{l}") for text in texts] for size, texts in FRAMES.items()}


class Speaker:
    """Puts the rows of one table into words.

    Args:
        typed: the table.
        repeated: entities with several rows.
    """

    def __init__(self, typed: TypedTable, repeated: Container[str]) -> None:
        self._names = typed.table.columns
        self._key = typed.key
        self._repeated = repeated
        self._wordings = [_wordings_of(column) for column in typed.columns]

    def state(
        self, row: Row, columns: Sequence[int], violates: str | None, rng: Random
    ) -> StatedRow:
        """Sentences that state every given cell of a row once, the entity in each.

        One to three facts a sentence; an entity with more than one row gets
        one sentence with all its facts, so that no sentence leaves open which row it is about.
        The key itself is recorded in the first sentence.
        """
        entity = row[self._key] or ""
        given = [index for index in columns if index != self._key and row[index] is not None]
        random = rng.random
        # Fisher-Yates without the checks of Random.shuffle, which would cost the most here.
        for last in range(len(given) - 1, 0, -1):
            other = int(random() * (last + 1))
            given[last], given[other] = given[other], given[last]
        is_record = entity in self._repeated
        sentences: list[Sentence] = []
        start, count = 0, len(given)
        while start < count:
            size = count if is_record else _SIZES[int(random() * len(_SIZES))]
            facts = given[start : start + size]
            sentences.append(self._sentence(row, entity, facts, is_record, start == 0, random))
            start += size
        return StatedRow(entity, tuple(sentences), violates)

    def _sentence(
        self,
        row: Row,
        entity: str,
        facts: list[int],
        is_record: bool,
        with_key: bool,
        random: Callable[[], float],
    ) -> Sentence:
        """One sentence about some cells; the key is recorded as stated where asked for."""
        single = len(facts) == 1 and not is_record
        if single:
            patterns = self._wording(facts[0], row[facts[0]] or "").single
        else:
            patterns = _FRAMES["record" if is_record else len(facts)]
        before, between, after, entity_first = patterns[int(random() * len(patterns))]
        text = f"{before}{entity}{between}" if entity_first else before
        entity_at = len(before)
        stated = []
        last = len(facts) - 1
        for position, index in enumerate(facts):
            value = row[index] or ""
            if single:
                left = right = ""
            else:
                clauses = self._wording(index, value).clauses
                left, right = clauses[int(random() * len(clauses))]
                if position:
                    text += " and " if position == last else ", "
            start = len(text) + len(left)
            text = f"{text}{left}{value}{right}"
            stated.append(Stated(self._names[index], value, start, start + len(value)))
        if not entity_first:
            entity_at = len(text) + len(between)
            text = f"{text}{between}{entity}"
        if with_key:
            name = self._names[self._key]
            stated.append(Stated(name, entity, entity_at, entity_at + len(entity)))
        if text.endswith(".") and after == ".":
            after = ""  # "Inc." ends its sentence
        return Sentence(text + after, tuple(stated))

    def _wording(self, index: int, value: str) -> Wording:
        usual, counted = self._wordings[index]
        return counted if counted and value != "1" and _COUNT.fullmatch(value) else usual


def _wordings_of(column: Column) -> tuple[Wording, Wording | None]:
    """The usual wording, and the one for plain counts where the header is a plural."""
    label = label_of(column.name)
    plural = is_plural(label)
    if column.kind in ("category", "name", "text"):
        return _wording("many" if plural else column.kind, label), None
    if column.kind in ("year", "date"):
        if label in EVENTS:
            return _wording("event", label, "in" if column.kind == "year" else "on"), None
        return _wording(column.kind, label), None
    if _PERIOD.search(label):
        return _wording("period", label), None
    if plural or "(" in label:
        counted = _wording("count", label) if plural and not any(column.unit) else None
        return _wording("amounts", label), counted
    return _wording("unit" if any(column.unit) else "amount", label), None
