"""What a training will need, said before it starts: ``train/sft.py recipe=NAME --check``.

Nothing is loaded but the architecture. What a step holds is traced (:mod:`.tracing`), and what
drawing answers holds (:mod:`.rollout`); weights, gradients and optimizer are counted. N is the
number of weights, T of those that train, W of GPUs; an optimizer holds 2 numbers a trained weight
(AdamW: Loshchilov and Hutter 2019):

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
- GRPO: all answers of a step are drawn at once, each process its part; they wait as ids, with the
  old log-probabilities. Gradients are not there yet when answers are drawn, except what ZeRO and
  FSDP2 keep. Under ZeRO-3 and FSDP2 all weights are gathered for it (``drawing.drawing_model``).
  vLLM in the same process takes its share of the card, whether it needs it or not.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any, Literal

import torch
from torch import nn
from transformers import PretrainedConfig

from tablemend.recipe.experiment import DpoExperiment, GrpoExperiment, Trained
from tablemend.recipe.training import Train
from tablemend.training.attention import is_plain, register
from tablemend.training.memory import Counts, Engine, Memory, Strategy
from tablemend.training.rollout import Drawn, Rollout, cache_bytes, drawn
from tablemend.training.tracing import Held, Step, empty_model, held
from tablemend.training.trainer import MASKED, SHORT

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
    return TYPES.get(config.weights_dtype, stored)


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
        on_gpu: TRL's fused head in kernels. On a CPU fine-tuning has our trainer's head and its
            attention for short rows, and the fused head of the others scores every token.
        supervised: tokens a row that bear loss; all of them, and of GRPO's rows the longest
            answer, where it is not known.
    """
    train = config.train
    tuning = not isinstance(config, DpoExperiment | GrpoExperiment)
    half = train.precision == "bfloat16"
    dtype = weight_type(config, architecture)
    if strategy.shards:  # gathered in the type that is computed in, adapters too
        dtype = torch.bfloat16 if half else torch.float32
    short = config.longest_row <= SHORT and is_plain(architecture) and not train.packing
    rows = train.micro_batch * (2 if isinstance(config, DpoExperiment) else 1)
    if supervised is None or not (on_gpu or tuning):
        supervised = config.longest_row
        if isinstance(config, GrpoExperiment) and on_gpu:
            supervised = config.grpo.max_new_tokens
    return Step(
        config=architecture,
        dtype=dtype,
        lora=train.lora,
        one_type=bool(strategy.shards) or train.method == "qlora",  # TRL makes them bfloat16
        autocast=half and not strategy.deepspeed,
        checkpointing=train.gradient_checkpointing,
        attention=register() if tuning and short and half and not on_gpu else _kernel(config),
        rows=rows,
        length=config.longest_row,
        supervised=supervised,
        padded=_takes_mask(config) if tuning and (on_gpu or train.packing) else not tuning,
        head="triton" if on_gpu else "columns" if tuning else "torch",
        reference=_scorer(config),
        accumulated=bool(strategy.shards) or train.global_batch > train.micro_batch * strategy.gpus,
        offloaded=bool(train.trl.get("activation_offloading") or _checkpointing(train, "offload")),
    )


def _takes_mask(config: Trained) -> bool:
    """Whether fine-tuning gives the attention a mask: for padding, or between packed examples."""
    if config.train.packing:
        return config.model.attn in MASKED
    return config.train.micro_batch > 1


def _checkpointing(train: Train, name: str) -> Any:
    """What a recipe says of checkpointing to transformers: ``every_n_layers`` or ``offload``."""
    return (train.trl.get("gradient_checkpointing_kwargs") or {}).get(name)


def _kernel(config: Trained) -> str:
    """The attention that is traced: flash and flex kernels keep what sdpa's keep."""
    return "eager" if config.model.attn == "eager" else "sdpa"


def _scorer(config: Trained) -> Literal["start", "copy"] | None:
    """What scores DPO's rows in every pass: the model without adapters, or a second one."""
    if not isinstance(config, DpoExperiment) or config.dpo.precompute_reference:
        return None
    return "copy" if config.train.lora is None else "start"


def has_copy(config: Trained, strategy: Strategy) -> bool:
    """Whether the reference is a second model."""
    if config.train.lora is not None:
        return False
    if isinstance(config, GrpoExperiment):
        return config.grpo.beta > 0
    on_fsdp = bool(strategy.shards) and not strategy.deepspeed
    return isinstance(config, DpoExperiment) and (not config.dpo.precompute_reference or on_fsdp)


def rollout_of(
    config: GrpoExperiment,
    architecture: PretrainedConfig,
    strategy: Strategy,
    *,
    on_gpu: bool = True,
) -> Rollout:
    """The answers that a process draws at once where no vLLM does."""
    half = config.train.precision == "bfloat16"
    dtype = weight_type(config, architecture)
    if strategy.shards:
        dtype = torch.bfloat16 if half else torch.float32
    return Rollout(
        config=architecture,
        dtype=dtype,
        lora=config.train.lora,
        one_type=bool(strategy.shards) or config.train.method == "qlora",
        autocast=half and not strategy.deepspeed,
        attention=_kernel(config),
        rows=answers_at_once(config, strategy),
        prompt=config.longest_row - config.grpo.max_new_tokens,
        answer=config.grpo.max_new_tokens,
        device="cuda" if on_gpu else "cpu",
    )


def answers_at_once(config: GrpoExperiment, strategy: Strategy) -> int:
    """How many answers a process draws for a step."""
    return math.ceil(config.train.global_batch / strategy.gpus)


def engine_of(
    config: GrpoExperiment, architecture: PretrainedConfig, counts: Counts
) -> Engine | None:
    """The vLLM in the training's process; TRL's own settings are in train.trl."""
    if config.grpo.engine != "vllm-colocate":
        return None
    trl = config.train.trl
    over = int(trl.get("vllm_tensor_parallel_size", 1))
    longest = int(trl.get("vllm_max_model_length") or config.longest_row)
    whole = _loaded(counts) if counts.packed else counts.total * 2  # vLLM computes in bfloat16
    return Engine(
        share=float(trl.get("vllm_gpu_memory_utilization", 0.3)),
        weights=whole // over,
        row=math.ceil(cache_bytes(architecture, longest) / over),
        sleeps=bool(trl.get("vllm_enable_sleep_mode", False)),
    )


class Plans:
    """Memory of one architecture under many recipes and launches; nothing is traced twice."""

    def __init__(self, architecture: PretrainedConfig) -> None:
        self.architecture = architecture
        self._counts: dict[tuple[Any, ...], Counts] = {}
        self._held: dict[Step, Held] = {}
        self._drawn: dict[Rollout, Drawn] = {}

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
        counts, most = self.counts(config), self._of_step(step)
        every = _checkpointing(config.train, "every_n_layers") or 1
        if step.checkpointing and every > 1:  # of every so many layers one is checkpointed
            whole = self._of_step(replace(step, checkpointing=False))
            most = most.between(whole, 1 - 1 / every)
        found = memory(config, counts, strategy, step, most)
        if has_copy(config, strategy) or step.reference:
            copy = _copy_bytes(config, counts, strategy) if has_copy(config, strategy) else 0
            found = replace(found, reference=copy + most.peak - most.own)
        if isinstance(config, GrpoExperiment):
            found = self._with_answers(config, strategy, found, on_gpu)
        return found

    def _of_step(self, step: Step) -> Held:
        if step not in self._held:
            self._held[step] = held(step)
        return self._held[step]

    def drawn(self, config: GrpoExperiment, strategy: Strategy, *, on_gpu: bool = True) -> Drawn:
        """What drawing answers holds where no vLLM does it."""
        rollout = rollout_of(config, self.architecture, strategy, on_gpu=on_gpu)
        if rollout not in self._drawn:
            self._drawn[rollout] = drawn(rollout)
        return self._drawn[rollout]

    def _with_answers(
        self, config: GrpoExperiment, strategy: Strategy, found: Memory, on_gpu: bool
    ) -> Memory:
        """With the answers of a step, and what draws them."""
        counts = self.counts(config)
        waiting = answers_at_once(config, strategy) * answer_bytes(config)
        generation = 0
        if config.grpo.engine == "transformers":
            generation = self.drawn(config, strategy, on_gpu=on_gpu).peak
            if "weights" in strategy.shards:
                half = 2 if config.train.precision == "bfloat16" else 4
                generation += counts.total * half
        return replace(
            found,
            buffers=found.buffers + waiting,
            generation=generation,
            engine=engine_of(config, self.architecture, counts),
            keeps=bool(strategy.shards),
        )


def answer_bytes(config: GrpoExperiment) -> int:
    """What waits of one answer for its pass: ids and masks, and numbers a token of the answer (old
    log-probabilities; vLLM's own and their ratio; the reference's).
    """
    engine = config.grpo.engine != "transformers"
    numbers = (engine or config.grpo.iterations > 1) + 2 * engine + (config.grpo.beta > 0)
    return 16 * config.longest_row + 4 * numbers * config.grpo.max_new_tokens


def _copy_bytes(config: Trained, counts: Counts, strategy: Strategy) -> int:
    """Weights of a second model."""
    whole = counts.total_bytes
    if strategy.deepspeed:
        whole = counts.total * (2 if config.train.precision == "bfloat16" else 4)
    return math.ceil(whole / strategy.gpus) if "weights" in strategy.shards else whole


def _loaded(counts: Counts) -> int:
    """Bytes of weights that are not divided, 4-bit ones as they are packed."""
    return counts.total_bytes - counts.packed * 2 + math.ceil(counts.packed * FOUR_BITS)


def memory(config: Trained, counts: Counts, strategy: Strategy, step: Step, most: Held) -> Memory:
    """What one GPU holds of a step: what is traced, and what the launch makes of the counts."""
    kept = max(most.forward, most.first, most.middle, most.last)
    half = 2 if config.train.precision == "bfloat16" else 4
    each = counts.trained_bytes if step.accumulated else 0
    activations, logits = kept, max(0, most.head - kept)
    if not strategy.shards:
        if not step.accumulated:  # the trace has the gradients, from nothing to all
            each = counts.trained_bytes
            activations = max(0, kept - each)
            logits = max(0, most.own - each - activations)
        return Memory(
            weights=_loaded(counts),
            gradients=each,
            optimizer=ADAMW * counts.trained_bytes,
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
    # DeepSpeed casts floating-point weights alone
    whole = (counts.total - counts.packed) * half + math.ceil(counts.packed * FOUR_BITS)
    buffers = REDUCE_BUCKET * half + (counts.largest * 2 if counts.packed else 0)
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
