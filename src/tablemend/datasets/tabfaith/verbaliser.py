"""Faithful summaries of a table by program (issue: 2 to 5 sentences, verified)."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import NamedTuple

from tablemend.datasets.tabfaith.summary import Fact, Part, Summary
from tablemend.programs.execute import check
from tablemend.programs.program import Count, Program, Quantifier, Rows, Value
from tablemend.programs.sample import KINDS, LISTS, Sampler
from tablemend.programs.say import Said, Voice
from tablemend.programs.speaker import Speaker, Unsayable, speakers
from tablemend.programs.table import TypedTable
from tablemend.programs.templates import TEMPLATES
from tablemend.tables.table import Table
from tablemend.values.sentences import Span, sentence_spans

VERSION = "verbaliser-4"
SENTENCES = (2, 5)
_TRIES = 80
"""Draws for one sentence."""
_TRIES_OF_A_KIND = 4


def verbalise(table: Table, seed: int | str, sentences: tuple[int, int] = SENTENCES) -> Summary:
    """A faithful summary of a table: every claim is true by construction.

    Args:
        table: a real or synthetic table.
        seed: the same gives the same summary.
        sentences: fewest and most.

    Raises:
        Unsayable: too little can be said beyond doubt.
    """
    return Verbaliser(table).summarise(Random(f"verbaliser:{seed}"), sentences)


class Verbaliser:
    """Makes any number of summaries of one table.

    Args:
        table: the table.

    Attributes:
        table: with typed cells.

    Raises:
        Unsayable: nothing can be said of it.
    """

    def __init__(self, table: Table) -> None:
        self.table = TypedTable.of(table)
        self.speakers = speakers(self.table)

    def speaker(self, turned: bool) -> Speaker:
        """That of the table as written, or turned."""
        return next(own for own in self.speakers if own.table.is_turned == turned)

    def summarise(self, rng: Random, sentences: tuple[int, int] = SENTENCES) -> Summary:
        """A faithful summary; see :func:`verbalise`."""
        return _Writer(self.speakers, rng).write(sentences)


class _Drawn(NamedTuple):
    speaker: Speaker
    said: Said
    named: str = ""
    """The entity that a pronoun stands for."""


class _Writer:
    """Writes one summary."""

    def __init__(self, speakers: Sequence[Speaker], rng: Random) -> None:
        self._rng = rng
        self._voices = [Voice(speaker, rng) for speaker in speakers]
        self._samplers = [Sampler(speaker, rng) for speaker in speakers]
        self._text = ""
        self._facts: list[Fact] = []
        self._keys: set[object] = set()
        self._carried: Part | None = None
        self._carried_name = ""

    def write(self, sentences: tuple[int, int]) -> Summary:
        """So many sentences at least and at most, none of which says only what another says."""
        wanted = self._rng.randint(*sentences)
        made = 0
        for attempt in range(_TRIES * wanted):
            if made == wanted:
                break
            try:
                drawn = self._draw()
            except Unsayable:
                continue
            early = attempt < _TRIES * wanted // 2
            made += drawn is not None and self._take(drawn, is_early=early)
        if made < sentences[0]:
            raise Unsayable("too little can be said beyond doubt")
        return Summary(self._text, tuple(self._facts))

    def _draw(self) -> _Drawn | None:
        """A sentence, or ``None`` where what was drawn cannot be said of this table."""
        rng = self._rng
        place = rng.randrange(len(self._samplers))
        sampler, voice = self._samplers[place], self._voices[place]
        speaker = voice.speaker
        goes_on = self._carried_name and rng.random() < (0.35 if speaker.noun else 0.1)
        if goes_on and (statements := sampler.several(self._carried_name)):
            again = f"the {speaker.noun}" if speaker.noun else "the same entry"
            return _Drawn(speaker, voice.say_list(statements, again), self._carried_name)
        kinds = [None, *KINDS]
        kind = rng.choices(kinds, [LISTS, *KINDS.values()])[0]
        for _ in range(_TRIES_OF_A_KIND):  # rarer kinds would be too rare otherwise
            if kind is None:
                if statements := sampler.several():
                    return _Drawn(speaker, voice.say_list(statements))
            elif (statement := kind(sampler)) is not None:
                return _Drawn(speaker, voice.say(statement))
        return None

    def _take(self, drawn: _Drawn, is_early: bool) -> bool:
        """Add a sentence to the text, unless it says nothing new."""
        speaker, said, named = drawn
        text, moved = said.text, 0
        if self._facts and text.startswith("The ") and self._rng.random() < 0.2:
            connective = self._rng.choice(TEMPLATES["connectives"])
            text, moved = f"{connective}t{text[1:]}", len(connective)
        start = len(self._text) + 1 if self._text else 0
        keys = [_key(claim.statement.program) for claim in said.claims]
        values = {key for key in keys if isinstance(key, Value)}
        again = keys[0] in self._keys if keys[0] not in values else set(keys) <= self._keys
        if again or (is_early and values & self._keys):
            return False  # the same number twice, only where little else can be said
        if not all(check(claim.statement, speaker.table).holds for claim in said.claims):
            return False
        longer = f"{self._text} {text}" if self._text else text
        if sentence_spans(longer)[-1].start != start:  # "Pop. 2008" would end a sentence
            return False
        sentence = Span(start, start + len(text))
        facts = facts_of(
            said, speaker, longer, sentence, start + moved, self._carried if named else None
        )
        self._text = longer
        self._facts += facts
        self._keys |= set(keys)
        self._note(facts, speaker, named)
        return True

    def _note(self, facts: Sequence[Fact], speaker: Speaker, named: str) -> None:
        """What was said, and the only entity of the sentence, which a pronoun can take up."""
        for fact in facts:
            if isinstance(fact.statement.stated, str) or fact.kind == "numeric":
                for sampler in self._samplers:
                    sampler.said |= {*fact.cells[:1]}
        parts = {part for fact in facts for part in fact.parts if part.role in ("entity", "other")}
        self._carried, self._carried_name = None, ""
        if len(parts) == 1 and not named and speaker.who is not None:
            (self._carried,) = parts
            self._carried_name = next(
                (
                    name
                    for row in speaker.rows
                    for name in [speaker.name(row)]
                    if self._carried.text in (name, speaker.spoken_name(name))
                ),
                "",
            )


def _key(program: Program) -> object:
    """What a sentence turns on: two bounds of one number are one thing to say."""
    if isinstance(program, Count | Quantifier):
        rows = program.rows.conditions if isinstance(program.rows, Rows) else ()
        own = (program.condition,) if isinstance(program, Quantifier) else rows
        return type(program), *((condition.column, condition.value) for condition in own)
    return program


def facts_of(
    said: Said, speaker: Speaker, text: str, sentence: Span, start: int, carried: Part | None
) -> list[Fact]:
    """The claims of a sentence with their places in a text.

    Args:
        said: the sentence.
        speaker: the table.
        text: the text that it stands in.
        sentence: where it stands.
        start: where its own words begin.
        carried: the name of which it says more without saying it again.
    """
    facts = []
    for claim in said.claims:
        spans = {role: said.slots[slot] for role, slot in claim.slots.items()}
        parts = [
            Part(
                role,
                span.start + start,
                span.end + start,
                text[span.start + start : span.end + start],
            )
            for role, span in spans.items()
        ]
        if carried is not None:
            parts.append(carried)
        focus = next(i for i, part in enumerate(parts) if part.role == claim.focus)
        cells = check(claim.statement, speaker.table).result.cells
        turned = speaker.table.is_turned
        facts.append(
            Fact(claim.kind, claim.statement, turned, tuple(parts), focus, cells, sentence)
        )
    return facts
