"""What becomes of one row of a data set: an example, or the reasons why there is none.

A row holds everything that was paid for on its way, so that counts, costs and verdict rates of a
data set are added up from its rows and from nothing else.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

from tablemend.records import Call, Example


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

    def to_json(self) -> dict[str, Any]:
        """The row as it is stored."""
        return {
            "number": self.number,
            "rejections": [rejection._asdict() for rejection in self.rejections],
            "calls": [call._asdict() for call in self.calls],
            "example": None if self.example is None else self.example.to_json(),
        }
