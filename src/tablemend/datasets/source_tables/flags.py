"""Countries that pictures of flags left in front of names: "Ukraine Natalia Esina"."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import yaml

from tablemend.tables.table import Cell

_KNOWN = yaml.safe_load(Path(__file__).with_suffix(".yaml").read_text("utf-8"))
_COUNTRIES = "|".join(sorted(_KNOWN["names"], key=len, reverse=True))
_FLAG = re.compile(rf"({_COUNTRIES}|{'|'.join(_KNOWN['codes'].split())}) (?=[^\W\d_a-z]\S+)")


def without_flags(cells: Sequence[Cell]) -> list[Cell]:
    """The cells of a column without what flags left in front of nearly all of them.

    Several countries stand there, one of them repeatedly, and what follows are names of their own:
    not "Kenya Airways, Japan Airlines, Ethiopia Airlines".
    """
    filled = [cell for cell in cells if cell]
    flags = [match for cell in filled if (match := _FLAG.match(cell))]
    countries = Counter(match[1] for match in flags)
    if len(countries) < 2 or max(countries.values()) < 2 or len(flags) < 0.85 * len(filled):
        return list(cells)
    rests = {match.string[match.end() :].removesuffix(f", {match[1]}") for match in flags}
    kinds = Counter(rest.split()[-1] for rest in rests)
    if max(kinds.values()) > max(2, len(rests) / 3) or len(rests) < 0.9 * len({*filled}):
        return list(cells)
    return [_FLAG.sub("", cell, count=1) if cell and _FLAG.match(cell) else cell for cell in cells]
