"""The columns that reports of every task have."""

from __future__ import annotations

from collections.abc import Sequence

from tablemend.records import Metric

ABSTENTION = Metric(
    "abstention",
    "Abstention",
    "abstention",
    "an answer that can be read and says nothing: no error, and no answer",
    "abstention",
)
UNSCORED = Metric(
    "unscored",
    "Unscored",
    "unscored",
    "no verdict was possible; these answers count in no other column",
    "unscored",
)
TOTAL = "total_hallu"
"""Name of the metric that every report puts first."""


def total(errors: Sequence[Metric], meaning: str) -> Metric:
    """Answers with an error of any of a task's types (TableHallu, C.2: TotalHallu)."""
    return Metric(
        TOTAL, "TotalHallu", "TotalHallu", meaning, "group", tuple(one.name for one in errors)
    )
