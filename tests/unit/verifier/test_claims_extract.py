"""The program extractor: what becomes a claim, where it stands, and what it says alone."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tablemend.records import CLAIM_KINDS, Document
from tablemend.tables.table import Table
from tablemend.values.places import Places
from tablemend.verifier.extraction import answer_claims, extract_claims
from tests.support.growth import assert_growth

ENUMERATORS = re.compile(r"^[\s\-*•#>|+·(]*\(?\d{1,2}[.)]", re.MULTILINE)
REFERENCES = re.compile(
    r"\b(?:tables?|figures?|sections?)\s*\(?\d+(?:[., &to-]+\d+)?", re.IGNORECASE
)


def claims(text: str) -> list[tuple[str, str]]:
    """Kind and focus of each claim."""
    return [
        (claim.kind, text[claim.focus.start : claim.focus.end])
        for claim in extract_claims(text).claims
        if claim.focus
    ]


def statements(text: str) -> list[str]:
    return list(dict.fromkeys(claim.statement for claim in extract_claims(text).claims))


def check(document: Document) -> None:
    """Spans are exact, inside one another and inside the text, in order; amounts are covered."""
    text, before = document.text, (-1, -1)
    for claim in document.claims:
        assert claim.start is not None and claim.end is not None
        assert claim.focus is not None and claim.sentence is not None
        assert claim.text == text[claim.start : claim.end] != ""
        assert claim.kind in CLAIM_KINDS and claim.statement.strip()
        assert 0 <= claim.sentence.start <= claim.start <= claim.focus.start
        assert claim.focus.start < claim.focus.end <= claim.end <= claim.sentence.end <= len(text)
        assert claim.focus.start >= before[0]
        before = (claim.start, claim.end)
    foci = [claim.focus for claim in document.claims if claim.focus]
    stated_nothing = [
        match.span() for pattern in (ENUMERATORS, REFERENCES) for match in pattern.finditer(text)
    ]
    for amount in Places(text).amounts(0, len(text)):
        if any(start < amount.end and amount.start < end for start, end in stated_nothing):
            continue
        assert any(f.start <= amount.start and amount.end <= f.end for f in foci), text[
            amount.start : amount.end
        ]


def test_amounts_dates_comparisons_and_names_are_one_claim_each() -> None:
    text = "Acme reported the highest revenue, $ 5.2 million, in Oslo on 4 May 2021."
    assert claims(text) == [
        ("comparative", "highest"),
        ("numeric", "$ 5.2 million"),
        ("relational", "Oslo"),
        ("temporal", "4 May 2021"),
    ]


def test_a_coordination_shares_its_subject() -> None:
    text = "Ann Poe scored 24 points and grabbed 8 rebounds, while Bob Lee added 3 blocks."
    assert statements(text) == [
        "Ann Poe scored 24 points",
        "Ann Poe grabbed 8 rebounds",
        "Bob Lee added 3 blocks",
    ]
    assert [claim.text for claim in extract_claims(text).claims] == [
        "Ann Poe scored 24 points",
        "grabbed 8 rebounds",
        "Bob Lee added 3 blocks",
    ]


def test_the_items_of_a_list_stand_alone() -> None:
    text = "LeBron James had 24 points ( 8 - 14 FG ) , 8 rebounds and 11 assists in 38 minutes ."
    assert statements(text) == [
        "LeBron James had 24 points",
        "LeBron James had 24 points ( 8 - 14 FG )",
        "LeBron James had 8 rebounds",
        "LeBron James had 11 assists in 38 minutes",
    ]
    assert statements("The Celtics ( 32 - 18 ) defeated the Lakers .") == [
        "Celtics ( 32 - 18 )",
        "The Celtics defeated the Lakers",
    ]
    text = "Al Poe had 11 points , a steal and a pair of blocks ."
    assert claims(text) == [("numeric", "11"), ("numeric", "a steal"), ("numeric", "pair of")]
    assert statements("Acme won in 2019 and 2020.") == ["Acme won in 2019", "Acme won in 2020"]


@pytest.mark.parametrize(
    "text",
    [
        "It ranges between 5 and 7",
        "Ann scored 24 points, 8 more than Bob",
        "The scores were 5 and 6 respectively",
        "It had a total of 5 wins and 6 losses",
        "Prices rose from 5 to 7 and 9",
        "It provides up to 6 hours and 20 minutes of talk time",
        "It has a resolution of 480 x 960 and 5 MP sensors",
        "The rate went up by 0.48 points between June 2023 and Jul 2023",
        "The rate fell by 3 points between Q4 2020 and the first quarter of 2021",
    ],
)
def test_amounts_that_belong_together_are_not_parted(text: str) -> None:
    assert statements(text) == [text]


@pytest.mark.parametrize(
    ("text", "statement"),
    [
        ("Ann Poe won. She scored 5 goals.", "Ann Poe scored 5 goals"),
        ("The Red Stars lost. They scored 5.", "The Red Stars scored 5"),
        (
            "The X200 is a phone by Acme. Its display has 5 inches.",
            "The X200's display has 5 inches",
        ),
        ("The X200 is a phone by Acme. The phone weighs 90 g.", "The X200 weighs 90 g"),
        ("The award went to Ann Poe, who scored 5 goals.", "Ann Poe scored 5 goals"),
        ("Ann Poe won. Born in Rome, she has 5 goals. She is 30.", "Ann Poe is 30"),
        ("Red won 5, while the guests, Blue, won 4.", "the guests, Blue, won 4"),
        ("The team was led by Ann Poe. She had 9.", "Ann Poe had 9"),
        ("The phone has:\n- 5 cameras\n- 2 screens", "The phone has: 2 screens"),
    ],
)
def test_pronouns_and_lists_get_their_subject(text: str, statement: str) -> None:
    assert statement in statements(text)


@pytest.mark.parametrize(
    "text",
    [
        "Temperatures rise. It reaches 5 degrees.",
        "He scored 5 goals.",
        "Prices fell. This was 5 % less.",
    ],
)
def test_an_unclear_pronoun_keeps_the_whole_sentence(text: str) -> None:
    assert extract_claims(text).claims[-1].statement == text.split(". ")[-1].rstrip() or (
        extract_claims(text).claims[-1].statement in text
    )


def test_a_list_of_nouns_is_one_claim_an_item() -> None:
    text = "The phone has Wi-Fi, a compass and FM radio."
    assert claims(text) == [
        ("attribute", "Wi-Fi"),
        ("attribute", "a compass"),
        ("attribute", "FM radio"),
    ]


@pytest.mark.parametrize(
    "text",
    [
        "Sure! Here is a summary.",
        "This table shows the results of the teams.",
        "Overall, this is a table.",
        "What do you think?",
        "The results are shown in Table 3.",
        "",
        " \n\t ",
        "***",
        "()",
    ],
)
def test_what_asserts_nothing_is_no_claim(text: str) -> None:
    assert extract_claims(text).claims == ()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The Celtics ( 19 - 37 ) won .", ["19", "37"]),
        ("He made 11-of-20 shots.", ["11", "20"]),
        ("The game ended 122 - 122 .", ["122", "122"]),
        ("It weighs 150g and has a 13MP camera.", ["150g", "13MP"]),
        ("They sold twenty-one cars.", ["twenty-one"]),
        ("the 2012 - 13 season", ["2012 - 13"]),
        ("The NHL 23/24 season began.", ["23/24"]),
        ("In Q3 2021 sales grew.", ["Q3 2021"]),
        ("COVID-19 spread.", ["COVID-19"]),
        ("It cost between $ 3 and $ 5 .", ["$ 3", "$ 5"]),
    ],
)
def test_amounts_in_every_dress(text: str, expected: list[str]) -> None:
    found = [words for _, words in claims(text)]
    assert [words for words in found if words in expected] == expected


def test_another_script_is_divided_into_sentences() -> None:
    found = extract_claims("收入增长了。利润下降了。").claims
    assert [claim.text for claim in found] == ["收入增长了", "利润下降了"]


def test_kinds_of_amounts_that_look_like_years() -> None:
    assert ("temporal", "2008") in claims("in 2008 the team won")
    assert ("numeric", "2000") in claims("a crowd of 2000 people came")
    assert ("temporal", "2010") in claims("in the 2010 census it grew")


def test_lemmatised_text_without_capitals() -> None:
    assert claims("mira oss be in the top 5 for the coast open") == [("comparative", "top 5")]
    assert claims("tarn 's player be evan hollis") == [("attribute", "evan hollis")]


def test_markdown_marks_are_no_part_of_a_claim() -> None:
    text = "## Results\n\n* **Revenue** rose by 5 %\n1. Costs fell by 3 %\n"
    spans = {claim.text for claim in extract_claims(text).claims}
    assert "Costs fell by 3 %" in spans
    assert not any(span.startswith(("*  ", "1.", "#")) for span in spans)


def test_real_texts_lose_no_amount(shared_data: Any) -> None:
    texts = [o["text"] for record in shared_data("quintd")[:60] for o in record["outputs"]]
    texts += [record["text"] for record in shared_data("accuracy_shared_task")]
    texts += [o["text"] for r in shared_data("d2t_span_annotation")[:30] for o in r["outputs"]]
    texts += [s["text"] for r in shared_data("tabfact")[:80] for s in r["statements"]]
    for text in texts:
        check(extract_claims(text))


WORDS = (
    "Acme Bolt revenue rose fell by and , while who It They the The highest more than most 5 12% "
    "$3.5 million 2021 4 May Q3 19-37 ( ) . ; : - — \n \n\n * 1. # with having scored won points "
    "second place three 'quoted' 5MP 1,234 - 7 no all was is 11-of-20 ' \" ? ! [X] 价格 é".split(
        " "
    )
)


@settings(max_examples=300, deadline=None)
@given(st.lists(st.sampled_from(WORDS), max_size=40), st.sampled_from([" ", "", "  "]))
def test_spans_are_exact_for_any_text(words: list[str], between: str) -> None:
    check(extract_claims(between.join(words)))


@settings(max_examples=60, deadline=None)
@given(st.text(max_size=120))
def test_spans_are_exact_for_any_characters(text: str) -> None:
    check(extract_claims(text))


@pytest.mark.parametrize(
    "unit", ["word and ", "5 and 7, ", ", with ", "(", "he won while ", "A. ", "- 5\n", "a" * 9]
)
def test_time_is_linear_and_claims_are_bounded(unit: str) -> None:
    text = unit * (20_000 // len(unit))
    started = time.process_time()
    document = extract_claims(text)
    assert time.process_time() - started < 8
    assert all(len(claim.text) < 1000 or " " not in claim.text for claim in document.claims)


@pytest.mark.parametrize("unit", ["1,", "1,000", "' "])
def test_a_sentence_without_an_end_takes_linear_time(unit: str) -> None:
    def extracting(count: int) -> Callable[[], object]:
        text = unit * count
        return lambda: extract_claims(text)

    assert_growth(extracting, 500, 3000, below=18)  # linear is 6, squared 36


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Springfield has 1,488,202 residents.", ["has 1,488,202 residents"]),
        (
            "Springfield has 1,488,202 residents, 12,345 parks and 3 rivers.",
            ["has 1,488,202 residents", "has 12,345 parks", "has 3 rivers"],
        ),
        (
            "It sold 1,234,567 units and 23,456,789 boxes.",
            ["sold 1,234,567 units", "23,456,789 boxes"],
        ),
        ("It has 12,34,567 voters and 2 seats.", ["has 12,34,567 voters", "has 2 seats"]),
        ("It has 1,5 kg, 2,5 kg and 3 kg.", ["has 1,5 kg", "has 2,5 kg", "has 3 kg"]),
    ],
)
def test_a_number_is_not_divided_at_its_commas(text: str, expected: list[str]) -> None:
    found = statements(text)
    assert len(found) == len(expected)
    assert all(part in one for part, one in zip(expected, found, strict=True))


# ---- claims of an answer table


def test_one_claim_a_filled_cell_and_one_a_row() -> None:
    table = Table.of(
        ("Company", "Revenue", "Founded"),
        [("Acme", "5", "4 May 1999"), ("Bolt", None, "N/A"), (None, "", None), (None, "7", None)],
    )
    document = answer_claims(table, "Which companies?")
    assert document.text == "" and document.table is table and document.query == "Which companies?"
    assert [(c.statement, c.kind, c.row, c.column) for c in document.claims] == [
        ("Acme is one of the rows.", "presence", 0, None),
        ("The Company is Acme.", "attribute", 0, "Company"),
        ("The Revenue of Acme is 5.", "numeric", 0, "Revenue"),
        ("The Founded of Acme is 4 May 1999.", "temporal", 0, "Founded"),
        ("Bolt is one of the rows.", "presence", 1, None),
        ("The Company is Bolt.", "attribute", 1, "Company"),
        ("There is a row number 4.", "presence", 3, None),
        ("The Revenue of row 4 is 7.", "numeric", 3, "Revenue"),
    ]
    assert all(c.text == c.statement and c.start is c.end is None for c in document.claims)


def test_a_table_without_rows_claims_nothing() -> None:
    assert answer_claims(Table.of(("A", "B"), [])).claims == ()
