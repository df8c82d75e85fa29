"""Table summaries as a task: scored by STAF, edited, compared and trained like tables."""

from __future__ import annotations

import json
import random
import runpy
import shutil
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml

from tablemend.config import ConfigError, Source, parse
from tablemend.datasets.tabfaith.dataset import make_dataset
from tablemend.datasets.tabfaith.examples import TabFaithExample
from tablemend.datasets.tabfaith.settings import TabFaith
from tablemend.errors import NoTarget, TablemendError
from tablemend.evaluation.command import CompareCommand
from tablemend.evaluation.compare import compare
from tablemend.evidence.source import Source as Evidence
from tablemend.mitigations import cave_table, cave_text, repair_table, repair_text
from tablemend.mitigations.mitigation import MITIGATIONS, PostEdit
from tablemend.records import CLAIM_ERRORS, SampleView
from tablemend.reports.report import write_reports
from tablemend.runs import Run, read_jsonl
from tablemend.tasks.table_summary import TableSummary
from tablemend.tasks.task import Submission, TaskOptions
from tests.unit.config.test_config import count_most

ROOT = Path(__file__).parents[3]
TASK = TableSummary()
N = 12


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("tabfaith")
    sizes = {"general": 20, "financial": 10, "clinical": 20, "operations": 10}
    shares = {"train": 0.6, "validation": 0.0, "test": 0.4}
    settings = {"sizes": sizes, "shares": shares, "out": str(out), "seed": 3}
    make_dataset(TabFaith.model_validate(settings), lambda n: None)
    return out


@pytest.fixture(scope="module")
def samples(folder: Path) -> list[TabFaithExample]:
    return [
        one
        for split in ("train", "test")
        for one in TASK.samples(Source(source=str(folder), split=split))
    ]


def scored(texts: Sequence[tuple[TabFaithExample, str]]) -> list[Any]:
    with TASK.scorer() as scorer:
        return list(scorer.score([Submission(one, "table", text) for one, text in texts]))


def test_faithful_summaries_are_clean_and_errors_are_found(samples: list[TabFaithExample]) -> None:
    found = scored([(one, one.summary) for one in samples])
    wrong = [
        judgement.hallucinated == (one.label == "faithful")
        for one, judgement in zip(samples, found, strict=True)
    ]
    assert sum(wrong) <= len(samples) // 20
    for one, judgement in zip(samples, found, strict=True):
        for finding in judgement.findings:
            assert finding.type in CLAIM_ERRORS
            assert one.summary[finding.start : finding.end] == finding.got


def test_places_are_those_of_the_raw_answer(samples: list[TabFaithExample]) -> None:
    one = next(one for one in samples if one.label == "unfaithful")
    thought = "<think>\nLet me see: 1999.\n</think>\n\n"
    plain, thinking = scored([(one, one.summary), (one, thought + one.summary)])
    assert plain.findings and len(plain.findings) == len(thinking.findings)
    for short, long in zip(plain.findings, thinking.findings, strict=True):
        assert short.got == long.got and long.start == short.start + len(thought)


def test_what_says_nothing_abstains_and_what_cannot_be_scored_is_unscored(
    samples: list[TabFaithExample],
) -> None:
    silent, vague = scored([(samples[0], ""), (samples[0], "Life is what happens, they say.")])
    assert silent.abstained and not silent.findings and not silent.unscored
    assert vague.abstained or vague.unscored
    with TASK.scorer() as scorer:
        (failed,) = scorer.score([Submission(samples[0], "table", "", "timeout")])
    assert failed.unscored == "no answer: timeout" and not failed.shares


def test_only_faithful_summaries_are_taught(samples: list[TabFaithExample]) -> None:
    for one in samples:
        if one.label == "faithful":
            assert TASK.target(one, "table", "off") == one.summary
            assert TASK.target(one, "table", "empty").endswith(f"</think>\n\n{one.summary}")
        else:
            with pytest.raises(NoTarget, match="its summary is unfaithful"):
                TASK.target(one, "table", "off")
    with pytest.raises(TablemendError, match="thinking=quote has no target in table_summary"):
        TASK.target(samples[0], "table", "quote")


def test_gold_earns_the_whole_reward_and_less_or_wrong_earns_less(
    samples: list[TabFaithExample],
) -> None:
    reward = TASK.reward({}, "off", "base")
    paid = missed = tried = 0
    for one in samples:
        try:
            gold = reward.gold(one, "table")
        except NoTarget:
            continue
        paid += 1
        assert reward.score(one, "table", gold).reward == 1.0
        sentence = gold[: one.facts[0].sentence.end]
        if len({fact.sentence for fact in one.facts}) > 1:
            assert 0 < reward.score(one, "table", sentence).reward < 1.0
        assert reward.score(one, "table", "").reward == 0.0
        for made in TASK.corruptions(one, "table", gold, CLAIM_ERRORS, random.Random(1)):
            assert made.text != gold
            tried += 1
            missed += reward.score(one, "table", made.text).reward == 1.0
    assert paid > 20 and missed / tried < 0.15  # what the verifier does not see it pays for


def test_corruptions_are_found_and_typed(samples: list[TabFaithExample]) -> None:
    faithful = [one for one in samples if one.label == "faithful"]
    made = [
        (one, corruption)
        for one in faithful
        for corruption in TASK.corruptions(
            one, "table", one.summary, CLAIM_ERRORS, random.Random(0)
        )
    ]
    assert {corruption.type for _, corruption in made} == set(CLAIM_ERRORS)
    found = scored([(one, corruption.text) for one, corruption in made])
    right = sum(
        corruption.type in judgement.counts
        for (_, corruption), judgement in zip(made, found, strict=True)
    )
    assert right / len(made) > 0.75


def test_the_published_recipe_reads_the_set_and_its_prompts_fit(
    samples: list[TabFaithExample],
) -> None:
    config = parse(CompareCommand, [f"recipe={ROOT / 'recipes' / 'tabfaith-eval.yaml'}"])
    made = yaml.safe_load((ROOT / "recipes" / "tabfaith.yaml").read_text())
    data = config.data
    for source, split in (
        (data.training_sources[0], "train"),
        (data.validation, "validation"),
        (data.test, "test"),
    ):
        assert source is not None
        assert (source.source, source.split, source.n) == (made["out"], split, None)
    chats = [TASK.messages(one, "table", prompt) for one in samples for prompt in TASK.prompts]
    longest = max(sum(count_most(turn["content"]) for turn in chat) for chat in chats)
    assert config.model.context_length is not None
    assert longest + 60 + config.evaluation.max_new_tokens <= config.model.context_length


def test_a_mitigation_sees_the_table_alone(samples: list[TabFaithExample]) -> None:
    one = samples[0]
    assert TASK.evidence(one, "table") == Evidence((one.table,))
    shown = TASK.show(one, "table")
    assert SampleView.from_json(json.loads(json.dumps(shown.to_json()))) == shown
    assert shown.length == len(one.table.rows) * len(one.table.columns)
    assert one.summary not in str(TASK.messages(one, "table", "careful"))


@pytest.fixture(scope="module")
def model(tiny_model: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The random model with a window that tables fit into."""
    copy = tmp_path_factory.mktemp("model") / "long"
    shutil.copytree(tiny_model, copy)
    for name, key in (
        ("config.json", "max_position_embeddings"),
        ("tokenizer_config.json", "model_max_length"),
    ):
        path = copy / name
        path.write_text(json.dumps(json.loads(path.read_text()) | {key: 4096}))
    return copy


@pytest.fixture
def recipe(tmp_path: Path, folder: Path, model: Path) -> Callable[..., list[str]]:
    """The published recipe on this set, with a small model and these systems."""

    def write(systems: dict[str, Any], **more: Any) -> list[str]:
        content = yaml.safe_load((ROOT / "recipes" / "tabfaith-eval.yaml").read_text())
        content["model"] = {"path": str(model), "context_length": 4096}
        for part in ("train", "test"):
            content["data"][part] = {"source": str(folder), "split": part}
        content["data"]["validation"] = None
        content["train"] = {
            "max_steps": 2,
            "learning_rate": 1e-3,
            "global_batch": 4,
            "micro_batch": 2,
        }
        content["evaluation"] |= {
            "systems": systems,
            "n": N,
            "max_new_tokens": 256,
            "backend": "hf",
        }
        content |= more
        path = tmp_path / "summaries.yaml"
        path.write_text(yaml.safe_dump(content))
        return [f"recipe={path}", f"run={tmp_path / 'run'}"]

    return write


def test_the_comparison_before_and_after_editing(
    recipe: Callable[..., list[str]], tmp_path: Path, model_server: Callable[..., str]
) -> None:
    """TabFaith, Table 3 and Figure 2, by a server that makes errors in half of its summaries."""
    model = model_server("--faults=injected-error:0.5", "--seed=1")
    systems = {
        "base": {"model": model},
        "careful": {"model": model, "prompt": "careful"},
        "repair": {"after": "base", "mitigation": "repair"},
        "cave": {"after": "base", "mitigation": "cave", "model": model_server()},
    }
    config = parse(CompareCommand, recipe(systems))
    results = compare(config)
    assert results["task"] == "table_summary" and results["format"] is None
    own = {system: kinds["table"] for system, kinds in results["systems"].items()}
    assert own["base"]["total_hallu"]["n"] == N
    assert 0 < own["base"]["total_hallu"]["rate"] < 1
    for system in ("repair", "cave"):
        assert own[system]["total_hallu"]["rate"] < own["base"]["total_hallu"]["rate"]
        assert own[system]["staf"]["rate"] > own["base"]["staf"]["rate"]
        cost = results["cost"][system]["table"]
        assert 0 < cost["edited"] <= N and sum(cost["passes"].values()) == N
    assert results["cost"]["cave"]["table"]["calls"] > N
    write_reports(tmp_path / "run")
    for name in ("report.md", "report.html"):
        text = (tmp_path / "run" / name).read_text(encoding="utf-8")
        for words in ("STAF", "Numerical error", "Before and after editing", "base to cave"):
            assert words in text, (name, words)
        assert "Row recall" not in text
    lines = list(read_jsonl(tmp_path / "run" / "judgements.jsonl"))
    assert len(lines) == 4 * N
    assert all(bool(line["shares"]) != bool(line["unscored"]) for line in lines)


def test_another_verifier_judges_the_stored_summaries(
    recipe: Callable[..., list[str]], model_server: Callable[..., str]
) -> None:
    tokens = recipe({"base": {"model": model_server("--faults=injected-error:0.5", "--seed=1")}})
    first = compare(parse(CompareCommand, tokens))
    verifier = f"evaluation.verifier=llm:{model_server()}"
    again = compare(parse(CompareCommand, [*tokens, verifier, "rescore=true"]))
    assert first["scorer"].startswith("program/") and again["scorer"].startswith("llm:")
    rates = [one["systems"]["base"]["table"] for one in (first, again)]
    assert [one["staf"]["n"] + round(one["unscored"]["rate"] * N) for one in rates] == [N, N]
    assert rates[0]["staf"]["rate"] != rates[1]["staf"]["rate"]  # three cells show it less


def test_fine_tuning_teaches_faithful_summaries_alone(
    recipe: Callable[..., list[str]],
    tmp_path: Path,
    samples: list[TabFaithExample],
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    tokens = recipe({"base": {}, "sft": {"model": "sft"}})
    monkeypatch.chdir(ROOT)
    run_script("train/sft.py", tokens, monkeypatch)
    facts = Run(tmp_path / "run").recorded("sft")
    train = TASK.samples(Source(source=str(folder), split="train"))
    unfaithful = sum(one.label != "faithful" for one in train)
    assert facts["dropped"]["no target: its summary is unfaithful"] == unfaithful
    assert facts["rows"] + sum(facts["dropped"].values()) == len(train)
    results = compare(parse(CompareCommand, [*tokens, "evaluation.n=2"]))
    assert set(results["systems"]) == {"base", "sft"}


def run_script(script: str, tokens: Sequence[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", [script, *tokens])
    try:
        runpy.run_path(script, run_name="__main__")
    except SystemExit as end:
        assert not end.code, script


def test_what_is_said_again_pays_nothing(samples: list[TabFaithExample]) -> None:
    one = next(one for one in samples if one.label == "faithful" and len(one.facts) > 2)
    sentence = one.summary[one.facts[0].sentence.start : one.facts[0].sentence.end]
    reward = TASK.reward({}, "off", "base")
    once = reward.score(one, "table", sentence).reward
    again = reward.score(one, "table", " ".join([sentence] * 3)).reward
    assert 0 < again < once < 1


def test_a_text_that_no_extractor_could_take_apart_is_unscored(
    samples: list[TabFaithExample], model_server: Callable[..., str]
) -> None:
    failing = f"llm:{model_server('--faults=refusal:1')}"
    task = TableSummary(TaskOptions(extractor=failing))
    with task.scorer() as scorer:
        (found,) = scorer.score([Submission(samples[0], "table", samples[0].summary)])
    assert found.unscored.startswith("no claims") and not found.abstained


def test_versions_of_edits_are_those_of_their_modules() -> None:
    repair, by_model = MITIGATIONS["repair"], MITIGATIONS["cave"]
    assert isinstance(repair, PostEdit) and isinstance(by_model, PostEdit)
    assert (repair.text, repair.table) == (repair_text.VERSION, repair_table.VERSION)
    assert (by_model.text, by_model.table) == (cave_text.VERSION, cave_table.VERSION)


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("evaluation.systems.base.mitigation=spans", "spans is for answers that are tables"),
        ("evaluation.systems.base.prompt=cot", "table_summary has no prompt 'cot'; it has base"),
        ("evaluation.contexts=[clean]", "table_summary has no context 'clean'; it has table"),
        ("task=table_sumary", r"no task 'table_sumary'; did you mean table_summary\?"),
    ],
)
def test_what_summaries_do_not_have_is_refused(
    recipe: Callable[..., list[str]], override: str, message: str
) -> None:
    with pytest.raises(ConfigError, match=message):
        parse(CompareCommand, [*recipe({"base": {}}), override])


def test_the_small_world_has_no_summaries() -> None:
    with pytest.raises(TablemendError, match=r"small-world .*: python data_gen/tabfaith\.py"):
        TASK.samples(Source(source="small-world", n=4))
