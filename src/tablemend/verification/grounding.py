"""The cells that an amount can be compared with, what the comparison gives, and what is right."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property

from tablemend.records import ClaimError, Evidence, VerdictName
from tablemend.values.numbers import Number, parse_number, plain_digits
from tablemend.values.sentences import Span
from tablemend.values.units import MEASURES, ONE, PLAIN, Unit
from tablemend.verification.agreement import LEAGUE, Agreement, compare
from tablemend.verification.candidates import Binding, Candidate
from tablemend.verification.findings import Finding, Subject
from tablemend.verification.indexing import Heading, Place
from tablemend.verification.lexicon import stem
from tablemend.verification.linking import Linking
from tablemend.verification.reading import Amount

_ORDER: tuple[Agreement, ...] = ("same", "near", "different")
_MANY = 2000  # places of a number that are looked at
_TELLING = 3  # digits that make a number specific
_TOLD = 5  # rows that tell in what the columns count
_SHOWN = 3  # cells given as evidence
_CANDIDATES = 4
_MEASURED = re.compile(r"\s*(-?\d[\d,]*(?:\.\d+)?)\s[A-Za-z\u00b5%]{1,8}(?:/[A-Za-z]{1,6})?\s*$")
_TIMES = frozenset(
    stem(word)
    for word in "minute time hour second duration day week month year age length elapsed run long "
    "standby talk life".split()
)
_SHARE = 1000  # percent
_CLAUSE = 60  # characters
_CHANGING = re.compile(
    r"\b(?:grow|grew|ris|rose|increas|climb|jump|surg|gain|fall|fell|drop|declin|decreas|shr[iau]nk"
    r"|slip|slump|dipp|up\b|down\b)\w*(?:[^.;]|\.\d)*$"
)
_SHARES = re.compile(r"%|\b(?:percent|pct|perc|share|rate|ratio|proportion|fraction|avg|average)")
_ROUNDED = Decimal("0.05")  # what rounding may change
_BLURRED = Decimal("0.12")  # how far a cell can be from a number that is said with a hedge

Cell = tuple[int, int]
"""Row and column."""


@dataclass(frozen=True, slots=True)
class Grounding:
    """One reading of an amount: what it counts, of whom, and whether the cells agree.

    Attributes:
        rank: how far the words stand that name row and column; the smallest is the likeliest.
        grid: number of the table.
        attribute, entity: what is counted, and of whom.
        cells: the numbers where both meet.
        outcome: the best agreement with one of them.
        transposed: whether rows are the attributes.
        torn: whether the table itself has several values: rows of one name that differ.
    """

    rank: int
    grid: int
    attribute: Candidate
    entity: Candidate
    cells: tuple[Cell, ...]
    outcome: Agreement
    transposed: bool
    torn: bool = False

    @property
    def clear(self) -> bool:
        """Whether both the row and the column can be only these."""
        return self.attribute.clear and self.entity.clear

    @property
    def subject(self) -> Subject | None:
        """Whom it is about, where that is one row or column."""
        if len(self.entity.indices) != 1:
            return None
        return Subject(self.grid, self.entity.indices[0], self.entity.start, self.entity.end)


class Grounder:
    """Compares amounts with the cells of a source.

    Args:
        linking: the text and its tables.
    """

    def __init__(self, linking: Linking) -> None:
        self.linking = linking
        self.grids = linking.source.grids
        self.text = linking.reading.text
        self._scales = _scales(linking)
        self._money: dict[int, bool] = {}

    def ground(self, amount: Amount, bindings: Sequence[Binding]) -> list[Grounding]:
        """All readings of an amount that can be compared, the likeliest first."""
        found = []
        for binding in bindings:
            for entity in binding.entities[:_CANDIDATES]:
                for attribute in binding.attributes[:_CANDIDATES]:
                    cells = tuple(
                        (row, column)
                        for row, column in binding.cells(attribute, entity)
                        if self.number(binding.grid, row, column) is not None
                        and self._measures(amount, binding.grid, row, column, attribute)
                    )
                    outcome = self.agreement(amount, binding.grid, cells)
                    if cells and outcome != "apart":
                        rank = attribute.distance * 2 + entity.distance
                        found.append(
                            Grounding(
                                rank,
                                binding.grid,
                                attribute,
                                entity,
                                cells,
                                outcome,
                                binding.transposed,
                                self._is_torn(binding.grid, cells),
                            )
                        )
        return sorted(found, key=lambda grounding: grounding.rank)

    def _has_money(self, grid: int) -> bool:
        """Whether a table has a column of money."""
        found = self._money.get(grid)
        if found is None:
            own = self.grids[grid]
            rows = [line.index for line in own.lines[:_TOLD]]
            found = self._money[grid] = any(
                own.unit(row, column.index).currency for row in rows for column in own.columns
            )
        return found

    @cached_property
    def _twins(self) -> dict[tuple[int, int], str]:
        """Rows that another row of the same name stands beside, and that name."""
        found = {}
        for grid in self.grids:
            count = Counter(line.header for line in grid.lines)
            for line in grid.lines:
                if line.header and count[line.header] > 1:
                    found[grid.number, line.index] = line.header
        return found

    def _is_torn(self, grid: int, cells: Sequence[Cell]) -> bool:
        """Whether cells of one column differ that stand in rows of one name."""
        said: dict[tuple[str, int], set[Decimal]] = defaultdict(set)
        for row, column in cells:
            name, number = self._twins.get((grid, row)), self.number(grid, row, column)
            if name is not None and number is not None:
                said[name, column].add(number.value)
        return any(len(values) > 1 for values in said.values())

    def _measures(
        self, amount: Amount, grid: int, row: int, column: int, attribute: Candidate
    ) -> bool:
        """Whether a cell can count in the amount's unit: no minutes under "Points".

        A column that states no unit counts in any measure that stands next to its name; in one of
        time only where its name says so ("Minutes played").
        """
        symbol = amount.number.unit.symbol
        own = self.grids[grid].unit(row, column)
        dated = self.grids[grid].columns[column].kind == "date"
        if dated and symbol and MEASURES[symbol][0] in ("time", "months"):
            return False  # "30 years old" is no year
        if symbol == "%" and own.currency:
            return False
        if amount.number.unit.currency and not own.currency and self._has_money(grid):
            number = self.number(grid, row, column)
            if number is None or not number.unit.currency:
                return False  # "$680,000" is no number of units beside a column of dollars
        if symbol == "%" and not self.grids[grid].unit(row, column).symbol:
            # No share of some hundred is the count beside it.
            number = self.number(grid, row, column)
            counts = number is not None and not number.unit.symbol and not number.decimals
            if counts and self.is_share(amount) and not self._gives_shares(grid, row, column):
                return False  # "71.4% of their games" beside 30 wins
            return not counts or number is None or abs(number.value) <= _SHARE
        if not symbol or symbol == "%":
            return True
        number = self.number(grid, row, column)
        if self.grids[grid].unit(row, column).symbol or (number and number.unit.symbol):
            return True
        if MEASURES[symbol][0] not in ("time", "months"):
            return attribute.distance <= 1
        terms = self.linking.index.terms
        named = terms.get(Heading(grid, -1, column), frozenset()) | terms.get(
            Heading(grid, row, -1), frozenset()
        )
        return not _TIMES.isdisjoint(named)

    def is_share(self, amount: Amount) -> bool:
        """Whether a percentage is a part of a whole, or a change: "71.4% of them", "grew 10%"."""
        plain = self.linking.reading.plain
        if not amount.number.percent:
            return False
        before = plain[max(0, amount.start - _CLAUSE) : amount.start]
        return plain.startswith(" of ", amount.end) or _CHANGING.search(before) is not None

    def _gives_shares(self, grid: int, row: int, column: int) -> bool:
        """Whether a cell's headers or its table's caption say that it is a share."""
        own = self.grids[grid]
        names = [line.name for line in own.lines if line.index == row] if own.transposed else []
        told = " ".join((own.columns[column].header, own.caption, *names))
        return _SHARES.search(told.casefold()) is not None

    @cached_property
    def has_shares(self) -> bool:
        """Whether some column counts in percent, by its unit or by its name."""
        return any(
            own.unit(line.index, column.index).symbol == "%"
            or self._gives_shares(own.number, line.index, column.index)
            for own in self.grids
            for line in (own.lines if own.transposed else own.lines[:_TOLD])
            for column in own.columns
        )

    def header_terms(self, grounding: Grounding) -> frozenset[str]:
        """The terms of the headers that an amount was taken to count."""
        headings = [
            Heading(grounding.grid, index, -1)
            if grounding.transposed
            else Heading(grounding.grid, -1, index)
            for index in grounding.attribute.indices
        ]
        none: frozenset[str] = frozenset()
        return none.union(*(self.linking.index.terms.get(heading, none) for heading in headings))

    def number(self, grid: int, row: int, column: int) -> Number | None:
        """The number of a cell, also before a unit that nobody lists: "90 fL"."""
        number = self.grids[grid].value(row, column).number
        if number is None and (match := _MEASURED.match(self.grids[grid].cell(row, column))):
            return parse_number(match[1])
        return number

    def agreement(self, amount: Amount, grid: int, cells: Sequence[Cell]) -> Agreement:
        """The best agreement of an amount with one of several cells."""
        found = set()
        for row, column in cells:
            number = self.number(grid, row, column)
            if number is not None:
                found.add(compare(amount, number, self.grids[grid].unit(row, column)))
        return next((outcome for outcome in _ORDER if outcome in found), "apart")

    def places(self, amount: Amount) -> Iterator[Place]:
        """Cells anywhere that state the amount, alone or within a text."""
        value = abs(amount.value)
        slack = Decimal(1).scaleb(-amount.number.decimals) * amount.number.unit.scale
        if amount.hedge:
            slack = max(slack, value * _BLURRED)
        factors = [*self._scales, Decimal("100")] if amount.number.percent else self._scales
        seen = set()
        for factor in factors:
            low, high = (value - slack) / factor, (value + slack) / factor
            found = self.linking.index.numbers_between(max(low, Decimal(0)), high)
            for stated in found[:_MANY]:
                place = stated.place
                unit = self.grids[place.grid].unit(place.row, place.column)
                if place not in seen and compare(amount, stated.number, unit) == "same":
                    seen.add(place)
                    yield place

    def is_telling(self, amount: Amount) -> bool:
        """Whether a number is so specific that finding it, or not finding it, is no chance."""
        number = amount.number
        digits = plain_digits(abs(number.value / number.unit.scale)).replace(".", "").strip("0")
        return len(digits) >= _TELLING or number.decimals > 0

    def evidence(self, grid: int, cells: Sequence[Cell]) -> tuple[Evidence, ...]:
        """The first cells as evidence."""
        return tuple(self.grids[grid].evidence(row, column) for row, column in cells[:_SHOWN])

    def supported(self, amount: Amount, grounding: Grounding) -> Finding:
        """The finding where the cell agrees."""
        agreeing = [
            cell
            for cell in grounding.cells
            if self.agreement(amount, grounding.grid, [cell]) == "same"
        ]
        return Finding(
            amount.start,
            amount.end,
            "number",
            "supported",
            evidence=self.evidence(grounding.grid, agreeing),
            reason="the cell says so",
            firm=True,
            subject=grounding.subject,
            columns=grounding.attribute.indices,
        )

    def contradicted(self, amount: Amount, grounding: Grounding) -> Finding:
        """The finding where the cell says something else."""
        grid, cells = grounding.grid, grounding.cells
        error, where = self._error(amount, grid, cells)
        expected, span = self._expected(amount, grid, cells)
        said = self.text[amount.start : amount.end]
        return Finding(
            amount.start,
            amount.end,
            "number",
            "contradicted",
            error,
            self.evidence(grid, cells),
            f'the text says "{said}", the table {" or ".join(expected)}{where}',
            span,
            expected,
            firm=True,
            subject=grounding.subject,
            columns=grounding.attribute.indices,
        )

    def weak(
        self,
        amount: Amount,
        verdict: VerdictName,
        reason: str,
        grid: int = 0,
        cells: Sequence[Cell] = (),
    ) -> Finding:
        """A finding that rests on no clear row and column."""
        error: ClaimError | None = "NUM" if verdict == "not_in_source" else None
        span = Span(amount.start, amount.end) if error else None
        evidence = self.evidence(grid, cells)
        return Finding(amount.start, amount.end, "number", verdict, error, evidence, reason, span)

    def _error(self, amount: Amount, grid: int, cells: Sequence[Cell]) -> tuple[ClaimError, str]:
        """REL where the value stands in another row of the column or column of the row."""
        rows, columns = {row for row, _ in cells}, {column for _, column in cells}
        for place in self.places(amount):
            if place.grid == grid and (place.row in rows or place.column in columns):
                evidence = self.grids[grid].evidence(place.row, place.column)
                return "REL", f"; it is that of {evidence.text}"
        return "NUM", ""

    def _expected(
        self, amount: Amount, number: int, cells: Sequence[Cell]
    ) -> tuple[tuple[str, ...], Span]:
        """The cells in the source's spelling, and the words that they can stand for."""
        grid = self.grids[number]
        spellings = []
        whole = False
        for row, column in cells:
            cell = self.number(number, row, column)
            if cell is None:
                continue
            unit, stated = grid.unit(row, column), amount.number.unit
            written = grid.cell(row, column)
            if cell.unit[1:] != ("", "") or cell.unit.scale != ONE:
                whole = True
            elif stated.symbol == "%" and is_fraction(cell, unit):
                written = plain_digits(cell.value * 100)
            elif stated.scale != unit.scale:
                written = _scaled(cell, unit.scale, stated.scale, amount)
            spellings.append(written)
        start, end = amount.start, amount.end if whole else amount.digits_end
        if not whole and not amount.spelled:
            while start < end and not self.text[start].isdigit():
                start += 1
            while end > start and not self.text[end - 1].isdigit():
                end -= 1
        return tuple(dict.fromkeys(spellings)), Span(start, end)


def is_fraction(number: Number, unit: Unit = PLAIN) -> bool:
    """Whether a number can be a share of one: 0.25 without a unit, .714 under "PCT".

    Args:
        number: of a cell.
        unit: what its headers state.
    """
    if number.unit.symbol or abs(number.value) > 1:
        return False
    return number.decimals >= LEAGUE if unit.symbol else bool(number.decimals)


def _scaled(cell: Number, scale: Decimal, stated: Decimal, amount: Amount) -> str:
    """A cell's value in the scale that the text uses: 1,234 (thousands) as "1.2" (million)."""
    places, value = amount.number.decimals, cell.value * scale / stated
    rounded = round(value, places)
    if abs(rounded - value) > _ROUNDED * abs(value):
        return plain_digits(value)  # 120.4 million is 0.1204 billion, not 0.1
    return f"{rounded:,.{places}f}"


def _scales(linking: Linking) -> list[Decimal]:
    """The scales that headers state; one is always among them."""
    found = {ONE}
    for grid in linking.source.grids:
        rows = [line.index for line in grid.lines[:50]]
        found |= {grid.unit(row, c.index).scale for row in rows for c in grid.columns}
    return sorted(found)
