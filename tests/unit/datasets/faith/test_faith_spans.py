"""Which numbers of a sentence can be masked."""

from __future__ import annotations

from importlib.util import find_spec
from types import SimpleNamespace

import pytest

from tablemend.datasets.faith import spans
from tablemend.datasets.faith.spans import find_spans
from tablemend.errors import TablemendError


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
    ],
)
def test_money_percentages_and_counts_are_spans_and_dates_and_references_are_none(
    sentence: str, found: list[str]
) -> None:
    assert [sentence[start:end] for start, end in find_spans(sentence)] == found


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
