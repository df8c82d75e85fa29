"""BLEU of a text against references (Papineni et al. 2002), by sacrebleu."""

from __future__ import annotations

from collections.abc import Sequence

from tablemend.errors import TablemendError
from tablemend.meta_evaluation.metrics.parent import Entries


def score(
    predictions: Sequence[str],
    references: Sequence[Sequence[str]],
    tables: Sequence[Entries] = (),
) -> list[float]:
    """Sentence BLEU of every text, 0 to 100, with sacrebleu's exponential smoothing.

    The tables are not looked at.

    Raises:
        TablemendError: a text without a reference.
        ModuleNotFoundError: without the extra ``metrics``.
    """
    from sacrebleu.metrics import BLEU

    for number, own in enumerate(references, 1):
        if not own:
            raise TablemendError(f"text {number} has no reference; BLEU needs one")
    metric = BLEU(effective_order=True)
    return [
        float(metric.sentence_score(prediction, list(own)).score)
        for prediction, own in zip(predictions, references, strict=True)
    ]
