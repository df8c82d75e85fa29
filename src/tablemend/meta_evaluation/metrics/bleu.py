"""BLEU of a text against references (Papineni et al. 2002), by sacrebleu."""

from __future__ import annotations

from collections.abc import Sequence

from tablemend.errors import TablemendError
from tablemend.meta_evaluation.metrics.parent import Entries


def score(
    predictions: Sequence[str],
    references: Sequence[Sequence[str]],
    tables: Sequence[Entries] = (),
    lowercase: bool = False,
) -> list[float]:
    """Sentence BLEU of every text, 0 to 100, with sacrebleu's exponential smoothing.

    The tables are not looked at.

    Raises:
        TablemendError: a text without a reference.
        ModuleNotFoundError: without the extra ``metrics``.
    """
    from sacrebleu.metrics import BLEU

    metric = BLEU(effective_order=True, lowercase=lowercase)
    return [
        float(metric.sentence_score(prediction, _given(own, number)).score)
        for number, (prediction, own) in enumerate(zip(predictions, references, strict=True), 1)
    ]


def corpus_score(
    predictions: Sequence[str], references: Sequence[Sequence[str]], lowercase: bool = False
) -> float:
    """Corpus BLEU of all texts together, 0 to 100; texts may have any number of references.

    Raises:
        TablemendError: no text, or one without a reference.
        ModuleNotFoundError: without the extra ``metrics``.
    """
    from sacrebleu.metrics import BLEU

    if not predictions:
        raise TablemendError("there is no text to score (BLEU)")
    most = max(len(_given(own, number)) for number, own in enumerate(references, 1))
    # sacrebleu takes one list a place; None marks the places that a text leaves empty
    streams = [
        [own[place] if place < len(own) else None for own in references] for place in range(most)
    ]
    return float(BLEU(lowercase=lowercase).corpus_score(list(predictions), streams).score)


def _given(references: Sequence[str], number: int) -> list[str]:
    if not references:
        raise TablemendError(f"text {number} has no reference; BLEU needs one")
    return list(references)
