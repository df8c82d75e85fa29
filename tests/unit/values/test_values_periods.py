"""Periods: what names one, and how it is spelled."""

from __future__ import annotations

import pytest

from tablemend.values.dates import read_period, spell_like, spellings


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
