"""Trainings of the random model that take seconds: recipes, launches, and what comes of them."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import torch
from safetensors.torch import load_file

from tablemend.config import parse, to_yaml
from tablemend.recipe.experiment import (
    DistilCommand,
    DpoCommand,
    GrpoCommand,
    PairsCommand,
    SftCommand,
    TrainingRecipe,
)
from tablemend.runs import Run
from tablemend.training.pair_generation import make_pairs

ROOT = Path(__file__).parents[2]
RECIPES: dict[type[TrainingRecipe], str] = {
    SftCommand: "tiny",
    DpoCommand: "tiny-dpo",
    GrpoCommand: "tiny-grpo",
    DistilCommand: "tiny-distil",
}
ENVIRONMENT = os.environ | {"OMP_NUM_THREADS": "1"}
Kind = TypeVar("Kind", bound=TrainingRecipe)


def small_data(n: int, seed: int = 1) -> str:
    """The override for ``n`` training examples of the small world, and four to test on."""
    train, test = (f"{{source: small-world, n: {n}, seed: {s}}}" for n, s in ((n, seed), (4, 3)))
    return f"data={{train: {train}, test: {test}, validation: null}}"


def short(kind: type[Kind], model: Path, run: Path, data: str, *overrides: str) -> Kind:
    """The tiny recipe in batches of 8, in float32; the overrides come last."""
    return parse(
        kind,
        [
            f"recipe={ROOT / 'recipes' / RECIPES[kind]}.yaml",
            f"model.path={model}",
            f"run={run}",
            data,
            "train.global_batch=8",
            "train.micro_batch=4",
            "train.precision=float32",
            "train.log_every=1",
            "train.trl.disable_tqdm=true",
            *overrides,
        ],
    )


def recipes(
    kind: type[Kind], model: Path, folder: Path, data: str, *given: str
) -> Callable[..., Kind]:
    """Makes :func:`short` recipes of one kind by the name of their run, with further overrides."""

    def make(name: str, *overrides: str) -> Kind:
        return short(kind, model, folder / name, data, *given, *overrides)

    return make


def injected_pairs(folder: Path, data: str) -> Path:
    """Pairs of injected errors: no model is needed."""
    recipe = f"recipe={ROOT / 'recipes' / 'tiny-dpo.yaml'}"
    make_pairs(
        parse(PairsCommand, [recipe, data, f"dpo.pairs.path={folder}", "dpo.pairs.sampled=0"])
    )
    return folder


def launch_command(config: TrainingRecipe, *options: str, script: Sequence[str]) -> list[str]:
    """``accelerate launch`` of a script, with the whole configuration as its recipe.

    ``accelerate-launch`` is the same program without the other commands' imports.
    """
    recipe = Run.of(config).path.with_suffix(".yaml")
    recipe.write_text(to_yaml(config))
    accelerate = str(Path(sys.executable).with_name("accelerate-launch"))
    return [accelerate, *options, *script, f"recipe={recipe}"]


def launch(config: TrainingRecipe, *options: str, script: str) -> subprocess.CompletedProcess[str]:
    """Run it to its end."""
    return subprocess.run(
        launch_command(config, *options, script=[script]),
        cwd=ROOT,
        env=ENVIRONMENT,
        capture_output=True,
        text=True,
        timeout=900,
    )


def under(strategy: str) -> tuple[str, ...]:
    """The launcher's options for two processes under accelerate_configs/STRATEGY.yaml."""
    return (f"--config_file=accelerate_configs/{strategy}.yaml", "--main_process_port=0")


def logged(facts: dict[str, Any], name: str) -> list[float]:
    """One number of every step that logged it."""
    return [entry[name] for entry in facts["log"] if name in entry]


def same_weights(one: Path, other: Path, tolerance: float = 0.0) -> bool:
    """Whether two folders hold the same tensors."""
    left, right = (load_file(folder / "model.safetensors") for folder in (one, other))
    assert left.keys() == right.keys()
    return all(torch.allclose(left[name], right[name], rtol=0, atol=tolerance) for name in left)
