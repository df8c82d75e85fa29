"""Random BERTs of single characters, small enough for a test."""

from __future__ import annotations

import string
from pathlib import Path
from typing import Any

import transformers

SYMBOLS = string.ascii_letters + string.digits + string.punctuation


def save_bert_tokenizer(folder: Path, window: int) -> int:
    """A tokenizer of characters, saved; the size of its vocabulary."""
    tokens = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *SYMBOLS]
    tokens += [f"##{symbol}" for symbol in SYMBOLS]
    vocabulary = {token: number for number, token in enumerate(tokens)}
    transformers.BertTokenizer(vocab=vocabulary, model_max_length=window).save_pretrained(folder)
    return len(tokens)


def tiny_bert_config(
    folder: Path, window: int, layers: int = 1, **more: Any
) -> transformers.BertConfig:
    """The configuration of a BERT whose tokenizer is saved in a folder."""
    return transformers.BertConfig(
        vocab_size=save_bert_tokenizer(folder, window),
        hidden_size=16,
        num_hidden_layers=layers,
        num_attention_heads=2,
        intermediate_size=16,
        max_position_embeddings=window,
        **more,
    )
