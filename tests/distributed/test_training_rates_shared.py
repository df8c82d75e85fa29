"""Rates during a training of several processes: they share the prompts, and agree on the best."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tablemend.recipe.experiment import SftCommand
from tablemend.runs import Run
from tests.support.short_trainings import ROOT, launch, logged, same_weights, short, under
from tests.support.trainings_in_process import train

BASE = ROOT / "checkpoints" / "tiny-base"
DATA = (
    "data={train: {source: small-world, n: 16, seed: 1}, test: {source: small-world, n: 2, seed: 3}"
)
DATA += ", validation: {source: small-world, n: 5, seed: 2}}"
OPTIONS = ("train.max_steps=2", "train.epochs=null", "train.save_every=1", "model.dtype=float32")


@pytest.mark.slow
def test_two_processes_have_the_rates_of_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    evaluate = "train.evaluate={every: 1, n: 5, max_new_tokens: 120}"
    both = [
        short(SftCommand, BASE, tmp_path / name, DATA, *OPTIONS, evaluate)
        for name in ("one", "two")
    ]
    run, alone = train(both[0])
    done = launch(both[1], *under("ddp"), script="train/sft.py")
    assert done.returncode == 0, done.stderr[-4000:]
    shared = json.loads(Run.of(both[1]).manifest.read_text())["sft"]
    for name in ("eval_total_hallu", "eval_row_recall", "eval_cell_recall", "eval_selection"):
        assert logged(shared, name) == pytest.approx(logged(alone, name)), name
    assert 0 < logged(alone, "eval_row_recall")[-1] < 1
    assert shared["best_step"] == alone["best_step"]
    assert same_weights(run.model, Run.of(both[1]).model, 5e-5)
