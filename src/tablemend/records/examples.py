"""What flows through tablemend: examples, answers, findings, judgements.

All records are immutable and JSON-serialisable. An example's id is a hash of its content,
so an answer can always be traced to the exact text that was shown to the model.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass, field
from typing import Any, Literal, NamedTuple, get_args

from tablemend.tables.table import Table

ContextKind = Literal["clean", "adversarial"]
SortOrder = Literal["ascending", "descending"]
FinishReason = Literal["stop", "length", "refusal", "error"]
CallVerdict = Literal["accepted", "rejected", "unverified", "unreadable"]
ErrorType = Literal[
    "format_error",
    "out_of_range",
    "order_mismatch",
    "attribute",
    "blank_filling",
    "entity_fabrication",
]
CONTEXT_KINDS: tuple[ContextKind, ...] = get_args(ContextKind)
ERROR_TYPES: tuple[ErrorType, ...] = get_args(ErrorType)
CONSTRAINT_ERRORS = frozenset({"format_error", "out_of_range", "order_mismatch"})
CONTEXT_ERRORS = frozenset({"attribute", "blank_filling", "entity_fabrication"})


@dataclass(frozen=True, slots=True)
class Condition:
    """One machine-checkable part of a query's scope.

    Attributes:
        column: the column of the *source* table that the condition reads.
        low, high: inclusive bounds for a number, year or ISO date, as written; ``None`` is open.
        values: the admitted categories; empty where the condition is a range.
    """

    column: str
    low: str | None = None
    high: str | None = None
    values: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Constraints:
    """A query's constraints: the paper's four fields (TableHallu, A.2.1) and their conditions."""

    entity_scope: tuple[str, ...]
    numerical_range: str | None
    sort_column: str
    sort_order: SortOrder
    conditions: tuple[Condition, ...] = ()


class Mention(NamedTuple):
    """Where a value stands in a context: half-open character spans of it and its sentence."""

    start: int
    end: int
    sentence_start: int
    sentence_end: int


class Fact(NamedTuple):
    """One stated cell; a named tuple because an example has hundreds.

    Attributes:
        row: index of the gold row, or the running number of the distractor row.
        entity: the row's primary key.
        column: the column whose value is stated; may be a scope column outside the gold table.
        value: the value as it is written in the context.
        violates: column of the condition that this distractor row breaks; ``None`` for gold.
        clean: place in the gold context; ``None`` for a distractor.
        adversarial: place in the adversarial context.
    """

    row: int
    entity: str
    column: str
    value: str
    violates: str | None
    clean: Mention | None
    adversarial: Mention


class Call(NamedTuple):
    """One answer of a language model on the way to an example.

    Attributes:
        stage: what was asked for, such as ``kernel`` or ``verify_kernel``.
        attempt: 0 at first, one more with every retry of the stage.
        prompt: name and version of the prompt, such as ``kernel/1``.
        model: what answered, as in a model string without its address.
        prompt_tokens, completion_tokens: as the model's server counted them.
        finish_reason: why the answer ended.
        verdict: of a generator's answer what the program's checks found, and for ``perturb`` the
            verifier too; of a verifier's answer what it says. ``unverified``: the program's
            checks passed, but the verifier gave no verdict. ``unreadable``: nothing could be read
            from it (a failed request, a refusal, an answer cut off, no JSON). Neither of these
            two speaks for or against the answer.
    """

    stage: str
    attempt: int
    prompt: str
    model: str
    prompt_tokens: int
    completion_tokens: int
    finish_reason: FinishReason
    verdict: CallVerdict


@dataclass(frozen=True, slots=True)
class Example:
    """One query-driven table-generation task (TableHallu, section 3.2), with its ground truth.

    Field names follow the paper's record; ``facts`` adds where everything stands.
    ``source_hash`` is the content hash of the table the example was cut from: splits are made
    by it, so that no table stands on two sides. ``calls`` are the answers of language models that
    it was made with; none for an example of the program engine.
    """

    topic: str
    category: str
    domain: str
    query: str
    constraints: Constraints
    gold_table: Table
    gold_context: str
    adversarial_context: str
    difficulty: str
    facts: tuple[Fact, ...]
    source: str
    source_hash: str
    engine: str
    seed: int
    id: str = field(default="")
    calls: tuple[Call, ...] = ()

    def __post_init__(self) -> None:
        if not self.id:
            object.__setattr__(self, "id", self._content_hash())

    def _content_hash(self) -> str:
        # Facts only say where things stand in the texts; they would take most of the time. Calls
        # say how the example came about: another model's route to it is the same example.
        left_out = ("id", "facts", "calls")
        content = {n: getattr(self, n) for n in self.__slots__ if n not in left_out}
        content["constraints"] = asdict(self.constraints)
        content["gold_table"] = self.gold_table.to_json()
        text = json.dumps(content, ensure_ascii=False, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    def context(self, kind: ContextKind) -> str:
        """The text shown to the model: the gold context or the adversarial one."""
        return self.gold_context if kind == "clean" else self.adversarial_context

    def to_json(self) -> dict[str, Any]:
        """A JSON-serialisable dict that :meth:`from_json` reads back."""
        data = {name: getattr(self, name) for name in self.__slots__}
        data["constraints"] = asdict(self.constraints)
        data["gold_table"] = self.gold_table.to_json()
        data["facts"] = [
            {
                "row": fact.row,
                "entity": fact.entity,
                "column": fact.column,
                "value": fact.value,
                "violates": fact.violates,
                "clean": None if fact.clean is None else list(fact.clean),
                "adversarial": list(fact.adversarial),
            }
            for fact in self.facts
        ]
        data["calls"] = [call._asdict() for call in self.calls]
        return data

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Example:
        """The inverse of :meth:`to_json`; the stored id is kept. No ``calls`` are none."""
        constraints = data["constraints"]
        facts = tuple(
            Fact(
                fact["row"],
                fact["entity"],
                fact["column"],
                fact["value"],
                fact["violates"],
                None if fact["clean"] is None else Mention(*fact["clean"]),
                Mention(*fact["adversarial"]),
            )
            for fact in data["facts"]
        )
        fields = {
            **data,
            "constraints": Constraints(
                tuple(constraints["entity_scope"]),
                constraints["numerical_range"],
                constraints["sort_column"],
                constraints["sort_order"],
                tuple(
                    Condition(c["column"], c["low"], c["high"], tuple(c["values"]))
                    for c in constraints["conditions"]
                ),
            ),
            "gold_table": Table.from_json(data["gold_table"]),
            "facts": facts,
            "calls": tuple(Call(**call) for call in data.get("calls", ())),
        }
        return cls(**fields)


@dataclass(frozen=True, slots=True)
class Answer:
    """One stored generation.

    Attributes:
        example_id: the example's id.
        arm: the name of model + mitigation in the recipe.
        context: which context was shown.
        text: the raw generation, thinking included; empty where the request failed.
        prompt_tokens, completion_tokens: counts by the model's own tokenizer.
        finish_reason: ``stop``, ``length`` (cut by the token limit), ``refusal`` (declined by
            the model or its server) or ``error``.
        error: why the request failed, in one line; empty otherwise.
    """

    example_id: str
    arm: str
    context: ContextKind
    text: str
    prompt_tokens: int
    completion_tokens: int
    finish_reason: FinishReason
    error: str = ""

    def to_json(self) -> dict[str, Any]:
        """A JSON-serialisable dict; ``Answer(**data)`` reads it back."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Finding:
    """One error in an answer.

    Attributes:
        type: one of :data:`ERROR_TYPES`.
        row: index of the answer's row (0 is the first body row); ``None`` for the whole answer.
        column: name of the column; ``None`` for a whole row or answer.
        expected: what the gold says; ``None`` for a cell that should be empty or a row that
            should not be there.
        got: what the answer says.
        evidence: what decided it, in one line for a person.
    """

    type: ErrorType
    row: int | None
    column: str | None
    expected: str | None
    got: str | None
    evidence: str

    def to_json(self) -> dict[str, Any]:
        """A JSON-serialisable dict; ``Finding(**data)`` reads it back."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Judgement:
    """What the detector says of one answer against its gold table.

    Attributes:
        findings: every error found; empty for a faithful answer.
        gold_rows, matched_rows: rows of the gold table, and those of them in the answer.
        gold_cells, matched_cells: non-blank gold cells, and those the answer states correctly.
        abstained: the answer is a readable table without a single filled row.
        unjudged: why no verdict is possible; empty where there is one. An unjudged answer
            is neither right nor wrong and has no findings.
        judge: detector version and similarity, as printed in every report.
    """

    findings: tuple[Finding, ...]
    gold_rows: int
    matched_rows: int
    gold_cells: int
    matched_cells: int
    abstained: bool
    unjudged: str
    judge: str

    @property
    def counts(self) -> dict[ErrorType, int]:
        """Findings of each type; all six keys are present."""
        counts: dict[ErrorType, int] = dict.fromkeys(ERROR_TYPES, 0)
        for finding in self.findings:
            counts[finding.type] += 1
        return counts

    @property
    def constraint_violation(self) -> bool:
        """Format error, out-of-range or order mismatch (TableHallu, C.2)."""
        return any(finding.type in CONSTRAINT_ERRORS for finding in self.findings)

    @property
    def context_violation(self) -> bool:
        """Attribute distortion, blank-filling or entity fabrication (TableHallu, C.2)."""
        return any(finding.type in CONTEXT_ERRORS for finding in self.findings)

    @property
    def hallucinated(self) -> bool:
        """At least one finding of any type: the sample counts for TotalHallu."""
        return bool(self.findings)

    @property
    def row_recall(self) -> float:
        """Share of gold rows that the answer contains; 1.0 for an empty gold table."""
        return self.matched_rows / self.gold_rows if self.gold_rows else 1.0

    @property
    def cell_recall(self) -> float:
        """Share of non-blank gold cells that the answer states correctly."""
        return self.matched_cells / self.gold_cells if self.gold_cells else 1.0
