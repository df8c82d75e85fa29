"""Dates: every usual spelling is one day, an ambiguous one each that it can be; and periods."""

from __future__ import annotations

import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tablemend.values.cells import read_value, same_value
from tablemend.values.dates import parse_date, read_period, spell_like, spellings, split_dates

DAYS = st.dates(datetime.date(1800, 1, 1), datetime.date(2199, 12, 31))


def ordinal(day: int) -> str:
    ending = "th" if 10 < day < 14 else {1: "st", 2: "nd", 3: "rd"}.get(day % 10, "th")
    return f"{day}{ending}"


def spell(day: datetime.date) -> list[str]:
    month, short = day.strftime("%B"), day.strftime("%b")
    return [
        day.isoformat(),
        f"{day.year}/{day.month}/{day.day}",
        f"{day.isoformat()}T00:00:00",
        f"{day.isoformat()} 00:00:00",
        f"{day.day} {month} {day.year}",
        f"{day.day:02d} {short} {day.year}",
        f"{month} {day.day}, {day.year}",
        f"{short}. {day.day}, {day.year}",
        f"{month.upper()} {day.day} {day.year}",
        f"{ordinal(day.day)} of {month} {day.year}",
        f"the {ordinal(day.day)} of {month}, {day.year}",
        f"{month} {ordinal(day.day)}, {day.year}",
        f"{day.strftime('%A')}, {day.day} {month} {day.year}",
        f"{day.strftime('%a')} {month} {day.day}, {day.year}",
        f"{day.day}-{short}-{day.year}",
        f"{day.day:02d}.{day.month:02d}.{day.year}",
        f"{day.year} {month} {day.day}",
        f"{day.year}年{day.month}月{day.day}日",
    ]


@given(DAYS)
def test_every_spelling_is_the_iso_date(day: datetime.date) -> None:
    for spelling in spell(day):
        assert parse_date(spelling) == (day.isoformat(),), spelling
        assert read_value(spelling).text == day.isoformat()


@given(DAYS, DAYS)
def test_only_one_day_is_the_same(one: datetime.date, other: datetime.date) -> None:
    for left, right in zip(spell(one), reversed(spell(other)), strict=True):
        assert same_value(left, right) == (one == other)


@given(DAYS)
def test_slashes_may_be_either_way_round(day: datetime.date) -> None:
    for spelling in (f"{day:%d/%m/%Y}", f"{day:%m/%d/%Y}", f"{day:%d-%m-%Y}"):
        assert same_value(spelling, day.isoformat())
        assert same_value(day.isoformat(), spelling)


def test_ambiguity_is_the_benefit_of_the_doubt() -> None:
    assert set(parse_date("03/04/2021")) == {"2021-04-03", "2021-03-04"}
    assert parse_date("13/04/2021") == ("2021-04-13",)
    assert read_value("03/04/2021").text == "03/04/2021"
    assert same_value("03/04/2021", "04/03/2021")
    assert not same_value("03/04/2021", "05/04/2021")
    assert same_value("4/3/21", "3 April 2021")
    assert same_value("2006\u201307", "2006-2007")
    assert same_value("2006-07", "July 2006")
    assert not same_value("2006-2007", "July 2006")


@pytest.mark.parametrize(
    ("text", "readings"),
    [
        ("March 2021", {"2021-03"}),
        ("Mar 2021", {"2021-03"}),
        ("2021-03", {"2021-03"}),
        ("03/2021", {"2021-03"}),
        ("16 December", {"--12-16"}),
        ("December 16th", {"--12-16"}),
        ("Q3 2021", {"2021-q3"}),
        ("2021 Q3", {"2021-q3"}),
        ("third quarter of 2021", {"2021-q3"}),
        ("1999-00", {"1999/2000"}),
        ("2019-2021", {"2019/2021"}),
        ("Mar-21", {"2021-03", "1921-03", "--03-21"}),
    ],
)
def test_reads_partial_dates(text: str, readings: set[str]) -> None:
    assert set(parse_date(text)) == readings


@pytest.mark.parametrize(
    "text",
    "2021|May|12/25|9/11|3-1|31 April 2021|2021-13-01|May 50|4 to 6 March 2020|v1.2.3|"
    "March 2010 - June 2011|the march of 1963 on|1 2 March 2020|".split("|"),
)
def test_other_texts_are_no_dates(text: str) -> None:
    assert parse_date(text) == ()


def test_finds_dates_in_a_text() -> None:
    text = "Opened on March 4, 2021 and closed 2022-01-31; the 5th of May 1999 and June 1998 too."
    assert split_dates(text)[0] == [("2021-03-04",), ("1999-05-05",), ("1998-06",), ("2022-01-31",)]


@pytest.mark.parametrize(
    ("text", "iso"),
    [
        ("2021", "2021"),
        ("FY2021", "2021"),
        ("2019-20", "2019/2020"),
        ("Q3 2022", "2022-q3"),
        ("March 2021", "2021-03"),
        ("4 March 2021", "2021-03-04"),
        ("October 2", "--10-02"),
    ],
)
def test_periods_are_read_in_any_of_their_spellings(text: str, iso: str) -> None:
    period = read_period(text)
    assert period is not None and period.iso == iso
    for spelling in spellings(period):
        found = read_period(spelling)
        assert found is not None and found.iso == iso


def test_a_period_takes_the_spelling_of_another() -> None:
    one, other = read_period("the first quarter of 2021"), read_period("Q3 2022")
    assert one is not None and other is not None
    assert spell_like(other, one) == "the third quarter of 2022"


def test_doubtful_dates_are_no_periods() -> None:
    assert [read_period(text) for text in ("03/04/2021", "Mar-21", "41", "1950-1955")] == [None] * 4
