"""The tasks by name: what a recipe names. Each is loaded by who makes it alone."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import EntryPoint
from typing import TYPE_CHECKING, Any

from tablemend.plugins import find_plugins, load_plugin

if TYPE_CHECKING:
    from tablemend.tasks.task import Task


@dataclass(frozen=True, slots=True)
class TaskClass:
    """A task's class: ``module:Class``, or the entry point of another package."""

    place: str | EntryPoint

    def __call__(self, *options: Any) -> Task[Any]:
        """The task.

        Raises:
            TablemendError: a plug-in does not load.
        """
        if isinstance(self.place, str):
            module, _, name = self.place.partition(":")
            cls = vars(import_module(module))[name]
        else:
            cls = load_plugin(self.place)
        task: Task[Any] = cls(*options)
        return task


TASKS: dict[str, Callable[..., Task[Any]]] = {
    **{name: TaskClass(plugin) for name, plugin in find_plugins("tablemend.tasks").items()},
    "table_generation": TaskClass("tablemend.tasks.tablehallu.task:TableGeneration"),
    "table_summary": TaskClass("tablemend.tasks.tabfaith.task:TableSummary"),
    "claim_verification": TaskClass("tablemend.tasks.claim_verification:ClaimVerification"),
    "records": TaskClass("tablemend.tasks.structured_output:StructuredOutput"),
    "claim_programs": TaskClass("tablemend.tasks.claim_verification:ClaimPrograms"),
    "faith": TaskClass("tablemend.tasks.faith.task:Faith"),
    "torr": TaskClass("tablemend.tasks.torr.task:Torr"),
    "logic": TaskClass("tablemend.tasks.logic.task:Logic"),
}
