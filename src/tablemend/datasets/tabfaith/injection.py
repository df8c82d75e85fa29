"""Errors injected in a faithful summary: named types, exact places, proven false (TabFaith, 3.1).

- NUM: a number that no cell of the table has, and that the table does not yield either.
- REL: the value of another row or column, or the name of another column; of the same unit and
  scale, so that no error is seen without the table.
- CMP: a superlative, rank or direction turned round, or given to another entity.
- TMP: another period of the table or one that it does not have; earlier for later.
- ATT: the name of another entity, whose value has the same unit and scale, or another entity's
  attribute.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from random import Random

from tablemend.datasets.tabfaith.edits import COMPUTED, MIX, Edit, propose
from tablemend.datasets.tabfaith.lookup import read_stated, unit_words
from tablemend.datasets.tabfaith.summary import Fact, InjectedError, Part, Role, Summary
from tablemend.datasets.tabfaith.verbaliser import Verbaliser
from tablemend.records import CLAIM_ERRORS, ClaimError
from tablemend.tables.table import Table
from tablemend.values.number_words import UP_TO_TWENTY
from tablemend.values.periods import read_period
from tablemend.values.sentences import Span

VERSION = "injection-2"


@dataclass(frozen=True, slots=True)
class Unfaithful:
    """A summary with errors.

    Attributes:
        text: what it says now.
        facts: the claims of the faithful summary at their new places, the false ones included.
        errors: in the order of the text; no two overlap or concern one claim.
    """

    text: str
    facts: tuple[Fact, ...]
    errors: tuple[InjectedError, ...]


def inject(
    summary: Summary,
    table: Table,
    seed: int | str,
    types: Sequence[ClaimError] = (),
    count: int = 1,
) -> Unfaithful | None:
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


class Injector:
    """Injects errors in one summary.

    Args:
        summary: the faithful summary.
        verbaliser: of its table.
    """

    def __init__(self, summary: Summary, verbaliser: Verbaliser) -> None:
        self._summary, self._sheet = summary, verbaliser.sheet
        self._recomputation = verbaliser.recomputation
        self._users: dict[Span, list[int]] = {}
        for index, fact in enumerate(summary.facts):
            for span in {Span(part.start, part.end) for part in fact.parts}:
                self._users.setdefault(span, []).append(index)

    def inject(self, types: Sequence[ClaimError], rng: Random) -> Unfaithful | None:
        """Errors of exactly these types, or ``None``."""
        return self._choose([[type] for type in types], rng)

    def inject_mixed(
        self, count: int, rng: Random, mix: Mapping[ClaimError, float] = MIX
    ) -> Unfaithful | None:
        """So many errors, each of a type drawn from those that still fit, or ``None``."""

        def drawn() -> Iterator[ClaimError]:
            left = {type: mix[type] for type in CLAIM_ERRORS if mix.get(type)}
            while left:
                type = rng.choices(list(left), list(left.values()))[0]
                del left[type]
                yield type

        return self._choose((drawn() for _ in range(count)), rng)

    def _choose(self, wanted: Iterable[Iterable[ClaimError]], rng: Random) -> Unfaithful | None:
        """For each error wanted the first of the types given that fits."""
        chosen: dict[int, Edit] = {}
        for types in wanted:
            found = (found for type in types if (found := self._find(type, chosen, rng)))
            if (one := next(found, None)) is None:
                return None
            chosen[one[0]] = one[1]
        return self._apply(chosen)

    def _find(
        self, type: ClaimError, chosen: dict[int, Edit], rng: Random
    ) -> tuple[int, Edit] | None:
        """A claim and an edit that makes it false; sentences without an error come first."""
        facts = self._summary.facts
        hit = {facts[index].sentence for index in chosen}
        false = {
            user
            for index, edit in chosen.items()
            for user in self._users_of(facts[index].parts[edit.part])
        }
        order = rng.sample(range(len(facts)), len(facts))
        order.sort(key=lambda index: facts[index].sentence in hit)
        taken = [facts[index].parts[edit.part] for index, edit in chosen.items()]
        counts = {facts[i].sentence for i in chosen if facts[i].operation == "count"}
        for index in order:
            fact = facts[index]
            if fact.operation == "count" and fact.sentence in counts:
                continue  # "nine of the seven" could come of two
            for edit in propose(fact, self._sheet, type, rng):
                part = fact.parts[edit.part]
                users = self._users_of(part)
                if (
                    false.isdisjoint(users)
                    and self._fits(fact, part, edit, taken)
                    and self._makes_false(users, part, edit)
                ):
                    return index, edit
        return None

    def _users_of(self, part: Part) -> list[int]:
        """The claims that rest on the words of a part."""
        return self._users[Span(part.start, part.end)]

    def _makes_false(self, users: Sequence[int], part: Part, edit: Edit) -> bool:
        """Whether all claims that rest on the edited words become plainly false.

        Where it is more than one, they are the values of a list, in this sentence.
        """
        facts = [self._summary.facts[index] for index in users]
        if len(facts) > 1 and (
            edit.type not in ("ATT", "TMP")
            or {fact.operation for fact in facts} != {"value"}
            or len({fact.sentence for fact in facts}) > 1
        ):
            return False
        return all(self._is_false(fact, part, edit) for fact in facts)

    def _fits(self, fact: Fact, part: Part, edit: Edit, taken: Sequence[Part]) -> bool:
        """Whether the sentence stays grammatical and no other claim rests on these words."""
        text = self._summary.text
        sentence = text[slice(*fact.sentence)]
        behind = text[part.end : part.end + 2]
        return (
            edit.text != part.text
            and part.start >= fact.sentence.start  # a pronoun's name stands elsewhere
            and all(part.end <= other.start or other.end <= part.start for other in taken)
            and not (edit.text + part.text).endswith(".")
            and not part.text.endswith(".")
            and not (behind == "'s" and edit.text.endswith(("s", ")")))
            and (part.role == "cue" or edit.text not in sentence)
        )

    def _is_false(self, fact: Fact, part: Part, edit: Edit) -> bool:
        """Whether the edited claim is plainly false of the table, worked out anew."""
        texts = {part.role: part.text for part in fact.parts}
        role = next(own.role for own in fact.parts if own.start == part.start)
        texts[role] = edit.text
        if edit.type == "TMP" and edit.new:
            period = read_period(edit.text)
            return period is not None and not self._recomputation.lookup.has_period(period)
        if self._recomputation.holds(fact.operation, texts) is not False:
            return False
        if edit.type in ("REL", "ATT") and not self._keeps_unit(fact, texts):
            return False
        if edit.type == "REL" and part.role == "value":
            return self._is_apart(part.text, edit.text)
        if fact.operation == "count" and role == "value":
            return self._is_possible(fact, edit.text)
        if edit.type != "NUM":
            return True
        stated = read_stated(edit.text)
        if stated is None or not self._is_apart(part.text, edit.text):
            return False
        return fact.operation in COMPUTED or not self._recomputation.lookup.has_number(stated.value)

    def _keeps_unit(self, fact: Fact, texts: dict[Role, str]) -> bool:
        """Whether unit and scale stay: of the words, or of the cell that they now speak of.

        Args:
            fact: the claim as it was.
            texts: the words of the claim with the edit in it.
        """
        if fact.operation != "value":
            return True
        before = {part.role: part.text for part in fact.parts}
        if texts["value"] != before["value"]:
            return unit_words(texts["value"]) == unit_words(before["value"])
        lookup = self._recomputation.lookup
        cells = lookup.cell(before), lookup.cell(texts)
        if cells[0] is None or cells[1] is None:
            return False
        return lookup.unit_at(*cells[0]) == lookup.unit_at(*cells[1])

    def _is_possible(self, fact: Fact, text: str) -> bool:
        """Whether a count stays below the whole that it is said to be of, and above its part."""
        stated = read_stated(text)
        if stated is None:
            return False
        wholes, counted = [float(len(self._recomputation.lookup.body))], [1.0]
        for other in self._summary.facts:
            value = other.part("value")
            if other.operation != "count" or other.sentence != fact.sentence or value is None:
                continue
            number = read_stated(value.text)
            if other is fact or number is None:
                continue
            (wholes if other.part("column") is None else counted).append(number.value)
        if fact.part("column") is None:
            own = fact.part("value")
            in_digits = own is not None and own.style == "digits"
            words_end = len(UP_TO_TWENTY) - 1  # "two of the 40" does not become "two of the 16"
            return stated.value > (max(words_end, *counted) if in_digits else max(counted))
        said_of = len(wholes) > 1  # "six of the six" is no English
        return 1 < stated.value <= min(wholes) - said_of

    @staticmethod
    def _is_apart(old: str, new: str) -> bool:
        """Whether two numbers differ by more than rounding would explain: 2 % or one of a few."""
        one, other = read_stated(old), read_stated(new)
        if one is None or other is None:
            return False
        return abs(one.value - other.value) > max(0.02 * abs(one.value), one.step / 2)

    def _apply(self, chosen: dict[int, Edit]) -> Unfaithful:
        """The edited text; every part and sentence moves along."""
        facts, old = self._summary.facts, self._summary.text
        edits = sorted(
            ((facts[index].parts[edit.part], index, edit) for index, edit in chosen.items()),
            key=lambda item: item[0].start,
        )

        def moved(start: int, end: int) -> Span:
            """A place; an edit before its end makes it longer, one before its start moves it."""
            grown = [(part.end, len(edit.text) - len(part.text)) for part, _, edit in edits]
            shifts = [sum(by for at, by in grown if at <= place) for place in (start, end)]
            return Span(start + shifts[0], end + shifts[1])

        text, errors = old, []
        for part, _, edit in reversed(edits):
            text = text[: part.start] + edit.text + text[part.end :]
        for part, index, edit in edits:
            expected = self._expected(facts[index], part)
            users = tuple(self._users_of(part))
            place = moved(part.start, part.end)
            errors.append(InjectedError(edit.type, *place, edit.text, part.text, expected, users))
        found = []
        for fact in facts:
            spans = [moved(part.start, part.end) for part in fact.parts]
            parts = tuple(
                replace(part, start=start, end=end, text=text[start:end])
                for part, (start, end) in zip(fact.parts, spans, strict=True)
            )
            found.append(replace(fact, parts=parts, sentence=moved(*fact.sentence)))
        return Unfaithful(text, tuple(found), tuple(errors))

    def _expected(self, fact: Fact, part: Part) -> str:
        """What the table says there: a cell as written, else the summary's own words."""
        if fact.operation == "value" and part.role == "value":
            return self._sheet.text(*fact.cells[0])
        return part.text
