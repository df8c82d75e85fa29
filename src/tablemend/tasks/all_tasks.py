"""The tasks by name: what a recipe names, and all that one line adds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tablemend.tasks.claim_verification import ClaimVerification
from tablemend.tasks.faith.task import Faith
from tablemend.tasks.logic.task import Logic
from tablemend.tasks.table_generation import TableGeneration
from tablemend.tasks.table_summary import TableSummary
from tablemend.tasks.task import Task, TaskOptions
from tablemend.tasks.torr.task import Torr

TASKS: dict[str, Callable[[TaskOptions], Task[Any]]] = {
    "table_generation": TableGeneration,
    "table_summary": TableSummary,
    "claim_verification": ClaimVerification,
    "faith": Faith,
    "torr": Torr,
    "logic": Logic,
}
