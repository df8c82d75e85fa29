"""Mitigations by name: what a recipe, the command line and the comparison read.

A mitigation sees what its user would have: the answer and its evidence, never the gold.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tablemend.config import Format

if TYPE_CHECKING:
    from tablemend.evidence.source import Source
    from tablemend.mitigations.edits import Draft, Mended, Tools
    from tablemend.records import Verification


@dataclass(frozen=True, slots=True)
class PostEdit:
    """Edits stored answers; nothing is generated anew.

    Attributes:
        text, table: versions, raised with every change of what it makes of a text or a table.
        edit: the drafts, edited, in their order.
        asks_model: whether it needs tools with a backend.
    """

    text: str
    table: str
    edit: Callable[[Sequence[Draft], Tools], list[Mended]]
    asks_model: bool = False


@dataclass(frozen=True, slots=True)
class Constraint:
    """Holds an answer table to a grammar while it is generated.

    Attributes:
        version: raised with every change of the grammars.
        grammar: in GBNF, from what the model is shown and the format that is asked for.
        keeps: whether a whole answer keeps to its grammar, as far as that is quick to see: a
            server may pass over one.
    """

    version: int
    grammar: Callable[[Source, Format], str]
    keeps: Callable[[str, Source, Format], bool]


Mitigation = PostEdit | Constraint


def _repair(drafts: Sequence[Draft], tools: Tools) -> list[Mended]:
    """Texts by any verifier, tables by the program."""
    from tablemend.faithfulness.staf import verify_text
    from tablemend.mitigations.repair_table import repair_answer
    from tablemend.mitigations.repair_text import repair_text

    def verify(text: str, source: Source) -> Verification:
        return verify_text(text, source, tools.verifier, tools.extractor)

    return [
        repair_text(one.text, one.evidence, verify)
        if one.format is None
        else repair_answer(one.text, one.evidence.text, one.evidence.query, one.format)
        for one in drafts
    ]


def _cave(drafts: Sequence[Draft], tools: Tools) -> list[Mended]:
    from tablemend.mitigations.cave import cave_text
    from tablemend.mitigations.cave_table import cave_answer
    from tablemend.mitigations.steps import run_together

    asked = tools.passes, tools.thinking, tools.max_new_tokens
    steps = [
        cave_text(one.text, one.evidence, *asked)
        if one.format is None
        else cave_answer(one, *asked)
        for one in drafts
    ]
    return run_together(steps, tools.backend, tools.verifier, tools.extractor)


def _header(evidence: Source, format: Format) -> str:
    from tablemend.mitigations.constrained import answer_grammar, columns_of

    return answer_grammar(columns_of(evidence), format, None)


def _spans(evidence: Source, format: Format) -> str:
    from tablemend.mitigations.constrained import answer_grammar, columns_of

    return answer_grammar(columns_of(evidence), format, evidence.text)


def _keeps_header(text: str, evidence: Source, format: Format) -> bool:
    from tablemend.mitigations.constrained import columns_of, keeps_header

    columns = columns_of(evidence)
    return columns is None or keeps_header(text, columns, format)


MITIGATIONS: dict[str, Mitigation] = {
    "repair": PostEdit("repair/1", "repair-table/2", _repair),
    "cave": PostEdit("cave/1", "cave-table/2", _cave, asks_model=True),
    "header": Constraint(1, _header, _keeps_header),
    "spans": Constraint(1, _spans, _keeps_header),
}
"""By the name that a recipe gives."""
