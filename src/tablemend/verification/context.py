"""Claims of an answer table verified against the context and the query, without a gold table.

The two properties of TableHallu 3.1 as far as a program can read them from the text: a row's
entity is named in the context and within the query's scope, and a cell is what a sentence about
that entity says of that attribute. What the wording leaves open is unjudged.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

from tablemend.detector.source import index_context
from tablemend.evidence.source import Source
from tablemend.records import Claim, ClaimError, Document, Evidence, Verdict, VerdictName
from tablemend.tables.table import Table
from tablemend.values.cells import Value, read_value
from tablemend.values.sentences import Span
from tablemend.values.text import clean, header_key, tokens_of
from tablemend.values.units import header_unit
from tablemend.values.words import LITTLE_WORDS, akin
from tablemend.verification.context_answer import AnswerReader, Look, kind_of
from tablemend.verification.context_fields import FieldsJudge
from tablemend.verification.context_notes import is_info_box
from tablemend.verification.context_records import Breach, Record, Said, same_value
from tablemend.verification.context_slots import Slot, Slots
from tablemend.verification.scope_conditions import Condition, moments_of

VERSION = "context/2"

_FLAGS = frozenset({"yes", "no", "true", "false"})
_EXPLICIT = 0.7  # share of supported cells that stand beside their attribute's name
_FEWEST = 2  # supported cells from which that can be told
_UNMIXED = 0.7  # share of a column's cells that are of its kind
_READ = 0.9  # share of the sentences about entities in which attributes are named and read
_SENTENCES = 3  # from which that can be told
_TRACE = 0.5  # share of a text's words that are a trace of it
_CLEAR_TRACE = 0.75  # the same where the context names attributes as the table does
_LOOKED_AT = 20  # places of a value that are looked at to say whose it is
_NEVER = "the context never says it"
_PAIRED = 20_000  # rows of one name times its records, beyond which none is chosen


def verify_answer_claims(document: Document, source: Source) -> tuple[Verdict, ...]:
    """Judge every claim of an answer table against a context in prose.

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
        return tuple(
            _verdict(claim, "unjudged", "the context is empty") for claim in document.claims
        )
    judge = open_judge(document.table, source.text, document.query)
    return tuple(judge.judge(claim) for claim in document.claims)


def open_judge(table: Table, context: str, query: str = "") -> AnswerJudge | FieldsJudge:
    """What judges the claims of a table: of entities, or of one subject's attributes."""
    if is_info_box(table):
        return FieldsJudge(table, context, VERSION)
    return AnswerJudge(table, context, query)


class AnswerJudge(AnswerReader):
    """An answer table beside its context; the context is indexed once.

    Args:
        table: the answer.
        context: the text that it was made from.
        query: what was asked for; may be empty.
    """

    def judge(self, claim: Claim) -> Verdict:
        """The verdict on one claim of the table."""
        if claim.row is None:
            return _verdict(claim, "unjudged", "no claim of a row")
        if claim.column is None:
            return self.judge_row(claim, claim.row)
        if self.table.columns.count(claim.column) > 1:
            return _verdict(claim, "unjudged", "more than one column has this name")
        column = self.table.columns.index(claim.column)
        if column == self.key:
            return self._judge_name(claim, claim.row)
        return self.judge_cell(claim, claim.row, column)

    # rows

    def judge_row(self, claim: Claim, row: int) -> Verdict:
        """Whether a row's entity is named, in scope and not there twice."""
        name = self.name(row)
        if not name:
            return _verdict(claim, "unjudged", "the row has no name")
        named = self._judge_name(claim, row)
        if named.verdict != "supported":
            return named
        listed = self.scope.entities
        if listed and name not in {clean(one) for one in listed}:
            return _verdict(claim, "contradicted", "the query lists other names", "ATT")
        _, _, breach = self.records.in_scope(name)
        if breach is not None:
            return self._out_of_scope(claim, name, breach)
        if (original := self.repeated.get(row)) is not None:
            reason = f"the context has no second {name!r} in scope beside row {original + 1}"
            return _verdict(claim, "contradicted", reason, "REL", named.evidence)
        return self._judge_scope(claim, row, named.evidence)

    def _judge_scope(self, claim: Claim, row: int, evidence: tuple[Evidence, ...]) -> Verdict:
        """A row that nothing said of its entity puts out of scope: by its own cells, where right.

        Open is a condition that neither meets, and what of the query was not read at all.
        """
        record = self.record(row)
        said = self.records.meets(self.name(row), record) if record else []
        answers = dict(zip(self.conditions, said, strict=False))
        unmet: list[str] = []
        for condition in self.scope.conditions:
            met: bool | None = answers.get(condition) or None  # a breach of one record is none
            if met is None:
                met = self._meets_itself(row, condition)
            if met is False:
                column = self._column_of(condition)
                assert column is not None
                cell = self.table.rows[row][column] or ""
                reason = f"its {condition.label!r} is {clean(cell)!r}; {asked(condition)}"
                return _verdict(claim, "contradicted", reason, error_of(condition), evidence)
            if met is None:
                unmet.append(asked(condition))
        if self.scope.unread:
            unmet += [f"the query's {one!r} was not read" for one in self.scope.unread]
        unmet += [
            f"the query's {name!r} was not read"
            for name in self.scope.topics
            if not self._is_about(name, record)
        ]
        if unmet:
            reason = f"named in the context, scope not known: {'; '.join(unmet)}"
            return _verdict(claim, "unjudged", reason, evidence=evidence)
        in_scope = bool(self.scope.conditions)
        reason = "named, and in the query's scope" if in_scope else "named in the context"
        return _verdict(claim, "supported", reason, evidence=evidence)

    def _column_of(self, condition: Condition) -> int | None:
        wanted = header_key(condition.label)
        names = [header_key(name) for name in self.table.columns]
        return names.index(wanted) if wanted and wanted in names else None

    def _meets_itself(self, row: int, condition: Condition) -> bool | None:
        """Whether a row's own cell, where the context supports it, meets a condition."""
        column = self._column_of(condition)
        if column is None:
            return None
        name = self.table.columns[column]
        met = condition.meets(read_value(self.table.rows[row][column]), header_unit(name))
        if met is None or column == self.key:
            return met
        cell = Claim("", None, None, "attribute", "", row=row, column=name)
        return met if self.judge_cell(cell, row, column).verdict == "supported" else None

    def _is_about(self, name: str, record: Record | None) -> bool:
        """Whether a name of the query is what the whole text is about, or is said of a record.

        The whole text is about what only its first sentence names, or none.
        """
        places = self.reader.places.find(name)
        sentences = {self.reader.sentence_at(span.start) for span in places}
        return sentences <= {0} or (record is not None and not sentences.isdisjoint(record.numbers))

    def _out_of_scope(self, claim: Claim, name: str, breach: Breach) -> Verdict:
        condition = breach.condition
        what = f" for {condition.label!r}" if condition.label else ""
        reason = f"the context says {breach.said!r}{what}; {asked(condition)}"
        evidence = (self._evidence(breach.sentence),)
        return _verdict(claim, "contradicted", reason, error_of(condition), evidence)

    def _judge_name(self, claim: Claim, row: int) -> Verdict:
        name = self.name(row)
        spans = self.reader.name_spans.get(name, [])
        if spans:
            sentence = self.reader.sentence_at(spans[0].start)
            if name in self.reader.partly_named:
                reason = "only a word of the name stands in the context"
                return _verdict(claim, "unjudged", reason, evidence=(self._evidence(sentence),))
            return _verdict(
                claim, "supported", "named in the context", evidence=(self._evidence(sentence),)
            )
        if index_context(self.context).mentions(name):
            return _verdict(claim, "supported", "named in the context in other words")
        return _verdict(claim, "not_in_source", "the context does not name it", "ATT")

    # cells

    def judge_cell(self, claim: Claim, row: int, column: int) -> Verdict:
        """Whether a cell is what the context says."""
        name, header = self.name(row), self.table.columns[column]
        if header in self.scope.computed:
            return _verdict(claim, "unjudged", f"{header!r} is to be worked out")
        if not name:
            return _verdict(claim, "unjudged", "the row has no name")
        value = read_value(self.table.rows[row][column])
        error = self._error_of(value, column)
        record, sure = self.record(row), self.is_sure(row)
        if record is None:
            if self._judge_name(claim, row).verdict == "not_in_source":
                reason = f"the context does not name {name!r}"
                return _verdict(claim, "not_in_source", reason, error)
            return self._judge_unplaced(claim, value, error)
        look = self.look(row, column)
        if look.beside:
            evidence = (self._evidence(look.beside[0]),)
            return _verdict(claim, "supported", f"said of {header!r}", evidence=evidence)
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
            verdict: VerdictName = "unjudged" if is_open else "supported"
            return _verdict(claim, verdict, "stated of this entity", evidence=evidence)
        if look.claimed:
            stated, sentence = look.claimed[0]
            reason = f"the context says it of {stated.label!r}"
            if sure and self.is_explicit:
                evidence = (self._evidence(sentence),)
                return _verdict(claim, "not_in_source", reason, "REL", evidence)
            return _verdict(claim, "unjudged", reason, evidence=(self._evidence(sentence),))
        return self._judge_missing(claim, row, column, record, value, error)

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
            return _verdict(claim, "unjudged", "the context has both", evidence=evidence)
        reason = f"the context gives {header!r} as {expected[0]!r}"
        if look.claimed or self._is_anothers(value, claim.row or 0, header):
            error = "REL"
        return _verdict(claim, "contradicted", reason, error, evidence, tuple(expected))

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
        return _verdict(claim, "contradicted", reason, error, evidence, (slot.said,))

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

    def _judge_missing(
        self, claim: Claim, row: int, column: int, record: Record, value: Value, error: ClaimError
    ) -> Verdict:
        """A cell that no sentence about its entity states."""
        name, header = self.name(row), self.table.columns[column]
        evidence = tuple(self._evidence(one.sentence) for one in record.sentences[:3])
        if value.text in _FLAGS:
            return _verdict(claim, "unjudged", "yes or no is not said in these words")
        if self._counts_rows(column):
            return _verdict(claim, "unjudged", "a number of the rows")
        places = self.find(row, column)
        reason = f"nothing that the context says of {name!r} states it"
        if value.number is not None or value.dates:
            if self._is_setting(places, record):
                return _verdict(
                    claim, "unjudged", "the text is set in that time", evidence=evidence
                )
            if self.is_never_said(row, column):
                return _verdict(claim, "not_in_source", _NEVER, error, evidence)
            elsewhere = all(map(self._is_of_another, places[:_LOOKED_AT]))
            if self.is_explicit or (elsewhere and self.is_verbatim(column)):
                error = "REL" if self._is_anothers(value, row, header) else error
                return _verdict(claim, "not_in_source", reason, error, evidence)
            return _verdict(claim, "unjudged", reason, evidence=evidence)
        if self._trace(value, record) >= (_CLEAR_TRACE if self.is_explicit else _TRACE):
            return _verdict(
                claim, "unjudged", "stated in part or in other words", evidence=evidence
            )
        if self.is_explicit:
            error = "REL" if places else "ATT"
            return _verdict(claim, "not_in_source", reason, error, evidence)
        if places and self.is_verbatim(column) and all(map(self._is_of_another, places)):
            return _verdict(claim, "not_in_source", reason, "REL", evidence)
        if not self._has_words(value):
            return _verdict(claim, "not_in_source", _NEVER, "ATT", evidence)
        return _verdict(claim, "unjudged", reason, evidence=evidence)

    def _judge_unplaced(self, claim: Claim, value: Value, error: ClaimError) -> Verdict:
        """A cell of an entity whose sentences are not known."""
        if (value.number is not None or value.dates) and not self.reader.places.find(value.text):
            return _verdict(claim, "not_in_source", _NEVER, error)
        return _verdict(claim, "unjudged", "no sentence is surely about this row")

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

    def _evidence(self, sentence: int) -> Evidence:
        start, end = self.reader.sentences[sentence]
        return Evidence(self.reader.text[start:end], start=start, end=end)


def _verdict(
    claim: Claim,
    verdict: VerdictName,
    reason: str,
    error: ClaimError | None = None,
    evidence: tuple[Evidence, ...] = (),
    expected: tuple[str, ...] = (),
) -> Verdict:
    return Verdict(claim, verdict, error, evidence, reason, (), expected, VERSION)


def asked(condition: Condition) -> str:
    """A condition in words, for a reason."""
    what = f" for {condition.label!r}" if condition.label else ""
    if condition.excluded:
        return f"the query leaves out {condition.said!r}{what}"
    return f"the query asks for {condition.said!r}{what}"


def error_of(condition: Condition) -> ClaimError:
    """The error type of a row that does not meet a condition."""
    return "TMP" if condition.is_time else "ATT" if condition.values else "NUM"
