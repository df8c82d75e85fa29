"""The command: files that datasets loads, resumed and parallel runs, refusals."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import datasets
import pytest
from datasets import load_dataset

from tablemend.config import Source, parse
from tablemend.datasets.build import MADE
from tablemend.datasets.card import FILE
from tablemend.datasets.source_tables.sources import make_table
from tablemend.datasets.splits import split_of
from tablemend.errors import TablemendError
from tablemend.recipe.experiment import Experiment
from tablemend.records import Example
from tablemend.runs import Store
from tablemend.tables.csvtable import write_csv
from tablemend.tasks.tablehallu.dataset import make_dataset
from tablemend.tasks.tablehallu.engine import Engine
from tablemend.tasks.tablehallu.settings import Synthesis
from tablemend.tasks.tablehallu.task import read_examples
from tests.support.scripts import ROOT, run_captured

HALVES = ("shares.train=0.5", "shares.validation=0", "shares.test=0.5")
EASY = (*HALVES, "difficulty=easy", "shape.min_rows=3", "shape.max_rows=3")
"""Tables of 40 rows have them for ten groups."""
ALONE = ("shares.train=1", "shares.validation=0", "shares.test=0")


def settings(out: Path, *tokens: str) -> Synthesis:
    return parse(Synthesis, ["source=pool", "n=40", f"out={out}", *tokens])


def make(out: Path, *tokens: str) -> dict[str, bytes]:
    """The bytes of everything that the run leaves."""
    make_dataset(settings(out, *tokens), lambda _: None)
    return {path.name: path.read_bytes() for path in out.iterdir()}


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    return make(tmp_path_factory.mktemp("whole") / "out")


def test_datasets_loads_it_offline(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    out = tmp_path / "out"
    files = make(out, "difficulty=mixed")
    assert {"README.md", "counts.json", "skipped.jsonl"} <= files.keys()
    assert f"({FILE})" in files["README.md"].decode()
    (out / FILE).unlink()  # as where matplotlib came later
    assert make(out, "difficulty=mixed") == files
    loaded = load_dataset(str(out), cache_dir=str(tmp_path / "cache"))
    records = [record for split in loaded for record in loaded[split]]
    assert len(records) == json.loads(files["counts.json"])["examples"]["made"]
    assert json.loads(files["counts.json"])["counts"]["contexts"] == 40
    assert len(records) == 40 + len(loaded["test"]) // 2  # two queries each
    for split in loaded:
        for record in loaded[split]:
            example = Example.from_json(record)
            assert split_of(example.source_hash, settings(out).shares) == split
            for fact in example.facts:
                start, end = fact.adversarial[:2]
                assert example.adversarial_context[start:end] == fact.value


def test_any_number_of_workers_gives_the_same_bytes(
    tmp_path: Path, whole: dict[str, bytes]
) -> None:
    assert make(tmp_path / "out", "workers=3") == whole


@pytest.mark.parametrize("stop_at", [0, 17])
def test_an_interrupted_run_continues_to_the_same_bytes(
    stop_at: int, tmp_path: Path, whole: dict[str, bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out"
    make_one = Engine.make
    made: list[int] = []

    def stop(engine: Engine, number: int) -> list[Example]:
        if number == stop_at:
            raise KeyboardInterrupt
        return make_one(engine, number)

    monkeypatch.setattr(Engine, "make", stop)
    with pytest.raises(KeyboardInterrupt):
        make(out)
    assert not (out / "train.jsonl").exists()

    def note(engine: Engine, number: int) -> list[Example]:
        made.append(number)
        return make_one(engine, number)

    monkeypatch.setattr(Engine, "make", note)
    assert make(out) == whole
    assert made == list(range(stop_at, 40))
    made.clear()
    assert make(out) == whole
    assert not made


@pytest.mark.parametrize("name", ["train.jsonl", "counts.json"])
def test_a_run_interrupted_while_its_files_are_written_continues(
    name: str, tmp_path: Path, whole: dict[str, bytes]
) -> None:
    out = tmp_path / "out"
    (out / name / "in the way").mkdir(parents=True)
    (out / MADE).touch()
    with pytest.raises(OSError, match="directory"):
        make(out)
    (out / name / "in the way").rmdir()
    (out / name).rmdir()
    assert make(out) == whole


def test_a_second_process_on_one_folder_is_refused(tmp_path: Path, whole: dict[str, bytes]) -> None:
    out = tmp_path / "out"
    with (
        Store(out / MADE, "number"),
        pytest.raises(TablemendError, match=r"being written by another process"),
    ):
        make(out)
    assert make(out) == whole


def test_other_settings_in_the_same_folder_are_refused(tmp_path: Path) -> None:
    make(tmp_path / "out", "n=5")
    with pytest.raises(TablemendError, match=r"seed was 0, is 1"):
        make(tmp_path / "out", "n=5", "seed=1")
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "a.txt").write_text("mine")
    with pytest.raises(TablemendError, match="holds something else"):
        make(tmp_path / "notes", "n=5")


def test_a_source_that_changed_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = "".join(
        f"{name},{7 + 11 * i % 29},{90 + 37 * i % 61},{1900 + 13 * i % 47}\n"
        for i, name in enumerate("Alder Birch Cedar Dogwood Elm Fir Gorse Hazel Ivy Jute".split())
    )
    table = tmp_path / "ships.csv"
    table.write_text("Ship,Guns,Crew,Year\n" + rows)
    small = ("shape.min_rows=2", "shape.max_rows=2", "shape.min_columns=3")
    tokens = (f"source={table}", "n=4", *small, *ALONE)

    def stop(engine: Engine, number: int) -> list[Example]:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Engine, "make", stop)
        with pytest.raises(KeyboardInterrupt):
            make(tmp_path / "out", *tokens)
    table.write_text("Ship,Guns,Crew,Year\n" + rows + "Zelkova,8,91,1931\n")
    with pytest.raises(TablemendError, match="have changed"):
        make(tmp_path / "out", *tokens)


def test_a_changed_small_world_is_no_continuation(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tablemend.tasks.tablehallu import small_world

    tokens = ("source=small-world", "n=5")
    make(tmp_path / "out", *tokens)
    monkeypatch.setattr(small_world, "ENGINE", "small-world/next")
    with pytest.raises(TablemendError, match=r"engine_version was 'small-world/.*/next'"):
        make(tmp_path / "out", *tokens)


def test_settings_that_the_small_world_does_not_read_are_refused() -> None:
    from tablemend.config import ConfigError

    with pytest.raises(ConfigError, match="no such setting"):
        parse(Synthesis, ["source=small-world", "difficulty=hard"])
    with pytest.raises(ConfigError) as caught:
        parse(Synthesis, ["shares.train=0.5", "shape.min_rows=9", "sede=1"])
    assert len(caught.value.problems) >= 3


COMMAND = "data_gen/tablehallu.py"


def test_the_command_refuses_in_one_line(tmp_path: Path) -> None:
    done = run_captured(COMMAND, "source=nowhere", f"out={tmp_path / 'out'}")
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1].startswith("error: source=nowhere: no such file")
    assert not (tmp_path / "out").exists()
    assert "--check" in run_captured(COMMAND, "--help").stdout
    assert "difficulty: medium" in run_captured(COMMAND, "--check", "difficulty=medium").stdout


def test_settings_that_give_no_example_are_refused_with_the_reason(tmp_path: Path) -> None:
    for _ in range(2):  # the same again when it is asked for again
        with pytest.raises(TablemendError, match=r"draws gave no example .* x longer than max_tok"):
            make(tmp_path / "out", "n=3", "max_tokens=50")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_a_full_disk_ends_in_one_line_and_loses_nothing(tmp_path: Path) -> None:
    out, tokens = tmp_path / "out", ("source=pool", "n=20")
    out.mkdir()
    (out / ".train.jsonl.tmp").symlink_to("/dev/full")
    command = [sys.executable, COMMAND, *tokens, f"out={out}"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1].startswith("error: no space left on the disk")
    assert "Traceback" not in done.stderr and "Exception ignored" not in done.stderr
    assert {path.name for path in out.iterdir()} == {MADE}
    assert make(out, "n=20") == make(tmp_path / "whole", "n=20")


def test_tables_of_ones_own_make_splits_that_the_recipes_read(tmp_path: Path) -> None:
    """However the tables fall: no recipe asks for a number of examples."""
    tables = tmp_path / "tables"
    tables.mkdir()
    for number in range(12):
        (tables / f"{number}.csv").write_text(write_csv(make_table(5, number).table))
    out = tmp_path / "out"
    recipe = parse(
        Synthesis,
        ["recipe=tablehallu-data", f"source={tables}", "n=24", "workers=1", f"out={out}", *EASY],
    )
    counts = make_dataset(recipe, lambda _: None)["splits"]
    tokens = [f"data.{split}.source={out}" for split in ("train", "test")]
    data = parse(Experiment, ["recipe=qwen3-8b", *tokens]).data
    assert len(read_examples(data.train)) == counts["train"] > 0
    assert len(read_examples(data.test)) == counts["test"] > 0


def test_a_source_without_a_table_for_a_split_is_refused(tmp_path: Path) -> None:
    tables, tokens = tmp_path / "tables", ("n=3", f"out={tmp_path / 'out'}")
    tables.mkdir()
    (tables / "one.csv").write_text(write_csv(make_table(5, 0).table))
    for number in range(12):
        (tables / f"narrow{number}.csv").write_text("a\n1\n")
    done = run_captured(COMMAND, f"source={tables}", *tokens)
    assert done.returncode == 2 and not (tmp_path / "out").exists()
    reason = done.stderr.splitlines()[-1]
    assert (
        "1 in all" in reason
        and "55 or more, or one split alone: shares.train=1 shares.validation=0 shares.test=0"
        in reason
    )
    assert "skipped: 12 x only one column" in reason
    done = run_captured(COMMAND, f"source={tables}", *tokens, *ALONE)
    assert done.returncode == 0, done.stderr
    named = [line for line in done.stdout.splitlines() if line.endswith(".csv: only one column")]
    assert len(named) == 10 and "and 2 more skipped tables in" in done.stdout


def test_what_the_hub_gave_is_recorded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = []
    for number in range(3):
        table = make_table(5, number).table
        rows.append({"header": list(table.columns), "rows": [list(row) for row in table.rows]})
    monkeypatch.setattr(datasets, "load_dataset", lambda *_, **__: datasets.Dataset.from_list(rows))
    chosen = ("source=hub:owner/tables", "dataset_config=large", "dataset_revision=abc123", "n=4")
    chosen += ALONE
    written = make(tmp_path / "out", *chosen)
    noted = json.loads(written["settings.json"])
    assert (noted["dataset_config"], noted["dataset_revision"]) == ("large", "abc123")
    assert b"dataset_config=large dataset_revision=abc123" in written["README.md"]
    with pytest.raises(TablemendError, match="dataset_revision was 'abc123', is 'def456'"):
        make(tmp_path / "out", *chosen, "dataset_revision=def456")


def test_an_experiment_reads_examples_from_the_hub(
    tmp_path: Path, whole: dict[str, bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "train.jsonl"
    path.write_bytes(whole["train.jsonl"])
    expected = read_examples(Source(source=str(path)))
    calls = []

    def load(name: str, **options: object) -> datasets.Dataset:
        calls.append((name, options))
        if name == "nobody/nothing":
            raise datasets.exceptions.DatasetNotFoundError("no such data set\nand more")
        return datasets.Dataset.from_list([example.to_json() for example in expected])

    monkeypatch.setattr(datasets, "load_dataset", load)
    source = Source(source="hub:owner/made", split="train", n=3, revision="abc123")
    assert read_examples(source) == expected[:3]
    assert calls == [("owner/made", {"split": "train", "revision": "abc123"})]
    with pytest.raises(TablemendError, match=r"^cannot load hub:nobody/nothing: no such data set$"):
        read_examples(Source(source="hub:nobody/nothing", split="train"))
