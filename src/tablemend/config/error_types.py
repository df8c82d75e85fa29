"""The schema of the recipe that trains an encoder to tell error types."""

from __future__ import annotations

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
    """A classifier of the five error types."""

    kind: Literal["error-types"]
    """What the recipe is for; a script reads only its own kind."""
    data: InjectedErrors = InjectedErrors()
    """What is learnt from and measured on."""
    encoder: Encoder
    """What is fine-tuned."""


class ErrorTypesCommand(ErrorTypes):
    """What train/error_types.py takes beside the recipe."""

    overwrite: bool = Field(default=False, exclude=True)
    """Train anew although the run folder holds a finished classifier."""
