"""Synthetic quarterly earnings tables (TabFaith, Appendix B): nothing in them is a fact.

Columns are the paper's: fiscal quarter, metric, reported value, change on the year before, and
what analysts expected, of revenue, net income, earnings per share and operating margin. The
numbers agree with each other: a margin and a share count make income and earnings per share, and
a change is worked out from the same quarter of the year before as printed.
"""

from __future__ import annotations

from random import Random
from typing import NamedTuple

from tablemend.datasets.source_tables.names import FAMILY
from tablemend.tables.table import Cell, Table

METRICS = ("Revenue", "Net income", "EPS", "Operating margin")
MARGIN = len(METRICS) - 1
YEARS = (2018, 2024)
_FIRMS = ("{} Corp", "{} Industries", "{} Holdings", "{} Technologies", "{} Group")
_WITH_UNITS = ("Revenue ($ millions)", "Net Income ($ millions)", "EPS ($)", "Operating Margin (%)")


class Quarter(NamedTuple):
    """What a firm reports: millions of dollars, dollars a share, percent, as printed."""

    name: str
    values: tuple[float, ...]


def make_table(seed: int, number: int) -> Table:
    """Table ``number`` of a seed: a firm over four to eight quarters, in one of three shapes."""
    rng = Random(f"financial:{seed}:{number}")
    title = f"{rng.choice(_FIRMS).format(rng.choice(FAMILY))}: quarterly earnings"
    shown = rng.choice((4, 4, 5, 6, 8))
    large = rng.random() < 0.6
    decimals = (0, 0, 2, 1) if large else (1, 1, 2, 1)
    quarters = _report(shown + 4, large, decimals, rng)
    shape = rng.choices(("long", "by quarter", "by metric"), (4, 1, 1))[0]
    if shape == "long":
        header = ["Fiscal Quarter", "Metric", "Reported Value", "YoY Change", "Analyst Consensus"]
        rows = [
            [
                now.name,
                metric,
                _spell(place, value, decimals[place]),
                _change(place, before.values[place], value),
                _spell(place, _expect(place, value, rng), decimals[place]),
            ]
            for before, now in zip(quarters, quarters[4:], strict=False)
            for place, (metric, value) in enumerate(zip(METRICS, now.values, strict=True))
        ]
    elif shape == "by quarter":  # the units stand in the headers
        header = ["Fiscal Quarter", *_WITH_UNITS]
        rows = [
            [q.name, *(f"{v:,.{d}f}" for v, d in zip(q.values, decimals, strict=True))]
            for q in quarters[4:]
        ]
    else:
        quarters = quarters[-rng.choice((4, 4, 5)) :]
        header = ["Metric", *(quarter.name for quarter in quarters)]
        rows = [
            [metric, *(_spell(place, q.values[place], decimals[place]) for q in quarters)]
            for place, metric in enumerate(METRICS)
        ]
    return Table.of(header, rows, title)


def _report(count: int, large: bool, decimals: tuple[int, ...], rng: Random) -> list[Quarter]:
    """Consecutive quarters with a trend, a season and noise."""
    form = rng.choice(("Q{q} {y}", "{y} Q{q}"))
    end = 4 * rng.randint(YEARS[0] + 3, YEARS[1]) + rng.randrange(4)
    revenue = 10 ** (rng.uniform(3.1, 4.6) if large else rng.uniform(2.3, 2.9))
    growth, margin = rng.gauss(0.02, 0.025), rng.uniform(0.04, 0.32)
    shares = revenue * rng.uniform(0.05, 0.6)
    seasons = [rng.gauss(0, 0.05) for _ in range(4)]
    found = []
    for order in range(end - count + 1, end + 1):
        revenue *= 1 + growth + rng.gauss(0, 0.025)
        margin = min(0.45, max(-0.05, margin + rng.gauss(0, 0.012)))
        sales = revenue * (1 + seasons[order % 4])
        income = sales * margin * rng.uniform(0.7, 0.85)
        values = zip((sales, income, income / shares, 100 * margin), decimals, strict=True)
        name = form.format(q=order % 4 + 1, y=order // 4)
        found.append(Quarter(name, tuple(round(value, places) + 0.0 for value, places in values)))
    return found


def _expect(place: int, value: float, rng: Random) -> float:
    """What analysts may have expected: near, and seldom the same."""
    if place == MARGIN:
        return value + rng.gauss(0, 0.6)
    return value * (1 + rng.gauss(0, 0.025))


def _change(place: int, old: float, new: float) -> Cell:
    """The change as printed; none on a base that is not positive."""
    if place == MARGIN:
        return f"{new - old:+.1f} pp"
    return f"{100 * (new - old) / old:+.1f}%" if old > 0 else None


def _spell(place: int, value: float, decimals: int) -> str:
    if place == MARGIN:
        return f"{value:.1f}%"
    unit = "" if METRICS[place] == "EPS" else " million"
    return f"{'-' if value < 0 else ''}${abs(value):,.{decimals}f}{unit}"
