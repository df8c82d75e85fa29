"""Attention of one new token on a CPU is what torch's is."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")

from transformers import AutoModelForCausalLM, Gemma3TextConfig, Qwen3Config  # noqa: E402
from transformers.integrations.sdpa_attention import sdpa_attention_forward  # noqa: E402

from tablemend.backends import cpu_attention  # noqa: E402

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
    monkeypatch.setattr(cpu_attention, "sdpa_attention_forward", None)


def given(queries: int, key_heads: int) -> list[torch.Tensor]:
    torch.manual_seed(0)
    query = torch.randn(3, queries, 4, 8).transpose(1, 2)  # as layers hand it over
    return [query, *torch.randn(2, 3, key_heads, 9, 8)]


@pytest.mark.usefixtures("no_torch")
@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("key_heads", [4, 2, 1])
def test_one_query_attends_as_by_torch(key_heads: int, masked: bool) -> None:
    query, key, value = given(1, key_heads)
    mask = None
    if masked:
        mask = torch.ones(3, 1, 1, 9, dtype=torch.bool)
        mask[0, ..., :4] = mask[2, ..., :8] = False
    mixed, weights = cpu_attention.attend(torch.nn.Identity(), query, key, value, mask, scaling=0.3)
    wanted = torch.nn.functional.scaled_dot_product_attention(
        query, key, value, attn_mask=mask, scale=0.3, enable_gqa=True
    )
    assert weights is None
    torch.testing.assert_close(mixed, wanted.transpose(1, 2))


@pytest.mark.parametrize("why", ["two queries", "numbers as mask", "dropout", "position_bias"])
def test_everything_else_is_torchs(why: str, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def fused(*options: object, **more: object) -> object:
        asked.append((options, more))
        return sdpa_attention_forward(*options, **more)

    monkeypatch.setattr(cpu_attention, "sdpa_attention_forward", fused)
    query, key, value = given(2 if why == "two queries" else 1, 4)
    mask = torch.zeros(3, 1, 1, 9) if why == "numbers as mask" else None
    options = {"position_bias": torch.zeros(1, 4, 1, 9)} if why == "position_bias" else {}
    dropout = 0.5 if why == "dropout" else 0.0
    module = torch.nn.Identity()
    module.num_key_value_groups = 1
    mixed, _ = cpu_attention.attend(module, query, key, value, mask, dropout=dropout, **options)
    assert mixed.shape == (3, query.shape[2], 4, 8)
    assert len(asked) == 1


@pytest.mark.parametrize("name", CONFIGS)
def test_a_model_continues_padded_rows_as_before(name: str) -> None:
    torch.manual_seed(0)
    model = AutoModelForCausalLM.from_config(CONFIGS[name], attn_implementation="sdpa").eval()
    mask = torch.ones(2, 21, dtype=torch.long)
    mask[0, :5] = 0
    positions = (mask.cumsum(1) - 1).clamp(min=0)

    def last() -> torch.Tensor:
        with torch.inference_mode():
            read = model(
                input_ids=torch.arange(40).reshape(2, 20),
                attention_mask=mask[:, :20],
                position_ids=positions[:, :20],
            )
            return model(
                input_ids=torch.tensor([[7], [8]]),
                attention_mask=mask,
                position_ids=positions[:, 20:],
                past_key_values=read.past_key_values,
            ).logits

    before = last()
    cpu_attention.use(model)
    assert model.config._attn_implementation == cpu_attention.NAME
    torch.testing.assert_close(last(), before)
    model.set_attn_implementation("eager")
    cpu_attention.use(model)
    assert model.config._attn_implementation == "eager"
