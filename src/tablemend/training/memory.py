"""What one GPU holds at the worst moment of a training, in formulas.

Nothing is loaded but the architecture; only what the layers keep is traced (:mod:`.activations`).
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
- DPO: both answers of a pair in one pass. The reference is a second model where all weights train
  and it scores in every pass, or FSDP2 is at work (``preference.build_trainer``): under DeepSpeed
  in the type computed in, divided under ZeRO-3 and FSDP2.
- Self-distillation: GRPO's drawing; the teacher is a second model where all weights train.
- GRPO: all answers of a step are drawn at once, each process its part. Gradients are not there yet
  when answers are drawn, except what ZeRO and FSDP2 keep. Under ZeRO-3 and FSDP2 all weights are
  gathered for it (``drawing.drawing_model``). vLLM in the same process takes its share of the card,
  whether it needs it or not, and is counted as if it never slept.

A GPU also holds the CUDA context and what the allocator cannot fill: :data:`CONTEXT` and
:data:`SLACK` are left free on every card.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import torch
from transformers import PretrainedConfig
from trl.kernels.chunked_logprob import TOKEN_CHUNK_SIZE

from tablemend.recipe.experiment import DpoExperiment, DrawingExperiment, Trained
from tablemend.training.activations import Kept, Pass, empty_model, kept, layer_kinds
from tablemend.training.packing import MASKED

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
HEAD_COLUMNS = 32768
"""Columns of a tile of TRL's fused head (1.16, ``_CHUNKED_LOGPROB_CHUNK_SIZE``)."""
COPYING = 5
"""Tensors that TRL's offloading (1.16, ``OffloadActivations``) copies at a time."""
SCORES = 56
"""Bytes a token and word of the vocabulary where student and teacher are compared (JSD; KL: 32),
measured on a CPU."""
TYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16}


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


def launches(gpus: int | None) -> tuple[Strategy, ...]:
    """One GPU, and the ways to divide a training over so many of one machine or of several."""
    if gpus is None:
        return STRATEGIES
    several = gpus > MACHINE
    fitting = [each for each in STRATEGIES[1:] if (each.gpus > MACHINE) == several]
    return (STRATEGIES[0], *(replace(each, gpus=gpus) for each in fitting))


@dataclass(frozen=True, slots=True)
class Counts:
    """Numbers of weights.

    Attributes:
        total, trained: all, and those that train.
        total_bytes, trained_bytes: the same in the types they are loaded in.
        packed: those that QLoRA keeps in 4 bits.
        layer: of one decoder layer.
        ends: embedding, head and last norm.
        largest: of the largest matrix inside the layers.
    """

    total: int
    trained: int
    total_bytes: int
    trained_bytes: int
    packed: int
    layer: int
    ends: int
    largest: int

    @property
    def loaded(self) -> int:
        """Bytes of weights that are not divided, 4-bit ones as they are packed."""
        return self.total_bytes - self.packed * 2 + math.ceil(self.packed * FOUR_BITS)


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
    def resting(self) -> int:
        """Between two steps."""
        always = self.weights + self.optimizer + self.buffers + self.reference
        return always + (self.gradients if self.keeps else 0)

    @property
    def step(self) -> int:
        """In a forward and backward pass."""
        return self.resting + (0 if self.keeps else self.gradients) + self.activations

    @property
    def total(self) -> int:
        """The most on the GPU at any time, without vLLM's share."""
        return max(self.step, self.resting + self.generation)

    @property
    def card(self) -> int | None:
        """The smallest card that it fits on; ``None``: none of :data:`CARDS`."""
        return next((card for card in CARDS if self.fits(card)), None)

    def fits(self, card: int) -> bool:
        """Whether it fits on a card, with room for what is not counted."""
        return self.total / GIB <= CARDS[card] * (1 - SLACK - self.vllm) - CONTEXT


class Planner:
    """Memory of one architecture under many recipes and launches; nothing is traced twice.

    Args:
        architecture: of the model.
        on_gpu: TRL's fused head in kernels. On a CPU fine-tuning has our trainer's head, and the
            fused head of the others scores every token.
    """

    def __init__(self, architecture: PretrainedConfig, on_gpu: bool = True) -> None:
        self.architecture = architecture
        self.text = architecture.get_text_config()
        self.on_gpu = on_gpu
        self._counts: dict[tuple[Any, ...], Counts] = {}
        self._kept: dict[tuple[Pass, int | None], Kept] = {}

    def counts(self, config: Trained) -> Counts:
        """Numbers of weights."""
        key = (config.train.method, config.train.lora, config.model.dtype)
        if key not in self._counts:
            self._counts[key] = count(config, self.architecture)
        return self._counts[key]

    def memory(self, config: Trained, strategy: Strategy, supervised: int | None = None) -> Memory:
        """What one GPU holds at the worst moment.

        Args:
            config: the recipe.
            strategy: the launch.
            supervised: tokens a row that bear loss; all of them, and of GRPO's rows the longest
                answer, where it is not known.
        """
        counts = self.counts(config)
        found = _states(config, counts, strategy)
        activations, layer = self._activations(config, strategy, supervised)
        at_once = config.train.micro_batch * strategy.gpus
        if not strategy.shards and config.train.global_batch <= at_once:
            # gradients grow from nothing to all while activations go, but for the first layer's
            activations = max(layer, activations - found.gradients)
        found = replace(found, activations=activations)
        if has_copy(config, strategy):
            copy = counts.total * _size(config) if strategy.deepspeed else counts.total_bytes
            parts = strategy.gpus if "weights" in strategy.shards else 1
            found = replace(found, reference=math.ceil(copy / parts))
        if isinstance(config, DrawingExperiment):
            found = replace(
                found,
                generation=self.drawing_bytes(config, strategy),
                vllm=vllm_share(config),
                keeps=bool(strategy.shards),
            )
        return found

    def _activations(
        self, config: Trained, strategy: Strategy, supervised: int | None
    ) -> tuple[int, int]:
        """The most that layers and head hold of a pass, and what one layer adds to what is kept."""
        step = self.pass_of(config, strategy)
        layers = None
        if config.train.trl.get("activation_offloading"):
            layers = COPYING if step.checkpointing else 1  # of which each keeps many tensors
        if (step, layers) not in self._kept:
            self._kept[step, layers] = kept(step, layers)
        found = self._kept[step, layers]
        head = self._head_bytes(config, step, supervised)
        return max(found.most, found.forward + head), found.most - found.forward

    def pass_of(self, config: Trained, strategy: Strategy) -> Pass:
        """The forward and backward pass of a launch, with the longest rows."""
        train = config.train
        tuning = not isinstance(config, DpoExperiment | DrawingExperiment)
        half = train.precision == "bfloat16"
        dtype = weight_type(config, self.architecture)
        if strategy.shards:  # gathered in the type that is computed in, adapters too
            dtype = torch.bfloat16 if half else torch.float32
        attention = "eager" if config.model.attn == "eager" else "sdpa"
        padded = not tuning or (self.on_gpu and train.micro_batch > 1)
        if tuning and train.packing:
            padded = config.model.attn in MASKED
        return Pass(
            config=self.architecture,
            dtype=dtype,
            lora=train.lora,
            one_type=bool(strategy.shards) or train.method == "qlora",  # TRL makes them bfloat16
            autocast=half and not strategy.deepspeed,
            checkpointing=train.gradient_checkpointing,
            attention=attention,
            rows=train.micro_batch * (2 if isinstance(config, DpoExperiment) else 1),
            length=config.longest_row,
            padded=padded,
        )

    def _head_bytes(self, config: Trained, step: Pass, supervised: int | None) -> int:
        """Beside what the layers keep: logits and their gradients, and the gradient of the head.

        TRL's fused head (1.16) makes logits in tiles, and the gradients of the last hidden states
        and of the head's weights in float32. Without its kernels it holds five more tiles.
        """
        tuning = not isinstance(config, DpoExperiment | DrawingExperiment)
        if supervised is None or not (self.on_gpu or tuning):
            supervised = step.length
            whole = not self.on_gpu and config.distil is None
            if isinstance(config, DrawingExperiment) and not whole:
                supervised = config.drawing.max_new_tokens
        tokens, size = step.rows * supervised, _size(config)
        vocabulary, width = int(self.text.vocab_size), int(self.text.hidden_size)
        weights = vocabulary * width if config.train.method == "full" else 0
        if config.distil is not None:
            return SCORES * tokens * vocabulary + 4 * weights
        if not self.on_gpu and tuning:  # scores where a target is, their gradient, and softmax's
            return 12 * tokens * vocabulary + 4 * weights
        tile: int = min(tokens, TOKEN_CHUNK_SIZE) * HEAD_COLUMNS * size
        if not self.on_gpu:
            tile += 5 * 4 * min(tokens, TOKEN_CHUNK_SIZE) * min(vocabulary, HEAD_COLUMNS)
        return tile + tokens * width * (4 + 2 * size) + 4 * weights

    def token_bytes(self, size: int) -> int:
        """Keys and values of one token in one layer, in numbers of so many bytes."""
        width = getattr(self.text, "head_dim", None)
        width = width or self.text.hidden_size // self.text.num_attention_heads
        return 2 * int(self.text.num_key_value_heads) * int(width) * size

    def drawing_bytes(self, config: DrawingExperiment, strategy: Strategy) -> int:
        """What drawing a step's answers by transformers holds with their last tokens.

        The cache keeps every token in every layer, and one layer more while it grows; logits,
        chances and their sums are in float32. Weights that are divided are gathered.
        """
        if config.drawing.engine != "transformers":
            return 0
        rows, layers = answers_at_once(config, strategy), len(layer_kinds(self.architecture)) + 1
        size = _size(config)
        if not strategy.shards:
            size = max(size, weight_type(config, self.architecture).itemsize)
        gathered = self.counts(config).total * size if "weights" in strategy.shards else 0
        choosing = rows * int(self.text.vocab_size) * 4 * 3
        return rows * config.longest_row * layers * self.token_bytes(size) + choosing + gathered


def count(config: Trained, architecture: PretrainedConfig) -> Counts:
    """Build the model on the meta device and count."""
    packed = config.train.method == "qlora"
    dtype = weight_type(config, architecture)
    model: Any = empty_model(architecture, dtype, config.train.lora, one_type=packed)
    decoder = model.get_decoder() if config.train.lora is None else model.model.get_decoder()
    inside = {id(weight) for weight in decoder.layers.parameters()}
    weights = list(model.parameters())
    trained = [weight for weight in weights if weight.requires_grad]
    matrices = [weight for weight in weights if id(weight) in inside and weight.ndim == 2]
    frozen = [weight for weight in matrices if not weight.requires_grad]
    return Counts(
        total=sum(weight.numel() for weight in weights),
        trained=sum(weight.numel() for weight in trained),
        total_bytes=sum(weight.nbytes for weight in weights),
        trained_bytes=sum(weight.nbytes for weight in trained),
        packed=sum(weight.numel() for weight in frozen) if packed else 0,
        layer=sum(weight.numel() for weight in decoder.layers[0].parameters()),
        ends=sum(weight.numel() for weight in weights if id(weight) not in inside),
        largest=max(weight.numel() for weight in matrices),
    )


def weight_type(config: Trained, architecture: PretrainedConfig) -> torch.dtype:
    """The type that weights are loaded in."""
    stored = architecture.get_text_config().dtype or architecture.dtype or torch.float32
    return TYPES.get(config.weights_dtype, stored)


def _size(config: Trained) -> int:
    """Bytes of a number that is computed with."""
    return 2 if config.train.precision == "bfloat16" else 4


def _states(config: Trained, counts: Counts, strategy: Strategy) -> Memory:
    """Weights, gradients, optimizer and buffers, as the launch divides them."""
    unpacked = counts.largest * 2 if counts.packed else 0
    if not strategy.shards:
        gradients = counts.trained_bytes
        buffers = unpacked + (gradients if strategy.gpus > 1 else 0)
        return Memory(counts.loaded, gradients, ADAMW * gradients, buffers)
    size, part = _size(config), math.ceil(counts.trained / strategy.gpus)
    if not strategy.deepspeed:
        frozen = counts.total_bytes - counts.trained_bytes
        weights = math.ceil(frozen / strategy.gpus) + part * 4
        gathered = (2 * counts.layer + counts.ends) * size
        return Memory(weights, part * 4, part * 4 * ADAMW, gathered)
    # DeepSpeed casts floating-point weights alone
    weights = (counts.total - counts.packed) * size + math.ceil(counts.packed * FOUR_BITS)
    buffers = REDUCE_BUCKET * size + unpacked
    if "weights" in strategy.shards:
        weights = math.ceil(weights / strategy.gpus)
        buffers += min(counts.total, MAX_LIVE) * size
    optimizer, gradients = part * 4 * (1 + ADAMW), part * 4
    if not strategy.offload:
        return Memory(weights, gradients, optimizer, buffers)
    on_host = (weights + optimizer + gradients) * strategy.gpus
    return Memory(0, 0, 0, buffers, host=math.ceil(on_host * HOST_FACTOR))


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
