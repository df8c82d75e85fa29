"""Where tables are read from, and the splits of a data set: by table, so that none is in two."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from pydantic import Field

from tablemend.config import HUB, Section

Split = Literal["train", "validation", "test"]
SPLITS: tuple[Split, ...] = ("train", "validation", "test")


class Shares(Section):
    """Share of the source tables in each split; a table's content hash decides."""

    train: float = Field(default=0.8, ge=0, le=1)
    """Share for training."""
    validation: float = Field(default=0.1, ge=0, le=1)
    """Share for validation."""
    test: float = Field(default=0.1, ge=0, le=1)
    """Share for testing."""

    def conflicts(self) -> Iterator[tuple[str, str]]:
        """Shares that do not make a whole."""
        total = self.train + self.validation + self.test
        if abs(total - 1) > 1e-9:
            yield "train", f"the three shares add up to {total:g}, not to 1"


def split_of(source_hash: str, shares: Shares) -> Split:
    """The split of a table; its content alone decides, whatever the seed."""
    position = int(source_hash[:12], 16) / 16**12
    reached = 0.0
    for split in SPLITS:
        reached += getattr(shares, split)
        if position < reached:
            return split
    return "test" if shares.test else "train"


POOL = "pool"
"""The built-in topics."""
UNKNOWN = "unknown"
"""Domain and category of tables whose titles and headers do not say them."""


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
