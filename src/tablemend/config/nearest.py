"""The valid name that was probably meant."""

from __future__ import annotations

import difflib
import sys
from collections.abc import Iterable, Sequence

from tablemend.errors import TablemendError


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


def check_fields(fields: Iterable[str], known: Sequence[str], where: str, named: set[str]) -> None:
    """Refuse a field that looks like a misspelt one of ours; name others once, as not read.

    Args:
        fields: those of a record.
        known: those that are read.
        where: file and line of the record.
        named: others that were named on stderr before; new ones are added.

    Raises:
        TablemendError: a misspelt field.
    """
    given = list(fields)
    other = [name for name in given if name not in known]
    for name in other:
        meant = closest(name, [field for field in known if field not in given])
        if meant is not None:
            raise TablemendError(f"{where}: unknown field {name!r}; did you mean {meant}?")
    if new := [name for name in other if name not in named]:
        named.update(new)
        print(f"{where}: not read: {', '.join(new)}", file=sys.stderr)
