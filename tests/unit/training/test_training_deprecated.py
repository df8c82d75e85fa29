"""What TRL and transformers will give up is not used, and refused in a recipe."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import pytest
from transformers import AutoTokenizer

import random_training
from tablemend.recipe.experiment import DpoCommand, GrpoCommand, Trained
from tests.support.short_trainings import RECIPES, short, small_data

STEP = ("train.epochs=null", "train.max_steps=1")
ADAPTERS = ("train.method=lora", "train.lora={r: 4}")


def _trainer(config: Any, model: Path, folder: Path) -> Any:
    tokenizer = AutoTokenizer.from_pretrained(model)
    if isinstance(config, DpoCommand):
        pairs = [(20, 10, 12)] * 8
        return random_training.random_preference_trainer(config, tokenizer, pairs, str(folder))
    if isinstance(config, GrpoCommand):
        return random_training.random_reward_trainer(config, tokenizer, [20] * 8, str(folder))
    return random_training.random_trainer(config, tokenizer, [30] * 8, [10] * 8, str(folder))


@pytest.mark.parametrize("kind", RECIPES)
def test_a_step_of_each_training_draws_no_warning_of_what_will_be_gone(
    kind: type[Trained], tiny_model: Path, tmp_path: Path
) -> None:
    config = short(kind, tiny_model, tmp_path, small_data(8), *STEP)
    with warnings.catch_warnings():
        warnings.simplefilter("error", FutureWarning)
        warnings.simplefilter("error", DeprecationWarning)
        trainer = _trainer(config, tiny_model, tmp_path)
        trainer.train()
    assert trainer.state.global_step == 1
