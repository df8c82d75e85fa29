"""One row's requests to its two models: bounded retries, and everything noted."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple, TypeVar

from tablemend.backends.backend import Backend
from tablemend.backends.requests import Completion, Message, Request, Sampling, stream_seed
from tablemend.datasets.tablehallu_llm.parsing import SCHEMAS
from tablemend.datasets.tablehallu_llm.prompting import version, with_problems
from tablemend.prompting.replies import Problem, Unreadable, read_verdict, why_no_answer
from tablemend.records import Call, CallVerdict, Example

T = TypeVar("T")


class Rejection(NamedTuple):
    """An answer to a stage that was not taken: words to count by, the reason, which attempt."""

    stage: str
    kind: str
    text: str
    attempt: int


class Row(NamedTuple):
    """What came of one number, and everything that was paid for on its way.

    Topic, seeds and split follow from the number alone; there is no example where the row was
    given up; calls are every answer of a model, in order, also to what was thrown away; ``counts``
    are of the rows of a context.
    """

    number: int
    examples: tuple[Example, ...]
    rejections: tuple[Rejection, ...] = ()
    calls: tuple[Call, ...] = ()
    counts: Mapping[str, int] = {}

    def to_json(self) -> dict[str, Any]:
        """The row as it is stored."""
        return {
            "number": self.number,
            "rejections": [one._asdict() for one in self.rejections],
            "calls": [one._asdict() for one in self.calls],
            "counts": {**self.counts},
            "examples": [one.to_json() for one in self.examples],
        }


class Asked(NamedTuple):
    """A model and how it is asked; its name, as it is recorded, has no address."""

    name: str
    model: Backend
    sampling: Sampling
    thinking: bool | None = None


class GivenUp(Exception):
    """A stage that was asked often enough; the rejections say why."""


class Talk:
    """The calls and rejections of one row.

    Args:
        number, seed: the row's and the data set's; the seed of every request follows from both and
            from how many came before it in this row.
        retries: times that a rejected answer is asked for again.

    Attributes:
        failed: whether a request failed for good; then there is no verdict on the row.
    """

    def __init__(self, number: int, seed: int, retries: int) -> None:
        self.number, self._seed, self._retries = number, seed, retries
        self.calls: list[Call] = []
        self.rejections: list[Rejection] = []
        self.failed = False

    async def draft(
        self,
        asked: Asked,
        stage: str,
        messages: Sequence[Message],
        read: Callable[[str], T],
        check: Callable[[T], Sequence[Problem]],
        verify: Callable[[T], Awaitable[Sequence[Problem]]] | None = None,
    ) -> T:
        """Ask until an answer can be read and passes the program, then a model.

        Raises:
            GivenUp: none passed, a request failed for good, or ``verify`` gave up.
        """
        chat: Sequence[Message] = messages
        for attempt in range(self._retries + 1):
            completion = await self._call(asked, stage, chat, attempt)
            place = len(self.calls) - 1
            try:
                if problem := why_no_answer(completion):
                    # An answer that was cut or declined is no text to be mended: it is drawn anew.
                    problems, chat = [problem], messages
                else:
                    value = read(completion.answer)
                    self._note_verdict(place, "unverified")  # should the verifier give up
                    problems = list(check(value))
                    if verify is not None and not problems:
                        problems = list(await verify(value))
                    self._note_verdict(place, "rejected" if problems else "accepted")
                    if not problems:
                        return value
                    chat = with_problems(messages, completion.answer, problems)
            except Unreadable as error:
                problems = [error.problem]
                chat = with_problems(messages, completion.answer, problems)
            self.rejections += [Rejection(stage, *problem, attempt) for problem in problems]
            if self.failed:
                break
        raise GivenUp

    async def verify(
        self, asked: Asked, stage: str, messages: Sequence[Message], yes: str, no: str
    ) -> list[Problem]:
        """Ask until there is a verdict; one that cannot be read is neither yes nor no.

        Raises:
            GivenUp: there was none.
        """
        read = partial(read_verdict, yes=yes, no=no)
        verdict = await self.draft(asked, stage, messages, read, lambda _: ())
        if verdict.ok:
            return []
        self._note_verdict(len(self.calls) - 1, "rejected")
        return [Problem(f"{stage}: {no}", verdict.reason or f"A reader scored it {no}.")]

    async def _call(
        self, asked: Asked, stage: str, messages: Sequence[Message], attempt: int
    ) -> Completion:
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
        used = completion.prompt_tokens, completion.completion_tokens, completion.finish_reason
        self.calls.append(Call(stage, attempt, version(stage), asked.name, *used, "unreadable"))
        self.failed = completion.finish_reason == "error"
        return completion

    def _note_verdict(self, place: int, verdict: CallVerdict) -> None:
        """Set the verdict of a call; verifiers may have been called since."""
        self.calls[place] = self.calls[place]._replace(verdict=verdict)
