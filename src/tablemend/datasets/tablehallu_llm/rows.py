"""What becomes of one row of a data set: an example, or the reasons why there is none.

A row is one line of JSON. It holds everything that was paid for on its way, so that counts, costs
and verdict rates of a data set are added up from its rows and from nothing else.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, NamedTuple

from tablemend.datasets.tablehallu.files import encode
from tablemend.errors import TablemendError
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
        """A JSON-serialisable dict that :meth:`from_json` reads back."""
        return {
            "number": self.number,
            "rejections": [rejection._asdict() for rejection in self.rejections],
            "calls": [call._asdict() for call in self.calls],
            "example": None if self.example is None else self.example.to_json(),
        }

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Row:
        """The inverse of :meth:`to_json`."""
        example = data["example"]
        return cls(
            data["number"],
            None if example is None else Example.from_json(example),
            tuple(Rejection(**rejection) for rejection in data["rejections"]),
            tuple(Call(**call) for call in data["calls"]),
        )

    def to_line(self) -> str:
        """The row as one line of JSON, with its newline."""
        head = {
            "number": self.number,
            "rejections": [rejection._asdict() for rejection in self.rejections],
            "calls": [call._asdict() for call in self.calls],
        }
        text = json.dumps(head, ensure_ascii=False)
        example = "null" if self.example is None else encode(self.example).rstrip("\n")
        return f'{text[:-1]}, "example": {example}}}\n'

    @classmethod
    def from_line(cls, line: bytes, where: str) -> Row:
        """Read a line of :meth:`to_line`.

        Args:
            line: the bytes of the line.
            where: file and line, for the error.

        Raises:
            TablemendError: the line holds no row.
        """
        try:
            return cls.from_json(json.loads(line.decode("utf-8")))
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise unreadable(where, error) from error
        except TablemendError as error:  # a table without columns, for one
            raise unreadable(where, error) from error


def has_failed(row: Row) -> bool:
    """Whether a row was given up because a request failed for good: nothing speaks against it."""
    return row.example is None and bool(row.calls) and row.calls[-1].finish_reason == "error"


def unreadable(where: str, error: Exception) -> TablemendError:
    """The one line about a row that cannot be read."""
    return TablemendError(
        f"{where} holds no row ({type(error).__name__}: {error}): delete that line, and the same "
        "command makes the row again"
    )
