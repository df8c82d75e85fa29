"""Templates (HTML whose texts jinja2 escapes, and Markdown), and pages with marked places."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from tablemend.errors import TablemendError
from tablemend.runs import write_text


@cache
def _environment(package: str) -> Environment:
    """The templates of a package: every value in a ``.html.j2`` is escaped, unless it is Markup."""
    environment = Environment(
        loader=PackageLoader(package, "templates"),
        autoescape=lambda name: name is not None and name.endswith(".html.j2"),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.policies["json.dumps_kwargs"] = {"ensure_ascii": False, "allow_nan": False}
    return environment


def render(
    package: str,
    template: str,
    filters: Mapping[str, Callable[..., str]] | None = None,
    /,
    **values: Any,
) -> str:
    """Fill a template of a package's folder ``templates``."""
    environment = _environment(package)
    environment.filters.update(filters or {})
    return environment.get_template(template).render(values)


def resource(package: str, name: str) -> Markup:
    """A style sheet or script of ours, to stand in a page as it is."""
    return Markup(files(package).joinpath(name).read_text(encoding="utf-8"))


def inline_hash(text: str) -> str:
    """The hash by which a content security policy admits an inline script or style."""
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


def align(rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table, its cells padded so that it can be read as it is; first row is the head.

    The first column is aligned to the left, the others to the right.
    """
    rows = [[cell.replace("|", "\\|").replace("\n", " ") for cell in row] for row in rows]
    widths = [max(3, *(len(row[index]) for row in rows)) for index in range(len(rows[0]))]
    lines = [
        [cell.rjust(width) if index else cell.ljust(width) for index, (cell, width) in pairs]
        for pairs in (list(enumerate(zip(row, widths, strict=True))) for row in rows)
    ]
    rule = [
        "-" * width if index == 0 else "-" * (width - 1) + ":" for index, width in enumerate(widths)
    ]
    return "\n".join("| " + " | ".join(line) + " |" for line in [lines[0], rule, *lines[1:]])


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
