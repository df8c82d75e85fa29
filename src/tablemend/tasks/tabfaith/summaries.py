"""Summaries of a table by program, and errors injected in them, of named types at exact places.

Every claim of a faithful summary is true by construction. An error is one slot of a statement
edited until the statement is false (TabFaith, 3.1):

- NUM: a number that no cell of the table has, and that the table does not yield either.
- REL: the value of another row or column, or the name of another column.
- CMP: a superlative, rank or direction turned round, or given to another entity.
- TMP: another period of the table; earlier for later.
- ATT: the name of another entity, or another entity's attribute.

Only the table gives an error away: values stay near, of the same unit and as round; what else the
text says does not contradict it; each claim is as likely to be hit, whatever it says.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from random import Random
from typing import Annotated, Any

from pydantic import PlainValidator

from tablemend.foreign import FromJson
from tablemend.programs.edit import Edit, are_compatible, edits, exchange, reword, still_holds
from tablemend.programs.execute import check, execute
from tablemend.programs.program import (
    Change,
    Compare,
    Count,
    Difference,
    Program,
    Quantifier,
    Ratio,
    Role,
    Rows,
    Statement,
    Value,
    from_json,
    to_json,
)
from tablemend.programs.sample import KINDS, LISTS, Sampler
from tablemend.programs.say import Realiser, Sentence
from tablemend.programs.speaker import TEMPLATES, TableDescriber, Unsayable, speakers
from tablemend.programs.table import TypedTable
from tablemend.records import CLAIM_ERRORS, ClaimError, ClaimKind
from tablemend.tables.table import Table
from tablemend.values.dates import read_period
from tablemend.values.text import Span, sentence_spans


@dataclass(frozen=True, slots=True)
class Part:
    """Words of a summary that a claim rests on.

    Attributes:
        role: what they are in the claim.
        start, end: their place in the text.
        text: the words.
    """

    role: Role
    start: int
    end: int
    text: str


@dataclass(frozen=True, slots=True)
class Fact(FromJson):
    """One atomic statement and its ground truth.

    Attributes:
        kind: the sort of claim (TabFaith, 4.1).
        statement: the program that makes it true, and what is said to come out.
        turned: the program runs over columns.
        parts: the words that state it, at most one of each role. A name that a pronoun or a list
            leaves out is the part that stands earlier.
        focus: index of the part that it turns on.
        cells: row and column of every cell that decides it.
        sentence: place of its sentence.
    """

    kind: ClaimKind
    statement: Annotated[Statement, PlainValidator(lambda stored: from_json(json.loads(stored)))]
    turned: bool
    parts: tuple[Part, ...]
    focus: int
    cells: tuple[tuple[int, int], ...]
    sentence: Span

    def part(self, role: str) -> Part | None:
        """The part of a role, or ``None``."""
        return next((part for part in self.parts if part.role == role), None)

    def to_json(self) -> dict[str, Any]:
        """A JSON-serialisable dict that :meth:`from_json` reads back."""
        return {**asdict(self), "statement": json.dumps(to_json(self.statement))}


@dataclass(frozen=True, slots=True)
class InjectedError:
    """One error of a summary.

    Attributes:
        type: the paper's type (3.1).
        start, end: the words at fault.
        text: these words.
        original: what stood there before; empty where nothing was replaced, in a model's summary.
        expected: what the source says there; of a cell its own spelling. Empty where it is open.
        facts: indices of the claims that it makes false: one, or all values of a list whose name
            or period is at fault; empty where the facts are not known.
    """

    type: ClaimError
    start: int
    end: int
    text: str
    original: str
    expected: str
    facts: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Summary:
    """A text about a table; every number, name, period and cue in it belongs to a fact.

    Attributes:
        facts: the claims, the false ones included, with what they say.
        errors: in the order of the text; no two overlap or concern one claim.
    """

    text: str
    facts: tuple[Fact, ...]
    errors: tuple[InjectedError, ...] = ()


ENGINE = "verbaliser-9+injection-5"
"""What writes summaries and injects errors, with versions."""
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


_RARE: Mapping[ClaimError, float] = {"NUM": 0.6, "REL": 1.6, "CMP": 0.9, "TMP": 4, "ATT": 0.7}
"""How much more often a type is drawn where a claim admits it: not every claim does."""


def inject(
    summary: Summary,
    verbaliser: Verbaliser,
    mixes: Sequence[Mapping[ClaimError, float]],
    rng: Random,
) -> Summary | None:
    """A summary with one error more for each mix, or ``None`` where there is no room for them.

    Args:
        summary: the faithful summary; at most one error comes into a sentence.
        verbaliser: of its table.
        mixes: shares of the types of each error; the claim is drawn first, then a type that it
            admits.
        rng: draws.
    """
    made: Summary | None = summary
    for mix in mixes:
        made = made and _OneError(made, verbaliser, rng).inject(mix)
    return made


class _OneError:
    """Injects one error more."""

    def __init__(self, summary: Summary, verbaliser: Verbaliser, rng: Random) -> None:
        self._summary, self._verbaliser, self._rng = summary, verbaliser, rng
        self._users: dict[Span, list[int]] = defaultdict(list)
        for index, fact in enumerate(summary.facts):
            for span in {Span(part.start, part.end) for part in fact.parts}:
                self._users[span].append(index)

    def inject(self, mix: Mapping[ClaimError, float]) -> Summary | None:
        """An error in a sentence without one.

        What makes several claims false is as much rarer as there are more ways to it.
        """
        facts, spare = self._summary.facts, None
        hit = {facts[index].sentence for error in self._summary.errors for index in error.facts}
        for index in self._rng.sample(range(len(facts)), len(facts)):
            for type in _drawn(mix, self._rng) if facts[index].sentence not in hit else ():
                if (made := self._make_false(index, type)) is None:
                    continue
                if self._rng.random() * len(made.errors[-1].facts) < 1:
                    return _in_order(made)
                spare = spare or made
        return _in_order(spare) if spare else None

    def _make_false(self, index: int, type: ClaimError) -> Summary | None:
        """The summary with words of a claim edited so that it is false; this error stands last."""
        fact = self._summary.facts[index]
        speaker = self._verbaliser.speaker(fact.turned)
        for edit in edits(fact.statement, speaker.table, self._rng, type):
            part = fact.part(edit.role)
            text = part and reword(part.text, edit, fact.statement, speaker)
            if part is None or not text:
                continue
            if part.start == fact.sentence.start:
                text = text[0].upper() + text[1:]
            if self._reads_well(fact, part, text) and (false := self._edited(index, part, edit)):
                return self._apply(part, text, edit.type, *false)
        return None

    def _edited(
        self, index: int, part: Part, edit: Edit
    ) -> tuple[dict[int, Statement], tuple[int, ...]] | None:
        """What the claims with these words say then, and which are false: this one is."""
        facts, false = self._summary.facts, list[int]()
        table = self._verbaliser.speaker(facts[index].turned).table
        statements = dict[int, Statement]()
        for user in self._users[Span(part.start, part.end)]:
            old = facts[user].statement
            new = exchange(old, edit.role, edit.old, edit.new)
            holds = still_holds(new, old, table)
            if new == old or holds is None or (holds and user == index):
                return None
            if facts[user].sentence != facts[index].sentence:
                return None
            statements[user] = new
            false += [] if holds else [user]
        kept: tuple[list[Statement], list[Statement]] = ([], [])
        for place, other in enumerate(facts):
            if place not in statements:
                kept[other.sentence != facts[index].sentence].append(other.statement)
        return (statements, tuple(false)) if are_compatible([*statements.values()], *kept) else None

    def _reads_well(self, fact: Fact, part: Part, text: str) -> bool:
        """Whether the sentence stays grammatical with other words."""
        whole, span = self._summary.text, Span(part.start, part.end)
        behind = whole[part.end : part.end + 2]
        return (
            text != part.text
            and part.start >= fact.sentence.start  # a pronoun's name stands elsewhere
            and not (text + part.text).endswith(".")
            and all(_is_in_time(self._summary.facts[n], span, text) for n in self._users[span])
            and not (behind == "'s" and text.endswith(("s", ")")))
            and (part.role in ("cue", "quantifier") or text not in whole[slice(*fact.sentence)])
        )

    def _apply(
        self,
        part: Part,
        text: str,
        type: ClaimError,
        statements: Mapping[int, Statement],
        false: tuple[int, ...],
    ) -> Summary:
        """The edited text; every part, sentence and earlier error moves along."""
        grown = len(text) - len(part.text)
        whole = self._summary.text[: part.start] + text + self._summary.text[part.end :]

        def moved(start: int, end: int) -> Span:
            return Span(*(place + grown * (place >= part.end) for place in (start, end)))

        facts = []
        for index, fact in enumerate(self._summary.facts):
            spans = [moved(one.start, one.end) for one in fact.parts]
            parts = tuple(
                replace(one, start=start, end=end, text=whole[start:end])
                for one, (start, end) in zip(fact.parts, spans, strict=True)
            )
            statement, sentence = statements.get(index, fact.statement), moved(*fact.sentence)
            facts.append(replace(fact, parts=parts, statement=statement, sentence=sentence))
        errors = []
        for error in self._summary.errors:
            start, end = moved(error.start, error.end)
            errors.append(replace(error, start=start, end=end))
        expected = self._expected(self._summary.facts[false[0]], part)
        place = moved(part.start, part.end)
        errors.append(InjectedError(type, *place, text, part.text, expected, false))
        return Summary(whole, tuple(facts), tuple(errors))

    def _expected(self, fact: Fact, part: Part) -> str:
        """What the table says there: a cell as written, else the summary's own words."""
        if isinstance(fact.statement.program, Value) and part.role == "value":
            table = self._verbaliser.speaker(fact.turned).table
            return execute(fact.statement.program, table).text or part.text
        return part.text


def _drawn(mix: Mapping[ClaimError, float], rng: Random) -> Iterator[ClaimError]:
    """The types of a mix in a random order; what weighs more comes earlier."""
    left = {type: mix[type] * _RARE[type] for type in CLAIM_ERRORS if mix.get(type)}
    while left:
        type = rng.choices(list(left), list(left.values()))[0]
        del left[type]
        yield type


def _in_order(summary: Summary) -> Summary:
    return replace(summary, errors=tuple(sorted(summary.errors, key=lambda error: error.start)))


def _is_in_time(fact: Fact, span: Span, text: str) -> bool:
    """Whether the earlier of two periods still comes first: "between 2020 and 2019" is none."""
    said = {part.role: part.text for part in fact.parts}
    said |= {part.role: text for part in fact.parts if (part.start, part.end) == span}
    first, last = (read_period(said.get(role, "")) for role in ("period", "until"))
    return first is None or last is None or first.order < last.order
