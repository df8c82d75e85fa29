"""Kernels as a language model writes them, read from ``tests/data/llm_kernels.yaml``."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from tablemend.records import Condition, Constraints
from tablemend.tables.table import Table
from tablemend.tasks.tablehallu_llm.statements import KernelDraft

FILE = Path(__file__).parents[1] / "data" / "llm_kernels.yaml"


@dataclass(frozen=True)
class Case:
    """A kernel, its query and its constraints."""

    name: str
    draft: KernelDraft
    query: str
    constraints: Constraints


def _case(given: dict[str, Any]) -> Case:
    lines = [[cell.strip() for cell in line.split("|")] for line in given["table"].splitlines()]
    rows = [[None if cell == "-" else cell for cell in line] for line in lines[1:]]
    table = Table.of(lines[0], rows, given["name"])
    context = [" ".join(part.split()) for part in given["context"].strip().split("\n\n")]
    conditions = tuple(
        Condition(**{**one, "values": tuple(one.get("values", ()))})
        for one in given.get("conditions", ())
    )
    column, order = given["sort"]
    return Case(
        given["name"],
        KernelDraft(table, column, order, "\n\n".join(context)),
        given["query"],
        Constraints(tuple(given["scope"]), given.get("range"), column, order, conditions),
    )


CASES = tuple(map(_case, yaml.safe_load(FILE.read_text("utf-8"))))
