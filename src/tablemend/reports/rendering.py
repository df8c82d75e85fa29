"""Templates: HTML whose texts are escaped by jinja2 itself, and Markdown."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup


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
