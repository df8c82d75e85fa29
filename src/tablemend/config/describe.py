"""What a configuration class takes: its keys, for ``--help`` and for suggestions."""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from tablemend.config.section import Section

ANY_NAME = "<name>"


@dataclass(frozen=True)
class Key:
    """One key of a configuration; ``<name>`` in the path is any name."""

    path: str
    type: str
    default: str
    description: str

    def is_child_of(self, parent: str) -> bool:
        """Whether the key is directly in the section at ``parent``."""
        own = self.path.split(".")[:-1]
        other = parent.split(".") if parent else []
        return len(own) == len(other) and all(
            mine in (ANY_NAME, yours) for mine, yours in zip(own, other, strict=True)
        )


def kinds_of(cls: type[Section]) -> tuple[str, ...]:
    """The kinds of recipe that a class reads; none for a class without recipes."""
    if "kind" not in cls.model_fields:
        return ()
    return tuple(map(str, get_args(cls.model_fields["kind"].annotation)))


def keys_of(cls: type[Section]) -> list[Key]:
    """Every key, sections included, in the order of the schema."""
    return list(_walk(cls, ""))


def help_text(cls: type[Section], recipes: Sequence[tuple[str, str]]) -> str:
    """The page that ``--help`` prints; a class without kinds may have recipes or do without."""
    named = ""
    if kind := cls.model_fields.get("kind"):
        named = "recipe=NAME " if kind.is_required() else "[recipe=NAME] "
    listed = recipes if named else None
    return f"{usage_text(f'{named}[key.sub=value ...]', listed)}\n\n{keys_text(cls)}"


def usage_text(arguments: str, recipes: Sequence[tuple[str, str]] | None) -> str:
    """The head of a page of help; ``None``: a command without recipes."""
    name = f"python {sys.argv[0]}" if sys.argv[0].endswith(".py") else Path(sys.argv[0]).name
    lines = [f"usage: {name} {arguments} [--check]", ""]
    if recipes is not None:
        lines += ["recipes:", *(f"  {name:<14} {head}" for name, head in recipes)]
        lines += [""] if recipes else ["  (none here)", ""]
    return "\n".join([*lines, "--check  print the resolved configuration and stop"])


def keys_text(cls: type[Section]) -> str:
    """Every key with its type, its default and what it is."""
    lines = ["keys:"]
    for key in keys_of(cls):
        default = f" = {key.default}" if key.default else ""
        lines.append(f"  {key.path}: {key.type}{default}")
        text = " ".join(key.description.split())
        lines += textwrap.wrap(text, 96, initial_indent=" " * 6, subsequent_indent=" " * 6)
    return "\n".join(lines)


def _walk(cls: type[Section], prefix: str) -> Iterator[Key]:
    for name, info in cls.model_fields.items():
        path = f"{prefix}{name}"
        sections = list(_sections(info.annotation))
        kind = "section" if sections else _name(info.annotation)
        yield Key(path, kind, _default(info), info.description or "")
        for section, named in sections:
            yield from _walk(section, f"{path}.{ANY_NAME}." if named else f"{path}.")


def _sections(annotation: Any) -> Iterator[tuple[type[Section], bool]]:
    """The section classes in an annotation, and whether each is below free names."""
    if isinstance(annotation, type) and issubclass(annotation, Section):
        yield annotation, False
    elif get_origin(annotation) is dict:
        for section, _ in _sections(get_args(annotation)[1]):
            yield section, True
    elif get_origin(annotation) is Annotated:
        yield from _sections(get_args(annotation)[0])
    elif get_origin(annotation) in (Union, UnionType):
        for option in get_args(annotation):
            yield from _sections(option)


def _name(annotation: Any) -> str:
    origin, args = get_origin(annotation), get_args(annotation)
    if annotation is NoneType:
        return "null"
    if origin is Literal:
        return "|".join(str(arg) for arg in args)
    if origin in (Union, UnionType):
        return "|".join(_name(arg) for arg in args)
    if origin is tuple:
        return f"[{_name(args[0])}, ...]"
    if origin is dict:
        return f"{{{_name(args[0])}: {_name(args[1])}}}"
    if args:  # Annotated
        return _name(args[0])
    return annotation.__name__ if isinstance(annotation, type) else "any"


def _default(info: FieldInfo) -> str:
    if info.default_factory is not None:
        return "{}" if info.annotation is dict or get_origin(info.annotation) is dict else "[]"
    if info.default is PydanticUndefined:
        return ""
    if isinstance(info.default, Section):  # its keys follow, each with its own default
        return ""
    return "null" if info.default is None else str(info.default)
