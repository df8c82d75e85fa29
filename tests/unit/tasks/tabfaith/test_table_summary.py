"""Table summaries as a task: scored by STAF, taught, paid and edited."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml

from tablemend.config import BackendOptions, Source, parse
from tablemend.errors import NoTarget, TablemendError
from tablemend.evaluation.command import CompareCommand
from tablemend.mitigations import cave, repair_table, repair_text
from tablemend.mitigations.mitigation import MITIGATIONS, PostEdit
from tablemend.mitigations.repair_scorer import RepairScorer
from tablemend.records import CLAIM_ERRORS
from tablemend.tables.read import write_table
from tablemend.tasks.tabfaith.data import TabFaith, make_dataset
from tablemend.tasks.tabfaith.task import TabFaithExample, TableSummary
from tablemend.tasks.task import Submission, TaskOptions
from tests.unit.config.test_config import count_most

ROOT = Path(__file__).parents[4]
TASK = TableSummary()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("tabfaith")
    sizes = {"general": 8, "financial": 6, "clinical": 8, "operations": 6}
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


def test_the_repair_calls_no_text_without_a_claim_flawless(samples: list[TabFaithExample]) -> None:
    texts = ["Thank you.", "This is a wonderful table of nice things.", samples[0].summary, ""]
    asked = [Submission(samples[0], "table", text) for text in texts]
    found = list(RepairScorer(TASK).score(asked))
    assert [TASK.is_flawless(one) for one in found] == [False, False, True, False]


def test_faithful_summaries_are_clean_and_errors_are_found(samples: list[TabFaithExample]) -> None:
    found = scored([(one, one.summary) for one in samples])
    wrong = [
        judgement.hallucinated == (one.label == "faithful")
        for one, judgement in zip(samples, found, strict=True)
    ]
    assert sum(wrong) <= len(samples) // 10
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


def test_a_thought_without_an_end_and_a_table_are_no_summaries(
    samples: list[TabFaithExample],
) -> None:
    one = samples[0]
    table = write_table(one.table, "markdown")
    thought = "<think>\nHm.\n</think>\n\n"
    texts = (f"<think>\n{one.summary}", table, thought + table, f"{thought}<think>{one.summary}")
    found = scored([(one, text) for text in texts])
    why = [judgement.unscored.removeprefix("no answer: ") for judgement in found]
    endless, only_table = "its thinking never ends", "a table, no text"
    assert why == [endless, only_table, only_table, endless]
    (silent,) = scored([(one, thought.rstrip())])
    assert silent.abstained and not silent.unscored
    assert not any(judgement.shares or judgement.abstained for judgement in found)
    (whole,) = scored([(one, f"{one.summary}\n\n{table}")])
    assert not whole.unscored
    reward = TASK.reward({}, "off", "base")
    assert [reward.score(one, "table", text).reward for text in texts] == [0] * 4


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
    assert paid >= 10 and missed / tried < 0.15  # what the verifier does not see it pays for


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
    failing = f"llm:{model_server('refusal:1')}"
    task = TableSummary(TaskOptions(extractor=failing, backend=BackendOptions(cache=None)))
    with task.scorer() as scorer:
        (found,) = scorer.score([Submission(samples[0], "table", samples[0].summary)])
    assert found.unscored.startswith("no claims") and not found.abstained


def test_versions_of_edits_are_those_of_their_modules() -> None:
    repair, by_model = MITIGATIONS["repair"], MITIGATIONS["cave"]
    assert isinstance(repair, PostEdit) and isinstance(by_model, PostEdit)
    assert (repair.text, repair.table) == (repair_text.VERSION, repair_table.TABLE_VERSION)
    assert (by_model.text, by_model.table) == (cave.TEXT_VERSION, cave.TABLE_VERSION)
