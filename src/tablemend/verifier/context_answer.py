"""An answer table read beside its context: which sentences are about which row and cell."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache

from tablemend.detector.keys import filled_rows, primary_key
from tablemend.tables.table import Table
from tablemend.values.blanks import is_blank
from tablemend.values.cells import Value, read_value, year_of
from tablemend.values.places import singular
from tablemend.values.sentences import Span
from tablemend.values.text import clean, header_key
from tablemend.values.words import LITTLE_WORDS, akin, content_words
from tablemend.verifier.context_records import Record, Records, Said, same_value
from tablemend.verifier.context_text import ContextReader
from tablemend.verifier.context_values import Label, StatedValue
from tablemend.verifier.scope import QueryScope, read_scope
from tablemend.verifier.scope_conditions import ScopeCondition

_EXPLICIT = 0.7  # share of supported cells that stand beside their attribute's name
_FEWEST = 2  # supported cells from which that can be told
_READ = 0.9  # share of the sentences about entities in which attributes are named and read
_SENTENCES = 3  # from which that can be told
_UNMIXED = 0.7  # share of a column's cells that are of its kind
_IN_WORDS = {"1": re.compile(r"\ban? ([\w-]+)"), "2": re.compile(r"\b(?:pair|couple) of ([\w-]+)")}
_WORDS_BEFORE = re.compile(
    r"(?<![\w'-])([a-z][\w'-]*(?:\s+(?:in|on|at|of|to|by|for|with|an?|the|about))*)\s+$"
)
_WORD_BEHIND = re.compile(r"\s+([^\W\d_][\w'-]*)")
_LOOKED_AT = 20  # sentences of a record that state a cell
_MANY = 500  # sentences of a record, of which none can be told to be a row's
_PAIRED = 20_000  # rows of one name times its records, beyond which none is chosen


@dataclass(slots=True)
class Look:
    """What the sentences about a row's entity have of a cell.

    Attributes:
        beside: sentences that give it to its attribute.
        free: sentences that state it and give it to no other attribute.
        claimed: other attributes that it is given to.
        unclear: sentences that state it and may be about another entity.
        other: what its attribute is given instead.
        perhaps: the same where the wording leaves room for doubt.
    """

    beside: list[int] = field(default_factory=list)
    free: list[int] = field(default_factory=list)
    claimed: list[tuple[StatedValue, int]] = field(default_factory=list)
    unclear: list[int] = field(default_factory=list)
    other: list[Said] = field(default_factory=list)
    perhaps: list[Said] = field(default_factory=list)


class AnswerReader:
    """An answer table beside its context; the context is indexed once.

    Args:
        table: the answer.
        context: the text that it was made from.
        query: what was asked for; may be empty.
    """

    def __init__(self, table: Table, context: str, query: str = "") -> None:
        self.table = table
        self.context = context
        self.query = query
        self.key = primary_key(table)
        self.rows = filled_rows(table)
        self.scope: QueryScope = read_scope(query, table) if query.strip() else QueryScope()
        named = [condition.label for condition in self.scope.conditions if condition.label]
        names = (*table.columns, *self.missing_columns(), *named)
        self.labels = {name: Label.of(name) for name in names if name != table.columns[self.key]}
        self.reader = ContextReader(
            context,
            [name for row in self.rows if (name := self.name(row))],
            table.columns[self.key],
            (*table.columns, *(cell for row in table.rows for cell in row if cell), query),
        )
        # A condition on the names themselves is met by a row's name, whatever is said of it.
        self.conditions = [
            condition
            for condition in self.scope.conditions
            if condition.label != table.columns[self.key] and self.is_known(condition)
        ]
        timed = any(len(rows) > 1 for rows in self.rows_of.values())
        self.records = Records(self.reader, self.labels.values(), self.conditions, timed)
        # Each row and cell is looked up once.
        self._find = lru_cache(maxsize=None)(self.reader.places.find)
        self._frames = lru_cache(maxsize=None)(self._rows_of_frames)
        self._unplaced = lru_cache(maxsize=None)(self._numbers_left)
        self.look = lru_cache(maxsize=None)(self._look)

    def name(self, row: int) -> str:
        """What a row is about; empty where its key is blank."""
        cell = self.table.rows[row][self.key]
        return "" if is_blank(cell) else clean(cell or "")

    def is_known(self, condition: ScopeCondition) -> bool:
        """Whether a value that a condition admits stands anywhere; else it may be spelt otherwise.

        "USA" rules out no row of a table and a text that say "United States".
        """
        cells = {clean(cell).lower() for row in self.table.rows for cell in row if cell}
        return not condition.values or any(
            value.lower() in cells or self.reader.places.find(value) for value in condition.values
        )

    def missing_columns(self) -> tuple[str, ...]:
        """Columns that the query lists and the answer lacks."""
        known = set(map(header_key, self.table.columns))
        return tuple(name for name in self.scope.columns if header_key(name) not in known)

    @cached_property
    def rows_of(self) -> dict[str, list[int]]:
        """The rows of each name."""
        rows: dict[str, list[int]] = defaultdict(list)
        for row in self.rows:
            if name := self.name(row):
                rows[name].append(row)
        return dict(rows)

    # which record a row is

    def record(self, row: int) -> Record | None:
        """What the context says of a row; all that it may be where that is not plain."""
        return self._chosen.get(row, (None, False))[0]

    def is_sure(self, row: int) -> bool:
        """Whether nothing but its record can be meant by a row."""
        if not self._chosen.get(row, (None, False))[1]:
            return False
        rows = self.rows_of[self.name(row)]
        several = len(self.records.in_scope(self.name(row))[1]) > 1
        return several or row in self.repeated or sum(n not in self.repeated for n in rows) < 2

    @cached_property
    def _chosen(self) -> dict[int, tuple[Record, bool]]:
        """For each row the record that has most of its cells, and whether it is the only one."""
        chosen: dict[int, tuple[Record, bool]] = {}
        for name, rows in self.rows_of.items():
            _, records, _ = self.records.in_scope(name)
            merged = Record(tuple(about for part in records for about in part.sentences))
            for row in rows if records else ():
                chosen[row] = (merged, len(records) == 1)
                if len(records) > 1 and len(records) * len(rows) <= _PAIRED:
                    scores = [self._agreement(row, record) for record in records]
                    best = max(scores)
                    if scores.count(best) == 1 and 2 * best > len(self.filled(row)):
                        chosen[row] = (records[scores.index(best)], True)
        return chosen

    @cached_property
    def repeated(self) -> dict[int, int]:
        """Rows that repeat another, or fit no record in scope, with the row that is right.

        Of rows that differ so many are too many as their name has fewer records in scope: those
        that fit a record out of scope better, or, where the context plainly gives it so many
        records, each in a sentence of its own, those that fit worst.
        """
        found: dict[int, int] = {}
        for name, rows in self.rows_of.items():
            distinct: dict[tuple[str, ...], int] = {}
            for row in rows if len(rows) > 1 else ():
                cells = tuple(read_value(cell).text for cell in self.table.rows[row])
                if distinct.setdefault(cells, row) != row:
                    found[row] = distinct[cells]
            met, records, _ = self.records.in_scope(name)
            others = [record for record in self.records.of(name) if record not in records]
            many = len(distinct) * (len(records) + len(others)) > _PAIRED
            if many or met is False or not 0 < len(records) < len(distinct):
                continue
            fits = []
            for row in distinct.values():
                inside = max(self._agreement(row, record) for record in records)
                outside = max((self._agreement(row, record) for record in others), default=0)
                fits.append((inside - outside, inside, -row))
            fits.sort()
            plain = met and self.is_explicit and all(len(one.sentences) == 1 for one in records)
            worst = fits[: len(distinct) - len(records)]
            found |= {-row: -fits[-1][2] for fit, _, row in worst if fit < 0 or plain}
        return found

    def filled(self, row: int) -> list[int]:
        """The columns of a row that are no blanks, beside its name."""
        cells = self.table.rows[row]
        return [i for i, cell in enumerate(cells) if i != self.key and not is_blank(cell)]

    def _agreement(self, row: int, record: Record) -> int:
        """How many cells of a row a record states."""
        return sum(bool(self.sentences_with(row, column, record)) for column in self.filled(row))

    def _look(self, row: int, column: int) -> Look:
        """What the context has of a cell."""
        look, record = Look(), self.record(row)
        if record is None:
            return look
        name, header = self.name(row), self.table.columns[column]
        value, unit = read_value(self.table.rows[row][column]), self.labels[header].unit
        said = self.records.said(name, record, header) if len(record.sentences) < _MANY else ()
        for one in said:
            if same_value(value, one.value, unit):
                unclear = one.about.bond == "unclear"
                (look.unclear if unclear else look.beside).append(one.about.sentence)
            elif one.about.sure and self.is_of_kind(column, one.value):
                (look.other if one.plain else look.perhaps).append(one)
        if not look.beside and self._is_said_in_words(value, header, record):
            look.free.append(record.sentences[0].sentence)
        for sentence, span in self.sentences_with(row, column, record):
            readings = [
                stated
                for stated in self.records.readings(sentence)
                if stated.span.start < span.end and span.start < stated.span.end
            ]
            if record.numbers[sentence].bond == "unclear":
                look.unclear.append(sentence)
            elif any(stated.label == header for stated in readings):
                look.beside.append(sentence)
            elif claimed := [one for one in readings if one.sure and self._is_fit(one)]:
                look.claimed.append((claimed[0], sentence))
            else:
                look.free.append(sentence)
        if not look.beside and same_value(value, read_value(name), unit):
            look.beside.append(record.sentences[0].sentence)
        return look

    def _is_fit(self, stated: StatedValue) -> bool:
        """Whether an attribute can have what it is given: no year for "Discoverer"."""
        if stated.label not in self.table.columns:
            return True
        value = read_value(self.context[slice(*stated.span)])
        return self.is_of_kind(self.table.columns.index(stated.label), value)

    def _is_said_in_words(self, value: Value, header: str, record: Record) -> bool:
        """Whether a one or two is said with its attribute: "an assist", "a pair of steals"."""
        pattern = _IN_WORDS.get(value.text)
        if pattern is None:
            return False
        words = content_words(header)
        return any(
            akin(singular(match[1].lower()), word)
            for about in record.sentences[:_LOOKED_AT]
            for match in pattern.finditer(self.context, *self.reader.sentences[about.sentence])
            for word in words
        )

    def is_of_kind(self, column: int, value: Value) -> bool:
        """Whether a value can stand in a column: no text in a column of numbers."""
        kind = self.kinds[column]
        return kind in ("", kind_of(value)) or (kind == "number" and value.number is not None)

    @cached_property
    def kinds(self) -> list[str]:
        """For each column what it holds, as :func:`kind_of`; empty where it is mixed.

        Years among other numbers are numbers: 2,988 votes.
        """
        kinds: list[str] = []
        for column in range(len(self.table.columns)):
            values = [read_value(self.table.rows[row][column]) for row in self.rows]
            counts = Counter(kind_of(value) for value in values if not value.blank)
            if counts["number"] and not any(value.dates for value in values):
                counts["number"] += counts.pop("time", 0)
            kind, most = max(counts.items(), key=lambda one: one[1], default=("", 0))
            kinds.append(kind if most > _UNMIXED * sum(counts.values()) else "")
        return kinds

    @cached_property
    def is_explicit(self) -> bool:
        """Whether the context names attributes as the table does, most of the time.

        Then a value that stands nowhere beside its attribute is not there; prose in freer words
        may have said it in another way.
        """
        looks = [self.look(row, column) for row in self.rows for column in self.filled(row)]
        beside = sum(bool(look.beside or look.other) for look in looks)
        free = sum(bool(look.free) and not look.beside for look in looks)
        if beside >= _FEWEST and beside >= _EXPLICIT * (beside + free):
            return True
        named = [n for n in range(len(self.reader.sentences)) if self.reader.names_in(n)]
        read = sum(any(one.sure for one in self.records.readings(number)) for number in named)
        return beside >= free and len(named) >= _SENTENCES and read >= _READ * len(named)

    def stated_alike(self, row: int, column: int) -> list[Span]:
        """The numbers that a row's sentences have in the same words as others have this column's.

        In "Alba won 12 games. Orla won 9 games." it is the 9, where Alba's 12 is in the column.
        """
        record, frames = self.record(row), self._frames(column)
        found = []
        for about in record.sentences[:_LOOKED_AT] if record else ():
            for span in self.reader.amounts(self.reader.sentences[about.sentence]):
                frame = self._frame(span)
                if about.sure and any(frame) and frames.get(frame, set()) - {row}:
                    found.append(span)
        return found

    def only_left(self, row: int, column: int) -> Span | None:
        """The one number or time of a row's sentences that can be a cell: the others have theirs.

        No other cell of the row seeks one, and of other rows, four in five at least, none is left.
        """
        record, exact = self.record(row), ("number", "time")
        if record is None or self.kinds[column] not in exact or not self.is_sure(row):
            return None
        seeking = [
            other
            for other in range(len(self.table.columns))
            if other != self.key
            and self.kinds[other] in ("", *exact)
            and not self.sentences_with(row, other, record)
        ]
        found, others = self._left(row, column), [one for one in self.rows if one != row]
        unplaced = sum(bool(self._left(one, column)) for one in others)
        plain = seeking == [column] and len(others) >= _FEWEST and 5 * unplaced <= len(others)
        return found[0] if plain and len(found) == 1 else None

    def _left(self, row: int, column: int) -> list[Span]:
        """What of a row's sentences could stand in a column, and stands in no cell of the row."""
        return [
            span
            for span in self._unplaced(row)
            if self.is_of_kind(column, read_value(self.context[slice(*span)]))
        ]

    def _numbers_left(self, row: int) -> list[Span]:
        """Numbers and dates of a row's sentences that are no cell's and no other attribute's."""
        record = self.record(row)
        if record is None or len(record.sentences) > _LOOKED_AT:
            return []
        cells = [
            span
            for column in self.filled(row)
            for _, span in self.sentences_with(row, column, record)
        ]
        found: list[Span] = []
        for about in record.sentences:
            places = [*cells, *(place for place, _ in self.reader.names_in(about.sentence))]
            readings = self.records.readings(about.sentence)
            places += [one.span for one in readings if one.label not in self.table.columns]
            found += [
                span
                for span in self.reader.amounts(self.reader.sentences[about.sentence])
                if about.sure and not any(a < span.end and span.start < b for a, b in places)
            ]
        return found

    def _rows_of_frames(self, column: int) -> dict[tuple[str, str], set[int]]:
        """The words around a column's numbers, with the rows that have them."""
        found: dict[tuple[str, str], set[int]] = defaultdict(set)
        for row in self.rows if self.kinds[column] in ("number", "time") else ():
            record = self.record(row)
            for _, span in self.sentences_with(row, column, record) if record else ():
                found[self._frame(span)].add(row)
        return dict(found)

    def _frame(self, place: Span) -> tuple[str, str]:
        """The words directly before and behind a number; empty where they are a name or little."""
        start, end = self.reader.sentences[self.reader.sentence_at(place.start)]
        before = _WORDS_BEFORE.search(self.context, max(start, place.start - 40), place.start)
        behind = _WORD_BEHIND.match(self.context, place.end, end)
        found = (match[1] if match else "" for match in (before, behind))
        left, right = ("" if word.split(" ")[0] in LITTLE_WORDS else word for word in found)
        return left, right

    # places

    def find(self, row: int, column: int) -> list[Span]:
        """Every place of the context that states a cell's value."""
        cell, header = self.table.rows[row][column] or "", self.table.columns[column]
        return self._find(cell, self.labels[header].unit)

    def sentences_with(self, row: int, column: int, record: Record) -> list[tuple[int, Span]]:
        """Sentences of a record that state a cell, outside the names of entities; some of many."""
        found: list[tuple[int, Span]] = []
        for sentence, span in self._within(self.find(row, column), record):
            names = self.reader.names_in(sentence)
            if not any(one.start <= span.start and span.end <= one.end for one, _ in names):
                found.append((sentence, span))
                if len(found) >= _LOOKED_AT:
                    break
        return found

    def _within(self, places: Sequence[Span], record: Record) -> Iterator[tuple[int, Span]]:
        """Those of some places that stand in a record's sentences, by way of the shorter list."""
        if len(places) < len(record.sentences):
            for span in places:
                if (sentence := self.reader.sentence_at(span.start)) in record.numbers:
                    yield sentence, span
            return
        for about in record.sentences:
            start, end = self.reader.sentences[about.sentence]
            place = bisect_left(places, Span(start, start))
            while place < len(places) and places[place].start < end:
                yield about.sentence, places[place]
                place += 1


def kind_of(value: Value) -> str:
    """``time``, ``number`` or ``text``; a year is a time."""
    if value.dates or year_of(value):
        return "time"
    return "text" if value.number is None else "number"
