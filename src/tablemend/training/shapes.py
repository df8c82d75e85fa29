"""Architectures of the models that the papers use, known without a network.

The values are those of each model's public ``config.json`` on the Hugging Face Hub; only what
decides shapes, memory and the window is kept. ``parameters`` is the published count, which
``tests/unit/training/test_training_shapes.py`` compares with the model that the values make.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from tablemend.backends.checkpoints import CONFIG, local_folder
from tablemend.config import RECIPES
from tablemend.errors import TablemendError

if TYPE_CHECKING:
    from transformers import PretrainedConfig


@dataclass(frozen=True, slots=True)
class Shape:
    """One model's architecture.

    Attributes:
        model_type: transformers' name of the architecture.
        parameters: published number of weights; a tied head is counted once, which the Hub's page
            counts twice where both are stored (Qwen3-0.6B, Qwen3-1.7B).
        values: what the configuration says beyond its class's defaults.
    """

    model_type: str
    parameters: int
    values: dict[str, Any] = field(default_factory=dict)


def _qwen3(
    parameters: int, hidden: int, inner: int, layers: int, heads: int, *, tied: bool
) -> Shape:
    return Shape(
        "qwen3",
        parameters,
        {
            "vocab_size": 151936,
            "hidden_size": hidden,
            "intermediate_size": inner,
            "num_hidden_layers": layers,
            "num_attention_heads": heads,
            "num_key_value_heads": 8,
            "head_dim": 128,
            "max_position_embeddings": 40960,
            "tie_word_embeddings": tied,
            "rope_parameters": {"rope_type": "default", "rope_theta": 1_000_000.0},
        },
    )


def _qwen2(
    parameters: int, hidden: int, inner: int, layers: int, heads: int, key_heads: int
) -> Shape:
    return Shape(
        "qwen2",
        parameters,
        {
            "vocab_size": 152064,
            "hidden_size": hidden,
            "intermediate_size": inner,
            "num_hidden_layers": layers,
            "num_attention_heads": heads,
            "num_key_value_heads": key_heads,
            "max_position_embeddings": 32768,
            "tie_word_embeddings": False,
            "rope_parameters": {"rope_type": "default", "rope_theta": 1_000_000.0},
        },
    )


def _llama(parameters: int, hidden: int, inner: int, layers: int, heads: int) -> Shape:
    return Shape(
        "llama",
        parameters,
        {
            "vocab_size": 128256,
            "hidden_size": hidden,
            "intermediate_size": inner,
            "num_hidden_layers": layers,
            "num_attention_heads": heads,
            "num_key_value_heads": 8,
            "head_dim": 128,
            "max_position_embeddings": 131072,
            "tie_word_embeddings": False,
            "rope_parameters": {
                "rope_type": "llama3",
                "rope_theta": 500_000.0,
                "factor": 8.0,
                "low_freq_factor": 1.0,
                "high_freq_factor": 4.0,
                "original_max_position_embeddings": 8192,
            },
        },
    )


def _gemma3(
    parameters: int,
    hidden: int,
    inner: int,
    layers: int,
    heads: int,
    key_heads: int,
    head_dim: int,
    query_scalar: int,
) -> Shape:
    return Shape(
        "gemma3",
        parameters,
        {
            "text_config": {
                "vocab_size": 262208,
                "hidden_size": hidden,
                "intermediate_size": inner,
                "num_hidden_layers": layers,
                "num_attention_heads": heads,
                "num_key_value_heads": key_heads,
                "head_dim": head_dim,
                "query_pre_attn_scalar": query_scalar,
                "sliding_window": 1024,
                "max_position_embeddings": 131072,
                "rope_scaling": {"rope_type": "linear", "factor": 8.0},
            },
            "vision_config": {
                "hidden_size": 1152,
                "intermediate_size": 4304,
                "num_hidden_layers": 27,
                "num_attention_heads": 16,
                "image_size": 896,
                "patch_size": 14,
                "vision_use_head": False,
            },
            "mm_tokens_per_image": 256,
        },
    )


SHAPES = {
    "Qwen/Qwen3-0.6B": _qwen3(596_049_920, 1024, 3072, 28, 16, tied=True),
    "Qwen/Qwen3-1.7B": _qwen3(1_720_574_976, 2048, 6144, 28, 16, tied=True),
    "Qwen/Qwen3-4B": _qwen3(4_022_468_096, 2560, 9728, 36, 32, tied=True),
    "Qwen/Qwen3-8B": _qwen3(8_190_735_360, 4096, 12288, 36, 32, tied=False),
    "Qwen/Qwen3-14B": _qwen3(14_768_307_200, 5120, 17408, 40, 40, tied=False),
    "Qwen/Qwen3-32B": _qwen3(32_762_123_264, 5120, 25600, 64, 64, tied=False),
    "Qwen/Qwen2.5-7B-Instruct": _qwen2(7_615_616_512, 3584, 18944, 28, 28, 4),
    "Qwen/Qwen2.5-72B-Instruct": _qwen2(72_706_203_648, 8192, 29568, 80, 64, 8),
    "meta-llama/Llama-3.1-8B-Instruct": _llama(8_030_261_248, 4096, 14336, 32, 32),
    "meta-llama/Llama-3.3-70B-Instruct": _llama(70_553_706_496, 8192, 28672, 80, 64),
    "google/gemma-3-12b-it": _gemma3(12_187_325_040, 3840, 15360, 48, 16, 8, 256, 256),
    "google/gemma-3-27b-it": _gemma3(27_432_406_640, 5376, 21504, 62, 32, 16, 128, 168),
    "Qwen/Qwen3-30B-A3B": Shape(
        "qwen3_moe",
        30_532_122_624,
        {
            "vocab_size": 151936,
            "hidden_size": 2048,
            "moe_intermediate_size": 768,
            "num_hidden_layers": 48,
            "num_attention_heads": 32,
            "num_key_value_heads": 4,
            "head_dim": 128,
            "num_experts": 128,
            "num_experts_per_tok": 8,
            "norm_topk_prob": True,
            "max_position_embeddings": 40960,
            "rope_parameters": {"rope_type": "default", "rope_theta": 1_000_000.0},
        },
    ),
    "microsoft/phi-4": Shape(
        "phi3",
        14_659_507_200,
        {
            "vocab_size": 100352,
            "hidden_size": 5120,
            "intermediate_size": 17920,
            "num_hidden_layers": 40,
            "num_attention_heads": 40,
            "num_key_value_heads": 10,
            "max_position_embeddings": 16384,
            "original_max_position_embeddings": 16384,
            "tie_word_embeddings": False,
            "bos_token_id": 100257,
            "eos_token_id": 100265,
            "pad_token_id": 100349,
            "rope_parameters": {"rope_type": "default", "rope_theta": 250_000.0},
        },
    ),
    "mistralai/Mistral-7B-Instruct-v0.3": Shape(
        "mistral",
        7_248_023_552,
        {
            "vocab_size": 32768,
            "hidden_size": 4096,
            "intermediate_size": 14336,
            "num_hidden_layers": 32,
            "num_attention_heads": 32,
            "num_key_value_heads": 8,
            "head_dim": 128,
            "max_position_embeddings": 32768,
            "sliding_window": None,
            "tie_word_embeddings": False,
            "rope_parameters": {"rope_type": "default", "rope_theta": 1_000_000.0},
        },
    ),
}
"""Name on the Hub -> architecture. All are stored as bfloat16."""


def start_of(path: str) -> str:
    """The checkpoint that stands for ``runs/NAME/model`` as long as that is not trained: what its
    recipe starts from. Any other path is its own.
    """
    seen: set[str] = set()
    while path not in seen and not Path(path).exists() and Path(path).name == "model":
        seen.add(path)
        recipe = RECIPES / f"{Path(path).parent.name}.yaml"
        if not recipe.is_file():
            break
        path = str(yaml.safe_load(recipe.read_text(encoding="utf-8"))["model"]["path"])
    return path


def config_of(path: str) -> PretrainedConfig:
    """The architecture of ``model.path``: known here, in its folder, or in the Hub's local cache.

    Raises:
        TablemendError: it is none of the three; nothing is fetched.
    """
    from transformers import AutoConfig

    folder = local_folder(path)
    if folder is None and path in SHAPES:
        shape = SHAPES[path]
        return AutoConfig.for_model(shape.model_type, dtype="bfloat16", **shape.values)
    if folder is not None and not (folder / CONFIG).is_file():
        raise TablemendError(f"{folder} has no {CONFIG}: no architecture to plan with")
    try:
        return AutoConfig.from_pretrained(path, local_files_only=True)
    except (OSError, ValueError) as error:
        raise TablemendError(
            f"the architecture of {path} is not known here: fetch its {CONFIG} "
            f"(hf download {path} {CONFIG}), or give its folder as model.path"
        ) from error
