"""What a run folder says of its training and its scores, and the commands that make them again."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from pydantic import ValidationError
from pydantic_core import to_jsonable_python

from tablemend.backends.checkpoints import ADAPTER, Checkpoint, local_folder
from tablemend.config import EXAMPLE_FILES, HUB, SMALL_WORLD, Section
from tablemend.datasets.build import SETTINGS
from tablemend.datasets.card import command_of
from tablemend.errors import TablemendError
from tablemend.pretrained.fetch import RECORD
from tablemend.publishing.hub import BEHIND, PublishCommand
from tablemend.recipe import experiment as recipes
from tablemend.recipe.experiment import TrainingRecipe
from tablemend.records import ContextKind
from tablemend.reports.tabulation import read_results
from tablemend.runs import MOVE_AWAY, Run, read_object
from tablemend.tasks.claim_verification import Claims
from tablemend.tasks.faith.data import FaithSet
from tablemend.tasks.logic.dataset import LogicSet
from tablemend.tasks.tabfaith.data import TabFaith
from tablemend.tasks.tablehallu.settings import Synthesis
from tablemend.tasks.torr.data import TorrSet
from tablemend.training.checkpoints import revision_of

KINDS: dict[str, type[TrainingRecipe]] = {
    "sft": recipes.Experiment,
    "dpo": recipes.DpoExperiment,
    "grpo": recipes.GrpoExperiment,
    "distil": recipes.DistilExperiment,
}
MERGED = "merged"
"""Folder of a run with the whole weights of its adapter."""


@dataclass(frozen=True)
class TrainingRecord:
    """A training as its run folder has it.

    Attributes:
        run: the folder.
        config: the resolved recipe.
        facts: what the manifest says of the training; empty where it says nothing.
    """

    run: Run
    config: TrainingRecipe
    facts: dict[str, Any]

    @property
    def stage(self) -> str:
        """Name of the training: ``sft``, ``dpo``."""
        return self.config.stage

    @property
    def is_adapter(self) -> bool:
        """Whether the checkpoint is an adapter on its base."""
        return (self.run.model / ADAPTER).is_file()

    @property
    def merged(self) -> Path:
        """Where train/merge.py puts the whole weights of an adapter."""
        return self.run.path / MERGED


def read_recorded(folder: Path) -> TrainingRecord:
    """Read what a training left.

    Raises:
        TablemendError: no training there, two of them, or one that this version does not read.
    """
    stages = [stage for stage in KINDS if (folder / f"{stage}.yaml").is_file()]
    if len(stages) != 1:
        found = " and ".join(f"{stage}.yaml" for stage in stages) or "no configuration of one"
        raise TablemendError(f"{folder} is not the run of one training: it holds {found}")
    path = folder / f"{stages[0]}.yaml"
    try:
        data = yaml.safe_load(path.read_text(encoding="utf-8"))
        kind = KINDS[stages[0]]
        # earlier versions noted what the command took beside the recipe (overwrite, show)
        config = kind.model_validate({k: v for k, v in data.items() if k in kind.model_fields})
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"])) or "the whole file"
        raise TablemendError(
            f"{path} is not as this version writes it ({where}: {first['msg']}): use the version "
            "that its manifest names"
        ) from error
    except (yaml.YAMLError, AttributeError, RecursionError, ValueError) as error:
        raise TablemendError(f"{path} cannot be read: {error}") from error
    run = Run(folder)
    return TrainingRecord(run, config, run.recorded(config.stage))


def base_of(recorded: TrainingRecord) -> str | None:
    """The base model's name on the Hub; ``None`` where its folder does not tell."""
    path = chain_of(recorded)[0].config.model.path
    folder = local_folder(path)
    if folder is None:
        return path
    if not (folder / RECORD).is_file():
        return None
    return str(read_object(folder / RECORD, "fetch it again")["hub"]["name"])


def datasets_of(recorded: TrainingRecord) -> tuple[list[str], list[str]]:
    """The training's data sets by their names on the Hub, and folders that have no such name."""
    chain = [one.config.data.training_sources for one in chain_of(recorded)]
    named = {one.source for sources in chain for one in sources} - {SMALL_WORLD}
    hub = {name.removeprefix(HUB) for name in named if name.startswith(HUB)}
    return sorted(hub), sorted(name for name in named if not name.startswith(HUB))


def chain_of(recorded: TrainingRecord) -> list[TrainingRecord]:
    """The trainings from the base model to this one: each began with the one before it."""
    folder = local_folder(recorded.config.model.path)
    if folder is None or not any((folder.parent / f"{name}.yaml").is_file() for name in KINDS):
        return [recorded]
    return [*chain_of(read_recorded(folder.parent)), recorded]


MAKERS: dict[str, tuple[str, type[Section]]] = {
    "program": ("tablehallu.py", Synthesis),
    "small-world": ("tablehallu.py", Synthesis),
    "verbaliser": ("tabfaith.py", TabFaith),
    "faith": ("faith.py", FaithSet),
    "torr": ("torr.py", TorrSet),
    "claims": ("claims.py", Claims),
    "logic": ("logic.py", LogicSet),
}
"""Name of an engine: the script whose data sets it makes, and what that takes."""

CONFIGS = ("ddp", "zero2", "zero3", "fsdp2")
"""Strategies that a file in accelerate_configs/ asks for; a launcher's options alone do not."""


def recipe_of(recorded: TrainingRecord, place: int) -> Path:
    """Where a training's resolved recipe stands in the published folder.

    ``place`` is its number in the chain, 1 for the first; 0 for the one that is published.
    """
    return Path(BEHIND) / (f"{place}-{recorded.stage}" if place else "") / f"{recorded.stage}.yaml"


def placed_chain(recorded: TrainingRecord) -> list[tuple[int, TrainingRecord]]:
    """Every training of the chain with its place; the last one, which is published, has 0."""
    chain = chain_of(recorded)
    return [*enumerate(chain[:-1], 1), (0, chain[-1])]


def made_again(folder: Path) -> str | None:
    """The command that makes a data set, by its settings alone: its card may be a stranger's, and
    is no command. ``None`` where no script of ours has such settings.
    """
    if not (folder / SETTINGS).is_file():
        return None
    noted = read_object(folder / SETTINGS, MOVE_AWAY)
    engine = re.match(r"[a-z]+(-[a-z]+)*", str(noted.get("engine_version")))
    script, kind = MAKERS.get(engine[0] if engine else "", ("", None))
    if kind is None:
        return None
    default = {
        k: to_jsonable_python(f.default, fallback=repr) for k, f in kind.model_fields.items()
    }
    try:  # with what is not a default: some settings may not be given beside others
        own = kind.model_validate(
            {k: v for k, v in noted.items() if k in default and v != default[k]}
        )
    except ValidationError:
        return None
    command = command_of(script, own, {}, ("kind",)).strip("`\n")
    return None if "\n" in command else command


def commands(recorded: TrainingRecord, compared: bool, merged: bool) -> Iterator[str]:
    """The commands, with the recipes in the published folder, into runs of their own.

    ``compared``, ``merged``: whether its results, its merged weights are published too.
    """
    data_made: dict[str, None] = {}  # each once; nothing for generated data and the Hub's
    for one in chain_of(recorded):
        data = one.config.data
        for source in (*data.training_sources, data.validation, data.test):
            if source is None or source.source == SMALL_WORLD or source.source.startswith(HUB):
                continue
            path = Path(source.source)
            folder = path.parent if path.suffix in EXAMPLE_FILES else path
            if made := made_again(folder):  # not one that is gone, or of other settings than ours
                data_made[f"{made} out={shlex.quote(str(folder))}"] = None
    yield from data_made
    placed = placed_chain(recorded)
    start: list[str] = []
    for number, (place, one) in enumerate(placed):
        name = f"again-{place}" if place else "again"
        recipe = f"recipe=FOLDER/{recipe_of(one, place)}"
        pairs = [] if one.config.dpo is None else [f"dpo.pairs.path=data/{name}"]
        if pairs:
            yield " ".join(["python data_gen/preference.py", recipe, *start, *pairs])
        strategy, processes = one.facts.get("strategy"), one.facts.get("world_size", 1)
        own = f" --config_file accelerate_configs/{strategy}.yaml" if strategy in CONFIGS else ""
        only = " --gpu_ids 0" if processes == 1 else ""  # of several; nothing on a CPU
        launch = f"accelerate launch{own} --num_processes {processes}{only}"
        yield " ".join([f"{launch} train/{one.stage}.py", recipe, f"run={name}", *start, *pairs])
        if not place:
            break
        begun_with = one.run.model.name
        after = placed[number + 1][1]  # began with the folder, or with its merge (out= too)
        if Path(after.config.model.path).name != one.run.model.name:
            yield _merged_again(one, name)
            begun_with = MERGED
        start = [f"model.path=runs/{name}/{begun_with}"]
    if compared:
        recipe = f"recipe=FOLDER/{BEHIND}/compare.yaml"
        yield " ".join(["python eval/compare.py", recipe, "run=again", *start])
    if merged:
        yield _merged_again(recorded, "again")


def _merged_again(recorded: TrainingRecord, name: str) -> str:
    """The merge of a run with all that was asked of it: a default tolerance might refuse it."""
    asked = recorded.run.recorded("merge").get("asked", {})
    options = [f"{key}={value}" for key, value in asked.items()]
    return " ".join([f"python train/merge.py run={name}", *options])


LOWEST_SCORED = 0.5
"""Share of a system's answers that must have a verdict, on every context."""


@dataclass(frozen=True)
class Scores:
    """The results of a run, and the two systems of it that a card is about.

    Attributes:
        results: as in results.json.
        system: name of the checkpoint's system; ``None`` where no system answers with it.
        base: name of the system of what the training began with; ``None`` where there is none.
        first: in a chain of trainings, the system of what the first one began with.
    """

    results: dict[str, Any]
    system: str | None
    base: str | None
    first: str | None = None

    @property
    def contexts(self) -> list[ContextKind]:
        """The contexts that were shown."""
        return list(self.results["contexts"])

    @property
    def systems(self) -> list[str]:
        """The bases' systems and the checkpoint's, those that are there."""
        return [name for name in (self.first, self.base, self.system) if name is not None]

    def role(self, system: str) -> str:
        """What a system is to the card's reader."""
        if system == self.system:
            return "checkpoint"
        return "start" if system == self.base and self.first is not None else "base"


def read_scores(recorded: TrainingRecord, command: PublishCommand) -> Scores | None:
    """The results of a run's comparison; ``None`` where there was none.

    Raises:
        TablemendError: results of another shape, or a system that they do not have.
    """
    path = recorded.run.path / "results.json"
    if not path.is_file():
        return None
    results = read_results(path)
    settings = results["settings"]
    if command.system is not None and command.system not in settings:
        raise TablemendError(
            f"system={command.system}: {path} has the systems {', '.join(settings)}"
        )
    own = [name for name in settings if _answers_with(settings[name], recorded.stage)]
    system = command.system or next(iter(own), None)
    base = _system_of(recorded.config.model.path, system, settings)
    first = _system_of(chain_of(recorded)[0].config.model.path, system, settings)
    return Scores(results, system, base, first if first != base else None)


def _system_of(model: str, system: str | None, settings: dict[str, Any]) -> str | None:
    """The system of a model: the one with the same prompt as ``system``, else the first."""
    names = [name for name in settings if _answers_with(settings[name], model)]
    alike = [n for n in names if system and settings[n]["prompt"] == settings[system]["prompt"]]
    return next(iter([*alike, *names]), None)


def _answers_with(settings: dict[str, Any], model: str) -> bool:
    """Whether a system is this model's own answers: not mended, not held to a grammar."""
    named = str(settings.get("named", "")).partition(":")[2]
    return named == model and not settings.get("after") and not settings.get("constrain")


def missing(recorded: TrainingRecord, scores: Scores | None, command: PublishCommand) -> list[str]:
    """What someone else would need to check the checkpoint and that is not there."""
    found = []
    if not {"steps", "model_revision", "rows_hash"} <= recorded.facts.keys():
        found.append("the record of the training in manifest.json")
    found += [  # a run that was trained anew since says nothing of what this one began with
        f"the start as it was: {one.config.model.path} holds other weights now"
        for one in chain_of(recorded)[1:]
        if one.facts.get("model_revision") != revision_of(one.config.model.path)
    ]
    if recorded.is_adapter and not command.merged:
        settings = json.loads((recorded.run.model / ADAPTER).read_text(encoding="utf-8"))
        if local_folder(base := settings["base_model_name_or_path"]) is not None:
            found.append(
                f"a base that others have: the adapter's is the folder {base} (set merged=true)"
            )
    if command.license is None:
        found.append("a licence (license=NAME, such as apache-2.0)")
    if command.base_model is None and base_of(recorded) is None:
        found.append("the base model's name on the Hub (base_model=OWNER/NAME, or none)")
    if command.datasets is None and (local := datasets_of(recorded)[1]):
        names = ", ".join(Path(name).name for name in local)
        found.append(f"the name on the Hub of the data {names} (datasets=[OWNER/NAME], or [])")
    if scores is None:
        return [*found, "a comparison (python eval/compare.py recipe=... run=...)"]
    if scores.system is None:
        found.append(f"a system of the comparison with model: {recorded.stage}")
    else:
        found += _other_weights(recorded, scores.results["settings"][scores.system])
    if scores.base is None:
        found.append("a system of the comparison with model: base")
    for system in scores.systems:
        for context in scores.contexts:
            scored = (
                scores.results["systems"][system][context]["total_hallu"]["n"] / scores.results["n"]
            )
            if scored < LOWEST_SCORED:
                found.append(
                    f"verdicts: {1 - scored:.0%} of the answers of {system} on {context} contexts "
                    "are unscored"
                )
    if recorded.config.task_of().second_scorer and not scores.results["second"]["scorer"]:
        found.append(
            "a second scorer (eval/compare.py ... rescore=true evaluation.second_scorer=exact)"
        )
    return found


def _other_weights(recorded: TrainingRecord, settings: dict[str, Any]) -> list[str]:
    """Results of an earlier checkpoint in the same run are no results of this one."""
    try:
        here = Checkpoint.parse(str(recorded.run.model)).fingerprint()
    except TablemendError as error:
        return [f"the checkpoint's fingerprint ({error})"]
    if settings.get("fingerprint") == here:
        return []
    return ["results of these weights: those in results.json are of others (compare again)"]
