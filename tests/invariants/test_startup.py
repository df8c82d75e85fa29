"""What ``import tablemend`` and every ``--help`` load: nothing that takes long."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SLOW = {
    *("aiohttp", "datasets", "httpx", "matplotlib", "numpy.f2py", "openai", "pandas", "pyarrow"),
    *("scipy", "sklearn", "torch", "transformers", "trl", "vllm"),
}
COMMANDS = [
    *(["-m", "tablemend", *name.split()] for name in ("", "detect", "verify", "mend")),
    ["-m", "tablemend", "annotate", "export"],
    *(
        [str(path)]
        for folder in ("train", "data_gen", "eval", "checkpoints", "checkpoints/tiny-base/build")
        for path in (ROOT / folder).glob("*.py")
    ),
]
LOADS = """
import runpy, sys
module, *arguments = sys.argv[1:] if sys.argv[1] != "-m" else sys.argv[2:]
sys.argv = [module, *arguments, "--help"]
try:
    if module.endswith(".py"):
        sys.path[0] = module.rpartition("/")[0]
        runpy.run_path(module, run_name="__main__")
    else:
        runpy.run_module(module, run_name="__main__")
except SystemExit as end:
    assert not end.code, end.code
print("loaded:", *sys.modules)
"""


def loaded(code: str, *arguments: str) -> set[str]:
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments], capture_output=True, text=True, cwd=ROOT
    )
    assert done.returncode == 0, done.stderr
    return set(done.stdout.splitlines()[-1].split()[1:])


def test_importing_tablemend_loads_the_standard_library_alone() -> None:
    found = loaded("import sys, tablemend; print('loaded:', *sys.modules)")
    assert {"tablemend"} == {name for name in found if name.startswith("tablemend")}
    assert not found & {*SLOW, "numpy", "omegaconf", "pydantic", "yaml"}


def test_a_task_loads_neither_other_tasks_nor_what_scores_answers() -> None:
    code = """
import sys
from tablemend.tasks.all_tasks import TASKS
TASKS["table_generation"]()
print("loaded:", *sys.modules)
"""
    found = loaded(code)
    assert "tablemend.tasks.tablehallu.task" in found
    others = (
        "tasks.torr",
        "tasks.faith",
        "tasks.logic",
        "tasks.tablehallu.scoring",
        "verifier",
        "evidence",
    )
    assert not [one for one in found if one.startswith(tuple(f"tablemend.{n}" for n in others))]
    assert "tablemend.detector.algorithm" not in found


def test_the_api_runs_where_only_the_core_is_installed() -> None:
    code = """
import sys
for extra in ("scipy", "matplotlib", "pandas", "torch", "openai"):
    sys.modules[extra] = None
import tablemend
table = "Team,Points\\nAlba,41\\nAlba,7\\nSella,37\\n"
assert tablemend.verify("Sella won 39 points.", table).errors
assert tablemend.mend("Sella won 39 points.", table).edits
assert tablemend.detect("|Team|Points|\\n|-|-|\\n|Alba|7|\\n|Alba|8|", table).errors
print("loaded:", *(name for name, module in sys.modules.items() if module))
"""
    assert loaded(code) & SLOW == set()


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: Path(command[0]).stem)
def test_help_loads_nothing_slow(command: list[str]) -> None:
    """What it loads decides how long it takes, on any machine: pydantic and OmegaConf at most."""
    assert loaded(LOADS, *command) & SLOW == set()
