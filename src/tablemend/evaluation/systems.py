"""The systems of a comparison, made ready and checked before anything is generated."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import yaml

from tablemend.backends.names import ModelName
from tablemend.backends.requests import Sampling
from tablemend.config import BackendOptions
from tablemend.errors import TablemendError
from tablemend.generations import Generations
from tablemend.mitigations.mitigation import MITIGATIONS, Mitigation
from tablemend.recipe.evaluation import Thinking
from tablemend.recipe.experiment import Comparison
from tablemend.runs import MOVE_AWAY, Run, hash_text
from tablemend.tasks.sources import refuse_engines
from tablemend.tasks.task import Sample, Task

STAGE = "generate"
IN_PROCESS = ("hf", "vllm")
"""Engines that load the weights here; their answers are kept by the comparison alone."""
FIRST_TASK = "table_generation"
"""Answers to it are stored without the task's name, as those of before there were others."""
FIXED = ("data.test", "evaluation.n")
"""What must not change under stored answers; systems may be added."""


@dataclass(frozen=True, slots=True)
class ResolvedSystem:
    """A system of a comparison with everything that the recipe says of it, resolved once.

    Attributes:
        name: as in the recipe.
        base: the model in the recipe's words; of a system that edits answers, the other's.
        model: the model and its engine.
        options: how it is asked.
        prompt: the instruction.
        thinking: whether the prompt leaves room for thinking.
        task: with the table format that is asked for.
        mitigation: what is done beside prompting.
        after: name of the system whose answers this one edits; ``None`` for one that answers.
        sampling: how tokens are chosen.
        seed: of the sampling; greedy answers depend on none.
        settings: what answers depend on by the recipe alone; JSON-serialisable. A server is left
            out of it: servers come and go under the same answers.
    """

    name: str
    base: str
    model: ModelName
    options: BackendOptions
    prompt: str
    thinking: Thinking
    task: Task[Any]
    mitigation: Mitigation | None
    after: str | None
    sampling: Sampling
    seed: int
    settings: dict[str, Any]


def read_test(config: Comparison) -> list[Sample]:
    """The samples that every system answers.

    Raises:
        TablemendError: fewer than ``evaluation.n``, or examples by another version of the engine
            than the training's; see also :meth:`Task.samples`.
    """
    refuse_engines(*config.data.training_sources, config.data.test)
    examples, n = config.task_of().samples(config.data.test), config.evaluation.n
    if n is not None and len(examples) < n:
        raise TablemendError(
            f"data.test ({config.data.test.source}) gives {len(examples)} examples, evaluation.n "
            f"asks for {n}: lower evaluation.n, or raise data.test.n"
        )
    return examples[:n]


def resolve(config: Comparison, run: Run) -> list[ResolvedSystem]:
    """Every system, in the recipe's order; whether its model is there is not looked at."""
    own = config.evaluation
    systems: dict[str, ResolvedSystem] = {}
    for name in sorted(own.systems, key=lambda name: own.systems[name].after is not None):
        recipe = own.systems[name]
        model = model_of(config, name)
        named = f"{model.engine}:{model.model}"
        base = answers_with(config, name)
        if base == config.stage:
            model = replace(model, model=str(run.model))
        options = config.options_of(recipe)
        if model.engine in IN_PROCESS:
            options = options.model_copy(update={"cache": None})
        task, thinking = config.task_of(recipe), config.thinking_of(recipe)
        sampling = Sampling(own.max_new_tokens, own.temperature, own.max_repeats)
        seed = own.seed if own.temperature else 0
        mitigation = MITIGATIONS[recipe.mitigation] if recipe.mitigation else None
        if recipe.after is not None:
            settings = dict(systems[recipe.after].settings)
            if recipe.post_edit is not None and recipe.post_edit.asks_model:
                settings["rewriter"] = named
            settings |= {"after": recipe.after, "mend": recipe.mitigation}
        else:
            optional = {
                "task": config.task if config.task != FIRST_TASK else None,
                "format": task.format,
                "serialisation": config.serialisation_of(recipe),
                **asdict(sampling),
            }
            settings = {"named": named, "prompt": recipe.prompt, "thinking": thinking, "seed": seed}
            settings |= {key: value for key, value in optional.items() if value is not None}
            if recipe.constraint is not None:
                settings |= {"constrain": recipe.mitigation, "grammar": recipe.constraint.version}
        systems[name] = ResolvedSystem(
            name,
            base,
            model,
            options,
            recipe.prompt,
            thinking,
            task,
            mitigation,
            recipe.after,
            sampling,
            seed,
            settings,
        )
    return [systems[name] for name in own.systems]


def model_of(config: Comparison, name: str) -> ModelName:
    """The model of a system as the recipe names it; this run's checkpoint has its stage's."""
    text = answers_with(config, name)
    if text == config.stage:
        return ModelName(config.default_engine, text)
    return ModelName.parse(config.model.path if text == "base" else text, config.default_engine)


def answers_with(config: Comparison, name: str) -> str:
    """The model of a system, in the recipe's words; one that mends has the other system's."""
    system = config.evaluation.systems[name]
    return (system if system.own_model else config.evaluation.answering_system(system)).model


def begin(config: Comparison, run: Run, examples: Sequence[Sample]) -> None:
    """Note the configuration in the run folder; answers to other examples are left alone.

    Raises:
        TablemendError: the run holds answers to other examples, or a training that kept its data
            apart from others.
    """
    _refuse_unchecked(config, run)
    stored = Generations(run.path / "generations").any()
    data = {
        **config.data.test.model_dump(mode="json"),
        "evaluated": len(examples),
        "hash": hash_examples(examples),
    }
    noted = run.recorded(STAGE)
    before = noted.get("data", data)
    if stored and before != data and {**before, "hash": data["hash"]} == data:
        raise TablemendError(
            f"{config.data.test.source} holds other examples than those that {run.path} has "
            "answers to: give run=NAME for a new run"
        )
    run.begin("compare", config, FIXED if stored else (), mend="give run=NAME for a new run")
    run.record(STAGE, {"spent": noted.get("spent", {}), "data": data})


def _refuse_unchecked(config: Comparison, run: Run) -> None:
    """A training keeps its tables apart from one test set: it may have seen those of another."""
    path = run.path / f"{config.stage}.yaml"
    if config.stage is None or not path.is_file():
        return
    asked = config.data.test.model_dump(mode="json")
    try:
        changes = other_test(yaml.safe_load(path.read_text("utf-8"))["data"]["test"], asked)
    except (yaml.YAMLError, ValueError, LookupError, TypeError) as error:
        raise TablemendError(f"{path} cannot be read: {MOVE_AWAY}") from error
    if changes:
        raise TablemendError(
            f"the training in {run.path} kept its tables apart from another test set: "
            f"{'; '.join(changes)}: give that one, or run=NAME and the folder {run.model} as an "
            "system's model"
        )


def other_test(kept: Mapping[str, Any], asked: Mapping[str, Any]) -> list[str]:
    """How a test set differs from the one that a training kept apart; fewer examples do not."""
    fewer = asked["n"] is not None and (kept["n"] is None or asked["n"] <= kept["n"])
    return [
        f"data.test.{name} was {value!r}, is {asked.get(name)!r}"
        for name, value in kept.items()
        if asked.get(name) != value and not (name == "n" and fewer)
    ]


def hash_examples(examples: Sequence[Sample]) -> str:
    """A hash of what is asked of every system."""
    return hash_text("\n".join(example.id for example in examples))
