"""What eval/validate.py takes on its command line."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Literal

from pydantic import Field

from tablemend.config import BackendOptions, Section
from tablemend.config.section import RunFolder, nearest
from tablemend.datasets.labelled_texts import SETS, SetName
from tablemend.errors import TablemendError
from tablemend.meta_evaluation.metrics import METRICS, OF_MODELS
from tablemend.runs import Run, folder_of
from tablemend.verifier.llm import PerRequest
from tablemend.verifier.verifiers import verifier_names

INJECTION: Literal["injection"] = "injection"


class ValidateCommand(Section):
    """Which scorers are compared with people, on which sets."""

    data: str = "../shared/data"
    """Folder of the sets: <data>/tabfact/open.jsonl and so on."""
    sets: tuple[Literal[SetName, "injection"], ...] = Field(
        default=(*SETS, INJECTION), min_length=1
    )
    """The sets to read; injection is the study of errors injected in summaries of real tables."""
    split: Literal["test", "dev", "all"] = "test"
    """Split of every set, by the hash of its split keys. Rules are chosen on the dev
    split; figures are reported on the test split."""
    n: int | None = Field(default=None, ge=1)
    """At most so many texts of each set, and tables of each source of the injection study, drawn by
    hash; null: all."""
    verifiers: tuple[str, ...] = ("program",)
    """program, nli:MODEL, llm:MODEL (a model string such as hf:Qwen/Qwen3-8B), program-by:MODEL,
    program+nli:MODEL and so on; each is compared with people."""
    per_request: PerRequest = "sentence"
    """What a request to a language model asks about."""
    samples: int = Field(default=1, ge=1)
    """Programs of program-by:MODEL that vote."""
    metrics: tuple[str, ...] = ("bleu", "parent", "overlap")
    """Metrics beside them: bleu, parent, overlap (PARENT's precision without references),
    bertscore:MODEL (an encoder, extra bertscore), true:MODEL (a model of inference); models by
    folder or Hub name. A set without references has figures of overlap and true only."""
    options: BackendOptions = BackendOptions()
    """How language models are asked."""
    run: RunFolder = "validation"
    """Run folder: a name below runs/, or a path where it contains a slash."""
    page: str | None = None
    """Markdown file to fill the figures into, between its markers, such as results/validation.md;
    null: report.md in the run folder."""

    def conflicts(self) -> Iterator[tuple[str, str]]:
        """Keys that do not go together, and data that are not there."""
        if "data" in self.model_fields_set and not Path(self.data).is_dir():
            yield "data", f"no folder {self.data}"
        kinds = [metric.partition(":")[0] for metric in self.metrics]
        for metric, kind in zip(self.metrics, kinds, strict=True):
            if kind not in (*METRICS, *OF_MODELS):
                near = nearest(kind, (*METRICS, *OF_MODELS))
                yield "metrics", f"no metric {metric!r}{near}"
            elif (kind in OF_MODELS) != (":" in metric) or kinds.count(kind) > 1:
                how = f"{kind}:MODEL" if kind in OF_MODELS else kind
                yield "metrics", f"write {how}, and once, not {metric!r}"
        for verifier in self.verifiers:
            try:
                verifier_names(verifier)
            except TablemendError as error:
                yield "verifiers", str(error)

    @property
    def folder(self) -> Run:
        """The run folder."""
        return Run(folder_of(self.run))
