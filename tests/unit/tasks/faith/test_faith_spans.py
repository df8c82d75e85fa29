"""Which numbers of a sentence can be masked."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from importlib.util import find_spec
from types import SimpleNamespace

import pytest

from tablemend.errors import TablemendError
from tablemend.tables.html import read_ascii
from tablemend.tables.table import TableError
from tablemend.tasks.faith import sentences as spans
from tablemend.tasks.faith.sentences import find_spans, is_table
from tablemend.values.numbers import find_quantities
from tests.support.growth import assert_growth


@pytest.mark.parametrize(
    ("sentence", "found"),
    [
        ("Revenue rose 5% to $1.2 billion.", ["5%", "$1.2 billion"]),
        ("It fell five percent, or 120 basis points.", ["five percent", "120 basis points"]),
        ("EPS was $1.25 per share.", ["$1.25 per share"]),
        ("Reserves of 55.5 MMBOE were added.", ["55.5 MMBOE"]),
        ("Margins of (3.2)% and a loss of $(4.5) million.", ["(3.2)%", "$(4.5) million"]),
        ("We had 1,200 employees in two stores.", ["1,200", "two"]),
        ("In fiscal 2023 and on December 31, 2022 nothing happened.", []),
        ("See Note 12, Item 7A, page 45, ASC 606-10-25 and ASU 2016-13 (Topic 326).", []),
        ("The Form 10-K covers a 12-month period and the 53rd week of Q3 2023.", []),
        ("The plan runs for 10.9 years.", []),
        ("(1) The three of us agreed.", []),
        ("See Notes 5, 6 and 7 on pages 3 to 5.", []),
        ("Sales were $1.2, $1.3 and $1.5 billion.", ["$1.5 billion"]),
        ("It was 1,200 and 1,300, or $5 million.", ["1,200", "1,300", "$5 million"]),
        # marks of lists
        ("This is due to: 1) fuel, and 2) 12 new stores (up from 11).", ["12", "11"]),
        ("It includes ( 1 ) fuel and ( 2 ) oil of $ 3 million .", ["$ 3 million"]),
        ("1. Revenue rose 5%; 2. costs fell 3%.", ["5%", "3%"]),
        ("a) We run 40 stores; (i) they sell 3% less.", ["40", "3%"]),
        ("12 Income taxes", []),
        ("2.3 Summary of policies", []),
        # names that end in a number
        ("Scope 1, 2 and 3 emissions fell by 4%, scope 3 alone by 2%.", ["4%", "2%"]),
        ("Level 3 assets, tier 1 capital, phase 2 of article 5 and stage 2 loans.", []),
        ("Sections 382 and 383 of the Code, SAB 104 and Interpretation 48 apply.", []),
        ("Under Network 2.0, we lease 12 Boeing 777 freighters.", ["12"]),
        ('Accounting Standards Codification ("ASC") 605 applies.', []),
        ("It lasts at least 20 trading days, mostly 30 to 89 days.", []),
        ("- 21 -", []),
        ("Page 12 of 45, section 4.1.2 and sfas no . 158 and 159 .", []),
        ("It cost $ 925 mil- lion.", []),
    ],
)
def test_money_percentages_and_counts_are_spans_and_dates_and_references_are_none(
    sentence: str, found: list[str]
) -> None:
    assert [sentence[start:end] for start, end in find_spans(sentence)] == found


@pytest.mark.parametrize(
    "sentence",
    [
        "Product revenue $ 414.4 $ 311.8 $ 235.8",
        "net sales ( 619 ) ( 409 ) ( 1028 ) balance 480 505 985 represents what was recorded .",
        "Net sales $1,540 $1,375 Cost of sales (900) (800) which we show before tax .",
        "payable to banks for the purchase of inventories . . . . . . . . . . $ 342.9",
        "Total deposits ---------- ----------",
        "$1,191,478 $1,054,870",
        "Total $ 45 $ 50",
        "| Sales | 45 | 50 |",
        "Balance in January 5,000 Additions 300 Deductions (200) Balance in December 5,100",
    ],
)
def test_a_table_that_lost_its_cells_is_no_sentence(sentence: str) -> None:
    assert is_table(sentence)


@pytest.mark.parametrize(
    "sentence",
    [
        "Sales were $1.2, $1.3 and $1.5 billion in 2019, 2018 and 2017, respectively.",
        "We repurchased $87.3 million of our 1.25% 2025 Notes and of our 1.5% 2035 Notes.",
        "These are due as follows: 2007 - $23 million; 2008 - $19 million; 2009 - $15 million.",
        "Sales rose 5% in 2019.",
        "At October 31, 2019, $8.6 million was recorded (see Note 2).",
    ],
)
def test_a_sentence_with_many_numbers_is_no_table(sentence: str) -> None:
    assert not is_table(sentence)


@pytest.mark.skipif(find_spec("spacy") is not None, reason="spaCy is installed")
def test_spacy_is_asked_for_where_it_is_not_installed() -> None:
    with pytest.raises(TablemendError, match="pip install spacy"):
        find_spans("Revenue rose 5%.", "spacy")


def test_spacys_entities_decide_and_are_expanded(monkeypatch: pytest.MonkeyPatch) -> None:
    sentence = "Revenue of $5 million rose 5% on 3 June."

    def pipeline(text: str) -> SimpleNamespace:
        entity = SimpleNamespace(label_="MONEY", start_char=12, end_char=13, text="5")
        day = SimpleNamespace(label_="DATE", start_char=33, end_char=39, text="3 June")
        return SimpleNamespace(ents=[entity, day])

    monkeypatch.setattr(spans, "_spacy", lambda: pipeline)
    assert [sentence[a:b] for a, b in find_spans(sentence, "spacy")] == ["$5 million"]


@pytest.mark.parametrize(
    ("unit", "read"),
    [
        *((unit, find_spans) for unit in ("12,", "12 ", "$12 ", "| 12 ", "1.", "(12 ")),
        *((unit, find_quantities) for unit in ("12,", "123,", "12,12.1,", "1", "123 ", "1'234'")),
        *((unit, read_ascii) for unit in ("\t", " ", "\xa0", "<table ", ". ", "_ ", "12  ")),
    ],
)
def test_a_text_without_an_end_is_read_in_linear_time(
    unit: str, read: Callable[[str], object]
) -> None:
    def reading(count: int) -> Callable[[], object]:
        def run() -> None:
            with suppress(TableError):
                read(unit * count + ",1,")

        return run

    assert_growth(reading, 500, 4000, below=32)  # linear is 8, squared 64
