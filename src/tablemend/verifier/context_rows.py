"""Rows of an answer table: whether each is named in the context, and within the query's scope."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod

from tablemend.detector.mentions import index_context
from tablemend.records import Claim, ClaimError, Evidence, Verdict, VerdictName
from tablemend.values.cells import read_value
from tablemend.values.text import clean, header_key
from tablemend.values.units import header_unit
from tablemend.verifier.context_answer import AnswerReader
from tablemend.verifier.context_implied import is_short_for, is_sum_row
from tablemend.verifier.context_records import Breach, Record
from tablemend.verifier.scope_conditions import ScopeCondition, moments_of

VERIFIER = "context/2"
"""The verifier's name and version, which every verdict carries."""


class RowVerifier(AnswerReader, ABC):
    """An answer table beside its context, row by row."""

    @abstractmethod
    def verify_cell(self, claim: Claim, row: int, column: int) -> Verdict:
        """Whether a cell is what the context says."""

    def verify_row(self, claim: Claim, row: int) -> Verdict:
        """Whether a row's entity is named, in scope and not there twice."""
        name = self.name(row)
        if not name:
            return scored(claim, "unscored", "the row has no name")
        named = self._verify_name(claim, row)
        if named.verdict != "supported":
            return named
        listed = self.scope.entities
        if listed and name not in {clean(one) for one in listed}:
            return scored(claim, "contradicted", "the query lists other names", "ATT")
        _, _, breach = self.records.in_scope(name)
        if breach is not None:
            return self._out_of_scope(claim, name, breach)
        if (original := self.repeated.get(row)) is not None:
            reason = f"the context has no second {name!r} in scope beside row {original + 1}"
            return scored(claim, "contradicted", reason, "REL", named.evidence)
        return self._verify_scope(claim, row, named.evidence)

    def _verify_scope(self, claim: Claim, row: int, evidence: tuple[Evidence, ...]) -> Verdict:
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
                return scored(claim, "contradicted", reason, error_of(condition), evidence)
            if met is None:
                unmet.append(asked(condition))
        if self.scope.unread:
            unmet += [f"the query's {one!r} was not read" for one in self.scope.unread]
        of_text = [name for name in self.scope.topics if self._is_about_all(name)]
        for name in self.scope.topics:
            other = self._other_time(name, record)
            if other or not (name in of_text or self._is_said(name, record)):
                unmet.append(f"the query's {name!r} was not read")
        if unmet:
            reason = f"named in the context, scope not known: {'; '.join(unmet)}"
            return scored(claim, "unscored", reason, evidence=evidence)
        in_scope = bool(self.scope.conditions)
        reason = "named, and in the query's scope" if in_scope else "named in the context"
        if of_text:
            names = ", ".join(map(repr, of_text))
            reason += f"; {names} of the query is taken for what the whole text is about"
        return scored(claim, "supported", reason, evidence=evidence)

    def _column_of(self, condition: ScopeCondition) -> int | None:
        wanted = header_key(condition.label)
        names = [header_key(name) for name in self.table.columns]
        return names.index(wanted) if wanted and wanted in names else None

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
        return met if self.verify_cell(cell, row, column).verdict == "supported" else None

    def _is_about_all(self, name: str) -> bool:
        """Whether a name of the query can be what the whole text is about.

        That is one that no sentence names, or the first alone, and no row before it.
        """
        places = self.reader.places.find(name)
        rows = min((span.start for span, _ in self.reader.names_in(0)), default=len(self.context))
        return all(self.reader.sentence_at(one.start) == 0 and one.start < rows for one in places)

    def _is_said(self, name: str, record: Record | None) -> bool:
        return record is not None and not self._sentences_of(name).isdisjoint(record.numbers)

    def _sentences_of(self, name: str) -> set[int]:
        return {self.reader.sentence_at(span.start) for span in self.reader.places.find(name)}

    def _other_time(self, name: str, record: Record | None) -> bool:
        """Whether a record is set in a year, and in another one than a title: "the 2031 Cup"."""
        year = re.match(r"\d{4}", name)
        if year is None or record is None:
            return False
        years = {
            moment.first[0]
            for value, _ in self.records.times(record)
            for moment in moments_of(value)
        }
        return bool(years) and int(year[0]) not in years

    def _out_of_scope(self, claim: Claim, name: str, breach: Breach) -> Verdict:
        condition = breach.condition
        what = f" for {condition.label!r}" if condition.label else ""
        reason = f"the context says {breach.said!r}{what}; {asked(condition)}"
        evidence = (self._evidence(breach.sentence),)
        return scored(claim, "contradicted", reason, error_of(condition), evidence)

    def _verify_name(self, claim: Claim, row: int) -> Verdict:
        name = self.name(row)
        spans = self.reader.name_spans.get(name, [])
        if spans:
            sentence = self.reader.sentence_at(spans[0].start)
            if name in self.reader.partly_named:
                reason = "only a word of the name stands in the context"
                return scored(claim, "unscored", reason, evidence=(self._evidence(sentence),))
            return scored(
                claim, "supported", "named in the context", evidence=(self._evidence(sentence),)
            )
        if index_context(self.context).mentions(name):
            return scored(claim, "supported", "named in the context in other words")
        if is_sum_row(name):
            return scored(claim, "unscored", "a row that sums up others")
        if is_short_for(name, self.context):
            return scored(claim, "unscored", "it may be a short name, or have one in the context")
        return scored(claim, "not_in_source", "the context does not name it", "ATT")

    def _evidence(self, sentence: int) -> Evidence:
        start, end = self.reader.sentences[sentence]
        return Evidence(self.reader.text[start:end], start=start, end=end)


def scored(
    claim: Claim,
    verdict: VerdictName,
    reason: str,
    error: ClaimError | None = None,
    evidence: tuple[Evidence, ...] = (),
    expected: tuple[str, ...] = (),
) -> Verdict:
    """A verdict of this verifier."""
    return Verdict(claim, verdict, error, evidence, reason, (), expected, VERIFIER)


def asked(condition: ScopeCondition) -> str:
    """A condition in words, for a reason."""
    what = f" for {condition.label!r}" if condition.label else ""
    if condition.excluded:
        return f"the query leaves out {condition.said!r}{what}"
    return f"the query asks for {condition.said!r}{what}"


def error_of(condition: ScopeCondition) -> ClaimError:
    """The error type of a row that does not meet a condition."""
    return "TMP" if condition.is_time else "ATT" if condition.values else "NUM"
