"""The site, the notebook, workflows and containers: built, run and checked where that can be."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.invariants.test_installing import resolve

ROOT = Path(__file__).parents[2]
NOTEBOOK = ROOT / "docs" / "notebook.ipynb"
DOCKERFILES = sorted((ROOT / "docker").iterdir())
CHECKED = {
    "vendor.github-workflows": sorted((ROOT / ".github" / "workflows").iterdir()),
    "vendor.github-actions": sorted((ROOT / ".github" / "actions").glob("*/action.yml")),
    "vendor.github-issue-forms": [
        path
        for path in sorted((ROOT / ".github" / "ISSUE_TEMPLATE").iterdir())
        if path.stem != "config"
    ],
    "vendor.github-issue-config": [ROOT / ".github" / "ISSUE_TEMPLATE" / "config.yml"],
    "vendor.citation-file-format": [ROOT / "CITATION.cff"],
}


@pytest.mark.slow
def test_the_site_is_built_without_a_warning(tmp_path: Path) -> None:
    pytest.importorskip("material", reason="the extra docs is not installed")
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "-d", str(tmp_path)],
        cwd=ROOT,
        env=os.environ | {"NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stderr.strip()) == (0, "")
    for page in ("api", "notebook", "own-data", "results/validation", "FOOTGUNS"):
        assert (tmp_path / page / "index.html").is_file()
    assert "tablemend.api.mend" in (tmp_path / "api" / "index.html").read_text(encoding="utf-8")
    assert "STAF 0.75" in (tmp_path / "notebook" / "index.html").read_text(encoding="utf-8")


def test_the_readme_is_short_and_every_page_is_in_the_navigation() -> None:
    assert len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) <= 120
    listed = (ROOT / "mkdocs.yml").read_text(encoding="utf-8").partition("\nnav:")[2]
    for path in (ROOT / "docs").glob("*.md"):
        assert re.search(rf"- {re.escape(path.name)}$", listed, re.MULTILINE), path.name


def _said(cell: dict[str, Any]) -> list[str]:
    """What a cell printed or showed."""
    outputs = cell.get("outputs", [])
    return ["".join(one.get("text") or one["data"]["text/plain"]) for one in outputs]


def test_the_notebook_names_no_path_of_a_machine() -> None:
    assert not re.search(r"/(home|root|tmp|work|Users)/", NOTEBOOK.read_text(encoding="utf-8"))


@pytest.mark.slow
def test_the_notebook_runs_and_says_what_it_shows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    nbclient = pytest.importorskip("nbclient", reason="the extra docs is not installed")
    nbformat = import_module("nbformat")
    path = os.pathsep.join([str(ROOT / "src"), os.environ.get("PYTHONPATH", "")])
    monkeypatch.setenv("PYTHONPATH", path)
    shown = json.loads(NOTEBOOK.read_text(encoding="utf-8"))["cells"]
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    resources = {"metadata": {"path": str(tmp_path)}}
    nbclient.NotebookClient(notebook, timeout=300, resources=resources).execute()
    code = [pair for pair in zip(shown, notebook.cells, strict=True) if _said(pair[0])]
    assert len(code) == 6
    for before, now in code[:-1]:  # the last one's are a model's
        assert _said(now) == _said(before)
    rates = re.findall(r"TotalHallu +([\d.]+)%", _said(code[-1][1])[0])
    assert float(rates[1]) < float(rates[0])


@pytest.mark.parametrize("schema", CHECKED)
def test_what_is_for_others_to_read_is_valid(schema: str) -> None:
    for path in CHECKED[schema]:
        assert isinstance(yaml.safe_load(path.read_text(encoding="utf-8")), dict)
    pytest.importorskip("check_jsonschema", reason="the extra dev is not installed")
    options = ["--builtin-schema", schema, "--default-filetype", "yaml"]
    done = subprocess.run(
        [sys.executable, "-m", "check_jsonschema", *options, *map(str, CHECKED[schema])],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("path", CHECKED["vendor.github-workflows"], ids=lambda path: path.stem)
def test_what_a_workflow_runs_is_pinned(path: Path) -> None:
    """Actions by commit, packages by version, and no variable decides where they come from."""
    text = path.read_text(encoding="utf-8")
    used = re.findall(r"uses: (?!\./\.github/)(.*)", text)  # what is ours goes with the commit
    assert used and all(re.fullmatch(r"[\w/-]+@[0-9a-f]{40}  # v[\d.]+", one) for one in used)
    assert "INDEX" not in text and "vars." not in text
    for words in re.findall(r"pip\"? install (.*)", text):
        assert all(re.search(r"==|^-c$|^constraints.txt$|^dist/", one) for one in words.split())


def test_the_workflow_runs_on_every_version_that_we_promise() -> None:
    workflow = yaml.safe_load((ROOT / ".github" / "workflows" / "ci.yml").read_text())
    matrix = workflow["jobs"]["tests"]["strategy"]["matrix"]
    assert matrix["python"] == ["3.11", "3.12", "3.13"]
    assert {name.partition("-")[0] for name in matrix["os"]} == {"ubuntu", "macos"}
    ran = {step.get("run") for job in workflow["jobs"].values() for step in job["steps"]}
    assert {"make check", "make docs", "make test-vllm"} <= ran


@pytest.mark.parametrize("path", DOCKERFILES, ids=lambda path: path.suffix[1:])
def test_what_a_container_installs_resolves(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    (extras,) = re.findall(r'\*\.whl\)\[([\w,]+)\]"', text)
    (pins,) = re.findall(r"-c /pins/(\S+)", text)
    pythons = set(re.findall(r"^FROM python:(3\.\d+)-", text, re.MULTILINE))
    assert len(pythons) == 1
    done = resolve(extras.split(","), pins, *pythons)
    assert done.returncode == 0, done.stderr
    assert ("torch==2.13.0" in done.stdout) == (path.suffix == ".cuda")


def test_a_container_is_built_of_all_that_the_wheel_takes() -> None:
    kept = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    along = re.findall(r'^"?([\w/.-]+)"? = "tablemend/repository/', project, re.MULTILINE)
    assert len(along) == 7
    for name in (*along, "src", "pyproject.toml", "README.md", "LICENSE", "constraints*.txt"):
        assert f"!{name}" in kept
