"""From judgements to results.json: what is counted, of what, and who is compared with whom."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tablemend.detector.errors import METRICS
from tablemend.records import ANSWERED_BOTH, UNMOVED, Finding, Judgement, SampleView, Share
from tablemend.reports.tabulation import context_metrics, rate_contexts, summarise, tabulate
from tablemend.statistics import rate_interval


def make_judgement(
    *errors: str, matched: int = 4, abstained: bool = False, unscored: str = ""
) -> Judgement:
    findings = tuple(Finding(error, 0, None, None, None, "made up") for error in errors)
    shares = {"row_recall": Share(matched, 4), "cell_recall": Share(matched, 4)}
    return Judgement(findings, shares, abstained, unscored, "test judge")


WRONG, RIGHT = make_judgement("attribute", matched=0), make_judgement()
UNSCORED = make_judgement(matched=0, unscored="the request failed")


def test_summary_counts_answers_not_findings() -> None:
    rates = summarise(
        [
            make_judgement("attribute", "attribute", "out_of_range", matched=2),
            RIGHT,
            make_judgement(matched=0, abstained=True),
            make_judgement("format_error", matched=0),
        ],
        METRICS,
    )
    assert list(rates) == [metric.name for metric in METRICS]
    found = {name: rate["rate"] for name, rate in rates.items()}
    assert found["attribute"] == found["context_violation"] == found["abstention"] == 0.25
    assert found["total_hallu"] == found["constraint_violation"] == 0.5
    assert found["row_recall"] == pytest.approx(1.5 / 4)
    assert rates["unscored"] == rate_interval(0, 4)


def test_unscored_is_neither_right_nor_wrong() -> None:
    with_them = summarise([WRONG, RIGHT, UNSCORED, UNSCORED], METRICS)
    without = summarise([WRONG, RIGHT], METRICS)
    unscored = with_them.pop("unscored")
    assert with_them == {name: rate for name, rate in without.items() if name != "unscored"}
    assert (unscored["rate"], unscored["n"]) == (0.5, 4)


def compare(systems: dict[str, dict[str, Judgement]], a_table_each: bool = True) -> list[dict]:
    names = {name for own in systems.values() for name in own}
    views = {"clean": {n: SampleView(n, "clean", "", "", "all", text="text") for n in names}}
    tables = {name: name if a_table_each else "one" for name in names}
    judgements = {system: {"clean": own} for system, own in systems.items()}
    return tabulate(judgements, views, METRICS, tables)["paired"]


def test_only_examples_scored_in_both_are_compared() -> None:
    systems = {
        "base": {"e1": WRONG, "e2": WRONG, "e3": UNSCORED, "e4": RIGHT},
        "sft": {"e1": RIGHT, "e2": UNSCORED, "e3": RIGHT, "e4": UNSCORED},
    }
    tests = {test["metric"]: test for test in compare(systems)}
    assert set(tests) == {metric.name for metric in METRICS if metric.kind != "unscored"}
    own = tests["attribute"]
    assert (own["n"], own["a_only"], own["p_holm"]) == (1, 1, 1.0)
    for test in compare({"a": {"e1": RIGHT}, "b": {"e1": UNSCORED}}):
        assert [test[name] for name in ("n", "difference", "p", "p_holm")] == [0, None, None, None]


def test_holm_family_is_one_metric() -> None:
    systems = {
        "base": {f"e{i}": WRONG for i in range(10)},
        "cot": {f"e{i}": WRONG if i else RIGHT for i in range(10)},
        "sft": {f"e{i}": RIGHT for i in range(10)},
    }
    attribute = [test for test in compare(systems) if test["metric"] == "attribute"]
    assert len(attribute) == 3
    strongest = min(attribute, key=lambda test: test["p"])
    assert strongest["p_holm"] == pytest.approx(3 * strongest["p"])


def test_examples_of_one_table_are_one_observation() -> None:
    systems = {
        "base": {f"e{i}": WRONG for i in range(20)},
        "sft": {f"e{i}": RIGHT for i in range(20)},
    }
    (apart,) = (t for t in compare(systems) if t["metric"] == "total_hallu")
    (together,) = (t for t in compare(systems, False) if t["metric"] == "total_hallu")
    assert apart["p"] < 0.001 and together["p"] > 0.9
    assert together["high"] > apart["high"]


def shared(
    contexts: int, said: dict[str, str]
) -> tuple[dict[str, SampleView], dict[str, Judgement]]:
    """Two queries a context, `a` and `b`, which want other rows; what is said to each of them."""
    views = {
        f"{query}{n}": SampleView(
            f"{query}{n}", "clean", "", "", "all", text="t", context_id=f"c{n}", wanted=query
        )
        for n in range(contexts)
        for query in "ab"
    }
    return views, {name: replace(RIGHT, said=said[name[0]]) for name in views}


def test_contexts_are_counted_once_and_clustered_by_table() -> None:
    views, judgements = shared(8, {"a": "a", "b": "b"})
    judgements |= {"a0": WRONG, "b1": make_judgement(matched=3), "a2": UNSCORED, "b3": WRONG}
    own = ANSWERED_BOTH, UNMOVED
    alone = {name: name for name in views}
    found = rate_contexts(judgements, views, own, METRICS, alone)
    # 0 and 3 are wrong, 1 leaves a row out, 2 is unscored; the made-up ones say no rows
    assert found["answered_both"] == (rate_interval(4, 7), 1)
    assert found["unmoved"] == (rate_interval(0, 4), 4)
    tables = {name: "first" if int(name[1]) < 4 else "second" for name in views}
    rate, _ = rate_contexts(judgements, views, own, METRICS, tables)["answered_both"]
    assert rate["rate"] == 4 / 7 and rate["low"] < found["answered_both"][0]["low"]


def test_answers_that_list_the_same_do_not_move() -> None:
    views, judgements = shared(3, {"a": "x", "b": "x"})
    judgements["a0"] = replace(RIGHT, said="y")
    metrics = context_metrics({"clean": views})
    assert metrics == [ANSWERED_BOTH, UNMOVED]
    found = rate_contexts(judgements, views, metrics, METRICS, dict.fromkeys(views, "one"))
    assert (found["unmoved"][0]["rate"], found["unmoved"][0]["n"]) == (2 / 3, 3)
    # queries for the same rows, and texts that differ, are no pair
    for change in ({"wanted": "a"}, {"text": "another"}):
        other = views | {"b0": replace(views["b0"], **change)}
        found = rate_contexts(judgements, other, metrics, METRICS, dict.fromkeys(views, "one"))
        assert found["unmoved"][0]["n"] == 2


def test_nothing_is_shared_where_each_sample_has_its_context() -> None:
    views, _ = shared(3, {"a": "a", "b": "b"})
    assert context_metrics({"clean": {n: v for n, v in views.items() if n[0] == "a"}}) == []
    unknown = {name: replace(view, wanted="") for name, view in views.items()}
    assert context_metrics({"clean": unknown}) == [ANSWERED_BOTH]
