"""A language model as verifier and as extractor: its answers are read strictly."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tablemend.backends.backend import Backend, ask, short_name
from tablemend.backends.requests import Completion, Request, Sampling
from tablemend.evidence.source import Source
from tablemend.faithfulness.alignment import align_claims
from tablemend.faithfulness.premise import (
    Shown,
    about,
    gather,
    premise,
    scored,
    unscored,
    whole_tables,
)
from tablemend.faithfulness.verifiers import Extraction
from tablemend.prompting.files import PromptFolder
from tablemend.prompting.replies import (
    WRONG_FIELD,
    Unreadable,
    one_object,
    prose,
    why_no_answer,
)
from tablemend.records import NO_CLAIMS, VERDICTS, Claim, Document, Usage, Verdict, VerdictName

PROMPTS = PromptFolder(Path(__file__).parent / "prompts")
EXTRACT, VERIFY = "extract", "verify"
NO_CLAIM = "NONE"
"""What a model answers to :data:`EXTRACT` where a text states no fact."""
NAMES: tuple[VerdictName, ...] = tuple(name for name in VERDICTS if name != "unscored")
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"reason": {"type": "string"}, "verdict": {"type": "string", "enum": NAMES}},
    "required": ["reason", "verdict"],
    "additionalProperties": False,
}
_WORD = re.compile(r"[\W_]*(supported|contradicted|not[_ ]in[_ ]source)[\W_]*", re.IGNORECASE)
_LONGEST_WORD = 80
_BULLET = re.compile(r"\s*(?:[-*\u2022\u2013]+\s+|\(?\d{1,3}[.)]\s+)?")


class _Asker:
    """Any backend's model with one prompt.

    Args:
        backend: the model; it is closed with this.
        thinking: whether it is to think first; ``None`` asks for nothing.
        max_new_tokens: longest answer, thinking included; ``None`` is :attr:`longest`.

    Attributes:
        name: model and version of the prompt, for the records.
    """

    prompt: str
    longest: int

    def __init__(
        self, backend: Backend, thinking: bool | None = None, max_new_tokens: int | None = None
    ) -> None:
        self.name = f"llm:{short_name(backend)}, {PROMPTS.version(self.prompt)}"
        self._backend = backend
        self._thinking = thinking
        self._sampling = Sampling(max_new_tokens or self.longest)

    def close(self) -> None:
        """Close the backend."""
        self._backend.close()

    def _request(self, name: str, schema: dict[str, Any] | None = None, **slots: str) -> Request:
        messages = PROMPTS.render(self.prompt, **slots)
        id = f"{self.prompt}.{name}"
        return Request(id, messages, self._sampling, thinking=self._thinking, schema=schema)


def usage_of(completions: Sequence[Completion]) -> Usage:
    """What answers took; those from the request cache count like any other."""
    return Usage(
        len(completions),
        sum(completion.prompt_tokens for completion in completions),
        sum(completion.completion_tokens for completion in completions),
        sum(completion.finish_reason == "error" for completion in completions),
    )


class LLMVerifier(_Asker):
    """Any backend's model, shown short tables or top cells, and top sentences, claim by claim."""

    prompt = VERIFY
    longest = 1024

    def verify(
        self, items: Sequence[tuple[Document, Source]]
    ) -> list[tuple[tuple[Verdict, ...], Usage]]:
        """See :class:`Verifier`.

        Raises:
            Stopped: the server is gone.
        """
        shown: dict[str, Shown] = {}
        requests = []
        for number, (document, source) in enumerate(items):
            tables = whole_tables(source)
            for place, claim in enumerate(document.claims):
                one = gather(claim.statement, source)._replace(tables=tables)
                slots = slots_of(claim.statement, one, source, document.query)
                request = self._request(f"{number}.{place}", SCHEMA, **slots)
                shown[request.id] = one
                requests += [request] if one.evidence or one.tables else []
        answers = ask(self._backend, requests)
        ids = iter(shown)
        found = []
        for document, source in items:
            own = [next(ids) for _ in document.claims]
            verdicts = tuple(
                self._verify(claim, shown[id], answers.get(id), source)
                for claim, id in zip(document.claims, own, strict=True)
            )
            found.append((verdicts, usage_of([answers[id] for id in own if id in answers])))
        return found

    def _verify(
        self, claim: Claim, shown: Shown, completion: Completion | None, source: Source
    ) -> Verdict:
        if completion is None:
            return unscored(claim, shown, shown.reason, self.name)
        if problem := why_no_answer(completion):
            return unscored(claim, shown, f"{problem.kind}: {problem.text}", self.name)
        try:
            verdict, reason = read_verdict(completion.answer)
        except Unreadable as error:
            return unscored(claim, shown, f"the model's answer: {error}", self.name)
        return scored(claim, verdict, shown.evidence, source, reason, self.name)


def slots_of(statement: str, shown: Shown, source: Source, query: str = "") -> dict[str, str]:
    """What fills the prompt :data:`VERIFY`; a verifier is fine-tuned on the same.

    Args:
        statement: the claim, in words that need no context.
        shown: of the source.
        source: what the claim is about.
        query: that an answer table answers.
    """
    evidence = premise(shown.evidence, shown.tables)
    return {"about": about(source, query), "evidence": evidence, "statement": statement}


def read_verdict(text: str) -> tuple[VerdictName, str]:
    """The verdict of an answer and its reason: one JSON object, or the verdict's word alone.

    Raises:
        Unreadable: anything else; nothing is guessed.
    """
    if len(text) <= _LONGEST_WORD and (match := _WORD.fullmatch(text)):
        word = match[1].casefold().replace(" ", "_")
        return next(name for name in NAMES if name == word), ""
    data = one_object(text, ("verdict",))
    for name in NAMES:
        if data["verdict"] == name:
            reason = data.get("reason")
            return name, " ".join(reason.split()) if isinstance(reason, str) else ""
    raise Unreadable(WRONG_FIELD, f'"verdict" must be one of {", ".join(NAMES)}.')


class ModelExtractor(_Asker):
    """Any backend's model as extractor: one request a text, every claim set back into the text."""

    prompt = EXTRACT
    longest = 2048

    def extract(self, texts: Sequence[str]) -> list[Extraction]:
        """See :class:`Extractor`. A text whose answer cannot be read has no claims, and says so.

        Raises:
            Stopped: the server is gone.
        """
        requests = {
            number: self._request(str(number), summary=text)
            for number, text in enumerate(texts)
            if text.strip()
        }
        answers = ask(self._backend, list(requests.values()))
        return [
            _read_claims(text, answers[requests[number].id])
            if number in requests
            else Extraction(Document(text, ()))
            for number, text in enumerate(texts)
        ]


def _read_claims(text: str, completion: Completion) -> Extraction:
    usage = usage_of([completion])
    try:
        if problem := why_no_answer(completion):
            raise Unreadable(*problem)
        statements = read_statements(completion.answer)
    except Unreadable as error:
        return Extraction(Document(text, ()), usage, (f"{NO_CLAIMS}: the model's answer: {error}",))
    document, dropped = align_claims(text, statements)
    note = f"{dropped} of the model's {len(statements)} claims stand nowhere in the text: dropped"
    return Extraction(document, usage, (note,) if dropped else ())


def read_statements(answer: str) -> list[str]:
    """The claims of an answer, one a line; bullets and numbers before them are left out.

    Raises:
        Unreadable: nothing, a refusal, or data.
    """
    lines = [_BULLET.sub("", line, count=1).strip() for line in prose(answer).splitlines()]
    lines = [line for line in lines if line]
    return [] if lines == [NO_CLAIM] else lines
