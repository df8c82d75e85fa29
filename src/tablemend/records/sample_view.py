"""What a report shows of a sample: kept in the run folder, so that no report needs the task."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from tablemend.from_json import FromJson
from tablemend.tables.table import Table


class Mark(NamedTuple):
    """Words of a text that are marked.

    Attributes:
        start, end: their place.
        kind: ``fact`` for what belongs into the answer, ``distractor`` for what does not.
        why: in a few words.
    """

    start: int
    end: int
    kind: str
    why: str


@dataclass(frozen=True, slots=True)
class SampleView(FromJson):
    """A sample as a person looks at it.

    Attributes:
        id: of the sample.
        view: how it was shown.
        title: what it is about.
        note: what else there is to know, in small print.
        domain: what rates are broken down by.
        calculation: what the query asks to be worked out; ``none`` where nothing is.
        labels: what else examples are filtered by: a name, and what it is of this one.
        context_id: equal for samples that ask other things of the same context.
        wanted: what the right answer lists, as in :attr:`Judgement.said`; empty where answers are
            not compared by it.
        query: what was asked for; empty where that is always the same.
        text: the text that the model read; empty where it read tables alone.
        marks: in the text.
        tables: that the model read.
        gold: the right answer: a table or a text; ``None`` where there is none.
    """

    id: str
    view: str
    title: str
    note: str
    domain: str
    query: str = ""
    text: str = ""
    marks: tuple[Mark, ...] = ()
    tables: tuple[Table, ...] = ()
    gold: Table | str | None = None
    calculation: str = "none"
    labels: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    context_id: str = ""
    wanted: str = ""

    @property
    def length(self) -> int:
        """Size of what was read: characters of a text, else cells of the tables."""
        return len(self.text) or sum(len(one.rows) * len(one.columns) for one in self.tables)

    def to_json(self) -> dict[str, Any]:
        """A JSON-serialisable dict that :meth:`from_json` reads back."""
        return {name: getattr(self, name) for name in self.__slots__} | {
            "tables": [table.to_json() for table in self.tables],
            "gold": self.gold.to_json() if isinstance(self.gold, Table) else self.gold,
        }
