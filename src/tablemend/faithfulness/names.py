"""What verifiers and extractors are called."""

from __future__ import annotations

from typing import NamedTuple

from tablemend.backends.names import ModelName
from tablemend.config.nearest import nearest
from tablemend.errors import TablemendError

PROGRAM = "program"
VERIFIERS = "program, nli, nli:MODEL, llm:MODEL (a model string such as hf:Qwen/Qwen3-8B), or two "
"""What a verifier may be called, for messages."""
VERIFIERS += "joined as program+nli:MODEL or program+llm:MODEL"
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
    if not plus or first.strip() != PROGRAM:
        return (_read(name, ("nli", "llm"), "verifier", VERIFIERS),)
    if second.strip().partition(":")[0] not in ("nli", "llm"):
        raise TablemendError(
            f"no verifier {name!r}: behind program+ stands a model, as in program+nli:MODEL or"
            " program+llm:MODEL"
        )
    return Name(PROGRAM), _read(second.strip(), ("nli", "llm"), "verifier", VERIFIERS)


def extractor_name(name: str) -> Name:
    """The extractor that a string names.

    Raises:
        TablemendError: an unknown name, or a model string without an engine.
    """
    return _read(name, ("llm",), "extractor", EXTRACTORS)


def _read(name: str, kinds: tuple[str, ...], what: str, known: str) -> Name:
    if name.strip() == PROGRAM:
        return Name(PROGRAM)
    kind, _, model = name.strip().partition(":")
    if kind in kinds and (model or kind == "nli"):
        if kind == "llm":
            ModelName.parse(model)
        return Name(kind, model)
    close = "" if kind in kinds else nearest(kind, (PROGRAM, *kinds))
    raise TablemendError(f"no {what} {name!r}{close}; there are {known}")
