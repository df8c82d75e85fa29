"""What the scripts in eval/ take on their command line."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Literal

from pydantic import Field

from tablemend.backends.names import ModelName
from tablemend.config import Section
from tablemend.config.section import RunFolder
from tablemend.errors import TablemendError
from tablemend.recipe.experiment import Comparison
from tablemend.runs import folder_of
from tablemend.tasks.all_tasks import TASKS
from tablemend.tasks.task import DEFAULTS


class CompareCommand(Comparison):
    """What eval/compare.py takes beside the recipe."""

    backend: Literal["hf", "vllm"] | None = None
    """Comes before evaluation.backend."""
    rescore: bool = False
    """Score the stored answers again; generate nothing, load no model that answers."""

    def conflicts(self) -> Iterator[tuple[str, str]]:
        """Model strings that cannot be read, beside what a recipe can contradict."""
        yield from super().conflicts()
        named = {
            f"evaluation.systems.{n}.model": a.model for n, a in self.evaluation.systems.items()
        }
        has_second = self.task in TASKS and TASKS[self.task](DEFAULTS).second_scorer is not None
        trains = self.kind in ("dpo", "grpo") and has_second
        if trains and self.evaluation.second_scorer == "none":
            yield (
                "evaluation.second_scorer",
                f"{self.kind} trains on what the detector finds: its checkpoint needs a scorer "
                "that shares nothing with it, exact",
            )
        for path, text in {"model.path": self.model.path, **named}.items():
            if text in ("base", self.stage):
                continue
            try:
                ModelName.parse(text, self.default_engine)
            except TablemendError as error:
                yield path, str(error)

    @property
    def default_engine(self) -> Literal["hf", "vllm"]:
        """Engine of the models that name none."""
        return self.backend or self.evaluation.backend


class ReportCommand(Section):
    """What eval/report.py takes."""

    run: RunFolder
    """Run folder: a name below runs/, or a path where it contains a slash."""
    page: str | None = None
    """Markdown file that a table of all systems is put into for each context, between
    `<!-- figures: CONTEXT -->` and `<!-- end -->`."""


class RobustnessCommand(Section):
    """What eval/robustness.py takes."""

    run: RunFolder | None = None
    """Run folder: a name below runs/, or a path where it contains a slash."""
    recipe: RunFolder | None = None
    """In place of `run`: the recipe whose comparison it is."""
    wanted: float = Field(default=0.9, gt=0, le=1)
    """Kendall's W between rankings of the systems that fewer configurations are to reach."""

    def conflicts(self) -> Iterator[tuple[str, str]]:
        """No run, or two."""
        if (self.run is None) == (self.recipe is None):
            yield "run", "name one run: run=FOLDER, or the recipe that made it: recipe=NAME"


def run_folder(command: ReportCommand | RobustnessCommand) -> Path:
    """The folder that a command names."""
    name = command.run or getattr(command, "recipe", None)
    assert name
    return folder_of(name)
