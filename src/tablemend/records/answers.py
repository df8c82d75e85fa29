"""Answers, what is found in them, and what a report counts: the same for every task.

All records are immutable and JSON-serialisable.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal, NamedTuple

from tablemend.foreign import FromJson

ContextKind = str
"""How a sample is shown: one of its task's views, such as ``clean`` and ``adversarial``."""
FinishReason = Literal["stop", "length", "refusal", "error"]


@dataclass(frozen=True, slots=True)
class Answer:
    """One stored generation.

    Attributes:
        example_id: the sample's id.
        system: the name of model + mitigation in the recipe.
        context: how the sample was shown; one of its task's views.
        text: the raw generation, thinking included; empty where the request failed.
        prompt_tokens, completion_tokens: counts by the model's own tokenizer.
        finish_reason: ``stop``, ``length`` (cut by the token limit), ``refusal`` (declined by
            the model or its server) or ``error``.
        error: why the request failed, in one line; empty otherwise.
    """

    example_id: str
    system: str
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
        type: one of the task's error types.
        row: index of the answer's row (0 is the first body row); ``None`` for the whole answer
            and in a text.
        column: name of the column; ``None`` for a whole row or answer and in a text.
        expected: what the gold or the source says; ``None`` for what should not be there.
        got: what the answer says.
        evidence: what decided it, in one line for a person.
        start, end: place of the words in the answer's text; ``None`` in a table.
    """

    type: str
    row: int | None
    column: str | None
    expected: str | None
    got: str | None
    evidence: str
    start: int | None = None
    end: int | None = None


class Share(NamedTuple):
    """A part of a whole, both counted: 3 of 4 gold rows."""

    part: int
    total: int

    @property
    def value(self) -> float | None:
        """0 to 1; ``None`` where there is nothing to have a part of."""
        return self.part / self.total if self.total else None


@dataclass(frozen=True, slots=True)
class Judgement(FromJson):
    """What a task's scorer says of one answer.

    Attributes:
        findings: every error found; empty for a faithful answer.
        shares: what is counted beside errors, by the name of its metric.
        abstained: the answer can be read and says nothing.
        unscored: why no verdict is possible; empty where there is one. An unscored answer
            is neither right nor wrong and has no findings.
        scorer: what said so, with its version, as printed in every report.
        said: hash of what the answer lists, such as the names of a table's rows: equal for two
            answers that list the same; empty where that cannot be read, or is not compared.
    """

    findings: tuple[Finding, ...] = ()
    shares: Mapping[str, Share] = field(default_factory=dict)
    abstained: bool = False
    unscored: str = ""
    scorer: str = ""
    said: str = ""

    @property
    def counts(self) -> Counter[str]:
        """Findings of each type."""
        return Counter(finding.type for finding in self.findings)

    @property
    def hallucinated(self) -> bool:
        """At least one finding of any type: the sample counts for TotalHallu."""
        return bool(self.findings)

    def share(self, name: str) -> float | None:
        """A share from 0 to 1; ``None`` where there is nothing to have a part of."""
        return self.shares[name].value if name in self.shares else None

    def to_json(self) -> dict[str, Any]:
        """A JSON-serialisable dict that :meth:`from_json` reads back."""
        return asdict(self) | {"shares": {name: list(own) for name, own in self.shares.items()}}
