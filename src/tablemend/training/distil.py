"""On-policy self-distillation, phase by phase; ``train/distil.py`` tells them in order.

The student draws an answer to what it is shown, and is pulled at every token of it to what the same
model, frozen or a moving average, says of that token after the view with nothing beside what is
asked for (Shenfeld et al., 2026, "Self-Distillation Enables Continual Learning", section 3). Gold
is read for the log's rate of hallucinated answers alone.
"""

from __future__ import annotations

import os
import warnings
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from datasets import Dataset
from torch import Tensor
from transformers import PreTrainedTokenizerBase as Tokenizer
from trl.experimental.sdft import SDFTConfig, SDFTTrainer
from trl.experimental.sdft.loss_utils import (
    compute_full_logit_self_distillation_loss,
    compute_topk_self_distillation_loss,
)

from tablemend.errors import TablemendError
from tablemend.recipe.experiment import DistilCommand, DistilExperiment
from tablemend.runs import Run, say
from tablemend.training import launch
from tablemend.training.adapters import PROMPTS
from tablemend.training.data import check_drawing_template, read_validation
from tablemend.training.grpo import RolloutMixin, RolloutPrompt, ask, drawing_options
from tablemend.training.models import make_config, trainer_parts
from tablemend.training.stage import Method, PreparedData, checkpoints_of
from tablemend.training.trainer import TrainerMixin

KL = "self_distillation/distillation_loss"
"""TRL's: mean divergence of the tokens, in nats; here before any is clipped."""
LENGTH = "completions/mean_length"
TRIED = 64
"""Prompts that a start answers before it is taken for a teacher."""
EMA = "teacher.pt"
"""File of a checkpoint with the weights of a moving teacher; TRL (1.16) keeps none."""


def prepare(config: DistilExperiment, run: Run, tokenizer: Tokenizer) -> PreparedData:
    """Read and render the prompts of both views.

    Raises:
        TablemendError: no data, shared tables, or ids that are not those of the evaluation.
    """
    check_drawing_template(tokenizer, config.thinking != "off")
    say(f"reading {config.data.train.source}")
    samples = config.task_of().samples(config.data.train)
    read_validation(config, samples)  # refuses shared tables
    say(f"tokenising the prompts of {len(samples):,} examples")
    asked, facts = ask(tokenizer, config, samples, Counter())
    return PreparedData(asked, None, [one.ids for one in asked[:PROMPTS]], facts)


def distil_arguments(config: DistilExperiment, folder: str) -> SDFTConfig:
    """The recipe as the arguments of TRL's trainer.

    Raises:
        TablemendError: the batch does not divide over the devices, or TRL refuses a value.
    """
    options = {"disable_dropout": False} | drawing_options(config, folder)
    if config.train.lora is None and config.model.revision is not None:
        # TRL loads the teacher by the model's name alone
        options["model_init_kwargs"] = {"revision": config.model.revision}
    options |= {
        "teacher_model_kind": config.distil.teacher,
        "teacher_prompt_template": "{prompt} {privileged_context}",  # see Trainer
        "distillation_alpha": config.distil.beta,
        "distillation_mode": "full_logits",
    }
    return make_config(SDFTConfig, options)


def build_trainer(
    config: DistilExperiment, run: Run, tokenizer: Tokenizer, prepared: PreparedData
) -> Trainer:
    """Load student and teacher and put them and the prompts into a Trainer."""
    arguments = distil_arguments(config, str(checkpoints_of(run, config.stage)))
    parts = trainer_parts(config, tokenizer, arguments)
    return Trainer(config=config, asked=prepared.train, **parts)


class Trainer(TrainerMixin, RolloutMixin, SDFTTrainer):  # type: ignore[misc]
    """SDFTTrainer on rendered prompts, known by number; the teacher's have a word behind it."""

    warned = False

    def __init__(
        self, *, config: DistilExperiment, asked: Sequence[RolloutPrompt], **options: Any
    ) -> None:
        self.distil = config.distil
        names = [str(number) for number in range(len(asked))]
        columns = {"prompt": names, "privileged_context": ["teacher"] * len(names)}
        super().__init__(
            config=config, asked=asked, train_dataset=Dataset.from_dict(columns), **options
        )

    def _tokenize_prompts(self, prompts: list[str]) -> list[list[int]]:
        found = [(self.asked[int(prompt.split()[0])], " " in prompt) for prompt in prompts]
        return [list(one.teacher if for_teacher else one.ids) for one, for_teacher in found]

    def _generate_transformers(
        self, prompt_ids: list[list[int]]
    ) -> tuple[list[list[int]], list[list[int]]]:
        return prompt_ids, self.draw(prompt_ids, self.max_completion_length)

    def _prepare_training_batch(self, inputs: list[dict[str, Any]]) -> dict[str, Any]:
        batch: dict[str, Any] = super()._prepare_training_batch(inputs)
        tokens = batch["prompt_mask"].sum() + batch["completion_mask"].sum()
        self.state.num_input_tokens_seen += int(self.accelerator.gather(tokens).sum())
        asked = [self.asked[int(one["prompt"])] for one in inputs]
        texts = list(map(self.text_of, self._get_completion_ids_list(batch)))
        self._note("hallucinated", torch.tensor(self.hallucinated(texts, asked)))
        return batch

    def _compute_self_distillation_loss(self, model: Any, inputs: Any, found: Any) -> Tensor:
        logits = found.student_logits.float(), found.teacher_logits.float()
        beta, most, mask = self.distil.beta, self.distil.clip, found.loss_mask
        if self.distil.top is None:
            losses = compute_full_logit_self_distillation_loss(*logits, distillation_alpha=beta)
        else:
            losses = compute_topk_self_distillation_loss(
                *logits,
                distillation_topk=self.distil.top,
                distillation_alpha=beta,
                distillation_add_tail=True,
            )
        count = mask.sum().clamp(min=1)
        self._note(KL, (losses * mask).sum() / count)
        if most is not None:
            self._note("clipped_tokens", ((losses > most) * mask).sum() / count)
            # scaled, not cut off: a token that the teacher never writes has most to teach
            losses = losses * (most / losses.detach().clamp(min=most))
        if self.distil.keep_clean:
            own = self._forward_logits(
                model=model,
                input_ids=inputs["teacher_input_ids"],
                attention_mask=inputs["teacher_attention_mask"],
                logits_to_keep=mask.shape[1],
            )
            drift = compute_full_logit_self_distillation_loss(
                own.float(), logits[1], distillation_alpha=0.0
            )
            self._note("clean_divergence", (drift * mask).sum() / count)
            losses = losses + self.distil.keep_clean * drift
        each: Tensor = (losses * mask).sum(-1) / mask.sum(-1).clamp(min=1)
        return each.mean()

    def refuse_poor_teacher(self) -> None:
        """Refuse a start that hallucinates where it reads what the teacher will.

        Raises:
            TablemendError: with the rate, and how to train all the same.
        """
        most, view = self.distil.most_hallucinated, next(iter(self.task.views))
        if most is None:
            return
        asked = [replace(one, view=view) for one in self.asked[:TRIED]]
        with torch.random.fork_rng():  # what is drawn in training stays the same
            read = [one.teacher for one in asked]
            answers = self.draw(read, self.max_completion_length, greedy=True)
        texts = list(map(self.text_of, answers))
        rate = self.hallucinated(texts, asked)
        if rate > most:
            raise TablemendError(
                f"model.path hallucinates in {rate:.0%} of {len(asked)} answers to {view} contexts "
                f"(those cut at distil.max_new_tokens too), and has nothing to teach: fine-tune it "
                f"first, or set distil.most_hallucinated (now {most:g}) higher or to null"
            )

    def _note(self, name: str, value: Tensor) -> None:
        gathered = self.accelerator.gather(value.detach().to(self.accelerator.device))
        self._metrics["train"][name].append(gathered.mean().item())

    def log(self, logs: dict[str, float], start_time: float | None = None) -> None:
        """Warns once when answers get half or twice as long as the first: a collapse."""
        super().log(logs, start_time)
        lengths = [entry[LENGTH] for entry in self.state.log_history if LENGTH in entry]
        done = self.warned or not self.is_world_process_zero()
        if lengths and not (done or 0.5 <= lengths[-1] / lengths[0] <= 2):
            self.warned = True
            warnings.warn(
                f"answers have {lengths[-1]:.0f} tokens, and had {lengths[0]:.0f} at the start: "
                "the student may be collapsing. Lower train.learning_rate, or set distil.clip",
                stacklevel=2,
            )

    def _save_checkpoint(self, *given: Any) -> None:
        super()._save_checkpoint(*given)
        if self.distil.teacher == "ema" and self.is_world_process_zero():
            folder = Path(self.args.output_dir) / f"checkpoint-{self.state.global_step}"
            torch.save(self.teacher_model.state_dict(), folder / EMA)

    def _load_optimizer_and_scheduler(self, checkpoint: str | None) -> None:
        super()._load_optimizer_and_scheduler(checkpoint)
        if self.distil.teacher == "ema" and checkpoint is not None:
            kept = torch.load(Path(checkpoint) / EMA, map_location="cpu", weights_only=True)
            self.teacher_model.load_state_dict(kept)


def _check(config: DistilExperiment) -> None:
    launch.refuse_engine(config)
    strategy = launch.from_environment(os.environ).strategy
    # under FSDP2 TRL's (1.16) second model scores as one with other weights: 18 nats a token
    broken = ("fsdp2",) if config.distil.teacher == "base" else launch.SHARDED
    if config.train.lora is None and strategy in broken:
        raise TablemendError(
            f"distil.teacher={config.distil.teacher} is a second model where all weights train, "
            f"which {strategy} cannot hold: launch with ddp or zero2, or set train.method=lora"
        )


def _report(facts: Mapping[str, Any]) -> Iterator[str]:
    rate = [entry["hallucinated"] for entry in facts["log"] if "hallucinated" in entry]
    if rate:
        yield f"answers with a finding: {rate[0]:.0%} in the first log, {rate[-1]:.0%} in the last"


def _show(config: DistilCommand, tokenizer: Tokenizer) -> Iterator[str]:
    for one in prepare(config, Run.of(config), tokenizer).train[: config.show]:
        yield f"student, {len(one.ids)} tokens:\n{one.prompt}"
        yield f"teacher, {len(one.teacher)} tokens:\n{tokenizer.decode(list(one.teacher))}"


METHOD = Method(
    prepare, build_trainer, _show, _check, report=_report, start=Trainer.refuse_poor_teacher
)
