"""One scorer reads the stored answers of every system; then results.json and what is beside it."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, replace
from typing import Any

from tablemend.errors import TablemendError
from tablemend.evaluation.systems import ResolvedSystem, hash_examples
from tablemend.generations import Generations, Scored, ScoredSystems, Stored
from tablemend.recipe.experiment import Comparison
from tablemend.records import TRACE_ERRORS, UNDECIDED, ContextKind, Finding, Judgement, Share
from tablemend.reports.tabulation import (
    RESULTS_VERSION,
    Judgements,
    context_metrics,
    cost,
    each_part,
    tabulate,
    tabulate_second,
)
from tablemend.runs import Run, write_json, write_jsonl
from tablemend.tasks.task import Sample, Scorer, Submission, Task
from tablemend.thinking import end_of_thinking

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
    """Score the stored answers of every system, with the scorers that :func:`scorers` opens.

    Raises:
        TablemendError: an answer that is not stored or was made otherwise than the recipe
            says.
    """
    generations = Generations(run.path / "generations")

    def score_part(system: ResolvedSystem, context: ContextKind) -> dict[str, Scored]:
        stored = generations.read(system.name, context)
        path = generations.path(system.name, context)
        if missing := sum(example.id not in stored for example in examples):
            raise TablemendError(
                f"{path}: {missing} of {len(examples)} answers are missing: run the command "
                "without rescore=true"
            )
        made = generations.settings(system.name, context) or {}
        changes = [  # answers asked for in JSON must not be scored as Markdown
            f"{name} was {made.get(name)!r}, is {value!r}"
            for name, value in system.settings.items()
            if made.get(name) != value
        ]
        if changes:
            raise TablemendError(
                f"{path} was generated with other settings ({'; '.join(changes)}): give those "
                "again, or run without rescore=true"
            )
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

        def second_opinion(one: Submission[Any]) -> Judgement:
            assert task.second_scorer is not None
            if one.unscored:  # as for the detector
                return Judgement(unscored=one.unscored, scorer=task.second_scorer)
            return fault_cut(stored[one.sample.id], task.second_opinion(one), task)

        def scored(one: Submission[Any], judgement: Judgement) -> Scored:
            """With the share of wrong references in its thought, where that has any to check."""
            own, second = stored[one.sample.id], second_opinion(one) if has_second else None
            judgement = fault_cut(own, judgement, task)
            thinks = end_of_thinking(one.text) and not judgement.unscored
            trace = task.trace_errors(one.sample, context, one.text) if thinks else None
            if trace is None or not trace.cited:
                return Scored(own, judgement, second)
            share = {TRACE_ERRORS.name: Share(len(trace.findings), trace.cited)}
            judgement = replace(judgement, shares={**judgement.shares, **share})
            return Scored(own, judgement, second, trace.findings)

        both = zip(submissions, judgements, strict=True)
        return {one.sample.id: scored(one, judgement) for one, judgement in both}

    return {
        system.name: {context: score_part(system, context) for context in config.contexts}
        for system in systems
    }


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


def write_results(
    scored: ScoredSystems,
    systems: Sequence[ResolvedSystem],
    examples: Sequence[Sample],
    config: Comparison,
    run: Run,
    impossible: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """Write examples, views, judgements of both scorers (.jsonl), and results.json: the results."""
    generations = Generations(run.path / "generations")
    task, resolved = config.task_of(), {one.name: one for one in systems}
    answers = defaultdict[tuple[ContextKind, str], list[tuple[str, Judgement]]](list)
    for system, kinds in scored.items():
        for context, own in {} if resolved[system].after else kinds.items():
            for name, one in own.items():
                answers[context, name].append((one.stored.answer.text, one.judgement))
    views = {
        context: {
            sample.id: replace(
                task.show(sample, context), domain=task.domain(sample, answers[context, sample.id])
            )
            for sample in examples
        }
        for context in config.contexts
    }
    tables = {sample.id: sample.source_hash for sample in examples}

    def said_by(pick: Callable[[Scored], Judgement | None]) -> Judgements:
        return each_part(
            scored,
            lambda _, __, own: {
                name: said for name, one in own.items() if (said := pick(one)) is not None
            },
        )

    judgements, second = said_by(lambda one: one.judgement), said_by(lambda one: one.second)
    settings = {
        system: generations.settings(system, next(iter(kinds))) for system, kinds in scored.items()
    }
    seconds = share_seconds(scored, resolved)
    every = [one for kinds in judgements.values() for own in kinds.values() for one in own.values()]
    (scorer,) = {one.scorer for one in every}  # one for every system
    seen = {name for one in every for name in one.shares}
    optional = ("event", "distractor")
    every_metric = (*task.metrics, TRACE_ERRORS)
    metrics = [one for one in every_metric if one.kind not in optional or one.name in seen]
    metrics += context_metrics(views)
    results: dict[str, Any] = {
        "run": run.path.name,
        "version": RESULTS_VERSION,
        "recipe": config.name,
        "task": task.name,
        "description": task.description,
        "contexts": {one: {**task.views, **task.more_views}[one] for one in config.contexts},
        "length_unit": task.length_unit,
        "second_scorer": task.second_scorer,
        "metrics": [asdict(metric) for metric in metrics],
        "n": len(examples),
        "tables": len(set(tables.values())),
        "not_possible": dict(impossible or {}),
        "scorer": scorer,
        "cut": config.evaluation.cut,
        "data": config.data.test.model_dump(mode="json") | {"hash": hash_examples(examples)},
        "seed": config.evaluation.seed,
        "format": task.format,
        "settings": settings,
        "cost": each_part(
            scored,
            lambda system, context, own: cost(
                (one.stored for one in own.values()),
                seconds[system, context],
                resolved[system].options.price_in,
                resolved[system].options.price_out,
            ),
        ),
        **tabulate(judgements, views, metrics, tables),
        "relations": each_part(
            judgements,
            lambda _, __, own: Counter(task.relation(one) or UNDECIDED for one in own.values()),
        ),
        "second": tabulate_second(second, judgements, tables),
    }
    write_jsonl(run.path / "examples.jsonl", [example.to_json() for example in examples])
    write_jsonl(
        run.path / "views.jsonl", [one.to_json() for own in views.values() for one in own.values()]
    )
    write_jsonl(run.path / "judgements.jsonl", list(_lines(judgements)))
    write_jsonl(run.path / "second_judgements.jsonl", list(_lines(second)))
    write_jsonl(
        run.path / "traces.jsonl",
        [
            {"example_id": name, "system": system, "context": context, **asdict(finding)}
            for system, kinds in scored.items()
            for context, own in kinds.items()
            for name, one in own.items()
            for finding in one.wrong_references
        ],
    )
    write_json(run.path / "results.json", results)
    kept = ("recipe", "n", "scorer", "cut", "data", "settings", "cost")
    asked = {
        name: {
            "model": config.evaluation.systems[name].model,
            "options": one.options.model_dump(mode="json"),
        }
        for name, one in resolved.items()
    }
    noted = {"asked": asked, "second_scorer": results["second"]["scorer"]}
    run.record("compare", {name: results[name] for name in kept} | noted)
    return results


def share_seconds(
    scored: ScoredSystems, systems: Mapping[str, ResolvedSystem]
) -> dict[tuple[str, ContextKind], float]:
    """Seconds of generating, by system and context.

    transformers is asked system by system. Systems of another engine are asked together, and which
    one's answer came at the end of a wait says nothing: they share their seconds by the tokens that
    were computed for them (prompts less what had been read before, and answers). A system that
    mends has the seconds of the answers beside its own.
    """
    own: dict[tuple[str, ContextKind], float] = {}
    computed: dict[tuple[str, ContextKind], int] = {}
    groups: dict[object, list[tuple[str, ContextKind]]] = {}
    for system, kinds in scored.items():
        for context, answers in kinds.items():
            stored = [one.stored for one in answers.values()]
            own[system, context] = sum(one.seconds for one in stored)
            computed[system, context] = sum(one.computed_tokens for one in stored)
            if systems[system].after:
                continue
            model = systems[system].model
            alone = (system, context) if model.engine == "hf" else None
            groups.setdefault((model, alone), []).append((system, context))
    shared = {}
    for places in groups.values():
        seconds = sum(own[place] for place in places)
        tokens = sum(computed[place] for place in places)
        for place in places:
            shared[place] = seconds * computed[place] / tokens if tokens else own[place]
    for name, one in systems.items():
        if one.after is not None:
            for context in scored[name]:
                shared[name, context] = own[name, context] + shared[one.after, context]
    return shared


def _lines(judgements: Judgements) -> Iterator[dict[str, Any]]:
    """What was said of every answer, each with its place."""
    for system, kinds in judgements.items():
        for context, own in kinds.items():
            for example_id, said in own.items():
                place = {"example_id": example_id, "system": system, "context": context}
                yield place | said.to_json()
