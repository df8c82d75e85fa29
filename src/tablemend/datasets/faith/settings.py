"""What a FAITH set can be asked for."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Literal

from pydantic import Field

from tablemend.backends.names import ModelString
from tablemend.config import Count, Section
from tablemend.config.section import BackendOptions
from tablemend.datasets.faith.spans import Recogniser
from tablemend.datasets.splits import Shares

INVENTED = "invented"
PROGRAM = "program"


class FaithSet(Section):
    """A set of masked numbers from reports."""

    kind: Literal["faith"] = "faith"
    """What a recipe is for."""
    reports: tuple[str, ...] = (INVENTED,)
    """Where reports come from: folders of 10-K filings (HTML, inline XBRL, text; files are named
    COMPANY_anything), files of FAITH, FinQA or TAT-QA records (JSON or JSONL), or `invented`."""
    n: Count | None = Field(default=None, ge=1)
    """Most reports of each source; of `invented` 100 where it is null."""
    sentences: int = Field(default=10, ge=1)
    """Most sentences of a report, drawn at random (FAITH, 4.1: 10)."""
    tables: int = Field(default=1, ge=1)
    """Tables of an invented report."""
    spans: Recogniser = "program"
    """What finds numbers: `program`, or `spacy`."""
    annotators: tuple[Literal["program"] | ModelString, ...] = (PROGRAM,)
    """What says whether a number follows from the tables: `program`, or model strings; FAITH asks
    three models."""
    annotator_options: BackendOptions = BackendOptions()
    """How models are asked."""
    quorum: int | None = Field(default=None, ge=1)
    """Annotators that must agree that a number is answerable; null: all of them."""
    nearest_tables: int | None = Field(default=None, ge=1)
    """For models with short windows: each number comes with so many tables of its report alone,
    those that fit the masked sentence best; null: with all, as in FAITH."""
    most_characters: int = Field(default=40_000, ge=200)
    """Numbers whose tables have more are left out, and counted: nothing is cut."""
    shares: Shares = Shares()
    """Split of the companies."""
    seed: int = Field(default=0, ge=0)
    """Seed of what is drawn."""
    workers: int = Field(default=2, ge=1, le=64)
    """Processes."""
    out: str = "data/faith"
    """Folder to write into."""

    def conflicts(self) -> Iterator[tuple[str, str]]:
        """Sources that are not there, and a quorum that cannot be reached."""
        for source in self.reports:
            if source != INVENTED and not Path(source).exists():
                yield "reports", f"no folder or file {source}"
        names = [name.partition("@")[0] for name in self.annotators]
        if not names or len(set(names)) < len(names):
            yield "annotators", "name one or more, each once: program, or model strings"
        if not self.reports:
            yield "reports", "name a folder, a file or invented"
        if self.quorum is not None and self.quorum > len(self.annotators):
            yield "quorum", f"there are {len(self.annotators)} annotators"

    @property
    def models(self) -> tuple[str, ...]:
        """The annotators that are models."""
        return tuple(name for name in self.annotators if name != PROGRAM)
