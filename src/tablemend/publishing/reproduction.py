"""The commands that make a checkpoint and its results again."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationError
from pydantic_core import to_jsonable_python

from tablemend.config import EXAMPLE_FILES, HUB, SMALL_WORLD, Section
from tablemend.datasets.build import SETTINGS
from tablemend.datasets.card import command_of
from tablemend.publishing.recorded import MERGED, Recorded, chain_of
from tablemend.runs import MOVE_AWAY, read_object
from tablemend.tasks.claim_verification import Claims
from tablemend.tasks.faith.data import FaithSet
from tablemend.tasks.logic.dataset import LogicSet
from tablemend.tasks.tabfaith.data import TabFaith
from tablemend.tasks.tablehallu.settings import Synthesis
from tablemend.tasks.torr.data import TorrSet

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
BEHIND = "tablemend"
"""Folder beside the weights with what the card's numbers come from."""


def recipe_of(recorded: Recorded, place: int) -> Path:
    """Where a training's resolved recipe stands in the published folder.

    Args:
        recorded: the training.
        place: its number in the chain, 1 for the first; 0 for the one that is published.
    """
    return Path(BEHIND) / (f"{place}-{recorded.stage}" if place else "") / f"{recorded.stage}.yaml"


def placed_chain(recorded: Recorded) -> list[tuple[int, Recorded]]:
    """Every training of the chain with its place; the last one, which is published, has 0."""
    chain = chain_of(recorded)
    return [*enumerate(chain[:-1], 1), (0, chain[-1])]


def _began_merged(before: Recorded, after: Recorded) -> bool:
    """Whether a training began with what train/merge.py made in the run before it (out= too)."""
    return Path(after.config.model.path).name != before.run.model.name


def _data_made(recorded: Recorded) -> list[str]:
    """The commands that made the folders of data; each once.

    Nothing for generated data, the Hub's, and a folder that is gone or of other settings than ours.
    """
    commands: dict[str, None] = {}
    for one in chain_of(recorded):
        data = one.config.data
        for source in (*data.training_sources, data.validation, data.test):
            if source is None or source.source == SMALL_WORLD or source.source.startswith(HUB):
                continue
            path = Path(source.source)
            folder = path.parent if path.suffix in EXAMPLE_FILES else path
            if made := made_again(folder):
                commands[f"{made} out={shlex.quote(str(folder))}"] = None
    return list(commands)


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


def launcher(facts: Mapping[str, Any]) -> str:
    """How to launch a training again with its strategy and number of processes."""
    strategy = facts.get("strategy")
    config = f" --config_file accelerate_configs/{strategy}.yaml" if strategy in CONFIGS else ""
    processes = facts.get("world_size", 1)
    one = " --gpu_ids 0" if processes == 1 else ""  # of several; nothing on a CPU
    return f"accelerate launch{config} --num_processes {processes}{one}"


def commands(recorded: Recorded, compared: bool, merged: bool) -> Iterator[str]:
    """The commands, with the recipes in the published folder, into runs of their own.

    Args:
        recorded: the training that is published.
        compared: whether its results are.
        merged: whether its merged weights are.
    """
    yield from _data_made(recorded)
    placed = placed_chain(recorded)
    start: list[str] = []
    for number, (place, one) in enumerate(placed):
        name = f"again-{place}" if place else "again"
        recipe = f"recipe=FOLDER/{recipe_of(one, place)}"
        pairs = [] if one.config.dpo is None else [f"dpo.pairs.path=data/{name}"]
        if pairs:
            yield " ".join(["python data_gen/preference.py", recipe, *start, *pairs])
        yield " ".join(
            [f"{launcher(one.facts)} train/{one.stage}.py", recipe, f"run={name}", *start, *pairs]
        )
        if not place:
            break
        begun_with = one.run.model.name
        if _began_merged(one, placed[number + 1][1]):
            yield _merged_again(one, name)
            begun_with = MERGED
        start = [f"model.path=runs/{name}/{begun_with}"]
    if compared:
        recipe = f"recipe=FOLDER/{BEHIND}/compare.yaml"
        yield " ".join(["python eval/compare.py", recipe, "run=again", *start])
    if merged:
        yield _merged_again(recorded, "again")


def _merged_again(recorded: Recorded, name: str) -> str:
    """The merge of a run with all that was asked of it: a default tolerance might refuse it."""
    asked = recorded.run.recorded("merge").get("asked", {})
    options = [f"{key}={value}" for key, value in asked.items()]
    return " ".join([f"python train/merge.py run={name}", *options])
