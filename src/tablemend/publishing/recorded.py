"""What a run folder says of its training: configuration, manifest, and the run before it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from pydantic import ValidationError

from tablemend.backends.checkpoints import ADAPTER, local_folder
from tablemend.config import HUB, SMALL_WORLD
from tablemend.errors import TablemendError
from tablemend.pretrained.fetch import RECORD
from tablemend.recipe import experiment as recipes
from tablemend.recipe.experiment import TrainingRecipe
from tablemend.runs import Run, read_object

KINDS: dict[str, type[TrainingRecipe]] = {
    "sft": recipes.Experiment,
    "dpo": recipes.DpoExperiment,
    "grpo": recipes.GrpoExperiment,
    "distil": recipes.DistilExperiment,
}
MERGED = "merged"
"""Folder of a run with the whole weights of its adapter."""


@dataclass(frozen=True)
class Recorded:
    """A training as its run folder has it.

    Attributes:
        run: the folder.
        config: the resolved recipe.
        facts: what the manifest says of the training; empty where it says nothing.
    """

    run: Run
    config: TrainingRecipe
    facts: dict[str, Any]

    @property
    def stage(self) -> str:
        """Name of the training: ``sft``, ``dpo``."""
        return self.config.stage

    @property
    def is_adapter(self) -> bool:
        """Whether the checkpoint is an adapter on its base."""
        return (self.run.model / ADAPTER).is_file()

    @property
    def merged(self) -> Path:
        """Where train/merge.py puts the whole weights of an adapter."""
        return self.run.path / MERGED


def read_recorded(folder: Path) -> Recorded:
    """Read what a training left.

    Raises:
        TablemendError: no training there, two of them, or one that this version does not read.
    """
    stages = [stage for stage in KINDS if (folder / f"{stage}.yaml").is_file()]
    if len(stages) != 1:
        found = " and ".join(f"{stage}.yaml" for stage in stages) or "no configuration of one"
        raise TablemendError(f"{folder} is not the run of one training: it holds {found}")
    path = folder / f"{stages[0]}.yaml"
    try:
        data = yaml.safe_load(path.read_text(encoding="utf-8"))
        kind = KINDS[stages[0]]
        # earlier versions noted what the command took beside the recipe (overwrite, show)
        config = kind.model_validate({k: v for k, v in data.items() if k in kind.model_fields})
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"])) or "the whole file"
        raise TablemendError(
            f"{path} is not as this version writes it ({where}: {first['msg']}): use the version "
            "that its manifest names"
        ) from error
    except (yaml.YAMLError, AttributeError, RecursionError, ValueError) as error:
        raise TablemendError(f"{path} cannot be read: {error}") from error
    run = Run(folder)
    return Recorded(run, config, run.recorded(config.stage))


def base_of(recorded: Recorded) -> str | None:
    """The base model's name on the Hub; ``None`` where its folder does not tell."""
    path = chain_of(recorded)[0].config.model.path
    folder = local_folder(path)
    if folder is None:
        return path
    if not (folder / RECORD).is_file():
        return None
    return str(read_object(folder / RECORD, "fetch it again")["hub"]["name"])


def datasets_of(recorded: Recorded) -> tuple[list[str], list[str]]:
    """The training's data sets by their names on the Hub, and folders that have no such name."""
    chain = [one.config.data.training_sources for one in chain_of(recorded)]
    named = {one.source for sources in chain for one in sources} - {SMALL_WORLD}
    hub = {name.removeprefix(HUB) for name in named if name.startswith(HUB)}
    return sorted(hub), sorted(name for name in named if not name.startswith(HUB))


def chain_of(recorded: Recorded) -> list[Recorded]:
    """The trainings from the base model to this one: each began with the one before it."""
    folder = local_folder(recorded.config.model.path)
    if folder is None or not any((folder.parent / f"{name}.yaml").is_file() for name in KINDS):
        return [recorded]
    return [*chain_of(read_recorded(folder.parent)), recorded]
