"""Mitigations by name: what a recipe, the command line and the comparison read.

A mitigation sees what its user would have: the answer and its evidence, never the gold. A further
one is a file with its function, and a line of :data:`MITIGATIONS`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any

from tablemend.plugins import load_plugins

if TYPE_CHECKING:
    from tablemend.config.section import Format
    from tablemend.evidence.source import Source
    from tablemend.mitigations.edits import Draft, Mended, Tools


@dataclass(frozen=True, slots=True)
class PostEdit:
    """Edits stored answers; nothing is generated anew.

    Attributes:
        function: drafts and tools -> the drafts, edited, in their order; or where it is, as
            ``file:name``, so that only who mends loads it.
        text, table: versions, raised with every change of what it makes of a text or a table.
        asks_model: whether it needs tools with a backend.
    """

    function: str | Callable[[Sequence[Draft], Tools], list[Mended]]
    text: str
    table: str
    asks_model: bool = False

    def edit(self, drafts: Sequence[Draft], tools: Tools) -> list[Mended]:
        """The drafts, edited, in their order."""
        found: list[Mended] = _load(self.function)(drafts, tools)
        return found


@dataclass(frozen=True, slots=True)
class Constraint:
    """Holds an answer table to a grammar while it is generated.

    Attributes:
        function: what the model is shown, and the format that is asked for -> the grammar, in
            GBNF; or where it is, as ``file:name``.
        version: raised with every change of the grammars.
        keeps: whether a whole answer keeps to its grammar, as far as that is quick to see (a server
            may pass over one): answer, what was shown, format -> verdict.
    """

    function: str | Callable[[Source, Format], str]
    version: int
    keeps: str | Callable[[str, Source, Format], bool]

    def grammar(self, evidence: Source, format: Format) -> str:
        """The grammar of an answer, in GBNF."""
        return str(_load(self.function)(evidence, format))

    def is_kept(self, answer: str, evidence: Source, format: Format) -> bool:
        """Whether a whole answer keeps to its grammar."""
        return bool(_load(self.keeps)(answer, evidence, format))


def _load(function: str | Callable[..., Any]) -> Callable[..., Any]:
    if not isinstance(function, str):
        return function
    file, _, name = function.partition(":")
    return vars(import_module(f"tablemend.mitigations.{file}"))[name]  # type: ignore[no-any-return]


Mitigation = PostEdit | Constraint
MITIGATIONS: dict[str, Mitigation] = {
    **load_plugins("tablemend.mitigations"),
    "repair": PostEdit("mend:repair", "repair/4", "repair-table/11"),
    "cave": PostEdit("cave:cave", "cave/2", "cave-table/3", asks_model=True),
    "header": Constraint("constrained:header", 1, "constrained:keeps_query"),
    "spans": Constraint("constrained:spans", 1, "constrained:keeps_query"),
}
"""By the name that a recipe gives; other packages add theirs (docs/own-task.md)."""
