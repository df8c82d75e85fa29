"""Synthetic operational dashboards (TabFaith, Appendix B): sales, churn and stock of nobody.

Column names follow what CRM and ERP dashboards publish: pipeline by representative or region,
subscriptions by segment or month, stock by category or warehouse. Columns that follow from
others do so as printed: win rates, churn rates, turnover and days of stock.
"""

from __future__ import annotations

from random import Random

from tablemend.datasets.tablehallu.invented_names import FAMILY, TOWNS
from tablemend.tables.table import Table
from tablemend.values.periods import MONTHS

_REGIONS = (
    "Northeast,Southeast,Midwest,Southwest,West,Pacific Northwest,Mid-Atlantic,Mountain,"
    "Canada,Latin America,DACH,Nordics,Benelux,Iberia,UK and Ireland,ANZ,Japan,South Asia"
).split(",")
_SEGMENTS = (
    "Enterprise,Mid-Market,Small Business,Startup,Public Sector,Education,Healthcare,Retail,"
    "Manufacturing,Financial Services,Nonprofit,Media"
).split(",")
_GOODS = (
    "Electronics,Apparel,Footwear,Furniture,Groceries,Toys,Cosmetics,Hardware,Stationery,"
    "Automotive Parts,Sporting Goods,Garden Supplies,Pet Food,Kitchenware,Beverages,Books"
).split(",")
_FIRST = "Ana Ben Carla Dev Elena Femi Grace Hiro Ines Jonas Kim Lars Maya Nils Omar Priya".split()


def make_table(seed: int, number: int) -> Table:
    """Table ``number`` of a seed; the three areas take turns."""
    rng = Random(f"operations:{seed}:{number}")
    return (_pipeline, _churn, _stock)[number % 3](rng)


def _pipeline(rng: Random) -> Table:
    people = rng.random() < 0.5
    names = _people(rng.randint(6, 12), rng) if people else rng.sample(_REGIONS, rng.randint(6, 10))
    rows = []
    for name in names:
        opened = rng.randint(18, 160)
        won = max(1, round(opened * rng.betavariate(5, 11)))
        lost = rng.randint(0, max(1, opened - won))
        deal = 10 ** rng.uniform(3.9, 5.1)
        rows.append(
            {
                "Sales Rep" if people else "Region": name,
                "Opportunities": str(opened),
                "Deals Won": str(won),
                "Deals Lost": str(lost),
                "Pipeline Value": f"${opened * deal / 1000:,.0f}K",
                "Average Deal Size": f"${deal:,.0f}",
                "Win Rate": f"{100 * won / (won + lost):.1f}%",
                "Sales Cycle (days)": str(rng.randint(21, 124)),
            }
        )
    return _thin(rows, f"Sales pipeline, Q{rng.randint(1, 4)} {_year(rng)}", rng)


def _churn(rng: Random) -> Table:
    monthly = rng.random() < 0.5
    if monthly:
        names = _months(rng.randint(6, 12), rng)
        when = f"{names[0]} to {names[-1]}"
    else:
        names = rng.sample(_SEGMENTS, rng.randint(5, 9))
        when = str(_year(rng))
    customers = rng.randint(400, 9000)
    rows = []
    for name in names:
        if not monthly:
            customers = round(10 ** rng.uniform(2, 3.9))
        lost = max(1, round(customers * rng.uniform(0.006, 0.055)))
        new = max(1, round(customers * rng.uniform(0.008, 0.075)))
        price = rng.uniform(40, 900)
        rows.append(
            {
                "Month" if monthly else "Segment": name,
                "Customers at Start": f"{customers:,}",
                "New Customers": f"{new:,}",
                "Churned Customers": f"{lost:,}",
                "Churn Rate": f"{100 * lost / customers:.2f}%",
                "Net Revenue Retention": f"{rng.uniform(88, 124):.1f}%",
                "MRR": f"${customers * price:,.0f}",
                "NPS": str(rng.randint(12, 71)),
            }
        )
        customers += new - lost
    return _thin(rows, f"Customer churn, {when}", rng)


def _stock(rng: Random) -> Table:
    stores = rng.random() < 0.4
    count = rng.randint(6, 12)
    names = (
        [f"{town} DC" for town in rng.sample(TOWNS, count)] if stores else rng.sample(_GOODS, count)
    )
    rows = []
    for name in names:
        stock = round(10 ** rng.uniform(2, 4), 1)
        turnover = round(rng.uniform(1.6, 14.5), 1)
        rows.append(
            {
                "Warehouse" if stores else "Category": name,
                "COGS ($ thousands)": f"{stock * turnover:,.0f}",
                "Average Inventory ($ thousands)": f"{stock:,.0f}",
                "Inventory Turnover": f"{turnover:.1f}",
                "Days of Inventory": f"{365 / turnover:.0f}",
                "Stockout Rate (%)": f"{rng.uniform(0.2, 9.8):.1f}",
                "Fill Rate (%)": f"{rng.uniform(78, 99.6):.1f}",
                "SKU Count": f"{rng.randint(140, 9600):,}",
            }
        )
    return _thin(rows, f"Inventory turnover, {_year(rng)}", rng)


def _thin(rows: list[dict[str, str]], title: str, rng: Random) -> Table:
    """Five or more of the columns, the first among them, as different dashboards show them."""
    columns = list(rows[0])
    kept = [0, *sorted(rng.sample(range(1, len(columns)), rng.randint(4, len(columns) - 1)))]
    names = [columns[i] for i in kept]
    return Table.of(names, [[row[name] for name in names] for row in rows], title)


def _people(count: int, rng: Random) -> list[str]:
    """Different first and last names, so that the last alone says who is meant."""
    names = zip(rng.sample(_FIRST, count), rng.sample(FAMILY, count), strict=True)
    return [f"{first} {last}" for first, last in names]


def _months(count: int, rng: Random) -> list[str]:
    first, year = rng.randrange(12), _year(rng)
    short = rng.random() < 0.5
    names = []
    for number in range(first, first + count):
        month = MONTHS[number % 12]
        names.append(f"{month[:3] if short else month} {year + number // 12}")
    return names


def _year(rng: Random) -> int:
    return rng.randint(2018, 2024)
