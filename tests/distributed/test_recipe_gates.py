"""Every recipe that trains converges as it did: a few steps of it on the embedded base.

The numbers stand in tests/data/recipe_gates.yaml, as the log has them at the first and at the last
step. Who changes them on purpose raises ``version`` of these recipes (CONTRIBUTING.md).
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from tablemend.recipe.experiment import TrainingRecipe
from tests.support.gates import recipes, run_gate, tiny, write_data
from tests.support.short_trainings import ROOT

GATES: dict[str, Any] = yaml.safe_load((ROOT / "tests/data/recipe_gates.yaml").read_text("utf-8"))
STEPS = 3


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("gates")
    write_data(made)
    return made


def _tiny(name: str, gate: dict[str, Any], folder: Path) -> TrainingRecipe:
    return tiny(name, folder, STEPS, gate.get("train", {}))


def test_every_recipe_that_trains_has_a_gate() -> None:
    own = [name for gate in GATES.values() if "train" not in gate for name in gate["recipes"]]
    assert sorted(own) == sorted(recipes())


@pytest.mark.parametrize("name", GATES)
def test_the_recipes_of_a_gate_are_the_same_training_and_version(name: str, folder: Path) -> None:
    gate = GATES[name]
    found = [_tiny(recipe, gate, folder) for recipe in gate["recipes"]]
    assert all(one.model_dump() == found[0].model_dump() for one in found)


@pytest.mark.parametrize("name", GATES)
def test_a_recipe_converges_as_it_did(
    name: str, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    gate = GATES[name]
    config = _tiny(gate["recipes"][0], gate, folder).model_copy(update={"run": str(tmp_path)})
    log = run_gate(config)
    for number, wanted in gate["log"].items():
        logged = [entry[number] for entry in log if number in entry]
        assert [logged[0], logged[-1]] == pytest.approx(wanted, rel=1e-4, abs=2e-4), number
