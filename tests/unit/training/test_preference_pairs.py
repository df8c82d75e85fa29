"""Preference pairs: what stands between the two answers is a finding, and the bytes repeat."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest
import yaml

from tablemend.config import parse
from tablemend.datasets.tablehallu import small_world
from tablemend.datasets.tablehallu.injected_errors import INJECTED_ERRORS
from tablemend.detector.algorithm import detect_in_answer
from tablemend.detector.errors import ERROR_TYPES
from tablemend.detector.order import SortRule
from tablemend.errors import TablemendError
from tablemend.generations import Scored, Stored
from tablemend.recipe.experiment import DpoCommand, DpoExperiment, PairsCommand
from tablemend.records import Answer, Example, FinishReason
from tablemend.tasks import tablehallu
from tablemend.training.pair_generation import PairGenerator, Prompt, make_pairs
from tablemend.training.pairs import FILE, Pair, read_pairs

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
    order = SortRule.of(example.constraints)
    judgement = detect_in_answer(
        text, example.gold_table, example.adversarial_context, order, "markdown"
    )
    return Scored(Stored(answer, 0.0), judgement)


def gold(example: Example) -> str:
    return tablehallu.target(example, "adversarial", "quote")


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
        text, context = tablehallu.answer(table), example.adversarial_context
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
    written = (tmp_path / "one" / FILE).read_bytes()
    pairs = read_pairs(tmp_path / "one")
    assert {pair.rejected for pair in pairs if pair.rejected_source == "sampled"} == {"nothing"}
    make_pairs(command(tmp_path / "two", model))
    assert (tmp_path / "two" / FILE).read_bytes() == written
    # an interruption before the pairs are written: every answer is kept but the last
    (tmp_path / "two" / FILE).unlink()
    stored = tmp_path / "two" / "generations" / "sample-1.adversarial.jsonl"
    stored.write_bytes(stored.read_bytes()[:-20])
    spent = make_pairs(command(tmp_path / "two", model))
    assert (tmp_path / "two" / FILE).read_bytes() == written
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
    (tmp_path / FILE).write_text(line + "\n")
    with pytest.raises(TablemendError, match=rf"{FILE}:1 .*{reason}"):
        read_pairs(tmp_path)


@pytest.mark.parametrize(
    ("override", "path"),
    [
        ("train.packing=true", "train.packing"),
        ("dpo.pairs.path=x/pairs.jsonl", "dpo.pairs.path"),
        ("train.lora={r: 4, dropout: 0.1}", "train.lora.dropout"),
        ("train.trl.max_length=64", "train.trl.max_length"),
    ],
)
def test_what_preferences_cannot_have_is_refused_at_its_path(override: str, path: str) -> None:
    overrides = [override, "train.method=lora"] if "lora" in override else [override]
    with pytest.raises(TablemendError) as caught:
        parse(DpoCommand, ["recipe=tiny-dpo", *overrides])
    assert path in str(caught.value)
