"""The record of a TabFaith set: a table, a summary, and what is wrong with it."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field, fields
from typing import Any, Literal

from tablemend.datasets.tabfaith.domains import Domain
from tablemend.datasets.tabfaith.summary import Fact, InjectedError
from tablemend.foreign import FromJson
from tablemend.runs import hash_text
from tablemend.tables.table import Table

Label = Literal["faithful", "unfaithful", "unscored"]


@dataclass(frozen=True, slots=True)
class TabFaithExample(FromJson):
    """One (table, summary, annotation) triple (TabFaith, 3.2).

    Attributes:
        domain: ``general`` or one of the three enterprise domains.
        table: what is summarised.
        summary: the text.
        facts: its claims; those of an unfaithful summary at their places, the false ones
            included.
        label: ``unscored`` of summaries of others alone, where nobody could say.
        errors: what is wrong, in the order of the text; empty unless unfaithful.
        labelled_by: ``construction``, or the verifier that labelled a summary of others.
        source: where the table stands; synthetic tables name their generator and number.
        source_hash: content hash of the table: splits are made by it.
        seed: of the data set.
        engine: what wrote summary and errors, with versions.
        id: hash of all this.
    """

    domain: Domain
    table: Table
    summary: str
    facts: tuple[Fact, ...]
    label: Label
    errors: tuple[InjectedError, ...]
    labelled_by: str
    source: str
    source_hash: str
    seed: int
    engine: str
    id: str = field(default="")

    def __post_init__(self) -> None:
        if not self.id:
            content = {name: value for name, value in self.to_json().items() if name != "id"}
            text = json.dumps(content, ensure_ascii=False, sort_keys=True)
            object.__setattr__(self, "id", hash_text(text))

    def to_json(self) -> dict[str, Any]:
        """A JSON-serialisable dict that :meth:`from_json` reads back."""
        data = {field.name: getattr(self, field.name) for field in fields(self)}
        data["facts"] = [fact.to_json() for fact in self.facts]
        data["errors"] = [asdict(error) for error in self.errors]
        return {"id": self.id, **data, "table": self.table.to_json()}
