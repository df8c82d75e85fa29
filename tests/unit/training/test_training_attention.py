"""The CPU attention kernel must agree with torch's own."""

import pytest

torch = pytest.importorskip("torch")

from tablemend.errors import TablemendError  # noqa: E402
from tablemend.training import requirements  # noqa: E402
from tablemend.training.attention import is_plain, short_causal_attention  # noqa: E402


@pytest.mark.parametrize("key_heads", [4, 2, 1])
def test_values_and_gradients_equal_fused_attention(key_heads: int) -> None:
    torch.manual_seed(0)
    query = torch.randn(3, 4, 17, 8, requires_grad=True)
    key = torch.randn(3, key_heads, 17, 8, requires_grad=True)
    value = torch.randn(3, key_heads, 17, 8, requires_grad=True)
    mixed, _ = short_causal_attention(torch.nn.Identity(), query, key, value, None, scaling=0.3)
    weight = torch.randn_like(mixed)
    gradients = torch.autograd.grad((mixed * weight).sum(), (query, key, value))
    fused = torch.nn.functional.scaled_dot_product_attention(
        query, key, value, is_causal=True, scale=0.3, enable_gqa=True
    ).transpose(1, 2)
    expected = torch.autograd.grad((fused * weight).sum(), (query, key, value))
    torch.testing.assert_close(mixed, fused)
    for got, wanted in zip(gradients, expected, strict=True):
        torch.testing.assert_close(got, wanted)


def test_only_plain_causal_attention_is_replaced() -> None:
    from transformers import Gemma2Config, GPT2Config, Qwen3Config

    assert is_plain(Qwen3Config())
    assert not is_plain(Qwen3Config(attention_dropout=0.1))
    assert not is_plain(Qwen3Config(use_sliding_window=True))
    assert not is_plain(Gemma2Config()) and not is_plain(GPT2Config())


@pytest.mark.parametrize(
    ("name", "advice"),
    [
        ("flash_attention_2", "is not installed.*set model.attn=sdpa"),
        ("flex_attention", "no backward pass on CPUs: set model.attn=sdpa"),
    ],
)
def test_a_kernel_that_cannot_train_here_is_refused_before_anything_is_read(
    name: str, advice: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for installed in ("is_flash_attn_2_available", "is_kernels_available"):
        monkeypatch.setattr(requirements, installed, lambda: False)
    with pytest.raises(TablemendError, match=f"model.attn={name}.*{advice}"):
        requirements.refuse_kernel(name)
    requirements.refuse_kernel("sdpa")
    monkeypatch.setattr(requirements, "is_kernels_available", lambda: True)
    requirements.refuse_kernel("flash_attention_2")
