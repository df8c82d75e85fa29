"""A task of ours as a harness asks it: samples, chats, and what each metric takes of an answer."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from functools import cached_property
from pathlib import Path
from typing import Any

from pydantic import Field

from tablemend.config import SMALL_WORLD, Format, Section, Source
from tablemend.config.section import Serialisation, nearest
from tablemend.errors import TablemendError
from tablemend.evaluation.scoring import fault_cut, is_cut
from tablemend.generations import Stored
from tablemend.records import Answer, FinishReason, Judgement
from tablemend.tasks.all_tasks import TASKS
from tablemend.tasks.task import Sample, Scorer, Submission, Task, TaskOptions


class Settings(Section):
    """What a harness is told of a task; names and defaults are those of a recipe."""

    task: str
    """One of our tasks."""
    source: str
    """As `data.test.source`."""
    split: str | None = None
    """Split of a folder or of a data set on the Hub; null: test."""
    n: int | None = Field(default=None, ge=1)
    """Most samples; all where it is null."""
    seed: int = Field(default=0, ge=0)
    """Seed of the small world."""
    revision: str | None = None
    """Commit of a data set on the Hub."""
    view: str | None = None
    """How samples are shown: a context of the task; null: the last one (`adversarial`)."""
    prompt: str | None = None
    """Prompting strategy; null: the plain one."""
    format: Format = "markdown"
    """Table format that prompts ask for."""
    serialisation: Serialisation | None = None
    """How tables that prompts show are written."""
    similarity: str = "lexical"
    """As `evaluation.similarity`."""
    verifier: str = "program"
    """As `evaluation.verifier`."""
    extractor: str = "program"
    """As `evaluation.extractor`."""

    def conflicts(self) -> Iterator[tuple[str, str]]:
        """A task that there is not, and contexts and prompts that it does not have."""
        if self.task not in TASKS:
            yield "task", f"no task {self.task!r}{nearest(self.task, TASKS)}"
            return
        task = TASKS[self.task](TaskOptions())
        for name, value, known in (
            ("view", self.view, {**task.views, **task.more_views}),
            ("prompt", self.prompt, task.prompts),
        ):
            if value is not None and value not in known:
                has = ", ".join(task.views if name == "view" else task.prompts)
                yield name, f"{task.name} has no {name} {value!r}; it has {has}"

    @property
    def test(self) -> Source:
        """Where the samples are."""
        in_file = self.source == SMALL_WORLD or Path(self.source).suffix
        split = self.split or (None if in_file else "test")
        return Source(
            source=self.source, split=split, n=self.n, seed=self.seed, revision=self.revision
        )


class Benchmark:
    """A task, set up; what scores is opened with the first answer and stays open.

    Args:
        given: the settings by name.

    Raises:
        TablemendError: settings that do not fit, each with what is wrong.
    """

    def __init__(self, given: Mapping[str, Any]) -> None:
        try:
            own = self.settings = Settings.model_validate(given)
            self.test = own.test
        except ValueError as error:  # pydantic's, with our conflicts inside
            raise TablemendError(" ".join(str(error).split())) from error
        self.task: Task[Any] = TASKS[own.task](
            TaskOptions(
                own.format,
                own.similarity,
                own.verifier,
                own.extractor,
                serialisation=own.serialisation,
            )
        )
        self.view = own.view or self.task.default_view
        self.prompt = own.prompt or self.task.prompts[0]
        self._stack = ExitStack()

    @cached_property
    def samples(self) -> list[Sample]:
        """The samples.

        Raises:
            TablemendError: no such source.
        """
        return self.task.samples(self.test)

    def messages(self, sample: Sample) -> Sequence[Mapping[str, str]]:
        """The chat that the model is shown, as in a comparison of ours."""
        return self.task.messages(sample, self.view, self.prompt)

    def target(self, sample: Sample) -> str:
        """The gold answer for a reader of the log; empty where there is none to teach."""
        try:
            return self.task.target(sample, self.view, "off")
        except TablemendError:
            return ""

    @cached_property
    def scorer(self) -> Scorer[Any]:
        """What scores.

        Raises:
            TablemendError: a model that cannot be loaded.
        """
        return self._stack.enter_context(self.task.scorer())

    def judge(
        self, sample: Sample, text: str, finish: FinishReason = "stop", error: str = ""
    ) -> Judgement:
        """What the scorer says of one answer; cut and failed ones as in a comparison of ours."""
        stored = Stored(Answer(sample.id, "", self.view, text, 0, 0, finish, error), 0.0)
        shown = "" if is_cut(stored) else text
        (found,) = self.scorer.score([Submission(sample, self.view, shown, error)])
        return fault_cut(stored, found, self.task)

    def values(self, judgement: Judgement) -> dict[str, float | None]:
        """What each metric counts of an answer; ``None`` where it does not count.

        An unscored answer counts in ``unscored`` alone: elsewhere it is neither 0 nor 1.
        """
        return {
            one.name: one.value(judgement)
            if one.kind == "unscored" or not judgement.unscored
            else None
            for one in self.task.metrics
        }


def rate(values: Sequence[float]) -> float:
    """The mean of what counts, summed without rounding: that of ``results.json``."""
    return math.fsum(values) / len(values)
