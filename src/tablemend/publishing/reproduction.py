"""The commands that make a checkpoint and its results again."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from tablemend.config import EXAMPLE_FILES, HUB, SMALL_WORLD
from tablemend.publishing.recorded import MERGED, Recorded, chain_of

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
    """The commands that made the folders of data, as the cards in them say; each once.

    Nothing for generated data, the Hub's, and a folder that is gone or that no card tells of.
    """
    commands: dict[str, None] = {}
    for one in chain_of(recorded):
        data = one.config.data
        for source in (*data.training_sources, data.validation, data.test):
            if source is None or source.source == SMALL_WORLD or source.source.startswith(HUB):
                continue
            path = Path(source.source)
            folder = path.parent if path.suffix in EXAMPLE_FILES else path
            if made := _command_in(folder / "README.md"):
                commands[f"{made} out={shlex.quote(str(folder))}"] = None
    return list(commands)


def _command_in(card: Path) -> str | None:
    """The line with which a data set's card says how to make it."""
    lines = card.read_text(encoding="utf-8").splitlines() if card.is_file() else []
    return next((line for line in lines if line.startswith("python data_gen/")), None)


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
