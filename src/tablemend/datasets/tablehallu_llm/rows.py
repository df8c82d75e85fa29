"""What becomes of one row of a data set: an example, or the reasons why there is none.

A row holds everything that was paid for on its way, so that counts, costs and verdict rates of a
data set are added up from its rows and from nothing else. Rows are in ``rows/``, a
:class:`~tablemend.runs.Store` for each shard.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from tablemend.datasets.tablehallu_llm.usage import Usage
from tablemend.errors import TablemendError
from tablemend.records import Call, Example
from tablemend.runs import Store

FOLDER = "rows"


class Rejection(NamedTuple):
    """One answer that was not taken.

    Attributes:
        stage: what was asked for, such as ``kernel`` or ``verify_kernel``.
        kind: stable words to count by.
        text: the reason with its particulars.
        attempt: 0 at first, one more with every retry of the stage.
    """

    stage: str
    kind: str
    text: str
    attempt: int


@dataclass(frozen=True, slots=True)
class Row:
    """What came of one number.

    Attributes:
        number: place in the data set; topic, seeds and split follow from it alone.
        example: ``None`` where the row was given up.
        rejections: every answer that was not taken, in order.
        calls: every answer of a model, in order, also those of kernels that were thrown away.
    """

    number: int
    example: Example | None
    rejections: tuple[Rejection, ...] = ()
    calls: tuple[Call, ...] = ()

    @property
    def failed(self) -> bool:
        """Given up because a request failed for good: nothing speaks against the row."""
        return self.example is None and bool(self.calls) and self.calls[-1].finish_reason == "error"

    def to_json(self) -> dict[str, Any]:
        """A JSON-serialisable dict that :meth:`from_json` reads back."""
        return {
            "number": self.number,
            "rejections": [rejection._asdict() for rejection in self.rejections],
            "calls": [call._asdict() for call in self.calls],
            "example": None if self.example is None else self.example.to_json(),
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Row:
        """The inverse of :meth:`to_json`."""
        example = data["example"]
        return cls(
            data["number"],
            None if example is None else Example.from_json(example),
            tuple(Rejection(**rejection) for rejection in data["rejections"]),
            tuple(Call(**call) for call in data["calls"]),
        )


def shard_path(out: Path, part: int, parts: int) -> Path:
    """File of shard ``part``, counted from 0."""
    width = max(2, len(str(parts)))
    return out / FOLDER / f"{part + 1:0{width}}-of-{parts:0{width}}.jsonl"


class Rows(Mapping[int, Row]):
    """The rows of all shards; of two of one number the first that did not fail.

    Args:
        out: folder of the data set.
        n: rows that it is to have; further ones are passed over.
        settings: what the rows depend on.

    Attributes:
        usage: calls and tokens of all rows.
        seconds: time that they took, added up.
        failed: numbers of the rows whose requests failed.

    Raises:
        TablemendError: a file was made with other settings, or holds a line that is no row.
    """

    def __init__(self, out: Path, n: int, settings: Mapping[str, Any]) -> None:
        self.usage = Usage()
        self.seconds = 0.0
        self.failed: set[int] = set()
        self._stores: dict[int, Store] = {}
        for path in sorted((out / FOLDER).glob("*-of-*.jsonl")):
            store = Store(path, "number", settings)
            for number, record in store.items():
                row = _read(record, store, number)
                if number >= n or (number in self._stores and number not in self.failed):
                    continue
                self._stores[number] = store
                (self.failed.add if row.failed else self.failed.discard)(number)
                self.usage.add(row.calls)
                self.seconds += record.get("seconds", 0.0)

    def __getitem__(self, number: int) -> Row:
        store = self._stores[number]
        return _read(store[number], store, number)

    def __iter__(self) -> Iterator[int]:
        return iter(sorted(self._stores))

    def __len__(self) -> int:
        return len(self._stores)


def _read(record: Mapping[str, Any], store: Store, number: int) -> Row:
    try:
        return Row.from_json(record)
    except (ValueError, KeyError, TypeError, AttributeError, TablemendError) as error:
        raise TablemendError(
            f"{store.path}: row {number} cannot be read ({type(error).__name__}: {error}): take "
            "its line out, and the same command makes it again"
        ) from error
