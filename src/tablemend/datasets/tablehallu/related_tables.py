"""Rows of a second table, about another kind of subject than the one asked for."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

from tablemend.datasets.tablehallu.columns import TypedTable, Unusable, type_table
from tablemend.datasets.tablehallu.compose import StatedRow
from tablemend.datasets.tablehallu.invented_names import NameGuard
from tablemend.datasets.tablehallu.kernel import Kernel
from tablemend.datasets.tablehallu.sentences import Speaker
from tablemend.datasets.tablehallu.sources import SourceTable


class RelatedTable:
    """A table whose rows stand beside those asked for.

    Attributes:
        names: of its entities.

    Raises:
        Unusable: nothing says what its rows are.
    """

    def __init__(self, read: SourceTable) -> None:
        self.typed = type_table(read.table, key=read.key)
        self.names = {row[self.typed.key] for row in self.typed.table.rows}
        self._kind = self.typed.columns[self.typed.key].name
        speaker = Speaker(self.typed, ())
        if speaker.noun != self._kind.lower():
            raise Unusable("no noun for its rows")
        self._speaker = speaker.with_kinds()

    def state(
        self, beside: TypedTable, kernel: Kernel, apart: bool, rng: Random
    ) -> Iterator[StatedRow]:
        """Its rows, but for those with a name like one of the other table, in any order.

        Args:
            beside: the table asked for.
            kernel: what is asked for; as many columns are stated, first those of the same name.
            apart: in two passages a row.
            rng: what draws.
        """
        typed, key = self.typed, self.typed.key
        asked = {beside.columns[column].name.lower() for column in kernel.stated()}
        usable = [c for c, column in enumerate(typed.columns) if column.usable and c != key]
        rng.shuffle(usable)
        usable.sort(
            key=lambda c: (
                c not in typed.distinguishing,
                typed.columns[c].name.lower() not in asked,
            )
        )
        columns = usable[: max(len(asked) - 1, len(typed.distinguishing))]
        half = len(columns) // 2 if apart and not typed.distinguishing else len(columns)
        holes = len(kernel.blanks) / len(kernel.rows)
        guard = NameGuard(row[beside.key] or "" for row in beside.table.rows)
        own = {row[beside.key] for row in beside.table.rows}
        for row in rng.sample(typed.table.rows, len(typed.table.rows)):
            if row[key] not in own and not guard.is_similar(row[key] or ""):
                # As often as gold rows, these leave something out.
                secret = rng.choice(columns) if rng.random() < holes else None
                shown = [c for c in columns if c != secret or c in typed.distinguishing]
                passages = [shown[:half], shown[half:]]
                yield self._speaker.state(row, passages, self._kind, rng)
