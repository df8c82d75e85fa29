"""TabFaith sets: files, splits, restarts, settings, and summaries by a model."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import yaml

from tablemend.config import ConfigError, parse
from tablemend.tasks.tabfaith.data import TabFaith, make_dataset, plan_example
from tablemend.tasks.tabfaith.task import TabFaithExample

SMALL = {"general": 18, "financial": 6, "clinical": 6, "operations": 6}
FILES = ("train.jsonl", "validation.jsonl", "test.jsonl")


def settings(out: Path, **given: Any) -> TabFaith:
    data = {"out": str(out), "sizes": SMALL, "seed": 4, **given}
    return TabFaith.model_validate(data)


def nothing(_: int) -> None:
    return None


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("tabfaith") / "set"
    make_dataset(settings(out), nothing)
    return out


def examples_of(folder: Path, *names: str) -> list[TabFaithExample]:
    paths = [folder / name for name in names or FILES]
    lines = [line for path in paths if path.exists() for line in path.read_text().splitlines()]
    return [TabFaithExample.from_json(json.loads(line)) for line in lines]


def test_numbers_labels_and_domains_are_those_asked_for(made: Path) -> None:
    examples = examples_of(made)
    assert Counter(one.domain for one in examples) == SMALL
    assert Counter(one.label for one in examples) == {"faithful": 24, "unfaithful": 12}
    assert all(bool(one.errors) == (one.label == "unfaithful") for one in examples)
    assert all(1 <= len(one.errors) <= 5 for one in examples if one.errors)
    assert len({one.id for one in examples}) == 36
    counts = json.loads((made / "counts.json").read_text())
    assert counts["examples"] == {"asked": 36, "made": 36}
    assert counts["counts"]["errors"] == sum(len(one.errors) for one in examples)


def test_the_papers_numbers_are_the_default() -> None:
    config = TabFaith()
    tasks = [plan_example(config, number) for number in range(config.sizes.total)]
    assert Counter(task.domain for task in tasks) == {
        "general": 1600, "financial": 280, "clinical": 280, "operations": 240
    }  # fmt: skip
    assert sum(task.unfaithful for task in tasks) == 800


def test_no_table_stands_in_two_splits(made: Path) -> None:
    hashes = [{one.source_hash for one in examples_of(made, name)} for name in FILES]
    assert all(hashes) and sum(map(len, hashes)) == len(set.union(*hashes))
    for name in FILES:
        for one in examples_of(made, name):
            assert one.source_hash == one.table.content_hash()


def test_a_seed_gives_these_bytes(made: Path) -> None:
    """Who changes what is written raises ``VERSION`` of the verbaliser or of the injection."""
    digest = hashlib.sha256((made / "train.jsonl").read_bytes()).hexdigest()
    assert digest[:16] == "be1a73535b85c504"


def test_the_mix_can_be_one_type_and_one_error(tmp_path: Path) -> None:
    mix = {"num": 0, "rel": 0, "cmp": 1, "tmp": 0, "att": 0}
    config = settings(tmp_path / "set", mix=mix, max_errors=1, faithful=0)
    make_dataset(config, nothing)
    examples = examples_of(tmp_path / "set")
    assert {error.type for one in examples for error in one.errors} == {"CMP"}
    assert {len(one.errors) for one in examples} == {1} and len(examples) >= 30


def test_the_card_names_the_fields_that_the_files_have(made: Path) -> None:
    text = (made / "README.md").read_text("utf-8")
    head = yaml.safe_load(text.split("---")[1])
    names = [field["name"] for field in head["dataset_info"]["features"]]
    with (made / "test.jsonl").open(encoding="utf-8") as file:
        assert set(names) == json.loads(file.readline()).keys()
    assert "| NUM |" in text


@pytest.mark.parametrize(
    ("tokens", "problem"),
    [
        (["sources.general=synthetic"], "only the other domains are synthetic"),
        (["sources.clinical=pool"], "write synthetic"),
        (["min_errors=3", "max_errors=2"], "more than max_errors=2"),
        ([f"sizes.{domain}=0" for domain in SMALL], "no domain"),
        (["mix.num=0", "mix.rel=0", "mix.cmp=0", "mix.tmp=0", "mix.att=0"], "all shares are 0"),
        (["sources.dataset_config=x"], "only a `hub:` source has one"),
        (["max_eror=2"], "did you mean"),
        (["recipe=tabfath"], "did you mean tabfaith"),
    ],
)  # fmt: skip
def test_settings_that_cannot_be_are_named(tokens: list[str], problem: str) -> None:
    with pytest.raises(ConfigError, match=problem):
        parse(TabFaith, tokens)
