"""Attention as matrix products must compute what torch's own does, and only where it may."""

import os
from pathlib import Path
from types import SimpleNamespace

import pytest

torch = pytest.importorskip("torch")

from transformers import (  # noqa: E402
    AutoModelForCausalLM,
    Gemma3TextConfig,
    Qwen3Config,
    TrainerControl,
    TrainerState,
)

from tablemend.training import launch  # noqa: E402
from tablemend.training.models import MASKED  # noqa: E402

SHAPE = {
    "vocab_size": 50,
    "hidden_size": 32,
    "intermediate_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 8,
}


def model(config: object) -> object:
    torch.manual_seed(0)
    return AutoModelForCausalLM.from_config(config, attn_implementation="sdpa").eval()


@pytest.mark.parametrize("tokens", [17, launch.BLOCK, 2 * launch.BLOCK + 3])
@pytest.mark.parametrize("key_heads", [4, 2, 1])
def test_values_and_gradients_equal_torchs_attention(key_heads: int, tokens: int) -> None:
    torch.manual_seed(0)
    shapes = [(2, heads, tokens, 8) for heads in (4, key_heads, key_heads)]
    given = [torch.randn(*shape, requires_grad=True) for shape in shapes]
    mixed, _ = launch.attend(torch.nn.Identity(), *given, None, scaling=0.3)
    weight = torch.randn_like(mixed)
    gradients = torch.autograd.grad((mixed * weight).sum(), given)
    fused = torch.nn.functional.scaled_dot_product_attention(
        *given, is_causal=True, scale=0.3, enable_gqa=True
    ).transpose(1, 2)
    expected = torch.autograd.grad((fused * weight).sum(), given)
    torch.testing.assert_close(mixed, fused)
    for got, wanted in zip(gradients, expected, strict=True):
        torch.testing.assert_close(got, wanted)


@pytest.mark.parametrize("why", ["not causal", "its layer is not", "too long", "dropout"])
def test_other_attention_is_torchs(why: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(launch, "products", None)
    monkeypatch.setattr(launch, "LONGEST", 16 if why == "too long" else 17)
    module = torch.nn.Identity()
    module.is_causal = why != "its layer is not"
    module.num_key_value_groups = 1
    given = [torch.randn(1, 2, 17, 8) for _ in range(3)]
    options = {"is_causal": False} if why == "not causal" else {}
    dropout = 0.5 if why == "dropout" else 0.0
    mixed, _ = launch.attend(module, *given, None, dropout=dropout, **options)
    causal = why in ("too long", "dropout")
    wanted = torch.nn.functional.scaled_dot_product_attention(*given, is_causal=causal)
    assert mixed.shape == (1, 17, 2, 8)
    if why != "dropout":
        torch.testing.assert_close(mixed, wanted.transpose(1, 2))


@pytest.mark.parametrize(
    "config",
    [
        Qwen3Config(**SHAPE),
        Gemma3TextConfig(**SHAPE, sliding_window=8, layer_types=["sliding_attention"] * 2),
    ],
    ids=["causal", "sliding window"],
)
def test_a_model_answers_as_before_alone_packed_and_padded(config: object) -> None:
    ids = torch.arange(40).reshape(2, 20)
    packed = torch.tensor([[*range(12), *range(8)]] * 2)
    padded = torch.ones(2, 20, dtype=torch.long)
    padded[0, :5] = 0
    ways = ({}, {"position_ids": packed}, {"attention_mask": padded})
    own = model(config)

    def answers() -> list[torch.Tensor]:
        return [own(input_ids=ids, use_cache=False, **way).logits for way in ways]

    before = answers()
    launch.speed_up_cpu(own, "bfloat16")
    assert own.config._attn_implementation == launch.CPU_ATTENTION
    after = answers()
    for one, (got, wanted) in enumerate(zip(after, before, strict=True)):
        seen = padded.bool() if one == 2 else slice(None)
        torch.testing.assert_close(got[seen], wanted[seen])
    assert not torch.allclose(before[0], before[1])  # packing was seen


def test_other_kernels_and_float32_stay() -> None:
    own = model(Qwen3Config(**SHAPE))
    launch.speed_up_cpu(own, "float32")
    assert own.config._attn_implementation == "sdpa"
    own.set_attn_implementation("eager")
    launch.speed_up_cpu(own, "bfloat16")
    assert own.config._attn_implementation == "eager"


def test_a_saved_model_does_not_name_it_and_packing_knows_it(tmp_path: Path) -> None:
    own = model(Qwen3Config(**SHAPE))
    launch.speed_up_cpu(own, "bfloat16")
    own.save_pretrained(tmp_path)
    assert launch.CPU_ATTENTION not in (tmp_path / "config.json").read_text()
    assert launch.CPU_ATTENTION in MASKED


def test_memory_is_kept_and_gaps_in_it_are_given_back(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[str] = []
    libc = SimpleNamespace(
        mallopt=lambda *_: calls.append("keep"), malloc_trim=lambda _: calls.append("trim")
    )
    monkeypatch.setattr(launch.ctypes, "CDLL", lambda _: libc)
    monkeypatch.setattr(launch.sys, "platform", "linux")
    for name in [name for name in os.environ if name.startswith("MALLOC_")]:
        monkeypatch.delenv(name)

    def train() -> list[str]:
        calls.clear()
        launch.speed_up_cpu(model(Qwen3Config(**SHAPE)), "float32")
        trim, state = launch.Trim(), TrainerState()
        for _ in range(launch.TRIMMED):
            trim.on_substep_end(None, state, TrainerControl())
            trim.on_step_end(None, state, TrainerControl())
        return calls

    assert train() == ["keep"] * 3 + ["trim"] * 2
    monkeypatch.setenv("MALLOC_ARENA_MAX", "2")
    assert train() == []
    monkeypatch.delenv("MALLOC_ARENA_MAX")
    monkeypatch.setattr(launch.sys, "platform", "darwin")
    assert train() == []


def test_a_training_on_another_device_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    # the weights are still on the CPU when they are prepared
    elsewhere = SimpleNamespace(device=torch.device("cuda"))
    monkeypatch.setattr(launch, "PartialState", lambda: elsewhere)
    monkeypatch.setattr(launch.ctypes, "CDLL", None)
    own = model(Qwen3Config(**SHAPE))
    launch.speed_up_cpu(own, "bfloat16")
    assert own.config._attn_implementation == "sdpa"


def test_in_bfloat16_it_is_about_as_exact_as_torchs() -> None:
    torch.manual_seed(0)
    given = [torch.randn(1, 4, 512, 64) for _ in range(3)]
    exact = torch.nn.functional.scaled_dot_product_attention(*given, is_causal=True)
    rounded = [one.bfloat16() for one in given]
    mixed, _ = launch.attend(torch.nn.Identity(), *rounded, None)
    assert mixed.dtype == torch.bfloat16 and mixed.is_contiguous()
    error = (mixed.transpose(1, 2).float() - exact).norm() / exact.norm()
    assert error < 0.01


def test_values_may_be_narrower_than_keys() -> None:
    query, key = torch.randn(2, 4, 300, 12), torch.randn(2, 2, 300, 12)
    value = torch.randn(2, 2, 300, 8)
    mixed, _ = launch.attend(torch.nn.Identity(), query, key, value, None)
    wanted = torch.nn.functional.scaled_dot_product_attention(
        query, key, value, is_causal=True, enable_gqa=True
    )
    torch.testing.assert_close(mixed, wanted.transpose(1, 2))
