"""Descriptions of JSON documents: forecasts, time series, matches."""

from __future__ import annotations

from datetime import date, timedelta
from decimal import Decimal

from tablemend.claims.extract import extract_claims
from tablemend.evidence.source import Source
from tablemend.tables.table import Table
from tablemend.verifier.program import verify_document


def series() -> Source:
    """A rate, weekly over two years."""
    first = date(2030, 1, 6)
    rows = [
        ((first + timedelta(weeks=week)).isoformat(), str(Decimal(week) / 100 + 1))
        for week in range(100)
    ]
    return Source((Table.of(("date", "Rate of reproduction"), rows, "Velm"),))


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


def test_what_a_value_is_counted_over_is_no_value() -> None:
    assert wrong("The chart shows the 7-day rolling average of the rate.", series()) == []
    assert wrong("The chart shows the rate per 1,000 people.", series()) == []
