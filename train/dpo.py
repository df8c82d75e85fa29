"""Train a checkpoint on preference pairs (DPO).

python data_gen/preference.py recipe=tiny-dpo
accelerate launch train/dpo.py recipe=tiny-dpo [dpo.beta=0.2 ...]
"""

from __future__ import annotations

import os

from tablemend.config import load
from tablemend.preferences.command import DpoCommand
from tablemend.preferences.pairs import check_pairs
from tablemend.runs import Run
from tablemend.script import run_script
from tablemend.tasks.sources import check_local


def main() -> None:
    """Pairs, start, training, verified checkpoint; the same command continues where it stopped."""
    config = load(DpoCommand, after_check=plan)
    check_local(config.data.train, config.data.validation, config.data.test)
    check_pairs(config)
    os.environ.setdefault("HF_HUB_DISABLE_TELEMETRY", "1")  # TRL reports every run otherwise
    from tablemend.training import (  # torch, only once the recipe is valid
        checkpoints,
        data,
        models,
        preference,
        saving,
        stage,
        start,
    )

    stage.set_up()
    tokenizer = checkpoints.load_tokenizer(config.model)
    if config.show:
        built, _ = preference.build_rows(config, tokenizer)
        for pair in built.rows["train"][: config.show]:
            for row in pair.rows:
                print(data.show(tokenizer, row))
        return

    run = Run.of(config)
    with stage.alone(run):
        if not stage.begin(config, run, config.overwrite):
            print(f"finished: {run.model} (overwrite=true starts anew)")
            return
        prepared = preference.prepare(config, run, tokenizer)
        trainer = preference.build_trainer(config, run, tokenizer, prepared)
        facts = {
            **prepared.facts,
            "model_revision": models.model_revision(config, trainer),
            "start": start.start_facts(config),
        }
        stage.record(run, config.stage, facts)
        facts |= stage.train(trainer, config, run)
        saving.save(trainer, config, run, tokenizer, prepared.train[0]["prompt_ids"], facts)
        stage.report(run, facts)
        preference.report(facts)


def plan(config: DpoCommand) -> None:
    """Steps, tokens and memory, from the architecture alone."""
    from tablemend.training.plan import print_plan

    print_plan(config)


if __name__ == "__main__":
    run_script(main)
