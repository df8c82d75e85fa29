"""A language model as verifier and as extractor: its answers are read strictly."""

from __future__ import annotations

import re
from collections.abc import Sequence
from difflib import SequenceMatcher
from pathlib import Path
from typing import Any

from tablemend.backends.backend import Backend, ask, short_name
from tablemend.backends.requests import Completion, Request, Sampling
from tablemend.evidence.source import Source
from tablemend.prompting.files import PromptFolder
from tablemend.prompting.replies import WRONG_FIELD, Unreadable, one_object, prose, why_no_answer
from tablemend.records import (
    NO_CLAIMS,
    VERDICTS,
    Claim,
    ClaimKind,
    Document,
    Usage,
    Verdict,
    VerdictName,
)
from tablemend.values.numbers import find_quantities, find_spelled
from tablemend.values.text import PlacedToken, Span, align, placed_tokens, sentence_spans
from tablemend.verifier.extraction import extract_claims
from tablemend.verifier.verifiers import (
    Extraction,
    Premise,
    about,
    gather,
    premise,
    scored,
    unscored,
    whole_tables,
)

# ---- claims set back into their text

EXACT = 0.6
"""Share of a claim's content words that one sentence must hold, in their order, so that the claim
is given the words between the first and the last of them as its place."""
LEAST = 0.3
"""Share below which a claim is none of this text; between the two it gets the whole sentence."""
_EMPTY = frozenset(
    "a an the of in on at to for and by with from as its their his her is are was were be been "
    "has have had that this these those it they he she there which who or".split()
)


def align_claims(text: str, statements: Sequence[str]) -> tuple[Document, int]:
    """The claims of a text by a model's sentences, in the text's order, and how many were dropped.

    A sentence that says again what one before it said at the same place is no second claim. Kind
    and focus are those of the program's claim that it overlaps most.
    """
    spans = sentence_spans(text)
    sentences = [(span, _content(text, span), _numbers(text[slice(*span)])) for span in spans]
    own = extract_claims(text).claims
    claims: dict[tuple[Span, str], Claim] = {}
    dropped = 0
    for statement in statements:
        found = _place(statement, sentences)
        if found is None:
            dropped += 1
            continue
        span, sentence = found
        like = max(own, key=lambda one: (_focus_in(span, one), _shared(one, span)), default=None)
        kind: ClaimKind = like.kind if like and _shared(like, span) else "attribute"
        focus = like.focus if like and _shared(like, span) and _focus_in(span, like) else None
        words = text[slice(*span)]
        claim = Claim(words, span.start, span.end, kind, statement, focus, sentence)
        claims.setdefault((span, align(statement)), claim)
    in_order = sorted(claims.values(), key=lambda one: (one.start, one.end))
    return Document(text, tuple(in_order)), dropped


def _place(
    statement: str, sentences: Sequence[tuple[Span, list[PlacedToken], frozenset[str]]]
) -> tuple[Span, Span] | None:
    """Where a claim stands, and its sentence; ``None`` for one that the text does not make.

    Its numbers must all stand in one sentence: a model that states another number makes another
    claim.
    """
    words = _content(statement, Span(0, len(statement)))
    numbers = _numbers(statement)
    best, found = 0.0, None
    for sentence, tokens, stated in sentences if words else ():
        if numbers <= stated:
            matched = _matched(words, tokens)
            if matched and (share := len(matched) / len(words)) > best:
                exact = Span(tokens[min(matched)].start, tokens[max(matched)].end)
                best, found = share, (exact if share >= EXACT else sentence, sentence)
    return found if best >= LEAST else None


def _content(text: str, span: Span) -> list[PlacedToken]:
    """The words that say something, with their places in the text."""
    tokens, at = placed_tokens(align(text[slice(*span)])), span.start
    return [PlacedToken(w, s + at, e + at) for w, s, e in tokens if w not in _EMPTY]


def _numbers(passage: str) -> frozenset[str]:
    """The values of the numbers of a passage."""
    plain = align(passage)
    stated = (*find_quantities(plain), *find_spelled(plain))
    return frozenset(str(one.number.value.normalize()) for one in stated)


def _matched(words: Sequence[PlacedToken], tokens: Sequence[PlacedToken]) -> set[int]:
    """Places of the tokens that a sentence shares with a claim, in the same order."""
    said, stated = ([one.word for one in own] for own in (words, tokens))
    blocks = SequenceMatcher(None, said, stated, autojunk=False).get_matching_blocks()
    matched = {place for block in blocks for place in range(block.b, block.b + block.size)}
    if not matched:
        return set()
    # "in 2019" may stand at either end: numbers count wherever they are
    left = {one.word for one in words if one.word[0].isdigit()}
    left -= {tokens[place].word for place in matched}
    return matched | {place for place, token in enumerate(tokens) if token.word in left}


def _focus_in(span: Span, claim: Claim) -> bool:
    """Whether the words that a program's claim turns on are inside a span."""
    focus = claim.focus
    return focus is not None and span.start <= focus.start and focus.end <= span.end


def _shared(claim: Claim, span: Span) -> int:
    """Characters that a claim and a span share."""
    assert claim.start is not None and claim.end is not None
    return max(0, min(claim.end, span.end) - max(claim.start, span.start))


# ---- models

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
    prompts = sum(completion.prompt_tokens for completion in completions)
    answers = sum(completion.completion_tokens for completion in completions)
    failed = sum(completion.finish_reason == "error" for completion in completions)
    return Usage(len(completions), prompts, answers, failed)


class LLMVerifier(_Asker):
    """Any backend's model, shown short tables or top cells, and top sentences, claim by claim."""

    prompt = VERIFY
    longest = 1024

    def verify(
        self, items: Sequence[tuple[Document, Source]]
    ) -> list[tuple[tuple[Verdict, ...], Usage]]:
        """See :class:`.verifiers.Verifier`.

        Raises:
            Stopped: the server is gone.
        """
        shown: dict[str, Premise] = {}
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
        self, claim: Claim, shown: Premise, completion: Completion | None, source: Source
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


def slots_of(statement: str, shown: Premise, source: Source, query: str = "") -> dict[str, str]:
    """What fills the prompt :data:`VERIFY`; a verifier is fine-tuned on the same."""
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
        """See :class:`.verifiers.Extractor`. A text with an unreadable answer has no claims.

        Raises:
            Stopped: the server is gone.
        """
        said = [(number, text) for number, text in enumerate(texts) if text.strip()]
        requests = {number: self._request(str(number), summary=text) for number, text in said}
        answers = ask(self._backend, list(requests.values()))
        read = {number: _read_claims(text, answers[requests[number].id]) for number, text in said}
        nothing = (Extraction(Document(text, ())) for text in texts)
        return [read.get(number, empty) for number, empty in enumerate(nothing)]


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
