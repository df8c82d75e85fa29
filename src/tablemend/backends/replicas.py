"""Several servers of one model: who is asked next, and who is left out for a while."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

IN_A_ROW = 3
"""Faults in a row after which a server is left out; some faults are enough at once."""
LONGEST_OUT = 60.0
"""Longest time, in seconds, that a server is left out before it is tried again."""


@dataclass(slots=True, eq=False)
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
        stops: why nobody gets an answer there; empty as long as that is not so.
    """

    url: str
    in_flight: int = 0
    faults: int = 0
    outs: int = 0
    out_since: float = 0.0
    out_until: float = 0.0
    on_trial: bool = False
    answered: bool = False
    stops: str = ""


class Replicas:
    """The servers of a model; the one with the least to do is asked.

    One that fails is left out, for twice as long each time or for as long as it asked, and then
    gets one request: where that is answered, it is back. While all are out, the one that is due
    first is asked all the same; each request waits by its own back-off.

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

    def __len__(self) -> int:
        return len(self._all)

    @contextmanager
    def borrow(
        self, declined: Collection[Replica] = (), failed: Replica | None = None
    ) -> Iterator[Replica]:
        """The server to ask now; it counts as busy meanwhile.

        Args:
            declined: those that will not answer this request; fewer than there are.
            failed: the one that it has just failed on, asked again only where no other is ready.
        """
        replica = self._pick(declined, failed)
        trial = replica.outs > 0
        replica.on_trial |= trial
        replica.in_flight += 1
        try:
            yield replica
        finally:
            replica.in_flight -= 1
            if trial:
                replica.on_trial = False

    def other_ready(self, declined: Collection[Replica], failed: Replica | None) -> bool:
        """Whether any server but these can be asked now."""
        now = self._clock()
        others = (one for one in self._all if one is not failed and one not in declined)
        return any(_is_ready(one, now) for one in others)

    def _pick(self, declined: Collection[Replica], failed: Replica | None) -> Replica:
        if len(self._all) == 1:
            return self._all[0]
        now = self._clock()
        self._next = (self._next + 1) % len(self._all)
        turn = self._all[self._next :] + self._all[: self._next]
        turn = [one for one in turn if one not in declined]
        ready = [one for one in turn if _is_ready(one, now)]
        if ready:
            others = [one for one in ready if one is not failed]
            return min(others or ready, key=lambda one: one.in_flight)
        return min(turn, key=lambda one: one.out_until)

    def answered(self, replica: Replica, started: float) -> None:
        """A server has given an answer.

        Args:
            replica: which.
            started: when it was asked; what was asked before it was left out does not bring it
                back.
        """
        replica.answered = True
        if replica.outs and started < replica.out_since:
            return
        replica.faults = replica.outs = 0
        replica.out_until = 0.0
        replica.stops = ""

    def failed(
        self, replica: Replica, started: float, at_once: bool = False, after: float | None = None
    ) -> None:
        """A server has failed.

        Args:
            replica: which.
            started: when it was asked; what was asked before it was left out says nothing new.
            at_once: it is left out now, not only after :data:`IN_A_ROW` faults.
            after: seconds for which it asked to be left out; the growing time where it did not.
        """
        now = self._clock()
        if replica.outs and started < replica.out_since:
            return
        replica.faults += 1
        if at_once or replica.outs or replica.faults >= IN_A_ROW:
            replica.outs += 1
            replica.out_since = now
            grown = min(self._first_out * 2.0 ** min(replica.outs - 1, 64), LONGEST_OUT)
            replica.out_until = now + (after or grown)


def _is_ready(replica: Replica, now: float) -> bool:
    return replica.out_until <= now and not replica.on_trial
