"""The CPU attention kernel must agree with torch's own."""

import pytest

torch = pytest.importorskip("torch")

from tablemend.training.attention import short_causal_attention  # noqa: E402


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


def test_what_stands_right_of_a_token_does_not_reach_it() -> None:
    torch.manual_seed(0)
    query, key, value = (torch.randn(1, 2, 9, 8) for _ in range(3))
    whole, _ = short_causal_attention(torch.nn.Identity(), query, key, value, None, scaling=0.3)
    cut, _ = short_causal_attention(
        torch.nn.Identity(), query[:, :, :5], key[:, :, :5], value[:, :, :5], None, scaling=0.3
    )
    torch.testing.assert_close(whole[:, :5], cut)
