"""An answer table read beside its context: which sentences are about which row and cell."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from itertools import islice

from tablemend.detector.keys import filled_rows, primary_key
from tablemend.tables.table import Table
from tablemend.values.cells import Value, is_blank, read_value, year_of
from tablemend.values.text import Span, akin, clean, content_words, header_key, singular
from tablemend.values.units import PLAIN, header_unit
from tablemend.verifier.answer_table.reader import ContextReader, Label, StatedValue
from tablemend.verifier.answer_table.records import (
    Attribution,
    ColumnPhrases,
    Record,
    Records,
    encloses,
    overlap,
    same_value,
)
from tablemend.verifier.query_parser import QueryScope, read_scope
from tablemend.verifier.query_phrases import ScopeCondition, is_generic_time, moments_of

_EXPLICIT = 0.7  # share of supported cells that stand beside their attribute's name
_FEWEST = 2  # supported cells from which that can be told
_READ = 0.9  # share of the sentences about entities in which attributes are named and read
_SENTENCES = 3  # from which that can be told
_MOST = 0.75  # share of a column's cells that are names of the query
_UNMIXED = 0.7  # share of a column's cells that are of its kind
_IN_WORDS = {"1": re.compile(r"\ban? ([\w-]+)"), "2": re.compile(r"\b(?:pair|couple) of ([\w-]+)")}
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
    other: list[Attribution] = field(default_factory=list)
    perhaps: list[Attribution] = field(default_factory=list)


class AnswerReader:
    """An answer table beside its context; the context is indexed once."""

    def __init__(self, table: Table, context: str, query: str = "") -> None:
        self.table = table
        self.context = context
        self.query = query
        self.key = primary_key(table)
        self.rows = filled_rows(table)
        names = [name for row in self.rows if (name := self.name(row))]
        known = (*table.columns, *(cell for row in table.rows for cell in row if cell), query)
        self.reader = ContextReader(context, names, table.columns[self.key], known)
        self.scope: QueryScope = read_scope(query, table) if query.strip() else QueryScope()
        conditions = (*map(self._of_column, self.scope.conditions), *self._of_values())
        self.scope = replace(self.scope, conditions=conditions)
        named = [condition.label for condition in conditions if condition.label]
        labels = (*table.columns, *self.missing_columns(), *named)
        key = table.columns[self.key]  # a small model may give two columns this header
        headers = labels if table.columns.count(key) > 1 else [one for one in labels if one != key]
        self.labels = {name: Label.of(name) for name in headers}
        # A condition on the names themselves is met by a row's name, whatever is said of it.
        stated = filter(self.is_known, self.scope.conditions)
        self.conditions = [one for one in stated if one.label != table.columns[self.key]]
        timed = any(len(rows) > 1 for rows in self.rows_of.values())
        # Each row and cell is looked up once.
        self._find = lru_cache(maxsize=None)(self.reader.places.find)
        self._left = lru_cache(maxsize=None)(self._left_over)
        self._places = lru_cache(maxsize=None)(self._places_of)
        self.learned = self._learn()
        self.records = Records(
            self.reader, self.labels.values(), self.conditions, timed, self._read_learned
        )
        self.look = lru_cache(maxsize=None)(self._look)

    def _learn(self) -> ColumnPhrases:
        """The wordings of the columns, and of what the query asks for in others."""
        labels = [name for name in self.table.columns if name in self.labels]
        asked = [
            one.label
            for one in self.conditions
            if one.label and one.label not in labels and not one.excluded
        ]
        texts = [i for i, kind in enumerate(self.kinds) if kind == "text" and i != self.key]
        cells = [span for i in texts for row in self.rows for span in self.find(row, i)]
        learned = ColumnPhrases(self.reader, cells, self.table.columns[self.key])
        for _ in range(2):  # names that are values no longer part a row from its sentences
            learned.learn(labels, list(dict.fromkeys(asked)), self._fits)
            said = (learned.read(n, self._can_be) for n in range(len(self.reader.sentences)))
            self.reader.give(one.span for values in said for one in values if one.sure)
        return learned

    def _read_learned(self, sentence: int) -> list[StatedValue]:
        return list(self.learned.read(sentence, self._can_be))

    def _fits(self, name: str, label: str, place: Span) -> bool | None:
        """Whether a name's cell of a column stands at a place; ``None`` where that says nothing."""
        if not self._can_be(label, place):
            return None
        if label not in self.table.columns:
            value, unit = read_value(self.context[slice(*place)]), self.labels[label].unit
            conditions = [one for one in self.conditions if one.label == label]
            return all(one.meets(value, unit) for one in conditions)
        places, is_stated = self._places(name, self.table.columns.index(label))
        return True if place in places else False if is_stated else None

    def _places_of(self, name: str, column: int) -> tuple[frozenset[Span], bool]:
        """Where the cells of a name's rows stand, and whether its own sentences state one."""
        places = frozenset(span for row in self.rows_of[name] for span in self.find(row, column))
        about = {one.sentence for one in self.reader.about[name]}
        return places, any(self.reader.sentence_at(one.start) in about for one in places)

    def _can_be(self, label: str, place: Span) -> bool:
        """Whether a column can hold what stands at a place."""
        value = read_value(self.context[slice(*place)])
        if label in self.table.columns:
            return self.is_of_kind(self.table.columns.index(label), value)
        condition = next(one for one in self.conditions if one.label == label)
        if condition.values:
            return kind_of(value) == kind_of(read_value(condition.values[0]))
        return bool(moments_of(value)) if condition.is_time else value.number is not None

    def _can_have(self, stated: StatedValue) -> bool:
        known = stated.label in self.table.columns
        return not known or self._can_be(stated.label, stated.span)

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

    def _of_column(self, condition: ScopeCondition) -> ScopeCondition:
        """A condition under the name that the answer has for its column: "res" for "result".

        A time is asked of no column of amounts.
        """
        if condition.is_time and not is_generic_time(condition.label):
            columns_of = dict(zip(self.table.columns, self.kinds, strict=False))
            if columns_of.get(condition.label) == "number":
                return replace(condition, label="")
        label, columns = condition.label.lower(), self.table.columns
        short = [name for name in columns if len(name) > 2 and label.startswith(name.lower())]
        is_short = condition.label not in columns and len(short) == 1
        return replace(condition, label=short[0]) if is_short else condition

    def _of_values(self) -> Iterator[ScopeCondition]:
        """Conditions by names alone, of the one column that has them: "near Castricum or Lunel",
        and lists of rows: "the films Heat, Ronin and Casino".
        """
        for topic in self.scope.topics:
            listed = tuple(re.split(r",\s+(?:and\s+)?|\s+and\s+", topic))
            fewest = 1 if len(listed) > 2 else 2  # "Washington, D.C." is no list
            known = len(self.rows_of.keys() & {*listed}) >= fewest
            if known and all(map(self.reader.places.find, listed)):
                yield ScopeCondition(self.table.columns[self.key], topic, values=listed)
                continue
            values = tuple(re.split(r",\s+(?:or\s+)?|\s+or\s+", topic))
            found = []
            for column in range(len(self.table.columns)):
                cells = [clean(self.table.rows[row][column] or "") for row in self.rows]
                filled = [cell for cell in cells if not is_blank(cell)]
                met = sum(cell in values for cell in filled)
                if met >= _FEWEST and met >= _MOST * len(filled):
                    found.append(self.table.columns[column])
            if len(found) == 1 and " or " in topic:
                yield ScopeCondition(found[0], topic, values=values)

    def has_others_in_scope(self) -> bool:
        """Whether a sentence that names no row states a value that the query asks for."""
        for sentence in range(len(self.reader.sentences)):
            said = () if self.reader.names_in(sentence) else self.records.readings(sentence)
            for one in said:
                value = read_value(self.context[slice(*one.span)])
                unit = self.labels[one.label].unit
                wanted = (
                    condition for condition in self.conditions if condition.label == one.label
                )
                if any(condition.meets(value, unit) for condition in wanted):
                    return True
        return False

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
            if len(rows) > 1 and not many:  # what gives no attribute is no row of its own
                labels = [one for i, one in enumerate(self.table.columns) if i != self.key]
                said = [r for r in records if any(self.records.said(name, r, x) for x in labels)]
                records = said or records
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
        if not look.beside and (pattern := _IN_WORDS.get(value.text)):  # "an assist"
            texts = [self.reader.sentences[one.sentence] for one in record.sentences[:_LOOKED_AT]]
            nouns = {m[1].lower() for span in texts for m in pattern.finditer(self.context, *span)}
            words = content_words(header)
            if any(akin(singular(noun), word) for noun in nouns for word in words):
                look.free.append(record.sentences[0].sentence)
        for sentence, span in self.sentences_with(row, column, record):
            readings = [one for one in self.records.readings(sentence) if overlap(span, [one.span])]
            if record.numbers[sentence].bond == "unclear":
                look.unclear.append(sentence)
            elif any(stated.label == header for stated in readings):
                look.beside.append(sentence)
            elif claimed := [one for one in readings if one.sure and self._can_have(one)]:
                look.claimed.append((claimed[0], sentence))
            else:
                look.free.append(sentence)
        if not look.beside and same_value(value, read_value(name), unit):
            look.beside.append(record.sentences[0].sentence)
        return look

    def is_of_kind(self, column: int, value: Value) -> bool:
        """Whether a value can stand in a column: no text in a column of numbers."""
        kind = self.kinds[column]
        return kind in ("", kind_of(value)) or (kind == "number" and value.number is not None)

    @cached_property
    def kinds(self) -> list[str]:
        """For each column what it holds, as :func:`kind_of`; empty where it is mixed.

        Years among other numbers, or under a unit, are numbers: 2,988 votes.
        """
        kinds: list[str] = []
        for column in range(len(self.table.columns)):
            values = [read_value(self.table.rows[row][column]) for row in self.rows]
            counts = Counter(kind_of(value) for value in values if not value.blank)
            counts_in = counts["number"] or header_unit(self.table.columns[column]) != PLAIN
            if counts_in and not any(value.dates for value in values):
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

    def only_left(self, row: int, column: int) -> Span | None:
        """The one number or time of a row's sentences that has no column, where one cell seeks one.

        Of other rows, four in five at least, none that could stand in the column is left.
        """
        record = self.record(row)
        if record is None or not self.is_sure(row) or self.kinds[column] == "text":
            return None
        seeking = [
            other
            for other, kind in enumerate(self.kinds)
            if other != self.key and kind != "text" and not self.sentences_with(row, other, record)
        ]
        found, others = self._left(row, column), [one for one in self.rows if one != row]
        unplaced = sum(bool(self._left(one, column)) for one in others)
        plain = seeking == [column] and len(others) >= _FEWEST and 5 * unplaced <= len(others)
        if not plain or len(found) != 1:
            return None
        if self.kinds[column] == "number" and year_of(read_value(self.context[slice(*found[0])])):
            cells = (read_value(self.table.rows[one][column]) for one in others)
            if not any(map(year_of, cells)):
                return None  # "in 2004" is no quantity where no other cell is of that size
        return found[0]

    def _left_over(self, row: int, column: int) -> list[Span]:
        """What of a row's sentences could stand in a column, and is said of none."""
        record, found, cells = self.record(row), list[Span](), self.cells_stated(row)
        for about in record.sentences[:_LOOKED_AT] if record else ():
            said = [one.span for one in self.records.readings(about.sentence)]
            spans = [slot.span for slot in self.learned.slots(about.sentence) if about.sure]
            free = [span for span in spans if not overlap(span, [*cells, *said])]
            values = ((span, read_value(self.context[slice(*span)])) for span in free)
            found += [span for span, value in values if self.is_of_kind(column, value)]
        return found

    # places

    def find(self, row: int, column: int) -> list[Span]:
        """Every place of the context that states a cell's value."""
        cell, header = self.table.rows[row][column] or "", self.table.columns[column]
        return self._find(cell, self.labels[header].unit)

    def sentences_with(self, row: int, column: int, record: Record) -> list[tuple[int, Span]]:
        """Sentences of a record that state a cell, outside the names of entities; some of many."""
        found = (
            (sentence, span)
            for sentence, span in self._within(self.find(row, column), record)
            if not any(encloses(one, span) for one, _ in self.reader.names_in(sentence))
        )
        return list(islice(found, _LOOKED_AT))

    def cells_stated(self, row: int) -> list[Span]:
        """Where the sentences about a row state its cells."""
        if (record := self.record(row)) is None:
            return []
        found = (self.sentences_with(row, column, record) for column in self.filled(row))
        return [span for stated in found for _, span in stated]

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
