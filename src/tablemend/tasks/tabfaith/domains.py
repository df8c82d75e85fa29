"""The three enterprise domains of TabSum-Ent as synthetic tables (TabFaith, 3.2 and Appendix B).

Nothing in them is a fact, nor of anybody; the numbers of a table agree with each other as printed.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, timedelta
from pathlib import Path
from random import Random
from typing import Any, Literal, NamedTuple, get_args

import yaml

from tablemend.datasets.source_tables.names import FAMILY, GIVEN, TOWNS
from tablemend.tables.table import Cell, Table
from tablemend.values.dates import MONTH_NAMES

Domain = Literal["general", "financial", "clinical", "operations"]
DOMAINS: tuple[Domain, ...] = get_args(Domain)
"""``general`` are tables of any topic, ToTTo's in the paper."""
_WORDS: dict[str, Any] = yaml.safe_load(Path(__file__).with_suffix(".yaml").read_text("utf-8"))


# ---- quarterly earnings ----

METRICS = ("Revenue", "Net income", "EPS", "Operating margin")
_MARGIN = len(METRICS) - 1
_FIRMS = ("{} Corp", "{} Industries", "{} Holdings", "{} Technologies", "{} Group")
_WITH_UNITS = ("Revenue ($ millions)", "Net Income ($ millions)", "EPS ($)", "Operating Margin (%)")


class Quarter(NamedTuple):
    """What a firm reports: millions of dollars, dollars a share, percent, as printed."""

    name: str
    values: tuple[float, ...]


def financial_table(seed: int, number: int) -> Table:
    """A firm over four to eight quarters, in one of three shapes; columns are the paper's.

    A margin and a share count make income and earnings per share, and a change is worked out from
    the same quarter of the year before as printed.
    """
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
    end = 4 * rng.randint(2021, 2024) + rng.randrange(4)
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
    if place == _MARGIN:
        return value + rng.gauss(0, 0.6)
    return value * (1 + rng.gauss(0, 0.025))


def _change(place: int, old: float, new: float) -> Cell:
    """The change as printed; none on a base that is not positive."""
    if place == _MARGIN:
        return f"{new - old:+.1f} pp"
    return f"{100 * (new - old) / old:+.1f}%" if old > 0 else None


def _spell(place: int, value: float, decimals: int) -> str:
    if place == _MARGIN:
        return f"{value:.1f}%"
    unit = "" if METRICS[place] == "EPS" else " million"
    return f"{'-' if value < 0 else ''}${abs(value):,.{decimals}f}{unit}"


# ---- laboratory panels ----

ABNORMAL = 0.25
"""Chance that a test is drawn from beyond its range."""
DRIFT = 0.2
"""How far a value moves towards a new one from one day to the next."""


class Test(NamedTuple):
    """A laboratory test: its range in a unit, how it is printed, what it can reach at all."""

    name: str
    unit: str
    low: float | None
    high: float | None
    decimals: int
    least: float
    most: float

    def draw(self, rng: Random) -> float:
        """Mostly within the range; beyond it, near values are more frequent than far ones."""
        low = self.least if self.low is None else self.low
        high = self.most if self.high is None else self.high
        drawn, far = rng.random(), rng.random() ** 2
        if drawn < ABNORMAL / 2 and self.low is not None:
            return low - far * (low - self.least)
        if drawn < ABNORMAL and self.high is not None:
            return high + far * (self.most - high)
        return low + rng.betavariate(2, 2) * (high - low)

    def flag(self, value: float) -> int:
        """0 above the range, 1 below it, 2 within; both ends belong to it."""
        if self.high is not None and value > self.high:
            return 0
        return 1 if self.low is not None and value < self.low else 2

    @property
    def range(self) -> str:
        """``3.5-5.1``, or ``<=200`` and ``>=40`` where it has one end."""
        low, high = (
            "" if end is None else f"{end:.{min(self.decimals, 1)}f}"
            for end in (self.low, self.high)
        )
        return f"{low}-{high}" if low and high else f">={low}" if low else f"<={high}"


PANELS: dict[str, tuple[Test, ...]] = {
    panel: tuple(Test(name, *given) for name, given in tests.items())
    for panel, tests in _WORDS["panels"].items()
}
_FLAGS = (("H", "L", None), ("High", "Low", "Normal"), ("high", "low", "normal"))


def clinical_table(seed: int, number: int) -> Table:
    """Laboratory values of an adult: the panels take turns, one in four shows two of them.

    A flag agrees with its range, and values that follow from others do: hematocrit from cells and
    their volume, LDL by the Friedewald formula, the anion gap from the electrolytes.
    """
    rng = Random(f"clinical:{seed}:{number}")
    names = list(PANELS)
    chosen = [names[number % len(names)]]
    if rng.random() < 0.25:
        chosen.append(rng.choice([name for name in names if name not in chosen]))
    if rng.random() < 0.3:
        return _series(chosen[0], rng)
    flags = rng.choice(_FLAGS)
    own_unit = rng.random() < 0.6
    rows: list[list[Cell]] = []
    for panel in chosen:
        values = _printed(panel, {test.name: test.draw(rng) for test in PANELS[panel]}, rng)
        for test in _shown(panel, rng):
            text, flag = f"{values[test.name]:.{test.decimals}f}", test.flag(values[test.name])
            joined = f"{text}{test.unit}" if test.unit == "%" else f"{text} {test.unit}"
            shown = [text, test.unit] if own_unit else [joined]
            rows.append([test.name, *shown, test.range, flags[flag]])
    columns = ["Test", "Measurement", "Reference Range", "Flag Status"]
    if own_unit:
        columns = ["Test", "Result", "Unit", "Reference Range", "Flag"]
    return Table.of(columns, rows, " and ".join(chosen))


def _series(panel: str, rng: Random) -> Table:
    """One panel on three to five days, two to six days apart."""
    day = date(rng.randint(2018, 2024), rng.randint(1, 12), rng.randint(1, 28))
    days, drawn = [], []
    values = {test.name: test.draw(rng) for test in PANELS[panel]}
    for _ in range(rng.randint(3, 5)):
        days.append(day.isoformat())
        drawn.append(_printed(panel, dict(values), rng))
        for test in PANELS[panel]:
            values[test.name] += DRIFT * (test.draw(rng) - values[test.name])
        day += timedelta(days=rng.randint(2, 6))
    rows = []
    for test in _shown(panel, rng):
        cells = [f"{found[test.name]:.{test.decimals}f}" for found in drawn]
        rows.append([test.name, test.unit, *cells, test.range])
    return Table.of(["Test", "Unit", *days, "Reference Range"], rows, panel)


def _shown(panel: str, rng: Random) -> list[Test]:
    """Six or more of the tests of a panel, in its order."""
    tests = PANELS[panel]
    count = rng.randint(min(6, len(tests)), len(tests))
    return [tests[index] for index in sorted(rng.sample(range(len(tests)), count))]


def _printed(panel: str, values: dict[str, float], rng: Random) -> dict[str, float]:
    """The values as they are printed, with those that follow from others."""
    values = {test.name: round(values[test.name], test.decimals) for test in PANELS[panel]}
    if panel == "Complete blood count":
        cells, volume = values["Red Blood Cells"], values["MCV"]
        values["Hematocrit"] = cells * volume / 10
        if not 27 <= 100 * values["Hemoglobin"] / values["Hematocrit"] <= 39:
            values["Hemoglobin"] = values["Hematocrit"] * rng.uniform(0.315, 0.36)
        values["MCH"] = 10 * values["Hemoglobin"] / cells
        values["MCHC"] = 100 * values["Hemoglobin"] / values["Hematocrit"]
        rest = max(5.0, 100 - values["Monocytes"] - values["Eosinophils"] - 0.6)
        values["Neutrophils"] = min(values["Neutrophils"], rest - 3)
        values["Lymphocytes"] = rest - values["Neutrophils"]
    elif panel == "Comprehensive metabolic panel":
        gap = values["Sodium"] - values["Chloride"] - values["Bicarbonate"]
        if not 3 <= gap <= 34:
            gap = rng.randint(6, 16)
            values["Chloride"] = values["Sodium"] - values["Bicarbonate"] - gap
        values["Anion Gap"] = gap
        values["Albumin"] = min(values["Albumin"], values["Total Protein"] - 1.5)
    else:
        values["VLDL Cholesterol"] = round(values["Triglycerides"] / 5)
        rest = values["HDL Cholesterol"] + values["VLDL Cholesterol"]
        values["Total Cholesterol"] = max(values["Total Cholesterol"], rest + 30)
        values["LDL Cholesterol"] = values["Total Cholesterol"] - rest
        values["Non-HDL Cholesterol"] = values["Total Cholesterol"] - values["HDL Cholesterol"]
    return {test.name: round(values[test.name], test.decimals) + 0.0 for test in PANELS[panel]}


# ---- operational dashboards ----


def operations_table(seed: int, number: int) -> Table:
    """Sales, churn or stock in turn, with some of the columns that CRM and ERP dashboards publish.

    Win rates, churn rates, turnover and days of stock follow from the other columns as printed.
    """
    rng = Random(f"operations:{seed}:{number}")
    key, names, rows, title = (_pipeline, _churn, _stock)[number % 3](rng)
    columns = list(rows[0])
    kept = sorted(rng.sample(range(len(columns)), rng.randint(4, len(columns))))
    header = [columns[place] for place in kept]
    body = [[name, *(row[c] for c in header)] for name, row in zip(names, rows, strict=True)]
    return Table.of([key, *header], body, title)


Drawn = tuple[str, list[str], list[dict[str, str]], str]
"""Header and cells of the first column, the other columns, the title."""


def _pipeline(rng: Random) -> Drawn:
    key, names = "Region", rng.sample(_WORDS["regions"].split(", "), rng.randint(6, 10))
    if rng.random() < 0.5:  # different last names, so that the last alone says who is meant
        count = rng.randint(6, 12)
        people = zip(rng.sample(GIVEN, count), rng.sample(FAMILY, count), strict=True)
        key, names = "Sales Rep", [" ".join(person) for person in people]
    rows = []
    for _ in names:
        opened = rng.randint(18, 160)
        won = max(1, round(opened * rng.betavariate(5, 11)))
        lost = rng.randint(0, max(1, opened - won))
        deal = 10 ** rng.uniform(3.9, 5.1)
        rows.append(
            {
                "Opportunities": str(opened),
                "Deals Won": str(won),
                "Deals Lost": str(lost),
                "Pipeline Value": f"${opened * deal / 1000:,.0f}K",
                "Average Deal Size": f"${deal:,.0f}",
                "Win Rate": f"{100 * won / (won + lost):.1f}%",
                "Sales Cycle (days)": str(rng.randint(21, 124)),
            }
        )
    return key, names, rows, f"Sales pipeline, Q{rng.randint(1, 4)} {_year(rng)}"


def _churn(rng: Random) -> Drawn:
    monthly = rng.random() < 0.5
    key, names = "Segment", rng.sample(_WORDS["segments"].split(", "), rng.randint(5, 9))
    when = str(_year(rng))
    if monthly:
        key, count = "Month", rng.randint(6, 12)
        first, year, letters = rng.randrange(12), _year(rng), rng.choice((3, None))
        months = range(first, first + count)
        names = [f"{MONTH_NAMES[n % 12][:letters]} {year + n // 12}" for n in months]
        when = f"{names[0]} to {names[-1]}"
    customers = rng.randint(400, 9000)
    rows = []
    for _ in names:
        if not monthly:
            customers = round(10 ** rng.uniform(2, 3.9))
        lost = max(1, round(customers * rng.uniform(0.006, 0.055)))
        new = max(1, round(customers * rng.uniform(0.008, 0.075)))
        rows.append(
            {
                "Customers at Start": f"{customers:,}",
                "New Customers": f"{new:,}",
                "Churned Customers": f"{lost:,}",
                "Churn Rate": f"{100 * lost / customers:.2f}%",
                "Net Revenue Retention": f"{rng.uniform(88, 124):.1f}%",
                "MRR": f"${customers * rng.uniform(40, 900):,.0f}",
                "NPS": str(rng.randint(12, 71)),
            }
        )
        customers += new - lost
    return key, names, rows, f"Customer churn, {when}"


def _stock(rng: Random) -> Drawn:
    key, names = "Category", rng.sample(_WORDS["goods"].split(", "), rng.randint(6, 12))
    if rng.random() < 0.4:
        key, names = "Warehouse", [f"{town} DC" for town in rng.sample(TOWNS, len(names))]
    rows = []
    for _ in names:
        stock = round(10 ** rng.uniform(2, 4), 1)
        turnover = round(rng.uniform(1.6, 14.5), 1)
        rows.append(
            {
                "COGS ($ thousands)": f"{stock * turnover:,.0f}",
                "Average Inventory ($ thousands)": f"{stock:,.0f}",
                "Inventory Turnover": f"{turnover:.1f}",
                "Days of Inventory": f"{365 / turnover:.0f}",
                "Stockout Rate (%)": f"{rng.uniform(0.2, 9.8):.1f}",
                "Fill Rate (%)": f"{rng.uniform(78, 99.6):.1f}",
                "SKU Count": f"{rng.randint(140, 9600):,}",
            }
        )
    return key, names, rows, f"Inventory turnover, {_year(rng)}"


def _year(rng: Random) -> int:
    return rng.randint(2018, 2024)


SYNTHETIC: dict[Domain, Callable[[int, int], Table]] = {
    "financial": financial_table,
    "clinical": clinical_table,
    "operations": operations_table,
}
"""The table of a seed and a number, without end."""
