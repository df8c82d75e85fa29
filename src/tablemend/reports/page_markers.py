"""A page whose prose a person keeps and whose figures a command fills in, between two markers:
``<!-- figures: NAME -->`` and ``<!-- end -->``.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from pathlib import Path

from tablemend.errors import TablemendError
from tablemend.runs import write_text

_PLACE = re.compile(r"(<!-- figures: (?P<name>[\w ]+) -->\n)(?P<old>.*?)(<!-- end -->)", re.DOTALL)


def read_page(path: Path, known: Collection[str]) -> str:
    """A page that figures are to be put into.

    Raises:
        TablemendError: no such page, no marker in it, or one whose name is not among ``known``.
    """
    if not path.is_file():
        raise TablemendError(f"no page {path}: page= names a Markdown file with the markers")
    text = path.read_text("utf-8")
    places = [match["name"] for match in _PLACE.finditer(text)]
    if not places:
        raise TablemendError(
            f"{path} has no place for figures: lines <!-- figures: NAME --> and <!-- end -->, with "
            f"a NAME of {', '.join(known)}"
        )
    if unknown := [name for name in places if name not in known]:
        raise TablemendError(
            f"{path}: no figures are called {unknown[0]!r}; there are {', '.join(known)}"
        )
    return text


def fill_page(path: Path, made: Mapping[str, str], known: Collection[str]) -> None:
    """Put the figures that are made between their markers and leave the rest of the page alone.

    Raises:
        TablemendError: see :func:`read_page`.
    """

    def replace(match: re.Match[str]) -> str:
        new = made.get(match["name"])
        return match[0] if new is None else f"{match[1]}\n{new}\n\n{match[4]}"

    write_text(path, _PLACE.sub(replace, read_page(path, known)))
