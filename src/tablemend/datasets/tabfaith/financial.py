"""Synthetic quarterly earnings tables (TabFaith, Appendix B): nothing in them is a fact.

Columns are the paper's: fiscal quarter, metric, reported value, change on the year before, and
what analysts expected, of revenue, net income, earnings per share and operating margin. The
numbers agree with each other: a margin and a share count make income and earnings per share, and
a change is worked out from the same quarter of the year before as printed.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from random import Random
from typing import NamedTuple

from tablemend.datasets.tablehallu.invented_names import invent_word
from tablemend.tables.table import Cell, Table

METRICS = ("Revenue", "Net income", "EPS", "Operating margin")
YEARS = (2018, 2024)
_FIRMS = ("{} Corp", "{} Industries", "{} Holdings", "{} Technologies", "{} Group")
_CENT, _TENTH, _ONE = Decimal("0.01"), Decimal("0.1"), Decimal(1)
_QUARTERS = ("Q{q} {y}", "{y} Q{q}", "Q{q} FY{y}")


class Quarter(NamedTuple):
    """What a firm reports: millions of dollars, dollars a share, percent."""

    year: int
    number: int
    values: tuple[Decimal, Decimal, Decimal, Decimal]


def make_table(seed: int, number: int) -> Table:
    """Table ``number`` of a seed: a firm over four to eight quarters, in one of three shapes."""
    rng = Random(f"financial:{seed}:{number}")
    firm = rng.choice(_FIRMS).format(invent_word(rng))
    shown = rng.choice((4, 4, 5, 6, 8))
    quarters = _report(shown + 4, rng)
    name = rng.choice(_QUARTERS[:2])
    shape: Callable[[list[Quarter], str, Random], tuple[list[str], list[list[Cell]]]]
    shape = rng.choices((_long, _by_quarter, _by_metric), (4, 1, 1))[0]
    columns, rows = shape(quarters, name, rng)
    return Table.of(columns, rows, f"{firm}: quarterly earnings")


def _report(count: int, rng: Random) -> list[Quarter]:
    """Consecutive quarters with a trend, a season and noise."""
    last_year = rng.randint(YEARS[0] + 3, YEARS[1])
    end = 4 * last_year + rng.randrange(4)
    revenue = 10 ** rng.uniform(2.3, 4.6)
    growth, margin = rng.gauss(0.02, 0.025), rng.uniform(0.04, 0.32)
    shares = revenue * rng.uniform(0.05, 0.6)
    seasons = [rng.gauss(0, 0.05) for _ in range(4)]
    found = []
    for order in range(end - count + 1, end + 1):
        revenue *= 1 + growth + rng.gauss(0, 0.025)
        margin = min(0.45, max(-0.05, margin + rng.gauss(0, 0.012)))
        sales = _round(revenue * (1 + seasons[order % 4]), _ONE if revenue > 900 else _TENTH)
        income = _round(
            float(sales) * margin * rng.uniform(0.7, 0.85), _ONE if revenue > 900 else _TENTH
        )
        share = _round(float(income) / shares, _CENT)
        values = (sales, income, share, _round(100 * margin, _TENTH))
        found.append(Quarter(order // 4, order % 4 + 1, values))
    return found


def _long(quarters: list[Quarter], name: str, rng: Random) -> tuple[list[str], list[list[Cell]]]:
    """One row a quarter and metric, the paper's shape."""
    rows: list[list[Cell]] = []
    for before, now in zip(quarters, quarters[4:], strict=False):
        for metric, old, new in zip(METRICS, before.values, now.values, strict=True):
            expected = _expect(metric, new, rng)
            rows.append(
                [
                    name.format(q=now.number, y=now.year),
                    metric,
                    _spell(metric, new),
                    _change(metric, old, new),
                    _spell(metric, expected),
                ]
            )
    return ["Fiscal Quarter", "Metric", "Reported Value", "YoY Change", "Analyst Consensus"], rows


def _by_quarter(
    quarters: list[Quarter], name: str, rng: Random
) -> tuple[list[str], list[list[Cell]]]:
    """One row a quarter, one column a metric; the units stand in the headers."""
    units = ("($ millions)", "($ millions)", "($)", "(%)")
    names = ("Revenue", "Net Income", "EPS", "Operating Margin")
    columns = [f"{metric} {unit}" for metric, unit in zip(names, units, strict=True)]
    rows: list[list[Cell]] = [
        [name.format(q=q.number, y=q.year), *(_digits(value) for value in q.values)]
        for q in quarters[4:]
    ]
    return ["Fiscal Quarter", *columns], rows


def _by_metric(
    quarters: list[Quarter], name: str, rng: Random
) -> tuple[list[str], list[list[Cell]]]:
    """One row a metric, one column a quarter."""
    shown = quarters[-rng.choice((4, 4, 5)) :]
    columns = ["Metric", *(name.format(q=q.number, y=q.year) for q in shown)]
    rows: list[list[Cell]] = [
        [metric, *(_spell(metric, quarter.values[index]) for quarter in shown)]
        for index, metric in enumerate(METRICS)
    ]
    return columns, rows


def _expect(metric: str, value: Decimal, rng: Random) -> Decimal:
    """What analysts may have expected: near, and seldom the same."""
    if metric == "Operating margin":
        return _round(float(value) + rng.gauss(0, 0.6), _TENTH)
    step = Decimal(1).scaleb(int(value.as_tuple().exponent))
    return _round(float(value) * (1 + rng.gauss(-0.005, 0.025)), step)


def _change(metric: str, old: Decimal, new: Decimal) -> str | None:
    """The change as printed; none on a base that is not positive."""
    if metric == "Operating margin":
        return f"{new - old:+} pp"
    if old <= 0:
        return None
    return f"{_round(100 * float(new - old) / float(old), _TENTH):+}%"


def _spell(metric: str, value: Decimal) -> str:
    if metric == "Operating margin":
        return f"{value}%"
    sign = "-" if value < 0 else ""
    unit = "" if metric == "EPS" else " million"
    return f"{sign}${_digits(abs(value))}{unit}"


def _digits(value: Decimal) -> str:
    return f"{value:,}"


def _round(value: float, step: Decimal) -> Decimal:
    return Decimal(repr(value)).quantize(step)
