"""An input, an output that a system made of it, and the relations that are right for the two."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Literal

from tablemend.from_json import FromJson
from tablemend.records import Relation
from tablemend.runs import hash_text

Domain = Literal["hotel", "logic"]
Kind = Literal["wrong", "subjective", "vague", "unverifiable", "inferable"]
"""Why information of an output is divergent: factually wrong, or one of the four kinds that are not
(Annotating Hallucinations, Appendix E, c)."""
Span = tuple[int, int]
"""Characters, from the first to behind the last."""


@dataclass(frozen=True, slots=True)
class Pair(FromJson):
    """One input-output pair (Annotating Hallucinations, section 3.3).

    Attributes:
        domain: of the experiment.
        input: what is shown: ``Attribute: value; value`` a line, or a formula.
        output: English.
        system: what wrote the output.
        labels: relations that are right, the commonest first; empty where nobody knows.
        divergent_input, divergent_output: spans that the other text does not have.
        wrong: spans of the output that are factually wrong.
        kinds: of ``divergent_output``, one for each span; empty where nobody knows.
        ambiguous: whether the output has more than one reading; ``None`` where nobody knows.
    """

    domain: Domain
    input: str
    output: str
    system: str
    labels: tuple[Relation, ...] = ()
    divergent_input: tuple[Span, ...] = ()
    divergent_output: tuple[Span, ...] = ()
    wrong: tuple[Span, ...] = ()
    kinds: tuple[Kind, ...] = ()
    ambiguous: bool | None = None

    @property
    def id(self) -> str:
        """Hash of the content."""
        return hash_text(json.dumps(self.to_json(), ensure_ascii=False, sort_keys=True))

    @property
    def source_hash(self) -> str:
        """Hash of the input: splits and Latin squares keep pairs of one input together."""
        return hash_text(self.input)
