"""What is computed in which type of numbers, with and without instructions for bfloat16."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import psutil
import pytest
import torch

from tablemend.backends import hf, precision
from tablemend.backends.checkpoints import Checkpoint
from tablemend.config import parse
from tablemend.recipe.experiment import Comparison, SftCommand
from tablemend.runs import Run
from tablemend.training import launch as launching
from tablemend.training import precision as settling
from tests.support.short_trainings import ROOT, launch, short, small_data

LORA = ("train.method=lora", "train.lora={r: 4, alpha: 8}")


@pytest.fixture(params=[True, False], ids=["native", "emulated"])
def native(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> bool:
    """A CPU with instructions for bfloat16, and one without."""
    for module in (precision, settling):
        monkeypatch.setattr(module, "has_bfloat16", lambda device: request.param)
    return bool(request.param)


def recipe(*overrides: str) -> SftCommand:
    return parse(SftCommand, [f"recipe={ROOT / 'recipes/tiny.yaml'}", *overrides])


def test_auto_is_bfloat16_where_the_device_has_it(native: bool) -> None:
    full = settling.settle(recipe(), "cpu")
    assert full.train.precision == ("bfloat16" if native else "float32")
    assert full.model.dtype == "float32"  # small updates of all weights round to nothing
    adapters = settling.settle(recipe(*LORA), "cpu")
    assert adapters.model.dtype == ("auto" if native else "float32")
    asked = ("train.precision=bfloat16", "model.dtype=bfloat16")
    assert settling.settle(recipe(*asked), "cpu") == recipe(*asked)


def test_a_comparison_loads_the_weights_as_the_training_does() -> None:
    config = recipe()
    assert config.options_of(config.evaluation.systems["base"]).dtype == "float32"
    config = recipe(*LORA)
    assert config.options_of(config.evaluation.systems["base"]).dtype == "auto"
    given = [f"recipe={ROOT / 'recipes/tablehallu-eval.yaml'}", "model.dtype=auto"]
    evaluation = parse(Comparison, given)
    assert evaluation.options_of(next(iter(evaluation.evaluation.systems.values()))).dtype == "auto"


def test_a_stored_bfloat16_is_loaded_as_float32_where_it_would_be_emulated(native: bool) -> None:
    model = hf.load_model(Checkpoint(str(ROOT / "checkpoints/tiny-base")))
    assert str(model.model.dtype) == ("torch.bfloat16" if native else "torch.float32")


def test_a_warning_of_a_model_that_answers_mixes_with_no_result(
    native: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    hf.load_model(Checkpoint(str(ROOT / "checkpoints/tiny-base")), dtype="bfloat16")
    shown = capsys.readouterr()
    assert not shown.out and ("warning: dtype=bfloat16" in shown.err) == (not native)


def test_asking_for_what_is_emulated_is_a_warning(native: bool) -> None:
    config = recipe("train.precision=bfloat16", "model.dtype=bfloat16")
    said = list(settling.lines(config, settling.settle(config, "cpu"), "cpu", None))
    assert said[0].startswith("computing in bfloat16 (train.precision); ")
    assert said[1:] == ([] if native else [
        f"warning: {key}=bfloat16, which this device emulates, 50 to 150 times slower than "
        f"float32: set {key}=auto"
        for key in ("train.precision", "model.dtype")
    ])  # fmt: skip


@pytest.mark.skipif(platform.machine() != "x86_64", reason="oneDNN's setting is for x86")
def test_a_processor_without_bfloat16_is_recognised() -> None:
    code = "from tablemend.backends.precision import has_bfloat16; print(has_bfloat16('cpu'))"
    limited = os.environ | {"ONEDNN_MAX_CPU_ISA": "AVX2"}
    done = subprocess.run(
        [sys.executable, "-c", code], env=limited, capture_output=True, text=True, check=True
    )
    assert done.stdout == "False\n"


@pytest.mark.parametrize(
    ("launcher", "here", "asked"),
    [
        # launchers write a number of their own into what they start
        ({}, {"OMP_NUM_THREADS": "1", "WORLD_SIZE": "2"}, None),
        ({"OMP_NUM_THREADS": "1"}, {"OMP_NUM_THREADS": "1", "WORLD_SIZE": "2"}, 1),
        ({}, {"OMP_NUM_THREADS": "5", "WORLD_SIZE": "2"}, 5),
        ({}, {"OMP_NUM_THREADS": "1"}, 1),
        ({"OMP_NUM_THREADS": "4"}, {}, None),
    ],
)
def test_the_users_number_of_threads_is_found(
    launcher: dict[str, str],
    here: dict[str, str],
    asked: int | None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ("OMP_NUM_THREADS", "WORLD_SIZE", "ACCELERATE_MIXED_PRECISION"):
        monkeypatch.delenv(name, raising=False)
    for name, value in here.items():
        monkeypatch.setenv(name, value)
    found = SimpleNamespace(environ=lambda: launcher)
    monkeypatch.setattr(torch, "set_num_threads", lambda _: None)
    monkeypatch.setattr(psutil, "Process", lambda: SimpleNamespace(parent=lambda: found))
    assert launching.share_cores() == asked


def test_a_training_says_and_notes_what_it_computes_in(tiny_model: Path, tmp_path: Path) -> None:
    given = ("train.precision=auto", "train.epochs=null", "train.max_steps=1")
    config = short(SftCommand, tiny_model, tmp_path / "run", small_data(8), *given)
    done = launch(config, "--cpu", script="train/sft.py")
    assert done.returncode == 0, done.stderr
    native = precision.has_bfloat16("cpu")
    kind, has = ("bfloat16", "has") if native else ("float32", "has no")
    assert (
        f"computing in {kind} (train.precision=auto, and this CPU {has} instructions for "
        "bfloat16); threads a process: 1 (OMP_NUM_THREADS)\n"
    ) in done.stderr
    facts = Run.of(config).recorded("sft")
    noted = {name: facts[name] for name in ("precision", "bfloat16_instructions", "threads")}
    assert noted == {"precision": kind, "bfloat16_instructions": native, "threads": 1}
    saved = parse(SftCommand, [f"recipe={Run.of(config).path / 'sft.yaml'}"])
    assert saved.train.precision == kind
