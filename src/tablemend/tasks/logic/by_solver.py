"""The solver as an annotator: a model writes outputs as formulas, z3 decides how they relate.

What is not put into a formula, or not decided, is unscored, with the reason.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import replace

from tablemend.backends.backend import Backend
from tablemend.datasets.logic.formalise import formalise
from tablemend.datasets.logic.formula import BLOCKS, Formula
from tablemend.datasets.logic.notation import FormulaError, parse_formula
from tablemend.datasets.logic.pair import Annotation, Pair
from tablemend.datasets.logic.solver import Judgement, Theory
from tablemend.tasks.logic.command import SOLVER
from tablemend.tasks.logic.tree import AMBIGUOUS, Question, follow, path_to


def annotate_by_solver(
    pairs: Sequence[Pair], formaliser: Backend, added: bool, theory: Theory
) -> Iterator[Annotation]:
    """The relation of each pair of the logic domain, in their order; hotels are unscored.

    ``formaliser`` writes the formulas of outputs; ``added`` answers questions that the paper's
    tree lacks as well.

    Raises:
        Stopped: the formaliser's server is gone.
    """
    texts = list(dict.fromkeys(one.output for one in pairs if one.domain == "logic"))
    written = dict(zip(texts, formalise(texts, formaliser), strict=True))
    for pair in pairs:
        start = time.perf_counter()
        if pair.domain == "hotel":
            found = Judgement(None, "a description is not put into a formula")
        elif (output := written[pair.output].formula) is None:
            found = Judgement(None, f"no formula: {written[pair.output].reason}")
        else:
            found = _judge(pair.input, output, theory)
        annotation = _annotation(pair, found, added)
        yield replace(annotation, seconds=time.perf_counter() - start)


def _judge(text: str, output: Formula, theory: Theory) -> Judgement:
    try:
        return theory.judge(parse_formula(text, BLOCKS), output)
    except FormulaError as error:
        return Judgement(None, f"the input: {error}")


def _annotation(pair: Pair, found: Judgement, added: bool) -> Annotation:
    """With the path to the relation; unscored where the tree without additions has no such path."""
    if found.relation is None:
        return Annotation(SOLVER, pair.id, unscored=found.reason)
    answers = {**path_to(pair.domain, found.relation), AMBIGUOUS: False}
    path, leaf = follow(pair.domain, answers, added)
    if isinstance(leaf, Question):
        return Annotation(SOLVER, pair.id, path, unscored=f"nothing answers: {leaf.ask}")
    return Annotation(SOLVER, pair.id, path, leaf)
