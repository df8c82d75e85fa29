"""What becomes of one row of a data set: an example, or the reasons why there is none.

A row holds everything that was paid for on its way, so that counts, costs and verdict rates of a
data set are added up from its rows and from nothing else.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from tablemend.errors import TablemendError
from tablemend.records import Call, Example
from tablemend.runs import Store


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


def read_row(store: Store, number: int) -> Row:
    """The row of a number.

    Raises:
        TablemendError: its record is no row.
    """
    try:
        return Row.from_json(store[number])
    except (ValueError, KeyError, TypeError, AttributeError, TablemendError) as error:
        raise TablemendError(
            f"{store.path}: row {number} cannot be read ({type(error).__name__}: {error}): take "
            "its line out, and the same command makes it again"
        ) from error
