"""A language model as verifier and as extractor: its answers are read strictly."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from difflib import SequenceMatcher
from itertools import zip_longest
from pathlib import Path
from typing import Any, Literal, get_args

from tablemend.backends.backend import Backend, ask, short_name
from tablemend.backends.requests import Completion, Request, Sampling
from tablemend.evidence.source import Source
from tablemend.prompting.files import PromptFolder
from tablemend.prompting.replies import (
    TWO_VERDICTS,
    WRONG_FIELD,
    Unreadable,
    one_object,
    prose,
    why_no_answer,
)
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
    MOST_CHARACTERS,
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
PerRequest = Literal["claim", "sentence", "paragraph"]
"""What one request asks about: a claim, or all claims of a sentence or paragraph."""
PER_REQUEST: tuple[PerRequest, ...] = get_args(PerRequest)
MOST_PARTS = 12
"""Most claims of a request."""
WHOLE = "the whole statement"
_WORD = r"(supported|contradicted|not[_ ]in[_ ]source)"
_ALONE = re.compile(rf"(?:[\W_]*verdict\W*)?[\W_]*{_WORD}[\W_]*", re.IGNORECASE)
_LINE = re.compile(rf"\W*(?:(?:part|item) )?(\d{{1,2}})\W{{1,9}}(?:verdict\W*)?{_WORD}\b(.*)", re.I)
_LONGEST_WORD = 80
_BREAK = re.compile(r"\n\s*\n")
"""Between two paragraphs."""
_PRONOUN = re.compile(
    r"(?:it|its|he|his|she|her|they|their|this|these|that|those)\b", re.IGNORECASE
)
_BULLET = re.compile(r"\s*(?:[-*\u2022\u2013]+\s+|\(?\d{1,3}[.)]\s+)?")


class Asker:
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


class LLMVerifier(Asker):
    """Any backend's model, shown short tables or top cells, and top sentences, by the sentence.

    Args:
        backend, thinking, max_new_tokens: see :class:`Asker`.
        per_request: how many claims a request asks about.
    """

    prompt = VERIFY
    longest = 2048

    def __init__(
        self,
        backend: Backend,
        thinking: bool | None = None,
        max_new_tokens: int | None = None,
        per_request: PerRequest = "sentence",
    ) -> None:
        super().__init__(backend, thinking, max_new_tokens)
        self._per_request = per_request

    def verify(
        self, items: Sequence[tuple[Document, Source]]
    ) -> list[tuple[tuple[Verdict, ...], Usage]]:
        """See :class:`.verifiers.Verifier`.

        Raises:
            Stopped: the server is gone.
        """
        asked: list[list[tuple[Request, list[int]]]] = []
        shown: list[list[Premise]] = []
        for number, (document, source) in enumerate(items):
            tables = whole_tables(source)
            found = [
                gather(claim.statement, source)._replace(tables=tables) for claim in document.claims
            ]
            own = []
            for group in groups_of(document, self._per_request):
                shared = share([found[place] for place in group])
                for place in group:  # no verdict on what was not shown
                    own_evidence = found[place].evidence
                    if own_evidence and not tables and not {*own_evidence} & {*shared.evidence}:
                        found[place] = Premise((), left_out=len(own_evidence))
                if group := [place for place in group if found[place].evidence or tables]:
                    statement, parts = statement_of(document, group, self._per_request)
                    slots = slots_of(statement, parts, shared, source, document.query)
                    schema = _schema(len(group))
                    own.append((self._request(f"{number}.{group[0]}", schema, **slots), group))
            asked.append(own)
            shown.append(found)
        answers = ask(self._backend, [request for own in asked for request, _ in own])
        results = []
        for (document, source), own, found in zip(items, asked, shown, strict=True):
            read: dict[int, tuple[VerdictName, str] | str] = {}
            for request, group in own:
                read |= zip(group, _read(answers[request.id], len(group)), strict=True)
            verdicts = []
            for place, claim in enumerate(document.claims):
                said = read.get(place, found[place].reason)
                if isinstance(said, str):
                    verdicts.append(unscored(claim, found[place], said, self.name))
                else:
                    evidence = found[place].evidence
                    verdicts.append(scored(claim, said[0], evidence, source, said[1], self.name))
            usage = usage_of([answers[request.id] for request, _ in own])
            results.append((tuple(verdicts), usage))
        return results


def groups_of(document: Document, per_request: PerRequest) -> list[list[int]]:
    """The claims of each request, by their places: of a sentence, a paragraph, a table's row."""
    found: dict[object, list[int]] = {}
    for place, claim in enumerate(document.claims):
        key: object = place
        if per_request != "claim" and claim.row is not None:
            key = ("row", claim.row)
        elif per_request == "sentence" and claim.sentence is not None:
            key = claim.sentence
        elif per_request == "paragraph" and claim.sentence is not None:
            key = len(_BREAK.findall(document.text, 0, claim.sentence.start))
        found.setdefault(key, []).append(place)
    return [
        group[start : start + MOST_PARTS]
        for group in found.values()
        for start in range(0, len(group), MOST_PARTS)
    ]


def statement_of(
    document: Document, group: Sequence[int], per_request: PerRequest
) -> tuple[str, list[str]]:
    """The statement of a request, and the parts of it that are asked about.

    A part is named by the words that its claim turns on, or by its claim where these do not tell
    it from another. A sentence whose subject is a pronoun comes with the one before it.
    """
    claims = [document.claims[place] for place in group]
    first, text = claims[0], document.text
    if first.sentence is None or first.start is None:  # of an answer table, or of a model
        statements = [claim.statement for claim in claims]
        return "\n".join(statements), statements if len(statements) > 1 else [WHOLE]
    if per_request == "claim":
        return first.statement, [WHOLE]
    start, end = first.sentence
    if per_request == "paragraph":
        start = max((match.end() for match in _BREAK.finditer(text, 0, start)), default=0)
        after = _BREAK.search(text, end)
        end = after.start() if after else len(text)
    elif _PRONOUN.match(text, start):
        before = [span.start for span in sentence_spans(text) if span.end <= start]
        start = before[-1] if before else start
    whole = text[start:end].strip()
    foci = Counter(claim.focus for claim in claims)
    parts = []
    for claim in claims:
        words = text[slice(*claim.focus)] if claim.focus else ""
        if claim.focus and foci[claim.focus] == 1 and words in claim.statement:
            alone = re.compile(rf"(?<![\w.,]){re.escape(words)}(?!\w|[.,]\d)")
            number = len(alone.findall(text, start, claim.focus.start)) + 1
            repeated = len(alone.findall(text, start, end)) > 1
            parts.append(f'"{words}"' + (f" (number {number})" if repeated else ""))
        elif len(claims) == 1 and claim.statement.strip(" .") == whole.strip(" ."):
            parts.append(WHOLE)
        else:
            parts.append(claim.statement)
    return whole, parts


def share(shown: Sequence[Premise]) -> Premise:
    """What is shown for several claims at once: the best of each first, nothing twice."""
    ranked = zip_longest(*(one.evidence for one in shown))
    kept = dict.fromkeys(piece for pieces in ranked for piece in pieces if piece is not None)
    room, evidence = MOST_CHARACTERS, []
    for piece in kept:
        if len(piece.text) <= room:
            evidence.append(piece)
            room -= len(piece.text)
    return Premise(tuple(evidence), len(kept) - len(evidence), shown[0].tables)


def _schema(count: int) -> dict[str, Any]:
    part = {
        "type": "object",
        "properties": {"reason": {"type": "string"}, "verdict": {"type": "string", "enum": NAMES}},
        "required": ["reason", "verdict"],
        "additionalProperties": False,
    }
    numbers = [str(number) for number in range(1, count + 1)]
    return {
        "type": "object",
        "properties": dict.fromkeys(numbers, part),
        "required": numbers,
        "additionalProperties": False,
    }


def _read(completion: Completion, count: int) -> list[tuple[VerdictName, str] | str]:
    """The verdict on each part and its reason; in place of one that is not there, why."""
    if problem := why_no_answer(completion):
        return [f"{problem.kind}: {problem.text}"] * count
    try:
        found = read_verdicts(completion.answer, count)
    except Unreadable as error:
        return [f"the model's answer: {error}"] * count
    missing = "the model's answer: no verdict on this part"
    return [found.get(number, missing) for number in range(1, count + 1)]


def slots_of(
    statement: str, parts: Sequence[str], shown: Premise, source: Source, query: str = ""
) -> dict[str, str]:
    """What fills the prompt :data:`VERIFY`; a verifier is fine-tuned on the same.

    Args:
        statement: a sentence, or a claim in words that need no context.
        parts: of the statement, each of which gets a verdict.
        shown: of the source.
        source: what the claims are about.
        query: that an answer table answers.
    """
    return {
        "about": about(source, query),
        "evidence": premise(shown.evidence, shown.tables),
        "statement": statement,
        "parts": "\n".join(f"{number}. {part}" for number, part in enumerate(parts, 1)),
    }


def read_verdicts(text: str, count: int = 1) -> dict[int, tuple[VerdictName, str]]:
    """The verdicts of an answer and their reasons, by the number of the part.

    Read are one JSON object; lines such as ``2: contradicted, the table says 37``, also behind
    reasoning; and where one part was asked about, its verdict's word alone, on the last line.

    Raises:
        Unreadable: anything else, or two verdicts on one part; nothing is guessed.
    """
    lines = [line for line in text.strip().splitlines() if line.strip()]
    if "{" not in text:
        if count == 1 and (verdict := _read_last(lines)):
            return {1: (verdict, " ".join(" ".join(lines[:-1]).split()))}
        if found := _read_lines(lines, count):
            return found
    wanted = [str(number) for number in range(1, count + 1)]
    data = one_object(text, ())
    if count == 1 and "verdict" in data:
        data = {"1": data}
    found = {}
    for number in wanted:
        entry = data.get(number)
        verdict = entry.get("verdict") if isinstance(entry, dict) else entry
        if verdict in NAMES:
            reason = entry.get("reason") if isinstance(entry, dict) else ""
            found[int(number)] = (
                verdict,
                " ".join(reason.split() if isinstance(reason, str) else ()),
            )
    if not found:
        raise Unreadable(WRONG_FIELD, f'"verdict" must be one of {", ".join(NAMES)}.')
    return found


def _read_last(lines: Sequence[str]) -> VerdictName | None:
    """The verdict that stands alone on the last line; behind others it must be called one."""
    last = lines[-1] if lines else ""
    match = _ALONE.fullmatch(last) if len(last) <= _LONGEST_WORD else None
    if match is None or (len(lines) > 1 and "verdict" not in last.casefold()):
        return None
    verdict = _verdict(match[1])
    for line in lines[:-1]:
        alone, numbered = _ALONE.fullmatch(line), _LINE.fullmatch(line)
        earlier = alone[1] if alone else numbered[2] if numbered else match[1]
        if _verdict(earlier) != verdict:
            raise Unreadable(TWO_VERDICTS, "There are two verdicts.")
    return verdict


def _read_lines(lines: Sequence[str], count: int) -> dict[int, tuple[VerdictName, str]]:
    found: dict[int, tuple[VerdictName, str]] = {}
    for match in filter(None, map(_LINE.fullmatch, lines)):
        number, verdict = int(match[1]), _verdict(match[2])
        others = {_verdict(word) for word in re.findall(_WORD, match[3], re.IGNORECASE)}
        if found.get(number, (verdict,))[0] != verdict or others - {verdict}:
            raise Unreadable(TWO_VERDICTS, f"There are two verdicts on part {number}.")
        found[number] = verdict, match[3].strip(" .,;:-\u2013\u2014()*")
    return {number: one for number, one in found.items() if 1 <= number <= count}


def _verdict(word: str) -> VerdictName:
    said = word.casefold().replace(" ", "_")
    return next(name for name in NAMES if name == said)


class ModelExtractor(Asker):
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
