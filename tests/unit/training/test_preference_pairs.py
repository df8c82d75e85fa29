"""Preference pairs: what stands between the two answers is a finding, and the bytes repeat."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
import yaml
from transformers import AutoTokenizer

from tablemend.config import Source, parse
from tablemend.detector.algorithm import detect_in_answer
from tablemend.detector.errors import ERROR_TYPES
from tablemend.detector.keys import primary_key
from tablemend.detector.query import SortRule
from tablemend.errors import TablemendError
from tablemend.generations import Scored, Stored
from tablemend.mitigations.repair_scorer import RepairScorer
from tablemend.recipe.experiment import DpoExperiment, Experiment, PairsCommand
from tablemend.records import Answer, Example, FinishReason
from tablemend.runs import Run
from tablemend.tables.table import Table
from tablemend.tasks.sources import Chat
from tablemend.tasks.tablehallu import prompts, small_world
from tablemend.tasks.tablehallu.injected_errors import INJECTED_ERRORS
from tablemend.tasks.task import Submission
from tablemend.training.data import PAIRS_FILE, TARGETS_FILE, Pair, read_pairs, render, render_chat
from tablemend.training.pair_generation import PairGenerator, Prompt, make_pairs
from tablemend.training.sft import prepare

ROOT = Path(__file__).parents[3]
EXAMPLES = list(small_world.examples(seed=21, n=60))


@pytest.fixture(autouse=True)
def _at_root(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)


def recipe(*overrides: str) -> DpoExperiment:
    return parse(DpoExperiment, ["recipe=tiny-dpo", *overrides])


def generator(*overrides: str) -> PairGenerator:
    config = recipe(*overrides)
    with config.task_of().scorer() as scorer:
        return PairGenerator(config, scorer)


def scored(text: str, example: Example, finish: FinishReason = "stop") -> Scored:
    answer = Answer(example.id, "sample-0", "adversarial", text, 1, 1, finish)
    with recipe().task_of().scorer() as scorer:
        (judgement,) = scorer.score([Submission(example, "adversarial", text)])
    return Scored(Stored(answer, 0.0), judgement)


def gold(example: Example) -> str:
    return prompts.target(example, "adversarial", "quote")


def with_row(example: Example, cell: str) -> str:
    width = len(example.gold_table.columns)
    return f"{gold(example)}\n|{f' {cell} |' * width}"


@pytest.mark.parametrize("name", INJECTED_ERRORS)
def test_each_injected_error_is_found_as_its_type(name: str) -> None:
    injection = INJECTED_ERRORS[name]
    tried = found = 0
    for number, example in enumerate(EXAMPLES):
        table = injection.make(example, random.Random(number))
        if table is None:
            continue
        tried += 1
        order = SortRule.of(example.constraints)
        text, context = prompts.answer(table), example.adversarial_context
        judgement = detect_in_answer(text, example.gold_table, context, order, "markdown")
        found += injection.type in {finding.type for finding in judgement.findings}
    assert tried >= 10 or name == "wrong result"  # of arithmetic alone
    # shuffled rows may still be in order where the sort column has ties
    assert found >= (0.8 * tried if name == "rows shuffled" else tried)


def test_a_injected_pair_differs_in_its_table_alone_and_carries_the_findings() -> None:
    made = generator()
    pairs = made.pairs_of(Prompt(example, "adversarial", "train") for example in EXAMPLES)
    assert len(pairs) == len(EXAMPLES) and not made.dropped
    assert {finding.type for pair in pairs for finding in pair.findings} == set(ERROR_TYPES)
    for pair, example in zip(pairs, EXAMPLES, strict=True):
        assert pair.example_id == example.id and pair.rejected_source == "injected"
        assert scored(pair.chosen, example).judgement.findings == ()
        assert scored(pair.rejected, example).judgement.findings == pair.findings != ()
        assert INJECTED_ERRORS[str(pair.edit)].type in {finding.type for finding in pair.findings}
        thought, table = pair.chosen.split("</think>")
        other_thought, other_table = pair.rejected.split("</think>")
        assert thought == other_thought and table != other_table
    again = generator().pairs_of(Prompt(example, "adversarial", "train") for example in EXAMPLES)
    assert again == pairs and [Pair.from_json(pair.to_json()) for pair in pairs] == pairs
    assert len({pair.id for pair in pairs}) == len(pairs)


def test_of_the_models_answers_the_first_with_a_finding_is_rejected() -> None:
    example = EXAMPLES[0]
    answers = [
        scored(gold(example), example),
        scored(with_row(example, "Cut"), example, "length"),
        scored("I cannot.", example, "refusal"),
        scored("", example, "error"),
        scored(with_row(example, "First"), example),
        scored(with_row(example, "Second"), example),
    ]
    made = generator()
    (pair,) = made.pairs_of([Prompt(example, "adversarial", "train", answers)])
    assert pair.rejected == answers[4].stored.answer.text
    assert (pair.rejected_source, pair.chosen_source, pair.edit) == ("sampled", "gold", None)
    assert pair.chosen == gold(example) and pair.findings == answers[4].judgement.findings
    assert made.passed_over == {
        "sampled: without a finding": 1,
        "sampled: cut at the token limit": 1,
        "sampled: the model declined": 1,
        "sampled: the request failed": 1,
    }


def test_the_best_own_answer_is_whole_or_it_is_gold() -> None:
    example = next(e for e in EXAMPLES if len(e.gold_table.rows) > 2)
    respelt = gold(example).replace("| ", "|  ")
    short = gold(example).rsplit("\n", 1)[0]
    wrong = scored(with_row(example, "Other"), example)
    assert scored(short, example).judgement.findings == ()  # nothing wrong, and not whole
    made = generator("dpo.pairs.chosen=best")
    prompts = [
        Prompt(example, "adversarial", "train", [scored(text, example), wrong])
        for text in (short, respelt)
    ]
    cut, whole = made.pairs_of(prompts)
    assert (cut.chosen, cut.chosen_source) == (gold(example), "gold")
    assert (whole.chosen, whole.chosen_source) == (respelt, "sampled")


UNLABELLED = ("dpo.pairs.scorer=repair", "dpo.pairs.sampled=1")


def out_of_scope(example: Example, error: str = "row out of scope") -> str:
    """The gold answer with a row of the context that the query leaves out, or another error."""
    table = INJECTED_ERRORS[error].make(example, random.Random(0))
    assert table is not None
    return gold(example).split("####")[0] + prompts.answer(table)


def judged(texts: Sequence[str], example: Example) -> list[Scored]:
    """Answers with what the rule repair says of them."""
    asked = [Submission(example, "adversarial", text) for text in texts]
    judgements = RepairScorer(recipe().task_of()).score(asked)
    return [
        replace(scored(text, example), judgement=found)
        for text, found in zip(texts, judgements, strict=True)
    ]


@pytest.mark.parametrize("unlabelled", [(), UNLABELLED])
def test_a_repaired_answer_differs_from_its_own_where_it_was_edited(
    unlabelled: tuple[str, ...],
) -> None:
    example = EXAMPLES[0]
    text = out_of_scope(example)
    answers = judged([text], example) if unlabelled else [scored(text, example)]
    made = generator("dpo.pairs.chosen=repair", *unlabelled)
    (pair,) = made.pairs_of([Prompt(example, "adversarial", "train", answers)])
    assert (pair.rejected, pair.chosen, pair.chosen_source) == (text, gold(example), "mended")
    assert [finding.type for finding in pair.findings] == ["TMP" if unlabelled else "out_of_range"]
    assert len(set(text.splitlines()) - set(pair.chosen.splitlines())) == 1
    assert made.targets == []  # a row is gone, and nobody knows whether it stood for another
    text = out_of_scope(example, "value left out")
    answers = judged([text], example) if unlabelled else [scored(text, example)]
    (pair,) = made.pairs_of([Prompt(example, "adversarial", "train", answers)])
    (target,) = made.targets
    assert pair.chosen == target["messages"][-1]["content"] == gold(example) != text


def test_what_repair_cannot_make_right_is_no_pair_and_no_target() -> None:
    example = EXAMPLES[0]
    unread, fewer = gold(example).split("####")[0], Table.of(["Name"], [["Aa"]])
    short = unread + prompts.answer(fewer)
    made = generator("dpo.pairs.chosen=repair", *UNLABELLED)
    answers = judged([unread, short], example)
    assert [one.judgement.findings[0].type for one in answers] == ["format_error"] * 2
    assert made.pairs_of([Prompt(example, "adversarial", "train", answers)]) == []
    assert made.targets == []
    assert made.dropped == {"no answer of the model with one to choose beside it": 1}
    assert made.passed_over == {
        "sampled: repair leaves something wrong": 2,
        "sampled: no answer to fine-tune on": 1,
    }


def blanked(example: Example, one_row: bool) -> str:
    """The gold answer with nothing beside its key, in one row or in all."""
    table = example.gold_table
    key = primary_key(table)
    rows = [[c if i == key else None for i, c in enumerate(row)] for row in table.rows]
    kept = table.rows[1:] if one_row else ()
    table = Table.of(table.columns, [*rows[: len(rows) - len(kept)], *kept])
    return prompts.target(replace(example, gold_table=table, facts=()), "adversarial", "off")


@pytest.mark.parametrize("one_row", [False, True])
def test_blanks_are_no_flawless_answers(one_row: bool) -> None:
    task = recipe().task_of()
    for example in EXAMPLES[:20]:
        text = blanked(example, one_row)
        (one,) = judged([text], example)
        assert not task.is_flawless(one.judgement)


def test_the_repair_as_scorer_reads_no_gold() -> None:
    """Another gold table, and other constraints, change nothing."""
    other = EXAMPLES[1]
    results = []
    for example in (
        EXAMPLES[0],
        replace(EXAMPLES[0], gold_table=other.gold_table, constraints=other.constraints, facts=()),
    ):
        made = generator("dpo.pairs.chosen=best", *UNLABELLED)
        answers = judged([out_of_scope(EXAMPLES[0]), gold(EXAMPLES[0])], example)
        pairs = made.pairs_of([Prompt(example, "adversarial", "train", answers)])
        results.append((pairs, made.targets, made.dropped, made.passed_over))
    assert results[0] == results[1]
    ((pair,), (target,), _, _) = results[0]
    assert pair.chosen == target["messages"][-1]["content"] == gold(EXAMPLES[0])


@pytest.mark.parametrize("thinking", ["off", "empty", "quote", "list"])
def test_a_target_is_trained_on_as_the_sample_with_this_answer_is(
    thinking: str, tiny_model: Path
) -> None:
    tokenizer = AutoTokenizer.from_pretrained(tiny_model)
    config = recipe(f"thinking={thinking}")
    other = "off" if thinking != "off" else "quote"
    for example in EXAMPLES[:5]:
        answers = [
            prompts.target(example, "adversarial", one) for one in (other, thinking)
        ]  # one that thinks where none should, or does not where it should, is passed over
        made = generator(f"thinking={thinking}", "dpo.pairs.chosen=best")
        own = [scored(answer, example) for answer in answers]
        made.pairs_of([Prompt(example, "adversarial", "train", own)])
        (target,) = made.targets
        row = render(tokenizer, example, "adversarial", config)
        assert render_chat(tokenizer, Chat.of(target)) == row
        made.pairs_of([Prompt(example, "adversarial", "validation", own)])
        made.pairs_of([Prompt(example, "adversarial", "train", own[:1])])
        assert len(made.targets) == made.passed_over["sampled: no answer to fine-tune on"] == 1


def test_targets_alone_are_trained_on(tmp_path: Path, tiny_model: Path) -> None:
    example = EXAMPLES[0]
    (tmp_path / "answers.jsonl").write_text(json.dumps({"text": gold(example)}))
    facts = make_pairs(
        command(
            tmp_path / "own",
            f"dpo.pairs.model=scripted:{tmp_path / 'answers.jsonl'}",
            "data.train={source: small-world, n: 60, seed: 21}",
            "data.validation=null",
            "dpo.pairs.samples=1",
            "dpo.pairs.chosen=best",
            *UNLABELLED,
        )
    )
    assert (facts["targets"], facts["pairs"]) == (1, 0)
    targets = {"source": str(tmp_path / "own" / TARGETS_FILE), "content": "messages", "share": 1}
    data = yaml.safe_load((ROOT / "recipes" / "tiny.yaml").read_text())
    data["data"]["train"] = {"own": targets}
    (tmp_path / "own.yaml").write_text(yaml.safe_dump(data))
    config = parse(Experiment, [f"recipe={tmp_path / 'own.yaml'}"])
    tokenizer = AutoTokenizer.from_pretrained(tiny_model)
    (row,) = prepare(config, Run(tmp_path / "run"), tokenizer).train
    assert row == render(tokenizer, example, "adversarial", config)
    for held_out in ("validation", "test"):
        held = config.data.model_copy(update={held_out: Source(source="small-world", n=9, seed=21)})
        with pytest.raises(TablemendError, match=rf"data\.{held_out} and data\.train share 1 tab"):
            prepare(config.model_copy(update={"data": held}), Run(tmp_path / "run"), tokenizer)
    follow = config.train.model_copy(update={"prompt": "follow"})
    for update, problem in (
        ({"train": follow}, "train.prompt was 'base', is 'follow'"),
        ({"format": "html"}, "format was 'markdown', is 'html'"),
        ({"thinking": "empty"}, "thinking was 'quote', is 'empty'"),
    ):
        with pytest.raises(TablemendError, match=rf"^data\.train: .*\({re.escape(problem)}\)"):
            prepare(config.model_copy(update=update), Run(tmp_path / "run"), tokenizer)


def command(folder: Path, *overrides: str) -> PairsCommand:
    return parse(
        PairsCommand,
        [
            "recipe=tiny-dpo",
            "data.train={source: small-world, n: 24, seed: 5}",
            "data.validation={source: small-world, n: 6, seed: 2}",
            f"dpo.pairs.path={folder}",
            "dpo.pairs.samples=2",
            "dpo.pairs.sampled=0.5",
            "evaluation.options.cache=null",
            *overrides,
        ],
    )


def test_the_pairs_have_the_same_bytes_and_continue(tmp_path: Path) -> None:
    (tmp_path / "answers.jsonl").write_text('{"text": "nothing"}')
    model = f"dpo.pairs.model=scripted:{tmp_path / 'answers.jsonl'}"
    facts = make_pairs(command(tmp_path / "one", model))
    assert facts["splits"] == {"train": 24, "validation": 6}
    assert facts["asked"] == facts["rejected"]["the model's own"] > 5
    assert sum(facts["rejected"].values()) == facts["pairs"] == 30
    written = (tmp_path / "one" / PAIRS_FILE).read_bytes()
    pairs = read_pairs(tmp_path / "one")
    assert {pair.rejected for pair in pairs if pair.rejected_source == "sampled"} == {"nothing"}
    make_pairs(command(tmp_path / "two", model))
    assert (tmp_path / "two" / PAIRS_FILE).read_bytes() == written
    # an interruption before the pairs are written: every answer is kept but the last
    (tmp_path / "two" / PAIRS_FILE).unlink()
    stored = tmp_path / "two" / "generations" / "sample-1.adversarial.jsonl"
    stored.write_bytes(stored.read_bytes()[:-20])
    spent = make_pairs(command(tmp_path / "two", model))
    assert (tmp_path / "two" / PAIRS_FILE).read_bytes() == written
    manifest = json.loads((tmp_path / "two" / "manifest.json").read_text())
    ((_, used),) = manifest["generate"]["spent"].items()
    assert used["calls" if "calls" in used else "requests"] == 2 * facts["asked"] + 1
    # a second call finds them finished, also with another batch size
    again = make_pairs(command(tmp_path / "two", model, "evaluation.options.batch_size=1"))
    assert (
        again["time"]
        == yaml.safe_load((tmp_path / "two" / "manifest.json").read_text())["preference"]["time"]
    )
    assert spent["pairs_hash"] == again["pairs_hash"]


@pytest.mark.parametrize("name", [PAIRS_FILE, TARGETS_FILE])
def test_a_file_that_was_edited_or_deleted_is_made_again(name: str, tmp_path: Path) -> None:
    (tmp_path / "answers.jsonl").write_text(json.dumps({"text": gold(EXAMPLES[0])}))
    own = command(
        tmp_path / "own",
        f"dpo.pairs.model=scripted:{tmp_path / 'answers.jsonl'}",
        "data.train={source: small-world, n: 9, seed: 21}",
        "dpo.pairs.sampled=1",
        "dpo.pairs.chosen=best",
    )
    assert make_pairs(own)["targets"] == 1
    path = tmp_path / "own" / name
    written = path.read_bytes()
    path.write_bytes(written[:-9])
    make_pairs(own)
    assert path.read_bytes() == written
    path.unlink()
    make_pairs(own)
    assert path.read_bytes() == written


@pytest.mark.parametrize(
    "judged_by", [("dpo.pairs.chosen=repair",), ("dpo.pairs.chosen=best", *UNLABELLED)]
)
def test_pairs_of_another_repair_are_refused(
    judged_by: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "answers.jsonl").write_text(json.dumps({"text": gold(EXAMPLES[0])}))
    drawn = f"dpo.pairs.model=scripted:{tmp_path / 'answers.jsonl'}"
    train = "data.train={source: small-world, n: 9, seed: 21}"
    own = tmp_path / "own", drawn, train, *judged_by
    make_pairs(command(*own))
    monkeypatch.setattr(RepairScorer, "name", "repair/next")
    with pytest.raises(TablemendError, match=r"started with another (scorer|repair)"):
        make_pairs(command(*own))
    make_pairs(command(*own, "overwrite=true"))


def test_other_settings_or_examples_are_refused(tmp_path: Path) -> None:
    make_pairs(command(tmp_path, "dpo.pairs.sampled=0"))
    with pytest.raises(TablemendError, match="seed was 0, is 1"):
        make_pairs(command(tmp_path, "dpo.pairs.sampled=0", "seed=1"))
    manifest = tmp_path / "manifest.json"
    manifest.write_text(manifest.read_text().replace('"examples_hash": "', '"examples_hash": "0'))
    with pytest.raises(TablemendError, match="started with another examples_hash"):
        make_pairs(command(tmp_path, "dpo.pairs.sampled=0"))
    facts = make_pairs(command(tmp_path, "dpo.pairs.sampled=0", "overwrite=true"))
    assert facts["pairs"] == 30 and facts["model"] is None


def test_a_folder_with_something_else_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "generations").mkdir()
    (tmp_path / "manifest.json").write_text("{}")
    for more in ((), ("overwrite=true",)):
        with pytest.raises(TablemendError, match="holds other files than pairs"):
            make_pairs(command(tmp_path, "dpo.pairs.sampled=0", *more))
    assert {path.name for path in tmp_path.iterdir()} == {"generations", "manifest.json"}


@pytest.mark.parametrize(
    ("line", "reason"),
    [("{}", "example_id"), ('{"other": []}', "unknown field other"), ("x", "JSON")],
)
def test_a_damaged_pair_is_named(line: str, reason: str, tmp_path: Path) -> None:
    (tmp_path / PAIRS_FILE).write_text(line + "\n")
    with pytest.raises(TablemendError, match=rf"{PAIRS_FILE}:1 .*{reason}"):
        read_pairs(tmp_path)
