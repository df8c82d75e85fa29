"""What ``import tablemend`` and every ``--help`` load: nothing that takes long."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
SLOW = {
    *("aiohttp", "datasets", "httpx", "matplotlib", "numpy.f2py", "openai", "pandas", "pyarrow"),
    *("scipy", "sklearn", "torch", "transformers", "trl", "vllm"),
}
COMMANDS = [
    *(f"-m tablemend {name}" for name in ("", "detect", "verify", "mend", "annotate export")),
    *(
        path.relative_to(ROOT).as_posix()
        for folder in ("train", "data_gen", "eval", "checkpoints", "checkpoints/tiny-base/build")
        for path in (ROOT / folder).glob("*.py")
    ),
]
LOADS = f"""
import runpy, sys
for line in sys.argv[1:]:
    module, *arguments = line.removeprefix("-m ").split()
    sys.argv = [module, *arguments, "--help"]
    try:
        if module.endswith(".py"):
            sys.path[0] = module.rpartition("/")[0]
            runpy.run_path(module, run_name="__main__")
        else:
            runpy.run_module(module, run_name="__main__")
    except SystemExit as end:
        assert not end.code, (line, end.code)
    slow = {SLOW} & set(sys.modules)
    assert not slow, (line, slow)
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


def test_help_loads_nothing_slow() -> None:
    """What it loads decides how long it takes, on any machine: pydantic and OmegaConf at most."""
    command = [sys.executable, "-c", LOADS, *COMMANDS]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0, done.stderr
