"""BERTScore and TRUE, the metrics of TabFaith's Table 2 that need a model, of any name or folder.

Nothing is cut: a text that is longer than its model reads has no score.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import torch
from transformers import AutoModelForSeq2SeqLM, AutoModelForSequenceClassification

from tablemend.backends.checkpoints import Checkpoint
from tablemend.backends.loading import load, named_failures, read_config, text_window
from tablemend.errors import TablemendError, not_installed
from tablemend.tables.serialisations import serialise
from tablemend.tables.table import Table
from tablemend.verifier.nli import read_labels

Scores = list[float | None]


@lru_cache(maxsize=1)
def load_bertscore(model: str) -> tuple[Any, int]:
    """bert-score's scorer of an encoder, and how many tokens that reads.

    Of encoders that its authors tuned it takes their layer (also in a folder of that name), else
    the last.

    Raises:
        TablemendError: the package is missing, or the encoder cannot be used.
    """
    try:
        from bert_score import BERTScorer
        from bert_score.utils import model2layers
    except ModuleNotFoundError as error:
        raise TablemendError(not_installed("bert_score")) from error
    checkpoint = Checkpoint.parse(model)
    config = read_config(checkpoint)
    name = checkpoint.path.rstrip("/")
    tuned = model2layers.get(name) or model2layers.get(name.rpartition("/")[2])
    with named_failures(checkpoint):
        scorer = BERTScorer(checkpoint.path, num_layers=tuned or config.num_hidden_layers)
    window = text_window(config, scorer._tokenizer)
    scorer._tokenizer.model_max_length = window  # unset, it is a number that tokenizers refuse
    return scorer, window


def bertscore(texts: Sequence[str], references: Sequence[Sequence[str]], model: str) -> Scores:
    """BERTScore's F of each text and its best reference (Zhang et al. 2020), by bert-score.

    Neither weighted by rarity nor rescaled.

    Args:
        texts: not empty.
        references: what people wrote, at least one text each that is not empty.
        model: folder or Hub name of an encoder.

    Raises:
        TablemendError: as :func:`load_bertscore`.
    """
    scorer, window = load_bertscore(model)

    def fits(text: str) -> bool:
        return len(scorer._tokenizer(text, verbose=False)["input_ids"]) <= window

    read = [[one for one in own if one.strip() and fits(one)] for own in references]
    usable = [bool(own) and fits(text) for text, own in zip(texts, read, strict=True)]
    asked = [(t, own) for t, own, use in zip(texts, read, usable, strict=True) if use]
    found = scorer.score(*map(list, zip(*asked, strict=True)))[2].tolist() if asked else []
    scores = iter(found)
    return [next(scores) if use else None for use in usable]


@lru_cache(maxsize=1)
def load_true(model: str) -> tuple[Any, int]:
    """A model of inference, and which of its outputs means that the text follows.

    Raises:
        TablemendError: no such model, or labels that do not say which is entailment.
    """
    checkpoint = Checkpoint.parse(model)
    config = read_config(checkpoint)
    if config.is_encoder_decoder:
        return load(checkpoint, AutoModelForSeq2SeqLM), 0
    place = read_labels(model, config.id2label).index("supported")
    return load(checkpoint, AutoModelForSequenceClassification), place


@torch.inference_mode()
def true(texts: Sequence[str], tables: Sequence[Sequence[Table]], model: str) -> Scores:
    """TRUE: how sure a model of inference is that a text follows from its whole table, 0 to 1.

    Honovich et al. 2022. A T5 such as theirs answers 1 or 0 to ``premise: ... hypothesis: ...``; of
    a sequence-pair classifier the output for entailment counts.

    Args:
        texts: the hypotheses.
        tables: the premises, row by row ``column is cell``.
        model: folder or Hub name, such as google/t5_xxl_true_nli_mixture.

    Raises:
        TablemendError: as :func:`load_true`.
    """
    loaded, place = load_true(model)
    tokenizer, more = loaded.tokenizer, {}
    scores: Scores = []
    for text, own in zip(texts, tables, strict=True):
        premise = "\n".join(serialise(table, "indexed_row_major") for table in own)
        pair = (premise, text)
        if loaded.model.config.is_encoder_decoder:
            pair = (f"premise: {premise} hypothesis: {text}", None)
            start = loaded.model.config.decoder_start_token_id
            more = {"decoder_input_ids": torch.tensor([[start]], device=loaded.device)}
        inputs = tokenizer(*pair, return_tensors="pt", verbose=False).to(loaded.device)
        if inputs["input_ids"].shape[1] > loaded.window:
            scores.append(None)
            continue
        logits = loaded.model(**inputs, **more).logits.float()
        if more:
            ids = [tokenizer(one, add_special_tokens=False)["input_ids"][-1] for one in "10"]
            logits = logits[:, 0, ids]
        scores.append(float(logits.softmax(-1)[0, place]))
    return scores
