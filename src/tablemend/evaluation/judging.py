"""One detector judges the stored answers of every arm, each in the format it was asked for.

Beside it stand the second judges, which share no code with it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from tablemend.config import Format
from tablemend.detector.judge import Submission, judge_answers
from tablemend.detector.order import SortRule
from tablemend.detector.similarity import Similarity
from tablemend.errors import TablemendError
from tablemend.evaluation.arms import asked_of
from tablemend.evaluation.llm_judge import (
    Replies,
    judge_name,
    judging_model,
    opinion_of,
    read_replies,
)
from tablemend.generations import Generations, Judged, JudgedArms, Stored
from tablemend.recipe.experiment import Comparison
from tablemend.records import ContextKind, Example, Finding, Judgement
from tablemend.runs import Run
from tablemend.second_judge import JUDGE, Difference, Opinion, compare_exactly


def judge(
    examples: Sequence[Example], config: Comparison, run: Run, similarity: Similarity
) -> JudgedArms:
    """Judge the stored answers of every arm.

    Raises:
        TablemendError: an answer that is not stored or was made otherwise than the recipe
            says.
    """
    generations = Generations(run.path / "generations")
    replies = read_replies(run) if judging_model(config) is not None else {}
    return {
        arm: {
            context: _judge_part(generations, arm, context, examples, config, similarity, replies)
            for context in config.evaluation.contexts
        }
        for arm in config.evaluation.arms
    }


def _judge_part(
    generations: Generations,
    arm: str,
    context: ContextKind,
    examples: Sequence[Example],
    config: Comparison,
    similarity: Similarity,
    replies: Replies,
) -> dict[str, Judged]:
    stored = generations.read(arm, context)
    missing = sum(example.id not in stored for example in examples)
    if missing:
        raise TablemendError(
            f"{generations.path(arm, context)}: {missing} of {len(examples)} answers are "
            "missing: run the command without rejudge=true"
        )
    _refuse_other_settings(generations, arm, context, config)
    format = config.format_of(config.evaluation.arms[arm])
    submissions = (
        Submission(
            "" if is_cut(stored[example.id]) else stored[example.id].answer.text,
            example.gold_table,
            example.context(context),
            SortRule.of(example.constraints),
            format,
            why_unjudged(stored[example.id], config),
        )
        for example in examples
    )
    judgements = judge_answers(submissions, similarity)
    return {
        example.id: Judged(
            stored[example.id],
            _fault_cut(stored[example.id], judgement),
            tuple(_second_opinions(stored[example.id], example, format, config, replies)),
        )
        for example, judgement in zip(examples, judgements, strict=True)
    }


def _second_opinions(
    stored: Stored, example: Example, format: Format, config: Comparison, replies: Replies
) -> Iterator[Opinion]:
    """What the second judges say of one answer; what was cut or failed is as for the detector."""
    if config.evaluation.second_judge == "none":
        return
    gold, rule = example.gold_table, example.constraints
    text = stored.answer.text
    model = judging_model(config)
    names = [JUDGE] if model is None else [JUDGE, judge_name(model)]
    if why := why_unjudged(stored, config):
        yield from (Opinion(name, hallucinated=False, unjudged=why) for name in names)
    elif is_cut(stored):
        cut = (Difference("unreadable", "cut at the token limit"),)
        yield from (Opinion(name, True, cut, row_recall=0.0, whole=False) for name in names)
    else:
        yield compare_exactly(text, format, gold.columns, gold.rows, rule.sort_column)
        if model is not None:
            yield opinion_of(model, example, text, replies)


def is_cut(stored: Stored) -> bool:
    """Whether the answer ended at the token limit."""
    return stored.answer.finish_reason == "length"


def _fault_cut(stored: Stored, judgement: Judgement) -> Judgement:
    """A cut answer is a format error, whatever stands before the cut.

    Half a Markdown table can be read and half a JSON table cannot: by what is there, the same
    answer would be judged otherwise in another format.
    """
    if not is_cut(stored) or judgement.unjudged:
        return judgement
    evidence = f"cut at the token limit, after {stored.answer.completion_tokens} tokens"
    finding = Finding("format_error", None, None, None, None, evidence)
    return replace(judgement, findings=(finding,), abstained=False)


def why_unjudged(stored: Stored, config: Comparison) -> str:
    """Why an answer gets no verdict, before anybody reads it; empty where it gets one.

    A failed request never does, an answer cut at the limit only with ``cut: format_error``, a
    refusal always: its text is judged like any other.
    """
    answer = stored.answer
    if stored.failed:
        return answer.error or "the request failed"
    if is_cut(stored) and config.evaluation.cut == "unjudged":
        return f"cut after {answer.completion_tokens} tokens"
    return ""


def _refuse_other_settings(
    generations: Generations, arm: str, context: ContextKind, config: Comparison
) -> None:
    """Answers asked for in JSON must not be judged as Markdown, nor a cot arm's as base's."""
    made = generations.made_with(arm, context)
    changes = [
        f"{name} was {made.get(name)!r}, is {value!r}"
        for name, value in asked_of(config, arm).items()
        if made.get(name) != value
    ]
    if changes:
        raise TablemendError(
            f"{generations.path(arm, context)} was generated with other settings "
            f"({'; '.join(changes)}): give those again, or run without rejudge=true"
        )
