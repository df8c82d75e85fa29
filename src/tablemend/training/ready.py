"""What a script that trains does before torch is imported."""

from __future__ import annotations

import os
from typing import Any

from tablemend.recipe.experiment import DpoExperiment, Trained
from tablemend.runs import say
from tablemend.tasks.sources import check_local


def ready(config: Trained) -> None:
    """Refuse data that is not there, and say what comes.

    Raises:
        TablemendError: a file or folder that is missing, or pairs that were never made.
    """
    data = config.data
    sources = (*data.training_sources, data.validation, data.test)
    check_local(*sources, command=config.task_of().makes)
    if isinstance(config, DpoExperiment):
        from tablemend.training.pairs import check_pairs

        check_pairs(config)
    os.environ.setdefault("HF_HUB_DISABLE_TELEMETRY", "1")  # TRL reports every run otherwise
    os.environ.setdefault("TRL_EXPERIMENTAL_SILENCE", "1")  # our constraints pin TRL
    say("starting torch, transformers and TRL")


def plan(config: Any) -> None:
    """Steps, tokens and memory, from the architecture alone: below what --check prints."""
    from tablemend.training.plan import print_plan

    print_plan(config, config.gpus)
