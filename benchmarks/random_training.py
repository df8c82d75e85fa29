"""Our trainers on random weights and random rows, and the work that their steps do.

For measurements alone: nothing is fetched and nothing learned. Work is that of the model, not of
the machine: what gradient checkpointing computes twice counts once.
"""

from __future__ import annotations

import random
import statistics
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

import torch
from peft import PeftModel
from torch import Tensor
from transformers import (
    AutoModelForCausalLM,
    PreTrainedModel,
    PreTrainedTokenizerBase,
    PrinterCallback,
    TrainerCallback,
    TrainerControl,
    TrainerState,
    TrainingArguments,
)
from trl import SFTTrainer

from tablemend.recipe.experiment import (
    DistilExperiment,
    DpoExperiment,
    DrawingExperiment,
    Experiment,
    GrpoExperiment,
    TrainingRecipe,
)
from tablemend.training import architectures, distil, dpo, grpo, memory, models, sft
from tablemend.training.data import Row
from tablemend.training.grpo import RolloutPrompt
from tablemend.training.memory import STRATEGIES
from tablemend.training.models import compile_layers
from tablemend.training.sft import Trainer, sft_arguments

FORMULA = (
    "p x (B x tokens + H x tokens with loss) + 6 x layers x heads x head size x sum of squared row "
    "lengths (L^2 - (L - W)^2 where a window of W is shorter than L); p = 4 for LoRA, 6 for full; "
    "B: weights of the layers without adapters, H: of the head"
)
"""Floating-point operations of a step: forward 2 a weight and token, as many back through it, and
as many for its own gradient where it trains. Causal attention over a row of L tokens costs 2 L^2 a
head dimension forward and twice that back."""


def random_trainer(
    config: Experiment,
    tokenizer: PreTrainedTokenizerBase,
    lengths: Sequence[int],
    scored: Sequence[int],
    folder: str,
    *,
    plain: bool = False,
) -> SFTTrainer:
    """The trainer of a recipe on its architecture with random weights; it saves and logs nothing.

    Args:
        config: the recipe; of its data nothing is read.
        tokenizer: pads, and no more.
        lengths: tokens of each row.
        scored: tokens of each row that bear loss, fewer than it has.
        folder: where the trainer may write.
        plain: TRL's own trainer, with TRL's grouping of rows by length.
    """
    model = random_model(config)
    vocabulary = model.config.get_text_config().vocab_size
    rows = random_rows(lengths, scored, vocabulary, tokenizer.pad_token_id, config.seed)
    arguments = _quiet(sft_arguments(config, folder, validate=False))
    options = _common(config, model, tokenizer)
    if plain:
        del options["recipe"]
        arguments.train_sampling_strategy = "random" if arguments.packing else "group_by_length"
    trainer = (SFTTrainer if plain else Trainer)(
        args=arguments, train_dataset=sft.as_dataset(rows), **options
    )
    trainer.remove_callback(PrinterCallback)
    return trainer


def random_preference_trainer(
    config: DpoExperiment,
    tokenizer: PreTrainedTokenizerBase,
    pairs: Sequence[tuple[int, int, int]],
    folder: str,
) -> dpo.PreferenceTrainer:
    """The same for preferences.

    Args:
        config: the recipe; of its data nothing is read.
        tokenizer: pads, and no more.
        pairs: tokens of the prompt, the chosen and the rejected answer.
        folder: where the trainer may write.
    """
    model = random_model(config)
    ids = _drawing(model, tokenizer, config.seed)
    drawn = [tuple(map(ids, lengths)) for lengths in pairs]
    rows = [(Row(prompt, one), Row(prompt, two)) for prompt, one, two in drawn]
    trainer = dpo.PreferenceTrainer(
        ref_model=random_model(config) if memory.has_copy(config, STRATEGIES[0]) else None,
        args=_quiet(dpo.dpo_arguments(config, folder, validate=False)),
        train_dataset=dpo.as_dataset(rows),
        **_common(config, model, tokenizer),
    )
    trainer.remove_callback(PrinterCallback)
    return trainer


class _Distilled(distil.Trainer):
    """No example is behind a prompt."""

    def hallucinated(self, *_: Any) -> float:
        """None is looked at."""
        return 0.0


class _Drawn(grpo.Trainer):
    """Rewards at random: what a step holds does not depend on them."""

    def detector(self, *, completion_ids: Sequence[Sequence[int]], **_: Any) -> list[float]:
        """A reward for each answer."""
        drawn = random.Random(len(completion_ids))
        return [drawn.random() for _ in completion_ids]


def random_reward_trainer(
    config: DrawingExperiment,
    tokenizer: PreTrainedTokenizerBase,
    prompts: Sequence[int],
    folder: str,
) -> Any:
    """The same for rewards, which are drawn too, and for self-distillation.

    Args:
        config: the recipe; of its data nothing is read.
        tokenizer: pads, and no more.
        prompts: tokens of each.
        folder: where the trainer may write.
    """
    model = random_model(config)
    ids = _drawing(model, tokenizer, config.seed)
    nothing = cast(Any, None)  # the example: no reward reads it
    tasks = [
        RolloutPrompt(nothing, "adversarial", str(number), ids(length), ids(length))
        for number, length in enumerate(prompts)
    ]
    common = {"config": config, "asked": tasks, **_common(config, model, tokenizer)}
    trainer: Any
    if isinstance(config, GrpoExperiment):
        arguments = _quiet(grpo.grpo_arguments(config, folder))
        trainer = _Drawn(reward=grpo.reward_of(config), args=arguments, **common)
    else:
        assert isinstance(config, DistilExperiment)
        trainer = _Distilled(args=_quiet(distil.distil_arguments(config, folder)), **common)
    trainer.remove_callback(PrinterCallback)
    return trainer


def random_model(config: TrainingRecipe) -> PreTrainedModel:
    """The recipe's architecture with random weights, as a training would load it."""
    architecture = architectures.config_of(config.model.path)
    stored = architectures.Shape(architecture).stored
    with torch.device(torch.accelerator.current_accelerator(check_available=True) or "cpu"):
        model: PreTrainedModel = AutoModelForCausalLM.from_config(
            architecture,
            dtype=getattr(torch, memory.weight_type(config, stored)),
            attn_implementation=config.model.attn,
        )
    models.freeze_unused(model)
    if config.train.compile:
        compile_layers(model)
    return model


def _common(
    config: TrainingRecipe, model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase
) -> dict[str, Any]:
    """What every trainer takes."""
    return {
        "recipe": config.train,
        "model": model,
        "processing_class": tokenizer,
        "peft_config": models.lora_config(config.train.lora, model) if config.train.lora else None,
    }


def _quiet(arguments: Any) -> Any:
    """Nothing is saved, logged or shown."""
    arguments.save_strategy, arguments.logging_strategy, arguments.disable_tqdm = "no", "no", True
    return arguments


def _drawing(
    model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, seed: int
) -> Callable[[int], tuple[int, ...]]:
    """Draws so many ids evenly from the vocabulary, without that of padding."""
    vocabulary = model.config.get_text_config().vocab_size
    drawn = random.Random(seed)

    def ids(length: int) -> tuple[int, ...]:
        found = (drawn.randrange(vocabulary - 1) for _ in range(length))
        return tuple(each + (each >= tokenizer.pad_token_id) for each in found)

    return ids


def random_rows(
    lengths: Sequence[int], scored: Sequence[int], vocabulary: int, padding: int, seed: int
) -> list[Row]:
    """Rows of ids drawn evenly from the vocabulary, without that of padding."""
    drawn = random.Random(seed)
    rows = []
    for length, targets in zip(lengths, scored, strict=True):
        ids = [drawn.randrange(vocabulary - 1) for _ in range(length)]
        ids = [each + (each >= padding) for each in ids]
        rows.append(Row(tuple(ids[: length - targets]), tuple(ids[length - targets :])))
    return rows


DATA_SHEET = {"H200": 989.4, "H100 PCIe": 756.0, "H100": 989.4, "A100": 311.9, "L40S": 362.0}
"""NVIDIA's dense bfloat16 TFLOP/s by a part of the GPU's name; the first that fits."""


@dataclass(frozen=True, slots=True)
class Work:
    """What a token costs a model; see :data:`FORMULA`.

    Attributes:
        passes: multiplications and additions a weight and token, forward and back.
        body: weights of the layers' matrices, adapters left out.
        head: weights of the head.
        attention: layers x heads x head size, by the layers' sliding window.
    """

    passes: int
    body: int
    head: int
    attention: Mapping[int | None, int]

    @classmethod
    def of(cls, model: Any) -> Work:
        """Of a model that trains, with or without adapters."""
        base = model.get_base_model() if isinstance(model, PeftModel) else model
        layers = base.get_decoder().layers
        matrices = [
            weight
            for name, weight in layers.named_parameters()
            if weight.ndim == 2 and "lora_" not in name
        ]
        text = base.config.get_text_config()
        attention: Counter[int | None] = Counter()
        for layer in layers:
            # a layer that has no window of its own may read it from the configuration
            window = getattr(layer.self_attn, "sliding_window", getattr(text, "sliding_window", 0))
            attention[window or None] += text.num_attention_heads * layer.self_attn.head_dim
        return cls(
            passes=6 if any(weight.requires_grad for weight in matrices) else 4,
            body=sum(weight.numel() for weight in matrices),
            head=base.get_output_embeddings().weight.numel(),
            attention=attention,
        )

    def flops(self, lengths: Sequence[int], scored: int) -> int:
        """Operations of steps with rows of these lengths, of which so many tokens bear loss."""
        matrices = self.passes * (self.body * sum(lengths) + self.head * scored)
        squares = (
            width * (length**2 - max(0, length - (window or length)) ** 2)
            for window, width in self.attention.items()
            for length in lengths
        )
        return matrices + 6 * sum(squares)


class Clock(TrainerCallback):  # type: ignore[misc]
    """Times the steps after the first few, and ends the training when it has timed enough.

    Attributes:
        steps, tokens: timed; padding is not counted.
        seconds: that they took, the device's work included.
    """

    def __init__(self, warm: int, seconds: float) -> None:
        self.warm, self.wanted = warm, seconds
        self.steps = self.tokens = 0
        self.seconds = 0.0
        self._since, self._before = 0.0, 0

    def on_step_end(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **_: Any
    ) -> None:
        """Wait for the device, then read the clock."""
        if torch.accelerator.is_available():
            torch.accelerator.synchronize()
        seen = int(state.num_input_tokens_seen)
        if state.global_step <= self.warm:
            self._since, self._before = time.perf_counter(), seen
            return
        self.steps = state.global_step - self.warm
        self.tokens = seen - self._before
        self.seconds = time.perf_counter() - self._since
        if self.seconds >= self.wanted:
            control.should_training_stop = True


@torch.no_grad()
def crossing(trainer: SFTTrainer) -> float | None:
    """How much the last example of a packed row feels of the first: 0 where nothing crosses.

    The largest change of its last state when the first example's ids change, over the largest
    state; ``None`` where the first batch holds a single example.
    """
    batch: dict[str, Tensor] = next(iter(trainer.get_train_dataloader()))
    starts = (batch["position_ids"][0] == 0).nonzero().flatten().tolist()
    if len(starts) < 2:
        return None
    model: Any = trainer.model
    decoder = (model.get_base_model() if isinstance(model, PeftModel) else model).get_decoder()
    others = batch["input_ids"].clone()
    others[0, : starts[1]] = others[0, : starts[1]].flip(0)

    def last(ids: Tensor) -> Tensor:
        given = {key: value for key, value in batch.items() if key not in ("input_ids", "labels")}
        with trainer.compute_loss_context_manager():
            state: Tensor = decoder(input_ids=ids, use_cache=False, **given).last_hidden_state
        return state[0, -1].float()

    was_training = model.training
    model.eval()
    one, two = last(batch["input_ids"]), last(others)
    model.train(was_training)
    return float((one - two).abs().max() / one.abs().max())


def product_rate(dtype: torch.dtype) -> float:
    """TFLOP/s of a large matrix product in this type on this device, the median of ten."""
    device = torch.accelerator.current_accelerator(check_available=True)
    size = 8192 if device else 256
    left, right = (torch.randn(size, size, device=device, dtype=dtype) for _ in range(2))
    taken = []
    for _ in range(13):  # three to warm up
        start = time.perf_counter()
        left @ right
        if device:
            torch.accelerator.synchronize()
        taken.append(time.perf_counter() - start)
    return 2 * size**3 / statistics.median(taken[3:]) / 1e12
