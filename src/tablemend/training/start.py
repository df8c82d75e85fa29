"""What a second training starts from: the checkpoint of a first one, and that one's manifest."""

from __future__ import annotations

import json
from typing import Any

from tablemend.backends.checkpoints import Checkpoint, local_folder
from tablemend.config.experiment import Trained
from tablemend.errors import TablemendError
from tablemend.runs import Run

LEFT_OUT = ("log",)
"""Facts of a first training that are too long to repeat: they stay in its own manifest."""


def start_facts(config: Trained) -> dict[str, Any]:
    """The base relation: the path of the start, and what the run that made it recorded.

    A checkpoint from elsewhere has no manifest.
    """
    folder = local_folder(config.model.path)
    facts: dict[str, Any] = {"path": config.model.path, "manifest": None}
    if folder is None or not Run(folder.parent).manifest.is_file():
        return facts
    try:
        stages = json.loads(Run(folder.parent).manifest.read_text("utf-8"))
        facts["manifest"] = {
            name: {key: value for key, value in stage.items() if key not in LEFT_OUT}
            for name, stage in stages.items()
        }
    except (ValueError, AttributeError) as error:
        raise TablemendError(
            f"{Run(folder.parent).manifest}, the manifest of the start, cannot be read ({error}): "
            "move it away, or train the start again"
        ) from error
    return facts


def refuse_adapter(config: Trained) -> None:
    """Refuse an adapter as a start: without it, its base would be the reference.

    Raises:
        TablemendError: model.path is the folder of an adapter.
    """
    folder = local_folder(config.model.path)
    if folder is not None and folder.is_dir() and Checkpoint(str(folder)).adapter_base is not None:
        raise TablemendError(
            f"model.path={config.model.path} is an adapter, and the reference would be its base: "
            "merge it first (train/merge.py), or train the start with lora.save: merged"
        )
