"""The sample of table generation: a query, its gold table, and the place of every fact."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass, field
from typing import Any, Literal, NamedTuple

from tablemend.errors import TablemendError
from tablemend.foreign import FromJson
from tablemend.records.answers import ContextKind, FinishReason
from tablemend.tables.serialisations import write_configuration
from tablemend.tables.table import Table

SortOrder = Literal["ascending", "descending"]
CallVerdict = Literal["accepted", "rejected", "unverified", "unreadable"]
CONTEXT_KINDS: tuple[ContextKind, ...] = ("clean", "adversarial")


@dataclass(frozen=True, slots=True)
class Condition:
    """One machine-checkable part of a query's scope.

    Attributes:
        column: the column of the *source* table that the condition reads.
        low, high: inclusive bounds for a number, year or ISO date, as written; ``None`` is open.
        values: the admitted categories: several are an either-or, those of the primary key a list
            of entities; empty where the condition is another.
    """

    column: str
    low: str | None = None
    high: str | None = None
    values: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Computed:
    """A column that the query asks to be worked out of two others (TableHallu, D.3).

    Attributes:
        column: its name; the last of the gold table.
        operation: ``addition``, ``subtraction``, ``multiplication`` or ``division``.
        left, right: the columns it is worked out of, row by row.
        decimals: what it is rounded to, as the query says.
    """

    column: str
    operation: str
    left: str
    right: str
    decimals: int


@dataclass(frozen=True, slots=True)
class Constraints:
    """A query's constraints: the paper's four fields (TableHallu, A.2.1) and their conditions."""

    entity_scope: tuple[str, ...]
    numerical_range: str | None
    sort_column: str
    sort_order: SortOrder
    conditions: tuple[Condition, ...] = ()
    computed: Computed | None = None

    @property
    def decimals(self) -> dict[str, int]:
        """Columns that are rounded, and to how many decimals."""
        return {self.computed.column: self.computed.decimals} if self.computed else {}


class Mention(NamedTuple):
    """The place of a value in a context: half-open character spans of it and its sentence."""

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
class Example(FromJson):
    """One query-driven table-generation task (TableHallu, section 3.2), with its ground truth.

    Field names follow the paper's record; ``facts`` adds the places.
    ``source_hash`` is the content hash of the table the example was cut from: splits are made
    by it, so that no table is in two splits. ``calls`` are the answers of language models that
    it was made with; none for an example of the program engine. ``groups`` says of each distractor
    row, by its running number, which group it is in: another query of the same context asks for
    each, and gold is the one left out; empty where the context was made for this query alone.
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
    groups: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        if not self.id:
            object.__setattr__(self, "id", self._content_hash())

    def _content_hash(self) -> str:
        # Facts are places in the texts; they would take most of the time. Calls and groups
        # say how the example came about: another route to it is the same example.
        left_out = ("id", "facts", "calls", "groups")
        content = {n: getattr(self, n) for n in self.__slots__ if n not in left_out}
        content["constraints"] = constraints = asdict(self.constraints)
        if self.constraints.computed is None:  # the ids of older data stay
            del constraints["computed"]
        content["gold_table"] = self.gold_table.to_json()
        text = json.dumps(content, ensure_ascii=False, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    def context(self, kind: ContextKind) -> str:
        """The text shown to the model: the gold context, the adversarial one, or a table.

        For ``FORM+CHANGE``, one of the configurations of ToRR, that is :meth:`stated_table`.

        Raises:
            TablemendError: the clean context of an example without one.
        """
        if "+" in kind:
            return write_configuration(self.stated_table(), kind)
        if kind == "clean" and not self.gold_context and self.gold_table.rows:
            raise TablemendError(
                f"example {self.id} has no clean context: ask evaluation.contexts=[adversarial]"
            )
        return self.gold_context if kind == "clean" else self.adversarial_context

    def stated_table(self) -> Table:
        """What the adversarial context states: a row an entity, as they come up in it."""
        rows: dict[tuple[bool, int], dict[str, str]] = {}
        for fact in sorted(self.facts, key=lambda fact: fact.adversarial):
            own = rows.setdefault((fact.violates is None, fact.row), {})
            own.setdefault(fact.column, fact.value)
        stated = {column for own in rows.values() for column in own}
        columns = [one for one in self.gold_table.columns if one in stated]
        columns += sorted(stated - set(columns))
        return Table.of(columns, ([own.get(one) for one in columns] for own in rows.values()))

    @property
    def context_id(self) -> str:
        """Hash of the adversarial context: several queries may be asked of one."""
        return hashlib.sha256(self.adversarial_context.encode()).hexdigest()[:16]

    def to_json(self) -> dict[str, Any]:
        """A JSON-serialisable dict that :meth:`from_json` reads back; the facts, its bulk, last."""
        data = {name: getattr(self, name) for name in self.__slots__ if name != "facts"}
        data["constraints"] = asdict(self.constraints)
        data["gold_table"] = self.gold_table.to_json()
        data["calls"] = [call._asdict() for call in self.calls]
        return {**data, "facts": [fact._asdict() for fact in self.facts]}
