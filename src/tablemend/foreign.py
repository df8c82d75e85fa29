"""What others wrote, models, servers and files: made fit to be stored, shown and read back."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import asdict, fields
from functools import cache
from pathlib import Path
from typing import Any, BinaryIO, Self

from pydantic import TypeAdapter, ValidationError

MAX_BYTES = 64 * 2**20
"""Of one file that is read whole, and of the standard input."""

_HALF = re.compile("[\ud800-\udfff]")
_CONTROL = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]"  # ANSI: colours, moves of the cursor
    r"|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)?"  # titles, links
    r"|[\x00-\x08\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]"
)
_SPELT_HALF = re.compile(r"\\u[dD][89a-fA-F]")


def whole_characters(text: str) -> str:
    """A text that any file can hold: halves of surrogate pairs joined, U+FFFD for a lone one."""
    if text.isascii() or not _HALF.search(text):
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def read_whole(file: Path | BinaryIO, most: int = MAX_BYTES) -> bytes:
    """All that a file, a pipe or a device holds, of which only reading says how much it is.

    Raises:
        OSError: it cannot be read.
        ValueError: it holds more than ``most`` bytes.
    """
    with file.open("rb") if isinstance(file, Path) else nullcontext(file) as stream:
        data = stream.read(most + 1)
    if len(data) > most:
        raise ValueError(f"more than {most >> 20} MiB, which is the limit")
    return data


def shown(text: str) -> str:
    """A text on one line of a terminal, which it can neither colour, move on nor turn around."""
    return " ".join(whole_characters(_CONTROL.sub("", text)).split())


def load_json(text: str | bytes, **how: Any) -> Any:
    """``json.loads`` of a file's text; half of a surrogate pair, which JSON can spell, is refused.

    Args:
        text: JSON; bytes are UTF-8.
        how: what ``json.loads`` takes.

    Raises:
        ValueError: no JSON, nested too deeply, or half of a pair.
    """
    if isinstance(text, bytes):
        text = text.decode("utf-8-sig")
    try:
        value = json.loads(text, **how)
    except RecursionError as error:
        raise ValueError("nested too deeply") from error
    if _SPELT_HALF.search(text):
        half = _HALF.search(json.dumps(value, ensure_ascii=False))
        if half is not None:
            raise ValueError(f"it holds the character U+{ord(half[0]):04X}, half of a pair")
    return value


class FromJson:
    """What a dataclass that is stored inherits; its types say what its fields may hold."""

    __slots__ = ()

    def to_json(self) -> dict[str, Any]:
        """A JSON-serialisable dict that :meth:`from_json` reads back."""
        own: Any = self
        return asdict(own)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """The inverse of ``to_json``.

        Raises:
            ValueError: a field that is missing, unknown or of another type, in one line.
        """
        kind: Any = cls
        if unknown := data.keys() - {field.name for field in fields(kind)}:
            raise ValueError(f"unknown field {min(unknown)}")
        try:
            found: Self = _adapter(kind).validate_python(dict(data))
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            raise ValueError(f"{'.'.join(map(str, first['loc']))}: {first['msg']}") from error
        return found


@cache
def _adapter(kind: type) -> TypeAdapter[Any]:
    return TypeAdapter(kind)
