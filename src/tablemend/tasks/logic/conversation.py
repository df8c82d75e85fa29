"""Conversations with a model, many at once and one turn at a time."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from typing import Any, Generic, NamedTuple, TypeVar

from tablemend.backends.asking import ask
from tablemend.backends.backend import Backend
from tablemend.backends.requests import Completion, Message, Request, Sampling, stream_seed
from tablemend.prompting.replies import Unreadable, why_no_answer

T = TypeVar("T")
NOTHING_SAID = "(no answer)"


class Turn(NamedTuple):
    """What is said to a model.

    Attributes:
        text: the user's turn.
        form: how to answer; said again where the answer could not be read.
        read: makes a value of the answer, or refuses it as :class:`Unreadable`.
    """

    text: str
    form: str
    read: Callable[[str], Any]


Script = Generator[Turn, Any, T]
"""One side of a conversation: it is sent the value of each answer. One that could not be read, nor
when it was asked for again, is thrown into it as :class:`Unreadable`."""


class Conversation(Generic[T]):
    """One conversation.

    Attributes:
        messages: the turns so far, those before it included; thoughts are left out.
        result: what the script made of it; ``None`` before its end, or where it broke off.
        failed: why it broke off, as a request failed for good; empty otherwise.
        spent: seconds and tokens of all its turns.
    """

    def __init__(self, script: Script[T], opening: Sequence[Message]) -> None:
        self.messages = list(opening)
        self.result: T | None = None
        self.failed = ""
        self.spent: dict[str, Any] = {"seconds": 0.0, "prompt_tokens": 0, "completion_tokens": 0}
        self._script = script
        self._say(next(script))

    def _say(self, turn: Turn, text: str = "") -> None:
        """A turn, or why its answer could not be read."""
        self._turn, self._retried = turn, bool(text)
        self.messages.append({"role": "user", "content": f"{text or turn.text}\n{turn.form}"})

    def hear(self, completion: Completion) -> bool:
        """Take an answer; whether the conversation is at its end."""
        for name in self.spent:
            self.spent[name] += getattr(completion, name)
        if completion.finish_reason == "error":
            self.failed = completion.error
            return True
        self.messages.append({"role": "assistant", "content": completion.answer or NOTHING_SAID})
        try:
            try:
                if problem := why_no_answer(completion):
                    raise Unreadable(*problem)
                value = self._turn.read(completion.answer)
            except Unreadable as error:
                if self._retried:
                    self._say(self._script.throw(error))
                else:
                    self._say(self._turn, error.problem.text)
            else:
                self._say(self._script.send(value))
        except StopIteration as end:
            self.result = end.value
            return True
        return False


def hold(
    backend: Backend,
    scripts: Mapping[str, Script[T]],
    opening: Sequence[Message],
    sampling: Sampling,
    thinking: bool | None = None,
    seed: int = 0,
) -> Iterator[tuple[str, Conversation[T]]]:
    """Hold conversations that begin alike, all of them a turn at a time.

    ``opening`` are the turns before each of ``scripts``, whose names are for messages; yields each
    with its name as soon as it is at its end.

    Raises:
        Stopped: the server is gone.
        TablemendError: a model that cannot be used.
    """
    talks = {name: Conversation(script, opening) for name, script in scripts.items()}
    while talks:
        requests = [
            Request(name, tuple(one.messages), sampling, thinking, seed=stream_seed(seed, name))
            for name, one in talks.items()
        ]
        for name, completion in ask(backend, requests).items():
            if talks[name].hear(completion):
                yield name, talks.pop(name)
