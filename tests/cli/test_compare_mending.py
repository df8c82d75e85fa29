"""Systems that edit another system's answers: what they see, what is stored and done again."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from tablemend.config import parse
from tablemend.evaluation.command import CompareCommand
from tablemend.evaluation.compare import mend
from tablemend.evaluation.generating import generate
from tablemend.evaluation.scoring import score, scorers, write_results
from tablemend.evaluation.systems import begin, problems, read_test, refuse, resolve
from tablemend.evidence.source import Source
from tablemend.generations import ScoredSystems
from tablemend.mitigations.edits import Draft, Mended, Tools
from tablemend.mitigations.mitigation import MITIGATIONS, PostEdit
from tablemend.records import Example
from tablemend.runs import Run
from tablemend.tables.table import Table
from tablemend.tasks.tablehallu import prompts, small_world
from tests.support.answering import AnsweringServer, asked, evaluation

SEED = 13
"""Of six contexts whose queries all have two rows or more, so that rows can be out of order."""
EXAMPLES = list(small_world.examples(seed=SEED, n=6))


def misled(body: dict[str, Any]) -> str:
    """The gold table upside down, below a distractor's row."""
    example, _ = asked(body, EXAMPLES)
    gold = example.gold_table
    names = {cell for row in gold.rows for cell in row}
    distractors = [f for f in example.facts if f.violates is not None and f.entity not in names]
    row = {fact.column: fact.value for fact in distractors if fact.row == distractors[0].row}
    (key,) = [
        column
        for column, cells in zip(gold.columns, zip(*gold.rows, strict=True), strict=True)
        if set(cells) == {fact.entity for fact in example.facts if fact.violates is None}
    ]
    row[key] = distractors[0].entity
    stray = [row.get(column) for column in gold.columns]
    return prompts.answer(Table.of(gold.columns, [stray, *gold.rows[::-1]]))


@pytest.fixture
def server() -> Iterator[AnsweringServer]:
    with AnsweringServer(misled) as started:
        yield started


@pytest.fixture
def recipe(tmp_path: Path, server: AnsweringServer) -> Callable[..., list[str]]:
    test = {"n": 6, "seed": SEED}
    return lambda systems: evaluation(tmp_path, server.model, systems, test, max_new_tokens=300)


SYSTEMS: dict[str, dict[str, Any]] = {
    "base": {},
    "repair": {"after": "base", "mitigation": "repair"},
}


def compare(tokens: list[str]) -> tuple[ScoredSystems, dict[str, Any]]:
    config = parse(CompareCommand, tokens)
    run = Run.of(config)
    examples = read_test(config)
    systems = resolve(config, run)
    if not config.rescore:
        refuse(problems(config, systems))
        begin(config, run, examples)
        generate(systems, examples, config, run)
        mend(systems, examples, config, run)
    with scorers(systems) as scoring:
        scored = score(systems, examples, config, run, scoring)
    return scored, write_results(scored, systems, examples, config, run)


def hallucinated(scored: ScoredSystems, system: str) -> int:
    return sum(one.judgement.hallucinated for one in scored[system]["adversarial"].values())


def test_repair_mends_the_stored_answers_and_asks_nobody(
    recipe: Callable[..., list[str]], server: AnsweringServer
) -> None:
    scored, results = compare(recipe(SYSTEMS))
    assert len(server.bodies) == len(EXAMPLES)
    assert hallucinated(scored, "base") == len(EXAMPLES)
    assert hallucinated(scored, "repair") <= 1
    recalls = [
        one.judgement.share("row_recall") for one in scored["repair"]["adversarial"].values()
    ]
    assert recalls == [1.0] * len(EXAMPLES)
    base, repair = (results["cost"][system]["adversarial"] for system in ("base", "repair"))
    assert repair["edits"] >= len(EXAMPLES) and base["edits"] == 0
    assert repair["calls"] == base["calls"] == len(EXAMPLES)
    assert repair["prompt_tokens"] == base["prompt_tokens"]
    assert repair["seconds"] >= base["seconds"]
    assert results["settings"]["repair"]["mend"] == "repair"


def test_cave_mends_by_a_model_and_counts_its_calls(
    recipe: Callable[..., list[str]], server: AnsweringServer, model_server: Callable[..., str]
) -> None:
    systems = {"base": {}, "cave": {"after": "base", "mitigation": "cave", "model": model_server()}}
    scored, results = compare(recipe(systems))
    assert len(server.bodies) == len(EXAMPLES)
    assert hallucinated(scored, "base") == len(EXAMPLES)
    findings = [
        finding.type
        for one in scored["cave"]["adversarial"].values()
        for finding in one.judgement.findings
    ]
    assert findings.count("order_mismatch") == len(EXAMPLES)  # CAVE sorts nothing
    assert len(findings) <= len(EXAMPLES) + 1
    base, cave = (results["cost"][system]["adversarial"] for system in ("base", "cave"))
    assert cave["edits"] >= len(EXAMPLES) - 1 and cave["calls"] > base["calls"]
    assert cave["prompt_tokens"] > base["prompt_tokens"]
    compare(recipe(systems))
    assert len(server.bodies) == len(EXAMPLES)  # nothing is asked for twice


def test_the_mender_never_sees_the_gold(
    recipe: Callable[..., list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[Draft] = []

    def spy(drafts: Sequence[Draft], tools: Tools) -> list[Mended]:
        seen.extend(drafts)
        return [Mended(draft.text) for draft in drafts]

    monkeypatch.setitem(MITIGATIONS, "repair", PostEdit(spy, "spy", "spy"))
    compare(recipe(SYSTEMS))
    assert len(seen) == len(EXAMPLES)
    by_query = {example.query: example for example in EXAMPLES}
    for draft in seen:
        assert set(draft._fields) == {"text", "evidence", "format", "name"}
        example = by_query[draft.evidence.query]
        assert draft.name == example.id  # a hash: for messages alone
        assert draft.evidence == Source(text=example.adversarial_context, query=example.query)


def test_answers_that_failed_or_were_cut_stay_as_they_are(
    recipe: Callable[..., list[str]], server: AnsweringServer
) -> None:
    first, second = EXAMPLES[:2]
    faults: dict[str, Any] = {first.id: 500, second.id: {"finish_reason": "length"}}

    def reply(body: dict[str, Any]) -> Any:
        example: Example = asked(body, EXAMPLES)[0]
        fault = faults.get(example.id)
        if isinstance(fault, dict):
            return fault | {"message": {"content": misled(body)}}
        return fault or misled(body)

    server.reply = reply
    scored, _ = compare(recipe(SYSTEMS))
    failed, cut = (scored["repair"]["adversarial"][e.id] for e in (first, second))
    assert failed.judgement.unscored and failed.stored.edits == 0
    assert [finding.type for finding in cut.judgement.findings] == ["format_error"]
    faults.clear()
    scored, _ = compare(recipe(SYSTEMS))  # asks again what failed, and mends it now
    assert scored["repair"]["adversarial"][first.id].stored.edits > 0
