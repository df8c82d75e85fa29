"""Train a checkpoint on preference pairs (DPO).

python data_gen/preference.py recipe=tiny-dpo
accelerate launch train/dpo.py recipe=tiny-dpo [dpo.beta=0.2 ...]
"""

from __future__ import annotations

import os

from tablemend.config import load
from tablemend.preferences.command import DpoCommand
from tablemend.preferences.pairs import check_pairs
from tablemend.runs import Run, say
from tablemend.script import run_script
from tablemend.tasks.sources import check_local


def main() -> None:
    """Pairs, start, training, verified checkpoint; the same command continues where it stopped."""
    config = load(DpoCommand, after_check=plan)
    check_local(config.data.train, config.data.validation, config.data.test)
    check_pairs(config)
    os.environ.setdefault("HF_HUB_DISABLE_TELEMETRY", "1")  # TRL reports every run otherwise
    say("starting torch, transformers and TRL")
    from tablemend.training import (  # torch, only once the recipe is valid
        adapters,
        checkpoints,
        data,
        models,
        preference,
        saving,
        stage,
        start,
    )

    config = stage.set_up(config)
    models.check_method(config)
    if config.show:
        tokenizer = checkpoints.load_tokenizer(config.model)
        built, _ = preference.build_rows(config, tokenizer)
        for pair in built.rows["train"][: config.show]:
            for row in pair.rows:
                print(data.show(tokenizer, row))
        return

    run = Run.of(config)
    with stage.alone(run):
        if not stage.begin(config, run, config.overwrite):
            return
        pinned = stage.pinned(config, run)
        tokenizer = checkpoints.load_tokenizer(pinned.model)
        prepared = preference.prepare(config, run, tokenizer)
        trainer = preference.build_trainer(pinned, run, tokenizer, prepared)
        facts = {**prepared.facts, **stage.once(run, lambda: start.start_facts(pinned))}
        stage.record(run, config.stage, facts)
        facts |= stage.train(trainer, config, run)
        prompts = prepared.train[: adapters.PROMPTS]["prompt_ids"]
        saving.save(trainer, pinned, run, tokenizer, prompts, facts)
        stage.report(run, facts)
        preference.report(facts)


def plan(config: DpoCommand) -> None:
    """Steps, tokens and memory, from the architecture alone."""
    from tablemend.training.plan import print_plan

    print_plan(config, config.gpus)


if __name__ == "__main__":
    run_script(main)
