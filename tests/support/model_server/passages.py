"""Passages by program: the rows shown in a prompt, their cells one after the other."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from random import Random

_ROW = re.compile(r"\d+\. (?:\((.*?)\) )?({.*})")


def word(slots: Mapping[str, str], mistake: str | None, rng: Random) -> str:
    """A passage for each row; the mistake is to say another value, or none, in one of them."""
    rows = [(kind, json.loads(cells)) for kind, cells in _ROW.findall(slots["rows"])]
    if mistake:
        _, cells = rng.choice(rows)
        *_, last = cells
        cells[last] = rng.choice(("Xanthe", "7,654", "nothing"))
    return json.dumps({"texts": [_passage(*row, rng) for row in rows]}, ensure_ascii=False)


def _passage(kind: str, cells: dict[str, str], rng: Random) -> str:
    (_, name), *rest = cells.items()
    rng.shuffle(rest)
    said = [f"the {column} {value}" for column, value in rest]
    half = (len(said) + 1) // 2
    later = f" It has {' and '.join(said[half:])}." if said[half:] else ""
    return f"{f'The {kind} ' if kind else ''}{name} has {' and '.join(said[:half])}.{later}"
