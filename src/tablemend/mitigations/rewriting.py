"""The loop of CAVE: detect, localise, rewrite, verify, at most twice (TabFaith, section 5).

Only what is flagged is rewritten, and a rewrite that mends nothing is undone. A document without a
flag costs no call beyond what its verifier asks.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Hashable, Mapping, Sequence
from pathlib import Path
from typing import Any, Generic, NamedTuple, TypeVar

from tablemend.backends.backend import ask
from tablemend.backends.requests import Completion, Message, Request
from tablemend.evidence.source import Source
from tablemend.mitigations.edits import Draft, Edit, Mended, Tools
from tablemend.mitigations.repair_table import BLANK
from tablemend.prompting.files import PromptFolder, after_rejection
from tablemend.prompting.replies import EMPTY, NOT_PROSE, REFUSED, Unreadable, prose, why_no_answer
from tablemend.records import NOTHING, ClaimError, Document, Evidence, Verdict, Verification
from tablemend.tables.table import Cell, Table
from tablemend.verifier.llm import usage_of
from tablemend.verifier.program import verify_document
from tablemend.verifier.staf import verify_documents
from tablemend.verifier.verifiers import gather, premise

PASSES = 2
"""Most times that the same words are asked for."""
NO_BETTER = "it is as wrong as before"

PROMPTS = PromptFolder(Path(__file__).parent / "prompts")
CELL = "rewrite_cell"
ROW = "rewrite_row"
COMPARISON = "rewrite_comparison"
STRATEGIES: dict[ClaimError, str] = {
    "NUM": "rewrite_value",
    "CMP": COMPARISON,
    "TMP": "rewrite_time",
}
RELATION = "rewrite_relation"
"""The prompt that an error type is rewritten with (TabFaith, section 5); this one where it has
none of its own."""
RETRY = "retry"
KEEP, DROP = "KEEP", "DROP"
MOST_EVIDENCE = 8
"""Cells and sentences that are shown for one rewrite."""
GROWTH = 3
"""A rewrite so many times as long as the words it replaces, and :data:`SLACK` characters, is
more than these words."""
SLACK = 120
LONGEST_CELL = 300
_QUOTES = (('"', '"'), ("'", "'"), ("`", "`"), ("\u201c", "\u201d"), ("**", "**"))
_END = ".!?"
_ROW_WORD = re.compile(rf"[\W_]*({KEEP}|{DROP})[\W_]*", re.IGNORECASE)
P = TypeVar("P", bound=Hashable)


class RewriteRequest(NamedTuple):
    """What a model was asked about one place.

    Attributes:
        verdicts: what is wrong there.
        chat: the request.
        answer: what came of it; empty before.
    """

    verdicts: Sequence[Verdict]
    chat: Sequence[Message]
    answer: str = ""

    @property
    def reason(self) -> str:
        """What the verifier says."""
        reasons = dict.fromkeys(one.reason for one in self.verdicts if one.reason)
        return "; ".join(reasons) or "not supported by the source"


class Rewriting(ABC, Generic[P]):
    """One document that is rewritten place by place.

    Attributes:
        draft: the answer that holds it.
        before, now: what was found of it at first, and as it is now.
        asked: what was asked in this pass, by place.
        wanted: the new content of a place, until it is verified.
        failed: chat, answer and reason of what was not taken, by :meth:`key`.
        undone: the same, as edits.
        usage: of everything that was asked for it.
        passes: how often a model was asked.
    """

    def __init__(self, draft: Draft) -> None:
        self.draft = draft
        self.before = self.now = Verification((), "")
        self.asked: dict[P, RewriteRequest] = {}
        self.wanted: dict[P, Cell] = {}
        self.failed: dict[Hashable, tuple[Sequence[Message], str, str]] = {}
        self.undone: list[Edit] = []
        self.usage = NOTHING
        self.passes = 0

    @abstractmethod
    def document(self, wanted: Mapping[P, Cell]) -> str | Table:
        """The document as it is now, with these changes."""

    @abstractmethod
    def flagged(self) -> dict[P, list[Verdict]]:
        """What is wrong, by place."""

    @abstractmethod
    def key(self, place: P) -> Hashable:
        """What a place is known by in the next pass."""

    @abstractmethod
    def prompt(self, place: P, verdicts: Sequence[Verdict]) -> Sequence[Message]:
        """The prompt of the error type."""

    @abstractmethod
    def read(self, place: P, answer: str) -> None:
        """Take up what a model wants at a place as :attr:`wanted`.

        Raises:
            Unreadable: that is not clear.
        """

    @abstractmethod
    def failing(self, after: Verification) -> list[P]:
        """Places of :attr:`wanted` where what was verified after the changes is no better."""

    @abstractmethod
    def edit(self, place: P, new: Cell, reason: str) -> Edit:
        """The record of a change."""

    @abstractmethod
    def take(self) -> None:
        """Make what is :attr:`wanted` the document's own."""

    @abstractmethod
    def mended(self) -> Mended:
        """What came of it."""

    def put_in_order(self) -> bool:
        """Change what a program can, before a model is asked; whether it did."""
        return False

    def requests(self, name: str, tools: Tools) -> list[Request]:
        """What a pass asks; what was tried before is asked for once more, with the reason."""
        self.asked = {}
        for place, verdicts in self.flagged().items():
            if (tried := self.failed.get(self.key(place))) is not None:
                chat, answer, reason = tried
                messages = after_rejection(chat, answer, [reason], PROMPTS.prompt(RETRY))
            else:
                messages = tuple(map(dict, self.prompt(place, verdicts)))
            self.asked[place] = RewriteRequest(verdicts, messages)
        self.passes += bool(self.asked)
        return [
            Request(f"{name}.{n}.{self.draft.name}", one.chat, tools.sampling, tools.thinking)
            for n, one in enumerate(self.asked.values())
        ]

    def propose(self, completions: Sequence[Completion]) -> None:
        """Read what a model answered."""
        self.usage += usage_of(completions)
        for place, completion in zip(list(self.asked), completions, strict=True):
            self.asked[place] = self.asked[place]._replace(answer=completion.answer)
            try:
                if problem := why_no_answer(completion):
                    raise Unreadable(*problem)
                self.read(place, completion.answer)
            except Unreadable as error:
                self.give_up(place, None, error.problem.text)

    def give_up(self, place: P, new: Cell, reason: str) -> None:
        """Note what is not taken."""
        asked = self.asked[place]
        self.undone.append(self.edit(place, new, reason))
        why = f"{reason[:1].upper()}{reason[1:].rstrip('.')}."
        self.failed[self.key(place)] = asked.chat, asked.answer, why

    def is_settled(self, after: Verification) -> bool:
        """Take what is better, or give up what is not; then the rest is to be verified again."""
        failing = self.failing(after)
        for place in failing:
            self.give_up(place, self.wanted.pop(place), NO_BETTER)
        if not failing:
            self.take()
            self.now, self.wanted = after, {}
        return not self.wanted


def rewrite(works: Sequence[Rewriting[Any]], tools: Tools) -> None:
    """Have a model rewrite what is flagged; what all documents want is asked in one batch.

    Raises:
        Stopped: a server is gone.
        TablemendError: a model that cannot go on.
    """
    for work, found in zip(works, _verify(works, tools), strict=True):
        work.before = work.now = found
    moved = [work for work in works if work.put_in_order()]
    for work, found in zip(moved, _verify(moved, tools), strict=True):
        work.now = found
    assert tools.backend is not None
    for number in range(PASSES):
        wanted = [work.requests(f"{n}.{number}", tools) for n, work in enumerate(works)]
        if not any(wanted):
            break
        answers = ask(tools.backend, [request for own in wanted for request in own])
        for work, requests in zip(works, wanted, strict=True):
            work.propose([answers[request.id] for request in requests])
        waiting = [work for work in works if work.wanted]
        while waiting:
            after = _verify(waiting, tools)
            waiting = [w for w, one in zip(waiting, after, strict=True) if not w.is_settled(one)]


def _verify(works: Sequence[Rewriting[Any]], tools: Tools) -> list[Verification]:
    """What is found of each document with the changes that are wanted; texts and tables."""
    documents = [(work.document(work.wanted), work.draft.evidence) for work in works]
    found = verify_documents(documents, tools.verifier, tools.extractor)
    for work, one in zip(works, found, strict=True):
        work.usage += one.usage
    return found


def findings(verdicts: Sequence[Verdict], suggested: Sequence[Edit] = ()) -> str:
    """What is wrong, one claim a line, with what the source has instead where it is clear:
    what repair would do with the words at fault is in their own spelling.
    """
    lines: dict[str, None] = {}
    for verdict in verdicts:
        line = f'- "{" ".join(verdict.claim.statement.split())}": '
        line += verdict.reason or verdict.verdict.replace("_", " ")
        edit = next(
            (
                one
                for one in suggested  # of the words that the verdict blames
                for span in verdict.spans
                if one.span and one.span[0] < span.end and span.start < one.span[1]
            ),
            None,
        )
        if edit is not None:
            line += f'; right would be "{edit.new}" for "{edit.old}"'
        elif len(verdict.expected) == 1:
            right, claim, wrong = verdict.expected[0], verdict.claim, ""
            if len(verdict.spans) == 1 and claim.start is not None:
                ((start, end),) = verdict.spans
                if start >= claim.start:
                    wrong = claim.text[start - claim.start : end - claim.start]
            if verdict.error_type != "NUM" and wrong:
                line += f'; right would be "{right}" for "{wrong}"'
            else:
                line += f'; the source has "{right}"'
        lines[line] = None
    return "\n".join(lines)


def evidence(verdicts: Sequence[Verdict], source: Source) -> str:
    """What decided the verdicts, and what retrieval adds, each once."""
    found: dict[tuple[object, ...], Evidence] = {}
    for verdict in verdicts:
        for one in (*verdict.evidence, *gather(verdict.claim.statement, source).evidence):
            if one.table is not None and one.row is None:
                continue  # what was computed is shown apart
            if len(found) < MOST_EVIDENCE:
                found.setdefault((one.table, one.row, one.column, one.start, one.text), one)
    return premise(list(found.values())) or "none"


def is_computed(verdict: Verdict) -> bool:
    """Whether it was worked out over a whole table: of a count or a sum no single cell tells."""
    return any(one.table is not None and one.row is None for one in verdict.evidence)


def computed(text: str, verdicts: Sequence[Verdict], source: Source) -> str:
    """What the program finds of the same claims over the whole table (TabFaith 5, CMP)."""
    own = verify_document(Document(text, tuple(one.claim for one in verdicts)), source)
    lines: dict[str, None] = {}
    for verdict in own:
        if verdict.verdict != "unscored":
            said = [one.text for one in verdict.evidence if one.row is None]
            lines |= dict.fromkeys(filter(None, [*said, verdict.reason]))
    return "\n".join(f"- {line}" for line in lines) or "nothing"


def read_rewrite(answer: str, words: str, before: str = "", after: str = "") -> str:
    """What a model wrote for words of a sentence, with their first letter and their end.

    A model that repeats the rest of the sentence, ``before`` and ``after`` them, is understood:
    only the words between count.

    Raises:
        Unreadable: nothing, a refusal, data, several lines, or more than the words.
    """
    said = _unquoted(prose(answer), words)
    if "\n" in said:
        raise Unreadable(NOT_PROSE, "Answer with the rewritten words alone, on one line.")
    head, tail = before.strip(), after.strip()
    if (head or tail.strip(_END)) and said.startswith(head) and said.endswith(tail):
        said = said[len(head) : len(said) - len(tail)].strip()
    if words[-1:] not in _END:
        said = said.rstrip(_END)
    elif said and said[-1] not in _END:
        said += words[-1]
    first = said.partition(" ")[0]
    if first.casefold() == words.partition(" ")[0].casefold():
        said = words[: len(first)] + said[len(first) :]
    if not said.strip():
        raise Unreadable(EMPTY, "The answer was empty.")
    if len(said) > GROWTH * len(words) + SLACK:
        raise Unreadable(NOT_PROSE, "The answer is longer than the words: give these alone.")
    return said


def _unquoted(text: str, words: str) -> str:
    """Without quotation marks around the whole, unless the words have them."""
    for opening, closing in _QUOTES:
        inside = text[len(opening) : len(text) - len(closing)]
        if (
            text.startswith(opening)
            and text.endswith(closing)
            and inside.strip()
            and opening not in inside
            and not words.startswith(opening)
        ):
            return inside.strip()
    return text


def read_cell(answer: str) -> str | None:
    """The new content of a cell; ``None`` for a blank one.

    Raises:
        Unreadable: nothing, a refusal, data, or more than a cell.
    """
    said = _unquoted(prose(answer), "")
    if "\n" in said or "|" in said or len(said) > LONGEST_CELL:
        raise Unreadable(NOT_PROSE, "Answer with the content of the cell alone.")
    return None if said == BLANK else said


def read_row(answer: str) -> bool:
    """Whether a row stays.

    Raises:
        Unreadable: anything but one of the two words.
    """
    match = _ROW_WORD.fullmatch(answer[:LONGEST_CELL])
    if match is None:
        kind = EMPTY if not answer.strip() else REFUSED
        raise Unreadable(kind, f"Answer with one word: {KEEP} or {DROP}.")
    return match[1].upper() == KEEP
