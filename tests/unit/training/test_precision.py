"""What is computed in which type of numbers, with and without instructions for bfloat16."""

from __future__ import annotations

from types import SimpleNamespace

import psutil
import pytest
import torch

from tablemend.backends import loading
from tablemend.config import parse
from tablemend.recipe.experiment import SftCommand
from tablemend.training import launch
from tests.support.short_trainings import ROOT

LORA = ("train.method=lora", "train.lora={r: 4, alpha: 8}")


@pytest.fixture(params=[True, False], ids=["native", "emulated"])
def native(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> bool:
    """A CPU with instructions for bfloat16, and one without."""
    for module in (loading, launch):
        monkeypatch.setattr(module, "has_bfloat16", lambda device: request.param)
    return bool(request.param)


def recipe(*overrides: str) -> SftCommand:
    return parse(SftCommand, [f"recipe={ROOT / 'recipes/tiny.yaml'}", *overrides])


def test_auto_is_bfloat16_where_the_device_has_it(native: bool) -> None:
    full = launch.settle_precision(recipe(), "cpu")
    assert full.train.precision == ("bfloat16" if native else "float32")
    assert full.model.dtype == "float32"  # small updates of all weights round to nothing
    adapters = launch.settle_precision(recipe(*LORA), "cpu")
    assert adapters.model.dtype == ("auto" if native else "float32")
    asked = ("train.precision=bfloat16", "model.dtype=bfloat16")
    assert launch.settle_precision(recipe(*asked), "cpu") == recipe(*asked)


def test_asking_for_what_is_emulated_is_a_warning(native: bool) -> None:
    config = recipe("train.precision=bfloat16", "model.dtype=bfloat16")
    said = list(
        launch.describe_precision(config, launch.settle_precision(config, "cpu"), "cpu", None)
    )
    assert said[0].startswith("computing in bfloat16 (train.precision); ")
    assert said[1:] == ([] if native else [
        f"warning: {key}=bfloat16, which this device emulates, 50 to 150 times slower than "
        f"float32: set {key}=auto"
        for key in ("train.precision", "model.dtype")
    ])  # fmt: skip


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
    assert launch.share_cores() == asked
