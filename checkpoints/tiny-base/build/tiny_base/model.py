"""The embedded base before its first step: a small Qwen3 whose first layer looks back."""

from __future__ import annotations

import torch
from torch import nn
from transformers import PreTrainedTokenizerFast, Qwen3Config, Qwen3ForCausalLM

from tiny_base.config import Shape

ROPE_THETA = 10_000.0
QK_GAIN = 1.25
# The heads that look back: the fastest rotary pairs, sharpness, share of the residual stream.
LOOK_BACK_PAIRS, LOOK_BACK_GAIN, LOOK_BACK_WEIGHT = 5, 1.5, 0.04


def build_model(
    shape: Shape, tokenizer: PreTrainedTokenizerFast, context_length: int, seed: int
) -> Qwen3ForCausalLM:
    """A randomly initialised model; the same weights for the same seed."""
    torch.manual_seed(seed)
    config = Qwen3Config(
        vocab_size=len(tokenizer),
        hidden_size=shape.hidden,
        intermediate_size=shape.intermediate,
        num_hidden_layers=shape.layers,
        num_attention_heads=shape.heads,
        num_key_value_heads=shape.heads,
        head_dim=shape.hidden // shape.heads,
        max_position_embeddings=context_length,
        tie_word_embeddings=True,
        rope_parameters={"rope_type": "default", "rope_theta": ROPE_THETA},
        bos_token_id=None,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
    )
    model = Qwen3ForCausalLM(config)
    for layer in model.model.layers:
        # Normalised queries and keys of norm 1 attend too softly to copy; start sharper.
        nn.init.constant_(layer.self_attn.q_norm.weight, QK_GAIN)
        nn.init.constant_(layer.self_attn.k_norm.weight, QK_GAIN)
    attend_backwards(model, shape)
    model.generation_config.eos_token_id = tokenizer.eos_token_id
    model.generation_config.pad_token_id = tokenizer.pad_token_id
    return model


@torch.no_grad()
def attend_backwards(model: Qwen3ForCausalLM, shape: Shape) -> None:
    """Let all heads of the first layer but one start by looking 1, 2, ... tokens back.

    Copying needs heads that look at the token before (Olsson et al., 2022, "In-context
    learning and induction heads") and finds them late: at random weights nothing rewards the
    first half of that circuit. Starting near it is mimetic initialisation (Trockman and Kolter,
    2023). All embeddings get one direction in common, queries and keys turn it into constants,
    and rotary positions do the rest.
    """
    width, half = shape.hidden // shape.heads, shape.hidden // shape.heads // 2
    pairs = torch.arange(min(LOOK_BACK_PAIRS, half))
    speeds = ROPE_THETA ** (-pairs / half)
    common = nn.functional.normalize(torch.randn(shape.hidden), dim=0)
    embeddings = model.model.embed_tokens.weight
    embeddings += common * embeddings.norm(dim=1).mean()
    layer = model.model.layers[0].self_attn
    nn.init.constant_(layer.q_norm.weight, LOOK_BACK_GAIN)
    nn.init.constant_(layer.k_norm.weight, LOOK_BACK_GAIN)
    for head in range(shape.heads - 1):
        rows = slice(head * width, (head + 1) * width)
        query, key = torch.zeros(width), torch.zeros(width)
        query[pairs] = 1.0
        key[pairs], key[pairs + half] = (speeds * (head + 1)).cos(), (speeds * (head + 1)).sin()
        layer.q_proj.weight[rows] += torch.outer(query, common)
        layer.k_proj.weight[rows] += torch.outer(key, common)
        nn.init.orthogonal_(layer.v_proj.weight[rows])
        nn.init.orthogonal_(layer.o_proj.weight[:, rows], gain=LOOK_BACK_WEIGHT)
