"""Lists that go together: "Ann and Bob scored 12 and 9 goals"."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import TypeVar

from tablemend.verification.reading import Amount

_JOINED = re.compile(r"\s*(?:,|,? (?:and|&))\s*(?:the |[$€£])?")
_LONG_JOINED = re.compile(r"(?:\s+[a-z-]+){0,3}\s*(?:,|,? and)\s*(?:the |about |[$€£])?")
_RESPECTIVELY = re.compile(r"\brespectively\b")

Place = tuple[int, int]
_T = TypeVar("_T")


def align_lists(
    plain: str, start: int, end: int, amounts: Sequence[Amount], names: Sequence[Place]
) -> dict[int, Place]:
    """Gives the k-th amount of a list to the k-th name of the list before it.

    The amounts must follow one another directly, so that they count one thing, or the sentence
    must say "respectively".

    Args:
        plain: the text in small letters.
        start: where the sentence begins.
        end: where it ends.
        amounts: those of the sentence, in order.
        names: places of what can be counted of, or be counted, in order.

    Returns:
        The place of its name by where an amount begins; empty without two such lists.
    """
    values = [amount for amount in amounts if amount.role in ("value", "article")]
    joined = _LONG_JOINED if _RESPECTIVELY.search(plain, start, end) else _JOINED
    counted = _runs(plain, values, lambda a: (a.start, a.digits_end), joined)
    named = _runs(plain, [n for n in names if start <= n[0] < end], lambda n: n, _JOINED)
    found: dict[int, Place] = {}
    for run in counted:
        before = [other for other in named if other[-1][1] <= run[0].start]
        sides = before[-1:]
        if joined is _LONG_JOINED:
            sides += [other for other in named if other[0][0] >= run[-1].digits_end]
        for other in sides:
            if len(other) == len(run):
                found |= {amount.start: name for amount, name in zip(run, other, strict=True)}
                break
    return found


def _runs(
    plain: str, things: Sequence[_T], place: Callable[[_T], Place], joined: re.Pattern[str]
) -> list[list[_T]]:
    """Things of which each is joined to the next, at least two."""
    runs: list[list[_T]] = []
    for thing in things:
        start = place(thing)[0]
        if runs and joined.fullmatch(plain, place(runs[-1][-1])[1], start):
            runs[-1].append(thing)
        else:
            runs.append([thing])
    return [run for run in runs if len(run) > 1]
