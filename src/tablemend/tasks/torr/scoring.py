"""How an answer of each data set is scored, 0 to 1 (The Mighty ToRR, Table 1 and A.3).

Where the paper is silent, what its library does is followed (IBM/unitxt): which ROUGE it is, that
an answer is the first line that says something, and what of TableBench's answers is left out.
"""

from __future__ import annotations

import re
import string
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from importlib import import_module
from typing import Any

from tablemend.errors import TablemendError, install
from tablemend.tables.table import Table
from tablemend.tasks.torr.finqa_program import ProgramError, execution_accuracy, program_accuracy
from tablemend.values.text import fold, split_tokens

LABELS = ("refuted", "entailed")
"""Of TabFact: any other answer is wrong."""
_EDGES = string.punctuation + string.whitespace
_END_OF_LABEL = re.compile(r"[.,!?;]")
_FINAL_ANSWER = re.compile(r"final answer[*_ ]*+:", re.IGNORECASE)
_PUNCTUATION = str.maketrans("", "", string.punctuation)
_ARTICLE = re.compile(r"\b(?:a|an|the)\b")
_ROUGE_WORD = re.compile(r"[a-z0-9]", re.IGNORECASE)


class Unscored(TablemendError):
    """No score is possible, whatever the answer: the message says why."""


def first_line(text: str) -> str:
    """The first line that says something, without the spaces around it; empty for none."""
    return next((line.strip() for line in text.splitlines() if line.strip()), "")


def final_answer(text: str) -> str:
    """The line behind the last ``Final Answer:`` (Figure 23), else the first line."""
    return first_line(_FINAL_ANSWER.split(text)[-1])


@cache
def load_rouge() -> Any:
    """The scorer of ROUGE-L without stemming; loaded before anything is generated.

    Raises:
        TablemendError: the package rouge-score is missing.
    """
    try:
        module = import_module("rouge_score.rouge_scorer")
    except ModuleNotFoundError as error:
        raise TablemendError(f"ROUGE needs rouge-score: {install('metrics')}") from error
    return module.RougeScorer(["rougeL"], use_stemmer=False)


def rouge(answer: str, reference: str) -> float:
    """F-measure of ROUGE-L (Lin 2004) over words of a-z and 0-9, by rouge-score.

    Raises:
        Unscored: the reference has no such word.
        TablemendError: the package rouge-score is missing.
    """
    if not _ROUGE_WORD.search(reference):
        raise Unscored("the reference has no word that ROUGE counts")
    return float(load_rouge().score(reference, answer)["rougeL"].fmeasure)


def final_answer_rouge(answer: str, reference: str) -> float:
    """:func:`rouge` of TableBench's final answer, without punctuation and articles.

    Punctuation goes before words are counted: 10.6 is one word. Raises what :func:`rouge` raises.
    """
    return rouge(_plain(final_answer(answer)), _plain(final_answer(reference)))


def token_f1(answer: str, reference: str) -> float:
    """F1 of two sets of tokens (footnote 8) of the first lines.

    Tokens are folded words and numbers; 1,234.0 is 1234. A text without any is one token.
    """
    found, wanted = _tokens(answer), _tokens(reference)
    return 2 * len(found & wanted) / (len(found) + len(wanted))


def label_accuracy(answer: str, reference: str) -> float:
    """1 where the first line, up to a full stop, comma or the like, is the label; 0 otherwise.

    Raises:
        Unscored: the reference is none of :data:`LABELS`.
    """
    if reference not in LABELS:
        raise Unscored(f"the reference is none of {', '.join(LABELS)}")
    label = _END_OF_LABEL.split(first_line(answer).strip(_EDGES), maxsplit=1)[0]
    return float(label.strip(_EDGES).casefold() == reference)


def type_match(answer: str, reference: str) -> float:
    """1 where the first line lists the same types, apart by commas, in any order; 0 otherwise."""
    return float(_types(answer) == _types(reference) != frozenset())


def _plain(text: str) -> str:
    return " ".join(_ARTICLE.sub(" ", text.lower().translate(_PUNCTUATION)).split())


def _tokens(text: str) -> frozenset[str]:
    line = first_line(text)
    return frozenset(split_tokens(line).words) or frozenset([fold(line)])


def _types(text: str) -> frozenset[str]:
    parts = (part.strip(_EDGES).casefold() for part in first_line(text).split(","))
    return frozenset(filter(None, parts))


def _best(score: Callable[[str, str], float]) -> Scorer:
    """The best score over the references."""

    def best(answer: str, references: Sequence[str], table: Table) -> float:
        if not (references and all(map(str.strip, references))):
            raise Unscored("there is no reference, or an empty one")
        try:
            return max(score(answer, one) for one in references)
        except ProgramError as error:
            raise Unscored(f"the reference cannot be read: {error}") from error

    return best


def _execution(answer: str, references: Sequence[str], table: Table) -> float:
    line = first_line(answer)
    score = _best(lambda _, gold: float(execution_accuracy(line, gold, table)))
    return score(answer, references, table)


Scorer = Callable[[str, Sequence[str], Table], float]
METRICS: Mapping[str, Scorer] = {
    "program_accuracy": _best(lambda text, gold: float(program_accuracy(first_line(text), gold))),
    "execution_accuracy": _execution,
    "rouge": _best(rouge),
    "final_answer_rouge": _best(final_answer_rouge),
    "token_f1": _best(token_f1),
    "label_accuracy": _best(label_accuracy),
    "type_match": _best(type_match),
}
"""By name: the score, 0 to 1, of an answer (its thinking cut off), its references and the table.

One reference is enough. References are gold programs for ``program_accuracy``, gold answers for
``execution_accuracy``. :class:`Unscored` is raised where no answer could be scored; a failed
request has no answer and is not asked for here.
"""
