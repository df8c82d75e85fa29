"""What a TabFaith set can be asked for."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from pydantic import Field

from tablemend.config import Count, Section
from tablemend.datasets.splits import POOL, HubOptions, Shares
from tablemend.datasets.tabfaith.domains import Domain
from tablemend.records import CLAIM_ERRORS, ClaimError

SYNTHETIC = "synthetic"
MIX: dict[ClaimError, float] = {"NUM": 30.6, "REL": 23.8, "CMP": 23.1, "TMP": 13.4, "ATT": 9.1}
"""Shares of the types of errors in the paper's Table 1, in percent."""


class Sources(HubOptions):
    """Where the tables of each domain come from."""

    general: str = POOL
    """Tables of any topic: ToTTo or other tables as JSONL, a CSV file, a folder of either,
    `hub:owner/name`, or `pool` (built-in topics)."""
    financial: str = SYNTHETIC
    """`synthetic`, or filings and reports: a CSV, JSONL, HTML or text file, a folder of them, or
    `hub:owner/name`."""
    clinical: str = SYNTHETIC
    """`synthetic`, or files as above."""
    operations: str = SYNTHETIC
    """`synthetic`, or files as above."""

    def conflicts(self) -> Iterator[tuple[str, str]]:
        """Sources that a domain does not have."""
        if self.general == SYNTHETIC:
            yield "general", f"only the other domains are synthetic: write {POOL}"
        for name in ("financial", "clinical", "operations"):
            if getattr(self, name) == POOL:
                yield name, f"only general has the topic pool: write {SYNTHETIC}"
        yield from self.unread(*map(self.of, Sizes.model_fields))

    def of(self, domain: str) -> str:
        """The source of a domain."""
        return str(getattr(self, domain))


class Sizes(Section):
    """Number of examples in each domain (TabFaith, 3.2)."""

    general: Count = Field(default=1600, ge=0)
    """Tables of any topic, ToTTo in the paper."""
    financial: Count = Field(default=280, ge=0)
    """Quarterly earnings."""
    clinical: Count = Field(default=280, ge=0)
    """Laboratory panels."""
    operations: Count = Field(default=240, ge=0)
    """Sales, churn and stock."""

    def conflicts(self) -> Iterator[tuple[str, str]]:
        """Nothing at all."""
        if not self.total:
            yield "general", "no domain has an example to make"

    @property
    def total(self) -> int:
        """Over all domains."""
        return self.general + self.financial + self.clinical + self.operations

    def of(self, domain: Domain) -> int:
        """The number of a domain."""
        return int(getattr(self, domain))


class TabFaith(Section):
    """A set of tables with faithful and unfaithful summaries."""

    kind: Literal["tabfaith"] = "tabfaith"
    """What a recipe is for."""
    sources: Sources = Sources()
    """Where tables come from."""
    sizes: Sizes = Sizes()
    """How many examples each domain has."""
    faithful: float = Field(default=2 / 3, ge=0, le=1)
    """Share of faithful summaries; the paper has 1,600 of 2,400."""
    mix: dict[str, float] = Field(default_factory=dict)
    """Shares of the error types that are injected, on any scale: `mix.num=1 mix.tmp=0`; the others
    as in the paper's Table 1."""
    min_errors: int = Field(default=1, ge=1, le=5)
    """Fewest errors in an unfaithful summary."""
    max_errors: int = Field(default=5, ge=1, le=5)
    """Most errors in an unfaithful summary; fewer are more frequent."""
    min_sentences: int = Field(default=2, ge=1, le=8)
    """Fewest sentences."""
    max_sentences: int = Field(default=5, ge=1, le=8)
    """Most sentences."""
    shares: Shares = Shares()
    """Split of the tables."""
    seed: int = Field(default=0, ge=0)
    """Seed of everything that is drawn at random."""
    out: str = "data/tabfaith"
    """Folder to write into; an interrupted run in it is continued."""
    workers: int = Field(default=1, ge=1, le=256)
    """Processes; the data are the same for any number."""

    @property
    def weights(self) -> dict[ClaimError, float]:
        """The shares of all error types."""
        return {type: self.mix.get(type.lower(), MIX[type]) for type in CLAIM_ERRORS}

    def conflicts(self) -> Iterator[tuple[str, str]]:
        """Ranges that are upside down, and shares of no errors."""
        if self.min_errors > self.max_errors:
            yield "min_errors", f"more than max_errors={self.max_errors}"
        if self.min_sentences > self.max_sentences:
            yield "min_sentences", f"more than max_sentences={self.max_sentences}"
        types = [type.lower() for type in CLAIM_ERRORS]
        for name, share in self.mix.items():
            if name not in types:
                yield f"mix.{name}", f"no error type; there are {', '.join(types)}"
            elif share < 0:
                yield f"mix.{name}", "less than 0"
        if not any(self.weights.values()):
            yield "mix", "all shares are 0: one type at least must be wanted"
