"""What one GPU holds at the worst moment of a training, in formulas of the model's config.json.

T is the number of weights that train, W of GPUs; AdamW holds 2 numbers a trained weight:

- one process, DDP: all of it on every GPU, in the types that the weights have; DDP's buckets are a
  second copy of the gradients.
- ZeRO-2, ZeRO-3 (Rajbhandari et al. 2020, sections 3 and 5): all weights in the type computed in, a
  float32 copy, two moments and the float32 gradient of T/W; ZeRO-3 also divides the weights, and
  gathers up to :data:`MAX_LIVE`.
- FSDP2: what trains is float32 and divided by W, as its gradients and moments; two layers,
  embedding and head are gathered in the type computed in.
- QLoRA (Dettmers et al. 2023, section 3): the layers' matrices in 4 bits; one is unpacked.
- Activations (Korthikanti et al. 2022, section 4): what each layer saves for its backward pass;
  with checkpointing its input, and one layer all of it.
- Answers that are drawn: all of a step at once, each process its part; vLLM takes its share.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from tablemend.recipe.experiment import DpoExperiment, DrawingExperiment, TrainingRecipe
from tablemend.training.architectures import Layer, Shape, weights_of

GIB = 2**30
CARDS = {24: 23.5, 40: 39.4, 80: 79.1, 141: 139.8}
"""Cards by the GB they are sold with, and the GiB that a process sees."""
CONTEXT, SLACK = 1.0, 0.05
"""GiB of the CUDA context, cuBLAS and NCCL; share that the allocator cannot fill. Not measured."""
FOUR_BITS = (4 + 8 / 64 + 32 / (64 * 256)) / 8
"""Bytes a weight in NF4 with double quantisation (Dettmers et al. 2023, section 3)."""
REDUCE_BUCKET, MAX_LIVE = 500_000_000, 1_000_000_000
"""DeepSpeed's defaults of ``reduce_bucket_size`` and ``stage3_max_live_parameters``."""
HOST_FACTOR = 1.5
"""Room beside what is offloaded: ``additional_buffer_factor`` of DeepSpeed's own estimate."""
HEAD_ROWS, HEAD_COLUMNS = 4096, 32768
"""Tokens and words of a tile of TRL's fused head (1.16)."""
COPYING = 5
"""Layers whose tensors TRL's offloading (1.16) copies at a time."""
SCORES = 56
"""Bytes a token and word where student and teacher are compared (JSD; KL: 32), on a CPU."""
BYTES = {"float32": 4, "bfloat16": 2, "float16": 2}


@dataclass(frozen=True, slots=True)
class Strategy:
    """How an accelerate config divides a training, and over how many GPUs.

    Attributes:
        config: file in ``accelerate_configs/``, without its ending.
        shards: what every GPU keeps only its part of.
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
    """Bytes on one GPU at the worst moment.

    Attributes:
        activations: of the layers, or with the head's logits where these are more.
        reference: a second model's weights.
        generation: what drawing answers holds, when activations are not there.
        host: on its machine, where something is offloaded.
        vllm: share of the card that vLLM takes at the start.
        keeps: gradient buffers stay allocated while answers are drawn.
    """

    weights: int
    gradients: int
    optimizer: int
    buffers: int
    activations: int = 0
    reference: int = 0
    generation: int = 0
    host: int = 0
    vllm: float = 0.0
    keeps: bool = False

    @property
    def total(self) -> int:
        """The most on the GPU at any time, without vLLM's share."""
        resting = self.weights + self.optimizer + self.buffers + self.reference
        drawing = self.keeps * self.gradients + self.generation
        return resting + max(self.gradients + self.activations, drawing)

    @property
    def card(self) -> int | None:
        """The smallest card that it fits on; ``None``: none of :data:`CARDS`."""
        return next((card for card in CARDS if self.fits(card)), None)

    @property
    def where(self) -> str:
        """:attr:`card` in words."""
        return f"{self.card} GB" if self.card else f"none up to {max(CARDS)} GB"

    def fits(self, card: int) -> bool:
        """Whether it fits on a card, with room for what is not counted."""
        return self.total / GIB <= CARDS[card] * (1 - SLACK - self.vllm) - CONTEXT


class Planner:
    """Memory of one recipe under many launches.

    Args:
        config: the recipe; a type ``auto`` is that of GPUs.
        shape: of its model.
        on_gpu: TRL's fused head in kernels. On a CPU fine-tuning has our trainer's head, and the
            fused head of the others scores every token.

    Attributes:
        size, stored: bytes of a number that is computed with, and of a weight as it is loaded.
        trained, total: weights that train (all that a text passes through, or adapters); all.
        packed: weights in 4 bits.
        loaded: bytes of weights that are not divided.
    """

    def __init__(self, config: TrainingRecipe, shape: Shape, on_gpu: bool = True) -> None:
        self.config, self.shape, self.on_gpu = config, shape, on_gpu
        method, lora, layers = config.train.method, config.train.lora, shape.layers
        self.size = 4 if config.train.precision == "float32" else 2
        self.stored = BYTES.get(weight_type(config, shape.stored), 4)
        self.tuning = not isinstance(config, DpoExperiment | DrawingExperiment)
        self.trained = shape.total - shape.unused
        if lora is not None:
            self.trained = lora.r * sum(
                (layer.count if at is layer.experts else 1) * (out + into)
                for layer in layers
                for at in (layer.matrices, layer.experts)
                for name, (out, into) in at.items()
                if isinstance(lora.target_modules, str) or name in lora.target_modules
            )
        self.total = shape.total + (self.trained if lora else 0)
        # PEFT makes adapters float32, and TRL QLoRA's bfloat16
        self._trained_bytes = self.trained * {"full": self.stored, "lora": 4, "qlora": 2}[method]
        matrices = sum(weights_of(layer.matrices) for layer in layers)
        self.packed = matrices if method == "qlora" else 0
        frozen = shape.total - self.packed - (0 if lora else self.trained)
        packed_bytes = math.ceil(self.packed * FOUR_BITS)
        self.loaded = frozen * self.stored + packed_bytes + self._trained_bytes

    def memory(self, strategy: Strategy, supervised: int | None = None) -> Memory:
        """What one GPU holds at the worst moment.

        Args:
            strategy: the launch.
            supervised: tokens a row that bear loss; where it is not known all of them, and of
                answers that are drawn the longest.
        """
        config, found = self.config, self._states(strategy)
        activations, backward = self._activations(strategy, supervised)
        if (
            not strategy.shards
            and config.train.global_batch <= config.train.micro_batch * strategy.gpus
        ):  # gradients grow from nothing while activations go
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
        size, part = self.size, math.ceil(self.trained / strategy.gpus)
        matrices = [each for one in self.shape.layers for each in one.matrices.values()]
        unpacked = max(out * into for out, into in matrices) * 2 if self.packed else 0
        if not strategy.shards:
            gradients = self._trained_bytes
            buffers = unpacked + (gradients if strategy.gpus > 1 else 0)
            return Memory(self.loaded, gradients, 2 * gradients, buffers)
        if not strategy.deepspeed:
            frozen = math.ceil((self.loaded - self._trained_bytes) / strategy.gpus)
            layer = max(layer.weights for layer in self.shape.layers)
            return Memory(
                frozen + 4 * part, 4 * part, 8 * part, (2 * layer + self.shape.ends) * size
            )
        # DeepSpeed casts floating-point weights alone
        weights = (self.total - self.packed) * size + math.ceil(self.packed * FOUR_BITS)
        buffers = REDUCE_BUCKET * size + unpacked
        if "weights" in strategy.shards:
            weights = math.ceil(weights / strategy.gpus)
            buffers += min(self.total, MAX_LIVE) * size
        if strategy.offload:
            on_host = (weights + 16 * part) * strategy.gpus
            return Memory(0, 0, 0, buffers, host=math.ceil(on_host * HOST_FACTOR))
        return Memory(weights, 4 * part, 12 * part, buffers)

    def _activations(self, strategy: Strategy, supervised: int | None) -> tuple[int, int]:
        """The most that layers and head hold of a pass, and what a backward pass adds for a layer.

        All weights that are cast for autocast keep their copy through the forward pass.
        """
        train, shape, layers = self.config.train, self.shape, self.shape.layers
        stored = self.size if strategy.shards else self.stored  # gathered in the type computed in
        rows = train.micro_batch * (2 if isinstance(self.config, DpoExperiment) else 1)
        tokens = rows * self.config.longest_row
        saved = [tokens * self.layer_bytes(layer, stored, strategy) for layer in layers]
        if train.lora is not None:  # PEFT (0.21) adds each expert's adapter to a copy of it
            copies = [2 * self.size * one.count * weights_of(one.experts) for one in layers]
            saved = [sum(both) for both in zip(saved, copies, strict=True)]
        casts = 0
        if self.size < stored and not train.lora:
            casts = self.size * sum(layer.weights for layer in layers)
        wide = max(layer.inner + layer.active * layer.expert for layer in layers)
        backward = tokens * (3 * self.size * wide + 12 * shape.hidden)  # gradients within a layer
        kept = [tokens * shape.hidden * stored] * len(layers)
        if train.gradient_checkpointing:
            backward += max(saved)
        else:
            kept = saved
        if train.trl.get("activation_offloading"):  # others are moved to the machine's memory
            kept = sorted(kept)[-(COPYING if train.gradient_checkpointing else 1) :]
        forward = sum(kept)
        if not train.gradient_checkpointing:
            forward, casts = forward + casts, 0
        return forward + max(backward, casts, self._head_bytes(rows, supervised)), backward

    def layer_bytes(self, layer: Layer, stored: int, strategy: Strategy) -> int:
        """What a layer saves of a token for its backward pass, without checkpointing.

        - a norm its input in float32, and where its weight trains what that multiplies;
        - attention queries, keys, values (for every head, as a mask asks for) and its result, and
          by eager matrix products the chances of all keys;
        - the MLP its three widths; an expert what it gathers too;
        - a matrix its input where it trains or has an adapter; one tensor serves several, but not
          where each casts it: to bfloat16 out of float32 weights, or to float32 adapters and back.
        """
        size, lora, hidden = self.size, self.config.train.lora, self.shape.hidden
        found = layer.normed * (4 + (0 if lora else stored)) + layer.kept
        if not layer.kept:
            found += 4 * size * layer.query
            if self.config.model.attn == "eager":
                found += self.shape.heads * self.config.longest_row * (4 + size)
        found += size * layer.inner * (3 if "gate_proj" in layer.matrices else 1)
        found += layer.active * size * (2 * hidden + 5 * layer.expert) + 12 * layer.count
        wide = self.config.train.method == "lora" and not strategy.shards  # adapters are float32
        if size < (stored if lora is None else 4 * wide):
            found += size * sum(into for _, into in layer.matrices.values())
        else:
            found += size * (2 * hidden + layer.inner)
        return found + (lora.r * size * len(layer.matrices) if lora else 0)

    def _head_bytes(self, rows: int, supervised: int | None) -> int:
        """Beside what the layers keep: logits and their gradients, and the gradient of the head.

        TRL's fused head (1.16) makes logits in tiles, and the gradients of the last hidden states
        and of the head's weights in float32. Without its kernels it holds five more tiles.
        """
        config, size, vocabulary = self.config, self.size, self.shape.vocabulary
        if not (self.on_gpu or self.tuning or config.distil):
            supervised = config.longest_row
        elif supervised is None:
            supervised = config.longest_row
            if isinstance(config, DrawingExperiment):
                supervised = config.drawing.max_new_tokens
        tokens, width = rows * supervised, self.shape.hidden
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

        The cache grows by a copy of a layer; logits, chances and their sums are in float32. Weights
        that are divided are gathered.
        """
        if config.drawing.engine != "transformers":
            return 0
        rows, layers = math.ceil(config.train.global_batch / strategy.gpus), len(self.shape.layers)
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
