"""The schema of the recipes that train a classifier of error types."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from pydantic import Field

from tablemend.config.section import Recipe, Section


class InjectedErrors(Section):
    """Faithful summaries of made-up tables, each with one injected error."""

    tables: int = Field(default=300, ge=4)
    """Tables of each domain: financial, clinical, operations, and the small world."""
    summaries: int = Field(default=2, ge=1)
    """Summaries a table; each is used once with an error of every type that it has room for."""
    held_out: float = Field(default=0.25, gt=0, lt=1)
    """Share of the tables that the figures are measured on."""
    real: str | None = None
    """Folder of real tables to measure on as well, such as ../shared/data; nothing is learnt from
    them."""
    real_tables: int = Field(default=300, ge=1)
    """At most so many of each source of real tables."""
    split: Literal["test", "dev"] = "test"
    """Split of the real tables, by the hash of their split keys."""


class Linear(Section):
    """The embedded classifier: logistic regression over hashed features."""

    columns: int = Field(default=4096, ge=64)
    """Places that feature names are hashed to."""
    strength: float = Field(default=0.1, gt=0)
    """Inverse of the regularisation (scikit-learn's C)."""


class Encoder(Section):
    """A pre-trained encoder, fine-tuned to classify claim and evidence as a pair of sequences."""

    path: str
    """Folder of a checkpoint, or a name on the Hugging Face Hub."""
    revision: str | None = None
    """Commit or tag on the Hub."""
    epochs: float = Field(default=3, gt=0)
    """Passes over the examples."""
    learning_rate: float = Field(default=5e-5, gt=0)
    """Peak learning rate of AdamW; it falls linearly to zero."""
    warmup: float = Field(default=0.06, ge=0, lt=1)
    """Share of rising learning rates."""
    batch: int = Field(default=32, ge=1)
    """Claims a step."""
    max_length: int = Field(default=256, ge=16)
    """Most tokens of a pair; longer examples are left out and counted, not cut."""


class ErrorTypes(Recipe):
    """One classifier of the five error types."""

    kind: Literal["error-types"]
    """What the recipe is for; a script reads only its own kind."""
    data: InjectedErrors = InjectedErrors()
    """What is learnt from and measured on."""
    linear: Linear | None = None
    """The embedded classifier; this or `encoder`."""
    encoder: Encoder | None = None
    """A fine-tuned encoder; this or `linear`."""
    page: str | None = None
    """Markdown file for the figures, such as results/error-types.md; null: figures.md in the run
    folder."""
    out: str | None = None
    """File that the finished weights of `linear` are copied to."""

    def conflicts(self) -> Iterator[tuple[str, str]]:
        """Both classifiers or none."""
        if (self.linear is None) == (self.encoder is None):
            yield "linear", "give either linear or encoder"
        if self.out is not None and self.linear is None:
            yield "out", "an encoder stays in the run folder"


class ErrorTypesCommand(ErrorTypes):
    """What train/error_types.py takes beside the recipe."""

    overwrite: bool = Field(default=False, exclude=True)
    """Train anew although the run folder holds a finished classifier."""
