"""Faithful summaries of a table by program: every claim is true by construction."""

from __future__ import annotations

import re
from collections.abc import Sequence
from random import Random

from tablemend.datasets.tabfaith.summary import Fact, Part, Summary
from tablemend.programs.execute import check
from tablemend.programs.program import (
    Change,
    Compare,
    Count,
    Difference,
    Program,
    Quantifier,
    Ratio,
    Rows,
    Value,
)
from tablemend.programs.sample import KINDS, LISTS, Sampler
from tablemend.programs.say import Realiser, Sentence
from tablemend.programs.speaker import TEMPLATES, TableDescriber, Unsayable, speakers
from tablemend.programs.table import TypedTable
from tablemend.tables.table import Table
from tablemend.values.sentences import Span, sentence_spans

VERSION = "verbaliser-9"
SENTENCES = (2, 5)
_TRIES = 80
"""Draws for one sentence."""
_TRIES_OF_A_KIND = 4
_GOES_ON = 0.35
"""How often a sentence says more of the entity of the one before."""
_CONNECTED = 0.1


class Verbaliser:
    """Makes any number of summaries of one table.

    Args:
        table: the table.

    Raises:
        Unsayable: nothing can be said of it.
    """

    def __init__(self, table: Table) -> None:
        self.speakers = speakers(TypedTable.of(table))

    def speaker(self, turned: bool) -> TableDescriber:
        """That of the table as written, or turned."""
        return next(own for own in self.speakers if own.table.is_turned == turned)

    def summarise(self, rng: Random, sentences: tuple[int, int] = SENTENCES) -> Summary:
        """A summary of so many sentences at least and at most; the same seed gives the same.

        Raises:
            Unsayable: too little can be said beyond doubt.
        """
        return _Writer(self.speakers, rng).write(sentences)


class _Writer:
    """Writes one summary."""

    def __init__(self, speakers: Sequence[TableDescriber], rng: Random) -> None:
        self._rng = rng
        self._tools = [(Realiser(speaker, rng), Sampler(speaker, rng)) for speaker in speakers]
        self._cells = {
            one.place: one.text for own in speakers for row in own.table.cells for one in row
        }
        self._text = ""
        self._facts: list[Fact] = []
        self._keys: set[object] = set()
        self._carried: tuple[Part, str] | None = None
        """The only entity of the last sentence, which the next can take up."""

    def write(self, sentences: tuple[int, int]) -> Summary:
        """So many sentences at least and at most, none of which says only what another says."""
        wanted = self._rng.randint(*sentences)
        made = 0
        for attempt in range(_TRIES * wanted):
            if made == wanted:
                break
            voice, sampler = self._rng.choice(self._tools)
            carried, noun = self._carried, voice.speaker.noun
            if not (noun and self._rng.random() < _GOES_ON):
                carried = None
            try:
                if carried and (statements := sampler.several(carried[1])):
                    said: Sentence | None = voice.say_list(statements, f"the {noun}")
                else:
                    carried, said = None, self._draw(voice, sampler)
            except Unsayable:
                continue
            early = attempt < _TRIES * wanted // 2
            part = carried and carried[0]
            made += said is not None and self._take(voice.speaker, said, part, is_early=early)
        if made < sentences[0]:
            raise Unsayable("too little can be said beyond doubt")
        return Summary(self._text, tuple(self._facts))

    def _draw(self, voice: Realiser, sampler: Sampler) -> Sentence | None:
        """A sentence, or ``None`` where what was drawn cannot be said of this table."""
        kind = self._rng.choices([None, *KINDS], [LISTS, *KINDS.values()])[0]
        for _ in range(_TRIES_OF_A_KIND):  # rarer kinds would be too rare otherwise
            if kind is None:
                if statements := sampler.several():
                    return voice.say_list(statements)
            elif (statement := kind(sampler)) is not None:
                return voice.say(statement)
        return None

    def _take(
        self, speaker: TableDescriber, said: Sentence, carried: Part | None, is_early: bool
    ) -> bool:
        """Add a sentence to the text, unless it says nothing new."""
        text, moved = said.text, 0
        is_new = self._facts and not carried and text.startswith("The ")
        if is_new and self._rng.random() < _CONNECTED:
            connective = self._rng.choice(TEMPLATES["connectives"])
            text, moved = f"{connective}t{text[1:]}", len(connective)
        start = len(self._text) + 1 if self._text else 0
        keys = [_key(claim.statement.program) for claim in said.claims]
        numbers = {key for key in keys if isinstance(key, Value) or key == (Count,)}
        again = keys[0] in self._keys if keys[0] not in numbers else set(keys) <= self._keys
        if again or (is_early and numbers & self._keys):
            return False  # the same number twice, only where little else can be said
        if not all(check(claim.statement, speaker.table).holds for claim in said.claims):
            return False
        longer = f"{self._text} {text}" if self._text else text
        if sentence_spans(longer)[-1].start != start:  # "Pop. 2008" would end a sentence
            return False
        sentence = Span(start, start + len(text))
        facts = _facts_of(said, speaker, longer, sentence, start + moved, carried)
        if self._gives_itself_away([*self._facts, *facts], longer):
            return False
        self._text = longer
        self._facts += facts
        self._keys |= set(keys)
        self._note(facts, speaker, carried)
        return True

    def _gives_itself_away(self, facts: Sequence[Fact], text: str) -> bool:
        """Whether all cells that decide one of several facts are printed beside it: who reads that
        one year is 1987 and another 1985 needs no table to know which is later.
        """
        said: set[tuple[int, int]] = set()
        for fact in facts:
            program = fact.statement.program
            if isinstance(program, Value) and isinstance(program.rows, Rows):
                said |= {*fact.cells}
        for fact in facts:
            program, words = fact.statement.program, f" {text[slice(*fact.sentence)]} "
            left = [place for place in fact.cells if place not in said]
            if isinstance(program, Compare | Difference | Change | Ratio):  # "Cup of 2002"
                left = [
                    place
                    for place in left
                    if not re.search(rf"\W{re.escape(self._cells[place])}\W", words)
                ]
            if not left and not isinstance(program, Value):
                return True
        return False

    def _note(self, facts: Sequence[Fact], speaker: TableDescriber, carried: Part | None) -> None:
        """What was said, and the entity that can be taken up."""
        for fact in facts:
            if isinstance(fact.statement.stated, str) or fact.kind == "numeric":
                for _, sampler in self._tools:
                    sampler.said |= {*fact.cells[:1]}
        parts = {part for fact in facts for part in fact.parts if part.role in ("entity", "other")}
        self._carried = None
        if len(parts) == 1 and not carried and speaker.who is not None:
            (part,) = parts
            names = [speaker.name(row) for row in speaker.rows]
            name = next((n for n in names if part.text in (n, speaker.spoken_name(n))), "")
            self._carried = (part, name) if name else None


def _key(program: Program) -> object:
    """What a sentence turns on: two bounds of one number are one thing to say."""
    if isinstance(program, Count | Quantifier):
        rows = program.rows.conditions if isinstance(program.rows, Rows) else ()
        own = (program.condition,) if isinstance(program, Quantifier) else rows
        return type(program), *((condition.column, condition.value) for condition in own)
    return program


def _facts_of(
    said: Sentence,
    speaker: TableDescriber,
    text: str,
    sentence: Span,
    start: int,
    carried: Part | None,
) -> list[Fact]:
    """The claims of a sentence with their places in a text, where its own words begin at a start.

    A name that it does not say again is carried from an earlier sentence.
    """
    facts = []
    for claim in said.claims:
        parts = []
        for role, slot in claim.slots.items():
            first, end = (place + start for place in said.slots[slot])
            parts.append(Part(role, first, end, text[first:end]))
        parts += [] if carried is None else [carried]
        focus = next(i for i, part in enumerate(parts) if part.role == claim.focus)
        cells = check(claim.statement, speaker.table).result.cells
        turned = speaker.table.is_turned
        facts.append(
            Fact(claim.kind, claim.statement, turned, tuple(parts), focus, cells, sentence)
        )
    return facts
