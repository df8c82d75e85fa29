"""What a cell is ordered by."""

from __future__ import annotations

import pytest

from tablemend.verifier.oriented_table import moment, read_measure


@pytest.mark.parametrize(
    ("cell", "kind", "value"),
    [
        ("279", "number", 279),
        ("- 2", "number", -2),
        ("1,234.5", "number", 1234.5),
        ("22.4%", "number", 22.4),
        ("71 + 64 + 69 + 73 = 277", "number", 277),
        ("11.18 (84)", "number", 84),  # goals and behinds
        ("27 (6.8)", "number", 27),
        ("T2", "rank", 2),
        ("3rd", "rank", 3),
        ("1:28.9", "time", 88.9),
        ("1:28:15.8", "time", 5295.8),
        ("8:30 pm", "time", 20.5 * 3600),
        ("W 21 - 20", "score", 21),
        ("1979 - 1983", "span", 1979),
        ("1992 - present", "span", 1992),
    ],
)
def test_read_measure(cell: str, kind: str, value: float) -> None:
    measure = read_measure(cell)
    assert measure is not None
    assert (measure.kind, measure.value) == (kind, pytest.approx(value))


@pytest.mark.parametrize("cell", ["", "-", "free", "New York", "n/a", "1r"])
def test_words_are_no_measure(cell: str) -> None:
    assert read_measure(cell) is None


def test_results() -> None:
    for cell, result in (("W 21-20", "w"), ("l 10 - 31", "l"), ("Drawn", "d"), ("38 - 3 W", "w")):
        measure = read_measure(cell)
        assert measure is not None and measure.result == result


def test_dates_are_in_order() -> None:
    dates = ["July 2, 1999", "2001-03-05", "5 May 2001", "January 1, 2010"]
    values = [measure.value for date in dates if (measure := read_measure(date))]
    assert len(values) == 4 and values == sorted(values)


def test_periods_are_in_order() -> None:
    for names in (["Q1 2022", "Q2 2022", "Q1 2023"], ["FY2019", "FY2020"], ["Q1", "Q2", "Q4"]):
        values = [moment(name) for name in names]
        assert None not in values and values == sorted(v for v in values if v is not None)
    assert moment("Revenue") is None
    assert moment("12") is None
