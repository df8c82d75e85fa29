"""The tasks by name: what a recipe names, and all that one line adds."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from tablemend.tasks.task import Task, TaskOptions


class TaskClass(NamedTuple):
    """A task's class as ``module:Class``, which only who makes the task loads."""

    place: str

    def __call__(self, *options: TaskOptions) -> Task[Any]:
        """The task."""
        module, _, name = self.place.partition(":")
        task: Task[Any] = vars(import_module(module))[name](*options)
        return task


TASKS: dict[str, TaskClass | Callable[..., Task[Any]]] = {
    "table_generation": TaskClass("tablemend.tasks.table_generation:TableGeneration"),
    "table_summary": TaskClass("tablemend.tasks.table_summary:TableSummary"),
    "claim_verification": TaskClass("tablemend.tasks.claim_verification:ClaimVerification"),
    "faith": TaskClass("tablemend.tasks.faith.task:Faith"),
    "torr": TaskClass("tablemend.tasks.torr.task:Torr"),
    "logic": TaskClass("tablemend.tasks.logic.task:Logic"),
}
