"""What a report counts of answers and shows of samples, so that it needs no task."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, get_args

from tablemend.foreign import FromJson
from tablemend.records.answers import Judgement
from tablemend.tables.table import Table


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
TRACE_ERRORS = Metric(
    "trace_errors",
    "Wrong references in thoughts",
    "wrong in thought",
    "a cell that the thought cites wrongly, or a row that its list leaves out, of the answers "
    "whose thought cites anything that a program can check",
    "event",
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


Relation = Literal[
    "well_matched",
    "well_matched_harmless",
    "too_weak",
    "too_weak_harmless",
    "tautologous",
    "too_strong",
    "output_contradictory",
    "independent",
    "contradictory",
    "not_well_formed",
]
UNDECIDED = "undecided"
"""Beside the relations: unscored, or not known."""
RELATIONS: tuple[Relation, ...] = get_args(Relation)


def relation(
    follows: bool, implies: bool, *, contradicts: bool = False, consistent: bool = True
) -> Relation:
    """The case of Table 3, harmless variants aside.

    Args:
        follows: the output follows from the input.
        implies: the input follows from the output.
        contradicts: input and output cannot both be true.
        consistent: the output can be true.
    """
    if not consistent:
        return "output_contradictory"
    if contradicts:
        return "contradictory"
    if follows:
        return "well_matched" if implies else "too_weak"
    return "too_strong" if implies else "independent"


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
