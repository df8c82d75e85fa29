"""What a turn of phrase says of the thing that an info box describes, and whether it is so."""

from __future__ import annotations

from dataclasses import dataclass

from tablemend.records import ClaimError
from tablemend.verification.profiles.profile import Attribute


@dataclass(frozen=True, slots=True)
class Fact:
    """One thing that a sentence says, compared with the info box.

    Attributes:
        start, end: place of the words that state the value.
        truth: whether it is so.
        reason: one line for a person.
        attributes: what it was compared with.
        used: places of all words that it explains, its own included.
        error: its type where it is not so.
    """

    start: int
    end: int
    truth: bool
    reason: str
    attributes: tuple[Attribute, ...]
    used: tuple[tuple[int, int], ...]
    error: ClaimError = "TMP"
