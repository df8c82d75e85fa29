"""An input, an output that a system made of it, and what one annotator says of the two."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, get_args

from tablemend.errors import TablemendError
from tablemend.foreign import FromJson
from tablemend.records import Relation
from tablemend.runs import hash_text, read_jsonl

Domain = Literal["hotel", "logic"]
Kind = Literal["wrong", "subjective", "vague", "unverifiable", "inferable"]
"""Why information of an output is divergent: factually wrong, or one of the four kinds that are not
(Annotating Hallucinations, Appendix E, c)."""
Span = tuple[int, int]
"""Characters, from the first to behind the last."""
Ambiguity = Literal["connective_precedence", "quantifier_scope", "negation_scope", "other"]
AMBIGUITIES: tuple[Ambiguity, ...] = get_args(Ambiguity)


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


@dataclass(frozen=True, slots=True)
class Annotation(FromJson):
    """The answers of one annotator on one pair (Annotating Hallucinations, section 4).

    Attributes:
        annotator: a name; of a model, its system's.
        pair: :attr:`Pair.id`.
        path: the answers in the decision tree by the id of their question, as they were asked.
        relation: the leaf that the path leads to; ``None`` where it leads to none.
        unscored: why there is none; empty where there is one.
        ambiguities: kinds that the annotator named; empty where the output has one reading, and
            always of the program.
        divergent_input, divergent_output, wrong: highlights; ``None`` where nobody asked.
        slider: overall faithfulness, 1 to 7.
        passed_check: of the comprehension check; ``None`` where there was none.
        seconds, prompt_tokens, completion_tokens: of models asked together, their share.
    """

    annotator: str
    pair: str
    path: Mapping[str, bool] = field(default_factory=dict)
    relation: Relation | None = None
    unscored: str = ""
    ambiguities: tuple[Ambiguity, ...] = ()
    divergent_input: tuple[Span, ...] | None = None
    divergent_output: tuple[Span, ...] | None = None
    wrong: tuple[Span, ...] | None = None
    slider: int | None = None
    comment: str = ""
    passed_check: bool | None = None
    seconds: float = 0.0
    prompt_tokens: int = 0
    completion_tokens: int = 0

    def __post_init__(self) -> None:
        if (self.relation is None) == (not self.unscored):
            raise ValueError("relation: one, or in unscored the reason why there is none")
        if self.slider is not None and not 1 <= self.slider <= 7:
            raise ValueError(f"slider: {self.slider} is not 1 to 7")


def read_annotations(path: Path) -> list[Annotation]:
    """What ``runs.write_jsonl`` wrote of :meth:`Annotation.to_json`.

    Raises:
        TablemendError: no such file, or a line that is no annotation.
    """
    if not path.is_file():
        raise TablemendError(f"no {path}: annotate first (python eval/annotate.py, docs/logic.md)")
    found = []
    for number, line in enumerate(read_jsonl(path), 1):
        try:
            found.append(Annotation.from_json(line))
        except (ValueError, AttributeError) as error:
            raise TablemendError(f"{path}:{number} is no annotation: {error}") from error
    return found
