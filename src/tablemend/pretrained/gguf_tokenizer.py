"""The tokenizer that a GGUF file describes.

transformers 5.17 reads SmolLM2's end of turn as its beginning and Gemma's pieces as a unigram
model; both then write other ids than the model was trained on. Built from the file's own lists,
Gemma's ids equal those of its published tokenizer.json, and Qwen2's those of its qwen.tiktoken.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tokenizers import AddedToken, Tokenizer, decoders, normalizers, pre_tokenizers, processors
from tokenizers.models import BPE
from transformers import PreTrainedTokenizerFast, Qwen2Tokenizer

from tablemend.errors import TablemendError

NORMAL, CONTROL, USER_DEFINED, UNUSED = 1, 3, 4, 5
"""Types of tokens in a GGUF file."""
SPACE = "▁"
"""SentencePiece's sign for a space."""


def read_tokenizer(fields: Mapping[str, Any], length: int) -> PreTrainedTokenizerFast:
    """A fast tokenizer with special tokens and chat template.

    Args:
        fields: ``GGUFReader.fields``.
        length: tokens that the model can read.

    Raises:
        TablemendError: another kind of tokenizer than SmolLM2's, Qwen2's or Gemma's.
    """

    def read(name: str) -> Any:
        return fields[name].contents() if name in fields else None

    kind = read("tokenizer.ggml.model"), read("tokenizer.ggml.pre")
    tokens, types = read("tokenizer.ggml.tokens"), read("tokenizer.ggml.token_type")
    if kind == ("gpt2", "smollm"):
        tokenizer = _byte_level(tokens, read("tokenizer.ggml.merges"))
    elif kind == ("gpt2", "qwen2"):
        # rows that fill the embeddings up are no tokens
        used = [token for token, type_ in zip(tokens, types, strict=True) if type_ != UNUSED]
        tokenizer = _byte_level(used, read("tokenizer.ggml.merges"), qwen=True)
    elif kind == ("llama", "default") and read("general.architecture") == "gemma3":
        tokens = [token.replace(" ", SPACE) for token in tokens]
        tokenizer = _sentencepiece(tokens, types)
    else:
        raise TablemendError(f"{kind[0]}/{kind[1]} is no tokenizer that can be read from GGUF")
    for wanted, special in ((USER_DEFINED, False), (CONTROL, True)):
        chosen = [token for token, type_ in zip(tokens, types, strict=True) if type_ == wanted]
        added = [AddedToken(token, normalized=False, special=special) for token in chosen]
        (tokenizer.add_special_tokens if special else tokenizer.add_tokens)(added)
    names = {"bos": "bos", "eos": "eos", "unk": "unknown", "pad": "padding"}
    ids = {name: read(f"tokenizer.ggml.{said}_token_id") for name, said in names.items()}
    named = {f"{name}_token": tokens[id_] for name, id_ in ids.items() if id_ is not None}
    if read("tokenizer.ggml.add_bos_token"):
        bos = named["bos_token"]
        pair = f"{bos} $A {bos}:1 $B:1"
        tokenizer.post_processor = processors.TemplateProcessing(
            single=f"{bos} $A", pair=pair, special_tokens=[(bos, ids["bos"])]
        )
    fast = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        model_max_length=length,
        clean_up_tokenization_spaces=False,
        **named,
    )
    fast.chat_template = read("tokenizer.chat_template")
    return fast


def _byte_level(tokens: list[str], merges: list[str], qwen: bool = False) -> Tokenizer:
    """GPT-2's, with every digit a token of its own; or Qwen2's, which has that in its pattern."""
    vocabulary = {token: number for number, token in enumerate(tokens)}
    pairs = [(first, last) for first, _, last in (merge.partition(" ") for merge in merges)]
    if qwen:
        backend: Tokenizer = Qwen2Tokenizer(vocabulary, pairs).backend_tokenizer
        return backend
    tokenizer = Tokenizer(BPE(vocabulary, pairs))
    digits, bytes_ = pre_tokenizers.Digits(True), pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([digits, bytes_])
    tokenizer.decoder = decoders.ByteLevel()
    return tokenizer


def _sentencepiece(tokens: list[str], types: list[int]) -> Tokenizer:
    """Byte-pair encoding whose merges follow from the order of the pieces.

    Runs of one sign (spaces, ends of lines) come first, the longest before all.
    """
    vocabulary = {token: number for number, token in enumerate(tokens)}
    runs: list[tuple[str, str]] = []
    merges: list[tuple[str, str]] = []
    for token, type_ in zip(tokens, types, strict=True):
        if type_ not in (NORMAL, USER_DEFINED):
            continue
        pairs = [(token[:cut], token[cut:]) for cut in range(1, len(token))]
        known = [pair for pair in pairs if pair[0] in vocabulary and pair[1] in vocabulary]
        known.sort(key=lambda pair: (vocabulary[pair[0]], vocabulary[pair[1]]))
        (runs if type_ == USER_DEFINED else merges).extend(known)
    runs.sort(key=lambda pair: (-len(pair[0]), -len(pair[1])))
    model = BPE(vocabulary, runs + merges, unk_token="<unk>", fuse_unk=True, byte_fallback=True)
    tokenizer = Tokenizer(model)
    tokenizer.normalizer = normalizers.Replace(" ", SPACE)
    tokenizer.pre_tokenizer = pre_tokenizers.Split(" ", "merged_with_previous")
    tokenizer.decoder = decoders.Sequence(
        [decoders.Replace(SPACE, " "), decoders.ByteFallback(), decoders.Fuse()]
    )
    return tokenizer
