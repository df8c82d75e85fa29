"""Summaries by a model, labelled by a verifier: what models get wrong by themselves (3.2)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tablemend.backends.asking import ask, short_name
from tablemend.backends.backend import Backend, open_backend
from tablemend.backends.requests import Completion, Request, Sampling, stream_seed
from tablemend.datasets.build import Record
from tablemend.datasets.tabfaith.domains import Domain
from tablemend.datasets.tabfaith.examples import Label
from tablemend.datasets.tabfaith.program_summaries import Opened, plan_example, record_of
from tablemend.datasets.tabfaith.prompting import PROMPTS, STAGE, ask_for
from tablemend.datasets.tabfaith.settings import TabFaith
from tablemend.datasets.tabfaith.sources import Found
from tablemend.datasets.tabfaith.summary import InjectedError, Summary
from tablemend.errors import TablemendError
from tablemend.evidence.source import Source
from tablemend.faithfulness.staf import open_verifier, verify_documents
from tablemend.faithfulness.verifiers import Verifier
from tablemend.prompting.replies import Unreadable, prose, why_no_answer
from tablemend.records import Verification
from tablemend.values.sentences import Span, sentence_spans

_TOGETHER = 100
"""Examples that are asked for and verified together."""


def engine() -> str:
    """Which prompt is asked: part of what the files depend on."""
    return PROMPTS.version(STAGE)


def make_records(settings: TabFaith, opened: Opened, numbers: Sequence[int]) -> Iterator[Record]:
    """The records of these numbers; each summary is taken apart and scored by the verifier.

    It is ``faithful`` where every claim is supported, ``unfaithful`` where one is wrong, else
    ``unscored``.
    """
    assert settings.generator is not None
    with open_backend(settings.generator, settings.generator_options) as backend:
        verifier = open_verifier(settings.verifier, settings.generator_options)
        try:
            for start in range(0, len(numbers), _TOGETHER):
                some = numbers[start : start + _TOGETHER]
                yield from _make_some(settings, opened, some, backend, verifier)
        finally:
            verifier.close()


def _make_some(
    settings: TabFaith, opened: Opened, numbers: Sequence[int], backend: Backend, verifier: Verifier
) -> Iterator[Record]:
    asked: dict[int, tuple[Domain, Found]] = {}
    requests: list[Request] = []
    thinking = settings.generator_thinking
    lengths = settings.min_sentences, settings.max_sentences
    for number in numbers:
        planned = plan_example(settings, number)
        found = opened[planned.domain][planned.number]
        id = f"summary.{number}"
        try:
            messages = ask_for(planned.domain, found.table, lengths)
        except TablemendError as error:
            yield _dropped(number, planned.domain, str(error))
            continue
        requests.append(
            Request(
                id=id,
                messages=messages,
                sampling=Sampling(settings.max_new_tokens, settings.temperature),
                thinking=None if thinking is None else thinking == "on",
                seed=stream_seed(settings.seed, id),
            )
        )
        asked[number] = planned.domain, found
    texts: dict[int, str] = {}
    answers = ask(backend, requests)
    for number, (domain, _) in asked.items():
        try:
            texts[number] = _read(answers[f"summary.{number}"], settings)
        except Unreadable as error:
            yield _dropped(number, domain, error.problem.kind)
    documents = [(text, Source((asked[number][1].table,))) for number, text in texts.items()]
    verified = verify_documents(documents, verifier)
    for (number, text), verification in zip(texts.items(), verified, strict=True):
        domain, found = asked[number]
        errors = _errors(text, verification)
        label: Label = "unfaithful" if errors else "unscored"
        if not errors and verification.verdict == "supported":
            label = "faithful"
        by = verification.verifier, f"{short_name(backend)}, {engine()}"
        yield record_of(settings, number, found, Summary(text, (), errors), label, by, {})


def _dropped(number: int, domain: Domain, reason: str) -> Record:
    return {"number": number, "dropped": f"{domain}: {reason}", "notes": {}}


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
