"""What the model server can do wrong, and when: drawn, but always in the same way.

A fault is drawn from the seed, the request's content and how often that content was asked
before, never from the order in which requests arrive: two runs meet the same faults, and a
request that is tried again can succeed.
"""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import blake2b
from random import Random

from tablemend.errors import TablemendError

TRANSPORT = frozenset("429 500 cut".split())
"""Faults of a server and of the way to it (README.md says what each is)."""
CONTENT = frozenset("bad-json prose refusal length".split())
"""Answers that are not what was asked for. Those of JSON pass over answers that are none."""
MISTAKES = frozenset(
    "mistake unsorted no-sort no-scope lost-gold wrong-verdict injected-error one-sentence "
    "wrong-cell".split()
)
"""Well-formed answers that are wrong, by the stage that can make them; ``mistake`` is any."""
KINDS = TRANSPORT | CONTENT | MISTAKES


@dataclass(frozen=True, slots=True)
class Fault:
    """One fault that a request meets, and the chance for its particulars."""

    name: str
    rng: Random


@dataclass(frozen=True, slots=True)
class Faults:
    """A server's share of faults.

    Attributes:
        seed: of all draws.
        shares: fault -> share of the requests; drawn anew each time that a request is tried.
    """

    seed: int = 0
    shares: tuple[tuple[str, float], ...] = ()

    @classmethod
    def parse(cls, text: str, seed: int = 0) -> Faults:
        """Read ``429:0.1+cut:0.05``; an empty text is no fault.

        Raises:
            TablemendError: no such fault.
        """
        shares = dict(part.split(":") for part in text.split("+") if part)
        if unknown := shares.keys() - KINDS:
            raise TablemendError(f"no fault {min(unknown)!r}")
        return cls(seed, tuple((name, float(share)) for name, share in shares.items()))

    def draw(self, content: bytes, attempt: int) -> Fault | None:
        """The fault of a request.

        Args:
            content: what identifies the request; a digest will do.
            attempt: how often this content was asked before.
        """
        drawn = b"%d %d " % (self.seed, attempt) + content
        digest = blake2b(drawn, digest_size=16).digest()
        place = int.from_bytes(digest[:8], "big") / 2**64
        for name, share in self.shares:
            place -= share
            if place < 0:
                return Fault(name, Random(digest))
        return None


REFUSALS = (
    "I'm sorry, but I can't help with that request.",
    "I cannot assist with this.",
    "I'm unable to produce this content.",
)


def spoil_json(text: str, name: str, rng: Random) -> str | None:
    """A JSON answer with a fault of :data:`CONTENT`; ``None`` where the text is no JSON object."""
    if not (text.startswith("{") and text.endswith("}")):
        return None
    if name == "bad-json":
        return rng.choice(
            (text.replace('":', '"', 1), text.replace('"', "'"), text[1:], f"{text[:-1]},, }}")
        )
    before, after = rng.choice(
        (
            ("Sure, here is what you asked for:\n\n", "\n\nTell me if anything should change."),
            ("Here is the result.\n\n```json\n", "\n```\n"),
            ("", "\n\nNote: every value was checked once more."),
        )
    )
    return f"{before}{text}{after}"
