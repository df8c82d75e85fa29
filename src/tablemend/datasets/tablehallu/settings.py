"""What the program engine can be asked for."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from tablemend.config import HUB, SMALL_WORLD, Section
from tablemend.datasets.splits import Shares
from tablemend.shipped import here_or_shipped

POOL = "pool"
Difficulty = Literal["paper", "easy", "medium", "hard"]


class Shape(Section):
    """Size of the gold table; both ends are included (TableHallu, 3.3 and Appendix E)."""

    min_rows: int = Field(default=5, ge=2)
    """Fewest rows in scope."""
    max_rows: int = Field(default=8, ge=2)
    """Most rows in scope."""
    min_columns: int = Field(default=5, ge=3)
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
    """How often the types of distractors are drawn, beside each other (TableHallu, A.2.2); 0 leaves
    one out. What a query's conditions do not allow is not drawn.
    """

    temporal: float = Field(default=1, ge=0)
    """Of another time."""
    numerical: float = Field(default=1, ge=0)
    """With a number out of range."""
    categorical: float = Field(default=1, ge=0)
    """Of another category."""
    geographic: float = Field(default=1, ge=0)
    """Of another place."""
    entity: float = Field(default=1, ge=0)
    """Of another kind of subject: rows of a second table, where there is a related one."""
    both: float = Field(default=1, ge=0)
    """That break two conditions."""

    def conflicts(self) -> Iterator[tuple[str, str]]:
        """All at 0."""
        if not any(self.model_dump(exclude={"entity"}).values()):
            yield "temporal", "one type beside entity must be above 0"


class HubOptions(Section):
    """What is read of a data set on the Hub."""

    dataset_split: str = "train"
    """Split to read where the source is on the Hub."""
    dataset_config: str | None = None
    """Configuration (subset) of a data set on the Hub; null where it has but one."""
    dataset_revision: str | None = None
    """Commit, tag or branch of a data set on the Hub; null: the newest."""

    def unread(self, *sources: str) -> Iterator[tuple[str, str]]:
        """The options that no source reads."""
        if not any(source.startswith(HUB) for source in sources):
            for name in ("dataset_config", "dataset_revision"):
                if getattr(self, name) is not None:
                    yield name, f"only a `{HUB}` source has one"


class Synthesis(HubOptions):
    """A data set of adversarial examples with ground truth by construction."""

    kind: Literal["synthesis"] = "synthesis"
    """What a recipe is for."""
    engine: Literal["program"] = "program"
    """How examples are made; `program` needs no language model."""
    source: Annotated[str, AfterValidator(here_or_shipped)] = POOL
    """A CSV or JSONL file, a folder of them, `hub:owner/name`, `pool` (built-in topics) or
    `small-world`."""
    n: int = Field(default=1000, ge=1)
    """Number of examples, over all splits."""
    out: str = "data/tablehallu"
    """Folder to write into; an interrupted run in it is continued."""
    seed: int = Field(default=0, ge=0)
    """Seed of everything that is drawn at random."""
    difficulty: Literal["paper", "easy", "medium", "hard", "mixed"] = "paper"
    """Length of the adversarial context over the gold one. paper: 5 times, as in the data of the
    paper (TableHallu, Figure 4); easy, medium and hard: 10, 20 and 30 times, as its prompt asks
    for; mixed: a third of these each."""
    max_tokens: int | None = Field(default=None, ge=50)
    """Longest adversarial context in tokens (estimated as Qwen's tokenizer counts, rather too many
    than too few); what would be longer is drawn again, so hard examples have smaller tables."""
    distractor_paragraphs: Literal["mixed", "own"] = "mixed"
    """mixed: distractors are in the same paragraphs as the gold rows; own: in others."""
    distractors: Literal["real", "extended"] = "extended"
    """real: only rows of the table; extended: made-up rows follow where those run out."""
    rename: str | None = None
    """Folder of a model: every example has its table under other names, with words of the model's
    vocabulary, and with cells in other places (for training: few tables are learnt by heart)."""
    arithmetic: bool = False
    """Queries for a column worked out of two others (TableHallu, D.3): tables without blanks, each
    asked for five times in turn: as it is, and with +, -, * and / on the same two columns."""
    distractor_types: Types = Types()
    """Shares of the types of distractors."""
    shape: Shape = Shape()
    """Size of the gold table, without a column that is worked out."""
    shares: Shares = Shares()
    """Split of the source tables."""
    workers: int = Field(default=1, ge=1, le=256)
    """Processes; the data are the same for any number."""

    def conflicts(self) -> Iterator[tuple[str, str]]:
        """Settings that the source does not read."""
        if self.source == SMALL_WORLD:
            for name in (
                "difficulty",
                "max_tokens",
                "distractor_paragraphs",
                "distractor_types",
                "distractors",
                "rename",
                "arithmetic",
                "shape",
            ):
                if name in self.model_fields_set:
                    yield name, "the small world has no such setting"
        if self.rename is not None and self.source == POOL:
            yield "rename", "the topic pool has names without end: leave it out"
        yield from self.unread(self.source)
