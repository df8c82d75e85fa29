"""The program as an annotator: a solver decides formulas, evidence decides descriptions of hotels.

What neither can decide is unscored, with the reason. A model can put English that the program does
not read into formulas; the solver then decides those too.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import replace

from tablemend.backends.backend import Backend
from tablemend.datasets.logic.english import EnglishError, readings
from tablemend.datasets.logic.entailment import compare
from tablemend.datasets.logic.formalise import formalise
from tablemend.datasets.logic.formula import BLOCKS, Formula
from tablemend.datasets.logic.notation import FormulaError, parse_formula
from tablemend.datasets.logic.pair import Annotation, Pair
from tablemend.datasets.logic.solver import Judgement, Theory
from tablemend.errors import TablemendError
from tablemend.records import Relation
from tablemend.tasks.logic.command import PROGRAM
from tablemend.tasks.logic.tree import AMBIGUOUS, RELATION_WORDS, Question, follow, leaves, path_to

FREE = "the output is not in controlled English"
Meaning = tuple[Formula, ...] | str
"""The readings of an output, or why there are none."""


def annotate_by_program(
    pairs: Sequence[Pair], formaliser: Backend | None, added: bool, theory: Theory
) -> Iterator[Annotation]:
    """What the program says of each pair, in their order.

    ``formaliser`` writes formulas for English that is not controlled, which is unscored without
    one; ``added`` answers questions that the paper's tree lacks as well.

    Raises:
        Stopped: the formaliser's server is gone.
    """
    meant = _meanings([one.output for one in pairs if one.domain == "logic"], formaliser)
    for one in pairs:
        start = time.perf_counter()
        if one.domain == "hotel":
            annotation = _of_hotel(one, added)
        else:
            annotation = _of_formulas(one, meant[one.output], added, theory)
        yield replace(annotation, seconds=time.perf_counter() - start)


def _meanings(texts: Sequence[str], formaliser: Backend | None) -> dict[str, Meaning]:
    meant: dict[str, Meaning] = {}
    for text in texts:
        try:
            meant[text] = readings(text) or FREE
        except EnglishError as error:
            meant[text] = str(error)
    if formaliser is not None:
        free = [text for text, meaning in meant.items() if meaning == FREE]
        for text, found in zip(free, formalise(free, formaliser), strict=True):
            meant[text] = (found.formula,) if found.formula else f"no formula: {found.reason}"
    return meant


def _judge(text: str, outputs: Sequence[Formula], theory: Theory) -> Judgement:
    """The relation that every reading of the output has."""
    try:
        input = parse_formula(text, BLOCKS)
    except FormulaError as error:
        return Judgement(None, f"the input: {error}")
    first = theory.judge(input, outputs[0])
    for output in outputs[1:] if first.relation else ():
        other = theory.judge(input, output)
        if other.relation is None:
            return other
        if other != first:
            differ = f"{first.relation}, {other.relation}"
            return Judgement(None, f"{len(outputs)} readings, which differ: {differ}")
    return first


def _of_formulas(pair: Pair, outputs: Meaning, added: bool, theory: Theory) -> Annotation:
    if isinstance(outputs, str):
        return _annotation(pair, None, outputs, added)
    found = _judge(pair.input, outputs, theory)
    return _annotation(pair, *found, added, ambiguous=len(outputs) > 1)


def _of_hotel(pair: Pair, added: bool) -> Annotation:
    try:
        found = compare(pair.input, pair.output)
    except TablemendError as error:
        return _annotation(pair, None, f"the input: {error}", added)
    annotation = _annotation(pair, found.relation, found.unscored, added)
    if annotation.unscored:
        return annotation
    return replace(
        annotation,
        divergent_input=tuple(sorted(found.missing)),
        divergent_output=tuple(sorted(span for span, _ in found.divergent)),
        wrong=tuple(sorted(span for span, kind in found.divergent if kind == "wrong")),
    )


def _annotation(
    pair: Pair, relation: Relation | None, reason: str, added: bool, ambiguous: bool = False
) -> Annotation:
    """With the path to the relation; unscored where the tree without additions has no such path."""
    path: dict[str, bool] = {}
    if relation is not None and relation not in leaves(pair.domain):
        reason = f"{RELATION_WORDS[relation][0]}, which the tree does not have"
        relation = None
    elif relation is not None:
        answers = {**path_to(pair.domain, relation), AMBIGUOUS: ambiguous}
        path, leaf = follow(pair.domain, answers, added)
        if isinstance(leaf, Question):
            relation, reason = None, f"nothing answers: {leaf.ask}"
        else:
            relation = leaf
    return Annotation(PROGRAM, pair.id, path, relation, reason)
