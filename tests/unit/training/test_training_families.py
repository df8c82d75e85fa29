"""Every family of models that a recipe names, as a random tiny of its architecture.

One step on all weights and one on adapters, each saved, merged, loaded and asked, with the family's
own chat template where TRL ships it.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import torch
import yaml
from peft.tuners.tuners_utils import BaseTunerLayer
from safetensors.torch import load_file, save_file
from transformers import (
    AutoConfig,
    AutoModelForCausalLM,
    AutoModelForImageTextToText,
    AutoTokenizer,
    PretrainedConfig,
)

from tablemend.errors import TablemendError
from tablemend.recipe.experiment import STAGES, SftCommand
from tablemend.renderer import PROBE, prompt_text
from tablemend.training import checkpoints
from tablemend.training.architectures import known, start_of
from tablemend.training.data import check_drawing_template
from tablemend.training.models import refuse_packing
from tests.support.short_trainings import ROOT, short, small_data
from tests.support.trainings_in_process import begin, train
from tests.unit.training.test_training_templates import tokenizer_of

DENSE = frozenset("q_proj k_proj v_proj o_proj gate_proj up_proj down_proj".split())
WIDTHS = {
    **{"hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2},
    **{"num_attention_heads": 4, "num_key_value_heads": 2, "max_position_embeddings": 2048},
}
BASE = {**WIDTHS, "head_dim": 8}
SLIDING = {"layer_types": ["sliding_attention", "full_attention"], "sliding_window": 64}
LINEAR = {
    **{"linear_num_key_heads": 2, "linear_num_value_heads": 4, "linear_key_head_dim": 8},
    **{"linear_value_head_dim": 8, "layer_types": ["linear_attention", "full_attention"]},
}
EXPERTS = {"num_experts_per_tok": 2, "moe_intermediate_size": 16}
SEES = {"hidden_size": 32, "intermediate_size": 48}
SIGLIP = {**SEES, "num_hidden_layers": 1, "num_attention_heads": 4, "image_size": 28}
QWEN_SEES = {**SEES, "depth": 1, "num_heads": 4, "out_hidden_size": 32}
GATED_DELTA = DENSE | {f"in_proj_{name}" for name in ("qkv", "z", "a", "b")} | {"out_proj"}


@dataclass(frozen=True)
class Family:
    """One architecture.

    Attributes:
        values: of its configuration class; those of the text part where it sees too.
        template: of TRL's; the embedded base's own where TRL has none.
        adapted: names of what gets an adapter with all-linear.
        sees: configuration of its vision tower.
        packs: whether packed examples have the logits that they have alone.
        thinking: what can be trained under its template.
        more: overrides of the training.
    """

    values: dict[str, Any]
    template: str | None = None
    adapted: frozenset[str] = DENSE
    sees: dict[str, Any] = field(default_factory=dict)
    packs: bool = False
    thinking: str = "quote"
    more: tuple[str, ...] = ()


FAMILIES = {
    "llama": Family(BASE, "llama3_1", packs=True),
    "mistral": Family({**BASE, "sliding_window": None}, packs=True),
    "qwen2": Family(WIDTHS, "qwen2_5", packs=True),
    "qwen3": Family(BASE, "qwen3", packs=True),
    "phi3": Family(
        {**WIDTHS, "original_max_position_embeddings": 2048},
        adapted=frozenset({"qkv_proj", "o_proj", "gate_up_proj", "down_proj"}),
        packs=True,
    ),
    "smollm3": Family({**WIDTHS, "num_hidden_layers": 4}, packs=True),
    "gemma3_text": Family({**BASE, **SLIDING}, "gemma3", packs=True),
    "gemma3": Family({**BASE, **SLIDING}, "gemma3", sees={**SIGLIP, "patch_size": 14}, packs=True),
    "gemma4": Family(
        {
            **BASE,
            **{"num_hidden_layers": 4, "global_head_dim": 16, "hidden_size_per_layer_input": 8},
            **{"num_kv_shared_layers": 2, "sliding_window": 64},
            "layer_types": 2 * ["sliding_attention", "full_attention"],
        },
        "gemma4_v5",
        DENSE | {"per_layer_input_gate", "per_layer_projection", "per_layer_model_projection"},
        sees={**SEES, "num_hidden_layers": 1, "num_attention_heads": 4, "head_dim": 8},
    ),
    "qwen3_5": Family({**BASE, **LINEAR}, "qwen3_5_think", GATED_DELTA, sees=QWEN_SEES),
    "qwen3_5_moe": Family(
        {
            **{**BASE, **LINEAR, **EXPERTS, "num_experts": 4},
            "shared_expert_intermediate_size": 16,
        },
        "qwen3_6",
        GATED_DELTA | {"experts"},
        sees=QWEN_SEES,
    ),
    "gpt_oss": Family(
        {**BASE, "intermediate_size": 32, "num_local_experts": 4, "num_experts_per_tok": 2},
        "gptoss",
        frozenset({"q_proj", "k_proj", "v_proj", "o_proj", "experts"}),
        thinking="off",
        more=("model.attn=eager",),
    ),
    "lfm2": Family(
        {**WIDTHS, "layer_types": ["conv", "full_attention"], "block_auto_adjust_ff_dim": False},
        "lfm2_2_5_v2",
        frozenset({"in_proj", "out_proj", "q_proj", "k_proj", "v_proj", "w1", "w2", "w3"}),
    ),
    "nemotron_h": Family(
        {
            **{**BASE, **EXPERTS, "n_routed_experts": 4, "moe_shared_expert_intermediate_size": 16},
            **{"mamba_num_heads": 4, "mamba_head_dim": 16, "n_groups": 2, "ssm_state_size": 16},
            "chunk_size": 16,
            "layers_block_type": ["linear_attention", "moe", "full_attention"],
        },
        "nemotron_3_nano",
        frozenset("in_proj q_proj k_proj v_proj o_proj up_proj down_proj experts".split()),
    ),
    "granitemoehybrid": Family(
        {
            **{**WIDTHS, "shared_intermediate_size": 48, "num_local_experts": 0},
            **{"layer_types": 2 * ["full_attention"], "mamba_n_heads": 4},
            "position_embedding_type": "rope",
        },
        adapted=frozenset("q_proj k_proj v_proj o_proj input_linear output_linear".split()),
    ),
}
LOCAL = {
    "checkpoints/gemma-3-270m": "gemma3_text",
    "checkpoints/smollm2-135m-instruct": "llama",
    "checkpoints/tiny-base": "llama",
    "checkpoints/qwen2.5-coder-0.5b-instruct": "qwen2",
    "checkpoints/qwen2.5-coder-1.5b-instruct": "qwen2",
}
"""Families of what ``tablemend fetch`` puts there."""


def family_of(recipe: str) -> str:
    """The family of a recipe's model: of one that sees, that of the whole."""
    path = start_of(
        yaml.safe_load((ROOT / "recipes" / f"{recipe}.yaml").read_text())["model"]["path"]
    )
    kind = LOCAL.get(path) or str(known()[path]["model_type"])
    whole = kind.removesuffix("_text")
    return kind if kind in FAMILIES or whole not in FAMILIES else whole


def test_every_recipe_that_trains_has_a_proven_family() -> None:
    recipes = sorted((ROOT / "recipes").glob("*.yaml"))
    trained = [path.stem for path in recipes if yaml.safe_load(path.read_text())["kind"] in STAGES]
    assert {family_of(name) for name in trained} == set(FAMILIES)


def pack_experts(folder: Path, config: PretrainedConfig) -> None:
    """Store the experts as openai does: two 4-bit numbers a byte, a scale to each 32 of them."""
    weights = load_file(folder / "model.safetensors")
    for name in [name for name in weights if name.endswith(("gate_up_proj", "down_proj"))]:
        experts, into, out = weights.pop(name).shape
        blocks = torch.randint(0, 256, (experts, out, into // 32, 16), dtype=torch.uint8)
        weights[f"{name}_blocks"] = blocks
        weights[f"{name}_scales"] = torch.full(blocks.shape[:3], 121, dtype=torch.uint8)
    save_file(weights, folder / "model.safetensors", {"format": "pt"})
    stored = {"quant_method": "mxfp4", "modules_to_not_convert": ["model.layers.*.self_attn"]}
    values = {**config.to_dict(), "quantization_config": stored}
    (folder / "config.json").write_text(json.dumps(values))


def make_base(name: str, tiny_model: Path, folder: Path) -> tuple[Path, PretrainedConfig, str]:
    """A random model with its tokenizer; its configuration, and the end of turn."""
    torch.manual_seed(0)
    family = FAMILIES[name]
    base = tiny_model
    if family.template:
        end = tokenizer_of(family.template, tiny_model, folder).eos_token
        base = folder / family.template
    tokenizer = AutoTokenizer.from_pretrained(base)
    end = end if family.template else tokenizer.eos_token
    tokens = {
        "vocab_size": len(tokenizer),
        "eos_token_id": tokenizer.convert_tokens_to_ids(end),
        "pad_token_id": tokenizer.pad_token_id,
        "bos_token_id": None,
    }
    values = {**family.values, **tokens}
    if name == "gemma4":
        values["vocab_size_per_layer_input"] = len(tokenizer)
    whole = {"text_config": values, "vision_config": family.sees} if family.sees else values
    config = AutoConfig.for_model(
        name, **whole, **({"audio_config": None} if name == "gemma4" else {})
    )
    kind = AutoModelForImageTextToText if family.sees else AutoModelForCausalLM
    model = kind.from_config(config)
    model.generation_config.update(eos_token_id=tokens["eos_token_id"])
    made = folder / "base"
    model.save_pretrained(made)
    tokenizer.save_pretrained(made)
    if name == "gpt_oss":
        pack_experts(made, config)
    return made, config, end


@pytest.mark.parametrize("name", FAMILIES)
def test_a_family_is_trained_saved_merged_loaded_and_asked(
    name: str, tiny_model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    family = FAMILIES[name]
    base, config, end = make_base(name, tiny_model, tmp_path)
    # of what stands in model.path: its text part may be another class
    if family.packs:
        refuse_packing(config)
    else:
        with pytest.raises(TablemendError, match=r"train\.packing=true: in a"):
            refuse_packing(config)

    def training(run: str, *more: str) -> SftCommand:
        given = (
            f"thinking={family.thinking}",
            f"evaluation.systems.sft.thinking={family.thinking}",
        )
        steps = (
            "train.epochs=null",
            "train.max_steps=1",
            "train.warmup=0",
            "train.learning_rate=1e-3",
        )
        batch = ("train.global_batch=4", f"model.end_of_turn={end}", "model.context_length=1536")
        return short(
            SftCommand,
            base,
            tmp_path / run,
            small_data(4),
            *given,
            *steps,
            *batch,
            *family.more,
            *more,
        )

    whole = training("full", "train.method=full")
    run, facts = train(whole)  # prepare() compares the prompt with that of evaluation
    assert facts["answer"] and facts["steps"] == 1
    stored = checkpoints.load_model(whole.model.model_copy(update={"path": str(run.model)}))
    start = checkpoints.load_model(whole.model)
    assert type(stored) is type(start)
    moved = {
        key
        for (key, one), other in zip(stored.named_parameters(), start.parameters(), strict=True)
        if not torch.equal(one, other)
    }
    assert moved and not any("vision" in key or "visual" in key for key in moved)
    lora = ("train.method=lora", "train.lora={r: 2, alpha: 4, target_modules: all-linear}")
    tuning = training("lora", *lora)
    _, trainer, tokenizer, _ = begin(tuning)
    layers = [key for key, one in trainer.model.named_modules() if isinstance(one, BaseTunerLayer)]
    inner = {key.removesuffix(".base_layer").rpartition(".")[2] for key in layers}
    assert inner == family.adapted
    assert not any("vision" in key for key in layers)
    run, facts = train(tuning)
    merging = run.recorded("sft")["merging"]
    assert merging["max_logit_difference"] <= merging["tolerance"] and facts["answer"]
    assert not list(run.model.glob("adapter_*"))
    # on is left to the model, off closes what the template opens: by the template's own text
    check_drawing_template(tokenizer, True)
    check_drawing_template(tokenizer, False)
    on, off = (prompt_text(tokenizer, PROBE, thinks) for thinks in (True, False))
    own = tokenizer.chat_template
    assert (on != off) == any(switch in own for switch in ("enable_thinking", "<|channel|>final"))
