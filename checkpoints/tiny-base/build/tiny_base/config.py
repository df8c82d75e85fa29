"""The schema of the recipe."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Literal

from pydantic import Field

from tablemend.config.section import Precision, Recipe, Section
from tablemend.tasks.tablehallu.small_world import FIRST_WORDS, SECOND_WORDS

# What the small world has: 8 numbers to sort by, 2 + 2 columns, 20 years, names that share no word.
Rows = Annotated[int, Field(ge=1, le=8)]
Attributes = Annotated[int, Field(ge=2, le=4)]
MOST_NAMES = min(len(FIRST_WORDS), len(SECOND_WORDS))


class Shape(Section):
    """The model's shape: Qwen3 architecture, tied embeddings, as many key as query heads."""

    hidden: int = Field(ge=8)
    """Width of the residual stream."""
    layers: int = Field(ge=1)
    """Transformer blocks."""
    heads: int = Field(ge=1)
    """Attention heads; hidden / heads is the head's width."""
    intermediate: int = Field(ge=8)
    """Width of the MLP."""

    def conflicts(self) -> Iterator[tuple[str, str]]:
        """A head width that does not come out even (rotary positions need pairs)."""
        if self.hidden % (2 * self.heads):
            yield "heads", f"hidden: {self.hidden} is not an even multiple of it"


class World(Section):
    """Size of the small-world examples, both ends included."""

    groups: int = Field(ge=2, le=20)
    """Years of a context, one of which is asked for."""
    rows: tuple[Rows, Rows]
    """Rows of a year."""
    attributes: tuple[Attributes, Attributes]
    """Columns beside the key."""
    twins: float = Field(ge=0, le=1)
    """Share of the rows that are an entity of another year again."""
    descending: float = Field(ge=0, le=1)
    """Share of the queries that sort in descending order; far from a half is learned sooner."""

    def conflicts(self) -> Iterator[tuple[str, str]]:
        """Bounds in the wrong order; more rows than there are names."""
        for name in ("rows", "attributes"):
            low, high = getattr(self, name)
            if low > high:
                yield name, f"the lower bound {low} is above the upper {high}"
        if (most := self.groups * self.rows[1]) > MOST_NAMES:
            yield "groups", f"with rows: {self.rows[1]} up to {most} names; there are {MOST_NAMES}"


class Skills(Section):
    """Shares of the exercises; they need not add up to one."""

    repeat: float = Field(ge=0)
    """Write a clean context once more; the share falls to zero at `schedule.ease_in`."""
    table: float = Field(ge=0)
    """Tables from clean contexts, under all four prompt strategies."""
    plain_table: float = Field(ge=0)
    """Tables from clean contexts, without the instruction on the format."""
    quoted_table: float = Field(ge=0)
    """Tables from clean contexts, whose sentences are quoted first while thinking."""
    quote: float = Field(ge=0)
    """Quote the sentences in scope, among distractors."""
    list: float = Field(ge=0)
    """List the entities in scope, among distractors."""
    look_up: float = Field(ge=0)
    """Look single cells up, among distractors."""
    sort: float = Field(ge=0)
    """Sort named numbers."""

    def conflicts(self) -> Iterator[tuple[str, str]]:
        """Nothing left to practise once `repeat` has faded."""
        if not any(share for name, share in self.model_dump().items() if name != "repeat"):
            yield "repeat", "some other skill needs a share above 0"


class Schedule(Section):
    """How long and how fast; shares are of the whole run."""

    tokens: int = Field(ge=1)
    """Tokens in all, padding included; the run ends with the batch that reaches them."""
    batch_tokens: int = Field(ge=64)
    """Most tokens a step, padding included."""
    muon_lr: float = Field(gt=0)
    """Peak learning rate of Muon, which trains the matrices inside the layers."""
    adam_lr: float = Field(gt=0)
    """Peak learning rate of AdamW, which trains embeddings and gains."""
    warmup: float = Field(ge=0, lt=1)
    """Share of rising learning rates."""
    decay: float = Field(gt=0, le=1)
    """Share of falling learning rates, at the end."""
    context_weight: float = Field(ge=0, le=1)
    """Loss weight of prompt tokens at the start; most of them cannot be foreseen."""
    context_fade: float = Field(gt=0, le=1)
    """Share during which the weight of prompt tokens falls to zero."""
    ease_in: float = Field(gt=0, le=1)
    """Share during which examples grow from the smallest to full size."""


class Pretraining(Recipe):
    """One tiny base: tokenizer, shape, world, exercises, schedule."""

    kind: Literal["pretrain"]
    """What the recipe is for; a script reads only its own kind."""
    out: str
    """Folder of the finished checkpoint."""
    context_length: int = Field(ge=64)
    """Window of the model in tokens."""
    vocab_size: int = Field(ge=300)
    """Most entries of the tokenizer: 256 bytes, 5 special tokens, merges while there are any."""
    threads: int | None = Field(default=None, ge=1)
    """CPU threads; all cores where it is null."""
    precision: Precision = "auto"
    """Type that the forward and backward pass compute in; auto: bfloat16 where the CPU has
    instructions for it, else float32."""
    log_every: int = Field(default=100, ge=1)
    """Steps between log lines."""
    save_every: int = Field(default=500, ge=1)
    """Steps between saved states; an interruption loses at most these."""
    shape: Shape
    """The model's shape."""
    world: World
    """Size of the examples."""
    skills: Skills
    """Shares of the exercises."""
    schedule: Schedule
    """How long and how fast."""


class PretrainCommand(Pretraining):
    """What pretrain.py takes beside the recipe."""

    overwrite: bool = Field(default=False, exclude=True)
    """Delete what the run folder holds of this training, and start anew."""
