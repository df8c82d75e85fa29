"""Descriptions of JSON documents: forecasts, time series, matches."""

from __future__ import annotations

from datetime import date, timedelta
from decimal import Decimal

import pytest

from tablemend.claims.extract import extract_claims
from tablemend.evidence.json_document import document_tables
from tablemend.evidence.source import Source
from tablemend.tables.table import Table
from tablemend.verification.program import verify_document

TEMPERATURES = {
    "2031-03-03": ("1.2", "4.8", "9.4", "6.1"),
    "2031-03-04": ("-2.6", "0.3", "3.9", "1.1"),
    "2031-03-05": ("2.2", "5.5", "7.7", "3.3"),
}
WINDS = {
    "2031-03-03": ("2.1", "3.4", "4.7", "3.9"),
    "2031-03-04": ("5.2", "6.6", "8.3", "7.1"),
    "2031-03-05": ("1.4", "1.9", "2.8", "2.4"),
}
STATES = {
    "2031-03-03": ("clear sky", "few clouds", "clear sky", "clear sky"),
    "2031-03-04": ("light snow", "overcast clouds", "light snow", "overcast clouds"),
    "2031-03-05": ("broken clouds", "light rain", "light rain", "broken clouds"),
}
CLOCKS = ("03:00:00", "09:00:00", "15:00:00", "21:00:00")


def forecast(*, weekdays: bool = False) -> Source:
    """A forecast of three days with four rows each."""
    rows = []
    for day in TEMPERATURES:
        for place, clock in enumerate(CLOCKS):
            row = {
                "dt_txt": f"{day} {clock}",
                "main": {"temp": TEMPERATURES[day][place], "pressure": str(1000 + place)},
                "wind": {"speed": WINDS[day][place], "deg": 120 + place},
                "weather": [{"description": STATES[day][place]}],
            }
            if weekdays:
                row["day_of_week"] = date.fromisoformat(day).strftime("%A")
            rows.append(row)
    return Source(document_tables({"city": {"name": "Velm"}, "list": rows}))


def series() -> Source:
    """A rate, weekly over two years."""
    first = date(2030, 1, 6)
    rows = [
        ((first + timedelta(weeks=week)).isoformat(), str(Decimal(week) / 100 + 1))
        for week in range(100)
    ]
    return Source((Table.of(("date", "Rate of reproduction"), rows, "Velm"),))


def match() -> Source:
    """A match of three periods: 1-0, 1-2, 2-1."""
    data = {
        "home_team": {"name": "Alba Nord"},
        "away_team": {"name": "Sella Vey"},
        "home_score": {"display": 4, "period1": 1, "period2": 1, "period3": 2},
        "away_score": {"display": 3, "period1": 0, "period2": 2, "period3": 1},
    }
    return Source(document_tables(data))


def verdicts(text: str, source: Source) -> dict[str, str]:
    """The verdict on each claim, by the words that it turns on."""
    document = extract_claims(text)
    found = {}
    for verdict in verify_document(document, source):
        focus = verdict.claim.focus
        assert focus is not None
        found[text[focus.start : focus.end]] = verdict.verdict
    return found


def wrong(text: str, source: Source) -> list[str]:
    """The words that are called wrong."""
    document = extract_claims(text)
    spans = [
        span
        for verdict in verify_document(document, source)
        if verdict.wrong
        for span in verdict.spans
    ]
    return [text[span.start : span.end] for span in dict.fromkeys(spans)]


@pytest.mark.parametrize(
    ("text", "faults"),
    [
        ("On March 4, temperatures will range from -2.6°C to 3.9°C.", []),
        ("On March 4, temperatures will range from -2.6°C to 9.4°C.", ["9.4°C"]),
        ("On March 4, temperatures will range from 1.2°C to 3.9°C.", ["1.2°C"]),
        ("On March 3, expect a high of 9.4°C and a low of 1.2°C.", []),
        ("On March 3, expect a high of 7.7°C and a low of 1.2°C.", ["7.7°C"]),
        ("Over the next three days, temperatures will range from -3°C to 9°C.", []),
        ("Over the next three days, temperatures will range from -3°C to 14°C.", ["14°C"]),
        ("On March 5, the wind speed will be 2.4 m/s.", []),
        ("On March 5, the wind speed will be 6.6 m/s.", ["6.6"]),
    ],
)
def test_values_and_ranges_of_a_day(text: str, faults: list[str]) -> None:
    found = wrong(text, forecast())
    assert len(found) == len(faults)
    assert all(fault.startswith(said[:3]) for fault, said in zip(found, faults, strict=True))


def test_a_day_holds_in_the_next_sentence() -> None:
    text = "On March 4, light snow is expected. The wind speed will be {}."
    assert wrong(text.format("8.3 m/s"), forecast()) == []
    assert wrong(text.format("11.5 m/s"), forecast())


def test_a_summary_behind_a_day_may_speak_of_all_days() -> None:
    text = "On March 5, light rain is expected. The wind speed will range from {}."
    assert wrong(text.format("1.4 m/s to 8.3 m/s"), forecast()) == []
    assert wrong(text.format("1.4 m/s to 9.9 m/s"), forecast())


def test_states_of_a_day() -> None:
    assert wrong("On March 4, there will be light snow.", forecast()) == []
    assert wrong("On March 3, there will be light snow.", forecast()) == ["light snow"]


def test_a_part_of_a_day_has_no_smallest_value() -> None:
    """Which rows are the morning is not said: any value of the day can be meant."""
    assert wrong("On March 3, a high of 4.8°C is expected in the morning.", forecast()) == []
    assert wrong("On March 3, a high of 7.7°C is expected in the morning.", forecast())


def test_weekdays_count_where_the_table_names_them() -> None:
    text = "Tuesday will see a high of 9.4°C."  # March 4, 2031 is a Tuesday
    assert wrong(text, forecast(weekdays=True))
    assert verdicts(text, forecast()).get("9.4°C") != "contradicted"


def test_other_units_are_not_compared() -> None:
    text = "On March 3, the temperature will be 48.9°F and the wind speed 17 km/h."
    assert not {"48.9°F", "17 km/h"} & set(wrong(text, forecast()))


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("The rate was 1.30 on August 4, 2030.", ""),
        ("The rate was 1.75 on August 4, 2030.", "1.75"),
        ("The rate rose from 1.0 in January 2030 to 1.5 in December 2030.", ""),
        ("The rate rose from 1.0 in January 2030 to 1.9 in December 2030.", "1.9"),
        ("In July 2030, the rate was 1.27.", ""),
        ("In July 2030, the rate was 1.72.", "1.72"),
    ],
)
def test_values_at_a_time(text: str, fault: str) -> None:
    found = wrong(text, series())
    assert fault in found if fault else not found


def test_what_a_value_is_counted_over_is_no_value() -> None:
    assert wrong("The chart shows the 7-day rolling average of the rate.", series()) == []
    assert wrong("The chart shows the rate per 1,000 people.", series()) == []


def test_a_running_score_is_not_that_of_a_period() -> None:
    text = "In the second period, Sella Vey scored twice to level the score at 2-2."
    assert not set(wrong(text, match())) & {"2", "2-2"}
    text = "The score of the second period was 3-2."
    assert wrong(text, match())
