"""One HTTP exchange with a server: what it gives, and what it raises."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

CONNECT_SECONDS = 10.0
"""Longest wait for a connection."""
PATH = "/chat/completions"
MIB = 1 << 20


class Broken(Exception):
    """No whole reply came back.

    Attributes:
        reason: in a few words.
        unreachable: not even a connection was made.
        again: whether another try may do better.
        mend: what to do where nobody gets an answer there; empty where others may.
    """

    def __init__(
        self, reason: str, unreachable: bool = False, again: bool = True, mend: str = ""
    ) -> None:
        super().__init__(reason)
        self.mend = mend
        self.reason = reason
        self.unreachable = unreachable
        self.again = again


def too_long(most: int) -> Broken:
    """A reply of more bytes than are read."""
    return Broken(f"a reply of more than {most / MIB:g} MiB (max_reply_mib)", again=False)


@dataclass(frozen=True, slots=True)
class Reply:
    """A whole HTTP reply, whatever its status."""

    status: int
    headers: Mapping[str, str]
    content: bytes


class Wire(Protocol):
    """Connections to servers, all used in one event loop."""

    async def post(self, url: str, body: bytes) -> Reply:
        """Send one chat request to a base URL.

        Raises:
            Broken: no whole reply.
        """
        ...

    async def close(self) -> None:
        """Close the connections."""
        ...
