"""The schema of a training: what every trainer reads, and pairs, rewards and self-distillation."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from importlib.util import find_spec
from math import lcm
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from tablemend.config.section import Precision, Prompt, Section, UnknownNames, nearest
from tablemend.errors import TablemendError


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

    def divisible_batch(self, processes: int) -> int:
        """The global batch, or the nearest that divides over so many processes."""
        at_once = self.micro_batch * processes
        return max(1, (2 * self.global_batch + at_once) // (2 * at_once)) * at_once

    def accumulation(self, processes: int) -> int:
        """Forward passes per optimizer step that make up the global batch.

        Raises:
            TablemendError: naming the nearest batch that divides.
        """
        if (nearest_batch := self.divisible_batch(processes)) != self.global_batch:
            raise TablemendError(
                f"train.global_batch={self.global_batch} does not divide over {processes} "
                f"processes with train.micro_batch={self.micro_batch}: the nearest that does is "
                f"train.global_batch={nearest_batch}"
            )
        return self.global_batch // (self.micro_batch * processes)


class TrainCommandOptions(Section):
    """What every script that trains takes beside its recipe."""

    check_only = ("gpus", "price")

    gpus: int | None = Field(default=None, ge=2, exclude=True)
    """GPUs that --check plans for, beside one; null: as many as were launched, else 8 of one
    machine and 32 of four."""
    price: float | None = Field(default=None, gt=0, exclude=True)
    """What a GPU costs an hour, in any currency: --check then says what the training costs."""
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


FILES = {
    "SFTConfig": "sft_config.py",
    "DPOConfig": "dpo_config.py",
    "GRPOConfig": "grpo_config.py",
    "SDFTConfig": "../experimental/sdft/sdft_config.py",
}


@cache
def trl_fields(name: str) -> frozenset[str]:
    """The fields of a configuration of the installed TRL; none where it is not installed."""
    trl, transformers = find_spec("trl"), find_spec("transformers")
    if trl is None or trl.origin is None or transformers is None or transformers.origin is None:
        return frozenset()
    trainer = Path(trl.origin).parent / "trainer"
    files = (
        trainer / FILES[name],
        trainer / "base_config.py",
        Path(transformers.origin).parent / "training_args.py",
    )
    return frozenset(
        field.target.id
        for file in files
        for part in ast.parse(file.read_text(encoding="utf-8")).body
        if isinstance(part, ast.ClassDef)
        for field in part.body
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name)
    )


_DECIDES = {
    "run": "output_dir",
    "seed": "seed data_seed",
    "model": "model_init_kwargs",
    "the tokenizer of model.path": "chat_template_path eos_token pad_token",
    "train.micro_batch": "per_device_train_batch_size per_device_eval_batch_size",
    "train.global_batch and train.micro_batch": "gradient_accumulation_steps",
    "train.global_batch": "generation_batch_size steps_per_generation",
    "train.epochs": "num_train_epochs",
    "train.max_steps": "max_steps",
    "train.max_length (nothing is ever cut)": "max_length truncation_mode",
    "train.learning_rate": "learning_rate",
    "train.scheduler": "lr_scheduler_type lr_scheduler_kwargs",
    "train.warmup": "warmup_steps",
    "train.precision": "bf16 fp16",
    "train.gradient_checkpointing": "gradient_checkpointing gradient_checkpointing_kwargs",
    "the trainer's own loss": "use_liger_kernel liger_kernel_config",
    "train.packing": "packing packing_strategy padding_free eval_packing",
    "train.save_every": "save_strategy save_steps",
    "train.evaluate": "load_best_model_at_end metric_for_best_model greater_is_better "
    "eval_strategy eval_steps",
    "train.log_every": "logging_strategy logging_steps",
    "overwrite (resuming is the default)": "resume_from_checkpoint save_only_model "
    "ignore_data_skip",
    "the launch (accelerate_configs/)": "parallelism_config",
    "the trainer (AdamW)": "optim optim_target_modules",
    "the order of rows": "train_sampling_strategy length_column_name shuffle_dataset",
    "the renderer": "remove_unused_columns dataset_kwargs dataset_text_field dataset_num_proc "
    "chat_template_kwargs max_prompt_length teacher_prompt_template",
    "the renderer (loss on the answer and its end of turn alone)": "completion_only_loss "
    "assistant_only_loss",
    "dpo.beta or grpo.beta": "beta",
    "dpo.sft_weight": "loss_weights",
    "dpo.precompute_reference": "precompute_ref_log_probs",
    "grpo.group (distil: one answer)": "num_generations",
    "grpo.temperature or distil.temperature": "temperature",
    "grpo.max_new_tokens or distil.max_new_tokens": "max_completion_length",
    "grpo.iterations (distil: one)": "num_iterations",
    "grpo.reward": "reward_weights",
    "grpo.engine or distil.engine": "use_vllm vllm_mode",
    "grpo.server or distil.server": "vllm_server_base_url vllm_server_host vllm_server_port",
    "distil.beta": "distillation_alpha distillation_mode distillation_topk distillation_add_tail",
    "distil.clip": "distillation_is_clip",
    "distil.teacher": "teacher_model_kind use_teacher_server",
}
OWNED = {name: key for key, names in _DECIDES.items() for name in names.split()}
"""Fields of TRL's configurations that a key of the recipe decides, and which."""


class Pairs(Section):
    """How ``data_gen/preference.py`` makes pairs: at most one for each prompt of data.train, and
    of data.validation where there is one.
    """

    path: str
    """Folder of the pairs: written by data_gen/preference.py, read by train/dpo.py."""
    sampled: float = Field(default=0.5, ge=0, le=1)
    """Share of the prompts that the model is asked: its first answer with a finding is rejected,
    and a prompt where none has one is dropped. Others get a gold table with an injected error."""
    samples: int = Field(default=4, ge=1)
    """Answers drawn from the model for each prompt that it is asked."""
    temperature: float = Field(default=1.0, gt=0, le=2)
    """Temperature of those answers; they are at most evaluation.max_new_tokens long."""
    model: str = "base"
    """What draws them: base (model.path, by evaluation.backend), or a model string
    (`openai:MODEL@URL` for a server of the same weights)."""
    scorer: Literal["detector", "repair"] = "detector"
    """What finds fault with answers: the task's scorer, or the rule repair, which reads query and
    context and no gold (docs/training.md)."""
    chosen: Literal["gold", "best", "repair"] = "gold"
    """The chosen answer beside one of the model's own: gold; the first of its answers that is
    whole and without a finding (else gold, where the scorer reads it); or the rejected one as the
    rule repair mends it. Injected errors always go with gold."""
    errors: tuple[str, ...] = ()
    """Error types of the task to inject; all of them where it is empty."""

    def conflicts(self) -> Iterator[tuple[str, str]]:
        if Path(self.path).suffix in (".jsonl", ".json", ".parquet"):
            yield "path", "names the folder; the pairs are its pairs.jsonl"
        if self.scorer == "repair" and self.chosen == "gold":
            yield "chosen", "gold is not read with scorer: repair; set best or repair"
        if self.scorer == "repair" and self.sampled < 1:
            yield "sampled", "errors are injected into gold, not read with scorer: repair; set 1"


class Dpo(Section):
    """Direct preference optimisation (Rafailov et al., 2023)."""

    pairs: Pairs
    """The pairs."""
    beta: float = Field(default=0.1, gt=0)
    """Strength of the tie to the reference model."""
    loss: Literal["sigmoid", "ipo", "hinge", "robust", "apo_zero", "apo_down"] = "sigmoid"
    """The preference loss, by TRL's name."""
    sft_weight: float = Field(default=0.0, ge=0)
    """Weight of the chosen answer's cross-entropy beside the preference loss."""
    precompute_reference: bool = True
    """Score the pairs with the reference model once, before training: half the memory."""


_OF_GENERATE = frozenset(
    """
    cache_implementation ds3_gather_for_generation generation_kwargs min_p repetition_penalty
    top_k top_p transformers_continuous_batching_config use_transformers_continuous_batching
    use_transformers_paged
    """.split()
)
"""TRL's settings of ``generate``, which draws no answers here (training/grpo.py)."""


class _TrlValues(BaseModel):
    """TRL's settings that the plan and the engine's check read; TRL takes any value of them."""

    model_config = ConfigDict(strict=True, allow_inf_nan=False)

    vllm_gpu_memory_utilization: float = Field(default=0.3, gt=0, le=1)
    vllm_tensor_parallel_size: int = Field(default=1, ge=1)
    vllm_enable_sleep_mode: bool = False
    vllm_importance_sampling_correction: bool = True
    vllm_server_timeout: float = Field(default=0, ge=0)
    generation_kwargs: dict[str, Any] | None = None


_BASE_URL = re.compile(r"https?://[^/?#\s]+(?:/[^?#\s]*)?(?<!/)(?<!/v1)")


class RolloutConfig(Section):
    """How the model that trains draws the answers that it learns from."""

    section: ClassVar[str]
    """Its name in a recipe."""

    temperature: float = Field(default=1.0, gt=0, le=2)
    """Temperature of the answers; the loss divides all logits by it too."""
    max_new_tokens: int = Field(ge=1)
    """Longest answer."""
    engine: Literal["transformers", "vllm-colocate", "vllm-server"] = "transformers"
    """What draws the answers."""
    server: str | None = None
    """Base URL of a `vllm serve` that takes weights (docs/training.md), for engine: vllm-server."""

    def conflicts(self) -> Iterator[tuple[str, str]]:
        if (self.engine == "vllm-server") != (self.server is not None):
            yield "server", "goes with engine: vllm-server and only with it"
        if self.server is not None and not _BASE_URL.fullmatch(self.server):
            yield (
                "server",
                f"{self.server!r} is no base URL: give http://HOST:PORT, without /v1 or a slash "
                "at the end",
            )

    def conflicts_with(self, train: Train) -> Iterator[tuple[str, str]]:
        """Settings that contradict those of the training; paths are the recipe's."""
        if train.packing:
            yield "train.packing", "answers that are drawn stand in rows of their own"
        for name in sorted(_OF_GENERATE & set(train.trl) if self.engine == "transformers" else ()):
            yield (
                f"train.trl.{name}",
                f"engine: transformers draws by {self.section}.temperature and "
                f"{self.section}.max_new_tokens alone: leave it out, or take vLLM",
            )
        try:
            drawn = _TrlValues.model_validate(train.trl).generation_kwargs or {}
        except ValidationError as error:
            for one in error.errors():
                yield f"train.trl.{one['loc'][0]}", f"{one['msg']}, not {one['input']!r}"
        else:
            if self.engine == "vllm-colocate" and drawn.get("seed") is not None:
                yield (
                    "train.trl.generation_kwargs.seed",
                    "every answer would be drawn with it: all answers to a prompt would be equal",
                )
        if train.method == "qlora" and self.engine != "transformers":
            yield (
                f"{self.section}.engine",
                f"{self.engine} would get the packed 4-bit weights without their new scales: set "
                "engine: transformers, or train.method: lora",
            )


class Distil(RolloutConfig):
    """On-policy self-distillation (Shenfeld et al., 2026): the student answers what train.context
    shows; the teacher scores the same answer as one that reads the task's first view.
    """

    section: ClassVar[str] = "distil"

    teacher: Literal["base", "ema"] = "base"
    """The model that training started from, or a moving average of the student's weights
    (train.trl.teacher_update_rate)."""
    beta: float = Field(default=1.0, ge=0, le=1)
    """Divergence at each token: 0 forward KL, 1 reverse KL, between them the generalised
    Jensen-Shannon divergence (Agarwal et al., 2024)."""
    clip: float | None = Field(default=None, gt=0)
    """Most nats that one token counts for; the gradient of one above is scaled down to it."""
    top: int | None = Field(default=None, ge=1)
    """Tokens that the divergence is taken over, the teacher's most likely and one for the rest;
    null: all."""
    keep_clean: float = Field(default=0.0, ge=0)
    """Weight of the divergence of the student from the teacher where both read the first view: one
    more forward pass, so that what was right there stays right."""
    most_hallucinated: float | None = Field(default=0.1, ge=0, le=1)
    """A start with more hallucinated answers to the first view has nothing to teach and is refused;
    null: it is not asked."""

    def conflicts_with(self, train: Train) -> Iterator[tuple[str, str]]:
        yield from super().conflicts_with(train)
        if self.teacher == "ema" and train.method != "full":
            yield "distil.teacher", "ema needs train.method: full"
        for name in ("teacher_update_rate", "teacher_sync_steps"):
            if self.teacher == "base" and name in train.trl:
                yield f"train.trl.{name}", "needs distil.teacher: ema"


class Reward(Section):
    """Weights of the parts of the reward; each part is between 0 and 1 (docs/training.md)."""

    format: float = Field(default=1.0, ge=0)
    """One table in the asked format and nothing else."""
    columns: float = Field(default=1.0, ge=0)
    """The columns of the query, in order."""
    scope: float = Field(default=2.0, ge=0)
    """Rows that belong into the answer, against rows that do not and rows said twice (F1)."""
    cells: float = Field(default=2.0, ge=0)
    """Cells that are right, of all filled gold cells."""
    blanks: float = Field(default=1.0, ge=0)
    """Cells left blank, of all that the context leaves open."""
    order: float = Field(default=1.0, ge=0)
    """Pairs of rows in the asked order, of all that have one."""
    coverage: float = Field(default=2.0, ge=0)
    """Gold rows that the answer has, of all."""
    quote: float = Field(default=1.0, ge=0)
    """Sentences of the context that state gold rows, against others that are quoted and those
    quoted twice (F1); with thinking: quote alone."""

    trace: float = Field(default=0.0, ge=0)
    """What wrong references in the thought cost: trace / (1 + trace) of all the rest, times their
    share of what the thought cites (docs/evaluation.md)."""

    def conflicts(self) -> Iterator[tuple[str, str]]:
        weights = self.model_dump(exclude={"trace"}).values()
        if not any(weights):
            yield "format", "every weight is 0: nothing would be rewarded"
        elif not (self.coverage or self.cells):
            yield "coverage", "with cells and coverage both 0, one row would pay as well as all"


class Grpo(RolloutConfig):
    """Group-relative policy optimisation (Shao et al., 2024) on the detector's findings."""

    section: ClassVar[str] = "grpo"

    group: int = Field(default=8, ge=2)
    """Answers drawn for each prompt, whose rewards are compared."""
    max_new_tokens: int = Field(ge=1)
    """Longest answer; one that is cut earns nothing."""
    reward: Reward = Reward()
    """What an answer earns."""
    binary: bool = False
    """1 for an answer that earns the whole reward, else 0."""
    beta: float = Field(default=0.0, ge=0)
    """Weight of the KL term against the model that training started from."""
    iterations: int = Field(default=1, ge=1)
    """Optimizer steps on the same answers."""
    equal_groups: float = Field(default=0.5, ge=0, le=1)
    """Warn when more than this share of the groups have equal rewards: they teach nothing."""

    def conflicts_with(self, train: Train) -> Iterator[tuple[str, str]]:
        yield from super().conflicts_with(train)
        batch = train.global_batch
        if batch % self.group:
            whole = lcm(self.group, train.micro_batch)
            near = sorted({max(1, batch // whole) * whole, -(-batch // whole) * whole})
            yield (
                "train.global_batch",
                f"counts completions: grpo.group: {self.group} does not divide {batch}; the "
                f"nearest that it and train.micro_batch divide: {' or '.join(map(str, near))}",
            )
        if train.save_every % self.iterations:
            yield (
                "train.save_every",
                f"is no multiple of grpo.iterations: {self.iterations}; a resumed training would "
                "draw other answers",
            )
