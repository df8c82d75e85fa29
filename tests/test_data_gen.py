"""The command: files that datasets loads, resumed and parallel runs, refusals."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from datasets import load_dataset

from tablemend.config import parse
from tablemend.errors import TablemendError
from tablemend.records import Example
from tablemend.synthesis import dataset
from tablemend.synthesis.dataset import make_dataset
from tablemend.synthesis.engine import Engine, split_of
from tablemend.synthesis.files import encode
from tablemend.synthesis.settings import SPLITS, Synthesis
from tablemend.tasks.sources import read_examples

ROOT = Path(__file__).parents[1]


def settings(out: Path, *tokens: str) -> Synthesis:
    return parse(Synthesis, ["source=pool", "n=40", "shard_size=10", f"out={out}", *tokens])


def make(out: Path, *tokens: str) -> dict[str, bytes]:
    """The bytes of everything that the run leaves."""
    make_dataset(settings(out, *tokens), lambda _: None)
    return {path.name: path.read_bytes() for path in out.iterdir()}


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    return make(tmp_path_factory.mktemp("whole") / "out")


@pytest.mark.parametrize("form", ["jsonl", "parquet"])
def test_datasets_loads_it_offline(
    form: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    out = tmp_path / "out"
    files = make(out, f"format={form}", "difficulty=mixed")
    assert {"README.md", "counts.json", "skipped.jsonl"} <= files.keys()
    loaded = load_dataset(str(out), cache_dir=str(tmp_path / "cache"))
    records = [record for split in loaded for record in loaded[split]]
    assert len(records) == json.loads(files["counts.json"])["examples"]["made"] == 40
    for split in loaded:
        for record in loaded[split]:
            example = Example.from_json(record)
            assert split_of(example.source_hash, settings(out)) == split
            assert json.loads(encode(example)) == json.loads(json.dumps(example.to_json()))
            for fact in example.facts:
                start, end = fact.adversarial[:2]
                assert example.adversarial_context[start:end] == fact.value


def test_an_experiment_reads_it(tmp_path: Path) -> None:
    from tablemend.config import Source

    make(tmp_path / "out")
    examples = read_examples(Source(source=str(tmp_path / "out"), split="train", n=5))
    assert len(examples) == 5


@pytest.mark.parametrize("workers", [2, 3])
def test_any_number_of_workers_gives_the_same_bytes(
    workers: int, tmp_path: Path, whole: dict[str, bytes]
) -> None:
    assert make(tmp_path / "out", f"workers={workers}") == whole


def test_another_seed_gives_other_examples(tmp_path: Path, whole: dict[str, bytes]) -> None:
    assert make(tmp_path / "out", "seed=1")["train.jsonl"] != whole["train.jsonl"]


@pytest.mark.parametrize("stop_at", [3, 17, 39])
def test_an_interrupted_run_continues_to_the_same_bytes(
    stop_at: int, tmp_path: Path, whole: dict[str, bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out"
    make_one = Engine.make
    made: list[int] = []

    def stop(engine: Engine, number: int) -> Example | None:
        if number == stop_at:
            raise KeyboardInterrupt
        return make_one(engine, number)

    monkeypatch.setattr(Engine, "make", stop)
    with pytest.raises(KeyboardInterrupt):
        make(out)
    assert not (out / "train.jsonl").exists()

    def note(engine: Engine, number: int) -> Example | None:
        made.append(number)
        return make_one(engine, number)

    monkeypatch.setattr(Engine, "make", note)
    assert make(out) == whole
    assert made == list(range(stop_at // 10 * 10, 40))
    made.clear()
    assert make(out) == whole
    assert not made


def test_a_run_interrupted_while_joining_continues(
    tmp_path: Path, whole: dict[str, bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(dataset, "join_parts", fail)
        with pytest.raises(OSError, match="space"):
            make(tmp_path / "out")
    assert make(tmp_path / "out") == whole


def test_other_settings_in_the_same_folder_are_refused(tmp_path: Path) -> None:
    make(tmp_path / "out", "n=5")
    with pytest.raises(TablemendError, match=r"seed was 0, is 1"):
        make(tmp_path / "out", "n=5", "seed=1")
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "a.txt").write_text("mine")
    with pytest.raises(TablemendError, match="holds something else"):
        make(tmp_path / "notes", "n=5")


def test_a_source_that_changed_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = "".join(f"Ship {name},{i},{i * i},{3 * i}\n" for i, name in enumerate("abcdefghij"))
    table = tmp_path / "ships.csv"
    table.write_text("Ship,Guns,Crew,Sails\n" + rows)
    tokens = (f"source={table}", "n=4")

    def stop(engine: Engine, number: int) -> Example | None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Engine, "make", stop)
        with pytest.raises(KeyboardInterrupt):
            make(tmp_path / "out", *tokens)
    table.write_text("Ship,Guns,Crew,Sails\n" + rows + "Ship z,1,2,3\n")
    with pytest.raises(TablemendError, match="has changed"):
        make(tmp_path / "out", *tokens)


def test_the_small_world_is_a_source(tmp_path: Path) -> None:
    files = make(tmp_path / "out", "source=small-world", "n=30")
    records = [
        json.loads(line) for s in SPLITS for line in files.get(f"{s}.jsonl", b"").splitlines()
    ]
    assert len(records) == json.loads(files["counts.json"])["examples"]["made"] >= 28
    assert {record["source"] for record in records} == {"small-world"}


def test_a_changed_small_world_is_no_continuation(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tablemend.synthesis import small_world

    tokens = ("source=small-world", "n=5")
    make(tmp_path / "out", *tokens)
    monkeypatch.setattr(small_world, "ENGINE", "small-world/next")
    with pytest.raises(TablemendError, match=r"engine_version was 'small-world/.*/next'"):
        make(tmp_path / "out", *tokens)


def test_settings_that_the_small_world_does_not_read_are_refused() -> None:
    from tablemend.config import ConfigError

    with pytest.raises(ConfigError, match="size of its own"):
        parse(Synthesis, ["source=small-world", "difficulty=hard"])
    with pytest.raises(ConfigError) as caught:
        parse(Synthesis, ["shares.train=0.5", "shape.min_rows=9", "sede=1"])
    assert len(caught.value.problems) >= 3


def run(*tokens: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "data_gen/tablehallu.py", *tokens]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


def test_the_command_runs_and_prints_its_counts(tmp_path: Path) -> None:
    done = run("engine=program", "source=pool", "n=12", f"out={tmp_path / 'out'}")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("12 of 12 examples in")


def test_the_command_refuses_in_one_line(tmp_path: Path) -> None:
    done = run("source=nowhere", f"out={tmp_path / 'out'}")
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1].startswith("error: source=nowhere: no such file")
    assert not (tmp_path / "out").exists()
    assert "--check" in run("--help").stdout
    assert "difficulty: medium" in run("--check", "difficulty=medium").stdout


def test_a_recipe_gives_the_settings(tmp_path: Path) -> None:
    recipe = tmp_path / "mine.yaml"
    recipe.write_text("kind: synthesis\nsource: pool\nn: 77\n")
    done = run(f"recipe={recipe}", "seed=5", "--check")
    assert "n: 77" in done.stdout
    assert "seed: 5" in done.stdout


def test_a_run_interrupted_while_tidying_loses_nothing(
    tmp_path: Path, whole: dict[str, bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out"

    def tidy_half(parts: Path, **_: object) -> None:
        for path in parts.glob("train-*"):
            path.unlink()
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(dataset, "rmtree", tidy_half)
        with pytest.raises(KeyboardInterrupt):
            make(out)
    assert make(out) == whole


@pytest.mark.parametrize("written", [0, 1, 2])
def test_a_run_interrupted_at_its_start_continues(
    written: int, tmp_path: Path, whole: dict[str, bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out"
    calls = []

    def count(write):
        def counted(path: Path, data: object) -> None:
            calls.append(path)
            if len(calls) > written:
                path.parent.mkdir(exist_ok=True)
                path.with_name(f".{path.name}.1.tmp").write_text("half")
                raise KeyboardInterrupt
            write(path, data)

        return counted

    with monkeypatch.context() as patch:
        patch.setattr(dataset, "write_json", count(dataset.write_json))
        patch.setattr(dataset, "write_jsonl", count(dataset.write_jsonl))
        with pytest.raises(KeyboardInterrupt):
            make(out)
    assert {name: data for name, data in make(out).items() if name[0] != "."} == whole


def test_reasons_are_counted_without_their_numbers() -> None:
    kinds = {dataset.reason_kind(f"row {row} has {row * 3} cells") for row in (1, 20, 12345)}
    assert kinds == {"row # has # cells"}


def test_settings_that_give_no_example_are_refused_with_the_reason(tmp_path: Path) -> None:
    for _ in range(2):  # the same again when it is asked for again
        with pytest.raises(TablemendError, match=r"none of 3 examples .* x no room for a distract"):
            make(tmp_path / "out", "n=3", "budget_tokens=50")
