"""Statements in English: a template filled, with the place of every word that means something.

The wording stands in templates.yaml, which says what its marks mean.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any, cast

from tablemend.programs.execute import execute, rows_of
from tablemend.programs.nouns import (
    HEDGES,
    exact,
    is_event,
    is_mixed_label,
    is_plural_label,
    loosely,
    noun_of,
    spell,
    spell_count,
    takes_article,
    with_article,
)
from tablemend.programs.program import (
    Aggregate,
    Amount,
    Between,
    Change,
    Compare,
    Condition,
    Count,
    Difference,
    Expression,
    GroupBy,
    Program,
    Quantifier,
    Rank,
    Ratio,
    Role,
    Rows,
    Statement,
    Trend,
    Value,
)
from tablemend.programs.speaker import (
    EVERY,
    ORDINALS,
    PAIRS,
    QUANTIFIERS,
    TEMPLATES,
    Measure,
    TableDescriber,
    Unsayable,
    degrees_of,
    fill_marks,
)
from tablemend.records import ClaimKind
from tablemend.values.dates import Period, read_period, spellings
from tablemend.values.text import Span, tokens_of
from tablemend.values.units import MILLION, ONE

_ALL = Rows()
_SLOT = re.compile(r"\{(\w+)\}")
_SINGLE = (
    "<a> {m}",
    " a {c} {m}",
    "<A>",
    " a total {m}",
    "average {m}",
    "{c} {m} of any",
    "{c} {m} among",
)
"""What stands in templates for singulars."""
_TIMES = ("year", "date", "season", "month")
_BELOW = ("<", "<=")
_ONE_THING = Amount(1.0, step=1.0)
_OF_CELL: Mapping[Role, str] = {"entity": "e", "period": "p", "column": "m", "value": "v"}
_SLOTS: Mapping[Role, str] = {
    **{"entity": "e", "other": "o", "period": "p", "until": "q", "column": "m", "against": "k"},
    **{"cue": "c", "quantifier": "a", "threshold": "t", "category": "g"},
}
"""Where the templates have the words for a role."""


@dataclass(frozen=True, slots=True)
class Claim:
    """A statement within a sentence.

    Attributes:
        statement: what is claimed.
        kind: the sort of claim (TabFaith, 4.1).
        focus: the role of the words that it turns on.
        slots: the slot of the words for each role; those that are left out have none.
    """

    statement: Statement
    kind: ClaimKind
    focus: Role
    slots: Mapping[Role, str]


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence.

    Attributes:
        text: it ends with a full stop.
        slots: the place of the words of each slot.
        claims: all that it says; the statement that was to be said first.
    """

    text: str
    slots: Mapping[str, Span]
    claims: tuple[Claim, ...]

    def span(self, role: Role) -> Span | None:
        """Where the words for a role of the first claim stand."""
        slot = self.claims[0].slots.get(role)
        return None if slot is None else self.slots[slot]


@dataclass
class _Draft:
    """A sentence to be: families of templates, words for slots, claims that may be in it."""

    families: Sequence[str]
    words: dict[str, str]
    claims: list[Claim]
    measure: Measure | None = None


@dataclass
class Realiser:
    """One speaker in one text: the same spelling of periods and percentages throughout.

    Attributes:
        named: the entities that were named, and may have a shorter form from then on.
    """

    speaker: TableDescriber
    rng: Random
    named: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.percent = self.rng.random() < 0.2
        self._spelling = self.rng.choice((None, None, 0, 1, 2))

    def say(self, statement: Statement) -> Sentence:
        """A statement in English.

        Raises:
            Unsayable: there are no words for it.
        """
        program = statement.program
        return self._render(_DRAFTS[type(program)](self, statement, program))

    def say_list(self, statements: Sequence[Statement], again: str = "") -> Sentence:
        """Several values of one row; ``again`` stands for its name where it was just named.

        Raises:
            Unsayable: there are no words for one of them.
        """
        words: dict[str, str] = {}
        claims: list[Claim] = []
        items: list[str] = []
        for number, statement in enumerate(statements):
            program = cast(Value, statement.program)
            measure = self._measure(program.column)
            words |= self._address(program.rows)
            label, value = f"m{number}", f"v{number}"
            words[label] = measure.label
            words[value] = self._stated(statement)
            article = with_article(measure.label).split()[0]
            is_counted = measure.counted and statement.stated != _ONE_THING
            if not is_counted and not takes_article(measure.label):
                raise Unsayable("a list of plurals")
            if isinstance(statement.stated, str):
                items.append(f"{{{value}}} as the {{{label}}}")
            elif is_counted:
                items.append(f"{{{value}}} {{{label}}}")
            else:
                items.append(f"{article} {{{label}}} of {{{value}}}")
            claims.append(self._cell(statement, {"value": value, "column": label}))
        joined = " and ".join(filter(None, (", ".join(items[:-1]), items[-1])))
        template = self.rng.choice(TEMPLATES["lists_on" if again else "lists"])
        template = template.replace("<it>", again).replace("<list>", joined)
        return self._render(_Draft([], words, claims), template)

    # Words

    def name(self, key: str) -> str:
        """An entity, by the standard form of its cell; shorter where it was named before."""
        speaker = self.speaker
        keys = {
            row: "" if speaker.who is None else speaker.cell(row, speaker.who).key
            for row in speaker.rows
        }
        name = next((speaker.name(row) for row, own in keys.items() if own == key), "")
        if not name:
            raise Unsayable("a row without a name of its own")
        text = speaker.spoken_name(name)
        if (forms := short_names(speaker, name)) and (
            self.rng.random() < 0.3 or name in self.named
        ):
            text = self.rng.choice(forms)
        self.named.add(name)
        return text

    def period(self, period: Period) -> str:
        """A period, in the spelling of this text."""
        usual = spellings(period)
        if self._spelling is None or period.grain in ("year", "season"):
            return period.text
        return usual[min(self._spelling, len(usual) - 1)]

    def _address(self, rows: Rows | Rank, entity: str = "e", period: str = "p") -> dict[str, str]:
        """The words for what picks a row: its name, its period or both."""
        assert isinstance(rows, Rows), "a rank is said by its cue"
        words = {}
        for condition in rows.conditions:
            key = str(condition.value)
            if condition.column == self.speaker.who:
                words[entity] = self.name(key)
            else:
                words[period] = self.period(self._period_of(key))
        return words

    def _period_of(self, key: str) -> Period:
        for row in self.speaker.rows:
            if (period := self.speaker.period(row)) and period.iso == key:
                return period
        raise Unsayable("a period that the table does not have")

    def _measure(self, column: int) -> Measure:
        measure = self.speaker.measures.get(column)
        if measure is None:
            raise Unsayable("a column without a label of its own")
        return measure

    def _of(self, measure: Measure, slot: str = "m") -> dict[str, str]:
        """The words for a column, and its period where it is called by one."""
        words = {slot: measure.label}
        if measure.period is not None:
            words["p"] = self.period(measure.period)
        return words

    def _stated(self, statement: Statement, digits: bool = False) -> str:
        """The words for what is stated."""
        stated = statement.stated
        if isinstance(stated, Amount):
            if isinstance(statement.program, Count):
                return spell_count(stated.value, digits)
            measure = execute(statement.program, self.speaker.table).measure
            return self._amount(stated, measure)
        if isinstance(stated, str):
            column = cast(Value, statement.program).column
            measured = self.speaker.measures.get(column)
            if period := read_period(stated) if measured and measured.kind == "date" else None:
                return self.period(period)
            return _small(stated) if measured is not None and measured.flags else stated
        raise Unsayable("no words for a truth alone")

    def _amount(self, amount: Amount, measure: str) -> str:
        hedge = self.rng.choice(HEDGES[amount.hedge]) if amount.hedge else ""
        return spell(amount, measure, hedge, self.percent)

    # Claims

    def _draft(
        self,
        statement: Statement,
        families: Sequence[str],
        words: dict[str, str],
        measure: Measure,
        beside: Sequence[Claim] = (),
        kind: ClaimKind = "comparative",
        focus: Role = "cue",
        value: str = "v",
    ) -> _Draft:
        """A sentence of a statement, and of the claims that come along with it."""
        slots = {**_SLOTS, "value": value} if kind == "numeric" else _SLOTS
        return _Draft(families, words, [Claim(statement, kind, focus, slots), *beside], measure)

    def _cell(self, statement: Statement, slots: Mapping[Role, str]) -> Claim:
        """The claim that a cell holds something."""
        kind: ClaimKind = "numeric" if isinstance(statement.stated, Amount) else "attribute"
        measure = self.speaker.measures.get(cast(Value, statement.program).column)
        if measure is not None and measure.kind == "date":
            kind = "temporal"
        return Claim(statement, kind, "value", {**_OF_CELL, **slots})

    def _beside(
        self, cell: Value, words: dict[str, str], slots: Mapping[Role, str], is_loose: bool = False
    ) -> list[Claim]:
        """The claim that a cell holds what it holds, said in addition; its slot gets words."""
        result = execute(cell, self.speaker.table)
        if result.undefined:
            return []
        stated: Amount | str = result.text
        if isinstance(result.value, float) and not result.key:
            stated = loosely(result, self.rng) if is_loose else exact(result)
        statement = Statement(cell, stated)
        words[slots["value"]] = self._stated(statement)
        return [self._cell(statement, slots)]

    def _population(self, words: dict[str, str], rows: Rows = _ALL) -> list[Claim]:
        """How many rows there are."""
        count = len(rows_of(rows, self.speaker.table))
        words["N"] = spell_count(count, digits=count > 20 or words.get("n", "").isdigit())
        statement = Statement(Count(rows), Amount(float(count), step=1.0))
        return [Claim(statement, "numeric", "value", {"value": "N", "period": "p"})]

    def _pair(
        self, left: Expression, right: Expression
    ) -> tuple[Measure, dict[str, str], list[Claim]]:
        """Two cells of one column, of two entities or periods: words, and claims what they hold."""
        assert isinstance(left, Value) and isinstance(right, Value), "two cells"
        measure = self._measure(left.column)
        words = self._address(left.rows) | self._of(measure)
        same = {"o": "e", "q": "p"}
        other = self._address(right.rows, "o", "q")
        other = {slot: text for slot, text in other.items() if text != words.get(same[slot])}
        words |= other
        end: dict[Role, str] = {"period": "q"} if "q" in other else {"entity": "o"}
        beside = self._beside(left, words, {"value": "v"})
        beside += self._beside(right, words, {"value": "w", **end})
        return measure, words, beside

    # One draft an operator

    def _value(self, statement: Statement, program: Value) -> _Draft:
        if isinstance(program.rows, Rank):
            return self._superlative(statement, program, program.rows)
        measure = self._measure(program.column)
        words = self._address(program.rows) | self._of(measure) | {"v": self._stated(statement)}
        has_entity = "e" in words
        if measure.kind == "number":
            families = ["value", "value_of_entity", "owner_of_amount"] if has_entity else ["value"]
            if has_entity and measure.counted and statement.stated != _ONE_THING:
                families = ["counted", "owner"]
        elif measure.kind == "date":
            families = ["event" if is_event(measure.label) else "date"]
        elif measure.flags and has_entity:
            words["m"], families = "flagged", ["flag"]
        elif has_entity:
            families = ["texts" if is_plural_label(measure.label) else "text"]
        else:
            families = ["text_of_period"]
        return _Draft(families, words, [self._cell(statement, {"value": "v"})], measure)

    def _superlative(self, statement: Statement, program: Value, rank: Rank) -> _Draft:
        measure, down = self._measure(rank.column), rank.order == "min"
        words = self._address(rank.rows) | self._of(measure)
        first = execute(program, self.speaker.table).key
        degrees = degrees_of(measure)
        if program.column == self.speaker.when:
            words["p"], cues = self.period(self._period_of(first)), PAIRS["peak"][down]
            if is_plural_label(measure.label) or is_mixed_label(measure.label):
                cues = [cue for cue in cues if not cue.startswith("was ")]
            families = ["superlative_of_period"]
        else:
            words["e"], cues, families = self.name(first), degrees.most[down], ["superlative"]
            if rank.n > 1:
                most = degrees.most[down][0].removeprefix("the ")
                is_place = self.rng.random() < 0.4 and not down
                cues = [ORDINALS[rank.n - 1] if is_place else f"the {ORDINALS[rank.n - 1]}-{most}"]
                families = ["placed" if is_place else "ranked"]
            elif self.rng.random() < 0.15:
                families = ["unmatched_counted" if measure.counted else "unmatched"]
                cues = degrees.compare[down]
        words["c"] = self.rng.choice(cues)
        own = Rows((*rank.rows.conditions, Condition(program.column, "=", first)))
        beside = self._beside(Value(own, rank.column), words, {"value": "v"}, is_loose=True)
        if families == ["superlative"]:
            beside += self._population(words, rank.rows)
        return self._draft(statement, families, words, measure, beside)

    def _compare(self, statement: Statement, program: Compare) -> _Draft:
        left, right = program.left, program.right
        less = (program.relation in _BELOW) is bool(statement.stated)
        if isinstance(left, Value) and isinstance(right, Value) and left.column != right.column:
            return self._against(statement, left, right, less)
        measure, words, beside = self._pair(left, right)
        kind: ClaimKind = "comparative"
        if "q" in words:
            families, cues = ["change"], PAIRS["change"][not less]
        elif measure.kind == "date":
            families, cues, kind = ["order"], PAIRS["later"][less], "temporal"
            if is_event(measure.label):
                families = ["order_of_events"]
            elif takes_article(measure.label) and measure.label not in _TIMES:
                families, cues = ["order_with_article"], PAIRS["a_later"][less]
        else:
            families = ["compare_counted" if measure.counted else "compare"]
            cues = degrees_of(measure).compare[less]
        words["c"] = self.rng.choice(cues)
        return self._draft(statement, families, words, measure, beside, kind)

    def _against(self, statement: Statement, left: Value, right: Value, less: bool) -> _Draft:
        """Two columns of one row: reported against expected, gold against silver."""
        measure, other = self._measure(left.column), self._measure(right.column)
        words = self._address(left.rows) | self._of(measure) | {"k": other.label}
        words["c"] = PAIRS["more" if measure.counted else "above"][less][0]
        beside = self._beside(left, words, {"value": "v"})
        beside += self._beside(right, words, {"value": "w", "column": "k"})
        families = ["against_counted" if measure.counted else "against"]
        return self._draft(statement, families, words, measure, beside)

    def _difference(self, statement: Statement, program: Difference | Change) -> _Draft:
        """How much more one entity has, or how far something went from one period to another."""
        stated = statement.stated
        measure, words, beside = self._pair(program.left, program.right)
        is_change = isinstance(program, Change)
        assert isinstance(stated, Amount)
        result = execute(program, self.speaker.table)
        is_share = isinstance(program, Change) and program.percent
        in_points = not is_share and "%" in (result.measure, result.unit.symbol)
        pair = PAIRS["change"] if is_change else degrees_of(measure).compare
        words["c"] = self.rng.choice(pair[stated.value < 0])
        size = replace(stated, value=abs(stated.value))
        words["d"] = self._amount(size, "points" if in_points else result.measure)
        family = "changed_by" if is_change else "difference"
        family += "_counted" if measure.counted and not is_change else ""
        return self._draft(statement, [family], words, measure, beside, "numeric", "value", "d")

    def _ratio(self, statement: Statement, program: Ratio) -> _Draft:
        if isinstance(program.left, Value) and isinstance(program.right, Aggregate):
            measure = self._measure(program.left.column)
            words = self._address(program.left.rows) | self._of(measure)
            beside = self._population(words, program.right.rows)
            families = ["share_counted" if measure.counted else "share"]
        else:
            measure, words, beside = self._pair(program.left, program.right)
            families = ["ratio"]
        words["r"] = self._stated(statement)
        return self._draft(statement, families, words, measure, beside, "numeric", "value", "r")

    def _count(self, statement: Statement, program: Count) -> _Draft:
        if len(program.rows.conditions) != 1:
            raise Unsayable("no template for such a count")
        (condition,) = program.rows.conditions
        measure = self._measure(condition.column)
        words = self._of(measure)
        words["n"] = self._stated(statement, digits=self.rng.random() < 0.15)
        if isinstance(condition.value, str):
            cells = (self.speaker.cell(row, condition.column) for row in self.speaker.rows)
            text = next((cell.text for cell in cells if cell.key == condition.value), "")
            if not text:
                raise Unsayable("a category that the table does not have")
            words["g"], families = text, ["count_category"]
            if measure.flags:
                words["m"], words["g"] = "flagged", _small(text)
                families = ["flags"]
        else:
            words |= self._bound(condition, measure)
            families = ["count_counted" if measure.counted else "count"]
        beside = self._population(words)
        return self._draft(statement, families, words, measure, beside, "numeric", "value", "n")

    def _bound(self, condition: Condition, measure: Measure) -> dict[str, str]:
        """The words for "more than 45 million"."""
        words = {">": ["more than", "over"], ">=": ["at least"], "<=": ["at most"]}
        words["<"] = ["fewer than" if measure.counted else "less than", "under"]
        cell = self.speaker.cell(self.speaker.rows[0], condition.column)
        value, unit = cast(float, condition.value), cell.unit
        if unit.scale == ONE and not unit.symbol and value >= 10**6 and value % 10**4 == 0:
            unit = unit._replace(scale=MILLION)
        scale = float(unit.scale)
        decimals = next((n for n in range(7) if round(value / scale, n) == value / scale), 7)
        if decimals == 1 and unit.currency and scale == 1:
            decimals = 2
        said = self._amount(Amount(value, unit, scale * 10.0**-decimals), cell.measure)
        return {"c": self.rng.choice(words[condition.relation]), "t": said}

    def _quantifier(self, statement: Statement, program: Quantifier) -> _Draft:
        measure = self._measure(program.condition.column)
        words = self._of(measure) | self._bound(program.condition, measure)
        counted = "_counted" if measure.counted else ""
        if program.quantifier == "only":
            words |= self._address(program.rows)
            families, focus = [f"only{counted}"], "entity"
        else:
            words["a"] = self.rng.choice(QUANTIFIERS[program.quantifier])
            families, focus = [f"quantified{counted}"], "quantifier"
            if program.quantifier in ("most", "few") and not counted:
                families.append("quantified_most")
        return self._draft(statement, families, words, measure, focus=cast(Role, focus))

    def _aggregate(self, statement: Statement, program: Aggregate) -> _Draft:
        measure = self._measure(program.column)
        words = self._of(measure) | {"v": self._stated(statement)}
        if program.op in ("max", "min"):
            words |= self._address(program.rows)
            words["c"] = degrees_of(measure).most[program.op == "min"][0]
            families = ["extreme"]
        elif program.rows.conditions:
            raise Unsayable("no template for a sum of some rows")
        else:
            family = {"sum": "total", "mean": "average"}[program.op]
            families = [f"{family}_counted" if measure.counted else family]
        beside = self._population(words, program.rows)
        return self._draft(statement, families, words, measure, beside, "numeric", "value")

    def _between(self, statement: Statement, program: Between) -> _Draft:
        measure = self._measure(program.left.column)
        words = self._address(program.left.rows) | self._of(measure) | {"c": str(statement.stated)}
        beside = self._beside(program.left, words, {"value": "v"})
        return self._draft(statement, ["range"], words, measure, beside)

    def _trend(self, statement: Statement, program: Trend) -> _Draft:
        measure = self._measure(program.column)
        words, ends = self._of(measure), dict[str, Period]()
        for condition in program.rows.conditions:
            if condition.column == self.speaker.when and condition.relation in (">=", "<="):
                ends[condition.relation] = self._period_of(str(condition.value))
            else:
                words |= self._address(Rows((condition,)))
        words["p"], words["q"] = self.period(ends[">="]), self.period(ends["<="])
        grain = "year" if ends[">="].grain == "season" else ends[">="].grain
        verb = self.rng.choice(PAIRS["change"][program.relation == "<"])
        words["c"] = f"{verb} {self.rng.choice(EVERY).format(grain=grain)}"
        return self._draft(statement, ["trend"], words, measure)

    def _group(self, statement: Statement, program: GroupBy) -> _Draft:
        measure, pair = self._measure(program.by), "common"
        noun = noun_of(self.speaker.table.columns[program.by].header)
        words, families = {"k": noun, "g": str(statement.stated)}, ["group_count"]
        if program.op != "count":
            measure, families = self._measure(program.column), ["group"]
            words |= self._of(measure)
            pair = {"sum": "total", "mean": "average"}[program.op]
        if not noun:
            raise Unsayable("no word for the groups")
        words["c"] = PAIRS[pair][program.order == "min"][0]
        return self._draft(statement, families, words, measure, focus="category")

    # Templates

    def _render(self, draft: _Draft, template: str = "") -> Sentence:
        words, measure = draft.words, draft.measure
        template = template or self._choose(draft)
        template = fill_marks(template, words, measure, self.speaker, self.rng)
        text, slots, position = "", dict[str, Span](), 0
        for match in _SLOT.finditer(template):
            text += template[position : match.start()]
            slots[match[1]] = Span(len(text), len(text) + len(words[match[1]]))
            text += words[match[1]]
            position = match.end()
        text += template[position:]
        text = text[:-1] if text.endswith("..") else text  # "was Jr."
        text = text[0].upper() + text[1:]
        claims = []
        for claim in draft.claims:
            known = {role: slot for role, slot in claim.slots.items() if slot in slots}
            if claim.focus in known:
                claims.append(Claim(claim.statement, claim.kind, claim.focus, known))
        return Sentence(text, slots, tuple(claims))

    def _choose(self, draft: _Draft) -> str:
        """A template that has the words of the first claim, and whose words are all known."""
        measure, words = draft.measure, draft.words
        banned = ["{N}"] if self.speaker.has_totals else []
        if measure is not None and is_mixed_label(measure.label) and not measure.is_name:
            banned.append("<was>")
        if measure is not None and (measure.is_name or not takes_article(measure.label)):
            banned += _SINGLE
        needed = {slot for slot in draft.claims[0].slots.values() if slot in words}
        pool = []
        for family in draft.families:
            for template in TEMPLATES[family]:
                found = set(_SLOT.findall(template)) - {"in"}
                given = found | ({"m", "e"} if "{x}" in template else set()) | {"p"}
                if (
                    needed <= given
                    and found - {"x"} <= words.keys()
                    and not any(mark in template for mark in banned)
                ):
                    pool.append((family, template))
        if not pool:
            raise Unsayable("no template fits")
        family, template = self.rng.choice(pool)
        if template.startswith("{n}"):  # no digits at the beginning of a sentence
            spelled = {slot: words[slot] for slot in ("n", "N") if words.get(slot, "").isdigit()}
            words |= {slot: spell_count(float(text)) for slot, text in spelled.items()}
        if family.startswith("owner"):
            own = draft.claims[0]
            draft.claims[0] = Claim(own.statement, "relational", "entity", own.slots)
        return template


_DRAFTS: dict[type[Program], Callable[[Realiser, Statement, Any], _Draft]] = {
    Value: Realiser._value,
    Compare: Realiser._compare,
    Difference: Realiser._difference,
    Change: Realiser._difference,
    Ratio: Realiser._ratio,
    Count: Realiser._count,
    Quantifier: Realiser._quantifier,
    Aggregate: Realiser._aggregate,
    Between: Realiser._between,
    Trend: Realiser._trend,
    GroupBy: Realiser._group,
}


def short_names(speaker: TableDescriber, name: str) -> list[str]:
    """Shorter forms of an entity's name that no other entity shares.

    Without what stands in brackets; of people also the last word.
    """
    forms = []
    bare = name.partition("(")[0].strip() if name.endswith(")") else name
    if bare != name and len(bare) > 2:
        forms.append(bare)
    if speaker.names_persons and len(bare.split()) == 2:
        forms.append(bare.split()[-1])
    if not forms:
        return []
    taken = {
        word
        for row in speaker.rows
        if speaker.name(row) != name
        for word in tokens_of(speaker.name(row)).words
    }
    return [form for form in forms if len(form) > 2 and not taken & {*tokens_of(form).words}]


def _small(flag: str) -> str:
    """A flag as a sentence has it: "high" for High, H as it is."""
    return flag.lower() if len(flag) > 1 else flag
