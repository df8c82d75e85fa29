"""Whether a long text keeps what the base context says, and where it says it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from tablemend.datasets.tablehallu.verification import meets
from tablemend.datasets.tablehallu_llm.omissions import Omissions, foreign_names
from tablemend.datasets.tablehallu_llm.parsing import KernelDraft
from tablemend.datasets.tablehallu_llm.statements import Sentence, Statements, is_text, overlap
from tablemend.prompting.replies import Problem
from tablemend.records import Condition, Constraints, Fact, Mention
from tablemend.tables.table import Table
from tablemend.values.cells import read_value
from tablemend.values.sentences import Span, paragraph_spans
from tablemend.values.text import fold
from tablemend.values.words import content_words

TOO_SHORT = "too short"
NO_PROSE = "lists or headings"
LOST = "gold value lost"
TORN = "pronoun torn from its sentence"
RESTATED = "gold entity with another value"
CLUSTERED = "original sentences not dispersed"

_YEAR = re.compile(r"(?:1[0-9]|20)\d\d")
_MARKUP = ("#", "|", "- ", "* ", "\u2022", "```")


class Kept(NamedTuple):
    """A sentence of the base context that the long text has word for word.

    Attributes:
        clean: its place in the base context.
        start: where it begins in the long text.
        torn: the sentence before it was what its pronoun pointed to, and is not there.
    """

    clean: Span
    start: int
    torn: bool

    @property
    def span(self) -> Span:
        """Its place in the long text."""
        return Span(self.start, self.start + self.clean.end - self.clean.start)


class Preserved:
    """A base context beside the long text that was made from it.

    Args:
        draft: the kernel.
        text: the long text.
        conditions: of the query; a sentence that says it is out of scope preserves nothing.
    """

    def __init__(
        self, draft: KernelDraft, text: str, conditions: tuple[Condition, ...] = ()
    ) -> None:
        self.draft = draft
        self.text = text
        self._conditions = conditions
        self.clean = Statements(draft.table, draft.context, closed=True)
        self.adversarial = Statements(draft.table, text, closed=False)
        self.kept = {kept.clean: kept for kept in self._keep()}

    def facts(self) -> Iterator[tuple[int, int, Fact | None]]:
        """Row, column and fact of every filled cell; ``None`` where a text does not state it."""
        for row, cells in enumerate(self.draft.table.rows):
            for column, clean in self.clean.locate(row).items():
                fact = None
                if clean and (adversarial := self._find_again(row, column, clean)):
                    value = self.draft.context[clean.start : clean.end]
                    name = self.draft.table.columns[column]
                    entity = cells[self.clean.key] or ""
                    fact = Fact(row, entity, name, value, None, clean, adversarial)
                yield row, column, fact

    def _find_again(self, row: int, column: int, clean: Mention) -> Mention | None:
        kept = self.kept.get(Span(clean.sentence_start, clean.sentence_end))
        if kept is not None:
            shift = kept.start - kept.clean.start
            return Mention(*(place + shift for place in clean))
        value = self.draft.context[clean.start : clean.end]
        for span in self.adversarial.cell_spans(row, column):
            sentence = self.adversarial.sentence_at(span.start)
            if self.text[span.start : span.end] == value and self._preserves(sentence, row):
                return Mention(*span, sentence.start, sentence.end)
        return None

    def _preserves(self, sentence: Sentence, row: int) -> bool:
        """Whether a sentence that is not the original one can speak of this row."""
        if _breaks_scope(self.adversarial, sentence, self._conditions):
            return False
        entity = self.draft.table.rows[row][self.clean.key]
        shared = self.draft.table.column(self.draft.table.columns[self.clean.key]).count(entity)
        kept = (one.span for one in self.kept.values())
        return shared == 1 or not overlap((sentence.start, sentence.end), kept)

    def _keep(self) -> Iterator[Kept]:
        taken: set[int] = set()
        before: Sentence | None = None
        for sentence in self.clean.sentences:
            said = self.draft.context[sentence.start : sentence.end]
            # the same words may stand there several times: "It opened in 1990."
            starts = [start for start in self._find_whole(said) if start not in taken]
            if starts:
                torn = False
                if sentence.about and not sentence.named:
                    right = [s for s in starts if self._follows(s, before, sentence.about)]
                    torn, starts = not right, right or starts
                taken.add(starts[0])
                yield Kept(Span(sentence.start, sentence.end), starts[0], torn)
            before = sentence

    def _find_whole(self, said: str) -> Iterator[int]:
        """Where a sentence stands word for word, not as the end of another word."""
        start = self.text.find(said)
        while start >= 0:
            if start == 0 or not self.text[start - 1].isalnum():
                yield start
            start = self.text.find(said, start + 1)

    def _follows(self, start: int, before: Sentence | None, about: frozenset[int]) -> bool:
        """Whether what precedes a place is about the same rows as in the base context."""
        head = self.text[:start].rstrip()
        if before is not None and head.endswith(self.draft.context[before.start : before.end]):
            return True
        return bool(head) and about <= self.adversarial.sentence_at(len(head) - 1).about


def check_adversarial(
    draft: KernelDraft, constraints: Constraints, text: str, expansion: float
) -> list[Problem]:
    """The long text (TableHallu, A.2.2 and A.3.2), as far as a program can read it.

    Whether a distractor meets the query is left to the verifier: its row is not known here.

    Args:
        draft: the kernel that it was made from.
        constraints: of the query; a sentence that says what breaks a condition may speak of
            a name of the table (the same maker in another year).
        text: the long text.
        expansion: how many times as many words as the base context it must have at least.
    """
    preserved = Preserved(draft, text, constraints.conditions)
    return [
        *_check_form(draft, text, expansion),
        *_check_values(preserved),
        *_check_blanks(preserved, constraints),
        *_check_restated(preserved, constraints),
        *_check_dispersal(preserved),
    ]


def locate_facts(draft: KernelDraft, adversarial: str) -> tuple[Fact, ...]:
    """The gold facts with their places in both texts, row by row.

    The value is as both texts write it. A cell that one of them does not state so has no fact;
    :func:`check_adversarial` has named it.
    """
    return tuple(fact for _, _, fact in Preserved(draft, adversarial).facts() if fact)


def _check_form(draft: KernelDraft, text: str, expansion: float) -> Iterator[Problem]:
    least = round(len(draft.context.split()) * expansion)
    words = len(text.split())
    if words < least:
        yield Problem(TOO_SHORT, f"The text has {words} words; it needs {least} at least.")
    if any(line.startswith(_MARKUP) for line in text.split("\n")):
        yield Problem(NO_PROSE, "The text must be prose without headings, lists and tables.")


def _check_values(preserved: Preserved) -> Iterator[Problem]:
    table = preserved.draft.table
    key = preserved.clean.key
    for row, column, fact in preserved.facts():
        if fact is None:
            cells = table.rows[row]
            yield Problem(
                LOST,
                f"The text no longer states {cells[column]!r} ({table.columns[column]}) of "
                f"{cells[key]!r} as the original does.",
            )
    for kept in preserved.kept.values():
        if kept.torn:
            said = preserved.text[slice(*kept.span)]
            yield Problem(
                TORN,
                f"The sentence {said!r} must directly follow the one that it speaks on from, "
                "or its pronoun points elsewhere.",
            )


def _check_blanks(preserved: Preserved, constraints: Constraints) -> Iterator[Problem]:
    statements = preserved.adversarial
    known = [kept.span for kept in preserved.kept.values()]
    outside = {
        sentence
        for sentence in statements.sentences
        if sentence.about and _breaks_scope(statements, sentence, constraints.conditions)
    }
    omissions = Omissions(statements, preserved.draft.context)
    yield from dict.fromkeys(omissions.find(known, outside))


def _check_restated(preserved: Preserved, constraints: Constraints) -> Iterator[Problem]:
    """New sentences that give a gold row another value, where that can be read.

    That is: the sentence names one row and nothing else, has the words of a column, and a
    number or date that the row does not have.
    """
    statements, table = preserved.adversarial, preserved.draft.table
    known = [kept.span for kept in preserved.kept.values()]
    for sentence in statements.sentences:
        entities = {table.rows[row][statements.key] or "" for row in sentence.named}
        if len(entities) != 1 or overlap((sentence.start, sentence.end), known):
            continue
        (entity,) = entities
        if fold(entity) not in fold(statements.text[sentence.start : sentence.end]):
            continue
        if foreign_names(statements, sentence, preserved.draft.context):
            continue
        if _breaks_scope(statements, sentence, constraints.conditions):
            continue
        for column, said in _other_values(statements, sentence):
            yield Problem(
                RESTATED,
                f"The text gives {entity!r} the value {said!r} for {table.columns[column]!r}; say "
                "nothing of it beyond the original sentences.",
            )


def _other_values(statements: Statements, sentence: Sentence) -> Iterator[tuple[int, str]]:
    table = statements.table
    rows = [table.rows[row] for row in sentence.named]
    own = [
        span
        for row in sentence.named
        for column in range(len(table.columns))
        for span in (
            statements.name_spans(table.rows[row][column] or "")
            if column == statements.key
            else statements.cell_spans(row, column)
        )
    ]
    for column, name in enumerate(table.columns):
        if column == statements.key or any(is_text(row[column]) for row in rows):
            continue
        span = statements.nearest_amount(sentence, content_words(name))
        if span is None or overlap(span, own):
            continue
        said = statements.text[slice(*span)]
        if any(map(str.isdigit, said)):
            yield column, said
            return


def _breaks_scope(
    statements: Statements, sentence: Sentence, conditions: tuple[Condition, ...]
) -> bool:
    """Whether a sentence says that it is about something out of scope."""
    places = statements.places
    for condition in conditions:
        words = content_words(condition.column)
        if condition.values:
            if statements.has_words(sentence, words) and not any(
                sentence.start <= span.start < sentence.end
                for value in condition.values
                for span in places.find(value)
            ):
                return True
            continue
        nearest = statements.nearest_amount(sentence, words)
        spans = [nearest] if nearest else []
        if _is_about_time(condition, statements.table):
            # A year or date tells by itself what it is; another number only beside its column.
            spans += places.amounts(sentence.start, sentence.end)
            spans = [span for span in spans if _is_time(statements.text[slice(*span)])]
        met = [meets(statements.text[slice(*span)], condition) for span in spans]
        if False in met and True not in met:
            return True
    return False


def _is_about_time(condition: Condition, table: Table) -> bool:
    """Whether a range is one of dates or years; 1,200 passengers are none."""
    cells = table.column(condition.column) if condition.column in table.columns else ()
    ends = (condition.low, condition.high)
    return all(_is_time(text) for text in (*cells, *ends) if text is not None)


def _is_time(text: str | None) -> bool:
    """Whether a text is a date or can be a year; those need no column's name beside them."""
    return text is not None and bool(_YEAR.fullmatch(text) or read_value(text).dates)


def _check_dispersal(preserved: Preserved) -> Iterator[Problem]:
    places = [fact.adversarial for _, _, fact in preserved.facts() if fact]
    if len({place.sentence_start for place in places}) < 2:
        return
    first = min(place.sentence_start for place in places)
    last = max(place.sentence_end for place in places)
    paragraphs = paragraph_spans(preserved.text)
    held = sum(any(span.start <= place.start < span.end for place in places) for span in paragraphs)
    if held < 2 or last - first < 2 * len(preserved.draft.context):
        yield Problem(
            CLUSTERED,
            "The sentences of the original stand together; spread them over the whole text.",
        )
