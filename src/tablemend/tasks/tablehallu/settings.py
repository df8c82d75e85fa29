"""What the program engine can be asked for, and the types of distractors (TableHallu, A.2.2)."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from tablemend.config import SMALL_WORLD, Count, Section
from tablemend.config.section import BackendOptions
from tablemend.datasets.splits import POOL, HubOptions, Shares, split_of
from tablemend.records import Condition, Example
from tablemend.shipped import here_or_shipped

Difficulty = Literal["paper", "easy", "medium", "hard"]
TYPES = {
    "temporal": "of another time",
    "numerical": "with another number",
    "categorical": "of another category",
    "geographic": "of another place",
    "entity": "of another kind of subject",
    "both": "that breaks more than one condition",
}
"""Types of distractors, and what those of each are."""
_PLACE = re.compile(
    r"\b(?:country|nation|state|province|region|county|city|town|village|district|municipality|"
    r"locations?|place|venue|stadium|headquarters|birthplace|continent|island|port|terminus|"
    r"laboratory|from)\b",
    re.I,
)
_YEAR = re.compile(r"1[5-9]\d\d|20\d\d")


class Shape(Section):
    """Size of the gold table; both ends are included (TableHallu, 3.3 and Appendix E).

    Groups of very different sizes in one context would say how likely each is asked for.
    """

    min_rows: int = Field(default=5, ge=1)
    """Fewest rows in scope, but for the contexts of `few`."""
    max_rows: int = Field(default=6, ge=2)
    """Most rows in scope."""
    min_columns: int = Field(default=4, ge=3)
    """Fewest columns; a table with fewer usable ones is skipped."""
    max_columns: int = Field(default=7, ge=3)
    """Most columns."""

    def conflicts(self) -> Iterator[tuple[str, str]]:
        """Ranges that are upside down."""
        if self.min_rows > self.max_rows:
            yield "min_rows", f"more than shape.max_rows={self.max_rows}"
        if self.min_columns > self.max_columns:
            yield "min_columns", f"more than shape.max_columns={self.max_columns}"


class Types(Section):
    """How often the groups of a context differ in the types of distractors (TableHallu, A.2.2),
    beside each other; 0 leaves one out. What the columns of a table do not allow is not drawn.
    """

    temporal: float = Field(default=1, ge=0)
    """In time."""
    numerical: float = Field(default=1, ge=0)
    """In the range of a number."""
    categorical: float = Field(default=1, ge=0)
    """In category."""
    geographic: float = Field(default=1, ge=0)
    """In place."""
    entity: float = Field(default=1, ge=0)
    """In kind of subject: rows of a second table, where there is a related one."""
    both: float = Field(default=1, ge=0)
    """In two columns."""

    def conflicts(self) -> Iterator[tuple[str, str]]:
        """All at 0."""
        if not any(self.model_dump(exclude={"entity"}).values()):
            yield "temporal", "one type beside entity must be above 0"


class Wording(Section):
    """A model that rewords the program's passages one by one; it sees neither group nor query."""

    model: str
    """`openai:MODEL@URL`, `vllm:MODEL`, `hf:FOLDER` or `scripted:FILE`."""
    samples: int = Field(default=4, ge=1, le=100)
    """Most rewordings of a passage that are asked for: the first that keeps its facts, and adds
    none, is taken, else the program's passage stays."""
    temperature: float = Field(default=0.7, gt=0, le=2)
    """Temperature of the model."""
    max_new_tokens: int = Field(default=256, ge=16)
    """Longest answer in tokens, thinking included."""
    thinking: bool | None = None
    """Whether the model thinks first; null asks for nothing."""
    options: BackendOptions = BackendOptions()
    """How the model is asked."""


class ContextSettings(HubOptions):
    """Whose rows a context has, in groups that any query could ask for."""

    source: Annotated[str, AfterValidator(here_or_shipped)] = POOL
    """A CSV, TSV, HTML, xlsx or JSONL file, a folder of them, `hub:owner/name`, `pool` (built-in
    topics) or `small-world`."""
    queries: int | None = Field(default=None, ge=1)
    """Queries of a context, an example each; null: two in the test split, one elsewhere."""
    few: float = Field(default=0.1, ge=0, le=1)
    """Share of the contexts in which half of the groups have one row, and one has none."""
    distractor_types: Types = Types()
    """What the groups of a context differ in."""


class Synthesis(ContextSettings):
    """A data set of adversarial examples with ground truth by construction."""

    kind: Literal["synthesis"] = "synthesis"
    """What a recipe is for."""
    engine: Literal["program"] = "program"
    """How examples are made; `program` needs no language model."""
    n: Count = Field(default=1000, ge=1)
    """Number of contexts, over all splits."""
    out: str = "data/tablehallu"
    """Folder to write into; an interrupted run in it is continued."""
    seed: int = Field(default=0, ge=0)
    """Seed of everything that is drawn at random."""
    difficulty: Literal["paper", "easy", "medium", "hard", "mixed"] = "paper"
    """Groups of rows in a context, and so its length over that of the gold one. paper: 5, as in the
    data of the paper (TableHallu, Figure 4); easy, medium and hard: 10, 20 and 30, as its prompt
    asks for; mixed: a third of these each."""
    max_tokens: int | None = Field(default=None, ge=50)
    """Longest adversarial context in tokens (estimated as Qwen's tokenizer counts, rather too many
    than too few); what would be longer is drawn again, so hard examples have smaller tables."""
    distractors: Literal["real", "extended"] = "extended"
    """real: only rows of the table; extended: made-up rows where those run out, in all groups."""
    rename: str | None = None
    """Folder of a model: every example has its table under other names, with words of the model's
    vocabulary, and with cells in other places (for training: few tables are learnt by heart)."""
    wording: Wording | None = None
    """A model that rewords the contexts, for training; null: they are in the program's words."""
    arithmetic: bool = False
    """Queries for a column worked out of two others (TableHallu, D.3): tables without blanks, each
    query asked five times in turn: as it is, and with +, -, * and / on the same two columns."""
    shape: Shape = Shape()
    """Size of the gold table, without a column that is worked out."""
    shares: Shares = Shares()
    """Split of the source tables."""
    workers: int = Field(default=1, ge=1, le=256)
    """Processes; the data are the same for any number."""
    runs_on: Literal["local", "ray"] = "local"
    """``ray``: the nodes of a Ray cluster in place of processes; the data are the same."""

    def queries_of(self, source_hash: str) -> int:
        """How many queries a context of a table gets."""
        return self.queries or 1 + (split_of(source_hash, self.shares) == "test")

    def conflicts(self) -> Iterator[tuple[str, str]]:
        """Settings that the source does not read."""
        if self.source == SMALL_WORLD:
            for name in (
                "difficulty",
                "max_tokens",
                "distractor_types",
                "distractors",
                "rename",
                "wording",
                "arithmetic",
                "few",
                "shape",
            ):
                if name in self.model_fields_set:
                    yield name, "the small world has no such setting"
        if self.rename is not None and self.source == POOL:
            yield "rename", "the topic pool has names without end: leave it out"
        yield from self.unread(self.source)


def types_of(example: Example) -> dict[int, str]:
    """The type of each distractor row, by its number."""
    from tablemend.tasks.tablehallu.verification import meets  # it loads all of tables

    rows: dict[int, dict[str, str]] = defaultdict(dict)
    violates = {}
    for fact in example.facts:
        if fact.violates is not None:
            rows[fact.row][fact.column] = fact.value
            violates[fact.row] = fact.violates
    conditions = example.constraints.conditions
    kinds = {one.column: _type_in(one, rows.values()) for one in conditions}
    types = {}
    for row, values in rows.items():
        broken = sum(meets(values.get(one.column), one) is False for one in conditions)
        types[row] = "both" if broken > 1 else kinds.get(violates[row], "entity")
    return types


def type_of(column: str, is_range: bool, is_time: bool) -> str:
    """What a row breaks that one condition on a column leaves out."""
    if is_range:
        return "temporal" if is_time else "numerical"
    return "geographic" if _PLACE.search(column) else "categorical"


def _type_in(condition: Condition, rows: Iterable[dict[str, str]]) -> str:
    ends = [end for end in (condition.low, condition.high) if end]
    values = [values[condition.column] for values in rows if condition.column in values]
    is_time = any("-" in end[1:] for end in ends) or all(map(_YEAR.fullmatch, [*ends, *values]))
    return type_of(condition.column, bool(ends), is_time)
