"""A backend whose answers a test decides."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from tablemend.backends.requests import Completion, Request
from tablemend.records import FinishReason

Answer = str | tuple[str, FinishReason]


class CannedBackend:
    """Answers every request by a function of its last turn.

    Attributes:
        asked: every request, in order.
    """

    def __init__(self, answer: Callable[[str], Answer], name: str = "hf:canned") -> None:
        self.name = name
        self.asked: list[Request] = []
        self.closed = False
        self._answer = answer

    def too_long(self, requests: Sequence[Request]) -> dict[str, str]:
        return {}

    def generate(self, requests: Sequence[Request]) -> Iterator[Completion]:
        for request in reversed(requests):  # answers may come in any order
            self.asked.append(request)
            said = self._answer(request.messages[-1]["content"])
            text, finish = (said, "stop") if isinstance(said, str) else said
            error = "gone" if finish == "error" else ""
            yield Completion(request.id, text, 10, 3, finish, error)

    def close(self) -> None:
        self.closed = True
