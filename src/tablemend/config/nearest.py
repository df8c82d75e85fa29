"""The valid name that was probably meant."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


def nearest(name: str, names: Iterable[str]) -> str:
    """``"; did you mean x?"`` for the name most like ``name``, or an empty string."""
    close = closest(name, names)
    return f"; did you mean {close}?" if close else ""


def closest(name: str, names: Iterable[str]) -> str | None:
    """The most similar of ``names``; initials count as the name (``lr``: learning_rate)."""
    names = list(names)
    for candidate in names:
        if len(name) > 1 and name == "".join(word[:1] for word in candidate.split("_")):
            return candidate
    close = difflib.get_close_matches(name, names, n=1, cutoff=0.6)
    return close[0] if close else None
