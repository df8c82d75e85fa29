"""The decision tree that leads an annotator to a relation, question by question (tree.yaml)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple, get_args

import yaml

from tablemend.datasets.logic.pair import AMBIGUITIES, Ambiguity, Domain
from tablemend.records import RELATIONS, Relation

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


def walk(domain: Domain, answers: Answers, added: bool = True) -> Question | Relation:
    """The next question, or the relation that the answers lead to; see :func:`follow`."""
    return follow(domain, answers, added)[1]


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


def _questions(node: Step | Relation) -> dict[str, Question]:
    if not isinstance(node, Step):
        return {}
    return {node.question.id: node.question, **_questions(node.yes), **_questions(node.no)}


def read_tree(
    data: Mapping[str, Any],
) -> tuple[dict[Domain, Step], dict[Relation, tuple[str, str]], dict[Ambiguity, str]]:
    """The trees, the titles and meanings of the relations, and the kinds of ambiguity.

    Raises:
        ValueError: a step without both ways, an unknown question or relation, a question twice on
            one way, a relation that two ways lead to, or anything that is never used.
    """
    if tuple(data["relations"]) != RELATIONS or tuple(data["ambiguities"]) != AMBIGUITIES:
        raise ValueError("relations and ambiguities: all of the records', in their order")
    trees = {domain: _step(data[domain], data["questions"], domain) for domain in DOMAINS}
    for domain, tree in trees.items():
        ways = list(paths(tree))
        apart = {(*_told(way).items(), relation) for way, relation in ways}
        if len(apart) > len({relation for _, relation in ways}):
            raise ValueError(f"{domain}: two ways lead to one relation")
    if unused := data["questions"].keys() - set().union(*map(_questions, trees.values())):
        raise ValueError(f"questions that no tree asks: {', '.join(sorted(unused))}")
    return trees, {k: tuple(v) for k, v in data["relations"].items()}, data["ambiguities"]


def _step(
    data: Any, questions: Mapping[str, Any], domain: Domain, above: tuple[str, ...] = ()
) -> Step:
    if not isinstance(data, dict) or data.keys() != {"ask", True, False}:
        raise ValueError(f"{domain}: a step needs ask, yes and no, has {sorted(map(str, data))}")
    name = data["ask"]
    if name not in questions or name in above:
        raise ValueError(f"{domain}: {name} is no question, or is asked twice on one way")
    fields = {**questions[name], **questions[name].get(domain, {})}
    ways: list[Step | Relation] = []
    for way in (data[True], data[False]):
        leaf = [relation for relation in RELATIONS if relation == way]
        if isinstance(way, str) and not leaf:
            raise ValueError(f"{domain}: no relation {way}")
        ways += leaf or [_step(way, questions, domain, (*above, name))]
    return Step(Question(name, fields["ask"], fields["means"], fields.get("unless")), *ways)


def _told(way: Answers) -> Answers:
    return {name: answer for name, answer in way.items() if name != AMBIGUOUS}


_DATA: Mapping[str, Any] = yaml.safe_load(Path(__file__).with_name("tree.yaml").read_text("utf-8"))
TREES, RELATION_WORDS, AMBIGUITY_WORDS = read_tree(_DATA)
WORDING: Mapping[str, Any] = _DATA["wording"]
"""What else is asked beside the questions of the tree, and how to answer."""
_PATHS: dict[Domain, dict[Relation, Answers]] = {
    domain: {relation: _told(way) for way, relation in paths(TREES[domain])} for domain in DOMAINS
}
QUESTIONS = {domain: _questions(tree) for domain, tree in TREES.items()}
"""The questions of each domain by their id."""
