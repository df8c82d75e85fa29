"""One scorer reads the stored answers of every system, each in the format it was asked for.

The second scorer shares no code with it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from typing import Any

from tablemend.errors import TablemendError
from tablemend.evaluation.systems import ResolvedSystem
from tablemend.generations import Generations, Scored, ScoredSystems, Stored
from tablemend.recipe.experiment import Comparison
from tablemend.records import ContextKind, Finding, Judgement
from tablemend.runs import Run
from tablemend.tasks.task import Sample, Scorer, Submission, Task

Scorers = Mapping[str | None, Scorer[Any]]


@contextmanager
def scorers(systems: Iterable[ResolvedSystem]) -> Iterator[Scorers]:
    """The scorer of each system, opened: systems of one table format share theirs.

    Raises:
        TablemendError: a model that scores cannot be loaded.
    """
    with ExitStack() as stack:
        found: dict[str | None, Scorer[Any]] = {}
        for system in systems:
            if system.task.format not in found:
                found[system.task.format] = stack.enter_context(system.task.scorer())
        yield found


def score(
    systems: Sequence[ResolvedSystem],
    examples: Sequence[Sample],
    config: Comparison,
    run: Run,
    scorers: Scorers,
) -> ScoredSystems:
    """Score the stored answers of every system.

    Args:
        systems: those that answered.
        examples: what was answered.
        config: the recipe.
        run: its folder.
        scorers: by table format (:func:`scorers`).

    Raises:
        TablemendError: an answer that is not stored or was made otherwise than the recipe
            says.
    """
    generations = Generations(run.path / "generations")
    return {
        system.name: {
            context: _score_part(generations, system, context, examples, config, scorers)
            for context in config.contexts
        }
        for system in systems
    }


def _score_part(
    generations: Generations,
    system: ResolvedSystem,
    context: ContextKind,
    examples: Sequence[Sample],
    config: Comparison,
    scorers: Scorers,
) -> dict[str, Scored]:
    stored = generations.read(system.name, context)
    missing = sum(example.id not in stored for example in examples)
    if missing:
        raise TablemendError(
            f"{generations.path(system.name, context)}: {missing} of {len(examples)} answers are "
            "missing: run the command without rescore=true"
        )
    _refuse_other_settings(generations, system, context)
    task = system.task
    has_second = config.evaluation.second_scorer != "none" and task.second_scorer is not None
    submissions = [
        Submission(
            example,
            context,
            "" if is_cut(stored[example.id]) else stored[example.id].answer.text,
            why_unscored(stored[example.id], config),
        )
        for example in examples
    ]
    judgements = scorers[task.format].score(submissions)
    return {
        one.sample.id: Scored(
            stored[one.sample.id],
            fault_cut(stored[one.sample.id], judgement, task),
            _second_opinion(stored[one.sample.id], one, task) if has_second else None,
        )
        for one, judgement in zip(submissions, judgements, strict=True)
    }


def _second_opinion(stored: Stored, submission: Submission[Any], task: Task[Any]) -> Judgement:
    """What the second scorer says of one answer; what was cut or failed is as for the detector."""
    if submission.unscored:
        assert task.second_scorer is not None
        return Judgement(unscored=submission.unscored, scorer=task.second_scorer)
    return fault_cut(stored, task.second_opinion(submission), task)


def is_cut(stored: Stored) -> bool:
    """Whether the answer ended at the token limit."""
    return stored.answer.finish_reason == "length"


def fault_cut(stored: Stored, judgement: Judgement, task: Task[Any]) -> Judgement:
    """A cut table is a format error, whatever comes before the cut; a cut text is unscored.

    Half a Markdown table can be read and half a JSON table cannot: by what is there, the same
    answer would be scored otherwise in another format.
    """
    if not is_cut(stored) or judgement.unscored:
        return judgement
    if task.format is None:
        return Judgement(unscored="cut at the token limit", scorer=judgement.scorer)
    evidence = f"cut at the token limit, after {stored.answer.completion_tokens} tokens"
    finding = Finding("format_error", None, None, None, None, evidence)
    return replace(judgement, findings=(finding,), abstained=False)


def why_unscored(stored: Stored, config: Comparison) -> str:
    """Why an answer gets no verdict, before anybody reads it; empty where it gets one.

    A failed request never does, an answer cut at the limit only with ``cut: format_error``, a
    refusal always: its text is scored like any other.
    """
    answer = stored.answer
    if stored.failed:
        return answer.error or "the request failed"
    if is_cut(stored) and config.evaluation.cut == "unscored":
        return f"cut after {answer.completion_tokens} tokens"
    return ""


def _refuse_other_settings(
    generations: Generations, system: ResolvedSystem, context: ContextKind
) -> None:
    """Answers asked for in JSON must not be scored as Markdown, nor a cot system's as base's."""
    made = generations.settings(system.name, context) or {}
    changes = [
        f"{name} was {made.get(name)!r}, is {value!r}"
        for name, value in system.settings.items()
        if made.get(name) != value
    ]
    if changes:
        raise TablemendError(
            f"{generations.path(system.name, context)} was generated with other settings "
            f"({'; '.join(changes)}): give those again, or run without rescore=true"
        )
