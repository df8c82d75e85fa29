"""What tasks share that look at each answer alone: scorer, reward, and targets behind thoughts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Generic

from tablemend.errors import TablemendError
from tablemend.records import Judgement
from tablemend.tasks.task import S, Score, Submission, Task


class AnswerScorer(Generic[S]):
    """Scores each answer alone.

    Args:
        name: with its version.
        judge: of a sample and the raw answer.
    """

    def __init__(self, name: str, judge: Callable[[S, str], Judgement]) -> None:
        self.name, self._judge = name, judge

    def score(self, answers: Iterable[Submission[S]]) -> Iterator[Judgement]:
        """One judgement an answer; a failed request is unscored."""
        for one in answers:
            if one.unscored:
                yield Judgement(unscored=f"no answer: {one.unscored}", scorer=self.name)
            else:
                yield self._judge(one.sample, one.text)


class AnswerReward(Generic[S]):
    """Pays each answer alone; gold is the task's target.

    Args:
        name: with its version.
        task: whose target is gold.
        thinking: that the target comes with.
        earn: what an answer to a sample earns.
    """

    def __init__(
        self, name: str, task: Task[S], thinking: str, earn: Callable[[S, str], Score]
    ) -> None:
        self.name, self._task, self._thinking, self._earn = name, task, thinking, earn

    def score(self, sample: S, view: str, text: str) -> Score:
        """What an answer earns."""
        return self._earn(sample, text)

    def gold(self, sample: S, view: str) -> str:
        """The target."""
        return self._task.target(sample, view, self._thinking)


def after_thinking(task: str, thinking: str, answer: str, rationale: str = "") -> str:
    """A target behind the thoughts that it is taught with.

    Raises:
        TablemendError: thinking that no target of the task comes with.
    """
    thoughts = {"off": "", "empty": "<think>\n\n</think>\n\n"}
    if rationale:
        thoughts["rationale"] = f"<think>\n{rationale}\n</think>\n\n"
    if thinking not in thoughts:
        raise TablemendError(
            f"thinking={thinking} has no target in {task}: use {' or '.join(thoughts)}"
        )
    return thoughts[thinking] + answer
