"""How cells are spoken of: names, amounts, labels, periods, and the claims that they make."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal
from random import Random
from typing import TypeVar

from tablemend.datasets.tabfaith.labels import (
    is_mixed_label,
    is_plural_label,
    spoken_name,
    takes_article,
)
from tablemend.datasets.tabfaith.sentences import Claimed, Plan, Word
from tablemend.datasets.tabfaith.sheet import Amount, Measure, Row, Sheet
from tablemend.datasets.tabfaith.summary import Operation, Part, Role
from tablemend.datasets.tabfaith.templates import EXPECTED, TEMPLATES
from tablemend.datasets.tabfaith.wording import short_names, spell, word_amount, word_counts
from tablemend.datasets.tablehallu.sentences import is_plural, with_article
from tablemend.records import ClaimKind
from tablemend.values.periods import Period, read_period, spellings
from tablemend.values.units import ONE, PLAIN, Unit

T = TypeVar("T")
_TENTH = Decimal("0.1")
_SINGLE = ("<a> {m}", " a {c} {m}", "<A>", " a total {m}", "average {m}")
"""What stands in templates for singulars."""
_THINGS = ("test", "metric", "measure", "category", "item", "product", "segment", "department")
"""What is called by common names, so that a plural among them is one."""


@dataclass(frozen=True, slots=True)
class Datum:
    """A cell and all that addresses it.

    Attributes:
        measure: of its column; ``None`` where columns are periods.
        when: the period of its column; that of its row else.
    """

    row: Row
    column: int
    measure: Measure | None
    when: Period | None = None

    @property
    def cell(self) -> tuple[int, int]:
        """Its place in the table."""
        return self.row.index, self.column

    @property
    def period(self) -> Period | None:
        """Of its column or row."""
        return self.when or self.row.period


class Speech:
    """One table in words.

    Args:
        sheet: the table.
        rng: what draws.

    Attributes:
        said: the cells whose values stand in the text; lists leave them out.
        numbers, texts, dates: the measures by what their cells are.
        ranked: those that can be compared.
        pairs: measures that are set against each other in one row.
        amounts: every number that can be said, by row and column.
    """

    def __init__(self, sheet: Sheet, rng: Random) -> None:
        self.sheet, self.rng = sheet, rng
        self._percent = rng.random() < 0.2
        self._spelling = rng.choice((None, None, 0, 1, 2))
        self.named: set[str] = set()
        self.said: set[tuple[int, int]] = set()
        measures = sheet.measures
        self.numbers = [measure for measure in measures if measure.kind == "number"]
        self.texts = [measure for measure in measures if measure.kind == "text"]
        self.dates = [measure for measure in measures if measure.kind == "date"]
        self.ranked = [measure for measure in self.numbers if measure.comparable]
        self.pairs = [
            (one, other)
            for one in self.numbers
            for other in self.numbers
            if one.index != other.index
            and ((one.counted and other.counted) or other.label.split()[-1] in EXPECTED)
        ]
        amounts: dict[tuple[int, int], Amount] = {}
        columns = [m.index for m in self.numbers] or [index for index, _ in sheet.periods]
        for row in sheet.rows:
            for column in columns:
                if (amount := sheet.amount(row.index, column)) is not None:
                    amounts[row.index, column] = amount
        self.amounts = amounts

    def any_datum(self) -> Datum | None:
        """A number, drawn at random; ``None`` where the cell drawn holds none."""
        row = self.pick(self.sheet.rows)
        if row is None:
            return None
        if self.sheet.layout == "spread":
            column, period = self.rng.choice(self.sheet.periods)
            datum = Datum(row, column, None, period)
        elif measure := self.pick(self.numbers):
            datum = Datum(row, measure.index, measure)
        else:
            return None
        return datum if datum.cell in self.amounts else None

    def is_counted(self, datum: Datum) -> bool:
        """Whether "5 points" can be said; one point would need another word."""
        amount = self.amounts.get(datum.cell)
        counted = datum.measure is not None and datum.measure.counted
        return counted and amount is not None and amount.value != 1

    def value(self, datum: Datum) -> Decimal:
        """The value of a cell that holds a number."""
        return self.amounts[datum.cell].value

    def amounts_of(self, measure: Measure) -> list[Amount]:
        """The numbers of a column; empty where a row has none."""
        amounts = [self.amounts.get((row.index, measure.index)) for row in self.sheet.rows]
        known = [amount for amount in amounts if amount is not None]
        return known if len(known) == len(amounts) else []

    def cells_of(self, measure: Measure) -> tuple[tuple[int, int], ...]:
        """A whole column."""
        return tuple((row.index, measure.index) for row in self.sheet.rows)

    def words(self, datum: Datum, slot: str = "v") -> dict[str, Word]:
        """The words for entity, measure, period and value of a cell, by slot."""
        words = {}
        if datum.row.entity is not None:
            words["e"] = self.name(datum.row)
        if datum.measure is not None:
            words["m"] = self.label(datum.measure)
        if datum.period is not None:
            words["p"] = self.period(datum.period)
        if datum.cell in self.amounts:
            words[slot] = self.amount(datum)
        return words

    def claim(
        self,
        kind: ClaimKind,
        operation: Operation,
        datum: Datum,
        cells: Sequence[Datum],
        focus: Role,
        **roles: str | Part,
    ) -> Claimed:
        """A claim about a cell, with further roles or others for those that say which it is."""
        address: dict[str, str | Part] = {}
        if datum.row.entity is not None:
            address["entity"] = "e"
        if datum.measure is not None:
            address["column"] = "m"
        if datum.period is not None:
            address["period"] = "p"
        return Claimed(kind, operation, address | roles, focus, tuple(one.cell for one in cells))

    def value_claim(self, datum: Datum, slot: str, kind: ClaimKind, **roles: str | Part) -> Claimed:
        """The claim that a cell holds the value of a slot."""
        focus: Role = "entity" if kind == "relational" else "value"
        claim = self.claim(kind, "value", datum, (datum,), focus)
        known = {role: slot for role, slot in roles.items() if role in claim.roles}
        return claim._replace(roles={**claim.roles, **known, "value": slot})

    def row_count_claim(self, slot: str) -> Claimed:
        """How many rows there are."""
        cells = tuple((row.index, self.sheet.grid.key) for row in self.sheet.rows)
        return Claimed("numeric", "count", {"value": slot}, "value", cells)

    def name(self, row: Row) -> Word:
        """An entity; in a shorter form where it has one and was named before."""
        name = row.entity or ""
        forms = short_names(self.sheet, name)
        text = spoken_name(self.sheet.noun, name)
        if forms and (self.rng.random() < 0.3 or name in self.named):
            text = self.rng.choice(forms)
        self.named.add(name)
        return Word(text, name)

    def amount(self, datum: Datum) -> Word:
        """A number with its unit."""
        said = self.sheet.stated_unit(datum.row.index)
        return Word(*word_amount(self.amounts[datum.cell], said, self.rng))

    def label(self, measure: Measure) -> Word:
        """A measure; its style is its article."""
        return Word(measure.label, with_article(measure.label).split()[0])

    def period(self, period: Period) -> Word:
        """A period, in the spelling of this summary."""
        usual = spellings(period)
        if self._spelling is None or period.grain in ("year", "season"):
            return Word(period.text, period.text)
        return Word(usual[min(self._spelling, len(usual) - 1)], period.text)

    def count_words(self, *counts: int, template: str = "") -> list[Word]:
        """Counts of one sentence, in one style; none in digits begins it unless it must."""
        digits = self.rng.random() < 0.15 and not template.startswith("{")
        return [Word(*words) for words in word_counts(*counts, digits=digits)]

    def difference(self, a: Amount, b: Amount, said: str = "") -> Word:
        """How far apart two amounts are; ``said`` is what a unit column says of both."""
        unit, decimals = a.unit, max(a.decimals, b.decimals)
        if "%" in (unit.symbol, said):
            number = spell(abs(a.value - b.value), PLAIN, decimals)
            return Word(f"{number} percentage points", "computed")
        text = spell(abs(a.value - b.value), unit, decimals)
        return Word(f"{text} {said}" if said else text, "computed")

    def percentage(self, value: Decimal) -> Word:
        """A change in percent, to a tenth or rounded."""
        places = _TENTH if self.rng.random() < 0.7 else ONE
        rounded = value.quantize(places, ROUND_HALF_UP)
        if not rounded:
            rounded = value.quantize(Decimal("0.01"), ROUND_HALF_UP)
        decimals = max(0, -int(rounded.as_tuple().exponent))
        hedge = "" if decimals else self.rng.choice(("", "about ", "roughly "))
        return Word(f"{hedge}{spell(rounded, Unit(symbol='%'), decimals)}", "computed")

    def choose(self, *names: str, measure: Measure | None = None, without: str = "") -> str:
        """A template of these names that fits; one with an article only before a singular.

        Args:
            names: of lists in templates.yaml.
            measure: what it speaks of.
            without: a slot that cannot be filled.
        """
        banned = [without] if without else []
        if self.sheet.totals:
            banned.append("{N}")
        if measure is not None and is_mixed_label(measure.label):
            banned.append("<was>")
        if measure is not None and not takes_article(measure.label):
            banned += _SINGLE
        pool = [
            template
            for name in names
            for template in TEMPLATES[name]
            if not any(mark in template for mark in banned)
        ]
        return self.rng.choice(pool) if pool else ""

    def plan(
        self,
        template: str,
        words: Mapping[str, Word],
        claims: Sequence[Claimed],
        datum: Datum | None,
    ) -> Plan | None:
        """The template without its ``<marks>``; the period goes to the front or the end."""
        if not template:
            return None
        rng, of_entity = self.rng, False
        if "{x}" in template:
            pool = TEMPLATES[_quantity_of(datum)]
            quantity = rng.choice(pool)
            of_entity = quantity == "{e}"
            if "{e}'s" in quantity and words["e"].text.endswith(("s", ".", ")")):
                quantity = pool[0]
            template = template.replace("{x}", quantity)
        for mark, tails in (("<tail>", "tails"), ("<at>", "tails_at")):
            if mark in template:
                template = template.replace(mark, rng.choice(TEMPLATES[tails]))
        things = "e" in words and self.is_plural_name(words["e"].text)
        plural = (
            "m" in words and is_plural_label(words["m"].text) and "number of {m}" not in template
        )
        plural = things if of_entity else plural
        article = words["m"].style if "m" in words else ""
        for mark, text in (
            ("<rows>", self._rows_word()),
            ("<row>", self.sheet.noun or "entry"),
            ("<a>", article),
            ("<A>", article.capitalize()),
            ("<was>", "were" if plural else "was"),
            ("<were>", "were" if things else "was"),
            ("<that>", "those" if plural else "that"),
        ):
            template = template.replace(mark, text)
        if "p" in words and "{p}" not in template:
            period = _preposition(words["p"])
            opened = template.startswith(("At ", "For "))  # one thing in front is enough
            if (opened or rng.random() < 0.5) and "<when>" in template:
                template = template.replace("<when>", f" {period} {{p}}")
            else:
                lowered = _lower_first(template.replace("<when>", ""))
                template = f"{period} {{p}}, {lowered}"
        template = template.replace("<when>", "")
        for slot in ("p", "q", "v"):
            mark = f"{{in}} {{{slot}}}"
            if mark in template:
                template = template.replace(mark, f"{_preposition(words[slot])} {{{slot}}}")
        if self._percent:
            words = {slot: _in_percent(word) for slot, word in words.items()}
        return Plan(template, words, claims)

    def is_plural_name(self, name: str) -> bool:
        """Whether an entity is several things: "Platelets", but no club or person."""
        return self.sheet.noun in _THINGS and is_plural(name)

    def _rows_word(self) -> str:
        """What the rows are called, all together."""
        noun = self.sheet.noun
        if self.sheet.layout == "periods" and self.sheet.rows[0].period:
            noun = self.sheet.rows[0].period.grain
        if not noun:
            return "entries"
        if noun.endswith("y") and noun[-2:-1] not in "aeiou":
            return f"{noun[:-1]}ies"
        return f"{noun}es" if noun.endswith(("s", "x", "ch", "sh")) else f"{noun}s"

    def pick(self, items: Sequence[T]) -> T | None:
        """One of them; ``None`` where there is none."""
        return self.rng.choice(items) if items else None


def _quantity_of(datum: Datum | None) -> str:
    """Which words a quantity has: that of an entity, of a period, of things that are counted."""
    counted = "_counted" if datum and datum.measure and datum.measure.counted else ""
    if datum is None or datum.row.entity is None:
        return f"quantity{counted}_of_period"
    return f"quantity{counted}" if datum.measure else "quantity_of_entity"


def _in_percent(word: Word) -> Word:
    """A share with the word for its sign."""
    if not word.text.endswith("%"):
        return word
    style = "percent" if word.style == "cell" else word.style
    return Word(f"{word.text[:-1]} percent", style)


def _preposition(word: Word) -> str:
    period = read_period(word.style)
    return "on" if period is not None and period.grain in ("day", "date") else "in"


def _lower_first(template: str) -> str:
    """The sentence as it goes on behind a comma: a slot keeps its case."""
    return template if template.startswith("{") else template[0].lower() + template[1:]
