"""Architectures that a plan is made for: known here, in a folder, or in the Hub's local cache.

Read from ``config.json`` alone; no model is built.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from tablemend.backends.checkpoints import CONFIG, local_folder
from tablemend.config import RECIPES
from tablemend.errors import TablemendError

if TYPE_CHECKING:
    from transformers import PretrainedConfig

    from tablemend.recipe.experiment import Model

KINDS = (
    *("attention", "full_attention", "sliding_attention", "chunked_attention"),
    *("linear_attention", "mamba", "conv"),
)
"""Kinds of layers that are planned as what they are; a model with one part a layer has others."""
STATE_HEADS = ("linear_num_value_heads", "mamba_num_heads", "mamba_n_heads")
"""How a configuration names the heads of a gated delta rule, or of Mamba-2."""
ONE_PART = ("nemotron_h",)
"""Model types whose layers are each an attention, a Mamba, an MLP or experts, after one norm."""
PLAIN_MLP = (
    "bloom codegen falcon gpt2 gpt_bigcode gpt_neo gpt_neox gptj nemotron nemotron_h opt phi "
    "starcoder2"
)
"""Model types whose layers have two matrices after attention, not three with a gate."""
NORMED_HEADS = ("qwen3", "gemma3", "gemma4", "olmo2", "olmo3")
"""How model types begin that norm queries and keys."""
CHUNK = 64
"""Tokens that a gated delta rule takes at a time (transformers' own code, without kernels)."""


@cache
def known() -> dict[str, dict[str, Any]]:
    """What ``architectures.yaml`` says, by name on the Hub."""
    text = Path(__file__).with_name("architectures.yaml").read_text(encoding="utf-8")
    return {name: values for name, values in yaml.safe_load(text).items() if name[0] != "."}


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


LONGER = (
    "take a model with a longer one (recipe=smollm2-135m), or make the examples shorter "
    "(docs/own-data.md)"
)
"""What is left where a model's window is too short."""


def window_of(architecture: PretrainedConfig) -> int:
    """Most tokens of prompt and answer together."""
    return int(getattr(architecture.get_text_config(), "max_position_embeddings", None) or 2**31)


def check_window(config: Model, architecture: PretrainedConfig) -> None:
    """Refuse a ``context_length`` that is longer than the model's window."""
    window = window_of(architecture)
    if config.context_length is not None and config.context_length > window:
        raise TablemendError(
            f"model.context_length={config.context_length} is longer than the window of "
            f"{config.path}: set at most {window}; where examples need more, {LONGER}"
        )


def to_fit(config: Model, needed: int) -> str:
    """How examples of so many tokens can be trained on: what to set, or what else to take."""
    window = needed
    with suppress(TablemendError):  # of an architecture that is not here
        window = window_of(config_of(start_of(config.path)))
    if needed > window:
        return f"the window of {config.path} is {window} tokens: {LONGER}"
    return f"set model.context_length={needed} or more, and train.max_length likewise or null"


def config_of(path: str) -> PretrainedConfig:
    """The architecture of ``model.path``; of one that transformers does not know, its bare values.

    Raises:
        TablemendError: it is nowhere on this machine, or needs code of its own; nothing is fetched.
    """
    from huggingface_hub.errors import StrictDataclassError
    from transformers import CONFIG_MAPPING, AutoConfig, PretrainedConfig

    folder = local_folder(path)
    if folder is None and path in known():
        values = {name: value for name, value in known()[path].items() if name != "parameters"}
        return AutoConfig.for_model(values.pop("model_type"), dtype="bfloat16", **values)
    if folder is not None and not (folder / CONFIG).is_file():
        raise TablemendError(f"{folder} has no {CONFIG}: no architecture to plan with")
    try:
        found: dict[str, Any] = PretrainedConfig.get_config_dict(path, local_files_only=True)[0]
        if found.get("model_type", "gpt2") not in CONFIG_MAPPING and "auto_map" not in found:
            values = found.pop("text_config", {})
            return PretrainedConfig.from_dict({**values, **found, **values})
        return AutoConfig.from_pretrained(path, local_files_only=True, trust_remote_code=False)
    except (OSError, ValueError, StrictDataclassError) as error:
        raise TablemendError(
            f"the architecture of {path} is not known here: fetch its {CONFIG} "
            f"(hf download {path} {CONFIG}), or give its folder as model.path"
        ) from error


@dataclass(frozen=True, slots=True)
class Layer:
    """One decoder layer.

    Attributes:
        matrices: of one token: outputs and inputs, by the usual name.
        experts: the matrices of one expert, of which there are ``count`` and a token sees
            ``active``.
        others: weights in no such matrix.
        query, keys: widths of all heads' queries, and of their keys; values have the keys' width.
        inner, expert: widths of the part that sees every token, and of an expert.
        normed: width of all that is normed.
        kept: bytes a token that linear attention, Mamba or a convolution keeps.
    """

    matrices: dict[str, tuple[int, int]]
    experts: dict[str, tuple[int, int]]
    count: int
    active: int
    others: int
    query: int
    keys: int
    inner: int
    expert: int
    normed: int
    kept: int = 0

    @property
    def weights(self) -> int:
        """How many it has."""
        return weights_of(self.matrices) + self.count * weights_of(self.experts) + self.others


def weights_of(matrices: Mapping[str, tuple[int, int]]) -> int:
    """How many weights they have."""
    return sum(out * into for out, into in matrices.values())


class Shape:
    """A language model in numbers, read from its configuration; of one that sees, its text part.

    Attributes:
        layers: of the decoder.
        ends: weights of embedding, head and last norm.
        unused: weights that a text never passes through.
        total, active: all weights; those of the layers that a token passes through.
        notes: what is not known of this architecture, and what is planned in its place.

    Raises:
        TablemendError: the configuration does not name what a plan needs.
    """

    def __init__(self, architecture: PretrainedConfig) -> None:
        text = architecture.get_text_config()
        kind = str(text.model_type or architecture.model_type)
        needed = ("hidden_size", "num_hidden_layers", "num_attention_heads", "vocab_size")
        if missing := [name for name in needed if not getattr(text, name, None)]:
            raise TablemendError(f"the configuration of a {kind} names no {missing[0]}")
        self.hidden, self.vocabulary = int(text.hidden_size), int(text.vocab_size)
        self.heads = int(text.num_attention_heads)
        stored = getattr(text, "dtype", None) or getattr(architecture, "dtype", None) or "float32"
        self.stored = str(stored).removeprefix("torch.")
        kinds = list(getattr(text, "layer_types", None) or [])
        kinds = kinds or ["full_attention"] * int(text.num_hidden_layers)
        planned = {*KINDS, *(("mlp", "moe") if kind in ONE_PART else ())}
        if not any(getattr(text, name, None) for name in STATE_HEADS):
            planned -= {"linear_attention", "mamba"}  # Mamba-1, Lightning Attention
        self.notes = [
            f"layers of kind {one} are planned as full attention"
            for one in sorted(set(kinds) - planned)
        ]
        if type(architecture).model_type != architecture.model_type:
            self.notes.append(f"transformers does not know {kind}: planned by its config.json")
        if getattr(text, "kv_lora_rank", None):
            self.notes.append("low-rank keys (kv_lora_rank) are planned as whole ones")
        differ = getattr(text, "is_heterogeneous", False)  # Gemma 4: each layer has its own
        own = text.per_layer_config if differ else [text] * len(kinds)
        self.layers = tuple(_layer(own[at], one, at) for at, one in enumerate(kinds))
        tied = getattr(text, "tie_word_embeddings", False)
        self.ends = self.vocabulary * self.hidden * (1 if tied else 2) + self.hidden
        if each := getattr(text, "hidden_size_per_layer_input", 0):  # Gemma 3n, Gemma 4
            self.ends += text.vocab_size_per_layer_input * each * len(kinds)
        self.unused = 0
        for part in ("vision_config", "audio_config"):
            seen = getattr(architecture, part, None)
            width = getattr(seen, "hidden_size", 0) or 0
            inner = getattr(seen, "intermediate_size", 0) or 4 * width
            depth = getattr(seen, "num_hidden_layers", 0) or getattr(seen, "depth", 0) or 0
            self.unused += depth * (4 * width**2 + 2 * width * inner)
        self.total = sum(layer.weights for layer in self.layers) + self.ends + self.unused
        self.active = sum(
            layer.weights - (layer.count - layer.active) * weights_of(layer.experts)
            for layer in self.layers
        )


def _layer(text: Any, kind: str, at: int) -> Layer:
    """One layer; what its kind or its architecture has of its own is named in the configuration."""

    def value(*names: str, default: Any = 0) -> Any:
        found = (getattr(text, name, None) for name in names)
        return next((each for each in found if each), default)

    hidden, heads, model = text.hidden_size, text.num_attention_heads, str(text.model_type)
    width = value("head_dim", default=hidden // heads)
    query, keys = heads * width, value("num_key_value_heads", default=heads) * width
    gated = 2 if model.startswith(("qwen3_5", "qwen3_next")) else 1  # queries have a gate
    matrices = {"q_proj": (gated * query, hidden), "o_proj": (hidden, query)}
    kept, others = 0, 2 * hidden
    normed = 2 * hidden * (2 if model.startswith(("gemma2", "gemma3", "gemma4")) else 1)
    last_shared = value("num_kv_shared_layers")
    shared = bool(last_shared) and at >= text.num_hidden_layers - last_shared
    state_heads = value(*STATE_HEADS[1:])
    if kind == "linear_attention" and (count := value("linear_num_value_heads")):
        key_width, value_width = text.linear_key_head_dim, text.linear_value_head_dim
        keys, query = text.linear_num_key_heads * key_width, count * value_width
        mixed = 2 * keys + query
        matrices = {"in_proj_qkv": (mixed, hidden), "in_proj_z": (query, hidden)}
        matrices |= {"in_proj_b": (count, hidden), "in_proj_a": (count, hidden)}
        matrices["out_proj"] = (hidden, query)
        others += mixed * value("linear_conv_kernel_dim", default=4)
        # the convolution's two, queries and keys for every head in float32, products within a
        # chunk and a state a chunk
        heads_bytes = count * (2 * key_width + value_width + 6 * CHUNK) + 3 * query
        kept = 4 * mixed + 4 * heads_bytes + 12 * count * key_width * value_width // CHUNK
    elif kind in ("linear_attention", "mamba") and state_heads:  # Mamba-2
        query = state_heads * value("mamba_head_dim", "mamba_d_head")
        state = value("ssm_state_size", "mamba_d_state")
        keys, chunk = 0, value("chunk_size", "mamba_chunk_size", default=256)
        mixed = query + 2 * value("n_groups", "mamba_n_groups", default=1) * state
        matrices = {"in_proj": (query + mixed + state_heads, hidden)}
        # out_proj takes no adapter; a kernel and a bias of the convolution, a norm, three a head
        others += query * (hidden + 1) + 3 * state_heads
        others += mixed * (value("conv_kernel", "mamba_d_conv", default=4) + 1)
        # likewise: the convolution's two, inputs, keys and queries for every head in float32
        heads_bytes = query + state_heads * (2 * state + chunk) + state_heads * state
        kept = 4 * mixed + 4 * heads_bytes + 4 * query * state // chunk
    elif kind == "conv":  # LFM2: three gates, a short convolution of one
        query = keys = 0
        matrices = {"in_proj": (3 * hidden, hidden), "out_proj": (hidden, hidden)}
        others += hidden * value("conv_L_cache", default=3)
        kept = 20 * hidden
    elif model in ONE_PART and kind in ("mlp", "moe"):
        query = keys = 0
        matrices = {}
    else:
        normed += (query + keys) * model.startswith(NORMED_HEADS)
        if not shared:
            matrices["k_proj"] = (keys, hidden)
            if not (value("attention_k_eq_v") and kind == "full_attention"):
                matrices["v_proj"] = (keys, hidden)
    inner = value("intermediate_size", "n_inner", "ffn_dim", default=4 * hidden)
    inner *= 2 if shared and value("use_double_wide_mlp") else 1
    if value("block_auto_adjust_ff_dim"):  # LFM2
        inner = int(value("block_ffn_dim_multiplier", default=1) * int(2 * inner / 3))
        inner += -inner % value("block_multiple_of", default=1)
    count = value("num_experts", "num_local_experts", "n_routed_experts")
    dense = at in value("mlp_only_layers", default=()) or at < value("first_k_dense_replace")
    if dense or (at + 1) % value("decoder_sparse_step", default=1):
        count = 0
    if (at - value("expert_layer_offset")) % value("expert_layer_period", default=1):  # Jamba
        count = 0
    if model in ONE_PART:
        normed, others = hidden, others - hidden
        count = count if kind == "moe" else 0
        inner = inner if kind in ("mlp", "moe") else 0
    expert = value("moe_intermediate_size", default=inner) if count else 0
    gates = 1 if model in PLAIN_MLP.split() else 2
    experts = {"gate_up_proj": (gates * expert, hidden), "down_proj": (hidden, expert)}
    if count and not value("enable_moe_block"):  # what sees every token
        common = value("shared_expert_intermediate_size", "moe_shared_expert_intermediate_size")
        inner = common or value("n_shared_experts") * expert
    if shared_inner := value("shared_intermediate_size"):  # Granite
        inner = shared_inner
    if inner:
        names = ("up_proj",) if gates == 1 else ("gate_proj", "up_proj")
        matrices |= dict.fromkeys(names, (inner, hidden)) | {"down_proj": (hidden, inner)}
    if own := value("hidden_size_per_layer_input"):
        matrices |= {"per_layer_input_gate": (own, hidden), "per_layer_projection": (hidden, own)}
    return Layer(
        matrices,
        experts if count else {},
        count,
        value("num_experts_per_tok", "top_k_experts", default=1) if count else 0,
        others + count * hidden,
        query,
        keys,
        inner,
        expert,
        normed,
        kept,
    )
