"""The base of every configuration model: frozen, closed, and reporting all its conflicts."""

from __future__ import annotations

from collections.abc import Iterable
from os import sysconf
from pathlib import PurePath
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, model_validator


class Conflicts(ValueError):
    """Several conflicts between fields of one section, as ``(dotted path, message)`` pairs."""

    def __init__(self, found: list[tuple[str, str]]) -> None:
        self.found = found
        super().__init__("; ".join(f"{path}: {message}" for path, message in found))


class UnknownNames(Conflicts):
    """Entries of a free mapping whose names are not valid; without them it would be."""


class Section(BaseModel):
    """A part of a configuration.

    The string under each attribute is its description in ``--help``. Rules that concern more
    than one field go into :meth:`conflicts`, so that all of them are reported at once.
    """

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        allow_inf_nan=False,
        coerce_numbers_to_str=True,
        use_attribute_docstrings=True,
        protected_namespaces=(),
    )

    check_only: ClassVar[tuple[str, ...]] = ()
    """Fields that ``--check`` alone reads."""

    def conflicts(self) -> Iterable[tuple[str, str]]:
        """Pairs of the dotted path below this section and what is wrong there."""
        return ()

    @model_validator(mode="after")
    def _refuse_conflicts(self) -> Self:
        found = list(self.conflicts())
        if found:
            raise Conflicts(found)
        return self


def _own_folder(run: str) -> str:
    """A run replaces files of its folder: that is never the one of all runs, nor one above it."""
    if PurePath(run).name in ("", ".."):
        raise ValueError("needs the name of a folder of the run's own, below runs/, or its path")
    return run


EXAMPLE_BYTES = 200
"""Memory that one example takes at the least: its number, and its place in the store."""


def _in_memory(count: int) -> int:
    there, needed = sysconf("SC_PHYS_PAGES") * sysconf("SC_PAGE_SIZE"), count * EXAMPLE_BYTES
    if needed > there:
        raise ValueError(
            f"needs {needed / 2**30:,.0f} GiB of memory or more, and this machine has "
            f"{there / 2**30:,.0f}: ask for fewer"
        )
    return count


Count = Annotated[int, AfterValidator(_in_memory)]
"""How many examples; refused where not even their numbers fit into memory."""
RunFolder = Annotated[str, AfterValidator(_own_folder)]


class Recipe(Section):
    """What every recipe file says at its top; subclasses narrow ``kind`` to one literal."""

    kind: str
    """What the recipe is for; a script reads only its own kind."""
    name: str = Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$")
    """Name of the run: results go into runs/<name> unless `run` says otherwise."""
    run: RunFolder | None = None
    """Run folder: a name below runs/, or a path where it contains a slash."""
    seed: int = Field(default=0, ge=0)
    """Seed of everything that is drawn at random, where no nearer seed is given."""


def _on_off(value: Any) -> Any:
    """YAML 1.1 reads a bare ``on`` or ``off`` as a boolean."""
    if isinstance(value, bool):
        return "on" if value else "off"
    return value


ONE, SEVERAL = "(one)", "(several)"
"""Forms of a key that is one section or several by name; pydantic puts them into its paths."""

OnOff = BeforeValidator(_on_off)
Format = Literal["markdown", "json", "latex"]
Serialisation = Literal["html", "json", "markdown", "indexed_row_major", "df", "concat", "csv"]
Prompt = Literal["base", "careful", "follow", "cot", "few-shot", "assisted", "unitxt"]
DType = Literal["float32", "bfloat16", "auto"]
Precision = Literal["auto", "float32", "bfloat16"]
