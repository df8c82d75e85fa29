"""The tiny base's own tokenizer: a small byte-level BPE with Qwen3's special tokens."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast

TEMPLATE = Path(__file__).with_name("qwen3.jinja")
END_OF_TURN = "<|im_end|>"
SPECIAL_TOKENS = ["<|endoftext|>", "<|im_start|>", END_OF_TURN, "<think>", "</think>"]

# A word or a whole number takes its leading space along: a year or a count is one token.
SPLIT = Regex(r" ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+\n*|\s*\n+|\s+")


def train_tokenizer(
    texts: Iterable[str], vocab_size: int, context_length: int
) -> PreTrainedTokenizerFast:
    """Train a byte-level BPE on ``texts``; any text can be encoded.

    Args:
        texts: the training texts.
        vocab_size: entries, special tokens and the 256 bytes included.
        context_length: ``model_max_length`` of the result.
    """
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(SPLIT, behavior="isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=vocab_size,
        special_tokens=SPECIAL_TOKENS,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(texts, trainer)
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        eos_token=END_OF_TURN,
        pad_token="<|endoftext|>",
        model_max_length=context_length,
        padding_side="left",
        clean_up_tokenization_spaces=False,
        chat_template=TEMPLATE.read_text(),
    )
