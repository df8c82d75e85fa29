"""Errors injected in a faithful summary: named types, exact places (TabFaith, 3.1).

An error is one slot of a statement edited until the statement is false:

- NUM: a number that no cell of the table has, and that the table does not yield either.
- REL: the value of another row or column, or the name of another column.
- CMP: a superlative, rank or direction turned round, or given to another entity.
- TMP: another period of the table; earlier for later.
- ATT: the name of another entity, or another entity's attribute.

Only the table gives an error away: values stay near, of the same unit and as round; what else the
text says does not contradict it; each claim is as likely to be hit, whatever it says.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from random import Random

from tablemend.datasets.tabfaith.summary import Fact, InjectedError, Part, Summary
from tablemend.datasets.tabfaith.verbaliser import Verbaliser
from tablemend.programs.edit import Edit, are_compatible, edits, exchange, reword, still_holds
from tablemend.programs.execute import execute
from tablemend.programs.program import Statement, Value
from tablemend.records import CLAIM_ERRORS, ClaimError
from tablemend.values.periods import read_period
from tablemend.values.sentences import Span

VERSION = "injection-5"
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
