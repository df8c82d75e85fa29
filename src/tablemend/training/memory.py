"""Launches, cards, and what one GPU holds in numbers; :mod:`.planner` finds the numbers.

A GPU also holds the CUDA context and what the allocator cannot fill: :data:`CONTEXT` and
:data:`SLACK` are left free on every card.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

GIB = 2**30
CARDS = {24: 23.5, 40: 39.4, 80: 79.1, 141: 139.8}
"""Cards by the GB they are sold with, and the GiB that a process sees."""
CONTEXT = 1.0
"""GiB of the CUDA context, of cuBLAS and of NCCL. Not yet measured by us."""
SLACK = 0.05
"""Share of a card that the caching allocator cannot fill. Not yet measured by us."""


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
"""The launches that a plan compares where it is not told how many GPUs there are."""


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


@dataclass(frozen=True, slots=True)
class Engine:
    """vLLM in the process that trains.

    Attributes:
        share: of the card, taken at the start (``vllm_gpu_memory_utilization``).
        weights: bytes of its own copy.
        row: bytes of cache for one row of the greatest length; with less it does not start.
        sleeps: it gives its memory back between its answers (``vllm_enable_sleep_mode``).
    """

    share: float
    weights: int
    row: int
    sleeps: bool

    def taken(self, card: int) -> int:
        """Bytes that it takes of a card."""
        return round(self.share * CARDS[card] * GIB)

    def rows(self, card: int) -> int:
        """Rows of the greatest length that it has cache for at a time; 0: it does not start."""
        return max(0, self.taken(card) - self.weights) // self.row


@dataclass(frozen=True, slots=True)
class Memory:
    """Bytes on one GPU at the worst moment, and on its machine where something is offloaded.

    Attributes:
        reference: a second model's weights, and what it holds while it scores.
        generation: what drawing answers holds, when activations and logits are not there.
        engine: draws them in its place.
        keeps: gradients stay while answers are drawn.
    """

    weights: int
    gradients: int
    optimizer: int
    buffers: int
    activations: int
    logits: int
    host: int = 0
    reference: int = 0
    generation: int = 0
    engine: Engine | None = None
    keeps: bool = False

    def with_share(self, card: int) -> Memory:
        """With the least share of the card that vLLM starts with, in steps of 0.05."""
        if self.engine is None:
            return self
        needs = (self.engine.weights + self.engine.row) / GIB / CARDS[card]
        share = round(math.ceil(needs * 20) / 20, 2)
        return replace(self, engine=replace(self.engine, share=share))

    @property
    def resting(self) -> int:
        """Between two steps."""
        always = self.weights + self.optimizer + self.buffers + self.reference
        return always + (self.gradients if self.keeps else 0)

    @property
    def step(self) -> int:
        """In a forward and backward pass."""
        gradients = 0 if self.keeps else self.gradients
        return self.resting + gradients + self.activations + self.logits

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
        room = round((CARDS[card] * (1 - SLACK) - CONTEXT) * GIB)
        if self.engine is None:
            return self.total <= room
        taken = self.engine.taken(card)
        beside = self.step + (0 if self.engine.sleeps else taken)
        return self.engine.rows(card) > 0 and max(beside, self.resting + taken) <= room
