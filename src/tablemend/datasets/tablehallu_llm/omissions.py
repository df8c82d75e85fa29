"""Whether a text keeps silent where the table is empty (TableHallu, A.1.2 and A.2.2)."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from functools import cached_property

from tablemend.datasets.tablehallu_llm.statements import (
    Sentence,
    Statements,
    is_text,
    overlap,
)
from tablemend.prompting.replies import Problem
from tablemend.values.places import singular
from tablemend.values.sentences import Span
from tablemend.values.text import tokens_of
from tablemend.values.words import akin, content_words

NULL_STATED = "empty cell stated"
NULL_REMARKED = "remark that something is missing"

_DONE = (
    "disclosed|reported|known|available|recorded|specified|stated|given|released|published|provided"
    "|announced|documented|mentioned|listed|included|confirmed|determined|noted|revealed|identified"
)
_REMARK = re.compile(
    rf"""
    \b(?:
        (?:un(?:known|disclosed|specified|reported|available|recorded|documented|confirmed))
            (?!\s+(?:to|until|territor|artist|author|soldier))
      | (?:is|are|was|were|has|have|had|been|yet|data|details?|figures?)\s+
            (?:not|never)\s+(?:yet\s+)?(?:been\s+)?(?:\w+ly\s+)?(?:{_DONE})
      | (?:is|are|was|were|has|have)n't\s+(?:yet\s+)?(?:been\s+)?(?:\w+ly\s+)?(?:{_DONE})
      | no\s+(?:\w+\s+){{0,3}}(?:data|information|figures?|details?|records?|value|mention)\b
      | no\s+(?:\w+\s+){{1,4}}(?:is|are|was|were|has\s+been|have\s+been)\s+(?:\w+ly\s+)?(?:{_DONE})
      | (?:data|information|figures?|details?)\s+(?:\w+\s+){{0,5}}(?:missing|lacking|unavailable)
      | remains?\s+(?:unclear|unknown|undisclosed|unspecified|unconfirmed|a\s+mystery)
      | (?:left\s+(?:blank|empty|out))|withheld|to\s+be\s+(?:determined|announced|confirmed)
      | not\s+(?:yet\s+)?(?:publicly\s+)?(?:disclosed|specified|available)
      | n/a
    )""",
    re.VERBOSE | re.IGNORECASE,
)
# Words that are said of everything: alone they are no sign of a column.
_COMMON = frozenset(
    "year date name type time value status rank title class category result place level group "
    "role position period kind".split()
)
_SHORTEST = 3
_NAME = re.compile(r"[A-Z\u00c0-\u00de][\w'\u2019.-]*(?: (?:(?:of|de|von|van|the|&) )?[A-Z]\w*)*")


class Omissions:
    """The empty cells of a table, looked for in a text.

    Args:
        statements: the text, read against the table.
        known: further words that may be said: those of the base context.
    """

    def __init__(self, statements: Statements, known: str = "") -> None:
        self._statements = statements
        self._table = statements.table
        self._known = known

    def find(self, skip: Collection[Span] = ()) -> Iterator[Problem]:
        """Every place that fills an empty cell or remarks on one, but for those in ``skip``."""
        blanks = [
            (row, column)
            for row, cells in enumerate(self._table.rows)
            for column, cell in enumerate(cells)
            if cell is None
        ]
        rows = {row for row, _ in blanks}
        for sentence in self._statements.sentences:
            if overlap((sentence.start, sentence.end), skip):
                continue
            if self._statements.closed or sentence.about & rows:
                yield from self._remarks(sentence)
            for row, column in blanks:
                if row in sentence.about and (said := self._leak(sentence, row, column)):
                    entity = self._table.rows[row][self._statements.key]
                    yield Problem(
                        NULL_STATED,
                        f"The cell {self._table.columns[column]!r} of {entity!r} is "
                        f"empty, but the text says {said!r} there: leave that attribute out.",
                    )

    def _remarks(self, sentence: Sentence) -> Iterator[Problem]:
        said = self._statements.text[sentence.start : sentence.end]
        if match := _REMARK.search(said.replace("\u2019", "'")):
            yield Problem(
                NULL_REMARKED,
                f"The text says {match[0]!r}: pass over what is missing without a word.",
            )

    def _leak(self, sentence: Sentence, row: int, column: int) -> str | None:
        """The words that fill an empty cell, or ``None``."""
        others = sentence.about - {row}
        if any(self._table.rows[other][column] is not None for other in others):
            return None  # it may well speak of the others
        closed = self._statements.closed
        if not closed and row not in sentence.named and self._names_foreign(sentence):
            return None  # "It was in 1868 that Lund was founded"
        label = self._label(sentence, row, column)
        if label is not None or others or not closed:
            return label
        return self._value_of_column(sentence, row, column)

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
        if not wanted or (_COMMON.issuperset(wanted) and not self._says_more(sentence, row)):
            return None
        found: list[str] = []
        for want in wanted:
            place = next(
                (
                    (start, end)
                    for word, start, end in self._statements.places.tokens
                    if sentence.start <= start < sentence.end
                    and akin(word, want)
                    and not overlap((start, end), self._cell_places)
                ),
                None,
            )
            if place is None:
                return None
            found.append(self._statements.text[slice(*place)])
        return " ".join(found)

    def _says_more(self, sentence: Sentence, row: int) -> bool:
        """Whether a sentence has a number or date that the row has not."""
        spans = self._statements.places.amounts(sentence.start, sentence.end)
        own = self._own_spans(row)
        return any(not overlap(span, own) for span in spans)

    @cached_property
    def _cell_places(self) -> list[Span]:
        """Where cells of words stand: a column's word inside them is none of the column."""
        cells = {
            cell
            for row in self._table.rows
            for cell in row
            if cell is not None and any(map(str.isalpha, cell))
        }
        return [span for cell in sorted(cells) for span in self._statements.places.find(cell)]

    def _value_of_column(self, sentence: Sentence, row: int, column: int) -> str | None:
        """A value that the same column has in another row."""
        own = self._own_spans(row)
        for cell in dict.fromkeys(self._table.column(self._table.columns[column])):
            if cell is None or (is_text(cell) and sum(map(str.isalnum, cell)) < _SHORTEST):
                continue
            for span in self._statements.places.find(cell):
                if sentence.start <= span.start < sentence.end and not overlap(span, own):
                    return self._statements.text[span.start : span.end]
        return None

    def _names_foreign(self, sentence: Sentence) -> bool:
        """Whether a sentence has a capitalised name that neither the table nor ``known`` has.

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
        said = " ".join((self._known, self._table.title, *self._table.columns, *cells))
        return {singular(word) for word in tokens_of(said).words}
