"""Errors injected in a faithful summary: named types, exact places (TabFaith, 3.1).

An error is one slot of a statement edited until the statement is false:

- NUM: a number that no cell of the table has, and that the table does not yield either.
- REL: the value of another row or column, or the name of another column; of the same unit and
  scale, so that no error is seen without the table.
- CMP: a superlative, rank or direction turned round, or given to another entity.
- TMP: another period of the table; earlier for later.
- ATT: the name of another entity, whose value has the same unit and scale, or another entity's
  attribute.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from random import Random

from tablemend.datasets.tabfaith.settings import MIX
from tablemend.datasets.tabfaith.summary import Fact, InjectedError, Part, Summary
from tablemend.datasets.tabfaith.verbaliser import Verbaliser
from tablemend.programs.edit import Edit, edits, exchange
from tablemend.programs.execute import check, execute
from tablemend.programs.program import Amount, Condition, Count, Rows, Statement, Value
from tablemend.programs.reword import reword
from tablemend.records import CLAIM_ERRORS, ClaimError
from tablemend.tables.table import Table
from tablemend.values.periods import read_period
from tablemend.values.sentences import Span

VERSION = "injection-3"
_WORST = 0.02
"""A wrong number is off by more than this share, so that no rounding explains it."""


def inject(
    summary: Summary,
    table: Table,
    seed: int | str,
    types: Sequence[ClaimError] = (),
    count: int = 1,
) -> Summary | None:
    """Inject errors in a faithful summary of a table.

    Args:
        summary: from :func:`~tablemend.datasets.tabfaith.verbaliser.verbalise`.
        table: what it was made of.
        seed: the same gives the same errors.
        types: the types, one an error; empty: drawn by :data:`MIX` as the summary admits.
        count: number of errors where no types are given.

    Returns:
        ``None`` where the summary has no room for these errors.
    """
    injector, rng = Injector(summary, Verbaliser(table)), Random(f"injection:{seed}")
    return injector.inject(types, rng) if types else injector.inject_mixed(count, rng)


@dataclass(frozen=True, slots=True)
class _Wrong:
    """Words that make claims false.

    Attributes:
        part: the words of the faithful text.
        text: what stands there instead.
        statements: the false claims by index, as they are then.
    """

    type: ClaimError
    part: Part
    text: str
    statements: Mapping[int, Statement]


class Injector:
    """Injects errors in one summary.

    Args:
        summary: the faithful summary.
        verbaliser: of its table.
    """

    def __init__(self, summary: Summary, verbaliser: Verbaliser) -> None:
        self._summary, self._verbaliser = summary, verbaliser
        self._users: dict[Span, list[int]] = {}
        for index, fact in enumerate(summary.facts):
            for span in {Span(part.start, part.end) for part in fact.parts}:
                self._users.setdefault(span, []).append(index)

    def inject(self, types: Sequence[ClaimError], rng: Random) -> Summary | None:
        """Errors of exactly these types, or ``None``."""
        return self._choose([[type] for type in types], rng)

    def inject_mixed(
        self, count: int, rng: Random, mix: Mapping[ClaimError, float] = MIX
    ) -> Summary | None:
        """So many errors, each of a type drawn from those that still fit, or ``None``."""

        def drawn() -> Iterator[ClaimError]:
            left = {type: mix[type] for type in CLAIM_ERRORS if mix.get(type)}
            while left:
                type = rng.choices(list(left), list(left.values()))[0]
                del left[type]
                yield type

        return self._choose((drawn() for _ in range(count)), rng)

    def _choose(self, wanted: Iterable[Iterable[ClaimError]], rng: Random) -> Summary | None:
        """For each error wanted the first of the types given that fits."""
        chosen: list[_Wrong] = []
        for types in wanted:
            found = (found for type in types if (found := self._find(type, chosen, rng)))
            if (one := next(found, None)) is None:
                return None
            chosen.append(one)
        return self._apply(chosen)

    def _find(self, type: ClaimError, chosen: Sequence[_Wrong], rng: Random) -> _Wrong | None:
        """Words that can be made wrong in one way; sentences without an error come first."""
        facts = self._summary.facts
        taken = {index for wrong in chosen for index in wrong.statements}
        hit = {facts[index].sentence for index in taken}
        order = rng.sample(range(len(facts)), len(facts))
        order.sort(key=lambda index: facts[index].sentence in hit)
        for index in order:
            fact = facts[index]
            table = self._verbaliser.speaker(fact.turned).table
            for edit in edits(fact.statement, table, rng, type):
                part = next((part for part in fact.parts if part.role == edit.role), None)
                if part is None:
                    continue
                wrong = self._wrong(index, part, edit, rng)
                if wrong and taken.isdisjoint(wrong.statements) and _stands_alone(part, chosen):
                    return wrong
        return None

    def _wrong(self, index: int, part: Part, edit: Edit, rng: Random) -> _Wrong | None:
        """The edited words, if they read well and make every claim that rests on them false.

        Where it is more than one, they are the values of a list, in this sentence.
        """
        fact = self._summary.facts[index]
        speaker = self._verbaliser.speaker(fact.turned)
        text = reword(part.text, edit, fact.statement, speaker)
        if text is None or not self._reads_well(fact, part, text):
            return None
        if isinstance(edit.statement.program, Count) and not self._is_possible(fact, edit):
            return None
        users = self._users[Span(part.start, part.end)]
        others = [self._summary.facts[user] for user in users]
        if len(users) > 1 and (
            edit.type not in ("ATT", "TMP")
            or not all(isinstance(other.statement.program, Value) for other in others)
            or len({other.sentence for other in others}) > 1
        ):
            return None
        statements = {}
        for user, other in zip(users, others, strict=True):
            edited = exchange(other.statement, edit.role, edit.old, edit.new)
            if edited == other.statement or not self._is_false(other.statement, edited, edit, fact):
                return None
            statements[user] = edited
        return _Wrong(edit.type, part, text, statements)

    def _is_false(self, old: Statement, new: Statement, edit: Edit, fact: Fact) -> bool:
        """Whether an edited claim is plainly false, and keeps its unit and scale."""
        table = self._verbaliser.speaker(fact.turned).table
        found = check(new, table)
        if found.holds is not False:
            return False
        if isinstance(new.stated, Amount) and isinstance(found.result.value, float):
            apart = abs(abs(new.stated.value) - abs(found.result.value))
            turned = new.stated.value * found.result.value < 0
            if apart <= max(_WORST * abs(found.result.value), new.stated.step / 2) and not turned:
                return False
        if (
            edit.type in ("REL", "ATT")
            and isinstance(new.program, Value)
            and new.program != old.program
        ):
            before = execute(old.program, table)
            units = before.unit, before.measure
            return units == (found.result.unit, found.result.measure)
        return True

    def _reads_well(self, fact: Fact, part: Part, text: str) -> bool:
        """Whether the sentence stays grammatical with other words."""
        whole = self._summary.text
        behind = whole[part.end : part.end + 2]
        return (
            text != part.text
            and part.start >= fact.sentence.start  # a pronoun's name stands elsewhere
            and not (text + part.text).endswith(".")
            and _is_in_order(fact, part, text)
            and not (behind == "'s" and text.endswith(("s", ")")))
            and (part.role in ("cue", "quantifier") or text not in whole[slice(*fact.sentence)])
        )

    def _is_possible(self, fact: Fact, edit: Edit) -> bool:
        """Whether a count stays below the whole that it is said to be of, and above its part."""
        counts = [
            (other.statement.stated.value, bool(_conditions(other.statement)))
            for other in self._summary.facts
            if other.sentence == fact.sentence and other is not fact
            if isinstance(other.statement.program, Count)
            and isinstance(other.statement.stated, Amount)
        ]
        if not isinstance(edit.new, Amount):
            return True
        if not _conditions(fact.statement):
            return all(edit.new.value > value for value, has in counts if has)
        table = self._verbaliser.speaker(fact.turned).table
        return 1 < edit.new.value <= len(table.body) - bool(counts)

    def _apply(self, chosen: Sequence[_Wrong]) -> Summary:
        """The edited text; every part and sentence moves along."""
        wrongs = sorted(chosen, key=lambda wrong: wrong.part.start)

        def moved(start: int, end: int) -> Span:
            """A place; an edit before its end makes it longer, one before its start moves it."""
            grown = [(w.part.end, len(w.text) - len(w.part.text)) for w in wrongs]
            shifts = [sum(by for at, by in grown if at <= place) for place in (start, end)]
            return Span(start + shifts[0], end + shifts[1])

        text = self._summary.text
        for wrong in reversed(wrongs):
            text = text[: wrong.part.start] + wrong.text + text[wrong.part.end :]
        errors, false = [], dict[int, Statement]()
        for wrong in wrongs:
            place = moved(wrong.part.start, wrong.part.end)
            users = tuple(wrong.statements)
            expected = self._expected(self._summary.facts[users[0]], wrong.part)
            errors.append(
                InjectedError(wrong.type, *place, wrong.text, wrong.part.text, expected, users)
            )
            false |= wrong.statements
        facts = []
        for index, fact in enumerate(self._summary.facts):
            spans = [moved(part.start, part.end) for part in fact.parts]
            parts = tuple(
                replace(part, start=start, end=end, text=text[start:end])
                for part, (start, end) in zip(fact.parts, spans, strict=True)
            )
            statement = false.get(index, fact.statement)
            sentence = moved(*fact.sentence)
            facts.append(replace(fact, parts=parts, statement=statement, sentence=sentence))
        return Summary(text, tuple(facts), tuple(errors))

    def _expected(self, fact: Fact, part: Part) -> str:
        """What the table says there: a cell as written, else the summary's own words."""
        if isinstance(fact.statement.program, Value) and part.role == "value":
            table = self._verbaliser.speaker(fact.turned).table
            return execute(fact.statement.program, table).text or part.text
        return part.text


def _conditions(statement: Statement) -> tuple[Condition, ...]:
    program = statement.program
    rows = program.rows if isinstance(program, Count) else None
    return rows.conditions if isinstance(rows, Rows) else ()


def _is_in_order(fact: Fact, part: Part, text: str) -> bool:
    """Whether the earlier of two periods still comes first: "between 2020 and 2019" is none."""
    other = fact.part({"period": "until", "until": "period"}.get(part.role, ""))
    own = read_period(text)
    before = read_period(other.text) if other else None
    if own is None or before is None:
        return True
    return own.order < before.order if part.role == "period" else own.order > before.order


def _stands_alone(part: Part, chosen: Sequence[_Wrong]) -> bool:
    """Whether words do not overlap with others that are wrong already."""
    others = [wrong.part for wrong in chosen]
    return all(part.end <= other.start or other.end <= part.start for other in others)
