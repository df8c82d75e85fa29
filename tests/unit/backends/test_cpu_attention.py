"""Attention of one new token on a CPU is what torch's is."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from transformers import (  # noqa: E402
    AttentionInterface,
    AutoModelForCausalLM,
    Gemma3TextConfig,
    Qwen3Config,
)
from transformers.integrations.sdpa_attention import sdpa_attention_forward  # noqa: E402

from tablemend.backends import decoding  # noqa: E402

SHAPE = {
    "vocab_size": 64,
    "hidden_size": 16,
    "intermediate_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 8,
}
CONFIGS = {
    "causal": Qwen3Config(**SHAPE),
    "sliding window": Gemma3TextConfig(
        **SHAPE, sliding_window=8, layer_types=["sliding_attention", "full_attention"]
    ),
}


@pytest.fixture
def no_torch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(decoding, "sdpa_attention_forward", None)


def given(queries: int, key_heads: int, width: int = 8) -> list[torch.Tensor]:
    torch.manual_seed(0)
    query = torch.randn(3, queries, 4, 8).transpose(1, 2)  # as layers hand it over
    return [query, torch.randn(3, key_heads, 9, 8), torch.randn(3, key_heads, 9, width)]


@pytest.mark.usefixtures("no_torch")
@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize(("key_heads", "width"), [(4, 8), (2, 8), (1, 8), (4, 6)])
def test_one_query_attends_as_by_torch(key_heads: int, width: int, masked: bool) -> None:
    query, key, value = given(1, key_heads, width)
    mask = None
    if masked:
        mask = torch.ones(3, 1, 1, 9, dtype=torch.bool)
        mask[0, ..., :4] = mask[2, ..., :8] = False
    mixed, weights = decoding.attend(torch.nn.Identity(), query, key, value, mask, scaling=0.3)
    wanted = torch.nn.functional.scaled_dot_product_attention(
        query, key, value, attn_mask=mask, scale=0.3, enable_gqa=True
    )
    assert weights is None
    torch.testing.assert_close(mixed, wanted.transpose(1, 2))


@pytest.mark.parametrize(
    "why", ["two queries", "numbers as mask", "a mask for each head", "dropout", "position_bias"]
)
def test_everything_else_is_torchs(why: str, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def fused(*options: object, **more: object) -> object:
        asked.append((options, more))
        return sdpa_attention_forward(*options, **more)

    monkeypatch.setattr(decoding, "sdpa_attention_forward", fused)
    query, key, value = given(2 if why == "two queries" else 1, 4)
    mask = {
        "numbers as mask": torch.zeros(3, 1, 1, 9),
        "a mask for each head": torch.ones(3, 4, 1, 9, dtype=torch.bool),
    }.get(why)
    options = {"position_bias": torch.zeros(1, 4, 1, 9)} if why == "position_bias" else {}
    dropout = 0.5 if why == "dropout" else 0.0
    module = torch.nn.Identity()
    module.num_key_value_groups = 1
    mixed, _ = decoding.attend(module, query, key, value, mask, dropout=dropout, **options)
    assert mixed.shape == (3, query.shape[2], 4, 8)
    assert len(asked) == 1


@pytest.fixture
def before() -> Iterator[None]:
    yield
    AttentionInterface.register("sdpa", sdpa_attention_forward)


@pytest.mark.usefixtures("before")
@pytest.mark.parametrize("name", CONFIGS)
def test_a_model_continues_padded_rows_as_before(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    AttentionInterface.register("sdpa", sdpa_attention_forward)
    torch.manual_seed(0)
    model = AutoModelForCausalLM.from_config(CONFIGS[name], attn_implementation="sdpa").eval()
    mask = torch.ones(2, 21, dtype=torch.long)
    mask[0, :5] = 0
    positions = (mask.cumsum(1) - 1).clamp(min=0)

    def read() -> Any:
        return model(
            input_ids=torch.arange(40).reshape(2, 20),
            attention_mask=mask[:, :20],
            position_ids=positions[:, :20],
        ).past_key_values

    def last(read: Any) -> torch.Tensor:
        return model(
            input_ids=torch.tensor([[7], [8]]),
            attention_mask=mask,
            position_ids=positions[:, 20:],
            past_key_values=read,
        ).logits

    with torch.inference_mode():
        before = last(read())
        decoding.use_cpu_attention()
        again = read()
        monkeypatch.setattr(decoding, "sdpa_attention_forward", None)
        torch.testing.assert_close(last(again), before)


def test_in_bfloat16_scores_are_rounded_as_by_eager() -> None:
    query, key, value = (one.bfloat16() for one in given(1, 2))
    mixed, _ = decoding.attend(torch.nn.Identity(), query, key, value, None)
    exact = torch.nn.functional.scaled_dot_product_attention(
        query.float(), key.float(), value.float(), enable_gqa=True
    ).transpose(1, 2)
    assert mixed.dtype == torch.bfloat16
    torch.testing.assert_close(mixed.float(), exact, atol=0.02, rtol=0.02)
