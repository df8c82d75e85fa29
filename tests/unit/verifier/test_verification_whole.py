"""Sentences that one computation explains whole."""

from __future__ import annotations

from tablemend.verifier.whole_sentences import settle_sentences

from tablemend.claims.extract import extract_claims
from tablemend.evidence.source import Source
from tablemend.records import Verdict
from tablemend.tables.table import Table
from tablemend.verifier.linking import Linking
from tablemend.verifier.reading import Reading

TABLE = Table.of(
    ["Driver", "Team", "Points", "Wins"],
    [["Ann Vey", "Red", "40", "3"], ["Bo Lind", "Blue", "25", "1"], ["Cy Orr", "Red", "12", "0"]],
)


def settled(text: str, *said: str, table: Table = TABLE, closed: bool = False) -> list[str]:
    """What becomes of the verdicts, given in their order; the last one is repeated."""
    document = extract_claims(text)
    source = Source((table,))
    names = [*said, *[said[-1]] * len(document.claims)]
    verdicts = [
        Verdict(claim, name)  # type: ignore[arg-type]
        for claim, name in zip(document.claims, names, strict=False)
    ]
    linking = Linking(Reading(document.text), source)
    found = settle_sentences(linking, verdicts, lambda number: closed)
    assert len(found) == len(verdicts)
    return [verdict.verdict for verdict in found]


def test_a_false_sentence_is_called_false_once() -> None:
    found = settled("Bo Lind scored more points than Ann Vey.", "unscored")
    assert found.count("contradicted") == 1


def test_what_a_true_computation_names_is_right_too() -> None:
    found = settled("Ann Vey scored more points than Bo Lind.", "supported", "unscored")
    assert set(found) == {"supported"}


def test_a_sentence_without_any_verdict_is_not_made_true() -> None:
    found = settled("Ann Vey scored more points than Bo Lind.", "unscored")
    assert set(found) == {"unscored"}


def test_words_that_limit_a_sentence_are_not_left_out() -> None:
    found = settled("Bo Lind never scored more points than Ann Vey before.", "unscored")
    assert "supported" not in found


def test_one_row_computes_nothing() -> None:
    one = Table.of(["Driver", "Team", "Points"], [["Ann Vey", "Red", "40"]])
    found = settled("Bo Lind scored more points than Ann Vey.", "unscored", table=one)
    assert set(found) == {"unscored"}


def test_a_sentence_that_is_closed_stays_as_it_is() -> None:
    found = settled("Bo Lind scored more points than Ann Vey.", "unscored", closed=True)
    assert set(found) == {"unscored"}
