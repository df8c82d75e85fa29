"""What counts as right, wrong and unscored, on verdicts and marks written by hand."""

from __future__ import annotations

import pytest

from tablemend.datasets.labelled_texts import Item, Mark
from tablemend.evidence.source import Source
from tablemend.meta_evaluation.agreement import (
    COVERAGE,
    TEXT,
    Opinion,
    balanced_threshold,
    by_verifier,
    clean_share,
    count_item,
    count_spans,
    human_score,
    rates,
)
from tablemend.meta_evaluation.injection_study import count_injected
from tablemend.meta_evaluation.metrics import score_items
from tablemend.programs.program import Amount, Count, Rows, Statement
from tablemend.records import Claim, Verdict, VerdictName, Verification
from tablemend.tables.table import Table
from tablemend.tasks.tabfaith.summaries import Fact, InjectedError, Part
from tablemend.values.text import Span

TEXT_OF_THREE = "Alba scored 41. Vey scored 12 in May. It rained."
SOURCE = Source((Table.of(["Team", "Points"], [["Alba", "41"], ["Vey", "10"]]),))


def span(words: str, text: str = TEXT_OF_THREE) -> Span:
    return Span(text.index(words), text.index(words) + len(words))


def mark(words: str, label: str = "Incorrect", error: bool = True) -> Mark:
    return Mark(*span(words), label, error)


def verdict(
    words: str, name: VerdictName, fault: str = "", text: str = TEXT_OF_THREE, kind: str = "NUM"
) -> Verdict:
    place = span(words, text)
    claim = Claim(words, *place, "numeric", words, focus=None)
    wrong = name in ("contradicted", "not_in_source")
    spans = (span(fault, text),) if fault else ()
    return Verdict(claim, name, kind if wrong else None, spans=spans)  # type: ignore[arg-type]


def verified(*verdicts: Verdict) -> Verification:
    return Verification(verdicts, "by hand")


ALL = verified(
    verdict("Alba scored 41", "supported"),
    verdict("Vey scored 12", "contradicted", "12"),
    verdict("It rained", "unscored"),
)


def item(marks: tuple[tuple[Mark, ...], ...] = (), **more: object) -> Item:
    values = {"id": "1", "set": "s", "group": "", "text": TEXT_OF_THREE, "source": SOURCE}
    return Item(**{**values, "split_key": "1", "marks": marks, **more})  # type: ignore[arg-type]


def test_words_at_fault_are_the_verdicts_or_the_claims_focus_or_the_claim() -> None:
    claim = Claim("Vey scored 12", *span("Vey scored 12"), "numeric", "", focus=span("12"))
    focused = verified(Verdict(claim, "contradicted", "NUM"))
    assert by_verifier(ALL).faults == ((span("12"), "NUM"),)
    assert by_verifier(focused).faults == ((span("12"), "NUM"),)
    whole = verified(verdict("Vey scored 12", "not_in_source"))
    assert by_verifier(whole).faults == ((span("Vey scored 12"), "NUM"),)


def test_a_span_is_right_where_it_shares_a_character() -> None:
    counts = count_spans([mark("12 in"), mark("rained")], by_verifier(ALL))
    assert (counts["predicted"], counts["hits"]) == (1, 1)
    assert (counts["marked"], counts["found"], counts["open"]) == (2, 1, 1)


def test_what_is_marked_for_something_else_counts_neither_way() -> None:
    other = mark("12 in May", "Repetitive", error=False)
    counts = count_spans([other], by_verifier(ALL))
    assert counts["predicted"] == counts["marked"] == 0
    both = count_spans([other, mark("12")], by_verifier(ALL))
    assert (both["predicted"], both["hits"]) == (1, 1)


def test_one_to_one_a_span_finds_a_single_error() -> None:
    """The Accuracy Shared Task: a submitted mistake is consumed by the first gold one."""
    opinion = Opinion(True, ((span("Vey scored 12 in May"), "NUM"),), ())
    counts = count_spans([mark("Vey"), mark("12", "NUMBER"), mark("May")], opinion)
    assert (counts["found"], counts["single_found"], counts["single_predicted"]) == (3, 1, 1)
    assert counts["single_found Incorrect"] == 1 and counts["single_found NUMBER"] == 0
    overlapping = Opinion(True, ((span("Vey scored"), ""), (span("Vey scored 12"), "")), ())
    assert count_spans([mark("Vey")], overlapping)["single_predicted"] == 1


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (("supported", "supported"), "bad_accepted"),
        (("supported", "unscored"), "bad_unscored"),
        (("contradicted", "unscored"), "bad_rejected"),
        (("not_in_source", "supported"), "bad_rejected"),
        ((), "bad_unscored"),
    ],
)
def test_a_text_is_wrong_if_a_claim_is_and_unscored_if_one_is(names, expected) -> None:
    words = ("Alba scored 41", "Vey scored 12")
    found = verified(*(verdict(w, name) for w, name in zip(words, names, strict=False)))
    assert count_item(item(label="contradicted"), found)[expected] == 1


def test_a_text_of_two_annotators_counts_for_each() -> None:
    counts = count_item(item(((mark("12"),), ())), ALL)
    assert (counts["texts"], counts["claims"], counts["unscored_claims"]) == (1, 3, 1)
    assert (counts["bad_rejected"], counts["good_rejected"]) == (1, 1)
    assert (counts["predicted"], counts["hits"]) == (2, 1)


def test_people_score_a_text_by_rating_label_or_clean_sentences() -> None:
    assert human_score(item(rating=4.5)) == 4.5
    assert human_score(item(label="not_in_source")) == 0.0
    assert clean_share(TEXT_OF_THREE, [mark("12"), mark("May")]) == pytest.approx(2 / 3)
    assert human_score(item(((mark("12"),), ()))) == pytest.approx(5 / 6)
    assert human_score(item()) is None


def test_unscored_counts_neither_as_right_nor_as_wrong() -> None:
    counts = [
        count_item(item(label="contradicted"), verified(verdict("It rained", name)))
        for name in ("contradicted", "supported", "unscored", "unscored")
    ]
    counts += [
        count_item(item(label="supported"), verified(verdict("It rained", name)))
        for name in ("supported", "unscored")
    ]
    found = rates(counts, [str(index) for index in range(6)], TEXT | COVERAGE)
    value = {name: rate["rate"] for name, rate in found.items()}
    assert value["precision"] == 1 and value["recall"] == 0.5
    assert value["recall_all"] == 0.25 and value["accuracy"] == pytest.approx(2 / 3)
    assert value["balanced_accuracy"] == 0.75
    parts = (value["right"], value["wrong"], value["unscored"])
    assert parts == pytest.approx((2 / 6, 1 / 6, 3 / 6)) and value["coverage"] == 0.5
    assert value["right_with_coin"] == pytest.approx(2 / 6 + 3 / 12)


def test_intervals_draw_tables_and_not_texts() -> None:
    """A hundred texts of two tables are two observations."""
    right, wrong = (
        count_item(item(label="contradicted"), verified(verdict("It rained", name)))
        for name in ("contradicted", "supported")
    )
    counts = [right] * 50 + [wrong] * 50
    apart = rates(counts, [str(index) for index in range(100)], TEXT)["recall"]
    together = rates(counts, ["a"] * 50 + ["b"] * 50, TEXT)["recall"]
    assert apart["rate"] == together["rate"] == 0.5
    assert (together["low"], together["high"]) == (0, 1)
    assert 0.38 < apart["low"] < 0.43 and 0.57 < apart["high"] < 0.62


def test_the_threshold_is_the_best_balanced_one() -> None:
    pairs = [(0.1, True), (0.2, True), (0.3, False), (0.35, True), (0.8, False), (0.9, False)]
    assert balanced_threshold(pairs) == pytest.approx((0.35 + 0.8) / 2)
    assert balanced_threshold([(0.1, True), (0.1, False)]) == 0.1  # nothing can be told apart
    assert balanced_threshold([(0.1, True)]) is None


def test_metrics_leave_out_what_they_cannot_score() -> None:
    pytest.importorskip("sacrebleu")
    bare = item(label="supported")
    full = item(label="contradicted", references=("Alba scored 41.",))
    for metric in ("bleu", "parent"):
        scores = score_items([bare, full], metric)
        assert scores[0] is None and scores[1] is not None and scores[1] > 0
    assert score_items([bare], "overlap")[0] is not None


def fact(words: str) -> Fact:
    part = Part("value", *span(words), words)
    statement = Statement(Count(Rows()), Amount(2.0))
    return Fact("numeric", statement, False, (part,), 0, ((0, 1),), span("Alba scored 41."))


def test_injected_errors_are_found_in_claims_and_exactly_in_words() -> None:
    facts = [fact("12"), fact("May"), fact("rained")]
    errors = [
        InjectedError("NUM", *span("12"), "12", "10", "10", (0,)),
        InjectedError("TMP", *span("May"), "May", "June", "June", (1,)),
        InjectedError("CMP", *span("rained"), "rained", "snowed", "snowed", (2,)),
    ]
    found = verified(
        verdict("Alba scored 41", "contradicted", "41"),
        verdict("Vey scored 12 in May", "contradicted", "12"),
        verdict("It rained", "unscored"),
    )
    counts = count_injected(errors, facts, found)
    assert (counts["rejected"], counts["rejected_right"]) == (2, 1)
    assert (counts["injected"], counts["detected"], counts["exact"]) == (3, 2, 1)
    assert counts["open"] == counts["open CMP"] == 1
    assert counts["detected TMP"] == 1 and counts["exact TMP"] == 0
    assert counts["typed NUM NUM"] == 1
    assert (counts["predicted"], counts["hits"]) == (2, 1)


def test_a_claim_is_rightly_found_wrong_where_a_name_before_it_makes_it_false() -> None:
    """Vey scored 12 is false because of another name, though "scored 12" holds no error."""
    name = InjectedError("ATT", *span("Vey"), "Vey", "Sella", "Sella", (0,))
    opinion = verified(verdict("scored 12", "contradicted", "12"))
    counts = count_injected([name], [fact("12")], opinion)
    assert (counts["rejected_right"], counts["detected"], counts["exact"]) == (1, 1, 0)
    other = count_injected([name], [fact("May")], opinion)
    assert (other["rejected_right"], other["detected"], other["open"]) == (0, 0, 1)
