"""TabFaith sets: files, splits, restarts, settings, and summaries by a model."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from tablemend.config import ConfigError, parse
from tablemend.datasets.tabfaith.dataset import make_dataset
from tablemend.datasets.tabfaith.examples import TabFaithExample
from tablemend.datasets.tabfaith.program_summaries import plan_example
from tablemend.datasets.tabfaith.prompting import STAGES, ask_for
from tablemend.datasets.tabfaith.settings import TabFaith
from tablemend.errors import TablemendError
from tablemend.tables.markdown import locate_markdown, read_markdown
from tablemend.tables.table import Table
from tests.support.prompts import recognise

SMALL = {"general": 18, "financial": 6, "clinical": 6, "operations": 6}
FILES = ("train.jsonl", "validation.jsonl", "test.jsonl")


def settings(out: Path, **given: Any) -> TabFaith:
    data = {"out": str(out), "sizes": SMALL, "seed": 3, **given}
    return TabFaith.model_validate(data)


def nothing(_: int) -> None:
    return None


def bytes_of(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


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


def test_records_are_read_back(made: Path) -> None:
    for name in FILES:
        for line in (made / name).read_text("utf-8").splitlines():
            data = json.loads(line)
            again = TabFaithExample.from_json(data)
            assert json.loads(json.dumps(again.to_json())) == data
            fresh = TabFaithExample.from_json({**data, "id": ""})
            assert fresh.id == data["id"]


def test_a_seed_gives_these_bytes(made: Path) -> None:
    """Who changes what is written raises ``VERSION`` of the verbaliser or of the injection."""
    digest = hashlib.sha256((made / "train.jsonl").read_bytes()).hexdigest()
    assert digest[:16] == "177055b37e943b38"


def test_any_number_of_workers_writes_the_same_bytes(made: Path, tmp_path: Path) -> None:
    make_dataset(settings(tmp_path / "two", workers=2), nothing)
    assert bytes_of(tmp_path / "two") == bytes_of(made)


class Stop(Exception):
    """An interruption."""


def stopping_after(examples: int) -> Callable[[int], None]:
    calls = []

    def progress(_: int) -> None:
        calls.append(1)
        if len(calls) > examples:
            raise Stop

    return progress


def test_an_interrupted_run_goes_on(made: Path, tmp_path: Path) -> None:
    out = tmp_path / "set"
    with pytest.raises(Stop):
        make_dataset(settings(out), stopping_after(20))
    assert not (out / "counts.json").exists()
    done: list[int] = []
    make_dataset(settings(out), done.append)
    assert done[0] == 20 and sum(done) == 36
    assert bytes_of(out) == bytes_of(made)


def test_a_finished_set_is_found_and_other_settings_are_refused(made: Path) -> None:
    before = bytes_of(made)
    assert make_dataset(settings(made), nothing)["examples"]["made"] == 36
    with pytest.raises(TablemendError, match=r"other settings .*seed was 3, is 4"):
        make_dataset(settings(made, seed=4), nothing)
    assert bytes_of(made) == before


def test_a_second_process_on_one_folder_is_refused(tmp_path: Path) -> None:
    def again(_: int) -> None:
        with pytest.raises(TablemendError, match="is being written by another process"):
            make_dataset(settings(tmp_path), nothing)
        raise Stop

    with pytest.raises(Stop):
        make_dataset(settings(tmp_path), again)


def test_a_folder_of_something_else_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "letters.txt").write_text("mine")
    with pytest.raises(TablemendError, match="holds something else"):
        make_dataset(settings(tmp_path), nothing)


def test_tables_that_changed_meanwhile_are_refused(tmp_path: Path) -> None:
    source = tmp_path / "tables"
    source.mkdir()
    (source / "one.csv").write_text("Club,Points\nAlba,41\nBorea,38\nCorvo,27\nDorna,9\n")
    given = {
        "sources": {"general": str(source)},
        "sizes": {**dict.fromkeys(SMALL, 0), "general": 4},
    }

    with pytest.raises(Stop):
        make_dataset(settings(tmp_path / "out", **given), stopping_after(1))
    (source / "one.csv").write_text("Club,Points\nAlba,42\nBorea,38\nCorvo,27\nDorna,9\n")
    with pytest.raises(TablemendError, match="have changed"):
        make_dataset(settings(tmp_path / "out", **given), nothing)


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
        (["sources.financial=mimic:x"], "only clinical reads"),
        (["sources.clinical=pool"], "write synthetic"),
        (["min_errors=3", "max_errors=2"], "more than max_errors=2"),
        ([f"sizes.{domain}=0" for domain in SMALL], "no domain"),
        (["mix.num=0", "mix.rel=0", "mix.cmp=0", "mix.tmp=0", "mix.att=0"], "all shares are 0"),
        (["verifier=nli"], "only read where a generator is set"),
        (["generator=hf:a/b", "faithful=0.5"], "nothing is injected"),
        (["generator=gpt"], "generator"),
        (["sources.dataset_config=x"], "only a `hub:` source has one"),
        (["max_eror=2"], "did you mean"),
        (["recipe=tabfath"], "did you mean tabfaith"),
    ],
)  # fmt: skip
def test_settings_that_cannot_be_are_named(tokens: list[str], problem: str) -> None:
    with pytest.raises(ConfigError, match=problem):
        parse(TabFaith, tokens)


def test_help_and_check_print_and_make_nothing(tmp_path: Path) -> None:
    script = Path(__file__).parents[4] / "data_gen" / "tabfaith.py"
    done = subprocess.run(
        [sys.executable, script, "recipe=tabfaith", f"out={tmp_path / 'x'}", "--check"],
        capture_output=True,
        text=True,
        cwd=script.parents[1],
    )
    assert done.returncode == 0 and "general: 1600" in done.stdout
    assert not (tmp_path / "x").exists()
    done = subprocess.run(
        [sys.executable, script, "sources.general=/no/such"], capture_output=True, text=True
    )
    assert done.returncode == 2 and done.stderr.count("\n") == 1
    assert done.stderr.startswith("error: sources.general=/no/such: no such file")


def test_prompts_show_the_table_and_are_told_apart() -> None:
    table = Table.of(["Club", "Points"], [["Alba", "41"], ["Borea", None]], "Clubs")
    for domain, stage in STAGES.items():
        messages = ask_for(domain, table, (2, 5))
        found = recognise(messages)
        assert found is not None and found.name == stage
        text = messages[1]["content"]
        start, end = locate_markdown(text)[0]
        assert read_markdown(text[start:end]).columns == table.columns
        assert ("2 to 3 sentences" if domain == "financial" else "2 to 5 sentences") in text
    assert "text of 4 sentences" in ask_for("general", table, (4, 4))[1]["content"]


def by_model(out: Path, model: str) -> TabFaith:
    sizes = {"general": 4, "financial": 3, "clinical": 0, "operations": 3}
    return settings(out, generator=model, sizes=sizes, generator_options={"cache": None})


def test_a_models_summaries_are_labelled_by_the_verifier(
    tmp_path: Path, model_server: Callable[..., str]
) -> None:
    config = by_model(tmp_path / "set", model_server())
    counts = make_dataset(config, nothing)
    examples = examples_of(tmp_path / "set")
    assert len(examples) == counts["examples"]["made"] >= 8
    for one in examples:
        assert one.labelled_by.startswith("program") and one.facts == ()
        assert one.engine.startswith("openai:scripted") and "summarise" in one.engine
        assert (one.label == "unfaithful") == bool(one.errors)
        for error in one.errors:
            assert one.summary[error.start : error.end] == error.text and error.original == ""
    again = make_dataset(config, nothing)
    assert again == counts


def test_answers_that_are_no_summaries_are_dropped_with_the_reason(
    tmp_path: Path, model_server: Callable[..., str]
) -> None:
    config = by_model(tmp_path / "set", model_server("--faults=one-sentence:0.4+refusal:0.3"))
    counts = make_dataset(config, nothing)
    reasons = " ".join(counts["dropped"])
    assert "too few or too many sentences" in reasons and "refusal" in reasons
    assert counts["examples"]["made"] + sum(counts["dropped"].values()) == 10
