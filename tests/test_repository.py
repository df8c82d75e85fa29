"""The files around the code: pins, launch configurations, the build."""

from __future__ import annotations

import os
import re
import subprocess
import tomllib
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[1]
ACCELERATE = sorted((ROOT / "accelerate_configs").glob("*.yaml"))
PINS = {
    line.partition("==")[0].lower().replace("_", "-"): line.partition("==")[2].strip()
    for line in (ROOT / "constraints.txt").read_text().splitlines()
    if not line.startswith("#")
}


@pytest.mark.parametrize("path", ACCELERATE, ids=lambda path: path.stem)
def test_every_accelerate_config_loads_and_says_how_to_use_it(path: Path) -> None:
    from accelerate.commands.config.config_args import load_config_from_file

    config = load_config_from_file(str(path))
    assert config.num_processes >= 1
    assert f"--config_file accelerate_configs/{path.name}" in path.read_text()


def test_every_dependency_of_the_development_environment_is_pinned() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    wanted = [
        *project["dependencies"],
        *(name for extra in ("data", "report", "train", "dev") for name in extras[extra]),
    ]
    names = {re.split(r"[\[<>=! ]", line)[0].lower() for line in wanted} - {"tablemend"}
    assert names - set(PINS) == set()
    assert all(re.fullmatch(r"[\w.]+", version) for version in PINS.values())


def test_torch_is_pinned_without_a_local_build() -> None:
    assert PINS["torch"] == "2.13.0"


def test_ci_runs_the_checks_and_the_readmes_test_command() -> None:
    script = ROOT / ".ci" / "run"
    assert os.access(script, os.X_OK)
    assert script.read_text().rstrip().endswith("make check\nmake test")


@pytest.mark.parametrize("target", ["demo", "test", "check"])
def test_make_knows_its_targets(target: str) -> None:
    done = subprocess.run(["make", "-n", target], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_the_demo_uses_the_commands_that_the_readme_names() -> None:
    plan = subprocess.run(
        ["make", "-n", "demo"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout
    for part in ("data_gen/tablehallu.py", "train/sft.py recipe=tiny", "eval/compare.py"):
        assert part in plan


def test_hooks_are_the_tools_of_make_check() -> None:
    hooks = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())["repos"][0]["hooks"]
    assert {"ruff", "ruff-format", "mypy"} <= {hook["id"] for hook in hooks}


def test_the_licence_is_whole() -> None:
    text = (ROOT / "LICENSE").read_text()
    assert "Apache License" in text and "END OF TERMS AND CONDITIONS" in text
