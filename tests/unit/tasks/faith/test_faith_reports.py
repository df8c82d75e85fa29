"""Item 7 of annual reports: what is found, how it is cut, and what is refused in a line."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tablemend.config import parse
from tablemend.tasks.faith.data import FaithSet, describe, make_dataset
from tablemend.tasks.faith.reports import (
    LARGEST,
    Place,
    Report,
    item_7,
    open_report,
)

TITLE = (
    "Management&#8217;s Discussion and Analysis of Financial Condition and Results of Operations"
)
HEADING = f"<div><span style='font-weight:700'>Item 7. {TITLE}</span></div>"
NEXT = "<div><b>Item 7A. Quantitative and Qualitative Disclosures About Market Risk</b></div>"
PROSE = (
    "Net sales increased 12% to $1,540 million in 2023. Volume rose in all regions, and prices "
    "followed in the second half of the year. Costs of materials and freight went up as well. "
    "We expect that demand stays at this level through the next year and invest accordingly. "
    "Our liquidity remains strong, and we have access to a revolving facility of five banks."
)
INTRO = "The following table sets forth our net sales by segment:"
TOC = """
<p>TABLE OF CONTENTS</p><table>
<tr><td><a href="#i1">Item 1.</a></td><td><a href="#i1">Business</a></td><td>4</td></tr>
<tr><td><a href="#i7">Item 7.</a></td><td><a href="#i7">Management's Discussion and Analysis of
Financial Condition and Results of Operations</a></td><td>31</td></tr>
<tr><td><a href="#i7a">Item 7A.</a></td><td><a href="#i7a">Quantitative and Qualitative
Disclosures About Market Risk</a></td><td>48</td></tr>
<tr><td><a href="#i8">Item 8.</a></td><td>Financial Statements and Supplementary Data</td>
<td>50</td></tr></table>
"""
TABLE = """
<table><tr><td colspan="3">&nbsp;</td><td colspan="7">Years Ended December 31,</td></tr>
<tr><td colspan="3">(in millions)</td><td colspan="3">2023</td><td></td><td colspan="3">2022</td>
</tr><tr><td colspan="3">Industrial</td><td>$</td><td>940</td><td></td><td></td><td>$</td>
<td>815</td><td></td></tr><tr><td colspan="3">Corporate</td><td></td><td>(12</td><td>)</td>
<td></td><td></td><td>&#8212;</td><td></td></tr></table>
"""


def page(*parts: str) -> str:
    return f"<html><head><title>10-K</title></head><body>{''.join(parts)}</body></html>"


def filing(
    heading: str = HEADING, body: str | None = None, *, before: str = "", after: str = NEXT
) -> str:
    """A filing with an item on both sides of Item 7, which holds a table and prose."""
    inside = f"<p>{INTRO}</p>{TABLE}<p>{PROSE}</p>" if body is None else body
    return page(
        TOC,
        before,
        f"<div>Item 1. Business</div><p>We make pumps. {PROSE}</p>",
        f"<div>Item 1A. Risk Factors</div><p>Demand may fall. {4 * PROSE}</p>",
        "<div>Item 2. Properties</div><p>We own two plants.</p>",
        "<div>Item 6. [Reserved]</div>",
        heading,
        inside,
        after,
        f"<p>A rise of rates by 1% costs us $3 million.</p>{TABLE}",
        "<div>Item 8. Financial Statements and Supplementary Data</div><p>See page F-1.</p>",
    )


@pytest.fixture
def read(tmp_path: Path) -> Callable[[str | bytes], Report]:
    def read_text(content: str | bytes, name: str = "123_10-K.htm") -> Report:
        path = tmp_path / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return open_report(Place(str(path), 0, name, ""))

    return read_text


Read = Callable[..., Report]


def test_a_filing_gives_its_tables_their_pre_texts_and_the_other_sentences(read: Read) -> None:
    report = read(filing())
    assert (report.company, report.name) == ("123", "123_10-K")
    (table,) = report.tables
    assert table.title == INTRO
    assert table.columns[1:] == ("Years Ended December 31,",) * 2
    assert table.rows == (
        ("(in millions)", "2023", "2022"),
        ("Industrial", "$940", "$815"),
        ("Corporate", "(12)", "\u2014"),
    )
    assert report.sentences[0] == "Net sales increased 12% to $1,540 million in 2023."
    assert len(report.sentences) == 5
    assert not any("pumps" in one or "rates" in one or "Item" in one for one in report.sentences)


HEADINGS = {
    "upper case": f"<p>ITEM 7. {TITLE.upper().replace('&#8217;S', '&#8217;s')}</p>",
    "lower case": f"<p>item 7. {TITLE.lower()}</p>",
    "straight apostrophe": f"<p>Item 7. {TITLE.replace('&#8217;', chr(39))}</p>",
    "apostrophe of Windows": f"<p>Item 7. {TITLE.replace('&#8217;', '&#146;')}</p>",
    "no apostrophe": f"<p>Item 7. {TITLE.replace('&#8217;s', '')}</p>",
    "non-breaking spaces": f"<p>Item&nbsp;7.&#160;&#160;{TITLE.replace(' ', '&nbsp;')}</p>",
    "spread letters": "<p>I T E M  7 .  M A N A G E M E N T ' S   D I S C U S S I O N   A N D   "
    "A N A L Y S I S</p>",
    "small capitals": "<p>I<font size=1>TEM</font> 7. M <font size=1>ANAGEMENT</font> &#8217; S "
    "D <font size=1>ISCUSSION AND</font> A <font size=1>NALYSIS</font></p>",
    "two cells": f"<table><tr><td>Item 7.</td><td></td><td>{TITLE}</td></tr></table>",
    "paragraphs in cells": f"<table><tr><td><p>Item 7.<td><p>{TITLE}</p></td></tr></table>",
    "three cells": f"<table><tr><td>Item</td><td>7.</td><td>{TITLE}</td></tr></table>",
    "two lines": f"<p><b>Item 7.<br>{TITLE}</b></p>",
    "split title": "<p>ITEM 7.</p><p>MANAGEMENT'S DISCUSSION</p><p>AND ANALYSIS</p>",
    "split spans": f"<div><span>It</span><span>em</span> <b>7</b><b>.</b> {TITLE}</div>",
    "wrapped title": "<p>Item 7. Management's Discussion and Analysis of Financial<br>"
    "Condition and Results of Operations</p>",
    "with part": f"<p>PART II &#8212; ITEM 7. {TITLE}</p>",
    "part above": f"<p>PART II</p><p>Item 7.</p><p>{TITLE}</p>",
    "dash": f"<p>Item 7 &#8211; {TITLE}</p>",
    "colon": f"<p>Item 7: {TITLE}</p>",
    "no sign": f"<p>Item 7 {TITLE}</p>",
    "with 7A": f"<p>Items 7 and 7A. {TITLE} and Quantitative and Qualitative Disclosures</p>",
    "item 7 and item 7A": f"<p>Item 7. and Item 7A. {TITLE}</p>",
    "abbreviation": "<p>Item 7. MD&amp;A</p>",
    "abbreviation behind": f"<p>Item 7. {TITLE} (&#8220;MD&amp;A&#8221;)</p>",
    "ampersand": "<p>Item 7. Management&#8217;s Discussion &amp; Analysis</p>",
    "other order": "<p>Item 7. Management's Discussion and Analysis of Results of Operations</p>",
    "linked": f"<a name='i7'></a><h2><a href='#toc'>Item 7. {TITLE}</a></h2>",
    "without its number": f"<p>{TITLE.upper().replace('&#8217;S', '&#8217;s')}</p>",
    "narrative": "<p>Item 7. Management's Narrative Analysis of Results of Operations</p>",
}


NEXTS = {
    "7A": "<p>ITEM 7A. QUANTITATIVE AND QUALITATIVE DISCLOSURES ABOUT MARKET RISK</p>",
    "7(a)": "<p>Item 7(a). Quantitative and Qualitative Disclosures About Market Risk</p>",
    "7A in cells": "<table><tr><td>Item 7A.</td><td>Quantitative and Qualitative</td></tr></table>",
    "7A with its text": "<p>Item 7A. Quantitative and Qualitative Disclosures About Market Risk. "
    "Market risks are described in Item 7 of this report.</p>",
    "7A without": "<p>Item 7A &#8211; Not applicable</p>",
    "8": "<p>I TEM 8. F INANCIAL S TATEMENTS AND S UPPLEMENTARY D ATA</p>",
    "8 split": "<p>Item 8.</p><p>Index to Consolidated Financial Statements</p>",
    "8 with part": "<p>Part II, Item 8. Consolidated Financial Statements</p>",
    "9": "<p>Item 9. Changes in and Disagreements with Accountants</p>",
}


REFERENCES = {
    "see": "<p>See Item 7. Management's Discussion and Analysis for more.</p>",
    "quoted": "<p>&#8220;Item 7. Management's Discussion and Analysis&#8221; says more.</p>",
    "beginning": f"<p>Item 7. {TITLE} contains forward-looking statements.</p>",
    "of this report": f"<p>Item 7. {TITLE} of this report says more on that.</p>",
    "torn": f"<p>More on these risks and on their causes is found in</p><p>Item 7. {TITLE}</p>",
    "listed": f"<ul><li>Item 1. Business</li><li>Item 7. {TITLE}</li></ul>",
}


LISTED = "".join(
    f"<tr><td>Item {one}</td></tr>"
    for one in ("1. Business", "1A. Risk Factors", f"7. {TITLE}", "8. Financial Statements")
)
INDEX = "".join(f"<p>Item {n}. {name}</p>" for n, name in ((7, TITLE), (8, "Financials")))
NESTED = f"<table><tr><td><p>{INTRO}</p>{TABLE}</td><td><p>{PROSE}</p></td></tr></table>"
SAME = {
    **{f"heading: {name}": filing(one) for name, one in HEADINGS.items()},
    **{f"next item: {name}": filing(after=one) for name, one in NEXTS.items()},
    **{
        f"reference before it: {name}": filing(before=f"{one}<p>Other words. {8 * PROSE}</p>")
        for name, one in REFERENCES.items()
    },
    "contents without page numbers": filing(before=f"<table>{LISTED}</table>"),
    "no item numbers: ends at the next title": page(
        f"<h1>ABOUT US</h1><p>{PROSE}</p><h1>{TITLE.upper().replace('&#8217;S', '')}</h1>",
        f"<p>{INTRO}</p>{TABLE}<p>{PROSE}</p><h1>REPORT OF INDEPENDENT AUDITORS</h1>",
        f"<p>{20 * PROSE}</p>{TABLE}<h1>FORM 10-K CROSS REFERENCE</h1>{INDEX}",
    ),
    "a whole submission": (
        f"<SEC-DOCUMENT>1.txt\n<SEC-HEADER>ACCESSION</SEC-HEADER>\n<DOCUMENT>\n<TYPE>10-K\n<TEXT>\n"
        f"{filing()}</TEXT>\n</DOCUMENT>\n<DOCUMENT>\n<TYPE>EX-13\n<TEXT>\n<p>Item 7. {TITLE}</p>"
        f"<p>{20 * PROSE}</p></TEXT></DOCUMENT>\n<DOCUMENT>\n<TYPE>ZIP\n<TEXT>begin 644 a.zip\n"
        "M4$L#!!0````(`'0!</TEXT></DOCUMENT>"
    ),
    "tables that hold tables": page("<table><tr><td>", filing(body=NESTED), "</td></tr></table>"),
}


@pytest.mark.parametrize("text", SAME.values(), ids=SAME)
def test_item_7_is_found_and_ends_however_a_filing_is_set(text: str, read: Read) -> None:
    report = read(text)
    assert [table.title for table in report.tables] == [INTRO] and len(report.sentences) == 5


def test_references_inside_do_not_end_it(read: Read) -> None:
    inside = (
        "<p>See Item 8. Financial Statements and Supplementary Data for more.</p>"
        "<p>Item 8. Financial Statements and Supplementary Data of this report says more.</p>"
        "<p>The policies are described in Note 1 to the statements in</p>"
        "<p>Item 8. Financial Statements and Supplementary Data</p><p>Item 7A is below.</p>"
    )
    report = read(filing(body=f"{inside}<p>{INTRO}</p>{TABLE}<p>{PROSE}</p>"))
    assert len(report.tables) == 1
    assert report.sentences[-1].startswith("Our liquidity")


def test_references_to_an_item_before_inside_do_not_cut_it(read: Read) -> None:
    again = f"<p>Item 7. {TITLE} (continued)</p><p>{PROSE}</p>"
    body = f"<p>{INTRO}</p>{TABLE}<p>{PROSE}</p><ul><li>Item 1A. Risk Factors</li></ul>{again}"
    assert len(read(filing(body=body)).tables) == 1


def test_a_heading_repeated_on_every_page_does_not_divide_it(read: Read) -> None:
    again = f"<hr><p>Item 7. {TITLE} (continued)</p>"
    report = read(filing(body=f"<p>{INTRO}</p>{TABLE}<p>{PROSE}</p>{again}<p>Cash is $4.</p>"))
    assert len(report.tables) == 1
    assert report.sentences[-1] == "Cash is $4."


def test_running_text_behind_the_heading_in_its_paragraph_is_kept(read: Read) -> None:
    report = read(filing(f"<p>Item 7. {TITLE}. We had a good year. {PROSE}</p>", TABLE))
    assert report.sentences[0] == "We had a good year."
    report = read(filing(f"<p>Item 7. {TITLE} The year was good. {PROSE}</p>", TABLE))
    assert report.sentences[0] == "The year was good."


UNITS = {
    "own paragraph": f"<p>{INTRO}</p><p>(in millions, except per share amounts)</p>",
    "bold": f"<div>{INTRO}</div><div><b>(Dollars in thousands)</b></div>",
    "two captions": f"<p>{INTRO}</p><p>(Unaudited)</p><p>In millions, except percentages</p>",
}


@pytest.mark.parametrize("above", UNITS.values(), ids=UNITS)
def test_a_unit_above_a_table_joins_its_pre_text(above: str, read: Read) -> None:
    report = read(filing(body=f"<p>{PROSE}</p>{above}{TABLE}"))
    title = report.tables[0].title
    assert title.startswith(f"{INTRO} ") and len(title) > len(INTRO)
    assert len(report.sentences) == 5


def test_the_sentence_before_a_table_is_its_pre_text_and_no_other(read: Read) -> None:
    caption = TABLE.replace("<table>", "<table><caption>In millions</caption>")
    body = f"<p>{PROSE} Sales by segment were as follows.</p>{TABLE}{caption}<p>Cash grew.</p>"
    report = read(filing(body=body))
    assert [table.title for table in report.tables] == [
        "Sales by segment were as follows.",
        "In millions",
    ]
    assert report.sentences[-1] == "Cash grew." and len(report.sentences) == 6


def test_merged_cells_stand_in_every_place_they_span(read: Read) -> None:
    table = """<table><tr><td rowspan=2>Region</td><td colspan=4>Sales</td></tr>
    <tr><td>2023</td><td>2022</td><td>Change</td><td></td></tr>
    <tr><td>North</td><td>$1,200.5</td><td>$(3.1)</td><td>4.5</td><td>%</td></tr>
    <tr><td>South</td><td>&#8211;</td><td>-</td><td>(1.5</td><td>)%</td></tr>
    <tr><td></td><td></td><td></td><td></td><td></td></tr></table>"""
    (read_table,) = read(filing(body=f"<p>{PROSE}</p>{table}")).tables
    assert read_table.columns == ("Region", "Sales", "Sales", "Sales")
    assert read_table.rows == (
        ("Region", "2023", "2022", "Change"),
        ("North", "$1,200.5", "$(3.1)", "4.5%"),
        ("South", "\u2013", "-", "(1.5)%"),
    )


BREAKS = {
    "page number": "<p>34</p>",
    "rule": "<p>34</p><hr style='page-break-after:always'><p>Table of Contents</p>",
    "link": "<div>- 34 -</div><hr><div><a href='#toc'>Table of Contents</a></div>",
    "page": "<p>Page 34</p>",
    "line": "<br>",
    "nothing": "",
}


@pytest.mark.parametrize("between", BREAKS.values(), ids=BREAKS)
@pytest.mark.parametrize(
    "halves",
    [
        ("Operating income was higher by", "$14 million than in the year before."),
        ("Income rose in the year ended December", "31, 2023, by $4 million."),
        ("Operating income of the segment grew", "and reached $14 million."),
        ("We paid $4 million to the owners of", "Acme Corporation in 2023."),
        ("Margins fell in the last two quarters", "(by 3% and 2%) as wages rose."),
    ],
)
def test_sentences_torn_by_a_page_break_are_whole(
    halves: tuple[str, str], between: str, read: Read
) -> None:
    body = f"<p>{PROSE} {halves[0]}</p>{between}<p>{halves[1]} Cash fell.</p><p>{INTRO}</p>{TABLE}"
    report = read(filing(body=body))
    assert report.sentences[-2:] == (" ".join(halves), "Cash fell.")


def test_running_titles_and_page_numbers_are_no_sentences(read: Read) -> None:
    plants = ("Aldan", "Brook", "Corby", "Delft")
    pages = "".join(
        f"<p>The cost of the plant in {name} went up, mainly for the</p>"
        f"<p>Acme Corporation | 2023 Form 10-K | {n}</p><hr><p>PART II</p><p>Item 7</p>"
        "<p>higher wages of its workers.</p>"
        for n, name in enumerate(plants, 30)
    )
    report = read(filing(body=f"<p>{PROSE}</p>{pages}<p>{INTRO}</p>{TABLE}"))
    assert report.sentences[5:] == tuple(
        f"The cost of the plant in {name} went up, mainly for the higher wages of its workers."
        for name in plants
    )


def test_headings_are_not_joined_to_the_sentences_below_them(read: Read) -> None:
    body = "<p><b>Overview</b></p><p><b>Fiscal 2023 Compared to Fiscal 2022</b></p>"
    report = read(filing(body=f"{body}<p>{PROSE}</p><p>{INTRO}</p>{TABLE}"))
    assert report.sentences[1:3] == (
        "Fiscal 2023 Compared to Fiscal 2022",
        "Net sales increased 12% to $1,540 million in 2023.",
    )


def test_bullets_that_stand_alone_are_no_sentences(read: Read) -> None:
    cells = "".join(
        f"<tr><td><p>&#8226;</p></td><td><p>{one}</p></td></tr>"
        for one in ("Sales rose by 3%, mainly for the new plant; and", "Costs fell by 2%.")
    )
    report = read(filing(body=f"<p>{PROSE}</p><table>{cells}</table><p>{INTRO}</p>{TABLE}"))
    assert report.sentences[5:] == (
        "Sales rose by 3%, mainly for the new plant; and Costs fell by 2%.",
    )


def test_a_page_break_does_not_part_a_table_from_its_pre_text(read: Read) -> None:
    broken = "<p>The table below shows net</p><p>34</p><hr><p>sales by segment:</p><p>35</p>"
    report = read(filing(body=f"<p>{PROSE}</p>{broken}{TABLE}"))
    assert report.tables[0].title == "The table below shows net sales by segment:"


def test_what_has_no_end_is_left_out_and_never_cut(read: Read) -> None:
    endless = " ".join(["word"] * 400)
    report = read(filing(body=f"<p>{PROSE}</p><p>{endless}</p><p>{INTRO}</p>{TABLE}"))
    assert len(report.sentences) == 5 and report.tables[0].title == INTRO


INLINE = """<?xml version="1.0" encoding="ASCII"?>
<html xmlns="http://www.w3.org/1999/xhtml" xmlns:ix="http://www.xbrl.org/2013/inlineXBRL">
<body><div style="display: none"><ix:header><ix:hidden><ix:nonNumeric contextRef="c"
name="dei:AmendmentFlag">hidden words</ix:nonNumeric></ix:hidden><ix:references>more hidden
</ix:references></ix:header></div>
"""


def test_inline_xbrl_keeps_tagged_text_and_drops_the_header(read: Read) -> None:
    tagged = TABLE.replace(
        "940",
        '<ix:nonFraction contextRef="c" name="us-gaap:Revenues" scale="6">940</ix:nonFraction>',
    )
    body = (
        f"{HEADING}<ix:header><ix:hidden>hidden too</ix:hidden></ix:header>"
        f'<ix:nonNumeric name="x:T" continuedAt="a"><p>{PROSE}</p></ix:nonNumeric>'
        '<ix:continuation id="a"><p>Debt was $<ix:nonFraction name="us-gaap:Debt" scale="6">250'
        '</ix:nonFraction> million at <ix:nonNumeric name="x:D">year end</ix:nonNumeric>.</p>'
        f"<p>{INTRO}</p></ix:continuation>{tagged}{NEXT}</body></html>"
    )
    report = read(INLINE + body, name="123_10-K.xhtml")
    assert report.sentences[-1] == "Debt was $250 million at year end."
    assert report.tables[0].rows[1] == ("Industrial", "$940", "$815")
    assert "hidden" not in str(report)


ASCII = """<SEC-HEADER>0000123</SEC-HEADER>
<PAGE>
                               TABLE OF CONTENTS
Item 7.   Management's Discussion and Analysis of Financial Condition ........ 12
Item 8.   Financial Statements and Supplementary Data ........................ 20

ITEM 1.  BUSINESS

  The Company makes pumps. More is said in
Item 7. Management's Discussion and Analysis of Financial Condition and Results
of Operations.

ITEM 7.  MANAGEMENT'S DISCUSSION AND ANALYSIS OF FINANCIAL CONDITION AND
         RESULTS OF OPERATIONS

  Net sales increased 12% to $1,540,000 in 1996.  Volume rose in all regions, and
prices followed in the second half of the year.  Costs of materials and freight
went up as well.  The Company expects that demand stays at this level through the

                                      13
<PAGE>
next year and invests accordingly.  The Company's liquidity remains strong, and
it has access to a revolving facility of five banks, as Note 4 to the statements in
Item 8. Financial Statements and Supplementary Data describes.

  Sales by segment were as follows (in thousands):

<TABLE>
<CAPTION>
                         1996        1995
                       --------    --------
<S>                    <C>         <C>
Pumps ..............   $   940     $   815
Valves .............       (12)         --
                       --------    --------
</TABLE>

  Cash was $4,000 at year end.

ITEM 8.  FINANCIAL STATEMENTS AND SUPPLEMENTARY DATA

  See page F-1.
"""


def test_plain_text_of_an_older_filing_is_read(read: Read) -> None:
    report = read(ASCII, name="123_1996.txt")
    (table,) = report.tables
    assert table.title == "Sales by segment were as follows (in thousands):"
    assert table.columns == ("", "1996", "1995")
    assert table.rows == (("Pumps", "$940", "$815"), ("Valves", "(12)", "--"))
    assert report.sentences[3:] == (
        "The Company expects that demand stays at this level through the next year and invests "
        "accordingly.",
        "The Company's liquidity remains strong, and it has access to a revolving facility of five "
        "banks, as Note 4 to the statements in Item 8.",
        "Financial Statements and Supplementary Data describes.",
        "Cash was $4,000 at year end.",
    )


ENCODINGS = {
    "utf-8 with mark": filing().encode("utf-8-sig"),
    "utf-16": filing().encode("utf-16"),
    "utf-16 big": b"\xfe\xff" + filing().encode("utf-16-be"),
    "windows-1252": filing().replace("&#8212;", "\u2014").encode("windows-1252"),
    "called utf-8": filing().replace("<head>", "<head><meta charset='utf-8'>").encode("cp1252"),
    "called latin-1": filing(before="<meta charset='iso-8859-1'>")
    .replace("&#8212;", "\u2014")
    .encode(),
    "called utf-16": (
        "<?xml version='1.0' encoding='UTF-16'?>" + filing().replace("&#8212;", "\u2014")
    ).encode(),
    "one wrong byte": filing()
    .replace("&#8212;", "\u2014")
    .replace("Risk Factors", "Risk \udc92actors")
    .encode("utf-8", "surrogateescape"),
}


@pytest.mark.parametrize("data", ENCODINGS.values(), ids=ENCODINGS)
def test_the_text_is_right_whatever_encoding_is_declared(data: bytes, read: Read) -> None:
    report = read(data)
    assert report.tables[0].rows[2] == ("Corporate", "(12)", "\u2014")
    assert len(report.sentences) == 5


def test_entities_that_a_file_declares_are_neither_expanded_nor_fetched(
    tmp_path: Path, read: Read
) -> None:
    (tmp_path / "secret").write_text("secret words")
    bombs = "".join(f'<!ENTITY b{n} "{10 * f"&b{n - 1};"}">' for n in range(1, 12))
    declared = (
        f'<!DOCTYPE html [<!ENTITY x SYSTEM "file://{tmp_path}/secret"><!ENTITY b0 "haha">{bombs}'
        '<!ENTITY % p SYSTEM "http://127.0.0.1:9/dtd"> %p;]>'
    )
    inside = f"<p>{PROSE} &x; &b11; AT&amp;T &lt; 5.</p>"
    report = read(declared + filing(body=f"{inside}<p>{INTRO}</p>{TABLE}"), name="123_x.xhtml")
    assert "secret" not in str(report) and "haha" not in " ".join(report.sentences)
    assert report.sentences[-1].endswith("AT&T < 5.")


BAD: dict[str, tuple[str, str | bytes, str]] = {
    "empty": ("a.htm", "", "it is empty"),
    "blank": ("b.txt", " \n\n", "it is empty"),
    "pdf": ("c.htm", b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n1 0 obj", "it is no text"),
    "archive": ("d.txt", b"PK\x03\x04" + bytes(200), "it is no text"),
    "picture": ("e.html", b"\x89PNG\r\n\x1a\n" + bytes(range(256)), "it is no text"),
    "no item 7": ("f.htm", page(f"<p>{4 * PROSE}</p>{TABLE}"), "no Item 7"),
    "contents alone": ("g.htm", page(TOC, TABLE), "no Item 7"),
    "by reference": (
        "h.htm",
        filing(body="<p>Incorporated by reference to the Annual Report.</p>"),
        "no Item 7",
    ),
    "no table": ("i.htm", filing(body=f"<p>{2 * PROSE}</p>"), "has no table"),
    "text in tables": (
        "j.htm",
        filing(body=f"<p>{PROSE}</p><table><tr><td>&#8226;</td><td>{PROSE}</td></tr></table>"),
        "has no table",
    ),
    "other ending": ("k.docx", "words", "its name ends in none of"),
    "no ending": ("l", "other words", "its name ends in none of"),
    "no json": ("m.json", "{", "it is no JSON"),
    "json of a number": ("n.json", "3", "it has no records"),
    "json without records": ("o.json", "[]", "it has no records"),
    "json of numbers": ("p.json", "[1]", "the record is no JSON object"),
    "json of other records": ("q.jsonl", '{"a": 1}', "the record is neither"),
    "broken record": ("r.json", '[{"table": 3, "paragraphs": []}]', "the record cannot be read"),
    "null record": ("s.jsonl", '{"table": {"table": null}, "paragraphs": null}', "cannot be read"),
    "json in latin-1": ("t.json", '["\u00e9"]'.encode("latin-1"), "it is no JSON"),
    "deep json": ("u.json", 100_000 * "[", "it is no JSON"),
    "deep html": ("v.htm", 100_000 * "<div>", "its HTML cannot be read"),
    "deep tables": ("w.htm", 50_000 * "<table><tr><td>", "its HTML cannot be read"),
    "marks alone": ("x.htm", "<html></html>", "no Item 7"),
    "unclosed tables": ("y.txt", 20_000 * "<TABLE>\n", "no Item 7"),
}


def test_what_cannot_be_used_is_skipped_in_a_line_each_and_counted(tmp_path: Path) -> None:
    folder = tmp_path / "filings"
    folder.mkdir()
    for name, content, _ in BAD.values():
        data = content.encode() if isinstance(content, str) else content
        (folder / name).write_bytes(data)
    with (folder / "z.htm").open("wb") as file:
        file.truncate(LARGEST + 1)
    said = f"<p>{PROSE}</p><p>{INTRO}</p>{TABLE}<p>Industrial sales rose 15.3% in 2023.</p>"
    (folder / "123_good.HTM").write_text(filing(body=said), encoding="utf-8")
    out = tmp_path / "set"
    settings = parse(FaithSet, [f"reports=[{folder}]", f"out={out}", "workers=1"])
    counts = make_dataset(settings, lambda _: None)
    skipped = {
        one["where"].partition(":")[0]: one["reason"]
        for one in map(json.loads, (out / "skipped.jsonl").read_text("utf-8").splitlines())
    }
    expected = {name: reason for name, _, reason in BAD.values()}
    expected["z.htm"] = "it holds more than 40 MiB, which is the limit"
    assert skipped.keys() == expected.keys()
    for name, reason in expected.items():
        assert reason in skipped[name] and "\n" not in skipped[name], name
    assert counts["tables"]["skipped"] == len(expected)
    assert f"skipped: {len(expected)} reports" in list(describe(counts, settings))


def test_all_records_of_a_json_file_in_a_folder_are_read(tmp_path: Path) -> None:
    cells = [["", "2023", "2022"], ["Net sales", "$1,540", "$1,375"], ["Cash", "$90", "$80"]]
    sentence = "Net sales were $1,540 in 2023."
    record = {"id": "A/1", "pre_text": [PROSE], "table": cells, "post_text": [sentence]}
    other = {**record, "id": "B/2", "post_text": ["Cash was $90 in 2023."]}
    twin = {**record, "id": "C/3", "qa": {"question": "How much were net sales?"}}
    (tmp_path / "pages.json").write_text(json.dumps([record, other, twin]))
    settings = parse(FaithSet, [f"reports=[{tmp_path}]", f"out={tmp_path / 'set'}", "workers=1"])
    counts = make_dataset(settings, lambda _: None)
    assert counts["examples"] == {"asked": 3, "made": 2}
    skipped = (tmp_path / "set" / "skipped.jsonl").read_text("utf-8")
    assert [json.loads(skipped)["reason"]] == ["the same page stands before it"]


def test_real_tables_of_filings_are_read(
    shared_data: Callable[[str], list[dict[str, Any]]], read: Read
) -> None:
    tables = [one["raw_table"] for one in shared_data("sec_8k_tables") if one["kind"] == "html"]
    body = "".join(f"<p>{PROSE} These are the votes.</p>{one}" for one in tables)
    report = read(filing(body=body))
    assert len(report.tables) >= 0.95 * len(tables)
    assert {table.title for table in report.tables} == {"These are the votes."}
    assert len(report.sentences) == 5 * len(tables)


def test_real_texts_of_item_7_are_found(
    shared_data: Callable[[str], list[dict[str, Any]]], tmp_path: Path
) -> None:
    for record in shared_data("sec_10k_item7"):
        whole = len(record["item_7"])
        before, after = "Item 1. Business\n\nWe sell.\n", "\nItem 8. Financial Statements\n\nNone."
        text = f"{before}{record['item_7']}{after}"
        lines = [one for one in text.splitlines() if one.strip()]
        kept = item_7(lines)
        assert sum(map(len, filter(lambda one: isinstance(one, str), kept))) > 0.9 * whole
        assert "None." not in kept and "We sell." not in kept
