"""What verifiers and extractors are called."""

from __future__ import annotations

from typing import NamedTuple

from tablemend.backends.names import ModelName
from tablemend.config.nearest import nearest
from tablemend.errors import TablemendError

PROGRAM = "program"
VERIFIERS = (
    "program, nli, nli:MODEL, llm:MODEL (a model string such as hf:Qwen/Qwen3-8B), or two joined as"
    " program+nli:MODEL or program+llm:MODEL"
)
"""What a verifier may be called, for messages."""
EXTRACTORS = "program, or llm:MODEL (a model string such as hf:Qwen/Qwen3-8B)"


class Name(NamedTuple):
    """A verifier or an extractor by its name.

    Attributes:
        kind: ``program``, ``nli`` or ``llm``.
        model: behind the colon; may be empty for ``nli``, its default.
    """

    kind: str
    model: str = ""


def verifier_names(name: str) -> tuple[Name, ...]:
    """The verifier that a string names, or the two that it joins.

    Raises:
        TablemendError: an unknown name, a model string without an engine, or two verifiers that
            cannot be joined.
    """
    first, plus, second = name.partition("+")
    if plus and first.strip() == PROGRAM:
        return Name(PROGRAM), _read(second, ("nli", "llm"), "verifier", VERIFIERS)
    return (_read(name, (PROGRAM, "nli", "llm"), "verifier", VERIFIERS),)


def extractor_name(name: str) -> Name:
    """The extractor that a string names.

    Raises:
        TablemendError: an unknown name, or a model string without an engine.
    """
    return _read(name, (PROGRAM, "llm"), "extractor", EXTRACTORS)


def _read(name: str, kinds: tuple[str, ...], what: str, known: str) -> Name:
    kind, _, model = name.strip().partition(":")
    if kind not in kinds or (kind == PROGRAM and model) or (kind == "llm" and not model):
        close = "" if kind in kinds else nearest(kind, kinds)
        raise TablemendError(f"no {what} {name!r}{close}; there are {known}")
    if kind == "llm":
        ModelName.parse(model)
    return Name(kind, model)
