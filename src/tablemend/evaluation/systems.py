"""The systems of a comparison: resolved once, and checked before anything is generated."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from importlib.util import find_spec
from typing import Any

import yaml

from tablemend.backends.checkpoints import Checkpoint
from tablemend.backends.engine import require_vllm
from tablemend.backends.names import EngineKind, ModelName, key_of
from tablemend.backends.requests import Sampling
from tablemend.config import HUB, BackendOptions
from tablemend.errors import TablemendError, not_installed
from tablemend.generations import Generations
from tablemend.mitigations.mitigation import MITIGATIONS, Constraint, Mitigation, PostEdit
from tablemend.recipe.evaluation import SystemConfig, Thinking
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
        base, model = model_of(config, recipe)
        named = f"{model.engine}:{model.model}"
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


def model_of(config: Comparison, system: SystemConfig) -> tuple[str, ModelName]:
    """The model of a system in the recipe's words (of one that edits, the other's), and parsed."""
    text = (system if system.own_model else config.evaluation.answering_system(system)).model
    if text == config.stage:
        return text, ModelName(config.default_engine, text)
    path = config.model.path if text == "base" else text
    return text, ModelName.parse(path, config.default_engine)


def begin(config: Comparison, run: Run, examples: Sequence[Sample]) -> None:
    """Note the configuration in the run folder; answers to other examples are left alone.

    Raises:
        TablemendError: the run holds answers to other examples, or a training that kept its data
            apart from others.
    """
    path = run.path / f"{config.stage}.yaml"
    if config.stage is not None and path.is_file():
        # a training keeps its tables apart from one test set: it may have seen those of another
        asked = config.data.test.model_dump(mode="json")
        try:
            kept = yaml.safe_load(path.read_text("utf-8"))["data"]["test"]
            changes = other_test(kept, asked)
        except (yaml.YAMLError, ValueError, LookupError, TypeError) as error:
            raise TablemendError(f"{path} cannot be read: {MOVE_AWAY}") from error
        if changes:
            raise TablemendError(
                f"the training in {run.path} kept its tables apart from another test set: "
                f"{'; '.join(changes)}: give that one, or run=NAME and the folder {run.model} as "
                "an system's model"
            )
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


PACKAGES: dict[EngineKind, tuple[str, ...]] = {
    "hf": ("torch", "transformers"),
    "openai": ("aiohttp", "httpx2", "openai"),
}
"""What engines import beside the core; vLLM, which needs an environment of its own, says it."""
REPORTS = ("matplotlib", "scipy")


def refuse(found: Sequence[str]) -> None:
    """Say what is missing, a line each.

    Raises:
        TablemendError: something is.
    """
    if found:
        count = [f"{len(found)} things are missing:"] if len(found) > 1 else []
        raise TablemendError("\n  ".join([*count, *found]))


def problems(config: Comparison, systems: Sequence[ResolvedSystem]) -> list[str]:
    """Packages, checkpoints, keys and servers that are missing, each with what to do; what
    scores is looked at, whichever systems are to be asked.
    """
    task = config.task_of()
    asking = [
        system
        for system in systems
        if not (isinstance(system.mitigation, PostEdit) and not system.mitigation.asks_model)
        and not why_untrained(config, system)
    ]
    models = {ModelName.parse(one): config.evaluation.options for one in task.scoring_models}
    models |= {system.model: system.options for system in asking}
    packages = [*REPORTS, *task.packages]
    packages += [one for model in models for one in PACKAGES.get(model.engine, ())]
    packages += ["datasets"] if config.data.test.source.startswith(HUB) else []
    if any(isinstance(one.mitigation, Constraint) and one.model.engine == "hf" for one in asking):
        packages.append("llguidance")
    lacking = [one for one in dict.fromkeys(packages) if find_spec(one) is None]
    found = [not_installed(*lacking)]
    for system in asking:
        with _noting(found):
            _check_checkpoint(system, config)
    for model, options in models.items():
        with _noting(found):
            if model.url:
                key_of(model, options)
                model.refuse_unreachable()
    return list(dict.fromkeys(filter(None, found)))


def why_untrained(config: Comparison, system: ResolvedSystem) -> str:
    """Why a system's checkpoint cannot come of this recipe; empty where it can, or has no need."""
    if system.base != config.stage or not config.has_engine:
        return ""
    return (
        f"{config.stage} trains a folder or a name on the Hub, and model.path is "
        f"{config.model.path.partition(':')[0]}:..."
    )


@contextmanager
def _noting(found: list[str]) -> Iterator[None]:
    try:
        yield
    except TablemendError as error:
        found.append(str(error))


def _check_checkpoint(system: ResolvedSystem, config: Comparison) -> None:
    if system.model.engine not in IN_PROCESS:
        return
    text = system.base
    if text == config.stage:
        hint = (
            f"train it first: accelerate launch train/{text}.py with recipe=, name=, run= as here"
        )
    elif text == "base":
        hint = "model.path names the base of every system"
    else:
        hint = (
            f"evaluation.systems.{system.name}.model is base, {config.stage or 'sft'}, a folder, a "
            "name on the Hub or a model string"
        )
    if system.model.engine == "vllm":
        require_vllm()
    try:
        Checkpoint.parse(system.model.model).check()
    except TablemendError as error:
        raise TablemendError(f"system {system.name}: {error}; {hint}") from error
