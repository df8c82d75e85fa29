"""The schema of a training: the section that every trainer reads."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field, field_validator

from tablemend.config.nearest import nearest
from tablemend.config.section import Precision, Prompt, Section, UnknownNames
from tablemend.recipe.trl_names import OWNED, trl_fields


class Lora(Section):
    """Low-rank adapters (PEFT)."""

    r: int = Field(default=16, ge=1)
    """Rank."""
    alpha: float = Field(default=32, gt=0)
    """Scale: the adapter is multiplied by alpha / r."""
    dropout: float = Field(default=0.0, ge=0, lt=1)
    """Dropout on the adapter's input."""
    target_modules: Literal["all-linear"] | Annotated[tuple[str, ...], Field(min_length=1)] = (
        "all-linear"
    )
    """Layers that get an adapter; `all-linear`: all but the head and the routers of experts."""
    save: Literal["merged", "adapter"] = "merged"
    """What the finished checkpoint holds: whole weights, or the adapter alone."""


class Evaluate(Section):
    """Answers to prompts of data.validation while the model trains, greedy, scored by program."""

    every: int = Field(ge=1)
    """Optimizer steps between evaluations, and held-out losses; a multiple of save_every."""
    n: int = Field(default=32, ge=1)
    """Prompts, from the front of data.validation; those too long for an answer are left out."""
    max_new_tokens: int | None = Field(default=None, ge=1)
    """Longest answer in tokens; null: evaluation.max_new_tokens."""
    metric: str = "total_hallu"
    """The task's metric that the best checkpoint is chosen by; an answer that is cut, has a format
    error, says nothing or gets no verdict counts as wrong. Of equals the lower held-out loss, then
    the later."""
    load_best: bool = True
    """The finished model is the best checkpoint, not the last."""
    patience: int | None = Field(default=None, ge=1)
    """Stop after so many evaluations in a row without a better model; null: never."""


class Train(Section):
    """How weights are trained, whatever the loss. Batch sizes count sequences (GRPO: completions),
    over all devices or on one.
    """

    trl_config: ClassVar[str | None] = None

    method: Literal["full", "lora", "qlora"] = "full"
    """All weights, adapters, or adapters on a base in 4 bits (bitsandbytes; CUDA GPUs alone)."""
    lora: Lora | None = None
    """Adapters; needed by the methods lora and qlora and by nothing else."""
    prompt: Prompt = "base"
    """Instruction shown in training; the sft system is evaluated with the same."""
    context: str | None = None
    """How samples are shown in training (table_generation: `adversarial` or `clean`); `both`:
    every way; `any`: each sample one way, drawn by its id; null: `adversarial`, `csv+none`, or the
    only one."""
    max_length: int | None = Field(default=None, ge=16)
    """Longest training example in tokens; longer ones are dropped and counted, never cut.
    model.context_length where it is null."""
    epochs: float | None = Field(default=None, gt=0)
    """Passes over the data; give epochs or max_steps."""
    max_steps: int | None = Field(default=None, ge=1)
    """Optimizer steps; give epochs or max_steps."""
    learning_rate: float = Field(gt=0, le=1)
    """Peak learning rate of AdamW."""
    scheduler: Literal["constant", "linear", "cosine"] = "cosine"
    """Course of the learning rate after the warm-up; linear and cosine end at 0."""
    warmup: float = Field(default=0.03, ge=0, lt=1)
    """Share of the training during which the learning rate rises."""
    global_batch: int = Field(ge=1)
    """Sequences per optimizer step over all devices."""
    micro_batch: int = Field(ge=1)
    """Sequences per forward pass on one device."""
    packing: bool = False
    """Several examples in one row of at most max_length tokens, none attending to another;
    global_batch and micro_batch count such rows."""
    precision: Precision = "auto"
    """Type that the forward and backward pass compute in; auto: bfloat16 where the device has
    instructions for it, else float32."""
    compile: bool = False
    """Compile the decoder's layers (torch.compile, one graph for all of them): less time a step,
    some 15 to 60 seconds at the start; on a CPU it needs a C++ compiler."""
    gradient_checkpointing: bool = False
    """Less memory for about a third more time."""
    save_every: int = Field(default=200, ge=1)
    """Optimizer steps between checkpoints; an interruption loses at most these."""
    log_every: int = Field(default=10, ge=1)
    """Optimizer steps between log lines."""
    evaluate: Evaluate | None = None
    """Rates of the task during training, early stopping and the best checkpoint by them."""
    trl: dict[str, Any] = Field(default_factory=dict)
    """Any other field of the stage's TRL configuration (SFTConfig, DPOConfig, GRPOConfig,
    SDFTConfig)."""

    def conflicts(self) -> Iterator[tuple[str, str]]:
        """Options that contradict or repeat one another."""
        if self.method != "full" and self.lora is None:
            yield "lora", f"method: {self.method} needs this section (`lora: {{r: 16, alpha: 32}}`)"
        if self.method == "full" and self.lora is not None:
            yield "lora", "method: full has no adapter; set method: lora, or lora: null"
        if (self.epochs is None) == (self.max_steps is None):
            yield "epochs", "give exactly one of epochs and max_steps"
        if self.global_batch % self.micro_batch:
            yield "micro_batch", f"does not divide global_batch: {self.global_batch}"
        if self.method == "qlora" and self.precision == "float32":
            yield "precision", "method: qlora computes in bfloat16"
        if self.evaluate is not None and self.evaluate.every % self.save_every:
            yield "evaluate.every", f"is no multiple of save_every: {self.save_every}"

    @field_validator("trl")
    @classmethod
    def _known_to_trl(cls, trl: dict[str, Any]) -> dict[str, Any]:
        if cls.trl_config is None:  # read for a comparison alone
            return trl
        owned = OWNED | ({"loss_type": "dpo.loss"} if cls.trl_config == "DPOConfig" else {})
        names = trl_fields(cls.trl_config) if trl else frozenset()
        free = names - set(owned)
        wrong = []
        for name in trl:
            if names and name not in names:
                wrong.append((name, f"is no field of trl.{cls.trl_config}{nearest(name, free)}"))
            elif name in owned:
                wrong.append((name, f"is set by {owned[name]}"))
        if wrong:
            raise UnknownNames(wrong)
        return trl


class Planned(Section):
    """What every script that trains takes beside its recipe."""

    check_only = ("gpus",)

    gpus: int | None = Field(default=None, ge=2, exclude=True)
    """GPUs that --check plans for, beside one; null: as many as were launched, else 8 of one
    machine and 32 of four."""
    overwrite: bool = Field(default=False, exclude=True)
    """Delete what the run folder holds of this training, and start anew."""
    show: int = Field(default=0, ge=0, exclude=True)
    """Print this many rows (pairs, prompts) as they are trained on, and stop."""


class SftTrain(Train):
    """Supervised fine-tuning on whole targets."""

    trl_config = "SFTConfig"


class DpoTrain(Train):
    """Preference training on pairs."""

    trl_config = "DPOConfig"


class GrpoTrain(Train):
    """Training on the rewards of sampled answers."""

    trl_config = "GRPOConfig"


class DistilTrain(Train):
    """Self-distillation on sampled answers."""

    trl_config = "SDFTConfig"
