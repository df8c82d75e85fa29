"""The schema of an experiment: a model, its data, its fine-tuning and its comparison.

A comparison alone (``kind: evaluation``) has no training; :class:`Comparison` is what both kinds
of recipe share.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, field_validator

from tablemend.config.backend import BackendOptions
from tablemend.config.evaluation import Arm, Evaluation, Thinking
from tablemend.config.nearest import nearest
from tablemend.config.section import (
    DType,
    Format,
    ModelString,
    Prompt,
    Recipe,
    Section,
    UnknownNames,
)
from tablemend.config.trl_names import OWNED, TRL_NAMES

HUB = "hub:"
SMALL_WORLD = "small-world"
EXAMPLE_FILES = (".jsonl", ".parquet")
ENGINE_PREFIXES = ("hf:", "vllm:", "openai:", "scripted:")


class Model(Section):
    """The model that every arm starts from."""

    path: ModelString
    """Folder of a checkpoint, or a name on the Hugging Face Hub. A recipe without training takes
    any model string: `vllm:NAME`, `openai:MODEL@URL[,URL]`."""
    revision: str | None = None
    """Commit or tag on the Hub; a name without it is resolved when the run starts."""
    dtype: DType = "auto"
    """Type of the weights in memory; auto: as stored."""
    context_length: int | None = Field(default=None, ge=16)
    """Most tokens of prompt and answer together; null: what the model was made for."""
    attn: Literal["eager", "sdpa", "flash_attention_2", "flash_attention_3"] = "sdpa"
    """Attention kernel of transformers."""


class TrainedModel(Model):
    """A model that is to be trained."""

    context_length: int = Field(ge=16)
    """Most tokens of prompt and answer together."""


class Source(Section):
    """Where examples come from."""

    source: str
    """`small-world` (generated), a JSONL or Parquet file, a folder with one file a split, or
    `hub:owner/name`."""
    split: Literal["train", "validation", "test"] | None = None
    """Split to read from a folder or the Hub; null where the source is a file."""
    n: int | None = Field(default=None, ge=1)
    """Most examples to take, from the front; all where it is null."""
    seed: int = Field(default=0, ge=0)
    """Seed of the generated small world."""
    revision: str | None = None
    """Commit of a Hub data set."""

    def conflicts(self) -> Iterator[tuple[str, str]]:
        """Fields that the kind of source does not read."""
        if self.source == SMALL_WORLD:
            if self.n is None:
                yield "n", "a generated source needs the number of examples"
            if self.split is not None:
                yield "split", "a generated source has no split; give each a seed of its own"
            return
        if self.seed:
            yield "seed", "only a generated source has a seed"
        if self.revision is not None and not self.source.startswith(HUB):
            yield "revision", "only a `hub:` source has a revision"
        if self.split is None and not Path(self.source).suffix:
            yield "split", "a folder or a Hub data set needs `split: train|validation|test`"
        if self.split is not None and Path(self.source).suffix in EXAMPLE_FILES:
            yield "split", "a file has no splits; name the file of the split, or its folder"


class Data(Section):
    """The examples of the experiment, by use."""

    train: Source | None = None
    """Examples to fine-tune on."""
    test: Source
    """Held-out examples to compare the arms on."""
    validation: Source | None = None
    """Held-out examples for the loss during training."""

    def conflicts(self) -> Iterator[tuple[str, str]]:
        """A part of the data that is also trained on."""
        if self.train is None:
            return
        for name, held_out in (("validation", self.validation), ("test", self.test)):
            if held_out is not None and _same(held_out, self.train):
                yield name, "the same examples as data.train"


class TrainingData(Data):
    """The examples of an experiment with training."""

    train: Source
    """Examples to fine-tune on."""


def _same(one: Source, other: Source) -> bool:
    return (one.source, one.split, one.seed) == (other.source, other.split, other.seed)


class Lora(Section):
    """Low-rank adapters (PEFT)."""

    r: int = Field(default=16, ge=1)
    """Rank."""
    alpha: float = Field(default=32, gt=0)
    """Scale: the adapter is multiplied by alpha / r."""
    dropout: float = Field(default=0.0, ge=0, lt=1)
    """Dropout on the adapter's input."""
    target_modules: Literal["all-linear"] | tuple[str, ...] = "all-linear"
    """Layers that get an adapter."""
    save: Literal["merged", "adapter"] = "merged"
    """What the finished checkpoint holds: whole weights, or the adapter alone."""


class Train(Section):
    """Supervised fine-tuning. Batch sizes count sequences, over all devices or on one."""

    method: Literal["full", "lora"] = "full"
    """All weights, or adapters."""
    lora: Lora | None = None
    """Adapters; needed by method: lora and by nothing else."""
    prompt: Prompt = "base"
    """Instruction shown in training; the sft arm is evaluated with the same."""
    context: Literal["adversarial", "clean", "both"] = "adversarial"
    """Context shown in training."""
    max_length: int | None = Field(default=None, ge=16)
    """Longest training example in tokens; longer ones are dropped and counted, never cut.
    model.context_length where it is null."""
    epochs: float | None = Field(default=None, gt=0)
    """Passes over the data; give epochs or max_steps."""
    max_steps: int | None = Field(default=None, ge=1)
    """Optimizer steps; give epochs or max_steps."""
    minutes: float | None = Field(default=None, gt=0)
    """Time budget: training ends there at the latest, the schedule with it."""
    learning_rate: float = Field(gt=0, le=1)
    """Peak learning rate (of AdamW, where the optimizer is muon)."""
    optimizer: Literal["adamw", "muon"] = "adamw"
    """muon: Muon on the hidden matrices, AdamW on embeddings and norms."""
    muon_learning_rate: float | None = Field(default=None, gt=0, le=1)
    """Peak learning rate of Muon."""
    weight_decay: float = Field(default=0.0, ge=0, le=1)
    """Decoupled weight decay."""
    max_grad_norm: float = Field(default=1.0, gt=0)
    """Gradients are clipped to this norm."""
    scheduler: Literal["constant", "linear", "cosine"] = "cosine"
    """Course of the learning rate after the warm-up; linear and cosine end at 0."""
    warmup: float = Field(default=0.03, ge=0, lt=1)
    """Share of the training during which the learning rate rises."""
    global_batch: int = Field(ge=1)
    """Sequences per optimizer step over all devices."""
    micro_batch: int = Field(ge=1)
    """Sequences per forward pass on one device."""
    packing: bool = False
    """Several examples in one row; needs a flash attention, which keeps them apart."""
    precision: Literal["float32", "bfloat16"] = "bfloat16"
    """Type that the forward and backward pass compute in."""
    gradient_checkpointing: bool = False
    """Less memory for about a third more time."""
    save_every: int = Field(default=200, ge=1)
    """Optimizer steps between checkpoints; an interruption loses at most these."""
    log_every: int = Field(default=10, ge=1)
    """Optimizer steps between log lines."""
    trl: dict[str, Any] = Field(default_factory=dict)
    """Any other field of trl.SFTConfig, by its own name."""

    def conflicts(self) -> Iterator[tuple[str, str]]:
        """Options that contradict or repeat one another."""
        if self.method == "lora" and self.lora is None:
            yield "lora", "method: lora needs this section (`lora: {r: 16, alpha: 32}`)"
        if self.method == "full" and self.lora is not None:
            yield "lora", "method: full has no adapter; set method: lora, or lora: null"
        if (self.epochs is None) == (self.max_steps is None):
            yield "epochs", "give exactly one of epochs and max_steps"
        if self.global_batch % self.micro_batch:
            yield "micro_batch", f"does not divide global_batch: {self.global_batch}"
        if (self.optimizer == "muon") != (self.muon_learning_rate is not None):
            yield "muon_learning_rate", "goes with optimizer: muon and only with it"
        if self.optimizer == "muon" and self.method == "lora":
            yield "optimizer", "muon is for full matrices; adapters take adamw"

    @field_validator("trl")
    @classmethod
    def _known_to_trl(cls, trl: dict[str, Any]) -> dict[str, Any]:
        wrong = [
            (name, f"is set by {OWNED[name]}")
            if name in OWNED
            else (name, f"is no field of trl.SFTConfig{nearest(name, TRL_NAMES - set(OWNED))}")
            for name in trl
            if name in OWNED or name not in TRL_NAMES
        ]
        if wrong:
            raise UnknownNames(wrong)
        return trl


class Comparison(Recipe):
    """What compare.py needs: an experiment, or an evaluation alone."""

    kind: Literal["experiment", "evaluation"]
    """What the recipe is for: an evaluation trains nothing."""
    model: Model
    """The model that every arm starts from."""
    data: Data
    """The examples, by use."""
    format: Format = "markdown"
    """Table format that prompts ask for."""
    thinking: Thinking = "off"
    """off, on (the model's own), or quote (training targets quote the facts in scope)."""
    train: Train | None = None
    """Supervised fine-tuning."""
    evaluation: Evaluation
    """The comparison of the arms."""

    def conflicts(self) -> Iterator[tuple[str, str]]:
        """Settings of one section that contradict another."""
        if self.train is None:
            yield from self._conflicts_without_training()
        else:
            yield from self._conflicts_of_training(self.train)
        for name, arm in self.evaluation.arms.items():
            if arm.constrain is not None and self.thinking_of(arm) != "off":
                yield (
                    f"evaluation.arms.{name}.constrain",
                    "leaves no room for thinking: set the arm's thinking to off",
                )
        window = self.model.context_length
        if window is not None and self.evaluation.max_new_tokens >= window:
            yield (
                "evaluation.max_new_tokens",
                f"leaves no room for a prompt in model.context_length: {window}",
            )

    def _conflicts_without_training(self) -> Iterator[tuple[str, str]]:
        if self.kind == "experiment":
            yield "train", "missing; a recipe that only compares says kind: evaluation"
        for name, source in (("train", self.data.train), ("validation", self.data.validation)):
            if self.kind == "evaluation" and source is not None:
                yield f"data.{name}", "an evaluation reads data.test alone"
        for name, arm in self.evaluation.arms.items():
            if self.kind == "evaluation" and arm.model == "sft":
                yield (
                    f"evaluation.arms.{name}.model",
                    "an evaluation trains nothing: name the folder of the checkpoint",
                )

    def _conflicts_of_training(self, train: Train) -> Iterator[tuple[str, str]]:
        if self.kind == "evaluation":
            yield "train", "an evaluation trains nothing; an experiment says kind: experiment"
        elif self.data.train is None:
            yield "data.train", "missing"
        if self.model.path.startswith(ENGINE_PREFIXES):
            yield (
                "model.path",
                "training takes a folder or a name on the Hub; another engine is named by "
                "evaluation.backend or by an arm's model",
            )
        if self.thinking == "on":
            yield "thinking", "a training target has no thinking of its own: set off or quote"
        if train.packing and not self.model.attn.startswith("flash"):
            yield "train.packing", f"model.attn: {self.model.attn} would attend across examples"
        window = self.model.context_length
        if window is not None and (train.max_length or 0) > window:
            yield "train.max_length", f"above model.context_length: {window}"
        for name, arm in self.evaluation.arms.items():
            if arm.model == "sft" and arm.after is None:
                yield from self._prefix_conflicts(name, arm, train)

    def _prefix_conflicts(self, name: str, arm: Arm, train: Train) -> Iterator[tuple[str, str]]:
        """The prompt of the fine-tuned arm must be the one it was trained on."""
        path = f"evaluation.arms.{name}"
        if arm.prompt != train.prompt:
            yield f"{path}.prompt", f"is not train.prompt: {train.prompt}"
        if arm.thinking is not None and (arm.thinking == "off") != (self.thinking == "off"):
            yield f"{path}.thinking", f"the model is trained with thinking: {self.thinking}"
        if self.format_of(arm) != self.format:
            yield f"{path}.format", f"the model is trained with format: {self.format}"

    @property
    def default_engine(self) -> Literal["hf", "vllm"]:
        """Engine of the models that name none."""
        return self.evaluation.backend

    def thinking_of(self, arm: Arm) -> Literal["off", "on", "quote"]:
        """The arm's own thinking, else the recipe's."""
        thinking = self.evaluation.answering_arm(arm).thinking
        return self.thinking if thinking is None else thinking

    def format_of(self, arm: Arm) -> Format:
        """The table format that an arm's prompt asks for: its own, else the recipe's."""
        format = self.evaluation.answering_arm(arm).format
        return self.format if format is None else format

    def options_of(self, arm: Arm) -> BackendOptions:
        """How an arm's model is asked, with what the model section says of every model."""
        options = self.evaluation.options if arm.options is None else arm.options
        update: dict[str, Any] = {}
        if options.dtype == "auto":
            update["dtype"] = self.model.dtype
        if options.context_length is None:
            update["context_length"] = self.model.context_length
        if options.revision is None and arm.model == "base":
            update["revision"] = self.model.revision
        return options.model_copy(update=update)


class Experiment(Comparison):
    """One experiment: everything that sft.py and compare.py need."""

    kind: Literal["experiment"]
    """What the recipe is for; a script reads only its own kind."""
    model: TrainedModel
    """The model that every arm starts from."""
    data: TrainingData
    """The examples, by use."""
    train: Train
    """Supervised fine-tuning."""

    @property
    def longest_row(self) -> int:
        """Most tokens of a training example."""
        return self.train.max_length or self.model.context_length


class SftCommand(Experiment):
    """What train/sft.py takes beside the recipe."""

    overwrite: bool = False
    """Delete what the run folder holds of this training, and start anew."""
    show: int = Field(default=0, ge=0)
    """Print this many training rows with their loss masks, and stop."""
