"""HTML that is escaped by construction: text becomes markup only through :func:`tag`."""

from __future__ import annotations

import html

VOID = frozenset({"br", "meta"})


class Markup(str):
    """Text that is HTML already; every other string is escaped when it enters a tag."""

    __slots__ = ()


Child = str | None


def text(value: str) -> Markup:
    """Escaped text; what is markup already stays."""
    return value if isinstance(value, Markup) else Markup(html.escape(value))


def join(*children: Child) -> Markup:
    """Children one after the other; ``None`` is nothing."""
    return Markup("".join(text(child) for child in children if child is not None))


def tag(element: str, /, *children: Child, **attributes: str | bool | None) -> Markup:
    """An element. A trailing underscore of an attribute is dropped (``class_``), others are dashes.

    ``None`` and ``False`` leave an attribute out, ``True`` writes it without a value.

    >>> tag("td", "a < b", class_="wrong", title='got "x"')
    '<td class="wrong" title="got &quot;x&quot;">a &lt; b</td>'
    """
    written = "".join(
        f" {key.rstrip('_').replace('_', '-')}"
        + ("" if value is True else f'="{html.escape(value)}"')
        for key, value in attributes.items()
        if value is not None and value is not False
    )
    if element in VOID:
        return Markup(f"<{element}{written}>")
    return Markup(f"<{element}{written}>{join(*children)}</{element}>")
