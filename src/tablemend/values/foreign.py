"""What others wrote, models, servers and their files: made fit to be stored and to be shown."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

_HALF = re.compile("[\ud800-\udfff]")
_SPELT_HALF = re.compile(r"\\u[dD][89a-fA-F]")


def whole_characters(text: str) -> str:
    """A text that any file can hold: halves of surrogate pairs joined, U+FFFD for a lone one."""
    if text.isascii() or not _HALF.search(text):
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def whole_fields(record: Mapping[str, Any]) -> dict[str, Any]:
    """A record whose texts are :func:`whole_characters`; lists and objects in it stay."""
    return {
        name: whole_characters(value) if isinstance(value, str) else value
        for name, value in record.items()
    }


def load_json(text: str | bytes, **how: Any) -> Any:
    """``json.loads`` of a file's text; half of a surrogate pair, which JSON can spell, is refused.

    Args:
        text: JSON; bytes are UTF-8.
        how: what ``json.loads`` takes.

    Raises:
        ValueError: no JSON, or half of a pair.
        RecursionError: nested too deeply.
    """
    if isinstance(text, bytes):
        text = text.decode("utf-8-sig")
    value = json.loads(text, **how)
    if _SPELT_HALF.search(text):
        half = _HALF.search(json.dumps(value, ensure_ascii=False))
        if half is not None:
            raise ValueError(f"it holds the character U+{ord(half[0]):04X}, half of a pair")
    return value
