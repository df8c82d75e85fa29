"""What a comparison needs and does not have, found before anything is asked or loaded."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from importlib.util import find_spec

from tablemend.backends.checkpoints import Checkpoint
from tablemend.backends.engine import require_vllm
from tablemend.backends.names import EngineKind, ModelName, key_of
from tablemend.config import HUB, BackendOptions
from tablemend.errors import TablemendError, not_installed
from tablemend.evaluation.systems import IN_PROCESS, ResolvedSystem, resolve
from tablemend.mitigations.mitigation import Constraint, PostEdit
from tablemend.recipe.experiment import Comparison
from tablemend.runs import Run

PACKAGES: dict[EngineKind, tuple[str, ...]] = {
    "hf": ("torch", "transformers"),
    "openai": ("aiohttp", "httpx2", "openai"),
}
"""What engines import beside the core; vLLM, which needs an environment of its own, says it."""
REPORTS = ("matplotlib", "scipy")


def plan_systems(config: Comparison, run: Run) -> list[ResolvedSystem]:
    """The systems, all of which can be asked.

    Raises:
        TablemendError: what is missing (:func:`problems`).
    """
    systems = resolve(config, run)
    refuse(problems(config, systems))
    return systems


def refuse(found: Sequence[str]) -> None:
    """Say what is missing, a line each.

    Raises:
        TablemendError: something is.
    """
    if found:
        count = [f"{len(found)} things are missing:"] if len(found) > 1 else []
        raise TablemendError("\n  ".join([*count, *found]))


def problems(config: Comparison, systems: Sequence[ResolvedSystem]) -> list[str]:
    """Packages, checkpoints, keys and servers that are missing, each with what to do.

    Args:
        config: the recipe.
        systems: those that are to be asked; what scores is looked at in any case.
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
    checks: list[Callable[[], None]] = [partial(_check_checkpoint, one, config) for one in asking]
    checks += [partial(_check_server, *one) for one in models.items() if one[0].url]
    found = [not_installed(*lacking)]
    for check in checks:
        try:
            check()
        except TablemendError as error:
            found.append(str(error))
    return list(dict.fromkeys(filter(None, found)))


def why_untrained(config: Comparison, system: ResolvedSystem) -> str:
    """Why a system's checkpoint cannot come of this recipe; empty where it can, or has no need."""
    if system.base != config.stage or not config.has_engine:
        return ""
    return (
        f"{config.stage} trains a folder or a name on the Hub, and model.path is "
        f"{config.model.path.partition(':')[0]}:..."
    )


def _check_server(model: ModelName, options: BackendOptions) -> None:
    key_of(model, options)
    model.refuse_unreachable()


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
