"""Summaries by a model, labelled by a verifier: what models get wrong by themselves (3.2)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from tablemend.backends.asking import ask, short_name
from tablemend.backends.backend import Backend, open_backend
from tablemend.backends.requests import Completion, Request, Sampling, stream_seed
from tablemend.datasets.tabfaith.dataset import (
    Opened,
    begin,
    finish,
    noted,
    numbers_of,
    parts_of,
    save_part,
    state_of,
)
from tablemend.datasets.tabfaith.examples import Label, TabFaithExample
from tablemend.datasets.tabfaith.making import Task, task_of
from tablemend.datasets.tabfaith.prompting import PROMPTS, STAGES, ask_for
from tablemend.datasets.tabfaith.settings import TabFaith
from tablemend.datasets.tabfaith.sources import Found
from tablemend.datasets.tabfaith.summary import InjectedError
from tablemend.datasets.tablehallu.dataset import check_folder, is_finished, make_once
from tablemend.errors import TablemendError
from tablemend.evidence.source import Source
from tablemend.faithfulness.staf import open_verifier, verify_texts
from tablemend.faithfulness.verifier import Verifier
from tablemend.prompting.replies import Unreadable, prose, why_no_answer
from tablemend.records import Verification
from tablemend.values.sentences import Span, sentence_spans


class _Asked(NamedTuple):
    """A request and what it is about."""

    task: Task
    found: Found
    request: Request


def make_model_dataset(settings: TabFaith, progress: Callable[[int], object]) -> dict[str, Any]:
    """Make a set of a model's summaries, or go on with it, or find it finished.

    Each summary is taken apart and scored by the verifier: ``faithful`` where every claim is
    supported, ``unfaithful`` where one is wrong, else ``unscored``. A part is asked for, verified
    and written at once.

    Args:
        settings: with a generator.
        progress: called with the number of examples that are newly done.

    Returns:
        The counts, as in ``counts.json``.

    Raises:
        TablemendError: no such model or verifier, no table, another set in the folder, or a
            process that is writing into it.
        Stopped: the server is gone; the same command goes on.
    """
    out = Path(settings.out)
    engine = _engine(settings)
    check_folder(out, noted(settings, engine))
    if is_finished(out):
        progress(settings.sizes.total)
    return make_once(out, lambda: _make(settings, engine, progress))


def _make(settings: TabFaith, engine: str, progress: Callable[[int], object]) -> None:
    assert settings.generator is not None
    with open_backend(settings.generator, settings.generator_options) as backend:
        verifier = open_verifier(settings.verifier, settings.generator_options)
        try:
            opened, skipped = begin(settings, engine)
            for part in range(parts_of(settings)):
                if not state_of(settings, part).exists():
                    _write_part(settings, opened, part, backend, verifier)
                progress(len(numbers_of(settings, part)))
        finally:
            verifier.close()
    finish(settings, engine, skipped)


def _engine(settings: TabFaith) -> str:
    """Which prompts were asked: part of what the files depend on."""
    return "+".join(PROMPTS.version(stage) for stage in STAGES.values())


def _write_part(
    settings: TabFaith, opened: Opened, part: int, backend: Backend, verifier: Verifier
) -> None:
    dropped: Counter[str] = Counter()
    asked: dict[str, _Asked] = {}
    for number in numbers_of(settings, part):
        task = task_of(settings, number)
        found = opened[task.domain][task.number]
        try:
            messages = ask_for(
                task.domain, found.table, (settings.min_sentences, settings.max_sentences)
            )
        except TablemendError as error:
            dropped[f"{task.domain}: {error}"] += 1
            continue
        request = Request(
            id=f"summary.{number}",
            messages=messages,
            sampling=Sampling(settings.max_new_tokens, settings.temperature),
            thinking=None
            if settings.generator_thinking is None
            else settings.generator_thinking == "on",
            seed=stream_seed(settings.seed, f"summary.{number}"),
        )
        asked[request.id] = _Asked(task, found, request)
    answers = ask(backend, [one.request for one in asked.values()])
    told: list[tuple[_Asked, str]] = []
    for id, one in asked.items():
        try:
            told.append((one, _read(answers[id], settings)))
        except Unreadable as error:
            dropped[f"{one.task.domain}: {error.problem.kind}"] += 1
    scored = verify_texts([(text, Source((one.found.table,))) for one, text in told], verifier)
    name = short_name(backend)
    examples = [
        _example(settings, one, text, verification, name)
        for (one, text), verification in zip(told, scored, strict=True)
    ]
    save_part(settings, part, examples, dropped, Counter())


def _read(completion: Completion, settings: TabFaith) -> str:
    """The summary of an answer.

    Raises:
        Unreadable: a request that failed, no text alone, too few or too many sentences.
    """
    if problem := why_no_answer(completion):
        raise Unreadable(problem.kind, problem.text)
    text = " ".join(prose(completion.answer).split())
    count = len(sentence_spans(text))
    if not settings.min_sentences <= count <= settings.max_sentences:
        raise Unreadable("too few or too many sentences", f"{count} sentences")
    return text


def _example(
    settings: TabFaith, one: _Asked, text: str, verification: Verification, model: str
) -> TabFaithExample:
    errors = _errors(text, verification)
    label: Label = "unfaithful" if errors else "unscored"
    if not errors and verification.verdict == "supported":
        label = "faithful"
    stage = STAGES[one.task.domain]
    return TabFaithExample(
        domain=one.task.domain,
        table=one.found.table,
        summary=text,
        facts=(),
        label=label,
        errors=errors,
        labelled_by=verification.judge,
        source=one.found.where,
        source_hash=one.found.table.content_hash(),
        seed=settings.seed,
        engine=f"{model}, {PROMPTS.version(stage)}",
    )


def _errors(text: str, verification: Verification) -> tuple[InjectedError, ...]:
    """One error for each place that a verdict finds at fault; the first of two that overlap."""
    found: list[InjectedError] = []
    taken: list[Span] = []
    for verdict in verification.verdicts:
        if verdict.error_type is None:
            continue
        spans: Sequence[Span] = verdict.spans
        claim = verdict.claim
        if not spans and claim.start is not None and claim.end is not None:
            spans = (claim.focus or Span(claim.start, claim.end),)
        for start, end in spans:
            if any(start < other.end and other.start < end for other in taken):
                continue
            taken.append(Span(start, end))
            expected = verdict.expected[0] if len(verdict.expected) == len(spans) == 1 else ""
            found.append(
                InjectedError(verdict.error_type, start, end, text[start:end], "", expected)
            )
    return tuple(sorted(found, key=lambda error: error.start))
