"""Numbers and units: what is the same number, and what only looks like it."""

from __future__ import annotations

import json
from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tablemend.values.cells import read_value, same_value
from tablemend.values.numbers import difference, parse_number, parse_range, quantities
from tablemend.values.units import header_unit

READ = {
    "1,234": "1234",
    "12,34,567": "1234567",
    "1'234'567": "1234567",
    "1\u2019234": "1234",
    "1 234 567": "1234567",
    "1\u2009234": "1234",
    "1\u202f234,5": "1234.5",
    "1.234,5": "1234.5",
    "1.234.567": "1234567",
    "1.234": "1.234",
    "12,5": "12.5",
    "0,123": "0.123",
    ".5": "0.5",
    "0.50": "0.5",
    "(5)": "-5",
    "\u22125": "-5",
    "+5": "5",
    "1.2e5": "120000",
    "3\u00d710⁵": "300000",
    "5½": "5.5",
    "1st": "1",
    "22nd": "22",
    "four": "4",
    "twenty-one": "21",
    "500+": "at least 500",
    "~500": "500",
    "about 5": "5",
    "No. 7": "7",
    "5[1]": "5",
    "5 [note 2]": "5",
    "5*": "5",
    "**5**": "5",
    "$5": "$ 5",
    "$ 1,234.50": "$ 1234.5",
    "US$5bn": "usd 5000000000",
    "5 million USD": "usd 5000000",
    "-$5": "$ -5",
    "$-5": "$ -5",
    "($5.2 million)": "$ -5200000",
    "€5m": "eur 5000000",
    "5M": "5000000",
    "two million": "2000000",
    "Rs. 5 crore": "inr 50000000",
    "12%": "12 %",
    "12 percent": "12 %",
    "(12.5)%": "-12.5 %",
    "5 km": "5 km",
    "5 kilometres": "5 km",
    "5 m": "5 m",
    "10 m²": "10 m2",
    "10 sq km": "10 km2",
    "100 km/h": "100 km/h",
}


@pytest.mark.parametrize(("text", "canonical"), READ.items())
def test_reads_numbers_in_their_usual_spellings(text: str, canonical: str) -> None:
    number = parse_number(text)
    assert number is not None
    assert number.canonical() == canonical == read_value(text).text


@pytest.mark.parametrize(
    "text",
    "12 Angry Men|50 Cent|3-1|2019-2021|1,23,45|7 cities|5-6|1.2.3|B2B|Q3|5 km 300 m|1/2|usd|"
    "seven samurai||-|.|(|5 million people|1:23|March 5".split("|"),
)
def test_other_texts_are_no_numbers(text: str) -> None:
    assert parse_number(text) is None
    assert read_value(text).number is None


SAME = [
    ("12%", "12", ""),
    ("12%", "12", "Growth (%)"),
    ("$5 million", "5", "Revenue (USD million)"),
    ("5m", "5", "Revenue (USD million)"),
    ("$5,000,000", "$5 million", "Revenue"),
    ("5M", "5,000,000", "Members"),
    ("5m", "5 million", "Members"),
    ("5000 m", "5", "Distance (km)"),
    ("2 hours", "120 min", "Duration"),
    ("2 years", "24 months", "Term"),
    ("9,000", "9000.0", "Seats"),
    ("4", "four", "Seats"),
    ("-0", "0", "Change"),
]
DIFFERENT = [
    ("1,234", "1234.5", ""),
    ("12%", "0.12", "Growth (%)"),
    ("5 million", "5", "Members"),
    ("5,000,000", "5", "Revenue (USD million)"),
    ("$5", "€5", "Price"),
    ("5 km", "5 kg", "Size"),
    ("5 km", "5", "Distance (m)"),
    ("300", "30", ""),
]


@pytest.mark.parametrize(("one", "other", "header"), [*SAME, *DIFFERENT])
def test_spelling_is_no_difference(one: str, other: str, header: str) -> None:
    wanted = (one, other, header) in SAME
    assert same_value(one, other, header_unit(header)) == wanted
    assert same_value(other, one, header_unit(header)) == wanted


@given(st.integers(-(10**12), 10**12), st.integers(-(10**12), 10**12))
def test_only_equal_integers_are_the_same(one: int, other: int) -> None:
    for spelling in (str(one), f"{one:,}", f"{one:,}".replace(",", " "), f"${one:,}"):
        assert same_value(spelling, str(one))
        assert same_value(spelling, str(other)) == (one == other)


@given(st.decimals(allow_nan=False, allow_infinity=False, places=3, min_value=0, max_value=10**9))
def test_separators_do_not_change_a_decimal(value: Decimal) -> None:
    english = f"{value:,.3f}"
    european = english.replace(",", " ").replace(".", ",")
    if value >= 1000:  # 0,500 and 1 234,500 are unambiguous; 999,500 is a thousands group
        assert same_value(english, european)
    assert same_value(english, f"({english})") == (value == 0)


@pytest.mark.parametrize(
    ("header", "scale", "symbol", "currency"),
    [
        ("Revenue (USD million)", 10**6, "", "usd"),
        ("Budget ($bn)", 10**9, "", "$"),
        ("Revenue, $m", 10**6, "", "$"),
        ("Population in millions", 10**6, "", ""),
        ("Growth (%)", 1, "%", ""),
        ("Percentage of goals", 1, "%", ""),
        ("Area (km²)", 1, "km2", ""),
        ("Elevation (m)", 1, "m", ""),
        ("Charging Stations (2023)", 1, "", ""),
        ("Born (in Paris)", 1, "", ""),
        ("Students (K-12)", 1, "", ""),
        ("Salary (k)", 1000, "", ""),
        ("Year", 1, "", ""),
    ],
)
def test_reads_the_unit_of_a_header(header: str, scale: int, symbol: str, currency: str) -> None:
    assert header_unit(header)[:3] == (Decimal(scale), symbol, currency)


NOTATIONS = Path(__file__).parents[2] / "data" / "header_units.jsonl"


@pytest.mark.parametrize("line", NOTATIONS.read_text("utf-8").splitlines())
def test_reads_the_scale_and_currency_of_a_header_in_any_notation(line: str) -> None:
    wanted = json.loads(line)
    unit = header_unit(wanted["header"])
    assert (unit.scale, unit.currency) == (Decimal(10) ** wanted["power"], wanted["currency"])


@pytest.mark.parametrize(
    ("one", "other", "why"),
    [
        ("5", "5.0", ""),
        ("5", "6", "number"),
        ("5", "-5", "sign"),
        ("5", "at least 5", "bound"),
        ("5-7", "5-8", "range"),
        ("5-7", "5", "range"),
        ("5 million", "5 billion", "scale"),
        ("5 kg", "5 km", "unit"),
        ("5 kg", "5000 g", ""),
        ("5 days", "5 months", "unit"),
        ("C$5", "$5", "currency"),
        ("5.2", "5.21", "precision"),
    ],
)
def test_says_what_two_amounts_differ_in(one: str, other: str, why: str) -> None:
    amounts = [parse_number(text) or parse_range(text) for text in (one, other)]
    assert difference(*amounts) == difference(*amounts[::-1]) == why


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("$5 million in 2021, up 12% from 1,234; Q3, B2B", ["$ 5000000", "2021", "12 %", "1234"]),
        ("20 $5 tickets", ["20", "$ 5"]),
        ("twenty-five and 20 €5 tickets", ["20", "eur 5"]),
        ("20 US$5 tickets", ["20", "usd 5"]),
        ("10-$20", ["10", "$ 20"]),
        ("5$ 6$", ["$ 5", "$ 6"]),
        ("20 $ 5 tickets", ["$ 20", "5"]),  # whose it is nobody can say, but of one alone
    ],
)
def test_finds_the_numbers_of_a_text_each_with_its_own_currency(
    text: str, numbers: list[str]
) -> None:
    assert [number.canonical() for number in quantities(text)] == numbers
