"""TRUE: how sure a model of inference is that the source entails the whole text.

Honovich et al. 2022, "TRUE: Re-evaluating factual consistency evaluation". Their model is a T5
that answers "1" to ``premise: ... hypothesis: ...``; any sequence-pair classifier with an output
for entailment works too. The premise is the whole table, one ``attribute: value`` after another.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from transformers import AutoModelForSeq2SeqLM, AutoModelForSequenceClassification

from tablemend.backends.checkpoints import Checkpoint
from tablemend.backends.loading import Loaded, batches, load, read_config
from tablemend.faithfulness.labels import read_labels
from tablemend.meta_evaluation.metrics.parent import Entries

DEFAULT = "google/t5_xxl_true_nli_mixture"


def score(
    predictions: Sequence[str],
    references: Sequence[Sequence[str]],
    tables: Sequence[Entries],
    model: str = DEFAULT,
) -> list[float | None]:
    """Probability that each text follows from its table, 0 to 1; references are not looked at.

    Args:
        predictions: the texts.
        references: not looked at.
        tables: the entries of the table that each text is about.
        model: folder or Hub name of a T5 that answers 1 or 0, or of a sequence-pair classifier.

    Returns:
        ``None`` where table and text are longer than the model reads: nothing is cut.

    Raises:
        TablemendError: an unusable model, or labels that do not say which is entailment.
    """
    pairs = [
        (serialise(table), prediction)
        for prediction, table in zip(predictions, tables, strict=True)
    ]
    checkpoint = Checkpoint.parse(model)
    config = read_config(checkpoint)
    if config.is_encoder_decoder and "T5" in (config.architectures or [""])[0]:
        loaded = load(checkpoint, AutoModelForSeq2SeqLM)
        texts = [f"premise: {premise} hypothesis: {text}" for premise, text in pairs]
        return _score(loaded, [(text,) for text in texts], _says_one)
    place = read_labels(model, config.id2label).index("supported")
    loaded = load(checkpoint, AutoModelForSequenceClassification)
    return _score(loaded, pairs, lambda own, inputs: own.model(**inputs).logits, place)


def serialise(table: Entries) -> str:
    """A table as one line of text.

    >>> serialise([["name", "Alba"], ["Rome", "capital of", "Italy"]])
    'name: Alba; Rome capital of Italy'
    """
    return "; ".join(": ".join(entry) if len(entry) == 2 else " ".join(entry) for entry in table)


def _says_one(loaded: Loaded, inputs: Any) -> torch.Tensor:
    """Logits of the answers 1 and 0 as the first word, (pairs, 2)."""
    start = loaded.config.decoder_start_token_id
    first = torch.full((len(inputs["input_ids"]), 1), start, device=loaded.device)
    ids = [
        loaded.tokenizer(answer, add_special_tokens=False)["input_ids"][-1] for answer in ("1", "0")
    ]
    logits: torch.Tensor = loaded.model(**inputs, decoder_input_ids=first).logits
    return logits[:, 0, ids]


@torch.inference_mode()
def _score(
    loaded: Loaded, pairs: Sequence[tuple[str, ...]], read: Any, place: int = 0
) -> list[float | None]:
    lengths = [len(loaded.tokenizer(*pair, verbose=False)["input_ids"]) for pair in pairs]
    order = sorted(
        (index for index, length in enumerate(lengths) if length <= loaded.window),
        key=lengths.__getitem__,
    )
    found: list[float | None] = [None] * len(pairs)
    for batch in batches(len(order), loaded.device):
        places = [order[index] for index in batch]
        columns = zip(*(pairs[index] for index in places), strict=True)
        inputs = loaded.tokenizer(
            *(list(column) for column in columns), padding=True, return_tensors="pt"
        ).to(loaded.device)
        shares = read(loaded, inputs).float().softmax(-1)[:, place].tolist()
        for index, share in zip(places, shares, strict=True):
            found[index] = share
    return found
