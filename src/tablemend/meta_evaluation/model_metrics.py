"""BERTScore and TRUE, the metrics of TabFaith's Table 2 that need a model, of any name or folder.

Nothing is cut: a text that is longer than its model reads has no score.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import chain
from typing import Any

import torch
from transformers import AutoModelForSequenceClassification

from tablemend.backends.checkpoints import Checkpoint
from tablemend.backends.loading import load, named_failures, read_config, text_window
from tablemend.errors import TablemendError, not_installed
from tablemend.tables.serialisations import serialise
from tablemend.tables.table import Table
from tablemend.verifier.nli import read_labels

Scores = list[float | None]


@lru_cache(maxsize=1)
def _load_bertscore(model: str) -> tuple[Any, int]:
    """bert-score's scorer of an encoder, and how many tokens that reads.

    The layer is the one that its authors tuned, also of a folder of that name, else the last.
    """
    try:
        from bert_score import BERTScorer
        from bert_score.utils import model2layers
    except ModuleNotFoundError as error:
        raise TablemendError(not_installed("bert_score")) from error
    checkpoint = Checkpoint.parse(model)
    config = read_config(checkpoint)
    tuned = model2layers.get(model) or model2layers.get(model.rstrip("/").rpartition("/")[2])
    with named_failures(checkpoint):
        scorer = BERTScorer(checkpoint.path, num_layers=tuned or config.num_hidden_layers)
    window = text_window(config, scorer._tokenizer)
    scorer._tokenizer.model_max_length = window  # unset, it is a number that tokenizers refuse
    return scorer, window


def bertscore(texts: Sequence[str], references: Sequence[Sequence[str]], model: str) -> Scores:
    """BERTScore's F of each text and its best reference (Zhang et al. 2020), by bert-score.

    Neither weighted by rarity nor rescaled; ``model`` is the folder or Hub name of an encoder.

    Raises:
        TablemendError: the package is missing, or the encoder cannot be used.
    """
    scorer, window = _load_bertscore(model)

    def fits(text: str) -> bool:
        return 0 < len(scorer._tokenizer(text, verbose=False)["input_ids"]) <= window

    read = [[one for one in own if one.strip() and fits(one)] for own in references]
    asked = [i for i, text in enumerate(texts) if read[i] and fits(text)]
    if not asked:
        return [None] * len(texts)
    found = scorer.score([texts[i] for i in asked], [read[i] for i in asked])[2].tolist()
    scores = dict(zip(asked, found, strict=True))
    return [scores.get(i) for i in range(len(texts))]


@lru_cache(maxsize=1)
def _load_true(model: str) -> tuple[Any, int]:
    """A model of inference, and which of its outputs means that the text follows."""
    checkpoint = Checkpoint.parse(model)
    place = read_labels(model, read_config(checkpoint).id2label).index("supported")
    return load(checkpoint, AutoModelForSequenceClassification), place


@torch.inference_mode()
def true(texts: Sequence[str], tables: Sequence[Sequence[Table]], model: str) -> Scores:
    """TRUE: how sure a model of inference is that a text follows from its whole table, 0 to 1.

    Honovich et al. 2022; ``model`` is the folder or Hub name of a classifier of pairs with an
    output for entailment.

    Raises:
        TablemendError: no such model, or labels that do not say which is entailment.
    """
    loaded, place = _load_true(model)
    scores: Scores = []
    for text, own in zip(texts, tables, strict=True):
        parts = ((table.title, serialise(table, "indexed_row_major")) for table in own)
        premise = "\n".join(filter(None, chain.from_iterable(parts)))
        inputs = loaded.tokenizer(premise, text, return_tensors="pt", verbose=False)
        if inputs["input_ids"].shape[1] > loaded.window:
            scores.append(None)
            continue
        logits = loaded.model(**inputs.to(loaded.device)).logits
        scores.append(float(logits.float().softmax(-1)[0, place]))
    return scores
