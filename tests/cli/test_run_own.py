"""train/run.py: from a folder of tables to a comparison, in one command."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random

import pytest

from tablemend.cli.app import main
from tablemend.datasets.source_tables.sources import real_table
from tablemend.datasets.splits import Shares, split_of
from tablemend.reproduction import own, reproduce
from tablemend.tables.table import Table

NAMES = "Alba Sella Vey Corun Dorset Elmo Fenwick Garda Hollis Iver Juno Kestrel".split()
SHORT = [
    *("n=6", "workers=1", "train.epochs=null", "train.max_steps=2", "train.save_every=1"),
    *("train.micro_batch=2", "train.global_batch=2", "evaluation.max_new_tokens=16"),
    'evaluation.systems={base: {model: base, thinking: "off"}, sft: {model: sft, thinking: quote}}',
]


def table(rows: int) -> Table:
    rng = Random(0)
    names = [f"{name} {of}".strip() for of in ("", *NAMES[:8]) for name in NAMES][:rows]
    cells = [
        (n, rng.choice(("North", "South", "East")), *rng.choices(range(99), k=2)) for n in names
    ]
    body = tuple(tuple(map(str, row)) for row in cells)
    return Table(("Team", "Region", "Wins", "Points"), body)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working directory, with the tables of two leagues in my/."""
    (tmp_path / "my").mkdir()
    for league in ("East", "West"):
        lines = [",".join(row) for row in (table(0).columns, *table(24).rows)]
        text = "\n".join(lines).replace("Alba,", f"{league},")
        (tmp_path / "my" / f"{league} league.csv").write_text(text, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def read_lines(path: Path) -> list[str]:
    return path.read_text("utf-8").splitlines()


@pytest.mark.parametrize("shares", [Shares(train=0.8, validation=0, test=0.2), Shares()])
@pytest.mark.parametrize("rows", [30, 57, 100])
def test_a_table_is_cut_into_rows_that_fall_into_their_splits(rows: int, shares: Shares) -> None:
    whole = table(rows)
    parts = own.cut_table(real_table(whole, "League", "", ""), shares)
    wanted = [name for name, share in shares.model_dump().items() if share]
    assert [split_of(part.content_hash(), shares) for part in parts] == wanted
    assert sorted(row for part in parts for row in part.rows) == sorted(whole.rows)
    assert min(len(part.rows) for part in parts) >= 10 and parts[0].title == "League"


def test_a_short_table_stays_whole() -> None:
    shares = Shares(train=0.8, validation=0, test=0.2)
    assert [len(one.rows) for one in own.cut_table(real_table(table(9), "", "", ""), shares)] == [9]


@pytest.mark.slow
def test_one_command_goes_from_tables_to_a_comparison_and_goes_on(
    folder: Path,
    tiny_model: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    command = ["run", "recipe=own", "source=my", "model=tiny", f"model.path={tiny_model}", *SHORT]
    with monkeypatch.context() as patch:
        patch.setattr(reproduce, "run_command", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
        assert main(command) == 130
    made = {path: path.stat().st_mtime_ns for path in Path("data/own").iterdir()}
    assert main(command) == 0
    said = capsys.readouterr().out
    assert "2 tables are few: they are split by rows, so training and test share tables" in said
    assert "On adversarial contexts, 2 examples" in said and "runs/own/report.html" in said
    assert made == {path: path.stat().st_mtime_ns for path in Path("data/own").iterdir()}
    manifest = json.loads(Path("runs/own/manifest.json").read_text("utf-8"))
    assert "few" in manifest["own"]["split"] and manifest["sft"]["steps"] == 2
    examples = {
        split: [json.loads(line) for line in read_lines(Path(f"data/own/{split}.jsonl"))]
        for split in ("train", "test")
    }
    tables = {split: {one["source_hash"] for one in found} for split, found in examples.items()}
    assert tables["train"] and tables["test"] and not tables["train"] & tables["test"]
    assert main(command) == 0
    assert "finished: runs/own/model" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "source: missing: the folder of your tables: source=FOLDER"),
        (["source=none"], "source=none: no such file or folder"),
        (["source=my", "model=gpt"], "model=gpt is none of "),
        (["source=my", "model=tabfaith-eval"], "is of task table_summary, not of tables"),
        (
            ["source=my", "train.max_stepz=1"],
            "train.max_stepz: unknown key; did you mean max_steps?",
        ),
        (["source=my", "many=1"], "many: unknown key"),
        (["source=my", "evaluation.max_new_tokens=950"], "do not fit 1024 tokens of "),
        (["source=short"], "1 tables are too few to be split by table, and too short to be split"),
    ],
)
def test_what_cannot_be_run_is_one_line_before_any_work(
    words: list[str], said: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "short").mkdir()
    for path in list((folder / "my").iterdir())[:1]:
        (folder / "short" / path.name).write_text("\n".join(read_lines(path)[:9]), encoding="utf-8")
    assert main(["run", "recipe=own", *words]) == 2
    assert said in (told := capsys.readouterr().err) and "Traceback" not in told
    assert not (folder / "runs").exists()


def test_a_check_prints_both_configurations(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["run", "recipe=own", "source=my", "run=a/b", "seed=5", "--check"]) == 0
    data, training = capsys.readouterr().out.split("---\n")
    assert "out: data/b\n" in data and "seed: 5\n" in data
    assert "run: a/b\n" in training and "validation: null\n" in training and "seed: 5\n" in training
