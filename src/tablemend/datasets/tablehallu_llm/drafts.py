"""What passes between the stages before there is an example."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from tablemend.records import SortOrder
from tablemend.tables.table import Table


class Topic(NamedTuple):
    """What a kernel is to be about; the names are the paper's (TableHallu, A.1.1)."""

    text: str
    category: str
    domain: str


@dataclass(frozen=True, slots=True)
class KernelDraft:
    """A table and the text that states it, as a model wrote them (TableHallu, A.1.2).

    Attributes:
        table: with the title that the model gave it.
        sort_column: as the model named it; whether the table has it is checked later.
        sort_order: the declared direction.
        context: the base context.
    """

    table: Table
    sort_column: str
    sort_order: SortOrder
    context: str
