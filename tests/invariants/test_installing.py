"""The commands that install tablemend: they resolve, and messages and pages name no others."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from itertools import product
from pathlib import Path
from types import SimpleNamespace

import pytest

from tablemend.errors import install

ROOT = Path(__file__).parents[2]
COMMAND = re.compile(r"pip install -e '\.\[([\w,]+)\]' -c (constraints(?:-gpu)?\.txt)")
PAGES = [ROOT / "README.md", *(ROOT / "docs").glob("*.md"), *ROOT.glob("constraints*.txt")]
EXTRAS: dict[str, set[str]] = {"constraints.txt": set(), "constraints-gpu.txt": set()}
"""What pages install with each file of pins."""
for page in PAGES:
    for extras, pins in COMMAND.findall(page.read_text(encoding="utf-8")):
        EXTRAS[pins] |= set(extras.split(","))
PIP_TO_UV = {"index-url": "UV_DEFAULT_INDEX", "cert": "SSL_CERT_FILE"}
"""Not the extra places, which may hold builds for one machine alone."""
SEARCHED = "README.md requirements-vllm.txt src docs recipes accelerate_configs benchmarks".split()
UNREACHABLE = re.compile("error sending request|timed out")


def uv_environment() -> dict[str, str]:
    """Of uv, which reads its own settings alone: pip's index, where it has none."""
    listed = subprocess.run(
        [sys.executable, "-m", "pip", "config", "list"], capture_output=True, text=True
    )
    found = {"UV_PYTHON_DOWNLOADS": "never"}
    for line in listed.stdout.splitlines():
        key, _, value = line.partition("=")
        if name := PIP_TO_UV.get(key.rpartition(".")[2]):
            found[name] = value.strip("'")
    return found | os.environ


def resolve(
    extras: Iterable[str], pins: str, python: str, root: Path = ROOT
) -> subprocess.CompletedProcess[str]:
    """What a machine with Linux would install; no wheel is fetched.

    Skips where no index can be reached.
    """
    uv = pytest.importorskip("uv")
    options = ["--no-annotate", "-c", pins, *(f"--extra={each}" for each in extras)]
    options += ["--python-version", python, "--python-platform", "x86_64-manylinux_2_28"]
    done = subprocess.run(
        [uv.find_uv_bin(), "pip", "compile", "pyproject.toml", *options],
        cwd=root,
        env=uv_environment(),
        capture_output=True,
        text=True,
    )
    if done.returncode and UNREACHABLE.search(done.stderr):
        pytest.skip(f"no package index can be reached: {done.stderr.strip().splitlines()[-1]}")
    return done


def test_the_readme_installs_for_both_kinds_of_machine() -> None:
    commands = COMMAND.findall((ROOT / "README.md").read_text(encoding="utf-8"))
    assert [pins for _, pins in commands] == list(EXTRAS)


def test_what_pages_install_resolves_to_the_versions_that_tests_run_on() -> None:
    """All extras at once: what resolves together resolves in parts. It waits for the index."""
    cases = list(product(EXTRAS, ("3.11", "3.12", "3.13")))
    with ThreadPoolExecutor(len(cases)) as pool:
        resolved = pool.map(lambda case: resolve(sorted(EXTRAS[case[0]]), *case), cases)
        for (pins, python), done in zip(cases, resolved, strict=True):
            assert done.returncode == 0, (pins, python, done.stderr)
            found = set(done.stdout.lower().splitlines())
            assert {"transformers==5.17.0", "trl==1.16.0", "torch==2.13.0"} <= found
            assert ("vllm==0.31.0" in found) == ("gpu" in pins), (pins, python)


def test_pins_that_vllm_does_not_take_are_seen(tmp_path: Path) -> None:
    for name in ("constraints.txt", "constraints-gpu.txt", "pyproject.toml"):
        text = (ROOT / name).read_text(encoding="utf-8")
        (tmp_path / name).write_text(text.replace("numpy==2.3.5", "numpy==2.4.6"))
    done = resolve(["train", "vllm"], "constraints-gpu.txt", "3.12", tmp_path)
    assert done.returncode == 1
    assert "mistral-common" in done.stderr and "==2.4.6" in done.stderr


def test_messages_name_the_file_that_pins_an_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    assert install("train", "vllm") == "pip install -e '.[train,vllm]' -c constraints-gpu.txt"
    assert install("data") == "pip install -e '.[data]' -c constraints.txt"
    monkeypatch.setattr("tablemend.errors.FROM_WHEEL", True)  # pip then extends what is there
    where = "tablemend.errors.distribution"
    for noted, wheel in (
        (
            '{"url": "file:///a%20b/tablemend-1-py3-none-any.whl"}',
            "/a b/tablemend-1-py3-none-any.whl",
        ),
        (None, "THE-WHEEL-OF-TABLEMEND.whl"),  # the name on the index is not ours
    ):
        found = SimpleNamespace(read_text=lambda _, noted=noted: noted)
        monkeypatch.setattr(where, lambda _, found=found: found)
        assert install("train", "vllm") == f"pip install '{wheel}[train,vllm]'"


def test_nothing_installs_tablemend_from_an_index_that_has_no_such_name() -> None:
    listed = subprocess.run(
        ["git", "ls-files", *SEARCHED],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    wrong = re.compile(r"tablemend\[|pip install '?tablemend")
    names = set(listed.stdout.splitlines()) - {"src/tablemend/errors.py"}  # for where it is there
    assert len(names) > 300
    for name in (name for name in names if not name.endswith(".png")):
        assert not wrong.search((ROOT / name).read_text(encoding="utf-8")), name
