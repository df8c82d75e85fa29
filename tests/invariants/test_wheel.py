"""What a wheel holds, and that it works in an empty folder."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests.invariants.test_installing import UNREACHABLE as OFFLINE
from tests.invariants.test_installing import uv_environment

ROOT = Path(__file__).parents[2]
SHIPPED = (
    "recipes",
    "accelerate_configs",
    "train",
    "data_gen",
    "eval",
    "checkpoints/tiny-base",
    "checkpoints/fetch.py",
)
MOST = 150 * 2**20
"""Bytes that an installation of the core may take."""
UNREACHABLE = ("No matching distribution found for hatchling", "Could not find a version")


def _tracked(*folders: str) -> set[str]:
    listed = ["git", "ls-files", *folders]
    done = subprocess.run(listed, cwd=ROOT, capture_output=True, text=True, check=True)
    return set(done.stdout.split())


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The content of a wheel; skips where no index has what builds it."""
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "pip", "wheel", "--no-deps", "--quiet", "-w", str(folder), "."]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    if done.returncode and any(said in done.stderr for said in UNREACHABLE):
        pytest.skip("no package index that has hatchling can be reached")
    assert done.returncode == 0, done.stderr
    (wheel,) = folder.glob("tablemend-*.whl")
    assert wheel.stat().st_size < 12 * 2**20
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder / "site")
    return folder / "site"


@pytest.mark.slow
def test_a_wheel_has_every_file_once_and_nothing_else(unpacked: Path) -> None:
    files = {
        path.relative_to(unpacked).as_posix() for path in unpacked.rglob("*") if path.is_file()
    }
    found = {name for name in files if ".dist-info/" not in name}
    code = {name.removeprefix("src/") for name in _tracked("src")}
    along = {f"tablemend/repository/{name}" for name in _tracked(*SHIPPED)}
    assert {"tablemend/py.typed", "tablemend/schema.json"} <= code
    assert found == code | along


ALL_COMMANDS = """
import sys
from tablemend.cli.app import main
for line in sys.argv[1:]:
    print("\\ncommand:", line, flush=True)
    status = main(line.split())
    assert status == 0, f"{line}: {status}"
"""
"""One process for all: each would import the same for seconds."""


@pytest.mark.slow
def test_a_wheel_runs_in_an_empty_folder(unpacked: Path, tmp_path: Path) -> None:
    base = "tablemend/repository/checkpoints/tiny-base"
    expected = {
        "verify summary.txt table.csv": "STAF 0.00, 1 of 1 claims checked",
        "train sft recipe=tiny --check": base,
        "compare recipe=tiny --check -v": base,
        "data tablehallu recipe=wikipedia-data n=8": "of 8 of 8 contexts",
        "run recipe=own source=. --check": base,
        "fetch --help": "smollm2-135m-instruct",
        "where accelerate_configs/cpu.yaml": "repository/accelerate_configs/cpu.yaml",
    }
    (tmp_path / "table.csv").write_text("Team,Points\nAlba,41\nSella,37\n", encoding="utf-8")
    (tmp_path / "summary.txt").write_text("Sella won 39 points.", encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-c", ALL_COMMANDS, *expected],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(unpacked)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    printed = done.stdout.split("\ncommand: ")[1:]
    for (line, said), shown in zip(expected.items(), printed, strict=True):
        assert shown.startswith(line) and said in shown, shown


@pytest.mark.slow
def test_the_core_is_small_and_enough(unpacked: Path, tmp_path: Path) -> None:
    """Whether the first ``verify`` runs on what pip installs with the wheel, and nothing else."""
    (wheel,) = unpacked.parent.glob("tablemend-*.whl")
    core = tmp_path / "core"
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--target", str(core)]
    command += ["-c", str(ROOT / "constraints.txt"), str(wheel)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode and any(said in done.stderr for said in UNREACHABLE):
        pytest.skip("no package index can be reached")
    assert done.returncode == 0, done.stderr
    assert sum(path.stat().st_size for path in core.rglob("*") if path.is_file()) <= MOST
    (tmp_path / "table.csv").write_text("Team,Points\nAlba,41\nAlba,7\nSella,37\n", "utf-8")
    (tmp_path / "summary.txt").write_text("Sella won 39 points.", "utf-8")
    code = f"import sys; sys.path.insert(0, 'core'){ALL_COMMANDS}"
    lines = [f"{name} summary.txt table.csv" for name in ("verify", "mend")]
    done = subprocess.run(
        [sys.executable, "-S", "-c", code, *lines, "detect table.csv table.csv"],
        cwd=tmp_path,
        env={name: value for name, value in os.environ.items() if name != "PYTHONPATH"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.slow
def test_uv_and_pipx_install_it_as_a_tool(unpacked: Path, tmp_path: Path) -> None:
    (wheel,) = unpacked.parent.glob("tablemend-*.whl")
    uv = str(Path(sys.executable).with_name("uv"))
    places = ("UV_TOOL_DIR", "UV_TOOL_BIN_DIR", "PIPX_HOME", "PIPX_BIN_DIR")
    env = uv_environment() | {name: str(tmp_path / name) for name in places}
    (tmp_path / "table.csv").write_text("Team,Points\nAlba,41\nSella,37\n", "utf-8")
    (tmp_path / "summary.txt").write_text("Sella won 37 points.", "utf-8")
    ways = {"UV_TOOL_BIN_DIR": [uv, "tool", "install"], "PIPX_BIN_DIR": [uv, "tool", "run", "pipx"]}
    ways["PIPX_BIN_DIR"].append("install")
    for place, way in ways.items():
        options = ["--quiet", "--python", sys.executable, str(wheel)]
        done = subprocess.run([*way, *options], env=env, capture_output=True, text=True)
        if done.returncode and OFFLINE.search(done.stderr):
            pytest.skip("no package index can be reached")
        assert done.returncode == 0, done.stderr
        verify = [f"{env[place]}/tablemend", "verify", "summary.txt", "table.csv"]
        said = subprocess.run(verify, cwd=tmp_path, capture_output=True, text=True)
        assert said.returncode == 0 and "STAF 1.00, 1 of 1 claims checked" in said.stdout
