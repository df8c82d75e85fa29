"""Training on rewards, phase by phase, and answers that the model which trains draws itself.

``generate`` runs all answers of a step until the last one ends, and copies all keys and values at
every token. :class:`~tablemend.backends.hf.HFModel` does neither: the answers of the tiny model
took an eighth of the time (LAB_LOG.md). Self-distillation draws in the same way (:mod:`.distil`).
"""

from __future__ import annotations

import hashlib
import warnings
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from statistics import fmean
from typing import Any

import torch
from datasets import Dataset
from transformers import PreTrainedTokenizerBase as Tokenizer
from transformers import TrainerCallback, TrainerControl, TrainerState, TrainingArguments
from trl import GRPOConfig, GRPOTrainer

from tablemend.backends.hf import HFModel
from tablemend.backends.requests import Prompt, Sampling
from tablemend.errors import NoTarget, TablemendError
from tablemend.recipe.experiment import DrawingExperiment, GrpoCommand, GrpoExperiment
from tablemend.records import Finding, Judgement
from tablemend.renderer import prompt_text
from tablemend.runs import Run, hash_text, say
from tablemend.tasks.all_tasks import TASKS
from tablemend.tasks.task import Reward, Sample, Score, Submission, Task, TaskOptions
from tablemend.thinking import open_thought, opened_thought
from tablemend.training import launch
from tablemend.training.adapters import PROMPTS
from tablemend.training.architectures import to_fit
from tablemend.training.data import CHECKED, check_drawing_template, check_prompt, read_validation
from tablemend.training.models import make_config, options_of, trainer_parts
from tablemend.training.stage import Method, PreparedData, checkpoints_of
from tablemend.training.trainer import PromptOrder, TrainerMixin, drawing_model

CUT = Judgement((Finding("format_error", None, None, None, None, "cut"),))
EQUAL = "frac_reward_zero_std"
"""TRL's: share of the groups whose answers all earn the same, which teach nothing."""
DIFFERENCE = "sampling/sampling_logp_difference/mean"
"""TRL's: how far vLLM scores its answers from the model that trains, in nats a token."""
WATCHED = (
    "reward",
    EQUAL,
    "hallucinated",
    "completions/mean_length",
    DIFFERENCE,
    "sampling/importance_sampling_ratio/mean",
)


def prepare(config: GrpoExperiment, run: Run, tokenizer: Tokenizer) -> PreparedData:
    """Read and render the prompts, and check that the reward pays for gold.

    Raises:
        TablemendError: no data, shared tables, a gold answer that does not earn the whole reward,
            or ids that are not those of the evaluation.
    """
    check_drawing_template(tokenizer, config.thinking != "off")
    say(f"reading {config.data.train.source}")
    task = config.task_of()
    examples = task.samples(config.data.train)
    say(f"tokenising the prompts of {len(examples):,} examples, and scoring their gold answers")
    read_validation(config, examples)  # refuses shared tables
    asked, facts = ask(tokenizer, config, *_payable(examples, config))
    facts |= {"examples": len(examples), "reward": reward_of(config).name}
    return PreparedData(asked, None, [one.ids for one in asked[:PROMPTS]], facts)


def reward_of(config: GrpoExperiment) -> Reward[Any]:
    """What pays the answers."""
    weights, task = config.grpo.reward.model_dump(exclude={"trace"}), config.task_of()
    reward: Reward[Any] = task.reward(weights, config.thinking, config.train.prompt)
    trace = config.grpo.reward.trace
    reward = TraceReward(task, reward, trace) if trace else reward
    return BinaryReward(reward) if config.grpo.binary else reward


class TraceReward:
    """A reward that wrong references in the thought lower; a part ``trace`` where it cites any.

    Right ones alone earn nothing: a policy would quote the table and answer nothing.
    """

    def __init__(self, task: Task[Any], reward: Reward[Any], weight: float) -> None:
        self.name, self.gold = f"{reward.name}, trace {weight:g}", reward.gold
        self._task, self._reward, self._weight = task, reward, weight

    def score(self, sample: Any, view: str, text: str) -> Score:
        """What an answer earns."""
        score = self._reward.score(sample, view, text)
        trace = self._task.trace_errors(sample, view, text)
        if trace is None or not trace.cited:
            return score
        right = 1 - len(trace.findings) / trace.cited
        lost = self._weight * (1 - right) / (1 + self._weight)
        return Score({**score.parts, "trace": right}, score.reward * (1 - lost))


class BinaryReward:
    """1 for what earns the whole of a reward, else 0; the parts are as they were."""

    def __init__(self, reward: Reward[Any]) -> None:
        self.name, self._reward, self.gold = f"{reward.name}, binary", reward, reward.gold

    def score(self, sample: Sample, view: str, text: str) -> Score:
        """What an answer earns."""
        found = self._reward.score(sample, view, text)
        return Score(found.parts, float(found.reward == 1.0))


def _payable(
    samples: Iterable[Sample], config: GrpoExperiment
) -> tuple[list[Sample], Counter[str]]:
    """The samples that have an answer to be paid for; the others are counted.

    Raises:
        TablemendError: naming the first sample whose gold answer does not earn exactly 1, and its
            parts: the reward would teach something else.
    """
    reward = reward_of(config)
    kept: list[Sample] = []
    dropped: Counter[str] = Counter()
    wrong: list[str] = []
    for sample in samples:
        try:
            scores = [reward.score(sample, at, reward.gold(sample, at)) for at in config.shown]
        except NoTarget as reason:
            dropped[f"{reason.kind}: {reason}"] += 1
            continue
        except TablemendError as error:
            wrong.append(f"example {sample.id}: {error}")
            continue
        kept.append(sample)
        for score in scores:
            if score.reward != 1.0:
                lost = {name: round(part, 3) for name, part in score.parts.items() if part != 1.0}
                wrong.append(f"example {sample.id} earns {score.reward:.3f}, of {lost}")
    if wrong:
        raise TablemendError(
            f"the gold answers of {len(wrong)} examples do not earn the whole reward, so it would "
            f"teach something else; first: {wrong[0]}. Mend or drop these examples"
        )
    return kept, dropped


def show(asked: RolloutPrompt, config: GrpoExperiment) -> str:
    """A prompt, its gold answer, and what that earns."""
    reward = reward_of(config)
    gold = reward.gold(asked.sample, asked.view)
    score = reward.score(asked.sample, asked.view, gold)
    parts = ", ".join(f"{name} {part:g}" for name, part in score.parts.items())
    return f"{asked.prompt}{gold}\n{len(asked.ids)} tokens; reward {score.reward:g}: {parts}"


def grpo_arguments(config: GrpoExperiment, folder: str) -> GRPOConfig:
    """The recipe as the arguments of TRL's trainer.

    Raises:
        TablemendError: the batch does not divide over the devices, or TRL refuses a value.
    """
    options = drawing_options(config, folder)
    options |= {"beta": config.grpo.beta, "num_iterations": config.grpo.iterations}
    if config.grpo.beta and config.train.lora is None:
        # TRL loads the reference by the model's name alone
        options["model_init_kwargs"] = {"revision": config.model.revision}
    return make_config(GRPOConfig, options)


def build_trainer(
    config: GrpoExperiment, run: Run, tokenizer: Tokenizer, prepared: PreparedData
) -> Trainer:
    """Load the model and put it, the prompts and the reward into a Trainer."""
    arguments = grpo_arguments(config, str(checkpoints_of(run, config.stage)))
    trainer = Trainer(
        config=config,
        asked=prepared.train,
        reward=reward_of(config),
        **trainer_parts(config, tokenizer, arguments),
    )
    trainer.add_callback(Watch(config.grpo.equal_groups))
    return trainer


@dataclass(frozen=True, slots=True)
class RolloutPrompt:
    """One prompt: a sample as it is shown; where there is a teacher, the ids that it reads."""

    sample: Sample
    view: str
    prompt: str
    ids: tuple[int, ...]
    teacher: tuple[int, ...] = ()


def ask(
    tokenizer: Tokenizer,
    config: DrawingExperiment,
    samples: Iterable[Sample],
    dropped: Counter[str],
) -> tuple[list[RolloutPrompt], dict[str, Any]]:
    """Render the prompts; those that leave no room for an answer are dropped and counted.

    Returns:
        The prompts, and what the manifest says of them.

    Raises:
        TablemendError: fewer prompts than one step takes.
    """
    task = config.task_of()
    room = config.longest_row - config.drawing.max_new_tokens
    asked: list[RolloutPrompt] = []
    shortest = 0
    for sample, view in product(samples, config.shown):
        texts, ids = [], []
        # a teacher reads the task's first view
        for seen in (view, *task.views)[: 1 if config.distil is None else 2]:
            chat = task.messages(sample, seen, config.train.prompt)
            texts.append(prompt_text(tokenizer, chat, config.thinking != "off"))
            ids.append(tuple(tokenizer.encode(texts[-1], add_special_tokens=False)))
        length = max(map(len, ids))
        shortest = min(shortest or length, length)
        if length > room:
            dropped[f"prompt longer than {room} tokens"] += 1
        else:
            asked.append(RolloutPrompt(sample, view, texts[0], *ids))
    needed = config.train.global_batch // config.group
    if not asked and shortest:
        most = config.drawing.max_new_tokens
        raise TablemendError(
            f"no prompt of data.train leaves room for an answer, the shortest has {shortest} "
            f"tokens: lower {config.kind}.max_new_tokens={most}, or "
            f"{to_fit(config.model, shortest + most)}"
        )
    if len(asked) < needed:
        raise TablemendError(
            f"data.train gives {len(asked)} prompts, one step takes {needed} (train.global_batch"
            f"{' / grpo.group' if config.group > 1 else ''}): give more examples, or lower "
            "train.global_batch"
        )
    digest = hashlib.sha256()
    for number, one in enumerate(asked):
        if number < CHECKED:
            check_prompt(tokenizer, one.sample, one.view, one.ids, config)
        digest.update(f"{one.sample.id}{one.view}{one.ids}{one.teacher or ''}".encode())
    facts = {
        "rows": len(asked),
        "dropped": dict(dropped),
        "rows_hash": digest.hexdigest()[:16],
        "template_hash": hash_text(str(tokenizer.chat_template)),
        **task.versions(),
    }
    return asked, facts


def draw(model: HFModel, prompts: Sequence[Sequence[int]], sampling: Sampling) -> list[list[int]]:
    """One answer for each prompt, in its order, with the token that ends it.

    Each answer's stream is seeded from torch's generator: a resumed training draws the same.

    Args:
        model: the model as it is now; dropout is off while it draws.
        prompts: ids of each.
        sampling: temperature, and the most tokens of an answer.
    """
    seeds = torch.randint(2**62, (len(prompts),)).tolist()
    asked = [
        Prompt(str(number), tuple(ids), seed)
        for number, (ids, seed) in enumerate(zip(prompts, seeds, strict=True))
    ]
    training = model.model.training
    model.model.eval()
    try:
        # layers compiled for training (train.compile) would be compiled again for every cache
        with torch.compiler.set_stance("force_eager"):
            answers = {
                answer.prompt.id: list(answer.ids)
                for answer in model.draw(asked, sampling, batch_size=len(asked))
            }
    finally:
        model.model.train(training)
    return [answers[prompt.id] for prompt in asked]


def drawing_options(config: DrawingExperiment, folder: str) -> dict[str, Any]:
    """What every trainer that draws answers is told beside :func:`.models.options_of`."""
    drawing = config.drawing
    options = options_of(config, folder, validate=False)
    if drawing.engine != "transformers":
        options.setdefault("vllm_max_model_length", config.longest_row)
    return options | {
        "include_num_input_tokens_seen": "no",  # TRL, or our trainer, counts prompts and answers
        "remove_unused_columns": False,
        "num_generations": config.group,
        "max_completion_length": drawing.max_new_tokens,
        "temperature": drawing.temperature,
        "use_vllm": drawing.engine != "transformers",
        "vllm_mode": "server" if drawing.engine == "vllm-server" else "colocate",
        "vllm_server_base_url": drawing.server,
    }


class RolloutMixin:
    """What every trainer does alike that draws answers, put before TRL's class."""

    accelerator: Any
    processing_class: Any
    eos_token_ids: Sequence[int]

    def __init__(
        self, *, config: DrawingExperiment, asked: Sequence[RolloutPrompt], **options: Any
    ) -> None:
        self.asked = asked
        self.opened = opened_thought(options["processing_class"], asked[0].ids)
        self.drawing = config.drawing
        self.section = config.kind
        # scored by program at every step
        self.task = TASKS[config.task](TaskOptions(config.format))
        super().__init__(**options)
        if config.drawing.engine != "transformers":
            # vLLM would end answers where the files of the checkpoint say; here as in training
            ends = {"stop_token_ids": list(self.eos_token_ids), "ignore_eos": True}
            vllm = self.vllm_generation  # type: ignore[attr-defined]
            vllm.generation_kwargs = {**vllm.generation_kwargs, **ends}

    def _get_train_sampler(self, *_: Any) -> PromptOrder:
        sampler: PromptOrder = super()._get_train_sampler()  # type: ignore[misc]
        sampler.__class__ = PromptOrder  # TRL's, but for what a pass begins with
        return sampler

    def draw(
        self, prompt_ids: Sequence[Sequence[int]], most: int, greedy: bool = False
    ) -> list[list[int]]:
        """The ids of an answer of at most so many tokens to each prompt, by transformers.

        Raises:
            TablemendError: the device is out of memory.
        """
        sampling = Sampling(most, 0.0 if greedy else self.drawing.temperature)
        # autocast in every call of the model would cast its weights anew for each token
        with drawing_model(self) as model, self.accelerator.autocast():
            own = HFModel(model, self.processing_class, frozenset(self.eos_token_ids))
            try:
                return draw(own, prompt_ids, sampling)
            except torch.OutOfMemoryError as error:
                raise TablemendError(
                    f"the device is out of memory with {len(prompt_ids)} answers drawn at once: "
                    f"lower train.global_batch or {self.section}.max_new_tokens={most}, launch "
                    f"more processes, or set {self.section}.engine=vllm-colocate"
                ) from error

    def text_of(self, ids: Sequence[int]) -> str | None:
        """The answer as evaluation reads it; ``None`` where it was cut, or is a thought alone."""
        if not ids or ids[-1] not in self.eos_token_ids:
            return None
        text = str(self.processing_class.decode(list(ids[:-1]), skip_special_tokens=False))
        text = f"{self.opened}{text}"
        return None if self.opened and open_thought(text) >= 0 else text

    def hallucinated(self, texts: Sequence[str | None], asked: Sequence[RolloutPrompt]) -> float:
        """Answers with a finding, of those scored; one that was cut (``None``) has one."""
        whole = [
            Submission(one.sample, one.view, text)
            for text, one in zip(texts, asked, strict=True)
            if text is not None
        ]
        with self.task.scorer() as scorer:
            judged = [*scorer.score(whole), *[CUT] * (len(texts) - len(whole))]
        scored = [one.hallucinated for one in judged if not one.unscored]
        return sum(scored) / max(1, len(scored))


class Trainer(TrainerMixin, RolloutMixin, GRPOTrainer):  # type: ignore[misc]
    """GRPOTrainer on prompts that are rendered already, with one decomposed reward.

    Differs from its parent in the ids of the prompts, which are the renderer's, and in what is
    logged of the rewards.
    """

    def __init__(
        self, *, asked: Sequence[RolloutPrompt], reward: Reward[Any], **options: Any
    ) -> None:
        self.reward = reward
        columns = {"prompt": [one.prompt for one in asked], "number": list(range(len(asked)))}
        self._ids = {one.prompt: list(one.ids) for one in asked}
        super().__init__(
            asked=asked,
            reward_funcs=self.detector,
            train_dataset=Dataset.from_dict(columns),
            **options,
        )

    def _tokenize_prompts(self, prompts: list[str]) -> tuple[list[list[int]], None, dict[str, Any]]:
        """The renderer's ids: TRL would add a second BOS to a prompt that is text."""
        return [self._ids[prompt] for prompt in prompts], None, {}

    def _generate_single_turn(
        self, prompt_ids: list[list[int]], *others: Any
    ) -> tuple[list[list[int]], Any]:
        """The ids of an answer to each prompt, and vLLM's log-probabilities of them."""
        if self.use_vllm:
            answers: tuple[list[list[int]], Any] = super()._generate_single_turn(
                prompt_ids, *others
            )
            return answers
        return self.draw(prompt_ids, self.max_completion_length), None

    def detector(
        self,
        *,
        completion_ids: Sequence[Sequence[int]],
        number: Sequence[int],
        log_metric: Callable[[str, float], None],
        **_: Any,
    ) -> list[float]:
        """The rewards of some answers, and their parts into the log.

        Raises:
            TablemendError: an answer that could not be scored; that is no reward of 0.
        """
        asked = [self.asked[each] for each in number]
        texts = list(map(self.text_of, completion_ids))
        scores = [self._score(text, one) for text, one in zip(texts, asked, strict=True)]
        parts = defaultdict(list)
        for score in scores:
            for name, part in score.parts.items():
                parts[name].append(part)
        for name, found in parts.items():
            log_metric(f"parts/{name}", fmean(found))
        log_metric("hallucinated", self.hallucinated(texts, asked))
        return [score.reward for score in scores]

    def _score(self, text: str | None, asked: RolloutPrompt) -> Score:
        try:
            return self.reward.score(asked.sample, asked.view, text or "")
        except Exception as error:  # whatever it is, it must not become a number
            raise TablemendError(
                f"the reward failed on an answer to example {asked.sample.id} "
                f"({type(error).__name__}: {error}): training stops, as no reward would be true"
            ) from error


class Watch(TrainerCallback):  # type: ignore[misc]
    """Warns once when too many groups teach nothing; stops where vLLM lacks the weights.

    Measured (docs/training.md): between vLLM and the model that trains, rounding differs by 0.0006
    to 0.0043 nats a token in bfloat16; a server that never gets the weights is off by 0.16 after
    two steps and by 0.48 after three.

    Args:
        limit: share of groups with equal rewards.
    """

    def __init__(self, limit: float) -> None:
        self.limit = limit
        self.warned = False
        self.first: float | None = None
        self.before = 0.0

    def on_log(
        self,
        args: TrainingArguments,
        state: TrainerState,
        control: TrainerControl,
        logs: Mapping[str, float] | None = None,
        **_: Any,
    ) -> None:
        """Look at a step's numbers.

        Raises:
            TablemendError: the difference between the engines and the one before are ten times
                the first, which counts as 0.005 at the least and as 0.02 at the most.
        """
        found = logs or {}
        if DIFFERENCE in found:
            self._check_difference(found[DIFFERENCE])
        share = found.get(EQUAL, 0.0)
        if share <= self.limit or self.warned or not state.is_world_process_zero:
            return
        self.warned = True
        warnings.warn(
            f"step {state.global_step}: all answers earn the same in {share:.0%} of the groups, "
            f"above grpo.equal_groups={self.limit:g}: these teach nothing. The mean reward is "
            f"{found['reward']:.2f}: where it is high take harder examples, else a better start; a "
            "larger grpo.group or a higher grpo.temperature helps both",
            stacklevel=2,
        )

    def _check_difference(self, difference: float) -> None:
        if self.first is None:
            self.first = difference
        most = 10 * min(max(self.first, 0.005), 0.02)
        if not (difference <= most or self.before <= most):
            raise TablemendError(
                f"vLLM scores its answers by {difference:.3f} nats a token otherwise than the "
                f"model that trains ({self.first:.4f} at first): it does not get the new weights, "
                "and its answers are another model's. Set grpo.engine=transformers, or "
                "start vLLM's server anew where there is one (docs/training.md)"
            )
        self.before = difference


def summary(log: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """What the manifest says of the rewards: the mean over all steps, and the last entry."""
    steps = [entry for entry in log if EQUAL in entry]
    if not steps:  # continued after its last step
        return {}
    names = [name for name in steps[-1] if name in WATCHED or name.startswith("parts/")]
    names.append("completions/clipped_ratio")
    return {
        "mean": {
            name: round(fmean(entry[name] for entry in steps if name in entry), 6) for name in names
        },
        "last": {name: steps[-1][name] for name in names},
    }


def _report(facts: Mapping[str, Any]) -> Iterator[str]:
    if rewards := facts["rewards"]:
        mean, last = rewards["mean"], rewards["last"]
        yield (
            f"mean reward {mean['reward']:.3f}, last {last['reward']:.3f}, "
            f"{mean[EQUAL]:.0%} of the groups equal"
        )


def _show(config: GrpoCommand, tokenizer: Tokenizer) -> Iterator[str]:
    for one in prepare(config, Run.of(config), tokenizer).train[: config.show]:
        yield show(one, config)


METHOD = Method(
    prepare,
    build_trainer,
    _show,
    check=lambda config: launch.refuse_engine(config),
    summarise=lambda facts: {"rewards": summary(facts["log"])},
    report=_report,
)
