"""Where tables are read from, as settings say it."""

from __future__ import annotations

from collections.abc import Iterator

from tablemend.config import HUB, Section

POOL = "pool"
"""The built-in topics."""


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
