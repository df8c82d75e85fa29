"""Trainings of the random model in this process, phase by phase as :mod:`training.stage` goes."""

from __future__ import annotations

from typing import Any

import pytest

from tablemend.recipe.experiment import TrainingRecipe
from tablemend.recipe.training import Reward
from tablemend.runs import Run
from tablemend.tasks.tablehallu.scoring import TableReward
from tablemend.tasks.task import Score
from tablemend.training import checkpoints, distil, dpo, grpo, sft, stage
from tablemend.training.trainer import read_rates
from tests.support.interruption import Interrupt, Stop

METHODS = {
    "sft": sft.METHOD,
    "dpo": dpo.METHOD,
    "grpo": grpo.METHOD,
    "distil": distil.METHOD,
}


def pay_small_ids(monkeypatch: pytest.MonkeyPatch) -> None:
    """A random model writes no table; this pays it for small ids, so that there is something."""

    def score(self: TableReward, sample: Any, view: str, text: str) -> Score:
        is_gold = text == self.gold(sample, view)
        paid = 1.0 if is_gold else sum(map(ord, text)) % 97 / 97
        return Score(dict.fromkeys(Reward.model_fields, 0.25), paid)

    monkeypatch.setattr(TableReward, "score", score)
    monkeypatch.setattr(grpo.Trainer, "text_of", lambda self, ids: " ".join(map(str, ids)))


def _start(config: TrainingRecipe) -> dict[str, Any]:
    model = config.model
    return {"model_revision": checkpoints.revision_of(model.path, model.revision)}


def begin(config: TrainingRecipe, overwrite: bool = False) -> tuple[Run, Any, Any, Any]:
    """Run folder, trainer, tokenizer and what was prepared, before the first step."""
    run, method = Run.of(config), METHODS[config.stage]
    tokenizer = checkpoints.load_tokenizer(config.model)
    assert stage.begin(config, run, overwrite)
    prepared = method.prepare(config, run, tokenizer)
    rated = read_rates(config, tokenizer)
    trainer = method.build_trainer(config, run, tokenizer, prepared)
    if rated is not None:
        rated.attach(trainer)
    return run, trainer, tokenizer, prepared


def train(config: TrainingRecipe) -> tuple[Run, dict[str, Any]]:
    """Train, or go on, and save; what the manifest says, and the saved model's first answer."""
    run, trainer, tokenizer, prepared = begin(config)
    facts = {
        **prepared.facts,
        **_start(config),
        **stage.run_steps(trainer, config, run),
    }
    stage.save(trainer, config, run, tokenizer, prepared.prompts[:2], facts)
    return run, {**facts, "answer": run.recorded(config.stage)["first_answer"]}


def interrupt(config: TrainingRecipe, step: int) -> Run:
    """Train up to a step, as if it was killed there."""
    run, trainer, _, prepared = begin(config)
    stage.record(run, config.stage, {**prepared.facts, **_start(config)})
    trainer.add_callback(Interrupt(step))
    with pytest.raises(Stop):
        stage.run_steps(trainer, config, run)
    return run
