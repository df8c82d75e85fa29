"""The three enterprise domains of TabSum-Ent, as synthetic tables (TabFaith, 3.2)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, get_args

from tablemend.datasets.tabfaith import clinical, financial, operations
from tablemend.tables.table import Table

Domain = Literal["general", "financial", "clinical", "operations"]
DOMAINS: tuple[Domain, ...] = get_args(Domain)
"""``general`` are tables of any topic, ToTTo's in the paper."""

SYNTHETIC: dict[Domain, Callable[[int, int], Table]] = {
    "financial": financial.make_table,
    "clinical": clinical.make_table,
    "operations": operations.make_table,
}
"""The table of a seed and a number, without end; nothing in it is a fact."""
