"""What drawing answers holds in memory beside weights and optimizer, found without weights.

As in :mod:`.tracing`, the architecture's own code runs on tensors without content, as the
transformers backend calls it (:mod:`tablemend.backends.hf`): over the last prompts, when the others
are read, and for the last token of the longest answer, when the cache is full and grows once more.
The steps between hold less.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import astuple, dataclass, field
from typing import Any

import torch
from torch import Tensor
from torch._subclasses.fake_tensor import FakeTensorMode
from transformers import PretrainedConfig
from transformers.cache_utils import Cache

from tablemend.backends import kv
from tablemend.backends.hf import prefill_tokens
from tablemend.recipe.training import Lora
from tablemend.training.tracing import (
    Alive,
    computed_in,
    deepened,
    empty_model,
    layer_kinds,
    ready,
    shallow,
)

SLIDING = "sliding_attention"


@dataclass(frozen=True, slots=True)
class Rollout:
    """Answers that one process draws at once.

    Attributes:
        config: the architecture.
        dtype: of the weights.
        lora: adapters; ``None`` trains all weights.
        one_type: adapters have the type of the weights.
        autocast: compute in bfloat16.
        attention: name of the kernel in transformers.
        rows: answers.
        prompt, answer: most tokens of each.
        device: ``cuda`` or ``cpu``: how many tokens of prompts are read in one pass.
    """

    config: PretrainedConfig = field(compare=False)
    dtype: torch.dtype
    lora: Lora | None
    one_type: bool
    autocast: bool
    attention: str
    rows: int
    prompt: int
    answer: int
    device: str = "cuda"

    @property
    def pass_rows(self) -> int:
        """Prompts of the greatest length that are read in one pass."""
        return max(1, min(self.rows, prefill_tokens(self.device) // self.prompt))


@dataclass(frozen=True, slots=True)
class Drawn:
    """Bytes beside the weights.

    Attributes:
        reading: the most while the prompts are read.
        writing: the most while the last tokens are drawn.
        cache: of keys and values at the end, a part of ``writing``.
    """

    reading: int
    writing: int
    cache: int

    @property
    def peak(self) -> int:
        """The most at any time."""
        return max(self.reading, self.writing)


def drawn(rollout: Rollout) -> Drawn:
    """What drawing the answers holds."""
    return Drawn(*deepened(rollout.config, lambda kinds: astuple(_trace(rollout, kinds))))


def cache_bytes(config: PretrainedConfig, length: int, size: int = 2) -> int:
    """Keys and values of one row of so many tokens in vLLM, numbers of ``size`` bytes.

    Layers with a sliding window keep no more than that.
    """
    text = config.get_text_config()
    window = getattr(text, "sliding_window", None) or length
    kept = [min(length, window) if kind == SLIDING else length for kind in layer_kinds(config)]
    return 2 * sum(kept) * int(text.num_key_value_heads) * _head(text) * size


def _head(text: PretrainedConfig) -> int:
    """Numbers of a key."""
    return int(getattr(text, "head_dim", None) or text.hidden_size // text.num_attention_heads)


def _trace(rollout: Rollout, kinds: Sequence[str]) -> Drawn:
    config = shallow(rollout.config, kinds)
    model = empty_model(config, rollout.dtype, rollout.lora, one_type=rollout.one_type)
    with FakeTensorMode(allow_non_fake_inputs=True):
        alive = Alive()
        base = ready(model, rollout.attention, alive).eval()
        with alive, torch.inference_mode():
            read = others = None
            for rows, before in _passes(rollout):
                if read is not None:
                    others = _filled(read, before, rollout.prompt)
                    del read
                alive.enter("reading")
                read = kv.new_cache()
                _draw(rollout, base, read, rows, 0, rollout.prompt)
                if others is not None:
                    kv.join(others, read)
                others = None
                alive.enter("filling")
            assert read is not None
            known = rollout.prompt + rollout.answer - 1
            full = _filled(read, rollout.rows, known)
            del read
            cache = alive.bytes
            alive.enter("writing")
            _draw(rollout, base, full, rollout.rows, known, 1)
    return Drawn(alive.most["reading"], alive.most["writing"], cache)


def _passes(rollout: Rollout) -> Iterator[tuple[int, int]]:
    """The passes over prompts that hold the most: rows, and rows read before. The first, the last
    whole one, and the last.
    """
    whole = rollout.rows // rollout.pass_rows * rollout.pass_rows
    yield rollout.pass_rows, 0
    if whole > rollout.pass_rows:
        yield rollout.pass_rows, whole - rollout.pass_rows
    if rollout.rows > whole:
        yield rollout.rows - whole, whole


def _draw(rollout: Rollout, model: Any, cache: Cache, rows: int, known: int, length: int) -> Tensor:
    """One call of the model over new tokens behind the known ones, and the choice of the next."""
    whole = torch.ones(rows, 1, length, known + length, dtype=torch.bool)
    kinds = set(layer_kinds(model.config))  # the prompts have several lengths, so there is a mask
    masks = dict.fromkeys(kinds, whole) if SLIDING in kinds else whole
    with computed_in(rollout.autocast):
        logits = model(
            input_ids=torch.zeros(rows, length, dtype=torch.int64),
            attention_mask=masks,
            past_key_values=cache,
            use_cache=True,
            logits_to_keep=1,
        ).logits
    chances = torch.softmax(logits[:, -1].float() / 1.5, -1).cumsum(-1)  # any temperature but 0
    return torch.searchsorted(chances, chances[:, -1:])


def _filled(read: Cache, rows: int, length: int) -> Cache:
    """The cache of so many tokens, with the types that reading the prompts gave."""
    full = kv.new_cache()
    for place, layer in enumerate(read.layers):
        assert layer.keys is not None and layer.values is not None
        keys, values = (
            torch.empty((rows, part.shape[1], length, part.shape[-1]), dtype=part.dtype)
            for part in (layer.keys, layer.values)
        )
        full.update(keys, values, place)
    return full
