"""Loading the encoders and checkers that BERTScore and TRUE need."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import torch
from transformers import AutoConfig, AutoTokenizer

from tablemend.backends.checkpoints import Checkpoint
from tablemend.backends.hf import named_failures
from tablemend.errors import TablemendError

BATCH = {"cpu": 16, "cuda": 128}
"""Texts, or pairs of texts, in one pass."""


class Loaded(NamedTuple):
    """A model that is ready, with what reads its texts.

    Attributes:
        window: most tokens that it reads.
    """

    model: Any
    tokenizer: Any
    config: Any
    window: int
    device: str


def read_config(name: str, revision: str | None = None) -> Any:
    """The configuration of a checkpoint.

    Raises:
        TablemendError: no such checkpoint.
    """
    checkpoint = Checkpoint.parse(name, revision)
    checkpoint.check()
    with named_failures(checkpoint):
        return AutoConfig.from_pretrained(checkpoint.path, revision=checkpoint.revision)


def load(
    name: str,
    kind: Any,
    spare: Sequence[str] = (),
    revision: str | None = None,
    tokenizer_kind: Any = AutoTokenizer,
) -> Loaded:
    """A folder or Hub name as a model of one of transformers' Auto classes, on the GPU if any.

    Args:
        name: the checkpoint.
        kind: ``AutoModel...``.
        spare: first words of weights that may be missing because they are not used.
        revision: commit or tag on the Hub.
        tokenizer_kind: the tokenizer's class, where the checkpoint's own is no more.

    Raises:
        TablemendError: no such checkpoint, or one whose weights are of another kind.
    """
    config = read_config(name, revision)
    checkpoint = Checkpoint.parse(name, revision)
    place = {"revision": checkpoint.revision}
    with named_failures(checkpoint):
        tokenizer = tokenizer_kind.from_pretrained(checkpoint.path, **place)
        model, info = kind.from_pretrained(checkpoint.path, output_loading_info=True, **place)
    # transformers makes up at random what a checkpoint lacks
    missing = sorted(info["missing_keys"]) + sorted(map(str, info["mismatched_keys"]))
    lacking = [key for key in missing if not key.startswith(tuple(spare))]
    if lacking:
        raise TablemendError(
            f"{name} lacks {len(lacking)} weights, first {lacking[0]}: name a model that was "
            "trained for this"
        )
    device = "cuda" if torch.cuda.is_available() else "cpu"
    positions = getattr(config, "max_position_embeddings", None) or tokenizer.model_max_length
    window = min(int(tokenizer.model_max_length), int(positions))
    if config.model_type in ("roberta", "xlm-roberta", "camembert"):
        window = min(window, int(positions) - config.pad_token_id - 1)  # counted behind the padding
    return Loaded(model.eval().to(device), tokenizer, config, window, device)


def batches(count: int, device: str) -> Iterator[range]:
    """Places 0 to ``count`` - 1, a batch at a time."""
    size = BATCH[device]
    for start in range(0, count, size):
        yield range(start, min(count, start + size))
