"""The schema of an experiment's data: where examples come from, alone or mixed."""

from __future__ import annotations

from collections.abc import Iterator
from math import isclose
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Discriminator, Field, Tag

from tablemend.config.section import ONE, SEVERAL, Count, Section

HUB = "hub:"
SMALL_WORLD = "small-world"
EXAMPLE_FILES = (".jsonl", ".parquet")
SPLITS = ("train", "validation", "test")


class Source(Section):
    """Where examples come from."""

    source: str
    """`small-world` (generated), a JSONL or Parquet file, a folder with one file a split, or
    `hub:owner/name`."""
    split: Annotated[str, Field(pattern=r"^\w+$")] | None = None
    """Split to read: `train`, `validation` or `test` of a folder, or the Hub's name; null where the
    source is a file."""
    n: Count | None = Field(default=None, ge=1)
    """Most examples to take, from the front; all where it is null."""
    seed: int = Field(default=0, ge=0)
    """Seed of the generated small world."""
    size: Literal["default", "large"] = "default"
    """Size of the small world's contexts: `large` has 3 years of 4 to 6 rows each and sorts in both
    directions, `default` 4 years of 1 to 3 rows, ascending."""
    queries: int = Field(default=1, ge=1)
    """Queries of each context of the small world, an example each, as far as it has years; `n`
    counts examples."""
    revision: str | None = None
    """Commit of a Hub data set."""

    def conflicts(self) -> Iterator[tuple[str, str]]:
        """Fields that the kind of source does not read."""
        if self.source == SMALL_WORLD:
            if self.n is None:
                yield "n", "a generated source needs the number of examples"
            if self.split is not None:
                yield "split", "a generated source has no split; give each a seed of its own"
            return
        if self.seed:
            yield "seed", "only a generated source has a seed"
        if self.size != "default":
            yield "size", "only a generated source has a size"
        if self.queries != 1:
            yield "queries", "only a generated source is asked so; others have what is in them"
        if self.revision is not None and not self.source.startswith(HUB):
            yield "revision", "only a `hub:` source has a revision"
        if self.split is None and not Path(self.source).suffix:
            if self.source.startswith(HUB):
                yield "split", "a Hub data set needs `split:`, a name that it has there"
            else:
                yield "split", f"a folder needs `split: {'|'.join(SPLITS)}`"
        if not self.source.startswith(HUB) and self.split not in (*SPLITS, None):
            yield "split", f"{self.split} is no split of a folder: {', '.join(SPLITS)}"
        if self.split is not None and Path(self.source).suffix in EXAMPLE_FILES:
            yield "split", "a file has no splits; name the file of the split, or its folder"


class Part(Source):
    """A source in a mixture."""

    share: float = Field(gt=0, le=1)
    """Its share of the training examples, a chat counting as one; the shares sum to 1. As many are
    taken as the shares allow without taking one twice."""
    content: Literal["examples", "messages"] = "examples"
    """`examples` of tablemend, or `messages`: ordinary instruction data, each record with a list
    `messages` of {role, content} that ends with the assistant's; loss is on that answer alone."""

    def conflicts(self) -> Iterator[tuple[str, str]]:
        """Chats that are to be generated; see also :class:`Source`."""
        yield from super().conflicts()
        if self.content == "messages" and self.source == SMALL_WORLD:
            yield "content", f"{SMALL_WORLD} generates examples; chats come from a file or the Hub"


PartName = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_-]*$")]
Mixture = dict[PartName, Part]


def _form(value: Any) -> str:
    """One source, unless its keys are names of sections."""
    if not isinstance(value, dict) or "source" in value:
        return ONE
    return SEVERAL if any(isinstance(part, dict | Part) for part in value.values()) else ONE


TrainingSource = Annotated[
    Annotated[Source, Tag(ONE)] | Annotated[Mixture, Tag(SEVERAL)],
    Discriminator(_form),
]


class Data(Section):
    """The examples of the experiment, by use."""

    train: TrainingSource | None = None
    """Examples to fine-tune on: one source, or by name several, each with its share."""
    test: Source
    """Held-out examples to compare the systems on."""
    validation: Source | None = None
    """Held-out examples for the loss during training."""

    def conflicts(self) -> Iterator[tuple[str, str]]:
        """Examples in two parts of the data; shares that make no whole."""
        for name, held_out in (("validation", self.validation), ("test", self.test)):
            for source in self.training_sources:
                if held_out is not None and _same(held_out, source):
                    yield name, "the same examples as data.train"
        if self.validation is not None and _same(self.validation, self.test):
            yield "validation", "the same examples as data.test"
        if not isinstance(self.train, dict):
            return
        total = sum(part.share for part in self.train.values())
        if not isclose(total, 1.0, abs_tol=1e-6):
            yield "train", f"the shares sum to {total:g}, not to 1"

    @property
    def training_sources(self) -> tuple[Source, ...]:
        """What is trained on; empty where the recipe trains nothing."""
        if self.train is None:
            return ()
        return tuple(self.train.values()) if isinstance(self.train, dict) else (self.train,)


class TrainingData(Data):
    """The data of an experiment with training."""

    train: TrainingSource
    """Examples to fine-tune on: one source, or by name several, each with its share."""


class ExampleData(TrainingData):
    """The data of a training that takes examples of one source alone."""

    train: Source
    """Examples to train on."""


def _same(one: Source, other: Source) -> bool:
    return (one.source, one.split, one.seed, one.size) == (
        other.source,
        other.split,
        other.seed,
        other.size,
    )
