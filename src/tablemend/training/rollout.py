"""What drawing answers holds in memory beside weights and optimizer, found without weights.

As in :mod:`.tracing`, the architecture's own code runs on tensors without content, as ``generate``
calls it: once over the prompts, and once for the last token of the longest answer, when the cache
is full. The steps between hold less.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import astuple, dataclass, field
from typing import Any

import torch
from torch import Tensor
from torch._subclasses.fake_tensor import FakeTensorMode
from transformers import DynamicCache, PretrainedConfig

from tablemend.config import Lora
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
    """Answers that one process draws at once with ``generate``.

    Attributes:
        config: the architecture.
        dtype: of the weights.
        lora: adapters; ``None`` trains all weights.
        one_type: adapters have the type of the weights.
        autocast: compute in bfloat16.
        attention: name of the kernel in transformers.
        rows: answers.
        prompt, answer: most tokens of each.
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
    """Keys and values of one row of so many tokens, numbers of ``size`` bytes, in all layers."""
    text = config.get_text_config()
    head = getattr(text, "head_dim", None) or text.hidden_size // text.num_attention_heads
    window = getattr(text, "sliding_window", None) or length
    kept = [min(length, window) if kind == SLIDING else length for kind in layer_kinds(config)]
    return 2 * sum(kept) * int(text.num_key_value_heads) * int(head) * size


def _trace(rollout: Rollout, kinds: Sequence[str]) -> Drawn:
    config = shallow(rollout.config, kinds)
    model = empty_model(config, rollout.dtype, rollout.lora, one_type=rollout.one_type)
    with FakeTensorMode(allow_non_fake_inputs=True):
        alive = Alive()
        base = ready(model, rollout.attention, alive)
        text = config.get_text_config()
        with alive, torch.no_grad():
            alive.enter("reading")
            read = DynamicCache(config=text)
            _draw(rollout, base, read, 0, rollout.prompt)
            alive.enter("filling")
            known = rollout.prompt + rollout.answer - 1
            full = _filled(read, text, known)
            del read
            cache = alive.bytes
            alive.enter("writing")
            _draw(rollout, base, full, known, 1)
    return Drawn(alive.most["reading"], alive.most["writing"], cache)


def _draw(rollout: Rollout, model: Any, cache: DynamicCache, known: int, length: int) -> Tensor:
    """One call of the model over new tokens behind the known ones, and the choice of the next."""
    ids = torch.zeros(rollout.rows, length, dtype=torch.int64)
    whole = torch.ones(rollout.rows, 1, length, known + length, dtype=torch.bool)
    masks: Any = whole  # the prompts have several lengths, so there is one
    kinds = set(layer_kinds(model.config))
    if SLIDING in kinds:
        window = int(model.config.get_text_config().sliding_window)
        seen = min(known, window - 1) + length
        masks = dict.fromkeys(kinds, whole) | {SLIDING: whole[..., -seen:]}
    with computed_in(rollout.autocast):
        hidden = model.get_decoder()(
            input_ids=ids, attention_mask=masks, past_key_values=cache, use_cache=True
        ).last_hidden_state
        logits = model.get_output_embeddings()(hidden[:, -1:])
    scores = logits[:, -1].to(copy=True, dtype=torch.float32)
    del hidden, logits
    chances = (scores / 1.5).softmax(-1)  # any temperature but 1
    return torch.multinomial(chances, 1)


def _filled(read: DynamicCache, text: PretrainedConfig, length: int) -> DynamicCache:
    """The cache of so many tokens, with the shapes and types that reading the prompts gave."""
    full = DynamicCache(config=text)
    for place, layer in enumerate(read.layers):
        assert layer.keys is not None and layer.values is not None
        window = getattr(layer, "sliding_window", None)
        kept = min(length, window - 1) if window else length
        parts = [
            torch.empty((*part.shape[:-2], kept, part.shape[-1]), dtype=part.dtype)
            for part in (layer.keys, layer.values)
        ]
        full.update(*parts, place)
    return full
