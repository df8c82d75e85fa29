"""What a training starts from: the weights, and how an earlier run came to them."""

from __future__ import annotations

from typing import Any

from transformers import AutoConfig

from tablemend.backends.checkpoints import Checkpoint, local_folder
from tablemend.errors import TablemendError
from tablemend.recipe.experiment import STAGES, Model, Trained
from tablemend.runs import Run
from tablemend.training.checkpoints import cannot_load, check_model, revision_of

MAKERS = (*STAGES.values(), "merge")
"""Stages of a run that make weights."""
LEFT_OUT = ("log",)
"""Facts of an earlier run that are too long to repeat: they stay in its own manifest."""


def start_facts(config: Trained) -> dict[str, Any]:
    """What the manifest says of the start: which weights, and by what stages they were made.

    Args:
        config: the recipe, with the commit of a name on the Hub (``stage.pinned``).

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


def refuse_adapter(config: Trained) -> None:
    """Refuse an adapter as a start: what is trained would be its base, without it.

    Raises:
        TablemendError: model.path is the folder of an adapter.
    """
    folder = local_folder(config.model.path)
    if folder is not None and folder.is_dir() and Checkpoint(str(folder)).adapter_base is not None:
        raise TablemendError(
            f"model.path={config.model.path} is an adapter, and a training would begin with its "
            "base: merge it first (train/merge.py), or train the start with lora.save: merged"
        )


def refuse_quantised(config: Model) -> None:
    """Refuse a base whose stored weights are quantised; reads its config.json alone.

    Raises:
        TablemendError: it is, or it is no whole checkpoint.
    """
    check_model(config.path)
    try:
        settings = AutoConfig.from_pretrained(config.path, revision=config.revision)
    except (OSError, ValueError) as error:
        raise TablemendError(cannot_load(config.path, error)) from error
    if getattr(settings, "quantization_config", None):
        raise TablemendError(
            f"{config.path} is quantised: trained weights would be rounded away in it. Set "
            "model.path to the unquantised model; train.method=qlora loads that in 4 bits"
        )
