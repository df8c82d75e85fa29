"""Mitigations as steps: what they ask of models and verifiers, one after the other.

A mitigation is a generator. It yields what it wants (requests to a model, or a document to be
verified), is sent what came of it, and returns what it made: written for one document, and run for
many at once, so that an engine gets whole batches.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from tablemend.backends.asking import ask
from tablemend.backends.backend import Backend
from tablemend.backends.requests import Request
from tablemend.evidence.source import Source
from tablemend.faithfulness.staf import verify_answers, verify_texts
from tablemend.faithfulness.verifier import Extractor, Verifier
from tablemend.mitigations.edits import Mended
from tablemend.records import Verification
from tablemend.tables.table import Table


class Unverified(NamedTuple):
    """A document to be verified: a text, or an answer table with its question.

    Attributes:
        document: the text or the table.
        source: what it is verified by.
        query: the question that a table answers.
    """

    document: str | Table
    source: Source
    query: str = ""


Steps = Generator[Unverified | Sequence[Request], Any, Mended]
"""Yields a document and is sent its :class:`Verification`, or yields requests and is sent their
completions in the same order."""


def verify_all(
    wanted: Sequence[Unverified], verifier: str | Verifier, extractor: str | Extractor
) -> list[Verification]:
    """Verify texts and tables in the order given."""
    texts = [
        (n, one.document, one) for n, one in enumerate(wanted) if isinstance(one.document, str)
    ]
    tables = [
        (n, one.document, one) for n, one in enumerate(wanted) if not isinstance(one.document, str)
    ]
    found: dict[int, Verification] = {}
    if texts:
        scored = verify_texts([(text, one.source) for _, text, one in texts], verifier, extractor)
        found |= dict(zip((n for n, _, _ in texts), scored, strict=True))
    if tables:
        scored = verify_answers([(t, one.source, one.query) for _, t, one in tables], verifier)
        found |= dict(zip((n for n, _, _ in tables), scored, strict=True))
    return [found[number] for number in range(len(wanted))]


def run_together(
    many: Sequence[Steps], backend: Backend | None, verifier: Verifier, extractor: Extractor
) -> list[Mended]:
    """Mend many documents: what all of them want is asked in one batch.

    Args:
        many: the steps of each.
        backend: the model; ``None`` for steps that ask none.
        verifier: judges documents.
        extractor: takes texts apart.

    Raises:
        Stopped: a server is gone.
        TablemendError: a model that cannot go on.
    """
    done: dict[int, Mended] = {}
    sent: dict[int, Any] = dict.fromkeys(range(len(many)))
    while sent:
        requests: dict[int, Sequence[Request]] = {}
        documents: dict[int, Unverified] = {}
        for number, value in sent.items():
            try:
                wanted = many[number].send(value)
            except StopIteration as end:
                done[number] = end.value
                continue
            if isinstance(wanted, Unverified):
                documents[number] = wanted
            else:
                requests[number] = wanted
        scored = verify_all(list(documents.values()), verifier, extractor)
        sent = dict(zip(documents, scored, strict=True))
        if requests:
            assert backend is not None
            named = {
                (number, place): replace(request, id=f"{number}.{place}.{request.id}")
                for number, own in requests.items()
                for place, request in enumerate(own)
            }
            answers = ask(backend, list(named.values()))
            for number, own in requests.items():
                sent[number] = [answers[named[number, place].id] for place in range(len(own))]
    return [done[number] for number in range(len(many))]
