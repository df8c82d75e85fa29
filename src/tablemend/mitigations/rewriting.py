"""The loop of CAVE: detect, localise, rewrite, verify, at most twice (TabFaith, section 5).

Only what is flagged is rewritten, and a rewrite that mends nothing is undone. A document without a
flag costs no call beyond what its verifier asks.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Mapping, Sequence
from typing import Any, Generic, NamedTuple, TypeVar

from tablemend.backends.asking import ask
from tablemend.backends.requests import Completion, Message, Request
from tablemend.mitigations.edits import Draft, Edit, Mended, Tools
from tablemend.mitigations.rewrite_prompts import PROMPTS, RETRY
from tablemend.prompting.files import after_rejection
from tablemend.prompting.replies import Unreadable, why_no_answer
from tablemend.records import NOTHING, Verdict, Verification
from tablemend.tables.table import Cell, Table
from tablemend.verifier.llm import usage_of
from tablemend.verifier.staf import verify_documents

PASSES = 2
"""Most times that the same words are asked for."""
NO_BETTER = "it is as wrong as before"

P = TypeVar("P", bound=Hashable)


class Asked(NamedTuple):
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
        self.asked: dict[P, Asked] = {}
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
            self.asked[place] = Asked(verdicts, messages)
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
