"""Random tables: what is computed is what a plain loop over the rows finds."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from tablemend.tables.table import Table
from tests.support.logic_claims import verdict, verdicts

CITIES = ["Berlin", "Lisbon", "Oslo", "Prague"]
NAMES = ["Adams", "Brown", "Clark", "Davis", "Evans", "Ford", "Green", "Hill", "Irving", "Jones"]


@st.composite
def staff(draw: st.DrawFn) -> list[tuple[str, str, int]]:
    """Rows of name, city and sales; no two sales are equal."""
    size = draw(st.integers(4, len(NAMES)))
    sales = draw(st.lists(st.integers(100, 999), min_size=size, max_size=size, unique=True))
    cities = draw(st.lists(st.sampled_from(CITIES), min_size=size, max_size=size))
    return list(zip(NAMES, cities, sales, strict=False))


def table_of(rows: list[tuple[str, str, int]]) -> Table:
    return Table.of(["Employee", "City", "Sales"], [(n, c, str(s)) for n, c, s in rows])


@settings(max_examples=60, deadline=None)
@given(staff(), st.data())
def test_superlatives(rows: list[tuple[str, str, int]], data: st.DataObject) -> None:
    ordered = sorted(rows, key=lambda row: -row[2])
    name = data.draw(st.sampled_from(rows))[0]
    for words, right in (
        ("the highest sales", ordered[0][0]),
        ("the second highest sales", ordered[1][0]),
        ("the lowest sales", ordered[-1][0]),
    ):
        expected = "supported" if name == right else "contradicted"
        assert verdict(table_of(rows), f"{name} had {words}") == expected


@settings(max_examples=60, deadline=None)
@given(staff(), st.sampled_from(CITIES), st.integers(-1, 1))
def test_counts(rows: list[tuple[str, str, int]], city: str, off: int) -> None:
    number = sum(row[1] == city for row in rows)
    if number == 0 or number + off <= 0:
        return
    text = f"There are {number + off} employees in {city}"
    assert verdict(table_of(rows), text) == ("contradicted" if off else "supported")
    mends = off and number > 1  # "There are 1 employees" would be no mending
    for scored in filter(lambda one: one.wrong, verdicts(table_of(rows), text)):
        assert scored.expected == ((str(number),) if mends else ())


@settings(max_examples=60, deadline=None)
@given(staff(), st.data())
def test_comparisons(rows: list[tuple[str, str, int]], data: st.DataObject) -> None:
    one, other = data.draw(st.lists(st.sampled_from(rows), min_size=2, max_size=2, unique=True))
    text = f"{one[0]} had higher sales than {other[0]}"
    assert verdict(table_of(rows), text) == ("supported" if one[2] > other[2] else "contradicted")
    gap = abs(one[2] - other[2])
    first, last = (one, other) if one[2] > other[2] else (other, one)
    for stated, expected in ((gap, "supported"), (gap + 7, "contradicted")):
        text = f"{first[0]} had {stated} more sales than {last[0]}"
        assert verdict(table_of(rows), text) == expected


@settings(max_examples=60, deadline=None)
@given(staff(), st.integers(0, 1))
def test_sums_and_averages(rows: list[tuple[str, str, int]], off: int) -> None:
    total = sum(row[2] for row in rows)
    expected = "contradicted" if off else "supported"
    text = f"The total sales of all employees were {total + 13 * off}"
    assert verdict(table_of(rows), text) == expected
    mean = total / len(rows) + 13 * off
    assert verdict(table_of(rows), f"The average sales were {mean:.1f}") == expected


@settings(max_examples=60, deadline=None)
@given(staff(), st.sampled_from(CITIES), st.integers(100, 999))
def test_quantifiers(rows: list[tuple[str, str, int]], city: str, bound: int) -> None:
    scope = [row for row in rows if row[1] == city]
    if len(scope) < 2:
        return
    hits = sum(row[2] > bound for row in scope)
    text = f"All employees in {city} had sales of more than {bound}"
    assert verdict(table_of(rows), text) == ("supported" if hits == len(scope) else "contradicted")
    text = f"None of the employees in {city} had sales of more than {bound}"
    assert verdict(table_of(rows), text) == ("contradicted" if hits else "supported")
