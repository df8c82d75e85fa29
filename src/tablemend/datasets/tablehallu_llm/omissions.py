"""Whether a text says no more than the table: nothing of its empty cells (TableHallu, A.1.2, A.2.2)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cached_property

from tablemend.datasets.tablehallu_llm.statements import (
    YEAR,
    Sentence,
    Statements,
    is_text,
    lexicon,
    overlap,
    pattern,
)
from tablemend.prompting.replies import Problem
from tablemend.values.places import singular
from tablemend.values.sentences import Span
from tablemend.values.text import tokens_of
from tablemend.values.words import akin, content_words

NULL_STATED = "empty cell stated"
NULL_REMARKED = "remark that something is missing"
FURTHER = "further value of a row"

_SHORTEST = 3
_NAME = re.compile(r"[A-Z\u00c0-\u00de][\w'\u2019.-]*(?: (?:(?:of|de|von|van|the|&) )?[A-Z]\w*)*")


class Omissions:
    """What a text says of rows beyond their cells.

    Args:
        statements: the text, read against the table.
    """

    def __init__(self, statements: Statements) -> None:
        self._statements = statements
        self._table = statements.table
        years = [cell for row in self._table.rows for cell in row if cell and YEAR.fullmatch(cell)]
        keys = self._table.column(self._table.columns[statements.key])
        self._named = all(is_text(key) for key in keys)
        # Of the same thing at another time more may be said where time is no attribute of it.
        self._dated = not years or len(set(keys)) < len(keys)

    def find(self) -> Iterator[Problem]:
        """Every place that fills an empty cell or remarks on one, or states another value."""
        table, closed = self._table, self._statements.closed
        empty = {row for row, cells in enumerate(table.rows) if None in cells}
        for sentence in self._statements.sentences:
            if sentence.origin is not None:
                continue
            if not closed and not self._may_be_added_to(sentence):
                continue
            if closed or sentence.about & empty:
                yield from self._remarks(sentence)
            leaks = list(self._leaks(sentence))
            yield from leaks
            if not closed and not leaks and sentence.about:
                yield from self._further(sentence)

    def _may_be_added_to(self, sentence: Sentence) -> bool:
        """Whether what a new sentence says of a row would be another value of the row."""
        foreign = self._names_foreign(sentence)
        if foreign and not (self._named and sentence.named):
            return False  # "It was in 1868 that Lund was founded", "Lund lost 2 % in 2018"
        return not (self._dated and self._states_other_year(sentence))

    def _states_other_year(self, sentence: Sentence) -> bool:
        stated = self._statements.text[sentence.start : sentence.end]
        own = {cell for row in sentence.about for cell in self._table.rows[row]}
        return any(year not in own for year in YEAR.findall(stated))

    def _remarks(self, sentence: Sentence) -> Iterator[Problem]:
        said = self._statements.text[sentence.start : sentence.end]
        if match := pattern("remarks").search(said.replace("\u2019", "'")):
            yield Problem(
                NULL_REMARKED,
                f"The text says {match[0]!r}: pass over what is missing without a word.",
            )

    def _leaks(self, sentence: Sentence) -> Iterator[Problem]:
        for row in sorted(sentence.about):
            cells = self._table.rows[row]
            for column, cell in enumerate(cells):
                if cell is None and (said := self._leak(sentence, row, column)):
                    yield Problem(
                        NULL_STATED,
                        f"The cell {self._table.columns[column]!r} of "
                        f"{cells[self._statements.key]!r} is empty, but the text says {said!r} "
                        "there: leave that attribute out.",
                    )

    def _leak(self, sentence: Sentence, row: int, column: int) -> str | None:
        """The words that fill an empty cell, or ``None``."""
        label = self._label(sentence, row, column)
        others = sentence.about - {row}
        if any(self._table.rows[other][column] is not None for other in others):
            # It may well speak of the others, unless it says one by the other.
            said = self._statements.text[sentence.start : sentence.end]
            return label if pattern("derived").search(said) else None
        if label is not None or others or not self._statements.closed:
            return label
        return self._value_of_column(sentence, row, column)

    def _further(self, sentence: Sentence) -> Iterator[Problem]:
        """Numbers in a new sentence about a row that the row does not have."""
        if not self._named or self._names_foreign(sentence):
            return
        own = [span for row in sentence.about for span in self._own_spans(row)]
        for span in self._statements.places.amounts(sentence.start, sentence.end):
            said = self._statements.text[slice(*span)]
            if any(map(str.isdigit, said)) and not overlap(span, own):
                names = {self._table.rows[row][self._statements.key] for row in sentence.about}
                yield Problem(
                    FURTHER,
                    f"The text says {said!r} of {' and '.join(map(repr, sorted(map(str, names))))}:"
                    " say nothing of what is in the table beyond the original sentences.",
                )
                return

    def _own_spans(self, row: int) -> list[Span]:
        """Where the row's own cells and name stand, however often."""
        statements = self._statements
        spans = list(statements.name_spans(self._table.rows[row][statements.key] or ""))
        for column in range(len(self._table.columns)):
            spans += statements.cell_spans(row, column)
        return spans

    def _label(self, sentence: Sentence, row: int, column: int) -> str | None:
        """The column's own words in a sentence, those of other stated columns taken out."""
        stated = [
            word
            for other, cell in enumerate(self._table.rows[row])
            if cell is not None
            for word in content_words(self._table.columns[other])
        ]
        words = content_words(self._table.columns[column])
        wanted = [word for word in words if not any(akin(word, other) for other in stated)]
        if not wanted or (
            set(wanted) <= set(lexicon()["common"].split()) and not self._says_more(sentence, row)
        ):
            return None
        tokens = [
            (word, Span(start, end))
            for word, start, end in self._statements.places.tokens
            if sentence.start <= start < sentence.end
        ]
        found = []
        for want in wanted:
            place = next(
                (s for word, s in tokens if akin(word, want) and not overlap(s, self._cell_places)),
                None,
            )
            if place is None:
                return None
            found.append(self._statements.text[slice(*place)])
        return " ".join(found)

    def _says_more(self, sentence: Sentence, row: int) -> bool:
        """Whether a sentence has a number or date that the row has not."""
        own = self._own_spans(row)
        amounts = self._statements.places.amounts(sentence.start, sentence.end)
        return any(not overlap(span, own) for span in amounts)

    @cached_property
    def _cell_places(self) -> list[Span]:
        """Where cells of words stand: a column's word inside them is none of the column."""
        cells = {cell for row in self._table.rows for cell in row if cell}
        words = sorted(cell for cell in cells if any(map(str.isalpha, cell)))
        return [span for cell in words for span in self._statements.places.find(cell)]

    def _value_of_column(self, sentence: Sentence, row: int, column: int) -> str | None:
        """A value that the same column has in another row."""
        own = self._own_spans(row)
        for cell in dict.fromkeys(self._table.column(self._table.columns[column])):
            if cell is None or (is_text(cell) and sum(map(str.isalnum, cell)) < _SHORTEST):
                continue
            for span in self._statements.spans(cell, column):
                if sentence.start <= span.start < sentence.end and not overlap(span, own):
                    return self._statements.text[span.start : span.end]
        return None

    def _names_foreign(self, sentence: Sentence) -> bool:
        """Whether a sentence has a capitalised name that neither table nor base context has.

        The first word of a sentence tells nothing.
        """
        text = self._statements.text
        for match in _NAME.finditer(text, sentence.start, sentence.end):
            words = [singular(word) for word in tokens_of(match[0]).words]
            if match.start() == sentence.start:
                words = words[1:]
            if any(w not in self._vocabulary and w.isalpha() and len(w) > 2 for w in words):
                return True
        return False

    @cached_property
    def _vocabulary(self) -> set[str]:
        cells = (cell for row in self._table.rows for cell in row if cell)
        base = self._statements.base
        known = base.text if base else ""
        said = " ".join((known, self._table.title, *self._table.columns, *cells))
        return {singular(word) for word in tokens_of(said).words}
