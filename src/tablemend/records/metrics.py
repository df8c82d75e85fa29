"""What a report counts: a task's own metrics, and those that every task has."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from tablemend.records.answers import Judgement


@dataclass(frozen=True, slots=True)
class Metric:
    """A column of a report.

    Attributes:
        name: its key in results.json.
        title, column: its name in a list, and at the head of a column.
        meaning: what is counted, in a sentence.
        kind: ``error``: answers with an error of the type ``name``. ``group``: answers with an
            error of one of ``types``. ``share``: the mean of :attr:`Judgement.shares`; higher is
            better. ``event``, ``distractor``: answers with such a share above 0, of those that can
            have it. ``abstention``, ``unscored``: answers that say nothing, or get no verdict.
            ``context``: of the answers to samples that share a context, not of one alone.
        types: of a group, and of an event that errors make.
    """

    name: str
    title: str
    column: str
    meaning: str
    kind: Literal[
        "error", "group", "share", "event", "distractor", "abstention", "unscored", "context"
    ] = "error"
    types: tuple[str, ...] = ()

    def value(self, judgement: Judgement) -> float | None:
        """What one answer adds: 0 or 1 for an event, a share as it is; ``None`` does not count."""
        match self.kind:
            case "error" | "group":
                types = self.types or (self.name,)
                return float(any(finding.type in types for finding in judgement.findings))
            case "share":
                return judgement.share(self.name)
            case "event" | "distractor":
                share = judgement.share(self.name)
                return None if share is None else float(share > 0)
            case "abstention":
                return float(judgement.abstained)
            case "unscored":
                return float(bool(judgement.unscored))
            case "context":
                return None


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
ANSWERED_BOTH = Metric(
    "answered_both",
    "Answered both ways",
    "both ways",
    "of the contexts that several queries are asked of, those in which each query is answered "
    "exactly right: no error, and nothing left out; higher is better",
    "context",
)
UNMOVED = Metric(
    "unmoved",
    "Answers that do not move with the query",
    "unmoved",
    "of the pairs of queries about one context that ask for other rows, those whose answers have "
    "the same rows: the query is ignored",
    "context",
)
TOTAL = "total_hallu"
"""Name of the metric that every report puts first."""


def is_flawless(judgement: Judgement, metrics: Sequence[Metric]) -> bool:
    """Whether an answer states all that it should, and nothing else."""
    shares = (judgement.share(one.name) for one in metrics if one.kind == "share")
    says = not (judgement.findings or judgement.unscored or judgement.abstained)
    return says and all(share in (None, 1.0) for share in shares)


def total(errors: Sequence[Metric], meaning: str) -> Metric:
    """Answers with an error of any of a task's types (TableHallu, C.2: TotalHallu)."""
    return Metric(
        TOTAL, "TotalHallu", "TotalHallu", meaning, "group", tuple(one.name for one in errors)
    )
