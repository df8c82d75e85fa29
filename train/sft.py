"""Fine-tune a model on a recipe's examples.

accelerate launch train/sft.py recipe=tiny [train.learning_rate=2e-5 ...]
"""

from __future__ import annotations

import os

from tablemend.config import load
from tablemend.recipe.experiment import SftCommand
from tablemend.runs import Run, say
from tablemend.script import run_script
from tablemend.tasks.sources import check_local


def main() -> None:
    """Data, model, training, verified checkpoint; the same command continues where it stopped."""
    config = load(SftCommand, after_check=plan)
    check_local(*config.data.training_sources, config.data.validation, config.data.test)
    os.environ.setdefault("HF_HUB_DISABLE_TELEMETRY", "1")  # TRL reports every run otherwise
    say("starting torch, transformers and TRL")
    from tablemend.training import (  # torch, only once the recipe is valid
        adapters,
        checkpoints,
        data,
        models,
        saving,
        sft,
        stage,
        start,
    )

    config = stage.set_up(config)
    models.check_method(config)
    if config.show:
        tokenizer = checkpoints.load_tokenizer(config.model)
        for row in sft.prepare(config, tokenizer).train.rows[: config.show]:
            print(data.show(tokenizer, row))
        return

    run = Run.of(config)
    with stage.alone(run):
        if not stage.begin(config, run, config.overwrite):
            return
        pinned = stage.pinned(config, run)
        tokenizer = checkpoints.load_tokenizer(pinned.model)
        prepared = stage.once(run, lambda: sft.prepare(config, tokenizer))
        trainer = sft.build_trainer(pinned, run, tokenizer, prepared)
        facts = {**prepared.facts, **stage.once(run, lambda: start.start_facts(pinned))}
        stage.record(run, config.stage, facts)
        facts |= stage.train(trainer, config, run)
        prompts = [row.prompt for row in prepared.train.rows[: adapters.PROMPTS]]
        saving.save(trainer, pinned, run, tokenizer, prompts, facts)
        stage.report(run, facts)


def plan(config: SftCommand) -> None:
    """Steps, tokens and memory, from the architecture alone."""
    from tablemend.training.plan import print_plan

    print_plan(config, config.gpus)


if __name__ == "__main__":
    run_script(main)
