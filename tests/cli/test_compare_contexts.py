"""Several queries about one context: asked side by side, and compared with one another."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tablemend.config import parse
from tablemend.evaluation.command import CompareCommand
from tablemend.evaluation.compare import compare as compare_systems
from tablemend.records import Example
from tablemend.reports.content import DASH
from tablemend.reports.report import write_reports
from tablemend.runs import Run, write_jsonl
from tablemend.statistics import rate_interval
from tablemend.tables.table import Table
from tablemend.tasks.tablehallu import prompts, small_world
from tests.support.answering import AnsweringServer, asked, evaluation, right_answer
from tests.support.empty_gold import COLUMNS, NONE, ONE, TWO
from tests.support.results import examples_in

OTHERS = [one for one in small_world.examples(3, 12) if len(one.gold_table.rows) > 1][:2]
EXAMPLES = [TWO, OTHERS[0], ONE, OTHERS[1], NONE]
NAMES = {"invents_rows", "answered_both", "unmoved"}


def reply(body: dict[str, Any]) -> str | int:
    """As the prompt strategy says: right, or the same rows to each query, or a failure."""
    example, _ = asked(body, EXAMPLES)
    if prompts.EMPHASES["careful"] in body["messages"][-1]["content"]:
        return prompts.answer(TWO.gold_table)
    if prompts.EMPHASES["follow"] in body["messages"][-1]["content"] and example is TWO:
        return 500
    return right_answer(body, EXAMPLES)


@pytest.fixture
def server() -> Iterator[AnsweringServer]:
    with AnsweringServer(reply) as started:
        yield started


def compare(folder: Path, server: AnsweringServer, examples: list[Example]) -> dict[str, Any]:
    write_jsonl(folder / "test.jsonl", [one.to_json() for one in examples])
    systems = {"right": {}, "ignores": {"prompt": "careful"}, "fails": {"prompt": "follow"}}
    test: Any = {"source": str(folder / "test.jsonl"), "n": len(examples)}
    contexts = ["clean", "adversarial"]
    tokens = evaluation(
        folder, server.model, systems, test, options={"concurrency": 1}, contexts=contexts
    )
    config = parse(CompareCommand, tokens)
    compare_systems(config)
    return write_reports(Run.of(config).path)


def test_how_answers_follow_the_query(tmp_path: Path, server: AnsweringServer) -> None:
    results = compare(tmp_path, server, EXAMPLES)
    own = {name: kinds["adversarial"] for name, kinds in results["systems"].items()}
    rates = {name: {one: rate[one] for one in NAMES} for name, rate in own.items()}
    assert rates["right"] == {  # the samples are of one table: intervals are those of one
        "invents_rows": rate_interval(0, 2, 2.0),
        "answered_both": rate_interval(1, 1),
        "unmoved": rate_interval(0, 3, 3.0),
    }
    assert {name: rate["rate"] for name, rate in rates["ignores"].items()} == {
        "invents_rows": 1.0,
        "answered_both": 0.0,
        "unmoved": 1.0,
    }
    # a failed request leaves its context out, and its pairs with the other two
    assert [rates["fails"][name]["n"] for name in sorted(NAMES)] == [0, 2, 1]
    assert results["left_out"]["fails"]["adversarial"] == {"answered_both": 1, "unmoved": 2}
    assert results["left_out"]["right"]["adversarial"] == {"answered_both": 0, "unmoved": 0}
    # each clean context is that of one query: nothing to move
    assert results["systems"]["right"]["clean"]["unmoved"]["n"] == 0
    assert results["systems"]["right"]["clean"]["answered_both"]["rate"] == 1.0
    assert not {test["metric"] for test in results["paired"]} & {"answered_both", "unmoved"}


def test_the_reports_show_it(tmp_path: Path, server: AnsweringServer) -> None:
    compare(tmp_path, server, EXAMPLES)
    text = (tmp_path / "run" / "report.md").read_text()
    page = (tmp_path / "run" / "report.html").read_text()
    assert re.search(rf"\| Answered both ways +\| 100.0 .*\| +0.0 .*\| +{DASH} \|", text)
    assert re.search(r"\| Answered both ways \(n\) +\| +1 \| +1 \| +0, 1 left out \|", text)
    assert re.search(
        r"\| Invents rows for a query of one or none \(n\) +\| +2 \| +2 \| +2 \|", text
    )
    for title in ("Answers that do not move with the query", "invents rows", "both ways"):
        assert title in page
    (shown,) = [one for one in examples_in(page) if (one["id"], one["view"]) == (NONE.id, "clean")]
    assert shown["gold"] == NONE.gold_table.to_json()


def test_without_shared_contexts_nothing_is_said_of_them(
    tmp_path: Path, server: AnsweringServer
) -> None:
    results = compare(tmp_path, server, [OTHERS[0], TWO])
    assert not NAMES & {metric["name"] for metric in results["metrics"]}
    text = (tmp_path / "run" / "report.md").read_text()
    assert "both ways" not in text and "invents rows" not in text


def test_queries_about_one_context_are_asked_side_by_side(
    tmp_path: Path, server: AnsweringServer
) -> None:
    compare(tmp_path, server, EXAMPLES)
    order = [
        (EXAMPLES.index(one), view) for one, view in (asked(b, EXAMPLES) for b in server.bodies)
    ]
    shown = list(dict.fromkeys(order))
    assert [number for number, view in shown if view == "adversarial"] == [0, 2, 4, 1, 3]
    assert shown[:3] == [(0, "adversarial"), (2, "adversarial"), (4, "adversarial")]
    # and of each query all systems together
    assert [order.count(one) for one in shown] == [3] * len(shown)
    assert [one for one, _ in zip(order[::3], shown, strict=True)] == shown


def test_rows_are_compared_by_their_names(tmp_path: Path, server: AnsweringServer) -> None:
    """Other cells beside the same names are the same rows; an unreadable answer has none."""
    wrong = Table.of(COLUMNS, [["Birch", "Oslo", "7"], ["Alder", None, "9"]])
    said = {TWO.id: prompts.answer(TWO.gold_table), ONE.id: prompts.answer(wrong)}
    server.reply = lambda body: said.get(asked(body, EXAMPLES)[0].id, "There are none.")
    results = compare(tmp_path, server, [TWO, ONE, NONE])
    rate = results["systems"]["right"]["adversarial"]["unmoved"]
    assert (rate["rate"], rate["n"]) == (1.0, 1)
    assert results["left_out"]["right"]["adversarial"]["unmoved"] == 2
