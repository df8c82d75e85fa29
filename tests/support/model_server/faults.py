"""What the model server can do wrong, and when: drawn, but always in the same way.

A fault is drawn from the seed, the request's content and how often that content was asked
before, never from the order in which requests arrive: two runs meet the same faults, and a
request that is tried again can succeed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import blake2b
from random import Random
from typing import Any

from tablemend.config.nearest import nearest
from tablemend.errors import TablemendError

TRANSPORT: Mapping[str, str] = {
    "429": "too many requests, without a word on when to come back",
    "429-retry-after": "too many requests, with Retry-After in seconds",
    "429-retry-date": "too many requests, with Retry-After as a date",
    "400": "a request that the server refuses for good",
    "500": "an internal error",
    "503": "overloaded",
    "reset": "the connection is reset before the answer",
    "cut": "the connection ends in the middle of the body",
    "timeout": "no answer at all; the connection stays open",
    "bad-body": "status 200 and a body that is no JSON",
    "empty-choices": "status 200 and an empty list of choices",
    "no-usage": "token counts are missing",
    "wrong-usage": "token counts are negative, null, text or absurd",
}
"""Faults of a server and of the way to it."""

CONTENT: Mapping[str, str] = {
    "truncated-json": "the answer's JSON ends too early, though finish_reason is stop",
    "bad-json": "the answer's JSON is invalid",
    "prose": "there is prose around the answer's JSON",
    "refusal": "message.refusal is set and there is no content",
    "refusal-text": "the content is a refusal in plain words",
    "content-filter": "finish_reason is content_filter and the content is empty",
    "empty": "the content is empty",
    "length": "the answer is cut and finish_reason is length",
}
"""Answers that are not what was asked for. Those of JSON pass over answers that are none."""

MISTAKES: Mapping[str, str] = {
    "mistake": "any of those below that the stage can make",
    "lost-fact": "kernel: a value of the table is not in the context",
    "stated-null": "kernel: the context tells of an attribute that is null",
    "unsorted": "kernel: the rows are not in the declared order",
    "no-null": "kernel: no cell is null",
    "double-row": "kernel: a row stands in the table twice",
    "small-table": "kernel: too few rows",
    "blank-word": "kernel: a word such as n/a instead of null",
    "lost-sort-column": "kernel: sorted by a column that is not there",
    "cell-in-query": "query: it names a value of the table",
    "column-left-out": "query: a column is missing",
    "columns-shuffled": "query: the columns are in another order",
    "no-sort": "query: it does not say how to sort",
    "other-sort": "query: another direction",
    "wrong-sort": "constraints: the sort order is turned round",
    "wrong-range": "constraints: a condition that gold rows do not meet",
    "unknown-column": "constraints: a condition on a column that is not there",
    "empty-condition": "constraints: a condition without bounds",
    "no-scope": "constraints: no entity scope",
    "lost-gold": "perturb: a gold sentence is missing",
    "stated-blank": "perturb: an attribute that is null is told of its entity",
    "changed-gold": "perturb: a gold entity gets another value",
    "no-distractor": "perturb: nothing is added",
    "clustered": "perturb: the original stands in front in one piece",
    "in-scope": "perturb: a distractor that meets every condition",
    "wrong-verdict": "verify, verify_*: the opposite of what is right",
    "two-verdicts": "verify_*: both verdicts",
    "lost-claim": "extract: one claim fewer than the text makes",
    "changed-claim": "extract: a claim with other numbers than the text",
    "added-claim": "extract: a claim that the text does not make",
    "one-word": "verify: the verdict's word without JSON",
    "no-verdict": "verify: a sentence without a verdict",
    "wrong-rewrite": "rewrite: other numbers or names than the evidence has; a row kept",
    "unchanged": "rewrite: the words as they were",
    "chatty": "rewrite: a comment around the words",
    "whole-sentence": "rewrite: the whole sentence where its words were asked for",
    "injected-error": "summarise: one error of a named type",
    "listed": "summarise: a list with an introduction",
    "one-sentence": "summarise: too few sentences",
    "extra-row": "table: a row of the context that is out of scope",
    "wrong-cell": "table: a cell with another row's value",
    "filled-blank": "table: a value where there is none",
    "wrong-order": "table: two rows changed places",
    "made-up-row": "table: an entity that stands nowhere",
}
"""Well-formed answers that are wrong, by the stage that can make them."""

KINDS: tuple[str, ...] = (*TRANSPORT, *CONTENT, *MISTAKES)
SPEC = "write NAME:RATE+NAME:RATE, NAME!:RATE for a fault that stays, die-after:N"


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
        passing: fault -> share of the requests; drawn anew each time that a request is tried.
        lasting: fault -> share of the requests that meet it however often they are tried.
        die_after: requests after which the process ends at once; ``None``: never.
    """

    seed: int = 0
    passing: tuple[tuple[str, float], ...] = ()
    lasting: tuple[tuple[str, float], ...] = ()
    die_after: int | None = None

    @classmethod
    def parse(cls, text: str, seed: int = 0) -> Faults:
        """Read ``429:0.1+cut:0.05+500!:0.01+die-after:100``; an empty text is no fault.

        Raises:
            TablemendError: no such fault, no share between 0 and 1, one twice, shares above 1.
        """
        shares: dict[bool, dict[str, float]] = {False: {}, True: {}}
        die_after = None
        for part in filter(None, (piece.strip() for piece in text.split("+"))):
            name, colon, value = part.partition(":")
            if not colon:
                raise TablemendError(f"fault {part!r} has no share: {SPEC}")
            if name == "die-after":
                die_after = _count(part, value)
                continue
            lasting = name.endswith("!")
            name = name.removesuffix("!")
            if name not in KINDS:
                close = nearest(name, (*KINDS, "die-after"))
                raise TablemendError(f"no fault {name!r}{close}; --help lists them; {SPEC}")
            if name in shares[lasting]:
                raise TablemendError(f"fault {name!r} stands twice in {text!r}")
            shares[lasting][name] = _share(part, value)
        for group in shares.values():
            if sum(group.values()) > 1 + 1e-9:
                raise TablemendError(f"the shares of {text!r} add up to more than 1")
        return cls(seed, tuple(shares[False].items()), tuple(shares[True].items()), die_after)

    def draw(self, content: bytes, attempt: int) -> Fault | None:
        """The fault of a request.

        Args:
            content: what identifies the request; a digest will do.
            attempt: how often this content was asked before.
        """
        if self.lasting and (fault := self._draw(self.lasting, b"lasting" + content)):
            return fault
        if self.passing:
            return self._draw(self.passing, b"%d " % attempt + content)
        return None

    def _draw(self, shares: tuple[tuple[str, float], ...], content: bytes) -> Fault | None:
        digest = blake2b(b"%d " % self.seed + content, digest_size=16).digest()
        place = int.from_bytes(digest[:8], "big") / 2**64
        for name, share in shares:
            place -= share
            if place < 0:
                return Fault(name, Random(digest))
        return None


def _share(part: str, value: str) -> float:
    try:
        share = float(value)
    except ValueError:
        share = -1.0
    if not 0 <= share <= 1:
        raise TablemendError(f"fault {part!r}: the share is a number from 0 to 1; {SPEC}")
    return share


def _count(part: str, value: str) -> int:
    if not (value.isascii() and value.isdigit() and int(value) > 0):
        raise TablemendError(f"{part!r}: a number of requests from 1; {SPEC}")
    return int(value)


REFUSALS = (
    "I'm sorry, but I can't help with that request.",
    "I cannot assist with this.",
    "I'm unable to produce this content.",
)


def spoil_json(text: str, name: str, rng: Random) -> str | None:
    """A JSON answer with a fault of :data:`CONTENT`; ``None`` where the text is no JSON object."""
    if not (text.startswith("{") and text.endswith("}")):
        return None
    if name == "truncated-json":
        return text[: rng.randint(len(text) // 4, max(len(text) // 4, len(text) - 2))]
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


def wrong_usage(rng: Random, prompt: int, completion: int) -> dict[str, Any] | None:
    """Token counts that no server can mean."""
    total = prompt + completion
    return rng.choice(
        (
            {"prompt_tokens": -prompt, "completion_tokens": -1, "total_tokens": total},
            {"prompt_tokens": prompt, "completion_tokens": None, "total_tokens": None},
            {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0},
            {"prompt_tokens": str(prompt), "completion_tokens": "many", "total_tokens": "?"},
            {"prompt_tokens": 10**15, "completion_tokens": 10**15, "total_tokens": 2 * 10**15},
            {"total_tokens": total},
        )
    )
