"""What a training starts from: the weights, and how an earlier run came to them."""

from __future__ import annotations

from typing import Any

from tablemend.backends.checkpoints import local_folder
from tablemend.recipe.experiment import STAGES, Trained
from tablemend.runs import Run
from tablemend.training.checkpoints import revision_of

MAKERS = (*STAGES.values(), "merge")
"""Stages of a run that make weights."""
LEFT_OUT = ("log",)
"""Facts of an earlier run that are too long to repeat: they stay in its own manifest."""


def start_facts(config: Trained) -> dict[str, Any]:
    """What the manifest says of the start: which weights, and by what stages they were made.

    Args:
        config: the recipe, with the commit of a name on the Hub (``run_folder.pinned``).

    Returns:
        ``model_revision``, and ``start``: what the run that made the weights recorded, by stage;
        empty for weights from elsewhere.
    """
    path = config.model.path
    revision = revision_of(path, config.model.revision)
    return {"model_revision": revision, "start": _recorded_before(path)}


def _recorded_before(path: str) -> dict[str, Any]:
    folder = local_folder(path)
    if folder is None:
        return {}
    run = Run(folder.parent)
    if not any((run.path / f"{stage}.yaml").is_file() for stage in STAGES.values()):
        return {}  # no run of ours: another's manifest.json may hold anything
    made = {stage: run.recorded(stage) for stage in MAKERS}
    return {
        stage: {name: fact for name, fact in facts.items() if name not in LEFT_OUT}
        for stage, facts in made.items()
        if facts
    }
