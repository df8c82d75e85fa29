"""Synthetic operational dashboards (TabFaith, Appendix B): sales, churn and stock of nobody.

Column names follow what CRM and ERP dashboards publish: pipeline by representative or region,
subscriptions by segment or month, stock by category or warehouse. Columns that follow from
others do so as printed: win rates, churn rates, turnover and days of stock.
"""

from __future__ import annotations

from pathlib import Path
from random import Random

import yaml

from tablemend.datasets.source_tables.names import FAMILY, GIVEN, TOWNS
from tablemend.tables.table import Table
from tablemend.values.periods import MONTHS

_NAMES = {
    kind: names.split(", ")
    for kind, names in yaml.safe_load(
        Path(__file__).with_suffix(".yaml").read_text("utf-8")
    ).items()
}


def make_table(seed: int, number: int) -> Table:
    """Table ``number`` of a seed; the three areas take turns, each with some of its columns."""
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
    key, names = "Region", rng.sample(_NAMES["regions"], rng.randint(6, 10))
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
    key, names = "Segment", rng.sample(_NAMES["segments"], rng.randint(5, 9))
    when = str(_year(rng))
    if monthly:
        key, names = "Month", _months(rng.randint(6, 12), rng)
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
    key, names = "Category", rng.sample(_NAMES["goods"], rng.randint(6, 12))
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


def _months(count: int, rng: Random) -> list[str]:
    first, year, letters = rng.randrange(12), _year(rng), rng.choice((3, None))
    return [f"{MONTHS[n % 12][:letters]} {year + n // 12}" for n in range(first, first + count)]


def _year(rng: Random) -> int:
    return rng.randint(2018, 2024)
