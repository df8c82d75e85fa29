"""The schema of an experiment: a model, its data, its fine-tuning and its comparison.

A comparison alone (``kind: evaluation``) has no training; :class:`Comparison` is what both kinds
of recipe share.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field

from tablemend.backends.names import ModelName
from tablemend.config.section import (
    BackendOptions,
    Data,
    DType,
    ExampleData,
    Format,
    Recipe,
    Section,
    Serialisation,
    TrainingData,
    nearest,
)
from tablemend.errors import TablemendError
from tablemend.recipe.evaluation import Evaluation, SystemConfig, Thinking
from tablemend.recipe.training import (
    Distil,
    DistilTrain,
    Dpo,
    DpoTrain,
    Grpo,
    GrpoTrain,
    Reward,
    RolloutConfig,
    SftTrain,
    Train,
    TrainCommandOptions,
)
from tablemend.shipped import here_or_shipped
from tablemend.tasks.all_tasks import TASKS
from tablemend.tasks.task import Task, TaskOptions

ANY = "any"
"""The context of a training that shows each sample in one way, drawn by its id."""
STAGES = {"experiment": "sft", "dpo": "dpo", "grpo": "grpo", "distil": "distil"}
"""Kinds of recipe that train, and the name of the training."""
ENGINE_PREFIXES = ("hf:", "vllm:", "openai:", "scripted:")


class Model(Section):
    """The model that every system starts from."""

    path: Annotated[str, AfterValidator(here_or_shipped)]
    """Folder of a checkpoint, or a name on the Hugging Face Hub. A comparison takes any model
    string: `vllm:NAME`, `openai:MODEL@URL`; systems of a checkpoint of the recipe are then not
    possible."""
    revision: str | None = None
    """Commit or tag on the Hub; a name without it is resolved when the run starts."""
    dtype: DType = "auto"
    """Type of the weights in memory; auto: as stored, but float32 where the device emulates
    bfloat16, and float32 where all weights are trained."""
    context_length: int | None = Field(default=None, ge=16)
    """Most tokens of prompt and answer together; null: what the model was made for."""
    attn: Literal["eager", "sdpa", "flex_attention", "flash_attention_2", "flash_attention_3"] = (
        "sdpa"
    )
    """Attention kernel of transformers. flex_attention is compiled, on GPUs, and is for training:
    answers are drawn with sdpa."""
    pad_token: str | None = None
    """Token that fills rows in training, where the tokenizer has none of its own."""
    end_of_turn: str | None = None
    """Token that ends an answer in training, where the tokenizer's eos_token is another."""


class TrainedModel(Model):
    """A model that is to be trained."""

    context_length: int = Field(ge=16)
    """Most tokens of prompt and answer together."""


class Comparison(Recipe):
    """What compare.py needs: an experiment, or an evaluation alone."""

    kind: Literal["experiment", "dpo", "grpo", "distil", "evaluation"]
    """What the recipe is for: supervised fine-tuning, training on preferences or on rewards,
    self-distillation, or a comparison that trains nothing."""
    version: int = Field(default=1, ge=1)
    """Rises when the recipe converges otherwise than before (CONTRIBUTING.md)."""
    task: str = "table_generation"
    """What is trained and compared: `table_generation` (TableHallu), `table_summary` (TabFaith),
    `claim_verification`, `claim_programs`, `records` (JSON), `faith` (FAITH) or `torr` (ToRR)."""
    model: Model
    """The model that every system starts from."""
    data: Data
    """The examples, by use."""
    format: Format = "markdown"
    """Table format that prompts ask for."""
    serialisation: Serialisation | None = None
    """How tables that prompts show are written (tasks table_summary and faith); null: in Markdown,
    aligned. In torr the contexts say it."""
    thinking: Thinking = "off"
    """off (the prompt closes it), or left to the model: on (its own; no target to train on), empty
    (targets skip it), quote (targets quote the facts in scope), quote-then-sort (and list the rows
    in order), list (targets list the rows, filter and sort the list), rationale (targets
    of faith and logic say what the answer follows from)."""
    train: Train | None = None
    """The training."""
    dpo: Dpo | None = None
    """Preferences; needed by kind: dpo and by nothing else."""
    grpo: Grpo | None = None
    """Rewards; needed by kind: grpo and by nothing else."""
    distil: Distil | None = None
    """Teacher and student; needed by kind: distil and by nothing else."""
    evaluation: Evaluation
    """The comparison of the systems."""

    def conflicts(self) -> Iterator[tuple[str, str]]:
        if self.task not in TASKS:
            yield (
                "task",
                f"no task {self.task!r}{nearest(self.task, TASKS)}; there are {', '.join(TASKS)}",
            )
        else:
            yield from self._conflicts_with_task(self.task_of())
        for name in ("dpo", "grpo", "distil"):
            if (self.kind == name) != (getattr(self, name) is not None):
                yield name, f"belongs to a recipe of kind: {name}, and to no other"
        if self.train is None:
            yield from self._conflicts_without_training()
        else:
            yield from self._conflicts_of_training(self.train)
        for name, system in self.evaluation.systems.items():
            if system.constraint is not None and self.thinking_of(system) != "off":
                yield (
                    f"evaluation.systems.{name}.mitigation",
                    "leaves no room for thinking: set the system's thinking to off",
                )
        window = self.model.context_length
        if window is not None and self.evaluation.max_new_tokens >= window:
            yield (
                "evaluation.max_new_tokens",
                f"leaves no room for a prompt in model.context_length: {window}",
            )

    def _conflicts_with_task(self, task: Task[Any]) -> Iterator[tuple[str, str]]:
        """Contexts, prompts and mitigations that the task does not have."""
        views = {**task.views, **task.more_views}
        for context in self.evaluation.contexts or ():
            if context not in views:
                yield "evaluation.contexts", _not_of(task, "context", context, task.views)
        if self.train is not None:
            if self.train.context not in (*views, "both", ANY, None):
                wanted = (*task.views, "both", ANY)
                yield "train.context", _not_of(task, "context", self.train.context, wanted)
            if self.train.context == ANY and self.kind != "experiment":
                yield "train.context", f"{ANY} is for fine-tuning (kind: experiment) alone"
            if self.train.prompt not in task.prompts:
                yield "train.prompt", _not_of(task, "prompt", self.train.prompt, task.prompts)
            metrics = [one.name for one in task.metrics if one.kind not in ("event", "distractor")]
            by = self.train.evaluate.metric if self.train.evaluate is not None else metrics[0]
            if by not in metrics:
                yield "train.evaluate.metric", _not_of(task, "metric", by, metrics)
        errors = [metric.name for metric in task.metrics if metric.kind == "error"]
        for error in self.dpo.pairs.errors if self.dpo is not None else ():
            if error not in errors:
                yield "dpo.pairs.errors", _not_of(task, "error type", error, errors)
        for key in ("scorer", "chosen"):
            if self.dpo and not task.mendable and getattr(self.dpo.pairs, key) == "repair":
                yield f"dpo.pairs.{key}", f"repair cannot judge the answers of {task.name}"
        tables = (
            Reward() if self.grpo is None else self.grpo.reward.model_copy(update={"trace": 0.0})
        )
        if task.format is None and tables != Reward():
            yield "grpo.reward", f"weighs the parts of a table; {task.name} has none"
        for name, system in self.evaluation.systems.items():
            if system.prompt not in task.prompts:
                path = f"evaluation.systems.{name}.prompt"
                yield path, _not_of(task, "prompt", system.prompt, task.prompts)
            if system.constraint is not None and task.format is None:
                yield (
                    f"evaluation.systems.{name}.mitigation",
                    f"{system.mitigation} is for answers that are tables, not for {task.name}",
                )
            if system.mitigation == "repair" and not task.mendable:
                path = f"evaluation.systems.{name}.mitigation"
                yield path, f"repair cannot judge the answers of {task.name}"

    def _conflicts_without_training(self) -> Iterator[tuple[str, str]]:
        if self.kind != "evaluation":
            yield "train", "missing; a recipe that only compares says kind: evaluation"
        for name, source in (("train", self.data.train), ("validation", self.data.validation)):
            if self.kind == "evaluation" and source is not None:
                yield f"data.{name}", "an evaluation reads data.test alone"
        for name, system in self.evaluation.systems.items():
            if self.kind == "evaluation" and system.model in STAGES.values():
                yield (
                    f"evaluation.systems.{name}.model",
                    "an evaluation trains nothing: name the folder of the checkpoint",
                )

    def _conflicts_of_training(self, train: Train) -> Iterator[tuple[str, str]]:
        if self.kind == "evaluation":
            yield "train", "an evaluation trains nothing; an experiment says kind: experiment"
        elif self.data.train is None:
            yield "data.train", "missing"
        if self.thinking == "on" and self.kind not in ("grpo", "distil"):
            yield (
                "thinking",
                "a training target has no thinking of its own: set off, empty, quote, "
                "quote-then-sort, list or rationale",
            )
        if self.thinking in ("quote-then-sort", "list") and self.kind == "grpo":
            yield "thinking", f"the reward does not read {self.thinking}: set quote or off"
        window = self.model.context_length
        if train.evaluate is not None and self.data.validation is None:
            yield "data.validation", "missing; train.evaluate asks its prompts"
        if window is not None and (train.max_length or 0) > window:
            yield "train.max_length", f"above model.context_length: {window}"
        for name, system in self.evaluation.systems.items():
            if system.model == self.stage and system.after is None:
                yield from self._prefix_conflicts(name, system, train)
            elif system.model in STAGES.values() and system.model != self.stage:
                yield (
                    f"evaluation.systems.{name}.model",
                    f"this recipe's own checkpoint is {self.stage}; name another by its folder",
                )

    def _prefix_conflicts(
        self, name: str, system: SystemConfig, train: Train
    ) -> Iterator[tuple[str, str]]:
        """The prompt of the fine-tuned system must be the one it was trained on."""
        path = f"evaluation.systems.{name}"
        if system.prompt != train.prompt:
            yield f"{path}.prompt", f"is not train.prompt: {train.prompt}"
        if system.thinking is not None and system.thinking != self.thinking:
            yield f"{path}.thinking", f"the model is trained with thinking: {self.thinking}"
        if self.format_of(system) != self.format:
            yield f"{path}.format", f"the model is trained with format: {self.format}"
        if self.serialisation_of(system) != self.serialisation:
            said = self.serialisation or "null"
            yield f"{path}.serialisation", f"the model is trained with serialisation: {said}"

    @property
    def stage(self) -> str | None:
        """The training's name: of its files in the run folder, and of the system that it makes."""
        return STAGES.get(self.kind)

    @property
    def has_engine(self) -> bool:
        """Whether model.path is a model string: asked as it is, and not trained."""
        return self.model.path.startswith(ENGINE_PREFIXES)

    @property
    def default_engine(self) -> Literal["hf", "vllm"]:
        """Engine of the models that name none."""
        return self.evaluation.backend

    @property
    def weights_dtype(self) -> DType:
        """``model.dtype``, or float32 where it leaves that open and all weights are trained.

        In bfloat16 small updates round to nothing. The comparison loads every model alike.
        """
        is_full = self.train is not None and self.train.method == "full"
        return "float32" if is_full and self.model.dtype == "auto" else self.model.dtype

    def thinking_of(self, system: SystemConfig) -> Thinking:
        """The system's own thinking, else the recipe's."""
        thinking = self.evaluation.answering_system(system).thinking
        return self.thinking if thinking is None else thinking

    def format_of(self, system: SystemConfig) -> Format:
        """The table format that a system's prompt asks for: its own, else the recipe's."""
        format = self.evaluation.answering_system(system).format
        return self.format if format is None else format

    def serialisation_of(self, system: SystemConfig) -> Serialisation | None:
        """How the tables that a system reads are written: its own way, else the recipe's."""
        return self.evaluation.answering_system(system).serialisation or self.serialisation

    def task_of(self, system: SystemConfig | None = None) -> Task[Any]:
        """The task as a system has it, with its table format; without one, as the recipe."""
        evaluation = self.evaluation
        return TASKS[self.task](
            TaskOptions(
                self.format if system is None else self.format_of(system),
                evaluation.similarity,
                evaluation.verifier,
                evaluation.extractor,
                evaluation.options,
                self.serialisation if system is None else self.serialisation_of(system),
            )
        )

    @property
    def contexts(self) -> tuple[str, ...]:
        """How every sample is shown to every system."""
        return self.evaluation.contexts or tuple(self.task_of().views)

    def options_of(self, system: SystemConfig) -> BackendOptions:
        """How a system's model is asked, with what the model section says of every model."""
        options = self.evaluation.options if system.options is None else system.options
        update: dict[str, Any] = {}
        if options.dtype == "auto":
            update["dtype"] = self.weights_dtype
        if options.context_length is None:
            update["context_length"] = self.model.context_length
        if options.revision is None and system.model == "base":
            update["revision"] = self.model.revision
        return options.model_copy(update=update)


def _not_of(task: Task[Any], what: str, given: object, known: Iterable[str]) -> str:
    """A refusal: the task has no such thing."""
    return f"{task.name} has no {what} {given!r}; it has {', '.join(known)}"


class TrainingRecipe(Comparison):
    """What every recipe with a training has."""

    model: TrainedModel
    """The model that every system starts from."""
    data: TrainingData
    """The examples, by use."""
    train: Train
    """The training."""

    def conflicts(self) -> Iterator[tuple[str, str]]:
        yield from super().conflicts()
        if self.has_engine:
            yield (
                "model.path",
                "training takes a folder or a name on the Hub; another engine is named by "
                "evaluation.backend or by a system's model",
            )

    @property
    def stage(self) -> str:
        """The training's name: of its files in the run folder, and of the system that it makes."""
        return STAGES[self.kind]

    @property
    def shown(self) -> tuple[str, ...]:
        """How training shows every sample."""
        views = tuple(self.task_of().views)
        if self.train.context in ("both", ANY):
            return views
        return (self.train.context or self.task_of().default_view,)

    def shown_to(self, sample: str) -> tuple[str, ...]:
        """How training shows the sample with this id; one way drawn by it where any will do."""
        views = self.shown
        return (views[int(sample[:8], 16) % len(views)],) if self.train.context == ANY else views

    @property
    def prompt_settings(self) -> dict[str, str]:
        """What a sample's prompt depends on beside the sample."""
        asked = {"task": self.task, "format": self.format, "thinking": self.thinking}
        version = self.task_of().versions()["prompt_hash"]
        return {**asked, "train.prompt": self.train.prompt, "prompt_hash": version}

    @property
    def longest_row(self) -> int:
        """Most tokens of a training example."""
        return self.train.max_length or self.model.context_length


class Experiment(TrainingRecipe):
    """Supervised fine-tuning: everything that sft.py and compare.py need."""

    kind: Literal["experiment"]
    """What the recipe is for; a script reads only its own kind."""
    train: SftTrain
    """Supervised fine-tuning."""


class DpoExperiment(TrainingRecipe):
    """Preference training: everything that preference.py, dpo.py and compare.py need."""

    kind: Literal["dpo"]
    """What the recipe is for; a script reads only its own kind."""
    data: ExampleData
    """The examples, by use."""
    train: DpoTrain
    """The training on pairs."""
    dpo: Dpo
    """The pairs and the loss."""


class DrawingExperiment(TrainingRecipe):
    """A training on answers that the model draws itself."""

    data: ExampleData
    """The examples, by use."""

    @property
    def drawing(self) -> RolloutConfig:
        """The section that says how."""
        section: RolloutConfig = getattr(self, self.kind)
        return section

    @property
    def group(self) -> int:
        """Answers drawn for each prompt."""
        return getattr(self.drawing, "group", 1)

    def conflicts(self) -> Iterator[tuple[str, str]]:
        yield from super().conflicts()
        yield from self.drawing.conflicts_with(self.train)
        if self.data.validation is not None and self.train.evaluate is None:
            yield "data.validation", "has no loss here; train.evaluate would ask its prompts"
        if self.drawing.max_new_tokens >= self.longest_row:
            yield (
                f"{self.kind}.max_new_tokens",
                f"leaves no room for a prompt in {self.longest_row} tokens",
            )


class GrpoExperiment(DrawingExperiment):
    """Training on rewards: everything that grpo.py and compare.py need."""

    kind: Literal["grpo"]
    """What the recipe is for; a script reads only its own kind."""
    train: GrpoTrain
    """The training on rewards."""
    grpo: Grpo
    """The sampling and the reward."""


class DistilExperiment(DrawingExperiment):
    """Self-distillation: everything that distil.py and compare.py need."""

    kind: Literal["distil"]
    """What the recipe is for; a script reads only its own kind."""
    train: DistilTrain
    """The training on the teacher's scores."""
    distil: Distil
    """The sampling, the teacher and the loss."""

    def conflicts(self) -> Iterator[tuple[str, str]]:
        yield from super().conflicts()
        if self.task in TASKS and self.shown == tuple(self.task_of().views)[:1]:
            yield "train.context", f"shows what the teacher reads: {self.shown[0]}"


class SftCommand(TrainCommandOptions, Experiment):
    """What train/sft.py takes beside the recipe."""


class DpoCommand(TrainCommandOptions, DpoExperiment):
    """What train/dpo.py takes beside the recipe."""

    def conflicts(self) -> Iterator[tuple[str, str]]:
        yield from super().conflicts()
        train = self.train
        if train.packing:
            yield "train.packing", "the two answers of a pair stand in rows of their own"
        dropout = train.lora.dropout if train.lora is not None else 0
        if dropout and train.trl.get("disable_dropout", True):
            yield (
                "train.lora.dropout",
                "TRL switches dropout off for preferences, so that the reference is the start: "
                "set 0",
            )


class GrpoCommand(TrainCommandOptions, GrpoExperiment):
    """What train/grpo.py takes beside the recipe."""


class DistilCommand(TrainCommandOptions, DistilExperiment):
    """What train/distil.py takes beside the recipe."""


class PairsCommand(DpoExperiment):
    """What data_gen/preference.py takes beside the recipe."""

    backend: Literal["hf", "vllm"] | None = None
    """Comes before evaluation.backend."""
    overwrite: bool = Field(default=False, exclude=True)
    """Delete the pairs and the answers in dpo.pairs.path, and start anew."""

    def conflicts(self) -> Iterator[tuple[str, str]]:
        yield from super().conflicts()
        text = self.dpo.pairs.model
        if text != "base":
            try:
                ModelName.parse(text, self.default_engine)
            except TablemendError as error:
                yield "dpo.pairs.model", str(error)

    @property
    def default_engine(self) -> Literal["hf", "vllm"]:
        """Engine of the models that name none."""
        return self.backend or self.evaluation.backend
