"""The comparison: every arm answers the same examples, and one detector judges all of them."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from tqdm import tqdm

from tablemend.backends.checkpoints import Checkpoint
from tablemend.backends.requests import Completion, Prompt, Sampling, check_window, stream_seed
from tablemend.config import Experiment, Section, Thinking
from tablemend.detector.judge import DETECTOR_VERSION, Submission, judge_answers
from tablemend.detector.order import SortRule
from tablemend.detector.similarity import Similarity
from tablemend.errors import TablemendError
from tablemend.generations import Generations, Stored, settings_hash, write_out
from tablemend.records import Answer, ContextKind, Example, Judgement
from tablemend.renderer import prompt_ids
from tablemend.reports.results import Judgements, cost, tabulate
from tablemend.runs import RUNS, Run, hash_text, write_json, write_jsonl
from tablemend.tasks import tablehallu
from tablemend.tasks.sources import read_examples
from tablemend.tasks.tablehallu import Strategy

STORE_AT_ONCE = 16


class CompareCommand(Experiment):
    """What eval/compare.py takes beside the recipe."""

    rejudge: bool = False
    """Judge the stored answers again; generate nothing and load no model."""


class ReportCommand(Section):
    """What eval/report.py takes."""

    run: str
    """Run folder: a name below runs/, or a path where it contains a slash."""


def run_folder(command: ReportCommand) -> Path:
    """The folder that a command names."""
    return Path(command.run) if "/" in command.run else RUNS / command.run


@dataclass(frozen=True, slots=True)
class Arm:
    """One way of answering, ready to run.

    Attributes:
        name: as in the recipe.
        checkpoint: the model.
        prompt: the instruction.
        thinking: whether the prompt leaves room for thinking.
        settings: everything that an answer depends on beside the example.
    """

    name: str
    checkpoint: Checkpoint
    prompt: Strategy
    thinking: Thinking
    settings: dict[str, Any]

    @property
    def settings_key(self) -> str:
        """Hash of the settings: stored answers are found by it."""
        return settings_hash(self.settings)


@dataclass(frozen=True, slots=True)
class Judged:
    """One stored answer and its judgement."""

    stored: Stored
    judgement: Judgement


JudgedArms = Mapping[str, Mapping[ContextKind, Mapping[str, Judged]]]
"""arm -> context -> example id -> answer and judgement; arms in the recipe's order."""


def read_test(config: Experiment) -> list[Example]:
    """The examples that every arm answers.

    Raises:
        TablemendError: fewer than ``evaluation.n``; see also :func:`read_examples`.
    """
    examples, n = read_examples(config.data.test), config.evaluation.n
    if n is not None and len(examples) < n:
        raise TablemendError(
            f"data.test ({config.data.test.source}) gives {len(examples)} examples, evaluation.n "
            f"asks for {n}: lower evaluation.n, or raise data.test.n"
        )
    return examples[:n]


def plan_arms(config: Experiment, run: Run) -> list[Arm]:
    """Find every arm's checkpoint, before anything is generated.

    Raises:
        TablemendError: a checkpoint that is not there, with the command that makes it.
    """
    arms = []
    fingerprints: dict[Checkpoint, str] = {}
    for name, arm in config.evaluation.arms.items():
        checkpoint = _find_checkpoint(name, arm.model, config, run)
        if checkpoint not in fingerprints:
            fingerprints[checkpoint] = checkpoint.fingerprint()
        settings = {
            "model": checkpoint.path,
            "fingerprint": fingerprints[checkpoint],
            "prompts": tablehallu.prompt_hash(),
            **_asked(config, name),
        }
        arms.append(Arm(name, checkpoint, arm.prompt, config.thinking_of(arm), settings))
    return arms


def _asked(config: Experiment, name: str) -> dict[str, Any]:
    """What the recipe alone says of how an arm answers."""
    arm = config.evaluation.arms[name]
    return {
        "dtype": config.model.dtype,
        "attn": config.model.attn,
        "prompt": arm.prompt,
        "thinking": config.thinking_of(arm),
        "format": config.format,
        "backend": "transformers",
        **asdict(_sampling(config)),
        "seed": _seed(config),
    }


def _find_checkpoint(name: str, model: str, config: Experiment, run: Run) -> Checkpoint:
    if model == "sft":
        checkpoint = Checkpoint(str(run.model))
        where = f" run={config.run}" if config.run else ""
        hint = f"train it first: accelerate launch train/sft.py recipe={config.name}{where}"
    elif model == "base":
        checkpoint = Checkpoint.parse(config.model.path, config.model.revision)
        hint = "model.path names the base of every arm"
    else:
        checkpoint = Checkpoint.parse(model)
        hint = f"evaluation.arms.{name}.model is base, sft, a folder or a name on the Hub"
    try:
        checkpoint.check()
    except TablemendError as error:
        raise TablemendError(f"arm {name}: {error}; {hint}") from error
    return checkpoint


def _sampling(config: Experiment) -> Sampling:
    return Sampling(config.evaluation.max_new_tokens, config.evaluation.temperature)


def _seed(config: Experiment) -> int:
    """The seed of the sampling; greedy answers depend on none."""
    return config.evaluation.seed if config.evaluation.temperature else 0


def generate(
    arms: Sequence[Arm], examples: Sequence[Example], config: Experiment, run: Run
) -> None:
    """Answer what is not stored yet, arm by arm; every model is loaded once.

    Raises:
        TablemendError: a prompt that does not fit into its model's window, before any model is
            loaded.
    """
    from transformers.utils import logging

    from tablemend.backends import hf  # torch

    logging.disable_progress_bar()  # ours counts answers
    generations = Generations(run.path / "generations")
    parts = _missing_parts(arms, examples, config, generations)
    for checkpoint, own in parts.items():
        tokenizer = hf.load_tokenizer(checkpoint)
        window = hf.read_window(checkpoint, config.model.context_length)
        for part in own:
            prompts = part.prompts(tokenizer, config)
            check_window(prompts, config.evaluation.max_new_tokens, window)
    total = sum(len(part.examples) for own in parts.values() for part in own)
    with tqdm(total=total, unit="answer", disable=total == 0, file=sys.stderr) as progress:
        for checkpoint, own in parts.items():
            model = hf.load_model(
                checkpoint,
                dtype=config.model.dtype,
                context_length=config.model.context_length,
                attn=config.model.attn,
            )
            for part in own:
                progress.set_description(f"{part.arm.name}, {part.context}")
                prompts = part.prompts(model.tokenizer, config)
                completions = model.generate(
                    prompts, _sampling(config), config.evaluation.options.batch_size
                )
                stream = part.stored(completions)
                for _ in write_out(generations, part.arm.settings_key, stream, STORE_AT_ONCE):
                    progress.update()


@dataclass(frozen=True, slots=True)
class _Part:
    """What one arm has not answered yet on one context."""

    arm: Arm
    context: ContextKind
    examples: list[Example]

    def prompts(self, tokenizer: Any, config: Experiment) -> list[Prompt]:
        """The prompts, through the renderer that training uses."""
        prompts = []
        for example in self.examples:
            name = f"{self.arm.name}.{self.context}.{example.id}"
            chat = tablehallu.messages(example, self.context, self.arm.prompt, config.format)
            ids = prompt_ids(tokenizer, chat, self.arm.thinking != "off")
            prompts.append(Prompt(name, tuple(ids), stream_seed(_seed(config), name)))
        return prompts

    def stored(self, completions: Iterator[Completion]) -> Iterator[Stored]:
        """Completions as answers, timed."""
        before = time.perf_counter()
        for completion in completions:
            now = time.perf_counter()
            yield Stored(
                Answer(
                    example_id=completion.id.rpartition(".")[2],
                    arm=self.arm.name,
                    context=self.context,
                    text=completion.text,
                    prompt_tokens=completion.prompt_tokens,
                    completion_tokens=completion.completion_tokens,
                    finish_reason=completion.finish_reason,
                ),
                now - before,
            )
            before = now


def _missing_parts(
    arms: Sequence[Arm],
    examples: Sequence[Example],
    config: Experiment,
    generations: Generations,
) -> dict[Checkpoint, list[_Part]]:
    parts: dict[Checkpoint, list[_Part]] = {}
    for arm in arms:
        for context in config.evaluation.contexts:
            if note := generations.take_up(arm.name, context, arm.settings):
                print(note, file=sys.stderr)
            answered = generations.read(arm.name, context)
            missing = [example for example in examples if example.id not in answered]
            if missing:
                parts.setdefault(arm.checkpoint, []).append(_Part(arm, context, missing))
    return parts


def judge(
    examples: Sequence[Example], config: Experiment, run: Run, similarity: Similarity
) -> JudgedArms:
    """Judge the stored answers of every arm.

    Raises:
        TablemendError: an answer that is not stored or was made otherwise than the recipe
            says.
    """
    generations = Generations(run.path / "generations")
    return {
        arm: {
            context: _judge_part(generations, arm, context, examples, config, similarity)
            for context in config.evaluation.contexts
        }
        for arm in config.evaluation.arms
    }


def _judge_part(
    generations: Generations,
    arm: str,
    context: ContextKind,
    examples: Sequence[Example],
    config: Experiment,
    similarity: Similarity,
) -> dict[str, Judged]:
    stored = generations.read(arm, context)
    missing = sum(example.id not in stored for example in examples)
    if missing:
        raise TablemendError(
            f"{generations.path(arm, context)}: {missing} of {len(examples)} answers are "
            "missing: run the command without rejudge=true"
        )
    _refuse_other_settings(generations, arm, context, config)
    submissions = (
        Submission(
            stored[example.id].answer.text,
            example.gold_table,
            example.context(context),
            SortRule.of(example.constraints),
            config.format,
            stored[example.id].answer.error,
        )
        for example in examples
    )
    judgements = judge_answers(submissions, similarity)
    return {
        example.id: Judged(stored[example.id], judgement)
        for example, judgement in zip(examples, judgements, strict=True)
    }


def _refuse_other_settings(
    generations: Generations, arm: str, context: ContextKind, config: Experiment
) -> None:
    """Answers asked for in JSON must not be judged as Markdown, nor a cot arm's as base's."""
    made = _stored_settings(generations, arm, context)
    changes = [
        f"{name} was {made.get(name)!r}, is {value!r}"
        for name, value in _asked(config, arm).items()
        if made.get(name) != value
    ]
    if changes:
        raise TablemendError(
            f"{generations.path(arm, context)} was generated with other settings "
            f"({'; '.join(changes)}): give those again, or run without rejudge=true"
        )


def write_results(
    judged: JudgedArms, examples: Sequence[Example], config: Experiment, run: Run
) -> dict[str, Any]:
    """Write examples.jsonl, judgements.jsonl, then results.json, and note the run's manifest.

    Returns:
        The results.
    """
    generations = Generations(run.path / "generations")
    judgements = {
        arm: {
            context: {example_id: one.judgement for example_id, one in own.items()}
            for context, own in kinds.items()
        }
        for arm, kinds in judged.items()
    }
    results = {
        "run": run.path.name,
        "recipe": config.name,
        "n": len(examples),
        "judge": _judge_name(judgements),
        "detector_version": DETECTOR_VERSION,
        "similarity": config.evaluation.similarity,
        "data": config.data.test.model_dump(mode="json")
        | {"hash": hash_text("\n".join(example.id for example in examples))},
        "seed": config.evaluation.seed,
        "format": config.format,
        "settings": {
            arm: _stored_settings(generations, arm, next(iter(kinds)))
            for arm, kinds in judged.items()
        },
        "cost": {
            arm: {
                context: cost((one.stored.answer, one.stored.seconds) for one in own.values())
                for context, own in kinds.items()
            }
            for arm, kinds in judged.items()
        },
        **tabulate(judgements, examples),
    }
    write_jsonl(run.path / "examples.jsonl", [example.to_json() for example in examples])
    write_jsonl(run.path / "judgements.jsonl", list(_judgement_lines(judgements)))
    write_json(run.path / "results.json", results)
    kept = ("recipe", "n", "judge", "data", "settings", "cost")
    run.record("compare", {name: results[name] for name in kept})
    return results


def _judge_name(judgements: Judgements) -> str:
    names = {
        j.judge for kinds in judgements.values() for own in kinds.values() for j in own.values()
    }
    assert len(names) == 1, names  # one detector judges every arm
    return names.pop()


def _stored_settings(generations: Generations, arm: str, context: ContextKind) -> dict[str, Any]:
    key = generations.settings_key(arm, context)
    assert key is not None  # judged answers are stored answers
    return generations.settings(key)


def _judgement_lines(judgements: Judgements) -> Iterator[dict[str, Any]]:
    for arm, kinds in judgements.items():
        for context, own in kinds.items():
            for example_id, judgement in own.items():
                place = {"example_id": example_id, "arm": arm, "context": context}
                yield place | asdict(judgement)
