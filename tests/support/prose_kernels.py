"""Kernels as language models write them, with contexts in prose; all invented."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from random import Random

from tablemend.datasets.tablehallu.columns import MONTHS
from tablemend.datasets.tablehallu.names import invent_word
from tablemend.records import Condition, Constraints
from tablemend.tables.table import Cell, Table


@dataclass(frozen=True)
class ProseKernel:
    """A table of 5 to 8 rows with at least one blank, its constraints and its context."""

    kind: str
    table: Table
    constraints: Constraints
    context: str


def _names(rng: Random, count: int, pattern: str = "{}") -> list[str]:
    names: dict[str, None] = {}
    while len(names) < count:
        names[pattern.format(invent_word(rng))] = None
    return list(names)


def _kernel(
    kind: str,
    columns: list[str],
    rows: list[list[Cell]],
    conditions: list[Condition],
    sentences: list[str],
    scope: tuple[str, ...] = (),
    sort: str | None = None,
) -> ProseKernel:
    constraints = Constraints(
        scope or (kind,), None, sort or columns[0], "ascending", tuple(conditions)
    )
    half = len(sentences) // 2
    context = " ".join(sentences[:half]) + "\n\n" + " ".join(sentences[half:])
    return ProseKernel(kind, Table.of(columns, rows), constraints, context)


def panel(rng: Random) -> ProseKernel:
    """Firms over three years; a margin is blank."""
    firms, first = _names(rng, 2, "{} Motors"), rng.randint(2008, 2019)
    seats = _names(rng, 2)
    rows: list[list[Cell]] = []
    said = [f"Between {first} and {first + 2} the market for electric cars grew up."]
    for firm, seat in zip(firms, seats, strict=True):
        for year in range(first, first + 3):
            sold, margin = f"{rng.randint(20_000, 900_000):,}", f"{rng.uniform(-3, 9):.1f}%"
            is_blank = not any(row[3] is None for row in rows) and rng.random() < 0.4
            if year == first + 2 and firm == firms[-1]:
                is_blank = is_blank or all(row[3] for row in rows)
            rows.append([firm, str(year), sold, None if is_blank else margin, seat])
            where = f", which has its seat in {seat}," if year == first else ""
            said.append(f"In {year}, {firm}{where} delivered {sold} vehicles.")
            if not is_blank:
                said.append(
                    rng.choice(("Its operating margin", "The margin in that year"))
                    + f" came to {margin}."
                )
    condition = Condition("Year", str(first), str(first + 2))
    columns = ["Company", "Year", "Vehicles Delivered", "Operating Margin", "Headquarters"]
    return _kernel("panel", columns, rows, [condition], said, tuple(firms), "Year")


def listed_panel(rng: Random) -> ProseKernel:
    """The same, where the query names the firms too."""
    kernel = panel(rng)
    firms = tuple(dict.fromkeys(c for c in kernel.table.column("Company") if c))
    conditions = (*kernel.constraints.conditions, Condition("Company", values=firms))
    constraints = Constraints(firms, None, "Year", "ascending", conditions)
    return ProseKernel("listed panel", kernel.table, constraints, kernel.context)


def _rows(
    rng: Random, make: Callable[[str, int], list[Cell]], pattern: str = "{}"
) -> list[list[Cell]]:
    """Five to eight rows, with one cell of the last column blank."""
    names = _names(rng, rng.randint(5, 8), pattern)
    rows = [make(name, number) for number, name in enumerate(names)]
    rows[rng.randrange(len(rows))][-1] = None
    return rows


def dates(rng: Random) -> ProseKernel:
    """Missions by launch date, in two spellings; the range is in ISO dates."""
    year, american = rng.randint(1990, 2021), rng.random() < 0.5

    def make(name: str, number: int) -> list[Cell]:
        month, day = rng.choice(MONTHS), rng.randint(1, 28)
        when = f"{month} {day}, {year}" if american else f"{day} {month} {year}"
        return [
            name,
            when,
            f"{rng.randint(200, 4000):,}",
            invent_word(rng),
            rng.choice("ABC") + "1",
        ]

    rows = _rows(rng, make, "{} Explorer")
    said = ["The year saw a dense series of launches, as U.S. and other agencies caught up."]
    for name, when, mass, site, pad in rows:
        said.append(f"{name} lifted off from {site} on {when}. It weighed {mass} kg at launch.")
        if pad:
            said.append(f"The probe used pad {pad}.")
    columns = ["Mission", "Launch Date", "Mass (kg)", "Launch Site", "Pad"]
    condition = Condition("Launch Date", f"{year}-01-01", f"{year}-12-31")
    return _kernel("dates", columns, rows, [condition], said)


def months(rng: Random) -> ProseKernel:
    """Releases by month, within half a year."""
    year, start = rng.randint(2005, 2022), rng.randint(0, 6)

    def make(name: str, number: int) -> list[Cell]:
        month = MONTHS[start + rng.randint(0, 4)]
        return [name, f"{month} {year}", f"{rng.uniform(2, 9):.1f}", f"{rng.randint(90, 180)} min"]

    rows = _rows(rng, make)
    said = []
    for name, when, score, length in rows:
        said.append(f"Audiences met {name} in {when}, and critics rated it {score} on average.")
        if length:
            said.append(f"At {length}, {name} keeps its pace.")
    condition = Condition("Release", f"{year}-{start + 1:02}", f"{year}-{start + 6:02}")
    return _kernel("months", ["Film", "Release", "Score", "Running Time"], rows, [condition], said)


def continents(rng: Random) -> ProseKernel:
    """A well-known category, and a year."""
    continent = rng.choice(("Europe", "Asia", "South America"))

    def make(name: str, number: int) -> list[Cell]:
        return [name, continent, str(rng.randint(2001, 2015)), f"{rng.randint(10, 990)} MW"]

    rows = _rows(rng, make, "{} Plant")
    said = []
    for name, where, year, power in rows:
        said.append(f"{name} in {where} went on line in {year}.")
        if power:
            said.append(f"It is rated at {power}.")
    conditions = [Condition("Region", values=(continent,)), Condition("Opened", "2001", "2015")]
    return _kernel("continents", ["Plant", "Region", "Opened", "Output"], rows, conditions, said)


def prices(rng: Random) -> ProseKernel:
    """Dollars between two bounds."""

    def make(name: str, number: int) -> list[Cell]:
        price = f"${rng.randint(400, 1900):,}"
        return [f"{name} {number + 2}", price, f"{rng.randint(50, 99)}%", f"{rng.randint(3, 40)} h"]

    rows = _rows(rng, make)
    said = []
    for name, price, share, hours in rows:
        said.append(f"Buyers pay {price} for the {name}, which {share} of them would recommend.")
        if hours:
            said.append(f"A charge of the {name} lasts {hours}.")
    condition = Condition("Price", "$400", "$2,000")
    return _kernel("prices", ["Laptop", "Price", "Approval", "Battery"], rows, [condition], said)


def percents(rng: Random) -> ProseKernel:
    """A share of at least 80 %: only below is out of scope, and nothing beyond 100 %."""

    def make(name: str, number: int) -> list[Cell]:
        return [name, f"{rng.uniform(81, 99):.1f}%", str(rng.randint(2, 60)), f"{number}.4"]

    rows = _rows(rng, make, "{} District")
    said = []
    for name, share, schools, ratio in rows:
        said.append(f"{name} runs {schools} schools. Literacy there reached {share}.")
        if ratio:
            said.append(f"{name} has a ratio of {ratio}.")
    condition = Condition("Literacy", "80%", None)
    return _kernel("percents", ["Area", "Literacy", "Schools", "Ratio"], rows, [condition], said)


def seasons(rng: Random) -> ProseKernel:
    """Seasons of two years, bounded by years; a club can win twice."""
    first = rng.randint(1998, 2014)
    clubs = _names(rng, 4, "{} United")
    rows: list[list[Cell]] = []
    said = []
    for number in range(6):
        year = first + number
        season, club = f"{year}-{(year + 1) % 100:02}", clubs[number % 4]
        points, coach = str(rng.randint(60, 99)), invent_word(rng) if number != 3 else None
        rows.append([season, club, points, coach])
        said.append(f"The {season} title went to {club} with {points} points.")
        if coach:
            said.append(f"They were coached by {coach}.")
    condition = Condition("Season", str(first), str(first + 5))
    return _kernel("seasons", ["Season", "Champion", "Points", "Coach"], rows, [condition], said)


def outside_year(rng: Random) -> ProseKernel:
    """The year stands in the query and the opening, and is no column."""
    year = str(rng.randint(1999, 2020))

    def make(name: str, number: int) -> list[Cell]:
        return [name, f"{rng.randint(1, 40)}.{rng.randint(0, 9)} million", invent_word(rng), "Pink"]

    rows = _rows(rng, make)
    said = [f"This is how {year} went, by nos. and names."]
    for name, raised, lead, colour in rows:
        said.append(f"Led by {lead}, the round of {name} brought {raised}.")
        if colour:
            said.append(f"{name} has a logo in {colour}.")
    return _kernel(
        "outside year",
        ["Start-up", "Raised (USD)", "Lead", "Logo"],
        rows,
        [Condition("Year", year, year)],
        said,
    )


def listed_years(rng: Random) -> ProseKernel:
    """Years as admitted values."""
    years = ("2016", "2018", "2020")

    def make(name: str, number: int) -> list[Cell]:
        return [name, rng.choice(years), invent_word(rng), f"{rng.randint(1, 9)} m"]

    rows = _rows(rng, make)
    said = []
    for name, year, sculptor, height in rows:
        said.append(f"{sculptor} finished {name} in {year}.")
        if height:
            said.append(f"The sculpture stands {height} tall.")
    condition = Condition("Year", values=years)
    return _kernel("listed years", ["Work", "Year", "Sculptor", "Height"], rows, [condition], said)


def teams(rng: Random) -> ProseKernel:
    """Admitted names of teams."""
    admitted = tuple(_names(rng, 2))

    def make(name: str, number: int) -> list[Cell]:
        return [f"{name} {invent_word(rng)}", rng.choice(admitted), str(rng.randint(1, 40)), "blue"]

    rows = _rows(rng, make)
    said = []
    for name, team, goals, colour in rows:
        said.append(f"{name} scored {goals} goals for {team}.")
        if colour:
            said.append(f"The player prefers {colour} shoes.")
    condition = Condition("Team", values=admitted)
    return _kernel("teams", ["Player", "Team", "Goals", "Shoes"], rows, [condition], said)


def free_text(rng: Random) -> ProseKernel:
    """A category of which no other is known."""
    kernel = teams(rng)
    columns = ("Player", "Playing Style", "Goals", "Shoes")
    table = Table(columns, kernel.table.rows)
    values = tuple(dict.fromkeys(cell for cell in table.column("Playing Style") if cell))
    constraints = Constraints(
        ("x",), None, "Goals", "ascending", (Condition("Playing Style", values=values),)
    )
    return ProseKernel("free text", table, constraints, kernel.context)


MAKERS: tuple[Callable[[Random], ProseKernel], ...] = (
    panel, listed_panel, dates, months, continents, prices, percents, seasons, outside_year,
    listed_years, teams,
)  # fmt: skip


def kernels(count: int, seed: int = 0) -> list[ProseKernel]:
    """Kernels of all kinds in turn."""
    return [
        MAKERS[number % len(MAKERS)](Random(f"kernel:{seed}:{number}")) for number in range(count)
    ]
