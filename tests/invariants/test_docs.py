"""The examples of the pages on verifying and mending run, and print what the pages say."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tablemend.backends.requests import Request, Sampling
from tablemend.cli.app import main
from tablemend.evidence.files import load_source
from tablemend.tables.read import read_table

ROOT = Path(__file__).parents[2]
DOCS = sorted(page.stem for page in (ROOT / "docs").glob("*.md"))
PAGES = ("verification",)
WITHOUT_OUTPUT = ("evaluation", "own-data", "own-task", "rewards", "verification")
"""Pages with an example of an interface that prints nothing, or what a model says."""
_BLOCK = re.compile(r"^```python\n(.*?)^```\n(?:\n```text\n(.*?)^```)?", re.DOTALL | re.MULTILINE)
_COMMAND = re.compile(r"^    (tablemend .*)$", re.MULTILINE)
_SCRIPT = re.compile(r"\b((?:train|data_gen|eval|benchmarks)/\w+\.py)")

TABLE = "Team,Points\nAlba,41\nSella,37\nVey,12\n"
SUMMARY = "Alba won 41 points. Sella won 39 points."
ANSWER = "| Team | Points |\n|---|---|\n| Alba | 41 |\n| Sella | 39 |\n"
ARTICLE = "Alba won 41 points in 2019. Sella won 37 points in 2019."
QUERY = "List the teams and their points."
REPORT = """<table><tr><th rowspan=2>Segment</th><th colspan=2>2023 ($ millions)</th></tr>
<tr><th>Sales</th><th>Costs</th></tr><tr><td>Hardware</td><td>80,551</td><td>60,002</td></tr>
<tr><td>Software</td><td>120,824</td><td>70,311</td></tr>
<tr><td>Services</td><td>45,002</td><td>31,417</td></tr>
<tr><td>Total</td><td>246,377</td><td>161,730</td></tr></table>"""
FILES = {
    "table.csv": TABLE,
    "summary.txt": SUMMARY,
    "table.md": ANSWER,
    "article.txt": ARTICLE,
    "report.html": REPORT,
    "gold.csv": TABLE,
    "documents.jsonl": json.dumps({"text": SUMMARY, "source": TABLE}) + "\n",
}


@pytest.fixture(autouse=True)
def _files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The files that the pages name, in the working directory."""
    for name, text in FILES.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    monkeypatch.chdir(tmp_path)


def _page(name: str) -> str:
    if name == "CONTRIBUTING":
        return (ROOT / f"{name}.md").read_text(encoding="utf-8")
    return (ROOT / "docs" / f"{name}.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", [*DOCS, "CONTRIBUTING"])
def test_the_python_examples_of_a_page_run(
    name: str, capsys: pytest.CaptureFixture[str], model_server: Callable[..., str]
) -> None:
    names: dict[str, Any] = {
        "text": SUMMARY,
        "source": load_source("table.csv"),
        "answer": ANSWER,
        "table": read_table(ANSWER),
        "requests": [Request("1", ({"role": "user", "content": QUERY},), Sampling(16))],
    }
    blocks = _BLOCK.findall(_page(name))
    assert all(said for _, said in blocks) or name in WITHOUT_OUTPUT
    for code, said in blocks:
        code = re.sub(r"openai:\S+@[^\s\"]+", model_server(), code) if "openai:" in code else code
        exec(compile(code, f"docs/{name}.md", "exec"), names)
        out = capsys.readouterr().out
        assert not said or out == said


@pytest.mark.parametrize("optional", [False, True], ids=["plain", "with what is in brackets"])
@pytest.mark.parametrize("name", PAGES)
def test_the_commands_of_a_page_run(
    name: str,
    optional: bool,
    capsys: pytest.CaptureFixture[str],
    model_server: Callable[..., str],
) -> None:
    commands = _COMMAND.findall(_page(name))
    assert len(commands) >= 3
    for line in commands:
        line = re.sub(r"\[(.*?)\]", r"\1" if optional else "", line)
        line = re.sub(r"--model \S+", f"--model {model_server()}", line)
        assert main(shlex.split(line, comments=True)[1:]) == 0, line
        out = capsys.readouterr().out
        assert "37" in out or "0.5" in out, line


@pytest.mark.parametrize("name", (*PAGES, "logic"))
def test_the_scripts_that_a_page_names_are_there(name: str) -> None:
    for script in _SCRIPT.findall(_page(name)):
        assert (ROOT / script).is_file(), script
