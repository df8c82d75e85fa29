"""The steps of a reproduction: what the scripts in data_gen/, train/ and eval/ call."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tablemend.config import parse
from tablemend.evaluation.command import CompareCommand
from tablemend.evaluation.compare import compare
from tablemend.recipe.experiment import TrainingRecipe
from tablemend.reports.report import write_reports
from tablemend.reports.robustness_report import write_robustness
from tablemend.runs import Run


def make_data(script: str, tokens: Sequence[str]) -> dict[str, Any]:
    """Make a data set, as the script of this name does; its counts."""
    match script:
        case "tablehallu":
            from tablemend.tasks.tablehallu import dataset as tablehallu
            from tablemend.tasks.tablehallu.settings import Synthesis

            return tablehallu.make_dataset(parse(Synthesis, tokens), _ignore)
        case "tabfaith":
            from tablemend.tasks.tabfaith import data as tabfaith

            return tabfaith.make_dataset(parse(tabfaith.TabFaith, tokens), _ignore)
        case "faith":
            from tablemend.tasks.faith import data as faith

            return faith.make_dataset(parse(faith.FaithSet, tokens), _ignore)
        case _:
            from tablemend.tasks.torr import data as torr

            return torr.make_dataset(parse(torr.TorrSet, tokens))


def _ignore(done: int) -> None:
    """Progress, which these sets are too small for."""


def is_trained(run: Run, training: TrainingRecipe) -> bool:
    """Whether the run has its finished checkpoint.

    Raises:
        TablemendError: it has one that was trained with other settings than the recipe's.
    """
    from tablemend.training import checkpoints  # torch, where something is trained
    from tablemend.training.stage import FIXED

    if not checkpoints.is_complete(run.model):
        return False
    run.refuse_settings(training.stage, training, FIXED, "give run=NAME, or the settings it had")
    return True


def train(config: TrainingRecipe) -> None:
    """Train in this process, as one process of train/; more GPUs: launch that script first."""
    from tablemend.training.plan import preflight

    preflight(config)
    from tablemend.training import distil, dpo, grpo, sft, stage

    methods = {"sft": sft, "dpo": dpo, "grpo": grpo, "distil": distil}
    stage.train(config, methods[config.stage].METHOD)


def answer(config: CompareCommand) -> None:
    """Answer, edit, score, and write the reports."""
    compare(config)
    write_reports(Run.of(config).path)


def measure_robustness(run: Run) -> None:
    """Performance and robustness over the contexts of a run."""
    write_robustness(run.path)
