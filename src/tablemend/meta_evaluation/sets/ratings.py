"""Texts of dialogue systems with ratings by people: BAGEL, SFHOT, SFRES.

Their source is a meaning representation such as ``inform(name='X',area=riverside)``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from tablemend.evidence.source import Source
from tablemend.meta_evaluation.items import Item
from tablemend.meta_evaluation.sets.statements import attribute_table
from tablemend.tables.table import Table

_ACT = re.compile(r"(?P<act>\w+)\((?P<slots>.*)\)\s*", re.DOTALL)
_SLOT = re.compile(r"(?P<name>\w+)(?:=(?:'(?P<quoted>[^']*)'|(?P<plain>[^,]*)))?(?:,|$)")


def d2t_human_ratings(record: dict[str, Any]) -> Iterator[Item]:
    """One text; its rating is the informativeness, 1 to 6."""
    yield Item(
        id=record["id"],
        set="d2t_human_ratings",
        group=record["dataset"],
        text=record["text"],
        source=Source((read_meaning(record["mr"]),)),
        split_key=record["split_key"],
        references=tuple(record["refs"]),
        rating=float(record["human"]["informativeness"]),
    )


def read_meaning(text: str) -> Table:
    """A dialogue act with its slots as a table of one row; the act is its title.

    Raises:
        ValueError: it is no dialogue act.
    """
    match = _ACT.fullmatch(text.strip())
    if match is None:
        raise ValueError(f"no meaning representation: {text!r}")
    values: dict[str, list[str]] = {}
    for slot in _SLOT.finditer(match["slots"]):
        value = slot["quoted"] if slot["quoted"] is not None else slot["plain"]
        name = slot["name"].replace("_", " ")
        values.setdefault(name, []).append((value or "").strip().replace("_", " "))
    if not values:
        raise ValueError(f"a meaning representation without a slot: {text!r}")
    return attribute_table(values, match["act"])
