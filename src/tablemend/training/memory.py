"""What one GPU holds at the worst moment of a training, in formulas of the model's config.json.

T is the number of weights that train, W of GPUs; AdamW holds 2 numbers a trained weight:

- one process, DDP: all of it on every GPU, in the types that the weights have; DDP's buckets
  are a second copy of the gradients (``gradient_as_bucket_view=False``, accelerate's default).
- ZeRO-2, ZeRO-3 (Rajbhandari et al. 2020, sections 3 and 5): DeepSpeed turns all weights into
  the type that it computes in and keeps a float32 copy, two moments and the float32 gradient of
  T/W; ZeRO-3 also divides the weights, and gathers up to :data:`MAX_LIVE`.
- FSDP2 (``accelerate.utils.fsdp_utils.fsdp2_prepare_model``): what trains is kept as float32 and
  divided by W, as its gradients and moments; the layer at work, the next one, embedding and
  head are gathered in the type that is computed in.
- QLoRA (Dettmers et al. 2023, section 3): the layers' matrices in 4 bits; one is unpacked.
- Activations (Korthikanti et al. 2022, section 4): what each layer saves for its backward pass
  (:meth:`Planner.layer_bytes`); with checkpointing its input, and one layer all of it.
- A reference or teacher (:func:`has_copy`): in the type computed in under DeepSpeed, divided as
  the weights are. DPO has both answers of a pair in one pass.
- Answers that are drawn: all of a step at once, each process its part, without gradients but for
  what ZeRO and FSDP2 keep, and with all weights gathered. vLLM in the same process takes its
  share of the card, whether it needs it or not.

The CUDA context and what the allocator cannot fill are left free on every card.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from tablemend.recipe.experiment import DpoExperiment, DrawingExperiment, TrainingRecipe
from tablemend.training.architectures import PLAIN_MLP, Layer, Shape, weights_of

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
BYTES = {"float32": 4, "bfloat16": 2, "float16": 2}

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
        trained: weights that train: all that a text passes through, or adapters.
        total: all weights, adapters too.
        packed: weights in 4 bits.
        trained_bytes: of what trains, as it is loaded; PEFT makes adapters float32, and TRL
            QLoRA's bfloat16.
        loaded: bytes of weights that are not divided.
    """

    def __init__(self, config: TrainingRecipe, shape: Shape, on_gpu: bool = True) -> None:
        self.config, self.shape, self.on_gpu = config, shape, on_gpu
        method, lora, layers = config.train.method, config.train.lora, shape.layers
        self.size = 4 if config.train.precision == "float32" else 2  # auto: as on a GPU
        self.stored = BYTES.get(weight_type(config, shape.stored), 4)
        self.tuning = not isinstance(config, DpoExperiment | DrawingExperiment)
        self.trained = shape.total - shape.unused
        if lora is not None:
            named = None if isinstance(lora.target_modules, str) else set(lora.target_modules)
            self.trained = lora.r * sum(
                (layer.count if at is layer.experts else 1) * (out + into)
                for layer in layers
                for at in (layer.matrices, layer.experts)
                for name, (out, into) in at.items()
                if named is None or name in named
            )
        self.total = shape.total + (self.trained if lora else 0)
        self.trained_bytes = self.trained * {"full": self.stored, "lora": 4, "qlora": 2}[method]
        matrices = sum(weights_of(layer.matrices) for layer in layers)
        self.packed = matrices if method == "qlora" else 0
        frozen = shape.total - self.packed - (0 if lora else self.trained)
        packed_bytes = math.ceil(self.packed * FOUR_BITS)
        self.loaded = frozen * self.stored + packed_bytes + self.trained_bytes

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
            + 2 * self.size * layer.count * weights_of(layer.experts) * (train.lora is not None)
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
            # rows of several lengths, or packed ones, make attention take a mask
            if self.tuning and train.packing:
                masked = self.config.model.attn in ("sdpa", "eager")
            else:
                masked = not self.tuning or (self.on_gpu and train.micro_batch > 1)
            found += 2 * size * (layer.query + (layer.query if masked else layer.keys))
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


def weight_type(config: TrainingRecipe, stored: str) -> str:
    """The type that weights are loaded in, of a checkpoint that has stored them in another."""
    return stored if config.weights_dtype == "auto" else config.weights_dtype


def has_copy(config: TrainingRecipe, strategy: Strategy) -> bool:
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
