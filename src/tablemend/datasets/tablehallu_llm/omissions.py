"""Whether a text says more than its table: of empty cells, of rows (TableHallu, A.1.2, A.2.2)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cached_property

from tablemend.datasets.tablehallu_llm.statements import (
    Sentence,
    Statements,
    is_text,
    lexicon,
    overlap,
    pattern,
)
from tablemend.prompting.replies import Problem
from tablemend.values.text import Span, akin, content_words, singular, tokens_of

NULL_STATED = "empty cell stated"
NULL_REMARKED = "remark that something is missing"
FURTHER = "further value of a row"

_SHORTEST = 3
_NAME = re.compile(r"[A-Z\u00c0-\u00de][\w'\u2019.-]*(?: (?:(?:of|de|von|van|the|&) )?[A-Z]\w*)*")


class Omissions:
    """What a text, read against its table, says of rows beyond their cells."""

    def __init__(self, statements: Statements) -> None:
        self._read, self._table = statements, statements.table
        self._keys = [row[statements.key] for row in self._table.rows]

    def find(self) -> Iterator[Problem]:
        """Every place that fills an empty cell or remarks on one, or states another value."""
        closed = self._read.closed
        for sentence in self._read.sentences:
            if sentence.origin is not None or not (closed or self._is_of_rows(sentence)):
                continue
            text = self._read.said(sentence)
            empty = any(None in self._table.rows[row] for row in sentence.about)
            if match := (closed or empty) and pattern("remarks").search(text):
                reason = f"The text says {match[0]!r}: pass over what is missing without a word."
                yield Problem(NULL_REMARKED, reason)
            leaks = [
                self._problem(NULL_STATED, row, said, f"The cell {name!r} of it is empty")
                for row in sorted(sentence.about)
                for column, name in enumerate(self._table.columns)
                if self._table.rows[row][column] is None
                and (said := self._leak(sentence, row, column))
            ]
            yield from leaks or (() if closed else self._further(sentence))

    def _problem(self, kind: str, row: int, said: str, why: str) -> Problem:
        return Problem(kind, f"The text says {said!r} of {self._keys[row]!r}. {why}: leave it out.")

    def _is_of_rows(self, sentence: Sentence) -> bool:
        """Whether what a new sentence of a long text says would be said of rows of the table."""
        if not (sentence.named and all(map(is_text, self._keys))) and self.foreign(sentence):
            return False  # "It was in 1868 that Lund was founded", "Lund lost 2 % in 2018"
        return bool(sentence.about)

    def _leak(self, sentence: Sentence, row: int, column: int) -> str | None:
        """The words that fill an empty cell, or ``None``."""
        label = self._label(sentence, row, column)
        others = sentence.about - {row}
        if any(self._table.rows[other][column] is not None for other in others):
            # It may well speak of the others, unless it says one by the other.
            return label if pattern("derived").search(self._read.said(sentence)) else None
        if label is not None or others or not self._read.closed:
            return label
        return self._value_of_column(sentence, row, column)

    def _label(self, sentence: Sentence, row: int, column: int) -> str | None:
        """The column's own words in a sentence, those of other stated columns taken out."""
        cells = zip(self._table.columns, self._table.rows[row], strict=True)
        stated = [word for name, cell in cells if cell for word in content_words(name)]
        words = content_words(self._table.columns[column])
        wanted = [word for word in words if not any(akin(word, other) for other in stated)]
        if set(wanted) <= set(lexicon()["common"].split()):
            return None
        tokens = self._read.places.tokens
        here = [token for token in tokens if sentence.start <= token[1] < sentence.end]
        found = [next((one for one in here if akin(one[0], want)), None) for want in wanted]
        said = [self._read.text[one[1] : one[2]] for one in found if one]
        return " ".join(said) if len(said) == len(wanted) else None

    def _value_of_column(self, sentence: Sentence, row: int, column: int) -> str | None:
        """A value that the same column has in another row."""
        own = self._own_spans(row)
        for cell in dict.fromkeys(self._table.column(self._table.columns[column])):
            if cell is None or (is_text(cell) and sum(map(str.isalnum, cell)) < _SHORTEST):
                continue
            for span in self._read.spans(cell, column):
                if sentence.start <= span.start < sentence.end and not overlap(span, own):
                    return self._read.text[span.start : span.end]
        return None

    def _further(self, sentence: Sentence) -> Iterator[Problem]:
        """The first number in a new sentence about a row that the row does not have."""
        if not all(map(is_text, self._keys)) or self.foreign(sentence):
            return
        own = [span for row in sentence.about for span in self._own_spans(row)]
        for span in self._read.places.amounts(sentence.start, sentence.end):
            said = self._read.text[slice(*span)]
            if any(map(str.isdigit, said)) and not overlap(span, own):
                why = "The original says all that may be said of it"
                yield self._problem(FURTHER, min(sentence.about), said, why)
                return

    def _own_spans(self, row: int) -> list[Span]:
        """Where the row's own cells and name stand, however often."""
        spans = list(self._read.name_spans(self._keys[row] or ""))
        for column in range(len(self._table.columns)):
            spans += self._read.cell_spans(row, column)
        return spans

    def foreign(self, sentence: Sentence) -> list[str]:
        """The words of capitalised names that neither table nor base context has.

        The first word of a sentence tells nothing.
        """
        words: list[str] = []
        for match in _NAME.finditer(self._read.text, sentence.start, sentence.end):
            found = [singular(word) for word in tokens_of(match[0]).words]
            words += found[1:] if match.start() == sentence.start else found
        new = (word for word in words if word.isalpha() and word not in self._vocabulary)
        return [word for word in new if len(word) >= _SHORTEST]

    @cached_property
    def _vocabulary(self) -> set[str]:
        cells = (cell for row in self._table.rows for cell in row if cell)
        base = self._read.base.text if self._read.base else ""
        said = " ".join((base, self._table.title, *self._table.columns, *cells))
        return {singular(word) for word in tokens_of(said).words}
