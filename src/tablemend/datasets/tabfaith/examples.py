"""The record of a TabFaith set: a table, a summary, and what is wrong with it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from tablemend.datasets.tabfaith.domains import Domain
from tablemend.datasets.tabfaith.summary import Fact, InjectedError
from tablemend.errors import TablemendError
from tablemend.runs import read_jsonl
from tablemend.tables.table import Table

Label = Literal["faithful", "unfaithful", "unscored"]


@dataclass(frozen=True, slots=True)
class TabFaithExample:
    """One (table, summary, annotation) triple (TabFaith, 3.2).

    Attributes:
        domain: ``general`` or one of the three enterprise domains.
        table: what is summarised.
        summary: the text.
        facts: its claims; those of an unfaithful summary at their places, the false ones
            included; none for a model's summary.
        label: ``unscored`` only for a model's summary that its verifier cannot judge.
        errors: what is wrong, in the order of the text; empty unless unfaithful.
        labelled_by: ``construction``, or the verifier that labelled a model's summary.
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
            content = json.dumps(self._content(), ensure_ascii=False, sort_keys=True)
            digest = hashlib.sha256(content.encode()).hexdigest()[:16]
            object.__setattr__(self, "id", digest)

    def _content(self) -> dict[str, Any]:
        return {
            "domain": self.domain,
            "table": self.table.to_json(),
            "summary": self.summary,
            "facts": [fact.to_json() for fact in self.facts],
            "label": self.label,
            "errors": [error.to_json() for error in self.errors],
            "labelled_by": self.labelled_by,
            "source": self.source,
            "source_hash": self.source_hash,
            "seed": self.seed,
            "engine": self.engine,
        }

    def to_json(self) -> dict[str, Any]:
        """A JSON-serialisable dict that :meth:`from_json` reads back."""
        return {"id": self.id, **self._content()}

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> TabFaithExample:
        """The inverse of :meth:`to_json`."""
        return cls(
            data["domain"],
            Table.from_json(data["table"]),
            data["summary"],
            tuple(map(Fact.from_json, data["facts"])),
            data["label"],
            tuple(map(InjectedError.from_json, data["errors"])),
            data["labelled_by"],
            data["source"],
            data["source_hash"],
            data["seed"],
            data["engine"],
            data["id"],
        )


def read_examples(path: str | Path) -> Iterator[TabFaithExample]:
    """The examples of one file of a set.

    Raises:
        TablemendError: no such file, or a line that is no example.
    """
    path = Path(path)
    if not path.is_file():
        raise TablemendError(f"{path}: no such file; make it with data_gen/tabfaith.py")
    for number, record in enumerate(read_jsonl(path), 1):
        try:
            yield TabFaithExample.from_json(record)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise TablemendError(f"{path}:{number}: no TabFaith example ({error})") from error
