"""Train a model on the detector's findings: answers are drawn, scored, and compared in groups.

accelerate launch train/grpo.py recipe=tiny-grpo [train.learning_rate=2e-6 ...]
"""

from __future__ import annotations

import os

from tablemend.config import load
from tablemend.recipe.experiment import GrpoCommand
from tablemend.runs import Run, say
from tablemend.script import run_script
from tablemend.tasks.sources import check_local


def main() -> None:
    """Prompts, model, training, checkpoint; the same command continues where it stopped."""
    config = load(GrpoCommand, after_check=plan)
    check_local(config.data.train, config.data.test)
    os.environ.setdefault("HF_HUB_DISABLE_TELEMETRY", "1")  # TRL reports every run otherwise
    say("starting torch, transformers and TRL")
    from tablemend.training import (  # torch, only once the recipe is valid
        adapters,
        checkpoints,
        engine,
        grpo,
        models,
        saving,
        stage,
        start,
    )

    config = stage.set_up(config)
    models.check_method(config)
    if config.show:
        tokenizer = checkpoints.load_tokenizer(config.model)
        for task in grpo.prepare(config, tokenizer).tasks[: config.show]:
            print(grpo.show(task, config))
        return

    engine.refuse_engine(config)
    run = Run.of(config)
    with stage.alone(run):
        if not stage.begin(config, run, config.overwrite):
            return
        pinned = stage.pinned(config, run)
        tokenizer = checkpoints.load_tokenizer(pinned.model)
        prepared = stage.once(run, lambda: grpo.prepare(config, tokenizer))
        trainer = grpo.build_trainer(pinned, run, tokenizer, prepared)
        facts = {**prepared.facts, **stage.once(run, lambda: start.start_facts(pinned))}
        stage.record(run, config.stage, facts)
        facts |= stage.train(trainer, config, run)
        facts["rewards"] = grpo.summary(facts["log"])
        prompts = [task.ids for task in prepared.tasks[: adapters.PROMPTS]]
        saving.save(trainer, pinned, run, tokenizer, prompts, facts)
        stage.report(run, facts)


def plan(config: GrpoCommand) -> None:
    """Steps, tokens and memory, from the architecture alone."""
    from tablemend.training.plan import print_plan

    print_plan(config, config.gpus)


if __name__ == "__main__":
    run_script(main)
