"""The sample of ToRR: a table with a question of some kind, and the solved examples before it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Annotated, Any

from pydantic import BeforeValidator

from tablemend.foreign import FromJson
from tablemend.runs import hash_text
from tablemend.tables.table import Table


def _given(fields: Mapping[str, str | None]) -> dict[str, str]:
    """Without blanks: read from Parquet, each example has the fields of all."""
    return {name: value for name, value in fields.items() if value is not None}


Fields = Annotated[Mapping[str, str], BeforeValidator(_given)]


@dataclass(frozen=True, slots=True)
class Demonstration(FromJson):
    """A solved example.

    Attributes:
        table: the table.
        fields: what is shown beside it, by name: ``question``, ``caption``.
        answer: what is to be written.
    """

    table: Table
    fields: Fields
    answer: str


@dataclass(frozen=True, slots=True)
class TableQuestion(FromJson):
    """One example of one of the data sets.

    Attributes:
        set: name of the data set.
        table: the table, in its original order.
        fields: what is shown beside it, by name.
        references: right answers; one of them is enough.
        demonstrations: shown before it, their tables in the same configuration.
        source_hash: what splits keep apart: the table, or the document that it stands in.
        types: labels to choose from; empty where any text is an answer.
    """

    set: str
    table: Table
    fields: Fields
    references: tuple[str, ...]
    demonstrations: tuple[Demonstration, ...] = ()
    source_hash: str = ""
    types: tuple[str, ...] = field(default=())

    @property
    def id(self) -> str:
        """Hash of the content."""
        return hash_text(json.dumps(self.to_json(), ensure_ascii=False, sort_keys=True))

    @property
    def domain(self) -> str:
        """The data set, which reports break rates down by."""
        return self.set

    def to_json(self) -> dict[str, Any]:
        """A JSON-serialisable dict that :meth:`from_json` reads back."""
        shown = [asdict(one) | {"table": one.table.to_json()} for one in self.demonstrations]
        return asdict(self) | {"table": self.table.to_json(), "demonstrations": shown}
