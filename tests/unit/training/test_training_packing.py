"""A packed example has the logits that it has alone, or packing is refused before any data."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn
from transformers import AutoModelForCausalLM, PretrainedConfig
from transformers.models.auto.configuration_auto import CONFIG_MAPPING
from transformers.models.auto.modeling_auto import MODEL_FOR_CAUSAL_LM_MAPPING_NAMES

from tablemend.config import parse
from tablemend.errors import TablemendError
from tablemend.recipe.experiment import SftCommand
from tablemend.recipe.training import Lora
from tablemend.training.models import APART, lora_config, refuse_packing, refuse_recipe
from tablemend.training.plan import plan_of
from tablemend.training.sft import PackedRows

ROOT = Path(__file__).parents[3]
SIZES = {
    **{"vocab_size": 64, "hidden_size": 32, "intermediate_size": 48, "moe_intermediate_size": 16},
    **{"num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 8, "rotary_dim": 4},
    **{"num_experts": 4, "num_local_experts": 4, "n_routed_experts": 4, "num_experts_per_tok": 2},
    **{"n_group": 1, "topk_group": 1, "first_k_dense_replace": 1, "max_position_embeddings": 128},
    **{"pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2},
    **dict.fromkeys(("num_hidden_layers", "n_layer"), 2),
}
LATENT = {
    **{"num_key_value_heads": 4, "kv_lora_rank": 8, "q_lora_rank": 8, "v_head_dim": 8},
    **{"qk_rope_head_dim": 8, "qk_nope_head_dim": 8, "qk_head_dim": 16},
}
VISION = {"hidden_size": 32, "num_hidden_layers": 1, "num_attention_heads": 4, "image_size": 28}


def tiny(name: str) -> PretrainedConfig:
    """A configuration of a model type with small numbers."""
    config = CONFIG_MAPPING[name]()
    text = config.get_text_config()
    latent = hasattr(text, "qk_rope_head_dim")
    for key, value in {**SIZES, **(LATENT if latent else {})}.items():
        if hasattr(text, key) and (name, key) != ("glm4_moe_lite", "head_dim"):
            setattr(text, key, value)
    if latent and text.rope_parameters:
        text.rope_parameters.pop("partial_rotary_factor", None)
    if getattr(text, "layer_types", None) and name != "mamba":  # which makes them up itself
        text.layer_types = text.layer_types[:2]
    if vision := getattr(config, "vision_config", None):
        vision.update({**VISION, "intermediate_size": 48, "patch_size": 14})
    return config


@pytest.mark.parametrize("name", sorted(APART))
def test_a_packed_example_has_the_logits_that_it_has_alone(name: str) -> None:
    torch.manual_seed(0)
    config = tiny(name)
    refuse_packing(config)
    model = AutoModelForCausalLM.from_config(config).eval()
    for weight in model.parameters():  # as they are made, they hardly tell tokens apart
        if weight.dim() > 1:
            nn.init.normal_(weight, std=0.3)
    lengths = (12, 9, 4)
    rows = [torch.randint(3, 60, (length,)).tolist() for length in lengths]
    ids = [token for row in rows for token in row]
    packed = {"input_ids": ids, "labels": ids, "seq_lengths": list(lengths)}
    shorter = {"input_ids": rows[1], "labels": rows[1], "seq_lengths": [9]}
    batch = PackedRows(0)([packed, shorter])
    del batch["labels"]
    with torch.no_grad():
        both = model(**batch, use_cache=False).logits
        alone = [model(input_ids=torch.tensor([row]), use_cache=False).logits[0] for row in rows]
    scale = max(float(one.abs().max()) for one in alone)
    for found, own in zip((*both[0].split(lengths), both[1, :9]), (*alone, alone[1]), strict=True):
        assert float((found - own).abs().max()) <= 1e-5 * max(1.0, scale)


OF_PARTS = {"musicgen", "musicgen_melody"}
"""They have no configuration without those of their parts."""


@pytest.mark.parametrize(
    "name", sorted(MODEL_FOR_CAUSAL_LM_MAPPING_NAMES.keys() - APART - OF_PARTS)
)
def test_packing_is_refused_for_every_other_architecture(name: str) -> None:
    config = CONFIG_MAPPING[name]()
    with pytest.raises(TablemendError, match=r"train\.packing=true: in a .*train\.packing=false"):
        refuse_packing(config)


def test_a_layer_that_carries_a_state_is_refused_in_any_architecture() -> None:
    config = tiny("qwen3")
    config.layer_types = ["linear_attention", "full_attention"]
    with pytest.raises(TablemendError, match="qwen3 model with layers of linear_attention"):
        refuse_packing(config)


def recipe(monkeypatch: pytest.MonkeyPatch, *tokens: str) -> Any:
    monkeypatch.chdir(ROOT)
    return parse(SftCommand, ["recipe=tiny", *tokens])


def lora(target: str) -> tuple[str, ...]:
    return "train.method=lora", f"train.lora={{r: 2, alpha: 4, target_modules: [{target}]}}"


DROPOUT = (
    *("train.method=lora", "train.lora={r: 2, alpha: 4, dropout: 0.1}"),
    *("model.context_length=128", "evaluation.max_new_tokens=8"),
)


@pytest.mark.parametrize(
    ("name", "given", "message"),
    [
        ("qwen3_next", ("train.packing=true",), r"layers of linear_attention.*train\.packing"),
        ("mamba", ("train.packing=true",), "in a mamba model"),
        ("gpt_oss", ("train.packing=true",), "in a gpt_oss model"),
        ("qwen3", lora("lm_head"), r"names lm_head, the head.*leave it out"),
        ("qwen3", lora("q_proj, model.embed_tokens"), r"one weight with the head \(tie_"),
        ("gpt2", lora("wte"), r"one weight with the head \(tie_"),
        ("gpt_neox", lora("lm_head"), "the head"),
        ("llama", lora("q_prj"), "no layer that takes an adapter"),
        ("qwen3_moe", DROPOUT, "have none: set"),
    ],
)
def test_check_refuses_what_the_training_would(
    name: str,
    given: tuple[str, ...],
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """By the configuration alone: the folder has no weights."""
    config = CONFIG_MAPPING[name]() if name == "qwen3_next" else tiny(name)
    config.get_text_config().tie_word_embeddings = (
        name in ("qwen3", "gpt2") and "lm_head" not in (given[-1])
    )
    config.save_pretrained(tmp_path)
    command = recipe(monkeypatch, f"model.path={tmp_path}", *given)
    with pytest.raises(TablemendError, match=message) as refused:
        list(plan_of(command))
    assert "\n" not in str(refused.value)
    with pytest.raises(TablemendError, match=message):
        refuse_recipe(command, config)


@pytest.mark.parametrize(
    ("name", "router"),
    [
        ("qwen3_moe", "mlp.gate"),
        ("mixtral", "mlp.gate"),
        ("phimoe", "mlp.router"),
        ("aria_text", "mlp.router"),
        ("hunyuan_v1_moe", "mlp.gate.wg"),
    ],
)
def test_adapters_leave_a_router_alone_unless_it_is_named(name: str, router: str) -> None:
    from peft import get_peft_model

    def trained(targets: Any) -> set[str]:
        with torch.device("meta"):
            model = AutoModelForCausalLM.from_config(tiny(name))
            adapted = get_peft_model(model, lora_config(Lora(target_modules=targets), model))
        return {key for key, value in adapted.named_parameters() if value.requires_grad}

    own = trained("all-linear")
    assert any("q_proj" in key or "qkv" in key for key in own)
    assert not any(f".{router}." in key for key in own)
    assert any(f".{router}." in key for key in trained((router,)))
