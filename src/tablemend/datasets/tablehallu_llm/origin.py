"""What rows are about: a topic for each, or a table of the program engine's source."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tablemend.datasets.tablehallu.engine import ENGINE as PROGRAM
from tablemend.datasets.tablehallu.engine import Engine, find_tables, hash_tables
from tablemend.datasets.tablehallu.settings import POOL, Synthesis
from tablemend.datasets.tablehallu.sources import open_source
from tablemend.datasets.tablehallu_llm.paraphrase import ENGINE as PARAPHRASE
from tablemend.datasets.tablehallu_llm.settings import LlmSynthesis
from tablemend.datasets.tablehallu_llm.stages import ENGINE
from tablemend.datasets.tablehallu_llm.topics import Topics, open_topics


@dataclass(frozen=True)
class Origin:
    """Where kernels begin; exactly one of the two is there.

    Attributes:
        topics: what a model writes about.
        program: what cuts kernels from tables.
        noted: what the rows depend on through it.
    """

    topics: Topics | None
    program: Engine | None
    noted: dict[str, Any]


def open_origin(settings: LlmSynthesis) -> Origin:
    """Read the topics, or look through the source of tables once.

    Raises:
        TablemendError: there are no topics, or no usable table.
    """
    if settings.kernel == "llm":
        topics = open_topics(settings.topics, settings.seed)
        return Origin(topics, None, {"engine_version": ENGINE, "topics": topics.digest})
    asked = settings.program_settings()
    versions = [PROGRAM, PARAPHRASE, *([ENGINE] if settings.perturbation == "llm" else [])]
    engine, tables = _open_program(asked)
    return Origin(None, engine, {"engine_version": " ".join(versions), "tables": tables})


def _open_program(asked: Synthesis) -> tuple[Engine, str]:
    """The program engine, and a hash of the tables that it has."""
    source = open_source(asked)
    usable, _ = find_tables(source, asked)
    # The pool has no end: its version is the engine's.
    return Engine(asked, source, usable), POOL if asked.source == POOL else hash_tables(usable)
