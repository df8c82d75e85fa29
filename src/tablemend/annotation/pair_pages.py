"""Pages on which people annotate pairs by the decision tree, after training and check."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tablemend.annotation.page import one_file
from tablemend.datasets.logic.notation import FormulaError, parse_formula, show_indented
from tablemend.datasets.logic.pair import Domain, Pair
from tablemend.records import Relation
from tablemend.runs import hash_text
from tablemend.tasks.logic import protocol
from tablemend.tasks.logic.tree import AMBIGUITY_WORDS, QUESTIONS, TREES, Step

ANSWERS = "tablemend-pairs"
"""What an answer file says that it is."""


def sample_hash(pairs: Sequence[Pair]) -> str:
    """Of the pairs of one page, in their order."""
    return hash_text("\n".join(pair.id for pair in pairs))


def write_pair_page(
    annotator: str, domain: Domain, pairs: Sequence[Pair], added: bool = False
) -> str:
    """The whole page of one annotator; it holds no label of a pair, and neither loads nor sends.

    The pairs are of this domain, in the order of the page; ``added`` asks questions that the
    paper's tree lacks as well.
    """
    opening = protocol.opening(domain)[0]["content"]
    content = {
        "format": ANSWERS,
        "protocol": protocol.PROTOCOL_HASH,
        "sample": sample_hash(pairs),
        "annotator": annotator,
        "domain": domain,
        "guidelines": [part for part in opening.split("\n\n") if part.strip()],
        "tree": _nested(TREES[domain], added),
        "questions": {name: one._asdict() for name, one in QUESTIONS[domain].items()},
        "marks": protocol.MARKS,
        "faithful": protocol.FAITHFUL,
        "kinds": AMBIGUITY_WORDS,
        "lessons": [_lesson(domain, one) for one in protocol.lessons(domain, added)],
        "check": _check() if domain == "hotel" else None,
        "pairs": [
            {"id": pair.id, "input": _shown(domain, pair.input), "output": pair.output}
            for pair in pairs
        ],
    }
    return one_file("Input and Output", "pairs.js", ("page.css", "pairs.css"), content)


def _nested(node: Step | Relation, added: bool) -> Any:
    """A tree as the script walks it; without what goes without asking."""
    if not isinstance(node, Step):
        return node
    unless = None if added else node.question.unless
    if unless is not None:
        return _nested(node.yes if unless else node.no, added)
    yes, no = _nested(node.yes, added), _nested(node.no, added)
    return {"ask": node.question.id, "yes": yes, "no": no}


def _lesson(domain: Domain, lesson: protocol.Lesson) -> dict[str, Any]:
    feedback = {"yes": lesson.feedback[True], "no": lesson.feedback[False]}
    shown = {"input": _shown(domain, lesson.input), "wanted": lesson.wanted, "feedback": feedback}
    return lesson.to_json() | shown


def _check() -> dict[str, Any]:
    check = protocol.CHECK
    harmless, wrong = check.divergent_output
    shown = {"id": check.id, "input": check.input, "output": check.output}
    return {**shown, "relations": list(check.labels), "harmless": harmless, "wrong": wrong}


def _shown(domain: Domain, text: str) -> str:
    """A formula over several lines, as long ones are hard to read; anything else as it is."""
    try:
        return show_indented(parse_formula(text)) if domain == "logic" else text
    except FormulaError:
        return text
