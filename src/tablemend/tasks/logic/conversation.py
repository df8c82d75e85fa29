"""Conversations with a model, many at once and one turn at a time."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, NamedTuple, TypeVar

from tablemend.backends.asking import ask
from tablemend.backends.backend import Backend
from tablemend.backends.requests import Completion, Message, Request, Sampling
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


@dataclass
class Conversation(Generic[T]):
    """One conversation.

    Attributes:
        messages: the turns so far, those before it included; thoughts are left out.
        result: what the script made of it.
        failed: why it broke off, as a request failed for good; empty otherwise.
        prompt_tokens, completion_tokens, seconds: of all its turns.
    """

    messages: list[Message]
    result: T | None = None
    failed: str = ""
    prompt_tokens: int = 0
    completion_tokens: int = 0
    seconds: float = 0.0


class _Open(Generic[T]):
    """A conversation that goes on."""

    def __init__(self, script: Script[T], opening: Sequence[Message]) -> None:
        self.talk = Conversation[T](list(opening))
        self._script = script
        self._retried = False
        self._say(next(script))

    def _say(self, turn: Turn) -> None:
        self._turn, self._retried = turn, False
        self._tell(turn.text)

    def _tell(self, text: str) -> None:
        content = f"{text}\n{self._turn.form}"
        self.talk.messages.append({"role": "user", "content": content})

    def hear(self, completion: Completion) -> bool:
        """Take an answer; whether the conversation is at its end."""
        talk = self.talk
        talk.prompt_tokens += completion.prompt_tokens
        talk.completion_tokens += completion.completion_tokens
        talk.seconds += completion.seconds
        if completion.finish_reason == "error":
            talk.failed = completion.error
            self._script.close()
            return True
        said = completion.answer
        talk.messages.append({"role": "assistant", "content": said or NOTHING_SAID})
        try:
            try:
                if problem := why_no_answer(completion):
                    raise Unreadable(*problem)
                value = self._turn.read(said)
            except Unreadable as error:
                if self._retried:
                    self._say(self._script.throw(error))
                else:
                    self._retried = True
                    self._tell(error.problem.text)
            else:
                self._say(self._script.send(value))
        except StopIteration as end:
            talk.result = end.value
            return True
        return False


def hold(
    backend: Backend,
    scripts: Mapping[str, Script[T]],
    opening: Sequence[Message],
    sampling: Sampling,
    thinking: bool | None = None,
) -> Iterator[tuple[str, Conversation[T]]]:
    """Hold conversations that begin alike, all of them a turn at a time.

    Args:
        backend: the model.
        scripts: by a name for messages.
        opening: the turns before each of them.
        sampling: how tokens are chosen.
        thinking: whether the model is to think first; ``None`` asks for nothing.

    Yields:
        Each with its name, as soon as it is at its end.

    Raises:
        Stopped: the server is gone.
        TablemendError: a model that cannot be used.
    """
    talks = {name: _Open(script, opening) for name, script in scripts.items()}
    while talks:
        requests = [
            Request(name, tuple(one.talk.messages), sampling, thinking)
            for name, one in talks.items()
        ]
        for name, completion in ask(backend, requests).items():
            if talks[name].hear(completion):
                yield name, talks.pop(name).talk
