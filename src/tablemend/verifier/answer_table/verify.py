"""Claims of an answer table verified against the context and the query, without a gold table.

The two properties of TableHallu 3.1 as far as a program can read them from the text: a row's
entity is named in the context and within the query's scope, and a cell is what a sentence about
that entity says of that attribute. What the wording leaves open is unscored.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import cached_property

from tablemend.detector.keys import filled_rows
from tablemend.detector.similarity import index_context
from tablemend.evidence.grid import Grid
from tablemend.evidence.source import Source
from tablemend.records import Claim, ClaimError, Document, Evidence, Verdict, VerdictName
from tablemend.tables.table import Table
from tablemend.values.cells import Value, is_blank, read_value
from tablemend.values.dates import MONTHS
from tablemend.values.text import (
    FUNCTION_WORDS,
    Span,
    akin,
    clean,
    content_words,
    header_key,
    tokens_of,
)
from tablemend.values.units import header_unit
from tablemend.verifier.answer_table.answer import AnswerReader, Look, kind_of
from tablemend.verifier.answer_table.reader import ContextReader
from tablemend.verifier.answer_table.records import Attribution, Record, overlap, same_value
from tablemend.verifier.lexicon import any_of, comes_from, words_of
from tablemend.verifier.query_parser import read_scope
from tablemend.verifier.query_phrases import ScopeCondition, moments_of

# ---- notes

_SUMS = words_of("sums")
_WORKED_OUT = words_of("worked_out")
_SPANS = re.compile(r"(?:year|month|day|hour|season)s? (?:in|since|to|until|as|of|at|on)\b|.*%")
_RELATIVE = re.compile(rf"\b{any_of('relative')}\b", re.I)
_INITIALS = re.compile(r"(?:[A-Z]\.?){2,5}")
_INITIAL = re.compile(r"([A-Z])\.?\s+([A-Z][\w'\u2019-]+)")


def answer_notes(table: Table, query: str = "") -> tuple[str, ...]:
    """One line each: no rows, columns of one name, and what of the query was not read."""
    notes = []
    if not filled_rows(table):
        notes.append("the answer has no filled row: there is nothing to verify")
    for name in table.duplicate_columns():
        notes.append(f"the answer has more than one column {name!r}: their cells are not scored")
    if not query.strip() or is_info_box(table):
        return tuple(notes)
    scope = read_scope(query, table)
    if not scope.columns:
        notes.append("no list of columns was read from the query: columns are taken as they are")
    if scope.note:
        notes.append(scope.note)
    return tuple(notes)


def is_info_box(table: Table) -> bool:
    """Whether a table lists one subject's attributes and their values."""
    return len(table.columns) == 2 and Grid(table).key_value


def is_sum_row(name: str) -> bool:
    """Whether a row's name says that it sums up the others: "Total", "All shops combined"."""
    words = name.lower().split()
    return not _SUMS.isdisjoint([*words[:1], *words[-1:]])


def is_worked_out(header: str) -> bool:
    """Whether a column holds what is computed from other values more often than stated."""
    plain = clean(header).lower()
    return bool(_WORKED_OUT.intersection(content_words(plain)) or _SPANS.match(plain))


def is_stated_relatively(text: str) -> bool:
    """Whether a text gives amounts or times by others: "two years later", "twice as many"."""
    return _RELATIVE.search(text) is not None


def is_short_for(name: str, text: str) -> bool:
    """Whether a name may be a short form of one in a text, or the long form of one.

    Initials ("UK", "U.S.") are never looked for in full; "United States" is short for itself
    where its initials stand in the text; "D. Holm" is the text's "Dag Holm".
    """
    if _INITIALS.fullmatch(name):
        return True
    if initial := _INITIAL.fullmatch(name):
        first, last = initial.groups()
        return re.search(rf"\b{first}\w*\.?\s+(?:\S+\s+)?{re.escape(last)}\b", text) is not None
    letters = [word[0] for word in name.split() if word[:1].isupper()]
    dotted = r"\.?\s?".join(map(re.escape, letters))
    return len(letters) > 1 and re.search(rf"(?<!\w){dotted}(?!\w)", text) is not None


# ---- verdicts

VERSION = "context/11"
"""The verifier's name and version, which every verdict carries."""

_FLAGS = frozenset({"yes", "no", "true", "false"})
_TRACE = 0.5  # share of a text's words that are a trace of it
_CLEAR_TRACE = 0.75  # the same where the context names attributes as the table does
_LOOKED_AT = 20  # sentences of a record that are looked at
_QUARTER, _DAY = re.compile(r"q([1-4])"), re.compile(r"(\d{4})-(\d\d)-(\d\d)")
_QUARTERS = ({"first", "opening"}, {"second"}, {"third"}, {"fourth", "last", "final", "closing"})
_ITEMS = re.compile(r"\s*[,;/]\s*|\s+and\s+|(?<=\d)\s*[-\u2013]+\s*(?=\d)")


def verify_answer_claims(document: Document, source: Source) -> tuple[Verdict, ...]:
    """Verify every claim of an answer table against a context in prose.

    Args:
        document: from :func:`~tablemend.verifier.extraction.answer_claims`, with its query.
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
        return FieldsVerifier(table, context)
    return AnswerVerifier(table, context, query)


def scored(
    claim: Claim,
    verdict: VerdictName,
    reason: str,
    error: ClaimError | None = None,
    evidence: Iterable[Evidence] = (),
    expected: tuple[str, ...] = (),
) -> Verdict:
    """A verdict of this verifier."""
    return Verdict(claim, verdict, error, tuple(evidence), reason, (), expected, VERSION)


class AnswerVerifier(AnswerReader):
    """The verdicts on an answer table, and what repair asks of it."""

    def verify(self, claim: Claim) -> Verdict:
        """The verdict on one claim of the table."""
        if claim.row is None:
            return scored(claim, "unscored", "no claim of a row")
        if claim.column is None:
            return self._verify_row(claim, claim.row)
        if self.table.columns.count(claim.column) > 1:
            return scored(claim, "unscored", "more than one column has this name")
        column = self.table.columns.index(claim.column)
        if column == self.key:
            return self._verify_name(claim, claim.row)
        return self._verify_cell(claim, claim.row, column)

    # rows

    def _verify_row(self, claim: Claim, row: int) -> Verdict:
        """Whether a row's entity is named, in scope and not there twice."""
        name = self.name(row)
        if not name:
            return scored(claim, "unscored", "the row has no name")
        named = self._verify_name(claim, row)
        if named.verdict != "supported":
            return named
        if self.scope.entities and name not in map(clean, self.scope.entities):
            return scored(claim, "contradicted", "the query lists other names", "ATT")
        _, _, breach = self.records.in_scope(name)
        if breach is not None and self._column_of(breach.condition) is None:
            what = f" for {breach.condition.label!r}" if breach.condition.label else ""
            reason = f"the context says {breach.said!r}{what}; {_asked(breach.condition)}"
            evidence = self._evidence(breach.sentence)
            return scored(claim, "contradicted", reason, _error_of(breach.condition), evidence)
        if (original := self.repeated.get(row)) is not None:
            reason = f"the context has no second {name!r} in scope beside row {original + 1}"
            return scored(claim, "contradicted", reason, "REL", named.evidence)
        return self._verify_scope(claim, row, named.evidence)

    def _verify_scope(self, claim: Claim, row: int, evidence: Iterable[Evidence]) -> Verdict:
        """Whether what is said of a row's entity, or its own right cells, meet the conditions.

        Open is a condition that neither meets, and what of the query was not read at all.
        """
        record = self.record(row)
        said = self.records.meets(self.name(row), record) if record else []
        answers = {one: met for one, (met, _) in zip(self.conditions, said, strict=False)}
        unread, unmet = list(self.scope.unread), []
        for condition in self.scope.conditions:
            met = answers.get(condition) or self._meets_itself(row, condition)
            if met is False:
                cell = clean(self.table.rows[row][self._column_of(condition) or 0] or "")
                reason = f"its {condition.label!r} is {cell!r}; {_asked(condition)}"
                return scored(claim, "contradicted", reason, _error_of(condition), evidence)
            if met is None:
                unmet.append(_asked(condition))
        of_text = [name for name in self.scope.topics if self._is_about_all(name)]
        times = self.records.times(record) if record and self.scope.topics else ()
        years = {moment.first[:4] for value, _ in times for moment in moments_of(value)}
        numbers = record.numbers if record else {}
        for name in self.scope.topics:
            places = self.reader.places.find(name)
            known = any(self.reader.sentence_at(one.start) in numbers for one in places)
            # set in another year than that of a title: "the 2031 Cup"
            other_time = years and name[:4].isdigit() and name[:4] not in years
            if other_time or not (known or name in of_text):
                unread.append(name)
        if unmet or unread:
            open_ = "; ".join([*(f"the query's {one!r} was not read" for one in unread), *unmet])
            reason = f"named in the context, scope not known: {open_}"
            return scored(claim, "unscored", reason, evidence=evidence)
        in_scope = bool(self.scope.conditions)
        reason = "named, and in the query's scope" if in_scope else "named in the context"
        if of_text:
            names = ", ".join(map(repr, of_text))
            reason += f"; {names} of the query is taken for what the whole text is about"
        return scored(claim, "supported", reason, evidence=evidence)

    def _column_of(self, condition: ScopeCondition) -> int | None:
        wanted = header_key(condition.label)
        names = list(map(header_key, self.table.columns))
        return names.index(wanted) if wanted in names else None

    def _meets_itself(self, row: int, condition: ScopeCondition) -> bool | None:
        """Whether a row's own cell, where the context supports it, meets a condition."""
        column = self._column_of(condition)
        if column is None or not self.is_known(condition):
            return None
        name = self.table.columns[column]
        met = condition.meets(read_value(self.table.rows[row][column]), header_unit(name))
        if met is None or column == self.key:
            return met
        cell = Claim("", None, None, "attribute", "", row=row, column=name)
        return met if self.verify(cell).verdict == "supported" else None

    def _is_about_all(self, name: str) -> bool:
        """Whether a name of the query can be what the whole text is about.

        That is one that no sentence names, or the first alone, and no row before it.
        """
        rows = min((span.start for span, _ in self.reader.names_in(0)), default=len(self.context))
        return all(
            self.reader.sentence_at(place.start) == 0 and place.start < rows
            for place in self.reader.places.find(name)
        )

    def _verify_name(self, claim: Claim, row: int) -> Verdict:
        name = self.name(row)
        if spans := self.reader.name_spans.get(name, []):
            evidence = self._evidence(self.reader.sentence_at(spans[0].start))
            if name in self.reader.partly_named:
                reason = "only a word of the name stands in the context"
                return scored(claim, "unscored", reason, evidence=evidence)
            return scored(claim, "supported", "named in the context", evidence=evidence)
        if index_context(self.context).mentions(name):
            return scored(claim, "supported", "named in the context in other words")
        if is_sum_row(name):
            return scored(claim, "unscored", "a row that sums up others")
        if is_short_for(name, self.context):
            return scored(claim, "unscored", "it may be a short name, or have one in the context")
        return scored(claim, "not_in_source", "the context does not name it", "ATT")

    # cells

    def _verify_cell(self, claim: Claim, row: int, column: int) -> Verdict:
        """Whether a cell is what the context says."""
        name, header = self.name(row), self.table.columns[column]
        record = self.record(row)
        if header in self.scope.computed:
            return scored(claim, "unscored", f"{header!r} is to be worked out")
        if not name:
            return scored(claim, "unscored", "the row has no name")
        if record is None:
            if self._verify_name(claim, row).verdict == "not_in_source":
                reason, error = f"the context does not name {name!r}", self._error(row, column)
                return scored(claim, "not_in_source", reason, error)
            return scored(claim, "unscored", "no sentence is surely about this row")
        look, sure = self.look(row, column), self.is_sure(row)
        if look.beside:
            evidence = self._evidence(look.beside[0])
            return scored(claim, "supported", f"said of {header!r}", evidence=evidence)
        other = look.other
        if not self.is_explicit:  # nothing but the entity is named before it
            starts, foreign = self.reader.starts, self.reader.has_foreign
            leads = [Span(starts[one.about.sentence], one.stated.span.start) for one in other]
            other = [one for one, lead in zip(other, leads, strict=True) if not foreign(lead)]
        elif sure and not other and not look.free:
            other = look.perhaps
        if other and sure:
            return self._contradict(claim, look, other, self._error(row, column))
        if look.free:
            verdict: VerdictName = "unscored" if other else "supported"
            evidence = self._evidence(look.free[0])
            return scored(claim, verdict, "stated of this entity", evidence=evidence)
        if look.unclear:
            reason = f"a sentence says it that may not be about {name!r}"
            return scored(claim, "unscored", reason, evidence=self._evidence(look.unclear[0]))
        if look.claimed:
            stated, sentence = look.claimed[0]
            reason, evidence = f"the context says it of {stated.label!r}", self._evidence(sentence)
            if sure and self.is_explicit:
                return scored(claim, "not_in_source", reason, "REL", evidence)
            return scored(claim, "unscored", reason, evidence=evidence)
        return self._verify_missing(claim, row, column, record)

    def _evidence(self, *sentences: int) -> list[Evidence]:
        return list(map(self.reader.evidence, sentences))

    def _error(self, row: int, column: int) -> ClaimError:
        """The type of a wrong cell; REL where the context has it of another row."""
        own = {about.sentence for about in self.reader.about.get(self.name(row), ())}
        if any(self.reader.names_in(one) for one in self._sentences_of(row, column) - own):
            return "REL"
        value = read_value(self.table.rows[row][column])
        if value.dates or (value.number is not None and self.kinds[column] == "time"):
            return "TMP"
        return "ATT" if value.number is None else "NUM"

    def _sentences_of(self, row: int, column: int) -> set[int]:
        """Sentences that state a cell, of whomever; the first ones of many."""
        places = self.find(row, column)[:_LOOKED_AT]
        return {self.reader.sentence_at(one.start) for one in places}

    def _contradict(
        self, claim: Claim, look: Look, other: Sequence[Attribution], error: ClaimError
    ) -> Verdict:
        header = claim.column or ""
        unit = self.labels[header].unit
        expected: dict[str, Value] = {}
        for one in other:
            if not any(same_value(one.value, known, unit) for known in expected.values()):
                expected[self.context[slice(*one.stated.span)]] = one.value
        evidence = self._evidence(*dict.fromkeys(one.about.sentence for one in other))
        if look.free and not (self.is_explicit and len(expected) == 1):
            return scored(claim, "unscored", "the context has both", evidence=evidence)
        reason = f"the context gives {header!r} as {next(iter(expected))!r}"
        error = "REL" if look.claimed else error
        return scored(claim, "contradicted", reason, error, evidence, tuple(expected))

    def _verify_missing(self, claim: Claim, row: int, column: int, record: Record) -> Verdict:
        """A cell that no sentence about its entity states."""
        value, header = read_value(self.table.rows[row][column]), self.table.columns[column]
        near = self._evidence(*(one.sentence for one in record.sentences[:_LOOKED_AT]))
        is_exact = value.number is not None or bool(value.dates)
        worked_out = is_worked_out(header) and (is_exact or not self.is_explicit)
        worked_out = worked_out and not self.is_stated(column)
        relative = is_exact and any(is_stated_relatively(one.text) for one in near)
        clear = _CLEAR_TRACE if self.is_explicit else _TRACE
        is_never_said = self.is_never_said(row, column) or (
            self.is_explicit and not self._is_hinted(value)
        )
        is_elsewhere = all(map(self.reader.names_in, self._sentences_of(row, column)))
        verdict: VerdictName = "unscored"
        error: ClaimError | None = None
        reason = f"nothing that the context says of {self.name(row)!r} states it"
        if value.text in _FLAGS or (not is_exact and self._trace(value, record) >= clear):
            reason = "stated in part or in other words"
        elif self._is_setting(row, column, record):
            reason = "the text is set in that time"
        elif worked_out or relative:
            reason = "the context never says it, but it may follow from what it says"
        elif is_never_said or (is_exact and is_elsewhere and self.find(row, column)):
            verdict, error = "not_in_source", self._error(row, column)
            if left := self.only_left(row, column):
                said = self.context[slice(*left)]
                reason = f"of what the context says of {self.name(row)!r} only {said!r} has no cell"
                evidence = self._evidence(self.reader.sentence_at(left.start))
                return scored(claim, "contradicted", reason, error, evidence, (said,))
        return scored(claim, verdict, reason, error, near[:3])

    def _is_setting(self, row: int, column: int, record: Record) -> bool:
        """Whether the time set last before a record is a value: "It was held in 2021", say.

        It is set by a sentence that names no row and gives no attribute.
        """
        if not moments_of(read_value(self.table.rows[row][column])):
            return False
        places = (self.reader.sentence_at(one.start) for one in self.find(row, column)[::-1])
        before = (one for one in places if one < min(record.numbers))
        unnamed = next((one for one in before if not self.reader.names_in(one)), None)
        return unnamed is not None and not self.records.readings(unnamed)

    def _trace(self, value: Value, record: Record) -> float:
        """Share of a text's words that sentences of a record have, each in some form."""
        words = _words(value.text)
        if not words or any(map(str.isdigit, value.text)):
            return 0.0 if words else 1.0
        spans = (self.reader.sentences[one.sentence] for one in record.sentences[:_LOOKED_AT])
        said = {token.word for span in spans for token in self.reader.tokens(span)}
        return sum(any(akin(word, one) for one in said) for word in words) / len(words)

    # what repair asks

    def lacks_names(self, absent: Sequence[str]) -> bool:
        """Whether the column that names the rows may be one of those that the answer lacks.

        That is one that the query lists before the answer's own, and that holds no numbers.
        """
        key = header_key(self.table.columns[self.key])
        known = [header_key(name) for name in self.scope.columns]
        before = known[: known.index(key)] if key in known else known
        return any(header_key(n) in before and not self._holds_numbers(n) for n in absent)

    def _holds_numbers(self, label: str) -> bool:
        """Whether the context gives numbers or times to an attribute."""
        records = ((name, record) for name in self.rows_of for record in self.records.of(name))
        said = (one for pair in records for one in self.records.said(*pair, label))
        kinds = {kind_of(one.value) for one in said}
        return bool(kinds) and "text" not in kinds

    def is_unknown(self, row: int) -> bool:
        """Whether the context has no word of a row's name."""
        name, words = self.name(row), _words(self.name(row))
        if not name or is_sum_row(name) or is_short_for(name, self.context):
            return False
        return not self.reader.name_spans.get(name) and not any(map(self.reader.has_word, words))

    def is_never_said(self, row: int, column: int) -> bool:
        """Whether the whole context has neither a cell's number nor any word of its text."""
        value = read_value(self.table.rows[row][column])
        words = _words(value.text)
        if self.find(row, column) or not words or self._is_hinted(value):
            return False
        is_exact = value.number is not None or bool(value.dates)
        return is_exact or not any(map(self.reader.has_word, words))

    def _is_hinted(self, value: Value) -> bool:
        """Whether the context may have a value in another form: "Canadian", "cast-iron", "the
        second quarter", a day whose year stands elsewhere.
        """
        said, text = self._said_words, value.text.casefold()
        if quarter := _QUARTER.fullmatch(text):
            orders = _QUARTERS[int(quarter[1]) - 1]
            return "quarter" in said and not said.isdisjoint(orders)
        if value.dates and (day := _DAY.fullmatch(value.dates[0])):
            year, month, number = day.groups()
            return {year, str(int(number))} <= said and MONTHS[int(month) - 1] in said
        words = text.split()
        if any(comes_from(word, text) for word in said):
            return True
        return len(words) > 1 and all(any(akin(w, one) for one in said) for w in words)

    @cached_property
    def _said_words(self) -> frozenset[str]:
        """The words of the context in small letters, those joined by hyphens apart."""
        return frozenset(re.findall(r"[^\W_]+", self.context.casefold()))

    def is_quoted(self, column: int) -> bool:
        """Whether the context has some value of a column: if none, it may be worked out."""
        filled = [row for row in self.rows if not is_blank(self.table.rows[row][column])]
        return len(filled) < 2 or any(self.find(row, column) for row in filled)

    def is_stated(self, column: int) -> bool:
        """Whether the context gives most of a column's cells to it."""
        rows = [row for row in self.rows if column in self.filled(row)]
        given = sum(bool(self.look(row, column).beside) for row in rows)
        return given >= 2 and 2 * given >= len(rows)

    def stated_instead(self, row: int, column: int) -> str | None:
        """What the context plainly gives to a blank cell's attribute, where it is one value."""
        header = self.table.columns[column]
        record = self.record(row)
        if record is None or not self.is_sure(row) or header in self.scope.computed:
            return None
        unit, cells = self.labels[header].unit, self.cells_stated(row)
        said = self.records.said(self.name(row), record, header) if self.is_explicit else []
        said = [one for one in said if one.about.bond != "unclear"]
        is_one = all(
            one.plain
            and self.is_of_kind(column, one.value)
            and same_value(said[0].value, one.value, unit)
            and not overlap(one.stated.span, cells)
            for one in said
        )
        found = self.only_left(row, column) if not said else said[0].stated.span if is_one else None
        return self.context[slice(*found)] if found else None


def _words(text: str) -> list[str]:
    """The words of a text that carry meaning."""
    return [word for word in tokens_of(text).words if word not in FUNCTION_WORDS]


def _asked(condition: ScopeCondition) -> str:
    """A condition in words, for a reason."""
    what = f" for {condition.label!r}" if condition.label else ""
    verb = "leaves out" if condition.excluded else "asks for"
    return f"the query {verb} {condition.said!r}{what}"


def _error_of(condition: ScopeCondition) -> ClaimError:
    """The error type of a row that does not meet a condition."""
    return "TMP" if condition.is_time else "ATT" if condition.values else "NUM"


class FieldsVerifier:
    """An info box, a list of attributes with their values, beside a text about its subject.

    Its rows name attributes and no entities: the whole text speaks of the one subject, so a value
    is looked for anywhere in it. What an attribute is called is the table's own word and no claim.
    """

    def __init__(self, table: Table, context: str) -> None:
        self.table = table
        self._reader = ContextReader(context, ())

    def verify(self, claim: Claim) -> Verdict:
        """The verdict on one claim; of a row and its attribute the value decides."""
        if claim.row is None:
            return scored(claim, "unscored", "no claim of a row")
        cell = clean(self.table.rows[claim.row][1] or "")
        if is_blank(cell):
            return scored(claim, "unscored", "the value is blank")
        items = [item for item in (cell, *_ITEMS.split(cell)) if item]
        whole, *places = [self._reader.places.find(item) for item in items]
        found = [whole] if whole else places
        if all(found):
            sentences = (self._reader.sentence_at(one[0].start) for one in found)
            evidence = map(self._reader.evidence, sentences)
            return scored(claim, "supported", "stated in the text", None, evidence)
        value = read_value(cell)
        is_exact = value.number is not None or bool(value.dates)
        words = _words(value.text)
        known = sum(map(self._reader.has_word, words))
        if any(places) or (not is_exact and words and known >= _TRACE * len(words)):
            return scored(claim, "unscored", "stated in part or in other words")
        if claim.column != self.table.columns[1]:
            return scored(claim, "unscored", "the name of an attribute")
        error: ClaimError = "TMP" if value.dates else "ATT" if value.number is None else "NUM"
        return scored(claim, "not_in_source", "the text never says it", error)
