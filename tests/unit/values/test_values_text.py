"""Blanks, text and inclusion: what is wording, and what changes the meaning."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tablemend.values.cells import includes, is_blank, read_value, same_value
from tablemend.values.dates import split_dates
from tablemend.values.numbers import quantities
from tablemend.values.text import header_key, tokens_of
from tablemend.values.units import header_unit

BLANKS = (
    "|-|--|\u2014|\u2013|n/a|N/A|N.A.|NA|null|NULL|None|none|NaN|?|...|…|TBA|TBD|unknown|"
    "Not available|not applicable|none reported|None stated|no data|No information available|"
    "not specified|(none)|*N/A*|**-**|not mentioned in the context|Not provided in the text|"
    "undisclosed|data not available|not yet announced|\u200b| - |n.d.|N/D|Not publicly disclosed|"
    "not reported yet|yet to be determined|To be decided|Unclear|not documented|Insufficient data|"
    "N/A (not reported)|N/A - not reported|Not stated/unknown|-/-|N/A\u2020|Not available*|[none]"
).split("|")


VALUES = (
    "0|No|no|Na|Nan|nothing else|None of the Above|Unknown Pleasures|- 5|X|+|*|ND|no nil|"
    "NA (North America)|NA/EU|N/A - 12|None (2 planned)|Not approved|Missing Persons|TBC Bank"
).split("|")


@pytest.mark.parametrize("cell", [None, *BLANKS, *VALUES])
def test_every_blank_is_one_blank(cell: str | None) -> None:
    blank = cell not in VALUES
    assert is_blank(cell) == read_value(cell).blank == blank
    assert same_value(cell, None) == same_value(cell, "not available") == blank


def test_standard_text_has_one_spelling() -> None:
    assert read_value("  The\u00a0\u201cBig\u201d\n Apple ").text == 'the "big" apple'
    assert read_value("ﬁne\u2014\uff57\uff49\uff44\uff45").text == "fine-wide"
    assert read_value("3 \u2013 1").text == "3-1"
    assert read_value("**Japan**").text == "japan"


def included(one: str, other: str, header: str = "") -> bool:
    unit = header_unit(header)
    forth = includes(read_value(one), read_value(other), unit)
    assert forth == includes(read_value(other), read_value(one), unit), "not mutual"
    return forth


WITHIN = [
    ("D.J. Augustin", "DJ Augustin"),
    ("U.S.", "US"),
    ("Smith & Co", "Smith and Co"),
    ("5 million people", "5,000,000"),
    ("2021", "4 March 2021"),
    ("March 2021", "2021-03-04"),
    ("Timaru", "Timaru, New Zealand"),
    ("Staunton, Virginia", "Staunton, Augusta County, Virginia"),
    ("250", "250 lb (113 kg)"),
    ("1st", "New Jersey's 1st"),
    ("2", "two children"),
    ("Texas A & M", "Texas A&M"),
    ("7 July 1907", "circa 7 july 1907"),
    ("10 March 2006", "March 10, 2006 (v Wigan)"),
    ("Indiana (1992 - 1996)", "Indiana University"),
    ("think I like it", '"I think I like it"'),
]
APART = [
    ("7", "70"),
    ("5", "5.5"),
    ("2019", "from 2019 to 2021"),
    ("2020", "4 March 2021"),
    ("May 2019", "May 2019 - June 2020"),
    ("permitted", "isn't permitted"),
    ("5", "<5"),
    ("5 km", "5 miles away"),
    ("Korea", "Korea (South)"),
    ("Korea (South)", "Korea (North)"),
    ("7 July 1907", "before 7 July 1907"),
    ("26 June 1961", "26 June 1961 - 9 September 1961"),
    ("28 May 1890", "may 28, 1890 1827"),
    ("2", "one of two children"),
    ("Apollo 1", "Apollo 11"),
    ("12-3", "1-23"),
    ("", "anything"),
]


@pytest.mark.parametrize(("one", "other"), [*WITHIN, *APART])
def test_wording_is_included_and_what_changes_the_meaning_is_not(one: str, other: str) -> None:
    assert included(one, other) == ((one, other) in WITHIN)


def test_headers_are_lenient_in_print_and_strict_in_words() -> None:
    assert header_key("Growth (%)") == header_key("**growth(%)**") == header_key(" GROWTH (%) ")
    assert header_key("first_name") == header_key("First Name")
    assert header_key("Top AI Company") != header_key("Top AI Company Invested")
    assert header_key("Revenue (USD)") != header_key("Revenue (EUR)")


def test_tokens_write_numbers_and_initials_one_way() -> None:
    words = tokens_of("The U.S. paid 1,234.50 (5.0) & men's A+ C#").words
    assert " ".join(words) == "the us paid 1234.5 5 and men a+ c#"


TEXTS = st.text(max_size=60) | st.text(alphabet="0123456789-/. ,marchQt'", max_size=24)


@given(TEXTS, TEXTS)
def test_sameness_is_symmetric_and_reads_anything(one: str, other: str) -> None:
    assert same_value(one, one) and same_value(one, other) == same_value(other, one)
    included(one, other)
    quantities(one)
    split_dates(one)


def test_a_very_long_cell_is_read_in_time() -> None:
    for piece in ("*", "1,", "a.", "word ", "(", "5 "):
        long = piece * 200_000
        assert not same_value(long, "5")
        assert not included(long, "5")
