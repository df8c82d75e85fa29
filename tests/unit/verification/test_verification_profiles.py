"""Statements about the one thing of an info box: times, ages, counts, and its silence."""

from __future__ import annotations

import pytest

from tablemend.claims.extract import extract_claims
from tablemend.evidence.grid import Grid
from tablemend.evidence.source import Source
from tablemend.records import Verification
from tablemend.tables.table import Table
from tablemend.verification.profiles.profile import Profile
from tablemend.verification.program import verify_document

SINGER = {
    "Name": "Mara Quill",
    "Born": "14 May 1950 (1950-05-14) (age 68) Leeds, England",
    "Occupation": "Singer; painter",
    "Genres": "Folk; blues; jazz",
    "Years active": "1971-2009",
    "Labels": "Red Door; Harbour",
    "Spouse(s)": "Ivo Dale (m. 1975; div. 1980); Rolf Stenn (m. 1991)",
    "Children": "2",
}
ALBUM = {
    "title": "Slow Harbour",
    "Released": "3 February 1984",
    "Genre": "Folk",
    "Length": "46:21",
    "Label": "Red Door",
    "Producer": "Ivo Dale; Nell Ash",
}
MAN = {
    "Name": "Piet Oost",
    "Born": "9 March 1801",
    "Died": "2 July 1868 (aged 67)",
    "Occupation": "Surveyor",
    "Residence": "Delft",
}


def one_row(values: dict[str, str]) -> Table:
    return Table.of(list(values), [list(values.values())])


def listed(values: dict[str, str]) -> Table:
    return Table.of(["Attribute", "Value"], [list(pair) for pair in values.items()])


def verdict(text: str, table: Table) -> str:
    document = extract_claims(text)
    return Verification(verify_document(document, Source((table,))), "program").verdict


@pytest.mark.parametrize("layout", [one_row, listed])
@pytest.mark.parametrize(
    ("values", "text", "expected"),
    [
        (SINGER, "Mara Quill was born in the 1950s.", "supported"),
        (SINGER, "Mara Quill was born in the spring of 1950.", "supported"),
        (SINGER, "Mara Quill was born in the winter of 1950.", "contradicted"),
        (SINGER, "Mara Quill was born in the 19th century.", "contradicted"),
        (SINGER, "Mara Quill started her career in her twenties.", "supported"),
        (SINGER, "Mara Quill started her career in her thirties.", "contradicted"),
        (SINGER, "Mara Quill was active for over three decades.", "supported"),
        (SINGER, "Mara Quill was active for less than 20 years.", "contradicted"),
        (SINGER, "Mara Quill has been married twice.", "supported"),
        (SINGER, "Mara Quill has been married three times.", "contradicted"),
        (SINGER, "Mara Quill has more than two children.", "contradicted"),
        (SINGER, "Mara Quill has two children.", "supported"),
        (SINGER, "Mara Quill plays at least three genres.", "supported"),
        (SINGER, "Mara Quill is a singer and painter.", "supported"),
        (ALBUM, "Slow Harbour is over an hour long.", "contradicted"),
        (ALBUM, "Slow Harbour was released in February 1984.", "supported"),
        (MAN, "Piet Oost lived for over 60 years.", "supported"),
        (MAN, "Piet Oost lived for over 70 years.", "contradicted"),
        (MAN, "Piet Oost died in his sixties.", "supported"),
        (MAN, "Piet Oost died when he was 54.", "contradicted"),
    ],
)
def test_what_an_info_box_says(
    layout: object, values: dict[str, str], text: str, expected: str
) -> None:
    assert callable(layout)
    assert verdict(text, layout(values)) == expected


@pytest.mark.parametrize(
    "text",
    [
        "Mara Quill has always lived in Leeds.",
        "Mara Quill is the most popular singer of England.",
        "Mara Quill won several awards.",
        "Mara Quill recorded only with Red Door.",
    ],
)
def test_an_info_box_is_silent_about_it(text: str) -> None:
    assert verdict(text, one_row(SINGER)) == "not_in_source"


@pytest.mark.parametrize(
    "text",
    [
        "Mara Quill painted Ivo Dale in Leeds.",  # all names stand there, none says so
        "Mara Quill and Nell Ash met in a folk club near Harbour.",
        "Mara Quill's sister was born in the 1960s.",
        "Mara Quill was not born in the 1960s.",
    ],
)
def test_a_mention_is_no_support(text: str) -> None:
    assert verdict(text, one_row(SINGER)) != "supported"


def test_a_table_of_several_things_is_no_info_box() -> None:
    several = Table.of(["Name", "Born", "Club"], [["Ann", "1990", "Ajax"], ["Bo", "1991", "PSV"]])
    figures = Table.of(["Firm", "Sales", "Costs", "Staff", "Year"], [["Acme", "5", "4", "3", "2"]])
    assert Profile.of(Grid(several)) is None
    assert Profile.of(Grid(figures)) is None
    assert Profile.of(Grid(one_row(ALBUM))) is not None


def test_values_of_a_list_are_counted_once() -> None:
    profile = Profile.of(Grid(one_row(SINGER)))
    assert profile is not None
    counts = {attribute.header: attribute.counts for attribute in profile.attributes}
    assert counts["genres"] == range(3, 4)
    assert counts["labels"] == range(2, 3)
