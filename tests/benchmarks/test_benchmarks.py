"""The benchmarks: what they refuse, and that they count what they say."""

from __future__ import annotations

import gc
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
from collections import Counter
from importlib import import_module
from pathlib import Path
from random import Random
from types import SimpleNamespace

import pytest
import torch
from safetensors.torch import load_file, save_file

from tablemend.backends.checkpoints import Checkpoint
from tablemend.backends.hf import load_model
from tablemend.config import ConfigError, load, parse
from tablemend.errors import TablemendError
from tablemend.records.claims import CLAIM_ERRORS
from tablemend.tasks.faith.reports import read_report
from tablemend.tasks.tablehallu.dataset import make_dataset
from tablemend.tasks.tablehallu.settings import Synthesis
from tests.support.chromium import Browser
from tests.support.finished_runs import LORA

ROOT = Path(__file__).parents[2]
PARTS = {"random_training"}
"""What benchmarks import, and is none itself."""
NAMES = sorted(path.stem for path in (ROOT / "benchmarks").glob("*.py") if path.stem not in PARTS)


@pytest.mark.parametrize("name", NAMES)
def test_every_benchmark_imports_without_running(name: str) -> None:
    assert callable(import_module(name).main)


def test_synthesis_takes_small_numbers_and_refuses_typos(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    synthesis = import_module("synthesis")
    monkeypatch.setattr(synthesis, "WARM", 1)
    monkeypatch.setattr(sys, "argv", ["synthesis.py", "source=pool", "n=3", "stream=3"])
    try:
        synthesis.main()
    finally:
        gc.enable()
    printed = capsys.readouterr().out
    assert "examples, " in printed
    assert printed.count("made, verified and encoded") == 4
    monkeypatch.setattr(sys, "argv", ["synthesis.py", "steam=3"])
    with pytest.raises(ConfigError, match=r"did you mean stream\?"):
        synthesis.main()


def test_shortcuts_prints_what_is_told_without_the_query_and_writes_it_into_the_card(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    shares = ["shares.train=0.5", "shares.validation=0", "shares.test=0.5"]
    wanted = parse(Synthesis, ["source=pool", "n=30", f"out={tmp_path / 'set'}", *shares])
    make_dataset(wanted, lambda _: None)
    monkeypatch.setattr(sys, "argv", ["shortcuts.py", f"data={wanted.out}", "examples=20"])
    shortcuts = import_module("shortcuts")
    shortcuts.main()
    printed = capsys.readouterr().out
    assert printed.count("| everything |") == 1
    card = (tmp_path / "set" / "README.md").read_text("utf-8")
    assert card.count("| everything |") == card.count("## Shortcuts") == 1
    assert "without the query" in card and "| least said first |" in card


@pytest.mark.slow
@pytest.mark.parametrize("method", [(), LORA])
def test_throughput_compares_with_the_best_of_trl_on_the_same_tokens(
    method: tuple[str, ...],
    tiny_model: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    from tests.support.warm_launch import SERVER  # it imports for half a minute

    monkeypatch.chdir(ROOT)
    monkeypatch.syspath_prepend(ROOT / "benchmarks")  # for its processes
    throughput = import_module("sft_throughput")
    apart = SimpleNamespace(get_context=lambda _: SERVER)
    monkeypatch.setattr(throughput, "multiprocessing", apart)
    small = ["rows=16", "rounds=1", "train.global_batch=8", "train.micro_batch=4"]
    monkeypatch.setattr(
        sys, "argv", ["_", "recipe=tiny", f"model.path={tiny_model}", *small, *method]
    )
    throughput.main()
    shown = capsys.readouterr().out
    rates = re.findall(r"^(TRL.*|tablemend): (\d+) tokens/s", shown, re.MULTILINE)
    sides = ["TRL", "TRL, grouped by length", "TRL, packed", "tablemend"]
    assert [side for side, _ in rates] == sides
    best = max(rates[:3], key=lambda rate: int(rate[1]))
    assert f"best: {rates[3][1]} tokens a second, {best[0]}: {best[1]}, " in shown
    config = load(throughput.Benchmark)
    packed = throughput.sides_of(config, [10, 20, 30])["TRL, packed"][0].train
    assert (packed.max_length, packed.micro_batch, packed.global_batch) == (80, 1, 2)


def test_forgetting_compares_losses_on_the_same_chats_and_windows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    forgetting = import_module("forgetting")
    base, worse = ROOT / "checkpoints/tiny-base", tmp_path / "worse"
    shutil.copytree(base, worse)
    weights = load_file(worse / "model.safetensors")
    name = next(name for name in weights if name.endswith("norm.weight"))
    save_file({**weights, name: weights[name] * 2}, worse / "model.safetensors", {"format": "pt"})
    chats, text = tmp_path / "chats.jsonl", tmp_path / "text.txt"
    turns = [{"role": "user", "content": "Rin?"}, {"role": "assistant", "content": "Nek."}]
    chats.write_text(3 * (json.dumps({"messages": turns}) + "\n"))
    text.write_text("The height of Rin is 4. " * 60)
    given = [f"chats=[{chats}]", f"texts=[{text}]", "window=64", "n=3"]
    monkeypatch.setattr(sys, "argv", ["forgetting.py", f"models=[{base},{base},{worse}]", *given])
    forgetting.main()
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 6
    assert all("; +0.000 (+0.000 to +0.000)" in line for line in lines[2:4])
    assert all(re.search(r"; [+-]\d+\.\d*[1-9]", line) for line in lines[4:])
    loaded = load_model(Checkpoint(str(base)))
    ids = torch.tensor([loaded.tokenizer(text.read_text())["input_ids"][:64]])
    with torch.inference_mode():
        expected = float(loaded.model(input_ids=ids, labels=ids).loss)
    row = forgetting.Row(tuple(ids[0, :1].tolist()), tuple(ids[0, 1:].tolist()))
    assert next(forgetting.losses(loaded.model, [row])) == pytest.approx(expected, abs=0.05)
    monkeypatch.setattr(sys, "argv", ["forgetting.py", f"models=[{base}]", f"texts=[{text}x]"])
    with pytest.raises(TablemendError, match="no such file"):
        forgetting.main()


def test_backends_measures_what_came_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    backends = import_module("backends")
    for name in ("http_proxy", "HTTP_PROXY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(
        sys, "argv", ["backends.py", "n=40", "stream=20", "concurrency=8", "latency=0.01"]
    )
    backends.main()
    printed = capsys.readouterr().out.splitlines()
    rows = [[cell.strip() for cell in line.split("|")] for line in printed if line[:1] == "|"]
    assert {row[1]: row[2] for row in rows[2:]} == {
        "backend": "40",
        "backend with request cache": "40",
    }
    ideal = [float(row[4].rstrip("%")) for row in rows[2:]]
    assert all(0 <= share <= 100 for share in ideal)
    assert printed[-1].startswith("stream: 20 answers, ")


def test_filings_measures_what_is_read_of_made_up_reports(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    filings = import_module("filings")
    made = filings.make_filing(Random(0))
    assert len(made) == pytest.approx(1_000_000, rel=0.01)
    report = read_report("0_", made)
    assert 50 < len(report.tables) < 200 and len(report.sentences) > 1_000
    assert {table.columns for table in report.tables} == {("", "2023", "2022")}
    monkeypatch.setattr(filings, "make_filing", lambda rng: made)
    monkeypatch.setattr(sys, "argv", ["filings.py", "--filings", "2"])
    filings.main()
    seconds, memory = capsys.readouterr().out.splitlines()
    assert re.fullmatch(r"[\d.]+ s, [\d.]+ filings a second", seconds)
    assert all(int(peak) > 50 for peak in re.findall(r"(\d+) MiB", memory))


def test_labels_of_user_texts_lie_on_their_words() -> None:
    module = import_module("user_texts")
    splits = {split: module.read_texts(split) for split in ("dev", "test")}
    tables = {split: {text["table"] for text in texts} for split, texts in splits.items()}
    assert len(tables["dev"]) == 15 and len(tables["test"]) == 5
    assert not tables["dev"] & tables["test"]
    for split, texts in splits.items():
        half = 2 * len(tables[split])
        assert Counter(bool(text["errors"]) for text in texts) == {False: half, True: half}
        for text in texts:
            assert module.read_source(text).tables[0].title == text["title"]
            for error in text["errors"]:
                start, end = module.place(error)
                assert text["text"][start:end] == error["words"]
                assert error["type"] in CLAIM_ERRORS and error["right"] != error["words"]


def test_report_page_times_a_page_in_the_browser(
    browser: Browser, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    report_page = import_module("report_page")
    settings = parse(report_page.Benchmark, ["n=4", "systems=2", "words=5"])
    path = tmp_path / "page.html"
    path.write_text(report_page.make_page(settings), "utf-8")
    report_page.measure(browser, path.as_uri(), settings)
    printed = capsys.readouterr().out
    assert "written in" in printed and " MB" in printed
    names = ("first paint", "list of examples drawn", "an example opened", "a search")
    for name in names:
        found = re.search(rf"^{name}: (\d+) to (\d+)$", printed, re.MULTILINE)
        assert found is not None and 0 < int(found[1]) <= int(found[2])


def test_gpu_minutes_names_missing_parts_and_packages(tmp_path: Path) -> None:
    """Without the training, which REHEARSE=1 runs in minutes."""

    def step(name: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["bash", "benchmarks/gpu_minutes.sh", name],
            cwd=ROOT,
            env=os.environ | {"WORK": str(tmp_path), "PYTHON": sys.executable, "REHEARSE": "1"},
            capture_output=True,
            text=True,
        )

    assert "no step packed" in step("packed").stderr
    assert step("unpack").returncode == 2
    parts = {name: tmp_path / "parts" / name for name in ("part-00", "part-01", "part-02")}
    parts["part-00"].parent.mkdir()
    sums = []
    for name, path in parts.items():
        path.write_text(name)
        sums.append(f"{hashlib.sha256(name.encode()).hexdigest()}  parts/{name}\n")
    (tmp_path / "SHA256SUMS").write_text("".join(sums))
    assert "packed already: 3 parts" in step("pack").stdout
    parts["part-01"].write_text("damaged")
    parts["part-02"].unlink()
    done = step("unpack")
    missing = "missing or damaged: parts/part-01 parts/part-02 \n"
    assert (done.returncode, done.stdout) == (3, missing)
    (tmp_path / "needs.txt").write_text(f"torch=={torch.__version__}\nabsent-package==1.0\n")
    done = step("check")
    assert done.returncode == 1 and done.stdout.endswith("missing: absent-package==1.0\n")
