"""Claims of an info box, a list of attributes with their values, against a text about its subject.

Its rows name attributes and no entities: the whole text speaks of the one subject, so a value is
looked for anywhere in it. What an attribute is called is the table's own word and no claim.
"""

from __future__ import annotations

import re

from tablemend.records import Claim, Evidence, Verdict, VerdictName
from tablemend.tables.table import Table
from tablemend.values.blanks import is_blank
from tablemend.values.cells import read_value
from tablemend.values.text import clean, tokens_of
from tablemend.values.words import LITTLE_WORDS
from tablemend.verifier.context_reading import ContextReader

_ITEMS = re.compile(r"\s*[,;/]\s*|\s+and\s+|(?<=\d)\s*[-\u2013]+\s*(?=\d)")
_TRACE = 0.5


class FieldsVerifier:
    """An info box beside its text.

    Args:
        table: two columns: attribute and value.
        context: the text.
        verifier: name of the verifier, for the verdicts.
    """

    def __init__(self, table: Table, context: str, verifier: str) -> None:
        self.table = table
        self._verifier = verifier
        self._reader = ContextReader(context, ())

    def verify(self, claim: Claim) -> Verdict:
        """The verdict on one claim; of a row and its attribute the value decides."""
        if claim.row is None:
            return self._verdict(claim, "unscored", "no claim of a row")
        cell = self.table.rows[claim.row][1]
        found, reason, evidence = self._look(cell or "")
        if claim.column != self.table.columns[1] and found == "not_in_source":
            return self._verdict(claim, "unscored", "the name of an attribute")
        return self._verdict(claim, found, reason, evidence)

    def _look(self, cell: str) -> tuple[VerdictName, str, tuple[Evidence, ...]]:
        if is_blank(cell):
            return "unscored", "the value is blank", ()
        if spans := self._reader.places.find(clean(cell)):
            return "supported", "stated in the text", (self._evidence(spans[0].start),)
        items = [item for item in _ITEMS.split(clean(cell)) if item]
        places = [self._reader.places.find(item) for item in items]
        if len(items) > 1 and all(places):
            evidence = tuple(self._evidence(found[0].start) for found in places)
            return "supported", "stated in the text, item by item", evidence
        if any(places) or self._reader.has_letters(cell):
            return "unscored", "stated in part", ()
        value = read_value(cell)
        exact = value.number is not None or bool(value.dates)
        words = [word for word in tokens_of(value.text).words if word not in LITTLE_WORDS]
        known = sum(map(self._reader.has_word, words))
        if not exact and words and known >= _TRACE * len(words):
            return "unscored", "stated in part or in other words", ()
        return "not_in_source", "the text never says it", ()

    def _evidence(self, place: int) -> Evidence:
        start, end = self._reader.sentences[self._reader.sentence_at(place)]
        return Evidence(self._reader.text[start:end], start=start, end=end)

    def _verdict(
        self,
        claim: Claim,
        verdict: VerdictName,
        reason: str,
        evidence: tuple[Evidence, ...] = (),
    ) -> Verdict:
        value = read_value(self.table.rows[claim.row or 0][1])
        number = "NUM" if value.number is not None else "ATT"
        error = "TMP" if value.dates else number
        wrong = verdict == "not_in_source"
        return Verdict(
            claim,
            verdict,
            error if wrong else None,  # type: ignore[arg-type]
            evidence,
            reason,
            verifier=self._verifier,
        )
