"""Claims of an answer table verified against the context and the query, without a gold table.

The two properties of TableHallu 3.1 as far as a program can read them from the text: a row's
entity is named in the context and within the query's scope, and a cell is what a sentence about
that entity says of that attribute. What the wording leaves open is unscored.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

from tablemend.evidence.source import Source
from tablemend.records import Claim, ClaimError, Document, Verdict, VerdictName
from tablemend.tables.table import Table
from tablemend.values.blanks import is_blank
from tablemend.values.cells import Value, read_value
from tablemend.values.sentences import Span
from tablemend.values.text import header_key, tokens_of
from tablemend.values.words import LITTLE_WORDS, akin
from tablemend.verifier.context_answer import Look, kind_of
from tablemend.verifier.context_fields import FieldsVerifier
from tablemend.verifier.context_implied import (
    is_short_for,
    is_sum_row,
    is_told_relatively,
    is_worked_out,
)
from tablemend.verifier.context_notes import is_info_box
from tablemend.verifier.context_records import Record, Said, same_value
from tablemend.verifier.context_rows import VERIFIER, RowVerifier, scored
from tablemend.verifier.context_slots import Slot, Slots
from tablemend.verifier.scope_conditions import moments_of

VERSION = VERIFIER

_FLAGS = frozenset({"yes", "no", "true", "false"})
_TRACE = 0.5  # share of a text's words that are a trace of it
_CLEAR_TRACE = 0.75  # the same where the context names attributes as the table does
_LOOKED_AT = 20  # places of a value that are looked at to say whose it is
_NEVER = "the context never says it"
_IMPLIED = "the context never says it, but it may follow from what it says"


def verify_answer_claims(document: Document, source: Source) -> tuple[Verdict, ...]:
    """Verify every claim of an answer table against a context in prose.

    Args:
        document: from :func:`~tablemend.claims.answers.answer_claims`, with its query.
        source: its ``text`` is the context.

    Returns:
        One verdict a claim, in order. A cell is *supported* where a sentence about its row's
        entity states it and gives it to no other attribute; *contradicted* where such a sentence
        gives the attribute another value (``expected``: each such value once); *not in source*
        where nothing gives it. A row is *not in source* where the context does not name it and
        *contradicted* where what the context says of it breaks a condition of the query.
    """
    if document.table is None:
        raise ValueError("not the claims of a table")
    if not source.text.strip():
        return tuple(scored(claim, "unscored", "the context is empty") for claim in document.claims)
    verifier = open_answer_verifier(document.table, source.text, document.query)
    return tuple(verifier.verify(claim) for claim in document.claims)


def open_answer_verifier(
    table: Table, context: str, query: str = ""
) -> AnswerVerifier | FieldsVerifier:
    """What verifies the claims of a table: of entities, or of one subject's attributes."""
    if is_info_box(table):
        return FieldsVerifier(table, context, VERSION)
    return AnswerVerifier(table, context, query)


class AnswerVerifier(RowVerifier):
    """An answer table beside its context; the context is indexed once.

    Args:
        table: the answer.
        context: the text that it was made from.
        query: what was asked for; may be empty.
    """

    def verify(self, claim: Claim) -> Verdict:
        """The verdict on one claim of the table."""
        if claim.row is None:
            return scored(claim, "unscored", "no claim of a row")
        if claim.column is None:
            return self.verify_row(claim, claim.row)
        if self.table.columns.count(claim.column) > 1:
            return scored(claim, "unscored", "more than one column has this name")
        column = self.table.columns.index(claim.column)
        if column == self.key:
            return self._verify_name(claim, claim.row)
        return self.verify_cell(claim, claim.row, column)

    # cells

    def verify_cell(self, claim: Claim, row: int, column: int) -> Verdict:
        """Whether a cell is what the context says."""
        name, header = self.name(row), self.table.columns[column]
        if header in self.scope.computed:
            return scored(claim, "unscored", f"{header!r} is to be worked out")
        if not name:
            return scored(claim, "unscored", "the row has no name")
        value = read_value(self.table.rows[row][column])
        error = self._error_of(value, column)
        if is_sum_row(name) and not self.reader.name_spans.get(name):
            return scored(claim, "unscored", "a row that sums up others")
        record, sure = self.record(row), self.is_sure(row)
        if record is None:
            if self._verify_name(claim, row).verdict == "not_in_source":
                reason = f"the context does not name {name!r}"
                return scored(claim, "not_in_source", reason, error)
            return self._verify_unplaced(claim, value, error)
        look = self.look(row, column)
        if look.beside:
            evidence = (self._evidence(look.beside[0]),)
            return scored(claim, "supported", f"said of {header!r}", evidence=evidence)
        if sure and not look.other and not look.free and self.is_explicit:
            look.other = look.perhaps
        if not self.is_explicit:
            look.other = [one for one in look.other if self._is_alone(one)]
        if look.other and sure:
            return self._contradict(claim, value, look, header, error)
        slot = self.slots.instead(row, column) if sure else None
        if slot is not None and not look.free:
            return self._contradict_slot(claim, slot, value, header, error)
        if look.free:
            evidence = (self._evidence(look.free[0]),)
            is_open = look.other or slot is not None
            verdict: VerdictName = "unscored" if is_open else "supported"
            return scored(claim, verdict, "stated of this entity", evidence=evidence)
        if look.claimed:
            stated, sentence = look.claimed[0]
            reason = f"the context says it of {stated.label!r}"
            if sure and self.is_explicit:
                evidence = (self._evidence(sentence),)
                return scored(claim, "not_in_source", reason, "REL", evidence)
            return scored(claim, "unscored", reason, evidence=(self._evidence(sentence),))
        return self._verify_missing(claim, row, column, record, value, error)

    def _error_of(self, value: Value, column: int) -> ClaimError:
        if value.dates or (value.number is not None and self.holds_times(column)):
            return "TMP"
        return "ATT" if value.number is None else "NUM"

    def _contradict(
        self, claim: Claim, value: Value, look: Look, header: str, error: ClaimError
    ) -> Verdict:
        text = self.reader.text
        expected: list[str] = []
        unit = self.labels[header].unit
        for one in look.other:
            said = text[slice(*one.stated.span)]
            if not any(same_value(one.value, read_value(known), unit) for known in expected):
                expected.append(said)
        evidence = tuple(
            self._evidence(number) for number in dict.fromkeys(o.about.sentence for o in look.other)
        )
        if look.free and not (self.is_explicit and len(expected) == 1):
            return scored(claim, "unscored", "the context has both", evidence=evidence)
        reason = f"the context gives {header!r} as {expected[0]!r}"
        if look.claimed or self._is_anothers(value, claim.row or 0, header):
            error = "REL"
        return scored(claim, "contradicted", reason, error, evidence, tuple(expected))

    @cached_property
    def slots(self) -> Slots:
        """What stands beside names where a column's values stand."""
        return Slots(self)

    def _contradict_slot(
        self, claim: Claim, slot: Slot, value: Value, header: str, error: ClaimError
    ) -> Verdict:
        if self._is_anothers(value, claim.row or 0, header):
            error = "REL"
        reason = f"the context has {slot.said!r} where it gives {header!r} of others"
        evidence = (self._evidence(slot.sentence),)
        return scored(claim, "contradicted", reason, error, evidence, (slot.said,))

    def lacks_names(self, absent: Sequence[str]) -> bool:
        """Whether the column that names the rows may be one of those that the answer lacks.

        That is one that the query lists before the answer's own, and that holds no numbers.
        """
        key = header_key(self.table.columns[self.key])
        known = [header_key(name) for name in self.scope.columns]
        before = known[: known.index(key)] if key in known else known
        return any(header_key(n) in before and not self.holds_numbers(n) for n in absent)

    def holds_numbers(self, label: str) -> bool:
        """Whether the context gives numbers or times to an attribute."""
        said = [
            one.value
            for name in self.rows_of
            for record in self.records.of(name)
            for one in self.records.said(name, record, label)
        ]
        return bool(said) and all(kind_of(value) != "text" for value in said)

    def is_unknown(self, row: int) -> bool:
        """Whether the context has no word of a row's name."""
        name = self.name(row)
        return (
            bool(name)
            and not is_sum_row(name)
            and not is_short_for(name, self.context)
            and not self.reader.name_spans.get(name)
            and not any(
                self.reader.has_word(word)
                for word in tokens_of(name).words
                if word not in LITTLE_WORDS
            )
        )

    def is_never_said(self, row: int, column: int) -> bool:
        """Whether the whole context has neither a cell's number nor any word of its text."""
        value = read_value(self.table.rows[row][column])
        cell = self.table.rows[row][column] or ""
        if self.find(row, column) or self.reader.has_letters(cell):
            return False
        return value.number is not None or bool(value.dates) or not self._has_words(value)

    def is_quoted(self, column: int) -> bool:
        """Whether the context has some value of a column: if none, it may be worked out."""
        filled = [row for row in self.rows if not is_blank(self.table.rows[row][column])]
        return len(filled) < 2 or any(self.find(row, column) for row in filled)

    def stated_instead(self, row: int, column: int) -> Said | None:
        """What the context plainly gives to a blank cell's attribute, where it is one value."""
        header = self.table.columns[column]
        record, sure = self.record(row), self.is_sure(row)
        if record is None or not sure or not self.is_explicit or header in self.scope.computed:
            return None
        unit = self.labels[header].unit
        said = self.records.said(self.name(row), record, header)
        if not said or not all(self.is_of_kind(column, one.value) for one in said):
            return None
        if not all(one.plain or self._is_word(one) for one in said):
            return None
        return said[0] if all(same_value(said[0].value, o.value, unit) for o in said) else None

    def _is_word(self, said: Said) -> bool:
        """Whether a value is one word that a sentence about its entity gives: "a red flag"."""
        return said.about.bond != "loose" and len(tokens_of(said.value.text).words) == 1

    def _verify_missing(
        self, claim: Claim, row: int, column: int, record: Record, value: Value, error: ClaimError
    ) -> Verdict:
        """A cell that no sentence about its entity states."""
        name, header = self.name(row), self.table.columns[column]
        evidence = tuple(self._evidence(one.sentence) for one in record.sentences[:3])
        if value.text in _FLAGS:
            return scored(claim, "unscored", "yes or no is not said in these words")
        if self._counts_rows(column):
            return scored(claim, "unscored", "a number of the rows")
        places = self.find(row, column)
        reason = f"nothing that the context says of {name!r} states it"
        if value.number is not None or value.dates:
            if self._is_setting(places, record):
                return scored(claim, "unscored", "the text is set in that time", evidence=evidence)
            if self._is_implied(header, record):
                return scored(claim, "unscored", _IMPLIED, evidence=evidence)
            if self.is_never_said(row, column):
                return scored(claim, "not_in_source", _NEVER, error, evidence)
            elsewhere = all(map(self._is_of_another, places[:_LOOKED_AT]))
            if self.is_explicit or (elsewhere and self.is_verbatim(column)):
                error = "REL" if self._is_anothers(value, row, header) else error
                return scored(claim, "not_in_source", reason, error, evidence)
            return scored(claim, "unscored", reason, evidence=evidence)
        if self._trace(value, record) >= (_CLEAR_TRACE if self.is_explicit else _TRACE):
            return scored(claim, "unscored", "stated in part or in other words", evidence=evidence)
        if self.is_explicit:
            error = "REL" if places else "ATT"
            return scored(claim, "not_in_source", reason, error, evidence)
        if places and self.is_verbatim(column) and all(map(self._is_of_another, places)):
            return scored(claim, "not_in_source", reason, "REL", evidence)
        if not self._has_words(value):
            if is_worked_out(header):
                return scored(claim, "unscored", _IMPLIED, evidence=evidence)
            return scored(claim, "not_in_source", _NEVER, "ATT", evidence)
        return scored(claim, "unscored", reason, evidence=evidence)

    def _is_implied(self, header: str, record: Record) -> bool:
        """Whether a number that is never said may follow from what is."""
        if is_worked_out(header):
            return True
        texts = (self.reader.sentences[one.sentence] for one in record.sentences[:_LOOKED_AT])
        return any(is_told_relatively(self.reader.text[slice(*span)]) for span in texts)

    def _verify_unplaced(self, claim: Claim, value: Value, error: ClaimError) -> Verdict:
        """A cell of an entity whose sentences are not known."""
        header = claim.column or ""
        if is_worked_out(header):
            return scored(claim, "unscored", _IMPLIED)
        if (value.number is not None or value.dates) and not self.reader.places.find(value.text):
            return scored(claim, "not_in_source", _NEVER, error)
        return scored(claim, "unscored", "no sentence is surely about this row")

    def _is_setting(self, places: Sequence[Span], record: Record) -> bool:
        """Whether the time set last before a record is a value: "It was held in 2021", say.

        It is set by a sentence that names no row and gives no attribute.
        """
        sentences = {self.reader.sentence_at(span.start) for span in places}
        text = self.reader.text
        for number in range(min(record.numbers) - 1, -1, -1):
            if self.reader.names_in(number) or self.records.readings(number):
                continue
            amounts = self.reader.amounts(self.reader.sentences[number])
            if any(moments_of(read_value(text[slice(*span)])) for span in amounts):
                return number in sentences
        return False

    def _counts_rows(self, column: int) -> bool:
        """Whether a column numbers the rows."""
        numbers = [read_value(self.table.rows[row][column]).number for row in self.rows]
        return all(
            number is not None and number.value == place for place, number in enumerate(numbers, 1)
        )

    def _is_alone(self, said: Said) -> bool:
        """Whether nothing but the entity is named before a value, in prose."""
        span = self.reader.sentences[said.about.sentence]
        return not self.reader.has_foreign(Span(span.start, said.stated.span.start))

    def _is_of_another(self, place: Span) -> bool:
        """Whether a place stands in a sentence that names an entity of its own."""
        sentence = self.reader.sentence_at(place.start)
        return bool(self.reader.names_in(sentence)) or self.reader.names_foreign(sentence)

    def _is_anothers(self, value: Value, row: int, header: str) -> bool:
        """Whether the context gives a value to the same attribute of another entity."""
        unit = self.labels[header].unit
        for span in self.reader.places.find(value.text, unit)[:_LOOKED_AT]:
            sentence = self.reader.sentence_at(span.start)
            for stated in self.records.readings(sentence):
                if stated.label == header and stated.span.start <= span.start < stated.span.end:
                    return self.records.owner(sentence, stated.span) != self.name(row)
        return False

    def _trace(self, value: Value, record: Record) -> float:
        """Share of a text's words that sentences of a record have, each in some form."""
        words = [word for word in tokens_of(value.text).words if word not in LITTLE_WORDS]
        if not words or any(map(str.isdigit, value.text)):
            return 0.0 if words else 1.0
        said = {
            token.word
            for about in record.sentences[:_LOOKED_AT]
            for token in self.reader.tokens(self.reader.sentences[about.sentence])
        }
        return sum(any(akin(word, one) for one in said) for word in words) / len(words)

    def _has_words(self, value: Value) -> bool:
        words = [word for word in tokens_of(value.text).words if word not in LITTLE_WORDS]
        return not words or any(self.reader.has_word(word) for word in words)
