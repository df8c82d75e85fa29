"""What eval/annotate.py and eval/annotation_report.py take on their command lines."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from tablemend.backends.names import ModelString
from tablemend.config import BackendOptions, Section, Source
from tablemend.config.section import RunFolder
from tablemend.runs import folder_of

MAKES = "python data_gen/logic.py"
ANNOTATES = "python eval/annotate.py"
SOLVER = "solver"
"""Name of the solver as an annotator."""
AnnotatorName = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_-]*$")]


class PairsCommand(Section):
    """Which pairs are annotated, and where."""

    data: str = "data/logic"
    """The pairs: a folder with one file a split, or a file."""
    split: Literal["train", "validation", "test"] = "test"
    """Split of a folder."""
    n: int | None = Field(default=None, ge=1)
    """Most pairs to take, from the front; null: all."""
    added: bool = True
    """Ask what the paper's tree lacks as well: well-formedness and tautology."""
    run: RunFolder = "annotation"
    """Run folder: a name below runs/, or a path where it contains a slash."""

    @property
    def source(self) -> Source:
        """Where all the pairs are."""
        return Source(source=self.data, split=None if Path(self.data).suffix else self.split)

    @property
    def folder(self) -> Path:
        """The run folder."""
        return folder_of(self.run)


class AnnotateCommand(PairsCommand):
    """Which models annotate which pairs, and whether the solver does."""

    models: dict[AnnotatorName, ModelString] = Field(default_factory=dict)
    """Annotators by name: model strings such as openai:MODEL@URL or hf:Qwen/Qwen3-8B."""
    formaliser: ModelString | None = None
    """One more annotator, `solver`: this model writes outputs as formulas, z3 decides them."""
    symmetric: bool = False
    """What adjoins a block is adjoined by it, to the solver."""
    options: BackendOptions = BackendOptions()
    """How they are asked."""
    thinking: bool | None = False
    """Whether a model thinks before each answer; null asks for nothing."""
    max_new_tokens: int = Field(default=512, ge=1)
    """Longest answer, thinking included."""
    temperature: float = Field(default=0, ge=0)
    """0 is greedy. Above, one model under two names is two annotators."""

    def conflicts(self) -> Iterator[tuple[str, str]]:
        """Nobody who annotates, two of one name, and a setting that nobody would read."""
        if not self.models and not self.formaliser:
            yield "models", "name one, or a formaliser"
        if self.formaliser and SOLVER in self.models:
            yield "models", f"{SOLVER} is the solver's own name"
        if self.symmetric and not self.formaliser:
            yield "symmetric", "only read with a formaliser"


class AnnotationReportCommand(Section):
    """Which annotations are measured."""

    run: RunFolder
    """Run folder: a name below runs/, or a path where it contains a slash."""
    annotations: tuple[str, ...] = ()
    """Further files of annotations of the same pairs, such as those of people."""
    passed: bool = False
    """Count only annotators who passed the comprehension check, or had none."""

    def conflicts(self) -> Iterator[tuple[str, str]]:
        """Files that are not there."""
        for name in self.annotations:
            if not Path(name).is_file():
                yield "annotations", f"no file {name}"
