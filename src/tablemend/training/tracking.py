"""Where a training's log goes beside its run folder: refused early, where it cannot go there."""

from __future__ import annotations

import os
from pathlib import Path

from tablemend.errors import TablemendError
from tablemend.recipe.experiment import Trained

PROJECT = "tablemend"
"""Of runs that no variable of the environment and no option of TRL puts into another."""
LOCAL = ("offline", "disabled", "dryrun")
"""Values of ``WANDB_MODE`` that send nothing."""


def check_tracking(config: Trained) -> None:
    """Refuse to train for a tracker that would ask who one is, hours later or without a terminal.

    Raises:
        TablemendError: Weights & Biases knows no key.
    """
    if config.tracking != "wandb":
        return
    os.environ.setdefault("WANDB_PROJECT", PROJECT)
    if os.environ.get("WANDB_MODE") in LOCAL or os.environ.get("WANDB_API_KEY"):
        return
    import wandb

    if not wandb.login(prompt=False):
        raise TablemendError(
            "tracking=wandb knows no key: run `wandb login`, or set WANDB_API_KEY, or set "
            "WANDB_MODE=offline, which writes into ./wandb and sends nothing"
        )


def options(config: Trained, folder: str) -> dict[str, str]:
    """What TRL's configurations take; ``folder`` holds the checkpoints, in that of the run."""
    name = Path(folder).parent.name
    return {"report_to": config.tracking or "none", "project": PROJECT, "run_name": name}
