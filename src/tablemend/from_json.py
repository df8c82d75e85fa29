"""Dataclasses read back from the JSON that they were stored as."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, fields
from functools import cache
from typing import Any, Self

from pydantic import TypeAdapter, ValidationError


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
