"""One row's talk with its two models: bounded retries, and everything noted."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import NamedTuple, Protocol, TypeVar

from tablemend.backends.requests import Completion, Message, Request, Sampling, stream_seed
from tablemend.datasets.tablehallu_llm.parsing import SCHEMAS
from tablemend.datasets.tablehallu_llm.prompting import version, with_problems
from tablemend.datasets.tablehallu_llm.rows import Rejection
from tablemend.prompting.replies import Problem, Unreadable, Verdict, read_verdict, why_no_answer
from tablemend.records import Call, CallVerdict

T = TypeVar("T")


class Model(Protocol):
    """What a row needs of a backend."""

    async def answer(self, request: Request) -> Completion:
        """Answer one request."""
        ...


class Asked(NamedTuple):
    """A model and how it is asked.

    Attributes:
        name: of the model, as it is recorded; without an address.
        model: the backend.
        sampling: how tokens are chosen.
        thinking: whether it is to think first; ``None`` asks for nothing.
    """

    name: str
    model: Model
    sampling: Sampling
    thinking: bool | None = None


class GivenUp(Exception):
    """A stage that was asked often enough; the rejections say why."""


class Talk:
    """The calls and rejections of one row.

    Args:
        number: the row's.
        seed: the data set's; the seed of every request follows from both and from how many
            came before it in this row.
        retries: times that a rejected answer is asked for again.
    """

    def __init__(self, number: int, seed: int, retries: int) -> None:
        self.number = number
        self.calls: list[Call] = []
        self.rejections: list[Rejection] = []
        self.failed = False
        """Whether a request failed for good; then there is no verdict on the row."""
        self._seed, self._retries = seed, retries

    async def draft(
        self,
        asked: Asked,
        stage: str,
        messages: Sequence[Message],
        read: Callable[[str], T],
        check: Callable[[T], Sequence[Problem]],
        verify: Callable[[T], Awaitable[Sequence[Problem]]] | None = None,
    ) -> tuple[T, str]:
        """Ask until an answer can be read and passes the program, then a model.

        Returns:
            The answer as read, and its text.

        Raises:
            GivenUp: none passed, a request failed for good, or ``verify`` gave up.
        """
        chat: Sequence[Message] = messages
        for attempt in range(self._retries + 1):
            completion, problem, place = await self._call(asked, stage, chat, attempt)
            problems: Sequence[Problem] = () if problem is None else (problem,)
            if problem is None:
                try:
                    value = read(completion.answer)
                except Unreadable as error:
                    problems = (error.problem,)
                else:
                    try:
                        problems = check(value)
                        if verify is not None and not problems:
                            problems = await verify(value)
                    except GivenUp:  # of a verifier that was asked in vain
                        self._note_verdict(place, "unverified")
                        raise
                    self._note_verdict(place, "rejected" if problems else "accepted")
                    if not problems:
                        return value, completion.answer
            self.reject(stage, attempt, problems)
            if self.failed:
                break
            # An answer that was cut or declined is no text to be mended: it is drawn anew.
            chat = messages if problem else with_problems(messages, completion.answer, problems)
        raise GivenUp

    async def verdict(
        self, asked: Asked, stage: str, messages: Sequence[Message], yes: str, no: str
    ) -> Verdict:
        """Ask until there is a verdict; one that cannot be read is neither yes nor no.

        Raises:
            GivenUp: there was none.
        """
        verdict, _ = await self.draft(
            asked, stage, messages, lambda text: read_verdict(text, yes, no), lambda _: ()
        )
        if not verdict.ok:
            self._note_verdict(len(self.calls) - 1, "rejected")
        return verdict

    def reject(self, stage: str, attempt: int, problems: Sequence[Problem]) -> None:
        """Note why something was not taken."""
        self.rejections += [Rejection(stage, p.kind, p.text, attempt) for p in problems]

    async def _call(
        self, asked: Asked, stage: str, messages: Sequence[Message], attempt: int
    ) -> tuple[Completion, Problem | None, int]:
        """An answer, why it cannot be read at all, and the place of its call."""
        serial = f"{self.number}.{len(self.calls)}"
        completion = await asked.model.answer(
            Request(
                id=f"{serial}.{stage}",
                messages=messages,
                sampling=asked.sampling,
                thinking=asked.thinking,
                schema=SCHEMAS.get(stage),
                seed=stream_seed(self._seed, serial),
            )
        )
        self.calls.append(
            Call(
                stage=stage,
                attempt=attempt,
                prompt=version(stage),
                model=asked.name,
                prompt_tokens=completion.prompt_tokens,
                completion_tokens=completion.completion_tokens,
                finish_reason=completion.finish_reason,
                verdict="unreadable",
            )
        )
        self.failed = completion.finish_reason == "error"
        return completion, why_no_answer(completion), len(self.calls) - 1

    def _note_verdict(self, place: int, verdict: CallVerdict) -> None:
        """Set the verdict of a call; verifiers may have been called since."""
        self.calls[place] = self.calls[place]._replace(verdict=verdict)
