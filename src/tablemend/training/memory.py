"""What one GPU holds at the worst moment of a training, in formulas of the model's config.json.

T is the number of weights that train, W of GPUs; AdamW holds 2 numbers a trained weight
(Loshchilov and Hutter 2019):

- one process, DDP: all of it on every GPU, in the types that the weights have; DDP's buckets
  are a second copy of the gradients (``gradient_as_bucket_view=False``, accelerate's default).
- ZeRO-2, ZeRO-3 (Rajbhandari et al. 2020, sections 3 and 5): DeepSpeed turns all weights into
  the type that it computes in and keeps a float32 copy, two moments and the float32 gradient of
  T/W; ZeRO-3 also divides the weights, and gathers up to ``stage3_max_live_parameters``. Its
  reduction buffer has ``reduce_bucket_size`` numbers (5e8) where the config names no other.
- FSDP2 (``accelerate.utils.fsdp_utils.fsdp2_prepare_model``): what trains is kept as float32 and
  divided by W, as its gradients and moments; the layer at work, the next one, embedding and
  head are gathered in the type that is computed in.
- QLoRA (Dettmers et al. 2023, section 3): the layers' matrices in 4 bits, and 0.127 bits a weight
  for the constants of blocks of 64 and 256; one matrix at a time is unpacked.
- Activations (Korthikanti et al. 2022, section 4, for our layers): what each kind of layer saves
  for its backward pass (:meth:`Planner.layer_bytes`), of all layers, or with checkpointing every
  layer's input and what one of them saves.
- DPO: both answers of a pair in one pass. The reference is a second model where all weights train
  and it scores in every pass, or FSDP2 is at work: under DeepSpeed in the type computed in,
  divided under ZeRO-3 and FSDP2. In self-distillation the teacher is one where all weights train.
- GRPO, self-distillation: all answers of a step are drawn at once, each process its part.
  Gradients are not there yet when answers are drawn, except what ZeRO and FSDP2 keep. Under ZeRO-3
  and FSDP2 all weights are gathered for it. vLLM in the same process takes its share of the card,
  whether it needs it or not, and is counted as if it never slept.

A GPU also holds the CUDA context and what the allocator cannot fill: :data:`CONTEXT` and
:data:`SLACK` are left free on every card. Measured figures: test_training_planner.py.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from tablemend.errors import TablemendError
from tablemend.recipe.experiment import DpoExperiment, DrawingExperiment, Trained

if TYPE_CHECKING:
    from transformers import PretrainedConfig

GIB = 2**30
CARDS = {24: 23.5, 40: 39.4, 80: 79.1, 141: 139.8}
"""Cards by the GB they are sold with, and the GiB that a process sees."""
CONTEXT = 1.0
"""GiB of the CUDA context, of cuBLAS and of NCCL. Not yet measured by us."""
SLACK = 0.05
"""Share of a card that the caching allocator cannot fill. Not yet measured by us."""

FOUR_BITS = (4 + 8 / 64 + 32 / (64 * 256)) / 8
"""Bytes a weight in NF4 with double quantisation (Dettmers et al. 2023, section 3)."""
REDUCE_BUCKET = 500_000_000
"""DeepSpeed's default ``reduce_bucket_size``, in numbers."""
MAX_LIVE = 1_000_000_000
"""DeepSpeed's default ``stage3_max_live_parameters``."""
HOST_FACTOR = 1.5
"""Room beside what is offloaded: ``additional_buffer_factor`` of DeepSpeed's own estimate."""
ADAMW = 2
"""Numbers that AdamW keeps a weight."""
HEAD_ROWS, HEAD_COLUMNS = 4096, 32768
"""Tokens and words of a tile of TRL's fused head (1.16, ``TOKEN_CHUNK_SIZE`` and
``_CHUNKED_LOGPROB_CHUNK_SIZE``)."""
COPYING = 5
"""Tensors that TRL's offloading (1.16, ``OffloadActivations``) copies at a time."""
SCORES = 56
"""Bytes a token and word of the vocabulary where student and teacher are compared (JSD; KL: 32),
measured on a CPU."""
CHUNK = 64
"""Tokens that a gated delta rule takes at a time (transformers' own code, without kernels)."""
BYTES = {"float32": 4, "bfloat16": 2, "float16": 2}

KINDS = ("full_attention", "sliding_attention", "chunked_attention", "linear_attention")
"""Kinds of layers that are planned as what they are."""
PLAIN_MLP = frozenset(
    """bloom codegen falcon gpt2 gpt_bigcode gpt_neo gpt_neox gptj nemotron opt phi
    starcoder2""".split()
)
"""Model types whose layers have two matrices after attention, not three with a gate."""
NORMED_HEADS = ("qwen3", "gemma3", "gemma4", "olmo2", "olmo3")
"""How model types begin that norm queries and keys."""


@dataclass(frozen=True, slots=True)
class Strategy:
    """How an accelerate config divides a training, and over how many GPUs.

    Attributes:
        config: file in ``accelerate_configs/``, without its ending.
        gpus: one process each.
        shards: what every GPU keeps only its part of.
        deepspeed: DeepSpeed's engine, else torch's own.
        offload: optimizer and weights wait in the machine's memory.
    """

    config: str
    gpus: int
    shards: frozenset[str] = frozenset()
    deepspeed: bool = False
    offload: bool = False


MACHINE = 8
"""GPUs of one machine; more are planned over several."""
PARTS = frozenset({"gradients", "optimizer"})
ALL = PARTS | {"weights"}
STRATEGIES = (
    Strategy("single-gpu", 1),
    Strategy("ddp", MACHINE),
    Strategy("zero2", MACHINE, PARTS, deepspeed=True),
    Strategy("zero3", MACHINE, ALL, deepspeed=True),
    Strategy("zero3-offload", MACHINE, ALL, deepspeed=True, offload=True),
    Strategy("fsdp2", MACHINE, ALL),
    Strategy("zero3-nodes", 4 * MACHINE, ALL, deepspeed=True),
    Strategy("fsdp2-nodes", 4 * MACHINE, ALL),
)
"""The launches that a plan compares where nobody says how many GPUs there are."""


@dataclass(frozen=True, slots=True)
class Layer:
    """One decoder layer.

    Attributes:
        matrices: of one token: outputs and inputs, by the usual name.
        experts: the matrices of one expert, of which there are ``count`` and a token sees
            ``active``.
        others: weights in no such matrix.
        query, keys: widths of all heads' queries, and of their keys; values have the keys' width.
        inner: width of what the last matrix reads, of an expert where there is nothing else.
        kept: bytes a token that only this kind of layer keeps.
    """

    matrices: dict[str, tuple[int, int]]
    experts: dict[str, tuple[int, int]]
    count: int
    active: int
    others: int
    query: int
    keys: int
    inner: int
    kept: int = 0

    @property
    def weights(self) -> int:
        """How many it has."""
        return _sum(self.matrices) + self.count * _sum(self.experts) + self.others


def _sum(matrices: dict[str, tuple[int, int]]) -> int:
    return sum(out * into for out, into in matrices.values())


class Shape:
    """A language model in numbers, read from its configuration; of one that sees, its text part.

    Attributes:
        layers: of the decoder.
        ends: weights of embedding, head and last norm.
        unused: weights that a text never passes through.
        notes: what is not known of this architecture, and what is planned in its place.

    Raises:
        TablemendError: the configuration does not name what a plan needs.
    """

    def __init__(self, architecture: PretrainedConfig) -> None:
        text = architecture.get_text_config()
        self.type = str(text.model_type or architecture.model_type)
        needed = ("hidden_size", "num_hidden_layers", "num_attention_heads", "vocab_size")
        if missing := [name for name in needed if not getattr(text, name, None)]:
            raise TablemendError(f"the configuration of a {self.type} names no {missing[0]}")
        self.hidden, self.vocabulary = int(text.hidden_size), int(text.vocab_size)
        self.heads = int(text.num_attention_heads)
        stored = getattr(text, "dtype", None) or getattr(architecture, "dtype", None) or "float32"
        self.stored = str(stored).removeprefix("torch.")
        self.notes: list[str] = []
        if type(architecture).model_type != architecture.model_type:
            self.notes.append(f"transformers does not know {self.type}: planned by its config.json")
        kinds = list(getattr(text, "layer_types", None) or [])
        kinds = kinds or ["full_attention"] * int(text.num_hidden_layers)
        for kind in sorted(set(kinds) - set(KINDS)):
            self.notes.append(f"layers of kind {kind} are planned as full attention")
        if getattr(text, "kv_lora_rank", None):
            self.notes.append("low-rank keys (kv_lora_rank) are planned as whole ones")
        differ = getattr(text, "is_heterogeneous", False)  # Gemma 4: each layer has its own
        own = text.per_layer_config if differ else [text] * len(kinds)
        self.layers = tuple(_layer(own[at], kind, at) for at, kind in enumerate(kinds))
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

    @property
    def total(self) -> int:
        """All weights."""
        return sum(layer.weights for layer in self.layers) + self.ends + self.unused

    @property
    def active(self) -> int:
        """Weights of the layers that a token passes through."""
        return sum(
            layer.weights - (layer.count - layer.active) * _sum(layer.experts)
            for layer in self.layers
        )


def _layer(text: Any, kind: str, at: int) -> Layer:
    """One layer; what its kind or its architecture has of its own is named in the configuration."""

    def value(*names: str, default: Any = 0) -> Any:
        found = (getattr(text, name, None) for name in names)
        return next((each for each in found if each), default)

    hidden, heads = text.hidden_size, text.num_attention_heads
    width = value("head_dim", default=hidden // heads)
    query, keys = heads * width, value("num_key_value_heads", default=heads) * width
    model = str(text.model_type)
    gated = 2 if model.startswith(("qwen3_5", "qwen3_next")) else 1  # queries have a gate
    matrices = {
        "q_proj": (gated * query, hidden),
        "k_proj": (keys, hidden),
        "v_proj": (keys, hidden),
        "o_proj": (hidden, query),
    }
    kept, others = 0, 2 * hidden
    shares = value("num_kv_shared_layers")
    shared = bool(shares) and at >= text.num_hidden_layers - shares
    if value("attention_k_eq_v") and kind == "full_attention":
        del matrices["v_proj"]
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
    elif shared:
        matrices = {name: matrices[name] for name in ("q_proj", "o_proj")}
    inner = value("intermediate_size", "n_inner", "ffn_dim", default=4 * hidden)
    inner *= 2 if shared and value("use_double_wide_mlp") else 1
    count = value("num_experts", "num_local_experts", "n_routed_experts")
    dense = value("mlp_only_layers", default=())
    sparse = (at + 1) % value("decoder_sparse_step", default=1) == 0 and at not in dense
    if not sparse or at < value("first_k_dense_replace"):
        count = 0
    one = value("moe_intermediate_size", default=inner)
    experts = {"gate_up_proj": (2 * one, hidden), "down_proj": (hidden, one)} if count else {}
    others += count * hidden
    beside = inner  # width of the part that sees every token
    if count and not value("enable_moe_block"):
        common = value("shared_expert_intermediate_size")
        beside = common or value("n_shared_experts") * one
    if beside:
        names = ("up_proj",) if model in PLAIN_MLP else ("gate_proj", "up_proj")
        matrices |= dict.fromkeys(names, (beside, hidden)) | {"down_proj": (hidden, beside)}
    if own := value("hidden_size_per_layer_input"):
        matrices |= {"per_layer_input_gate": (own, hidden), "per_layer_projection": (hidden, own)}
    active = value("num_experts_per_tok", "top_k_experts", default=1) if count else 0
    return Layer(matrices, experts, count, active, others, query, keys, beside or one, kept)


@dataclass(frozen=True, slots=True)
class Memory:
    """Bytes on one GPU at the worst moment, and on its machine where something is offloaded.

    Attributes:
        activations: of the layers, or with the head's logits where these are more.
        reference: a second model's weights.
        generation: what drawing answers holds, when activations are not there.
        vllm: share of the card that vLLM takes at the start.
        keeps: gradients stay while answers are drawn.
    """

    weights: int
    gradients: int
    optimizer: int
    buffers: int
    activations: int = 0
    host: int = 0
    reference: int = 0
    generation: int = 0
    vllm: float = 0.0
    keeps: bool = False

    @property
    def total(self) -> int:
        """The most on the GPU at any time, without vLLM's share: in a step, or in drawing."""
        resting = self.weights + self.optimizer + self.buffers + self.reference
        step = resting + self.gradients + self.activations
        return max(step, resting + self.keeps * self.gradients + self.generation)

    @property
    def card(self) -> int | None:
        """The smallest card that it fits on; ``None``: none of :data:`CARDS`."""
        return next((card for card in CARDS if self.fits(card)), None)

    def fits(self, card: int) -> bool:
        """Whether it fits on a card, with room for what is not counted."""
        return self.total / GIB <= CARDS[card] * (1 - SLACK - self.vllm) - CONTEXT


class Planner:
    """Memory of one recipe under many launches.

    Args:
        config: the recipe, with a type of numbers in place of each ``auto``.
        shape: of its model.
        on_gpu: TRL's fused head in kernels. On a CPU fine-tuning has our trainer's head, and the
            fused head of the others scores every token.

    Attributes:
        size: bytes of a number that is computed with.
        stored: bytes of a weight as it is loaded.
    """

    def __init__(self, config: Trained, shape: Shape, on_gpu: bool = True) -> None:
        self.config, self.shape, self.on_gpu = config, shape, on_gpu
        self.size = 4 if config.train.precision == "float32" else 2  # auto: as on a GPU
        self.stored = BYTES.get(weight_type(config, shape.stored), 4)
        self.tuning = not isinstance(config, DpoExperiment | DrawingExperiment)

    @cached_property
    def trained(self) -> int:
        """Weights that train: all that a text passes through, or adapters."""
        lora, layers = self.config.train.lora, self.shape.layers
        if lora is None:
            return self.shape.total - self.shape.unused
        named = None if isinstance(lora.target_modules, str) else set(lora.target_modules)
        taken = [
            (layer.count if at is layer.experts else 1) * (out + into)
            for layer in layers
            for at in (layer.matrices, layer.experts)
            for name, (out, into) in at.items()
            if named is None or name in named
        ]
        return lora.r * sum(taken)

    @property
    def total(self) -> int:
        """All weights, adapters too."""
        return self.shape.total + (self.trained if self.config.train.lora else 0)

    @property
    def trained_bytes(self) -> int:
        """What trains, as it is loaded; PEFT makes adapters float32, and TRL QLoRA's bfloat16."""
        method = self.config.train.method
        return self.trained * {"full": self.stored, "lora": 4, "qlora": 2}[method]

    @property
    def packed(self) -> int:
        """Weights in 4 bits."""
        if self.config.train.method != "qlora":
            return 0
        return sum(_sum(layer.matrices) for layer in self.shape.layers)

    @property
    def loaded(self) -> int:
        """Bytes of weights that are not divided."""
        frozen = self.shape.total - self.packed - (0 if self.config.train.lora else self.trained)
        return frozen * self.stored + math.ceil(self.packed * FOUR_BITS) + self.trained_bytes

    def memory(self, strategy: Strategy, supervised: int | None = None) -> Memory:
        """What one GPU holds at the worst moment.

        Args:
            strategy: the launch.
            supervised: tokens a row that bear loss; all of them, and of GRPO's rows the longest
                answer, where it is not known.
        """
        config, found = self.config, self._states(strategy)
        activations, backward = self._activations(strategy, supervised)
        at_once = config.train.micro_batch * strategy.gpus
        if not strategy.shards and config.train.global_batch <= at_once:
            # gradients grow from nothing to all while activations go, but for the first layer's
            activations = max(backward, activations - found.gradients)
        found = replace(found, activations=activations)
        if has_copy(config, strategy):
            copy = self.total * self.size if strategy.deepspeed else self.loaded
            parts = strategy.gpus if "weights" in strategy.shards else 1
            found = replace(found, reference=math.ceil(copy / parts))
        if isinstance(config, DrawingExperiment):
            drawn, keeps = self._drawing_bytes(config, strategy), bool(strategy.shards)
            found = replace(found, generation=drawn, vllm=vllm_share(config), keeps=keeps)
        return found

    def _states(self, strategy: Strategy) -> Memory:
        """Weights, gradients, optimizer and buffers, as the launch divides them."""
        matrices = [each for one in self.shape.layers for each in one.matrices.values()]
        unpacked = max(out * into for out, into in matrices) * 2 if self.packed else 0
        if not strategy.shards:
            gradients = self.trained_bytes
            buffers = unpacked + (gradients if strategy.gpus > 1 else 0)
            return Memory(self.loaded, gradients, ADAMW * gradients, buffers)
        size, part = self.size, math.ceil(self.trained / strategy.gpus)
        if not strategy.deepspeed:
            frozen = self.loaded - self.trained_bytes
            weights = math.ceil(frozen / strategy.gpus) + part * 4
            layer = max(layer.weights for layer in self.shape.layers)
            gathered = (2 * layer + self.shape.ends) * size
            return Memory(weights, part * 4, part * 4 * ADAMW, gathered)
        # DeepSpeed casts floating-point weights alone
        weights = (self.total - self.packed) * size + math.ceil(self.packed * FOUR_BITS)
        buffers = REDUCE_BUCKET * size + unpacked
        if "weights" in strategy.shards:
            weights = math.ceil(weights / strategy.gpus)
            buffers += min(self.total, MAX_LIVE) * size
        optimizer, gradients = part * 4 * (1 + ADAMW), part * 4
        if not strategy.offload:
            return Memory(weights, gradients, optimizer, buffers)
        on_host = (weights + optimizer + gradients) * strategy.gpus
        return Memory(0, 0, 0, buffers, host=math.ceil(on_host * HOST_FACTOR))

    def _activations(self, strategy: Strategy, supervised: int | None) -> tuple[int, int]:
        """The most that layers and head hold of a pass, and what a backward pass adds for a layer.

        With checkpointing a layer keeps its input alone, and in the backward pass one layer what it
        saves. All weights that are cast for autocast keep their copy through the forward pass.
        """
        config, train, layers = self.config, self.config.train, self.shape.layers
        stored = self.size if strategy.shards else self.stored  # gathered in the type computed in
        rows = train.micro_batch * (2 if isinstance(config, DpoExperiment) else 1)
        tokens, hidden = rows * config.longest_row, self.shape.hidden
        saved = [
            tokens * self.layer_bytes(layer, stored, strategy)
            # PEFT (0.21) adds each expert's adapter to a copy of it
            + 2 * self.size * layer.count * _sum(layer.experts) * (train.lora is not None)
            for layer in layers
        ]
        wide = max(3 * self.size * layer.inner * max(1, layer.active) for layer in layers)
        backward = tokens * (wide + 12 * hidden)  # gradients within a layer
        casts = 0
        if self.size < stored and not train.lora:
            casts = self.size * sum(layer.weights for layer in layers)
        inputs = [tokens * hidden * stored] * len(layers)
        kept = inputs if train.gradient_checkpointing else saved
        if train.trl.get("activation_offloading"):  # the others are moved to the machine's memory
            kept = sorted(kept)[-(COPYING if train.gradient_checkpointing else 1) :]
        forward = sum(kept)
        if train.gradient_checkpointing:
            backward += max(saved)
        else:
            forward, casts = forward + casts, 0
        head = self._head_bytes(rows, supervised)
        return max(forward + max(backward, casts), forward + head), backward

    def layer_bytes(self, layer: Layer, stored: int, strategy: Strategy) -> int:
        """What a layer saves of a token for its backward pass, without checkpointing.

        - a norm its input in float32, and where its weight trains what that multiplies;
        - attention queries, keys, values and its result, keys and values for every head where it
          takes a mask, and by eager matrix products the chances of all keys;
        - the MLP its three widths; an expert what it gathers too;
        - a matrix its input where it trains or has an adapter; one tensor serves several, but not
          where each casts it: to bfloat16 out of float32 weights, or to float32 adapters and back.
        """
        shape, train, size = self.shape, self.config.train, self.size
        lora, hidden = train.lora, shape.hidden
        normed = 2 * hidden * (2 if shape.type.startswith(("gemma2", "gemma3", "gemma4")) else 1)
        if shape.type.startswith(NORMED_HEADS) and not layer.kept:
            normed += layer.query + layer.keys
        found = normed * (4 + (0 if lora else stored))
        if layer.kept:
            found += layer.kept
        elif self.config.model.attn == "eager":
            found += 3 * size * layer.query
            found += shape.heads * self.config.longest_row * (4 + size)
        else:
            found += 2 * size * (layer.query + (layer.query if self._masked else layer.keys))
        plain = shape.type in PLAIN_MLP
        dense = "down_proj" in layer.matrices
        found += size * layer.inner * (1 if plain else 3) * dense
        one = layer.experts["down_proj"][1] if layer.experts else 0
        found += layer.active * size * (2 * hidden + 5 * one) + 12 * layer.count
        wide = train.method == "lora" and not strategy.shards  # adapters are float32
        if size < (stored if lora is None else 4 * wide):
            found += size * sum(into for _, into in layer.matrices.values())
        else:
            found += size * (2 * hidden + layer.inner * dense)
        return found + (lora.r * size * len(layer.matrices) if lora else 0)

    @property
    def _masked(self) -> bool:
        """Whether rows of several lengths, or packed ones, make attention take a mask."""
        train = self.config.train
        if self.tuning and train.packing:
            return self.config.model.attn in ("sdpa", "eager")
        return not self.tuning or (self.on_gpu and train.micro_batch > 1)

    def _head_bytes(self, rows: int, supervised: int | None) -> int:
        """Beside what the layers keep: logits and their gradients, and the gradient of the head.

        TRL's fused head (1.16) makes logits in tiles, and the gradients of the last hidden states
        and of the head's weights in float32. Without its kernels it holds five more tiles.
        """
        config, size = self.config, self.size
        if supervised is None or not (self.on_gpu or self.tuning):
            supervised = config.longest_row
            whole = not self.on_gpu and config.distil is None
            if isinstance(config, DrawingExperiment) and not whole:
                supervised = config.drawing.max_new_tokens
        tokens, vocabulary, width = rows * supervised, self.shape.vocabulary, self.shape.hidden
        weights = 4 * vocabulary * width if config.train.method == "full" else 0
        if config.distil is not None:
            return SCORES * tokens * vocabulary + weights
        if not self.on_gpu and self.tuning:  # scores of targets, their gradient, and softmax's
            return 12 * tokens * vocabulary + weights
        tile = min(tokens, HEAD_ROWS) * HEAD_COLUMNS * size
        if not self.on_gpu:
            tile += 5 * 4 * min(tokens, HEAD_ROWS) * min(vocabulary, HEAD_COLUMNS)
        return tile + tokens * width * (4 + 2 * size) + weights

    def token_bytes(self, size: int) -> int:
        """Keys and values of one token in all layers, in numbers of so many bytes."""
        return sum(2 * layer.keys * size for layer in self.shape.layers)

    def _drawing_bytes(self, config: DrawingExperiment, strategy: Strategy) -> int:
        """What drawing a step's answers by transformers holds with their last tokens.

        The cache keeps every token in every layer, and one layer more while it grows; logits,
        chances and their sums are in float32. Weights that are divided are gathered.
        """
        if config.drawing.engine != "transformers":
            return 0
        rows, layers = answers_at_once(config, strategy), len(self.shape.layers)
        size = self.size if strategy.shards else max(self.size, self.stored)
        gathered = self.total * size if "weights" in strategy.shards else 0
        cache = rows * config.longest_row * self.token_bytes(size) * (layers + 1) // layers
        return cache + rows * self.shape.vocabulary * 4 * 3 + gathered


def weight_type(config: Trained, stored: str) -> str:
    """The type that weights are loaded in, of a checkpoint that has stored them in another."""
    return stored if config.weights_dtype == "auto" else config.weights_dtype


def has_copy(config: Trained, strategy: Strategy) -> bool:
    """Whether the reference is a second model."""
    if config.train.lora is not None or config.distil is not None:
        return config.train.lora is None
    if config.grpo is not None:
        return config.grpo.beta > 0
    on_fsdp = bool(strategy.shards) and not strategy.deepspeed
    return isinstance(config, DpoExperiment) and (not config.dpo.precompute_reference or on_fsdp)


def vllm_share(config: DrawingExperiment) -> float:
    """Share of each card that vLLM takes in the training's process, by TRL's own setting."""
    colocated = config.drawing.engine == "vllm-colocate"
    return float(config.train.trl.get("vllm_gpu_memory_utilization", 0.3)) if colocated else 0.0


def answers_at_once(config: DrawingExperiment, strategy: Strategy) -> int:
    """How many answers a process draws for a step."""
    return math.ceil(config.train.global_batch / strategy.gpus)
