"""Several servers of one model: who is asked next, and who is left out for a while."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

IN_A_ROW = 3
"""Faults in a row after which a server is left out; one refused connection is enough."""
LONGEST_OUT = 60.0
"""Longest time, in seconds, that a server is left out before it is tried again."""


@dataclass(slots=True)
class Replica:
    """One server.

    Attributes:
        url: its base URL.
        in_flight: requests that it is answering.
        faults: faults in a row.
        outs: times in a row that it was left out.
        out_since: when it was left out last.
        out_until: when it is tried again.
        on_trial: whether a request is finding out that it is back.
        answered: whether it has ever given an answer.
    """

    url: str
    in_flight: int = 0
    faults: int = 0
    outs: int = 0
    out_since: float = 0.0
    out_until: float = 0.0
    on_trial: bool = False
    answered: bool = False


class Replicas:
    """The servers of a model; the one with the least to do is asked.

    One that fails is left out, for twice as long each time, and then gets one request: where
    that is answered, it is back. While all are out, the one that is due first is asked all the
    same; each request waits by its own back-off.

    Args:
        urls: base URLs.
        first_out: seconds for which a server is left out the first time.
        clock: in seconds.
    """

    def __init__(
        self, urls: Sequence[str], first_out: float, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._all = [Replica(url) for url in urls]
        self._first_out = first_out
        self._clock = clock
        self._next = 0

    def __iter__(self) -> Iterator[Replica]:
        return iter(self._all)

    @contextmanager
    def borrow(self) -> Iterator[Replica]:
        """The server to ask now; it counts as busy meanwhile."""
        replica = self._pick()
        trial = replica.outs > 0
        replica.on_trial |= trial
        replica.in_flight += 1
        try:
            yield replica
        finally:
            replica.in_flight -= 1
            if trial:
                replica.on_trial = False

    def _pick(self) -> Replica:
        if len(self._all) == 1:
            return self._all[0]
        now = self._clock()
        self._next = (self._next + 1) % len(self._all)
        turn = self._all[self._next :] + self._all[: self._next]
        ready = [one for one in turn if one.out_until <= now and not one.on_trial]
        if ready:
            return min(ready, key=lambda one: one.in_flight)
        return min(turn, key=lambda one: one.out_until)

    def answered(self, replica: Replica) -> None:
        """A server has given an answer."""
        replica.answered = True
        replica.faults = replica.outs = 0
        replica.out_until = 0.0

    def failed(self, replica: Replica, started: float, unreachable: bool) -> None:
        """A server has failed.

        Args:
            replica: which.
            started: when it was asked; what was asked before it was left out says nothing new.
            unreachable: it took no connection.
        """
        now = self._clock()
        if replica.outs and started < replica.out_since:
            return
        replica.faults += 1
        if unreachable or replica.outs or replica.faults >= IN_A_ROW:
            replica.outs += 1
            replica.out_since = now
            replica.out_until = now + min(self._first_out * 2 ** (replica.outs - 1), LONGEST_OUT)
