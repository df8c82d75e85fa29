"""Pairs of input and output, annotations of them, and the decision tree between (tree.yaml)."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, NamedTuple, get_args

import yaml

from tablemend.errors import TablemendError
from tablemend.foreign import FromJson
from tablemend.records import RELATIONS, Relation
from tablemend.runs import hash_text, read_jsonl

Domain = Literal["hotel", "logic"]
Kind = Literal["wrong", "subjective", "vague", "unverifiable", "inferable"]
"""Why information of an output is divergent: factually wrong, or one of the four kinds that are not
(Annotating Hallucinations, Appendix E, c)."""
Span = tuple[int, int]
"""Characters, from the first to behind the last."""
Ambiguity = Literal["connective_precedence", "quantifier_scope", "negation_scope", "other"]
AMBIGUITIES: tuple[Ambiguity, ...] = get_args(Ambiguity)
MAKES = "python data_gen/logic.py"
"""The command that makes pairs."""


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


DOMAINS: tuple[Domain, ...] = get_args(Domain)
AMBIGUOUS = "ambiguous"
"""The question that a kind is asked with, and that leads on alike from both answers."""
Answers = Mapping[str, bool]
"""Answers by the id of their question, in the order in which they were asked."""


class Question(NamedTuple):
    """A question by its key in a path, answered with yes or no, and its definition.

    ``unless`` is the answer that goes without asking in the paper's tree, where that lacks it.
    """

    id: str
    ask: str
    means: str
    unless: bool | None = None


class Step(NamedTuple):
    """A question and where its answers lead."""

    question: Question
    yes: Step | Relation
    no: Step | Relation


def follow(
    domain: Domain, answers: Answers, added: bool = True
) -> tuple[dict[str, bool], Question | Relation]:
    """The answers on the way that they lead, and the next question or the relation at its end.

    Of questions that do not come up nothing is read; ``added`` asks those that the paper's tree
    lacks as well.
    """
    node: Step | Relation = TREES[domain]
    told = {}
    while isinstance(node, Step):
        question = node.question
        given = None if added else question.unless
        if given is None and question.id in answers:
            given = told[question.id] = answers[question.id]
        if given is None:
            return told, question
        node = node.yes if given else node.no
    return told, node


def path_to(domain: Domain, relation: Relation) -> Answers:
    """The answers that lead to a relation; none where the domain does not have it.

    Of ambiguity, both of whose answers lead on alike, nothing is said.
    """
    return _PATHS[domain].get(relation, {})


def leaves(domain: Domain) -> tuple[Relation, ...]:
    """The relations that a domain has, in the order of all."""
    return tuple(one for one in RELATIONS if one in _PATHS[domain])


def paths(node: Step | Relation) -> Iterator[tuple[Answers, Relation]]:
    """Every way through a tree, with its leaf."""
    if not isinstance(node, Step):
        yield {}, node
        return
    for answer, branch in ((True, node.yes), (False, node.no)):
        for way, leaf in paths(branch):
            yield {node.question.id: answer, **way}, leaf


_DATA: Mapping[str, Any] = yaml.safe_load(Path(__file__).with_name("tree.yaml").read_text("utf-8"))
RELATION_WORDS: dict[Relation, tuple[str, str]] = {
    k: tuple(v) for k, v in _DATA["relations"].items()
}
"""Title and meaning of each relation."""
AMBIGUITY_WORDS: dict[Ambiguity, str] = _DATA["ambiguities"]
WORDING: Mapping[str, Any] = _DATA["wording"]
"""What else is asked beside the questions of the tree, and how to answer."""
QUESTIONS: dict[Domain, dict[str, Question]] = {domain: {} for domain in DOMAINS}
"""The questions of each domain by their id, from the root of its tree."""


def _read_tree(data: Any, domain: Domain) -> Step | Relation:
    """A step of tree.yaml with all below it; its question is noted in :data:`QUESTIONS`."""
    if not isinstance(data, dict):
        return next(relation for relation in RELATIONS if relation == data)
    words = _DATA["questions"][data["ask"]]
    fields = {**words, **words.get(domain, {})}
    question = Question(data["ask"], fields["ask"], fields["means"], fields.get("unless"))
    QUESTIONS[domain].setdefault(question.id, question)
    return Step(question, _read_tree(data[True], domain), _read_tree(data[False], domain))


TREES = {domain: _read_tree(_DATA[domain], domain) for domain in DOMAINS}
_PATHS: dict[Domain, dict[Relation, Answers]] = {
    domain: {
        relation: {name: answer for name, answer in way.items() if name != AMBIGUOUS}
        for way, relation in paths(tree)
    }
    for domain, tree in TREES.items()
}
