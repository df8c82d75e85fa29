"""What --check says of the recipes: the hardware at their heads, and a plan beside the recipe."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from tablemend.config import parse
from tablemend.recipe.experiment import DistilCommand, DpoCommand, GrpoCommand, SftCommand
from tablemend.training import plan
from tablemend.training.architectures import Shape, config_of, start_of
from tablemend.training.memory import GIB, STRATEGIES, Memory, Planner
from tests.support.scripts import run_captured
from tests.unit.config.test_config import CPU, KINDS

ROOT = Path(__file__).parents[2]
LAUNCHES = {each.config: each for each in STRATEGIES}
COMMANDS = {
    "experiment": SftCommand,
    "dpo": DpoCommand,
    "grpo": GrpoCommand,
    "distil": DistilCommand,
}
TRAINED = {name: COMMANDS[kind] for name, kind in KINDS.items() if kind in COMMANDS}


@pytest.mark.parametrize("name", [name for name in TRAINED if not name.startswith(CPU)])
def test_a_recipe_fits_the_hardware_that_its_header_names(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    command: type[Any] = TRAINED[name]
    config = parse(command, [f"recipe={name}"])
    head = (ROOT / "recipes" / f"{name}.yaml").read_text().partition("kind:")[0]
    shape = Shape(config_of(start_of(config.model.path)))
    said = re.search(r"# Hardware: planned (\d+) GiB .*(one|eight) GPUs? of (\d+) GB", head)
    assert said is not None and not shape.notes
    card = int(said[3])
    planner, single = Planner(config, shape), LAUNCHES["single-gpu"]
    found = planner.memory(single if said[2] == "one" else LAUNCHES["fsdp2"])
    assert (round(found.total / GIB), found.card) == (int(said[1]), card)
    lora = config.train.lora
    trains = f"{config.train.method} (r {lora.r})" if lora else config.train.method
    row = f"| `{name}` | {trains} | {said[1]} | {said[2]} of {card} GB |"
    assert row in (ROOT / "results" / "gpu-training.md").read_text().splitlines()
    other = re.search(r"; on (one|two) of 80 GB (\d+) GiB(?: each)?\n# with (\S+)", head)
    assert card <= 80 or other is not None  # an answer for the card that most have
    if other is not None:
        given = () if other[1] == "two" else (other[3].rstrip("."),)
        launch = replace(LAUNCHES["fsdp2"], gpus=2) if other[1] == "two" else single
        found = Planner(parse(command, [f"recipe={name}", *given]), shape).memory(launch)
        assert (round(found.total / GIB), found.card) == (int(other[2]), 80)
    if config.evaluation.options.vllm.tensor_parallel > 1:  # no batch of ours fits on a GPU
        return
    answers = config.options_of(config.evaluation.systems["base"])
    # its cache keeps every token of every layer
    cache = answers.batch_size * config.model.context_length * planner.token_bytes(2)
    assert answers.dtype == "bfloat16"
    assert Memory(2 * planner.total, 0, 0, 0, cache).fits(card)


def test_check_prints_a_recipe_with_its_plan(tiny_model: Path) -> None:
    tokens = ("recipe=tiny", f"model.path={tiny_model}", "gpus=4", "--check")
    alone = run_captured("train/sft.py", *tokens).stdout
    done = run_captured("train/sft.py", *tokens, "-v")
    assert done.returncode == 0, done.stderr
    assert alone.startswith("plan: full of") and "context_length" not in alone
    assert done.stdout.startswith("".join(f"# {line}\n" for line in alone.splitlines()))
    recipe = yaml.safe_load(done.stdout)
    assert recipe["model"]["path"] == str(tiny_model)
    assert "gpus" not in recipe  # a recipe says nothing of them
    assert "# plan: full of" in done.stdout and "\n# single-gpu " in done.stdout
    assert re.search(r"^# zero3 +4 ", done.stdout, re.MULTILINE)


def test_a_plan_says_what_fits_and_what_to_change(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    lines = list(plan.lines(parse(SftCommand, ["recipe=qwen3-8b"])))
    rows = {line.split()[0]: line for line in lines if line.split()[0] in LAUNCHES}
    assert set(rows) == set(LAUNCHES)
    assert rows["single-gpu"].endswith("40 GB")
    *_, ask, offload, qlora = lines
    assert ask.startswith("on one GPU, each change")
    assert offload.startswith("  train.trl.activation_offloading=true: 2")
    assert qlora.startswith("  train.method=qlora: 1") and qlora.endswith(" GiB, 24 GB")
    assert any(line.startswith("steps: rows x 2 / 16") for line in lines)
