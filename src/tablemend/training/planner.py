"""What a training will need, said before it starts: ``train/sft.py recipe=NAME --check``.

Nothing is loaded but the architecture. What a step holds is traced (:mod:`.tracing`); weights,
gradients and optimizer are counted. N is the number of weights, T of those that train, W of
GPUs; an optimizer holds 2 numbers a trained weight (AdamW: Loshchilov and Hutter 2019):

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

A GPU also holds the CUDA context and what the allocator cannot fill: :data:`CONTEXT` and
:data:`SLACK` are left free on every card.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn
from transformers import PretrainedConfig

from tablemend.config import Lora, Train
from tablemend.config.experiment import Trained
from tablemend.training.attention import is_plain, register
from tablemend.training.tracing import Held, Step, empty_model, held
from tablemend.training.trainer import SHORT

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


def _deepspeed(config: str, *shards: str, offload: bool = False) -> Strategy:
    return Strategy(config, 8, frozenset({"gradients", "optimizer", *shards}), True, offload)


STRATEGIES = (
    Strategy("single-gpu", 1),
    Strategy("ddp", 8),
    _deepspeed("zero2"),
    _deepspeed("zero3", "weights"),
    _deepspeed("zero3-offload", "weights", offload=True),
    Strategy("fsdp2", 8, frozenset({"weights", "gradients", "optimizer"})),
)
"""The launches that a plan compares."""


@dataclass(frozen=True, slots=True)
class Counts:
    """Numbers of weights.

    Attributes:
        total, trained: all, and those that train.
        total_bytes, trained_bytes: the same in the types they are loaded in.
        packed: those that QLoRA keeps in 4 bits.
        matrices: trained ones that Muon takes.
        layer: of one decoder layer.
        ends: embedding, head and last norm.
        largest: of the largest matrix inside the layers.
    """

    total: int
    trained: int
    total_bytes: int
    trained_bytes: int
    packed: int
    matrices: int
    layer: int
    ends: int
    largest: int


@dataclass(frozen=True, slots=True)
class Memory:
    """Bytes on one GPU at the worst moment, and on its machine where something is offloaded."""

    weights: int
    gradients: int
    optimizer: int
    buffers: int
    activations: int
    logits: int
    host: int = 0

    @property
    def total(self) -> int:
        """All of it on the GPU."""
        return (
            self.weights
            + self.gradients
            + self.optimizer
            + self.buffers
            + self.activations
            + self.logits
        )

    @property
    def card(self) -> int | None:
        """The smallest card that it fits on; ``None``: none of :data:`CARDS`."""
        return next((card for card in CARDS if self.fits(card)), None)

    def fits(self, card: int) -> bool:
        """Whether it fits on a card, with room for what is not counted."""
        return self.total / GIB <= CARDS[card] * (1 - SLACK) - CONTEXT


def count(config: Trained, architecture: PretrainedConfig) -> Counts:
    """Build the model on the meta device and count."""
    packed = config.train.method == "qlora"
    dtype = weight_type(config, architecture)
    model: Any = empty_model(architecture, dtype, config.train.lora, one_type=packed)
    decoder = model.get_decoder() if config.train.lora is None else model.model.get_decoder()
    inside = {id(weight) for weight in decoder.layers.parameters()}
    weights = list(model.parameters())
    trained = [weight for weight in weights if weight.requires_grad]
    bases = [weight for weight in weights if id(weight) in inside and weight.ndim == 2]
    frozen = [weight for weight in bases if not weight.requires_grad]
    layer = sum(weight.numel() for weight in decoder.layers[0].parameters())
    return Counts(
        total=_numbers(weights),
        trained=_numbers(trained),
        total_bytes=_bytes(weights),
        trained_bytes=_bytes(trained),
        packed=_numbers(frozen) if packed else 0,
        matrices=_numbers([each for each in trained if id(each) in inside and each.ndim == 2]),
        layer=layer,
        ends=_numbers([weight for weight in weights if id(weight) not in inside]),
        largest=max(weight.numel() for weight in bases),
    )


def _numbers(weights: list[nn.Parameter]) -> int:
    return sum(weight.numel() for weight in weights)


def _bytes(weights: list[nn.Parameter]) -> int:
    return sum(weight.numel() * weight.itemsize for weight in weights)


def weight_type(config: Trained, architecture: PretrainedConfig) -> torch.dtype:
    """The type that weights are loaded in."""
    stored = architecture.get_text_config().dtype or architecture.dtype or torch.float32
    return TYPES.get(config.model.dtype, stored)


def step_of(
    config: Trained,
    architecture: PretrainedConfig,
    strategy: Strategy,
    *,
    on_gpu: bool = True,
    supervised: int | None = None,
) -> Step:
    """The forward and backward pass that a launch makes of a recipe, with its longest rows.

    Args:
        config: the recipe.
        architecture: of model.path.
        strategy: the launch.
        on_gpu: TRL's fused head; on a CPU our trainer's head and its attention for short rows.
        supervised: tokens a row that bear loss; all of them where it is not known.
    """
    train = config.train
    half = train.precision == "bfloat16"
    dtype = weight_type(config, architecture)
    if strategy.shards:  # gathered in the type that is computed in, adapters too
        dtype = torch.bfloat16 if half else torch.float32
    short = not on_gpu and half and config.longest_row <= SHORT and is_plain(architecture)
    # flash kernels keep what sdpa's keep
    kernel = "sdpa" if config.model.attn.startswith("flash") else config.model.attn
    return Step(
        config=architecture,
        dtype=dtype,
        lora=train.lora,
        one_type=bool(strategy.shards) or train.method == "qlora",  # TRL makes them bfloat16
        autocast=half and not strategy.deepspeed,
        checkpointing=train.gradient_checkpointing,
        attention=register() if short else kernel,
        rows=train.micro_batch,
        length=config.longest_row,
        supervised=supervised or config.longest_row,
        padded=on_gpu and train.micro_batch > 1 and not train.packing,
        fused=on_gpu,
        accumulated=bool(strategy.shards) or train.global_batch > train.micro_batch * strategy.gpus,
    )


class Plans:
    """Memory of one architecture under many recipes and launches; nothing is traced twice."""

    def __init__(self, architecture: PretrainedConfig) -> None:
        self.architecture = architecture
        self._counts: dict[tuple[Any, ...], Counts] = {}
        self._held: dict[Step, Held] = {}

    def counts(self, config: Trained) -> Counts:
        """Numbers of weights."""
        key = (config.train.method, config.train.lora, config.model.dtype)
        if key not in self._counts:
            self._counts[key] = count(config, self.architecture)
        return self._counts[key]

    def memory(
        self,
        config: Trained,
        strategy: Strategy,
        *,
        on_gpu: bool = True,
        supervised: int | None = None,
    ) -> Memory:
        """What one GPU holds at the worst moment of a step; for the arguments see step_of."""
        step = step_of(config, self.architecture, strategy, on_gpu=on_gpu, supervised=supervised)
        if step not in self._held:
            self._held[step] = held(step)
        return memory(config, self.counts(config), strategy, step, self._held[step])


def memory(config: Trained, counts: Counts, strategy: Strategy, step: Step, most: Held) -> Memory:
    """What one GPU holds: what is traced, and what the launch makes of the counts."""
    kept = max(most.forward, most.first, most.middle, most.last)
    half = 2 if config.train.precision == "bfloat16" else 4
    each = counts.trained_bytes if step.accumulated else 0
    activations, logits = kept, max(0, most.head - kept)
    if not strategy.shards:
        if not step.accumulated:  # the trace has the gradients, from nothing to all
            each = counts.trained_bytes
            activations = max(0, kept - each)
            logits = max(0, most.peak - each - activations)
        unpacked = counts.total_bytes - counts.packed * 2
        return Memory(
            weights=unpacked + math.ceil(counts.packed * FOUR_BITS),
            gradients=each,
            optimizer=_moments(config.train, counts),
            buffers=(each if strategy.gpus > 1 else 0)
            + (counts.largest * 2 if counts.packed else 0),
            activations=activations,
            logits=logits,
        )
    part = math.ceil(counts.trained / strategy.gpus)
    if not strategy.deepspeed:
        frozen = counts.total_bytes - counts.trained_bytes
        weights = math.ceil(frozen / strategy.gpus) + part * 4
        gathered = (2 * counts.layer + counts.ends) * half
        return Memory(weights, part * 4, part * 4 * ADAMW, gathered, activations, logits)
    whole = counts.total * half
    buffers = REDUCE_BUCKET * half
    weights = whole
    if "weights" in strategy.shards:
        weights = math.ceil(whole / strategy.gpus)
        buffers += min(counts.total, MAX_LIVE) * half
    optimizer, gradients = part * 4 * (1 + ADAMW), part * 4
    if not strategy.offload:
        return Memory(weights, gradients, optimizer, buffers, activations, logits)
    on_host = (weights + optimizer + gradients) * strategy.gpus
    host = math.ceil(on_host * HOST_FACTOR)
    return Memory(0, 0, 0, buffers, activations, logits, host=host)


def _moments(train: Train, counts: Counts) -> int:
    """Bytes of the optimizer, in the type of the weights (Muon keeps one number, AdamW two)."""
    each = counts.trained_bytes // max(1, counts.trained)
    matrices = counts.matrices if train.optimizer == "muon" else 0
    return (counts.trained * ADAMW - matrices) * each


@dataclass(frozen=True, slots=True)
class Change:
    """A recipe that needs less, and the overrides that make it."""

    overrides: tuple[str, ...]
    config: Trained


def changes(config: Trained) -> Iterator[Change]:
    """Recipes that need less and less, each with the changes before it; cheapest first."""
    made: tuple[str, ...] = ()

    def but(override: str, **update: Any) -> Change:
        nonlocal config, made
        made = (*made, override)
        config = config.model_copy(update={"train": config.train.model_copy(update=update)})
        return Change(made, config)

    if config.train.micro_batch > 1:
        yield but("train.micro_batch=1", micro_batch=1)
    if not config.train.gradient_checkpointing:
        yield but("train.gradient_checkpointing=true", gradient_checkpointing=True)
    if config.train.method == "full":
        made = (*made, "train.lora={r: 32, alpha: 64}", "model.dtype=bfloat16")
        model = config.model.model_copy(update={"dtype": "bfloat16"})
        config = config.model_copy(update={"model": model})
        plain = {"optimizer": "adamw", "muon_learning_rate": None}
        yield but("train.method=lora", method="lora", lora=Lora(r=32, alpha=64), **plain)
    if config.train.method == "lora" and config.train.precision == "bfloat16":
        made = tuple(each for each in made if each != "train.method=lora")
        yield but("train.method=qlora", method="qlora")
    length = config.longest_row // 2
    while length >= SHORTEST:
        made = tuple(each for each in made if not each.startswith("train.max_length"))
        yield but(f"train.max_length={length}", max_length=length)
        length //= 2


SHORTEST = 2048
"""Rows shorter than this hold no adversarial context; a plan does not propose them."""
