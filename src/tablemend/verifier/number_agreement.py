"""Amounts of a statement: whether a cell has them, what they bound, in which column they count."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from math import isfinite
from typing import Literal

from tablemend.values.cells import read_value
from tablemend.values.numbers import (
    THOUSANDS,
    Bound,
    Number,
    in_one_unit,
    on_one_side,
    plain_digits,
)
from tablemend.values.units import ONE, PLAIN, Unit
from tablemend.verifier.lexicon import LITTLE_WORDS, THINGS, terms
from tablemend.verifier.oriented_table import ColumnIndex, Order
from tablemend.verifier.reading import Amount
from tablemend.verifier.sentence_links import (
    TIME_UNITS,
    ColumnMention,
    RowFilter,
    SentenceLinks,
    StatedNumber,
    range_set,
)

Agreement = Literal["same", "near", "unit", "different", "apart"]
"""``near``: neither clearly right nor wrong (12 for 12.7, a rounding that is not announced).
``unit``: the digits of the cell with another unit (USD 985.00 for EUR 985.00).
``apart``: not comparable (kilometres and kilograms)."""

_CLOSE = Decimal("0.05")  # "about 50" of 48
_DISTANT = Decimal("0.15")  # "about 50" of 41 is wrong
_BOUND = Decimal("0.1")  # "over 50" of 55; of 80 it is true and says little
_TELLING = 3  # digits: who says "over 23.4 million" means no 40
_HALF = Decimal("0.5")
_LEAST_SCALE = 400
_HUNDRED = Decimal(100)
LEAGUE = 3  # decimals of a fraction under "PCT": .714


def compare(
    amount: Amount, cell: Number, unit: Unit, label: Mapping[str, int] | None = None
) -> Agreement:
    """Compare a stated amount with a cell.

    A rounding to the digits that are written is the same: 12 of 12.4, "1.2 million" of
    1,234,567; so a percentage without decimals is right within half a point (TabFaith, section
    4.1). A coarser one is the same where it is announced ("about 1,200"), else near. Bounds
    ("over", "at most") are compared as such. A fraction in a cell is a percentage in a text. Where
    nothing states the cell's scale, a number that is a power of 1,000 off is near.

    Args:
        amount: what the text states.
        cell: the number in the cell.
        unit: what the cell counts in beyond what it says itself.
        label: the sign that the cell's row and column give it.
    """
    stated, own = amount.number, cell.unit.symbol or unit.symbol
    money = cell.unit.currency or unit.currency
    sides = in_one_unit(cell, stated, unit)
    if sides.difference:
        same = stated.value / stated.unit.scale == cell.value / cell.unit.scale
        apart = "%" in (stated.unit.symbol, own) or not same or amount.hedge
        return "apart" if apart else "unit"
    pairs = list(sides.pairs)
    if stated.percent:
        if money or (cell.value > _HUNDRED and abs(cell.value - stated.value) > 1):
            return "apart"  # "a margin of 39.9%" beside a profit of 324.2
        league = not cell.unit.symbol and cell.decimals >= LEAGUE
        fraction = abs(cell.value) <= 1 and cell.value != cell.value.to_integral_value()
        if (not own or league) and fraction:
            pairs.append((cell.value * _HUNDRED, stated.value))
    signed = label and amount.signs and on_one_side(*pairs[0], label, amount.signs)
    if signed:
        found = (on_one_side(*pair, label or {}, amount.signs) for pair in pairs)
        pairs = [pair for pair in found if pair]
    elif label and -1 in label.values():
        pairs = [(abs(one), abs(other)) for one, other in pairs]
    elif amount.decline:
        pairs += [(-one, other) for one, other in pairs if one < 0 < other]
    if cell.bound not in ("", "about"):
        return _compare_bounded(amount, cell.bound, pairs)
    grades = [_compare(amount, *pair, sides.factor) for pair in pairs]
    if "same" in grades or "near" in grades:
        return "same" if "same" in grades else "near"
    if abs(stated.value) < abs(cell.value):
        return "different"
    return in_open_scale(amount, cell, unit) or "different"


def in_open_scale(amount: Amount, cell: Number, unit: Unit) -> Agreement | None:
    """How an amount in thousands or millions stands to a cell whose scale nothing states.

    "12 million" is the same as a bare 12; where the digits differ but for a power of 1,000 it is
    near. ``None`` where the scale is known, or no power of 1,000 lies between them.
    """
    stated = amount.number
    if unit.scale != ONE or cell.unit.scale != ONE or cell.unit.symbol or not cell.value:
        return None
    scaled = stated.unit.scale != ONE and not amount.hedge
    if scaled and cell.value * stated.unit.scale == stated.value:
        return "same"
    if amount.hedge or abs(stated.value) < _LEAST_SCALE * abs(cell.value):
        return None
    sizes = (abs(cell.value * power) for power in THOUSANDS if power > ONE)
    same = any(_compare(amount, size, abs(stated.value), ONE) == "same" for size in sizes)
    return "near" if same else None


def _compare(amount: Amount, value: Decimal, stated: Decimal, factor: Decimal) -> Agreement:
    """A cell's value and a stated one in one unit, of which the stated one's has ``factor``."""
    difference = abs(value - stated)
    if amount.hedge not in ("", "about"):
        return _compare_bound(amount, value, stated)
    if not difference:
        return "same"
    number = amount.number
    step = Decimal(1).scaleb(-number.decimals) * number.unit.scale * factor
    if not amount.hedge and 2 * difference > abs(stated) and difference > step:
        return "different"  # most cells
    rounded = max(step, _blur(amount) * factor)
    if amount.hedge == "about":
        if difference <= max(rounded * _HALF, _CLOSE * abs(value)):
            return "same"
        return "near" if difference <= max(rounded, _DISTANT * abs(value)) else "different"
    if difference <= step * _HALF and _finer(value, step):
        unit = amount.number.unit  # "three" counts things, and rounds no 3.5
        return "near" if amount.spelled and not any(unit[1:]) and unit.scale == ONE else "same"
    if difference < step and abs(value) > abs(stated) and _finer(value, step):
        return "near"  # cut off, not rounded
    return "near" if rounded > step and difference <= rounded * _HALF else "different"


_ABOVE = ("over", "just over", "at least")


def _compare_bounded(
    amount: Amount, bound: Bound, pairs: Sequence[tuple[Decimal, Decimal]]
) -> Agreement:
    """A statement about a cell that is a bound itself: "p < 0.05" of ``<0.001``."""
    value, stated = pairs[0]
    above = bound in _ABOVE
    if amount.hedge not in ("", "about"):
        if (amount.hedge in _ABOVE) != above:
            return "different" if (value > stated) == above or value == stated else "near"
        if value == stated:
            strict = {amount.hedge, bound} <= {"over", "under", "just over", "just under"}
            return "same" if strict or amount.hedge == bound else "different"
        return "same" if (value > stated) == above else "near"
    inside = (stated > value) == above and stated != value
    return "near" if inside else "different"


def _compare_bound(amount: Amount, value: Decimal, stated: Decimal) -> Agreement:
    """A bound holds on its side; "just over" only nearby, and a plain one far off says little."""
    if value == stated:
        return "same" if amount.hedge in ("at least", "at most") else "near"
    above = amount.hedge in _ABOVE
    if (value > stated) != above:
        return "different"
    if amount.hedge in ("at least", "at most"):
        return "same"
    difference = abs(value - stated)
    scale = max(abs(stated), abs(value))
    precise = is_telling(amount)
    if difference <= (_CLOSE if precise else _BOUND) * scale:
        return "same"
    if precise or amount.hedge in ("just over", "just under"):
        return "different" if difference > (_BOUND if precise else _DISTANT) * scale else "near"
    return "near"


def is_telling(amount: Amount) -> bool:
    """Whether an amount has so many digits that another has them by no mere chance."""
    number = amount.number
    digits = str((number.value / number.unit.scale).normalize()).replace(".", "")
    return len(digits.partition("E")[0].lstrip("-0")) >= _TELLING


def _blur(amount: Amount) -> Decimal:
    """The place down to which a round number is written: hundreds of 1,200."""
    number = amount.number
    digits = number.value / number.unit.scale
    if number.decimals or amount.spelled or not digits:
        return Decimal(0)
    zeros = len(str(int(digits))) - len(str(int(digits)).rstrip("0"))
    return Decimal(10) ** zeros * number.unit.scale if zeros >= 2 else Decimal(0)


def _finer(value: Decimal, step: Decimal) -> bool:
    """Whether a value says more than a multiple of the step, so that the step rounds it."""
    return value % step != 0


# ---- amounts of a statement

_BEHIND: dict[str, Bound] = {"above": "at least", "below": "at most"}  # "5 or more", "5 or less"
_BEFORE_RATIOS: dict[tuple[str, ...], Bound] = {
    ("more", "than"): "over",
    ("well", "over"): "over",
    ("over",): "over",
    ("at", "least"): "at least",
    ("less", "than"): "under",
    ("fewer", "than"): "under",
    ("nearly",): "under",
    ("almost",): "under",
}
# "finished 7 points ahead", "two clear of"; "with 41 points ahead of them" is what is had
_APART = re.compile(
    r"(?: [a-z]+){0,2}? (?:ahead|behind|adrift|clear(?= of\b| at\b|[.,;]|$))\b"
    r"(?! (?:of )?schedule)"
)
_PARTED = re.compile(r"[,;:()\[\].]|\b(?:and|or|but|while|with|than)\b")
_REACH = 6
_CAME = frozenset(
    "came stood amounted reached equal equals equalled recorded totaled never fell dropped dipped "
    "went slipped rose climbed".split()
)
_NEAR = 0.05
_LATER = frozenset("later earlier apart afterwards".split())
_LOSING = frozenset("lose loses losing lost shed sheds shedding cut cuts cutting".split())
GAINING = dict.fromkeys("gain gains gained add adds added put".split(), 1)
GAINING |= dict.fromkeys((*_LOSING, "gave"), -1)
"""Verbs before an amount by which something rises or falls, with the direction."""
_GAPS = frozenset("drop difference gap lead margin reduction".split())
_BEYOND = frozenset("over under above below short ahead behind".split())
_HEDGING = frozenset(
    "just slightly barely about around nearly almost over under more less than approximately "
    "roughly some the".split()
)


def holds(value: float, stated: StatedNumber, hedge: Bound | None = None) -> bool:
    """Whether a value is within what is stated with its hedge.

    "Just over 5" is near 5, "over 5" anything beyond; a bare number is as precise as it is
    written, its scale included: 2.48 million is 2,475,000 to 2,485,000.
    """
    if not isfinite(value):
        return False
    number = stated.amount.number
    scale = float(number.unit.scale)
    slack = 1e-9 * max(1.0, abs(value))
    if number.decimals or scale != 1:
        slack = 0.5 * scale * 10.0**-number.decimals + 1e-9
    gap = value - stated.value
    hedged = stated.amount.hedge if hedge is None else hedge
    if hedged in ("just over", "just under") and abs(gap) > _NEAR * abs(stated.value):
        return False
    match hedged:
        case "over" | "just over":
            return gap > 1e-9
        case "under" | "just under":
            return gap < -1e-9
        case "at least":
            return gap >= -1e-9
        case "at most":
            return gap <= 1e-9
        case "about":
            return abs(gap) <= max(_NEAR * abs(stated.value), slack)
        case _:
            return abs(gap) <= slack


def fits(
    column: ColumnIndex,
    value: float,
    stated: StatedNumber,
    hedge: Bound | None = None,
    row: int | None = None,
) -> bool:
    """:func:`holds` of a column's value, in the unit and with the sign that is stated.

    Its header may scale it ("$ thousands"); its row and column say what it counts in and, of a
    cell, which side of zero it is on.
    """
    own, said = column.unit(row), stated.amount.number.unit
    cell = None if row is None else read_value(column.cell(row)).number
    if cell is not None and cell.bound not in ("", "about"):
        bound = stated.amount.hedge if hedge is None else hedge
        return compare(replace(stated.amount, hedge=bound), cell, own) == "same"
    if any(own[1:3]) and any(said[1:3]):
        number = Number(Decimal(repr(value)), own._replace(scale=ONE))
        sides = in_one_unit(number, stated.amount.number, own._replace(scale=ONE))
        if sides.difference:
            return False
        if own.symbol != said.symbol and own.symbol and said.symbol:
            left, right = sides.pairs[0]
            gap = float((left - right) / sides.factor)
            half = 0.5 * float(said.scale) * 10.0**-stated.amount.number.decimals
            value = stated.value + (gap if abs(gap) > half else 0.0)
    label = {} if row is None else column.signs(row)  # what is computed has a sign of its own
    if signed := on_one_side(value, stated.value, label, stated.amount.signs):
        value = -signed[0] if signed[1] < 0 < stated.value else signed[0]
    if stated.amount.number.percent and not column.percent and 0 < abs(value) < 1:
        return holds(100 * value, stated, hedge) or holds(value, stated, hedge)  # a fraction
    scale = 1.0 if cell and cell.unit.symbol else _scale_beside(column, stated)
    return holds(value * scale if value else value, stated, hedge)


def _scale_beside(column: ColumnIndex, stated: StatedNumber) -> float:
    """What multiplies a column's cells beside a number.

    That of its header; and where that states none, that of the number if it is nearer to the
    cells so: "$812 million" of 812.
    """
    own, said = column.scale, float(stated.amount.number.unit.scale)
    if own == 1:
        return said if said != 1 and column.scaled_by(stated.value, said) else 1.0
    full = said != 1 or not stated.value or column.scaled_by(stated.value, own)
    return own if full else 1.0


def states(column: ColumnIndex, ordered: Order, row: int, stated: StatedNumber) -> bool:
    """Whether a cell is a number, as precisely as it is stated, or says it beside another."""
    value, amount = ordered.of.get(row), stated.amount
    if amount.number.percent and (second := column.second(row)):
        return second.percent and compare(amount, second, PLAIN) == "same"
    if value is not None:
        number = read_value(column.cell(row)).number
        if number is not None and (same := in_open_scale(amount, number, column.unit(row))):
            return same == "same"
        if number is not None or fits(column, value, stated, row=row):
            return fits(column, value, stated, row=row)
    return not stated.amount.hedge and any(
        abs(said - stated.value) <= 1e-9 * max(1.0, abs(said)) for said in column.said.get(row, ())
    )


def hedge_of(frame: SentenceLinks, stated: StatedNumber) -> Bound:
    """How an amount is bounded: by the words before it, or by "or more" behind it."""
    if stated.amount.hedge:
        return stated.amount.hedge
    for cue in frame.cues:
        bound = _BEHIND.get(cue.sense) if cue.kind == "hedge" else None
        if bound and frame.token_range(cue.start, cue.end)[0] == stated.last:
            return bound
    return ""


def hedge_tokens(frame: SentenceLinks, stated: StatedNumber) -> frozenset[int]:
    """The tokens of "more than" or "at least" before an amount, and of "or more" behind it."""
    for cue in frame.cues:
        if cue.kind == "hedge" or cue.sense == "exceed":
            first, last = frame.token_range(cue.start, cue.end)
            if 0 <= stated.first - last <= 1 or first == stated.last:
                return range_set(first, last)
    return range_set(max(0, stated.first - 2), stated.first)


def ratio_hedge(frame: SentenceLinks, first: int) -> tuple[Bound, frozenset[int]]:
    """How the ratio at a token is bounded, and by which tokens: "more than doubled"."""
    for words, hedge in _BEFORE_RATIOS.items():
        start = first - len(words)
        if start >= 0 and frame.words[start:first] == words:
            return hedge, range_set(start, first)
    return "", frozenset()


def bounds(frame: SentenceLinks, timed: frozenset[int]) -> Iterator[RowFilter]:
    """As in "less than 10 points", "a score of 20", "more than 5 at the fa cup"."""
    beside = [(stated, heading_beside(frame, stated)) for stated in frame.amounts]
    hedged = {heading for stated, heading in beside if hedge_of(frame, stated)}
    for stated, heading in beside:
        if heading is None or not timed.isdisjoint(range(stated.first, stated.last)):
            continue
        if is_difference(frame, stated):
            continue
        if heading.first >= stated.last and heading in hedged and not hedge_of(frame, stated):
            continue  # "three phones cost more than $500"
        column = frame.view.columns[heading.column]
        hedge = hedge_of(frame, stated)
        ordered = column.ordered
        rows = (row for row in frame.rows if row in ordered.of)
        used = stated.tokens | heading.tokens
        if hedge:
            used |= hedge_tokens(frame, stated)
            rows = (r for r in rows if fits(column, ordered.of[r], stated, hedge, r))
        else:
            rows = (r for r in rows if states(column, ordered, r, stated))
        fit = 0.5 + 0.5 * heading.share
        yield RowFilter(*stated.span, frozenset(rows), used, fit, column.index, bool(hedge))


def heading_beside(frame: SentenceLinks, stated: StatedNumber) -> ColumnMention | None:
    """The measured column that an amount counts in: "20 points", "a score of 20"."""
    best: tuple[float, ColumnMention] | None = None
    if is_margin(frame.reading.plain, stated.amount) or preposition(frame, stated) == "by":
        return None
    for heading in frame.headings:
        if max(heading.first - stated.last, stated.first - heading.last) > _REACH:
            continue
        phrases = (p for p in frame.phrases if p.last - p.first > 1)
        if any(p.first <= heading.first and heading.last <= p.last for p in phrases):
            continue
        column = frame.view.columns[heading.column]
        if stated.amount.role == "year" and not column.temporal:
            continue
        if column.temporal and stated.amount.number.unit.symbol in TIME_UNITS:
            continue  # "30 years old" is no year
        if heading.share < 0.4:
            continue
        if stated.amount.number.percent and column.kind == "number" and not column.percent:
            continue  # a share of the column's amount
        if not column.measured or column.kind in ("score", "date", "span", "time"):
            continue
        if column.index == frame.view.key and heading.first >= stated.last:
            continue  # "6 regions" are counted
        if column.counter and heading.last != stated.first:
            continue  # "week 8", and not "8 weeks"
        if heading.first >= stated.last:
            between = frame.words[stated.last : heading.first]
            cost = 0.0
            others = (h for h in frame.headings if h.first == stated.last and h.share > 0.99)
            counts = any(h.column != heading.column for h in others)
            if between and (counts or between[0] in THINGS):
                continue  # "two players scored"
        elif heading.last <= stated.first:
            between = frame.words[heading.last : stated.first]
            cost = 0.5
        else:
            continue
        if any(word in ("and", "but", "while", "with") for word in between):
            continue
        ends = (heading.last, stated.first) if cost else (stated.last, heading.first)
        if ends[0] < ends[1] and "," in frame.between(ends[0] - 1, ends[1]):
            continue
        if cost and between[-1:] == ("of",):
            cost = -0.5
        hedged = hedge_tokens(frame, stated) if hedge_of(frame, stated) else frozenset()
        said = sum(
            word not in LITTLE_WORDS and word not in _CAME and place not in hedged
            for place, word in enumerate(between, ends[0])
        )
        if said > 1 or len(between) > _REACH:
            continue
        cost += said + 0.1 * len(between)
        cost -= heading.share
        if best is None or cost < best[0]:
            best = (cost, heading)
    return best[1] if best else _of_unit(frame, stated)


def _of_unit(frame: SentenceLinks, stated: StatedNumber) -> ColumnMention | None:
    """The only column in the unit of a bound that names none: "cost more than $500"."""
    unit = stated.amount.number.unit.currency or stated.amount.number.unit.symbol
    if unit in ("", "%", *TIME_UNITS) or not hedge_of(frame, stated):
        return None
    found = [c.index for c in frame.view.columns if c.adds_up and unit in c.units]
    return ColumnMention(stated.first, stated.first, found[0], 0.6) if len(found) == 1 else None


def counts_in_its_unit(frame: SentenceLinks, column: ColumnIndex, stated: StatedNumber) -> bool:
    """Whether an amount is compared with one of its kind, where the table says what that is."""
    own = Number(ONE, column.unit()._replace(scale=ONE))
    if in_one_unit(own, stated.amount.number).difference == "unit":
        return False
    known = any(other.money for other in frame.view.columns)
    return column.money or not known or not stated.amount.number.unit.currency


def is_difference(frame: SentenceLinks, stated: StatedNumber) -> bool:
    """Whether a number says by how much: "33 g less than", "lower than B by 8.4", "for $5 more"."""
    words = frame.words
    later, beyond = words[stated.last : stated.last + 2], words[stated.last : stated.last + 1]
    if not _LATER.isdisjoint(later) or not _BEYOND.isdisjoint(beyond):
        return True
    if is_margin(frame.reading.plain, stated.amount):
        return True
    if gained_between(frame, stated):
        return True
    behind = [frame.view.columns[h.column] for h in frame.headings if h.first == stated.last]
    losses = any(set(terms("lost loss")) & set(column.terms) for column in behind)
    if words[max(0, stated.first - 1)] in _LOSING and not losses:
        return bool(behind)  # "losing six employees"
    if not _GAPS.isdisjoint(words[max(0, stated.first - 3) : stated.first]):
        return True  # "a drop of 2.4"
    before = range(frame.clause(stated.first)[0], stated.first)
    if any(words[p] in _GAPS and words[p + 1 : p + 2] == ("between",) for p in before):
        return True  # "the gap between A and B was 4"
    by = words[stated.first - 1 : stated.first] == ("by",)
    if by and not _BEYOND.isdisjoint(words[max(0, stated.first - 5) : stated.first]):
        return True
    for cue in frame.cues:
        first, last = frame.token_range(cue.start, cue.end)
        if by and cue.sense in ("rise", "fall") and last == stated.first - 1:
            return True
        if cue.kind != "comparative" or not cue.direction:
            continue
        if by and last < stated.first:
            return "than" in words[first : stated.first]
        if 0 <= first - stated.last <= 2:
            between = words[stated.last : first]
            apart = "," in frame.between(stated.last - 1, first)
            ends = last < len(words) and "," in frame.between(last - 1, last)  # "for $5 more, B"
            than = "than" in words[first : last + 3] or (ends and not between)
            return than and not apart and "with" not in between and "or" not in between
    return False


def gained_between(frame: SentenceLinks, stated: StatedNumber) -> bool:
    """Whether an amount is what something rose by: "gained 2 from Q1 to Q2", "lost 6 between"."""
    place = stated.first - 1
    while place > 0 and frame.words[place] in _HEDGING | {"another", "a", "further"}:
        place -= 1
    if place < 0 or frame.words[place] not in GAINING:
        return False
    behind = frame.words[stated.last : stated.last + 8]
    joined = ("from", "to") if "from" in behind else ("between", "and")
    named = [*(p.first for p in frame.phrases), *(h.first for h in frame.headings)]
    return set(joined) <= set(behind) and any(stated.last < first for first in named)


def is_margin(plain: str, amount: Amount) -> bool:
    """Whether an amount says by how much one is ahead of another, so that no cell need state it."""
    after = _APART.match(plain, amount.digits_end)
    if after is None or plain[: amount.start].endswith(" with "):
        return False
    return not _PARTED.search(plain, amount.end, after.end())


def counts_rows(frame: SentenceLinks, stated: StatedNumber) -> bool:
    """Whether an amount counts rows: "two quarters", "three of the four"."""
    after = "".join(frame.words[stated.last : stated.last + 1])
    return after == "of" or after in THINGS or counts_names(frame, stated)


def counts_names(frame: SentenceLinks, stated: StatedNumber) -> bool:
    """Whether an amount counts what the column of names is headed: "four invoices"."""
    after = "".join(frame.words[stated.last : stated.last + 1])
    key = frame.view.columns[frame.view.key].terms
    return after.endswith("s") and any(term in key for term in terms(after))


def spelled(column: ColumnIndex, value: float, stated: StatedNumber) -> str:
    """A column's value in the scale of a stated number: 9,530 (thousands) beside "9.2 million"."""
    scale, own = float(stated.amount.number.unit.scale), _scale_beside(column, stated)
    if scale == own == 1:
        return digits(value)
    exact = value * own / scale
    rounded = round(exact, stated.amount.number.decimals)
    return digits(rounded if abs(rounded - exact) <= _NEAR * abs(exact) else exact)


def shown(column: ColumnIndex, value: float) -> str:
    """A column's value for a person: a number in digits, a date or time as the table has it."""
    if column.kind == "number":
        return digits(value)
    rows = (row for row, own in column.ordered.of.items() if own == value)
    return next((column.cell(row) for row in rows), digits(value))


def digits(value: float) -> str:
    """A computed value in plain digits, without an exponent."""
    return plain_digits(Decimal(repr(round(value, 6))))


def preposition(frame: SentenceLinks, stated: StatedNumber) -> str:
    """The word before an amount, its hedges passed over: "from" of "from nearly 5"."""
    place = stated.first - 1
    while place > 0 and frame.words[place] in _HEDGING:
        place -= 1
    return frame.words[place] if place >= 0 else ""


def zeros(frame: SentenceLinks) -> Iterator[RowFilter]:
    """As in "without a single gold", "no wins": the column is 0 there."""
    for heading in frame.headings:
        column = frame.view.columns[heading.column]
        place = heading.first - 1
        while place >= 0 and frame.words[place] in ("a", "single", "any"):
            place -= 1
        if place < 0 or frame.words[place] not in ("without", "no", "zero") or not column.adds_up:
            continue
        rows = frozenset(row for row in frame.rows if column.ordered.of.get(row) == 0)
        used = frozenset(range(place, heading.last))
        yield RowFilter(heading.first, heading.last, rows, used, heading.share, column.index, True)


# ---- how many rows there are

_DEFINITE = frozenset("the all its these those".split())
_NARROWING = frozenset(
    "from with who that which in at of on by whose against for where to have having".split()
)
_OVERALL = frozenset("average total altogether".split())
_PARTITIVE = frozenset("of among across throughout".split())
_PARTS = {"quarters": 4, "months": 12, "seasons": 4, "halves": 2}
_AMONG = frozenset("of among across for in over within throughout all together".split())


def size_of(frame: SentenceLinks, stated: StatedNumber) -> bool:
    """Whether a number says how many rows there are: "4 of the six tests", "all 31 players"."""
    words, place = frame.words, stated.first - 1
    amount, value = stated.amount, stated.value
    if stated.last >= len(words) or amount.role != "value" or amount.hedge:
        return False
    if not value == int(value) > 1 or amount.number.unit.symbol not in ("", *TIME_UNITS):
        return False
    headed = [(h.first, frame.view.columns[h.column]) for h in frame.headings if h.share > 0.99]
    named = [first for first, column in headed if not (column.adds_up or column.kind == "score")]
    if words[stated.last] not in THINGS and stated.last not in named:
        return False
    among = _AMONG if stated.last in named or stated.value in sizes(frame, stated) else _PARTITIVE
    if words[stated.last + 1 : stated.last + 2] and words[stated.last + 1] in _NARROWING:
        return False
    while place >= 0 and words[place] in _DEFINITE:
        place -= 1
    if place == stated.first - 1 and words[place] == "across" and stated.last in named:
        return True  # "5 employees across 4 departments"
    counted = any(other.last == place for other in frame.amounts)
    if place > 0 and words[place] == "of" and counted and _has_subject(frame, place):
        return False  # "A won 3 of the 8 games": of its own
    if place < stated.first - 1:
        if place < 0 or words[place] in among or words[place] in _OVERALL:
            return True
        return "," in frame.between(place, place + 1)
    return place > 0 and words[place] == "of" and counted


def _has_subject(frame: SentenceLinks, place: int) -> bool:
    """Whether a clause speaks of one row before a token: the numbers behind it are that row's."""
    first = frame.clause(place)[0]
    named = [p for p in frame.phrases if first <= p.first and p.last < place]
    return any(m.column == frame.view.key and len(m.rows) == 1 for p in named for m in p.mentions)


def sizes(frame: SentenceLinks, stated: StatedNumber) -> frozenset[int]:
    """What "the N rows" can be: with and without totals, or the different values named."""
    view = frame.view
    columns = {view.key, *(h.column for h in frame.headings if h.first == stated.last)}
    names = (len(view.columns[column].groups) for column in columns)
    noun = "".join(frame.words[stated.last : stated.last + 1])  # "all four quarters"
    parts = {_PARTS[noun]} if noun in _PARTS else set[int]()
    return frozenset({len(view.rows), len(view.rows) + len(view.totals), *names} | parts)
