"""Every command on every page is run: for real where it reads files, else with ``--check``.

What needs a network, a daemon or a GPU before it could say anything is parsed alone (``PARSED``);
what ``make`` and ``pip`` are given is in test_repository.py and test_installing.py. LAB_LOG.md is
left out: it holds the commands of their days.
"""

from __future__ import annotations

import argparse
import json
import re
import runpy
import shlex
import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple
from xml.etree import ElementTree

import pytest

from tablemend.cli.app import main
from tablemend.config import Part, Source
from tablemend.script import SCRIPTS
from tablemend.tables.jsontable import find_table
from tablemend.tasks.all_tasks import TASKS as TASKS_OF_US
from tablemend.tasks.sources import read_chats
from tablemend.training import plan
from tests.support.scripts import ROOT, run_captured

PAGES = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "FOOTGUNS.md")),
    *sorted(path for folder in ("docs", "results") for path in (ROOT / folder).glob("*.md")),
    ROOT / "data_gen" / "tables" / "README.md",
    ROOT / "checkpoints" / "tiny-base" / "build" / "README.md",
]
HEADS = [
    *sorted(path for name in ("recipes", "accelerate_configs") for path in (ROOT / name).iterdir()),
    *sorted((ROOT / "docker").iterdir()),
]
PARSED = (
    *("cd", "docker", "git", "inspect", "lm-eval", "pip", "pre-commit", "source"),
    *("transformers", "uv", "vllm"),
)
"""Programs whose commands are parsed and not run."""
STARTS = re.compile(
    r"(?:[A-Z_]+=\S+ )*(?:\S*bin/)?"
    rf"(?:accelerate|make|python3?|sbatch|tablemend|{'|'.join(PARSED)})(?: |$)"
)
FENCE = re.compile(r"^```([^\n]*)\n(.*?)^```", re.MULTILINE | re.DOTALL)
TASKS = {command: script for script, command in SCRIPTS.items()}
STANDS_FOR = {
    "MODEL@URL": "MODEL@http://localhost:8000/v1",
    "recipe=NAME": "recipe=tiny",
    "--query TEXT": "--query 'List the teams.'",
}
"""What a reader puts in the place of a word."""


class Command(NamedTuple):
    """A line that a page has its reader type."""

    page: str
    line: str


def _lines(page: Path) -> Iterator[str]:
    """The lines of a page's code without a language, and what is code within its sentences."""
    text = page.read_text(encoding="utf-8").replace("\\\n", " ")
    blocks = [body for language, body in FENCE.findall(text) if not language]
    rest = FENCE.sub("", text)
    blocks += re.findall(r"^    (.*)$", rest, re.MULTILINE)
    for line in "\n".join(blocks).splitlines():
        if line.strip() and not line.lstrip().startswith(("#", "<!--")):
            yield line.strip()
    code = (" ".join(found.split()) for found in re.findall(r"`([^`]+)`", rest))
    yield from (one for one in code if STARTS.match(one) and " " in one)


def _head(path: Path) -> Iterator[str]:
    """The commands in a file's first comment."""
    text = path.read_text(encoding="utf-8")
    comment = re.sub(r"^#!.*\n", "", text)
    found = re.match(r"(?:#.*\n)*", comment)
    assert found is not None
    for line in re.sub(r"\\\n#\s*", "", found[0]).splitlines():
        said = re.fullmatch(r"#   +(.*)|#.*?\bThen: (.*)", line)
        line = (said[1] or said[2]).strip() if said else ""
        if STARTS.match(line):
            yield line


def _commands() -> Iterator[Command]:
    for page, lines in [*((page, _lines(page)) for page in PAGES), *((h, _head(h)) for h in HEADS)]:
        for line in lines:
            for part in re.split(r" && ", re.sub(r"\s#.*|;.*", "", line)):
                yield Command(page.relative_to(ROOT).as_posix(), part.strip())


def _variants(line: str) -> Iterator[list[str]]:
    """The words of a line, without and with what stands in brackets."""
    for word, meant in STANDS_FOR.items():
        line = line.replace(word, meant)
    optional = re.compile(r"(?<![:,]) \[([^\]]*)\]")
    whole = optional.sub(lambda m: f" {m[1].split(' | ')[0]}", line)
    for kept in dict.fromkeys((optional.sub("", line), whole)):  # in the same order everywhere
        words = shlex.split(kept)
        while re.match(r"[A-Z_]+=", words[0]):
            words.pop(0)
        if ">" in words:
            words = words[: words.index(">")]
        yield words


ALL = [one for one in dict.fromkeys(_commands()) if STARTS.match(one.line)]
SCRIPTED: dict[str, str] = {}
"""Each command that runs one of our scripts, once, and the first page that has it."""
TYPED: dict[str, str] = {}
"""The same of the commands that read files."""
OTHERS: list[Command] = []


def _script(words: list[str]) -> list[str] | None:
    """The script that a command runs, with its arguments."""
    if words[0] == "tablemend":
        for length in (2, 1):
            if script := TASKS.get(" ".join(words[1 : 1 + length])):
                return [script, *words[1 + length :]]
        return None
    for place, word in enumerate(words):
        if word == "-m" and words[place + 1].startswith("benchmarks."):
            return [f"{words[place + 1].replace('.', '/')}.py", *words[place + 2 :]]
        if word.endswith(".py"):
            return words[place:]
    return None


for command in ALL:
    for words in _variants(command.line):
        if script := _script(words):
            SCRIPTED.setdefault(shlex.join(script), command.page)
        elif words[0] == "tablemend":
            TYPED.setdefault(shlex.join(words[1:]), command.page)
        else:
            OTHERS.append(Command(command.page, shlex.join(words)))


def test_code_without_a_language_is_commands() -> None:
    """Else a command with another program would never be run."""
    assert [one for one in _commands() if not STARTS.match(one.line)] == []
    assert {one.page for one in ALL} >= {"README.md", "docs/training.md", "recipes/tiny.yaml"}


class _Parsed(SystemExit):
    """A program with argparse has understood its arguments."""


@pytest.mark.parametrize("line", SCRIPTED)
def test_a_script_of_a_page_passes_its_check(
    line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in re.findall(r"FOLDER/([\w./]+)", line):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    (tmp_path / "people.jsonl").touch()
    for name, meant in (("FOLDER", ""), ("people.jsonl", "people.jsonl"), ("handed-in/*", "*")):
        line = line.replace(name, f"{tmp_path}/{meant}".rstrip("/"))
    (tmp_path / "handed.csv").touch()
    words = shlex.split(line)
    assert (ROOT / words[0]).is_file(), words[0]
    if "..." in line:  # the reader's own go there
        return
    monkeypatch.setattr(plan, "plan_of", lambda *_: ())  # test_recipes_planned.py makes them
    monkeypatch.setattr("tablemend.evaluation.plan.plan_of", lambda *_: ())  # its tests
    monkeypatch.setattr("tablemend.reproduction.reproduce.refuse", lambda *_: None)
    parse = argparse.ArgumentParser.parse_args

    def parse_and_stop(self: Any, *args: Any, **kwargs: Any) -> None:
        parse(self, *args, **kwargs)
        raise _Parsed(0)

    uses_argparse = "argparse" in (ROOT / words[0]).read_text(encoding="utf-8")
    monkeypatch.setattr(argparse.ArgumentParser, "parse_args", parse_and_stop)
    monkeypatch.setattr(sys, "argv", [*words, *(() if uses_argparse else ("--check",))])
    monkeypatch.chdir(ROOT)
    ended = SystemExit(0)
    try:
        runpy.run_path(str(ROOT / words[0]), run_name="__main__")
    except SystemExit as error:
        ended = error
    assert ended.code in (None, 0), f"{SCRIPTED[line]}: {capsys.readouterr().err}"
    assert uses_argparse == isinstance(ended, _Parsed)


TABLE = "Team,Points\nAlba,41\nSella,37\nVey,12\n"
FILES = {
    "documents.jsonl": json.dumps({"text": "Sella won 39 points.", "source": TABLE}) + "\n",
    "table.md": "| Team | Points |\n|---|---|\n| Alba | 41 |\n| Sella | 39 |\n",
}
"""What pages name beside the files of docs/example and of docs/own-data.md."""
ALSO = {"ANSWER": "answer.md", "GOLD": "table.csv", "C": "article.txt", "TEXT": "summary.txt"}
ALSO |= {"TABLE": "table.csv"}
STATUS = {"--fail-on": 3, "--min-score": 3}


def own_data() -> dict[str, str]:
    """The files that docs/own-data.md shows whole."""
    text = (ROOT / "docs" / "own-data.md").read_text(encoding="utf-8")
    return dict(re.findall(r'^```json title="([\w.]+)"\n(.*?)^```', text, re.MULTILINE | re.DOTALL))


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with all files that commands name, as the working directory."""
    shutil.copytree(ROOT / "docs" / "example", tmp_path, dirs_exist_ok=True)
    for name, text in (FILES | own_data()).items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


READING = [line for line in TYPED if line.split()[0] in "detect verify mend where audit".split()]


@pytest.mark.parametrize("line", READING)
def test_a_command_of_a_page_runs(
    line: str, files: Path, model_server: Callable[..., str], capsys: pytest.CaptureFixture[str]
) -> None:
    words = [ALSO.get(word, word) for word in shlex.split(line)]
    for place, word in enumerate(words):
        if word in ("--model", "--verifier"):
            model = re.compile(r"(?:openai|vllm|hf):\S+|MODEL$")
            words[place + 1] = model.sub(model_server(), words[place + 1])
    if len(words) == 1:  # named in a sentence
        words.append("--help")
    status = next((STATUS[word] for word in words if word in STATUS), 0)
    assert main(words) == status, (TYPED[line], capsys.readouterr().err)
    assert capsys.readouterr().out.strip()


def test_only_annotation_is_tested_elsewhere() -> None:
    """Its page is a round of people: tests/unit/annotation has their answers."""
    assert {line.split()[0] for line in TYPED if line not in READING} == {"annotate"}
    assert main(["annotate", "export", "--help"]) == 0
    assert main(["annotate", "report", "--help"]) == 0


def test_other_commands_are_of_programs_that_are_parsed_or_made() -> None:
    targets = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert OTHERS
    for page, line in OTHERS:
        words = shlex.split(line)
        program = words[0].rpartition("/")[2]
        if program == "make":
            assert re.search(rf"^{words[1]}:", targets, re.MULTILINE), (page, line)
        elif program == "cd":
            assert (ROOT / words[1]).is_dir() or words[1] == "tablemend", (page, line)
        elif program in ("accelerate", "python", "python3"):
            served = ["-m", "vllm.entrypoints.openai.api_server"]
            assert (
                words[1:] == ["launch"]
                or words[1:3] in (served, ["-m", "venv"])
                or (words[1:4] == ["launch", "-m", "tablemend"])
            ), (page, line)
        elif program != "sbatch":
            assert program in PARSED, (page, line)


@pytest.mark.parametrize("line", sorted({one.line for one in ALL if "--config_file" in one.line}))
def test_a_launch_names_a_config_that_is_there(line: str) -> None:
    words = shlex.split(line)
    assert (ROOT / words[words.index("--config_file") + 1]).is_file()


def test_the_first_commands_say_what_the_pages_show(
    files: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["verify", "summary.txt", "table.csv"]) == 0
    said = capsys.readouterr().out
    assert f"```text\n{said}```" in (ROOT / "README.md").read_text(encoding="utf-8")
    picture = ElementTree.parse(ROOT / "docs" / "images" / "verify.svg")
    shown = ["".join(text.itertext()) for text in picture.iter("{http://www.w3.org/2000/svg}text")]
    for line in said.replace("[[", "").replace("]]", "").splitlines():
        assert not line or line in shown
    command = "detect answer.md table.csv --context article.txt --query-file query.txt"
    assert main(command.split()) == 0
    said = capsys.readouterr().out
    assert f"```text\n{said}```" in (ROOT / "docs" / "quickstart.md").read_text(encoding="utf-8")


def test_the_smallest_tables_chats_and_samples_are_read(files: Path) -> None:
    assert len(own_data()) == 8
    table = find_table(json.loads((files / "tables.jsonl").read_text(encoding="utf-8")))
    assert (table.title, table.columns) == ("League", ("Team", "Wins", "Points"))
    chats = Part(source="chats.jsonl", content="messages", split=None, n=1, share=1)
    assert read_chats(chats)[0].answer == "41"
    for task, name in (
        ("table_generation", "examples.jsonl"),
        ("table_summary", "summaries.jsonl"),
        ("claim_verification", "claims.jsonl"),
    ):
        record = json.loads((files / name).read_text(encoding="utf-8"))
        (found,) = TASKS_OF_US[task]().samples(Source(source=name, split=None, n=1))
        assert found.source_hash
        for field in record.keys() - {"source_hash"}:  # the smallest: each is needed
            with pytest.raises(ValueError, match=field):
                TASKS_OF_US[task]().sample({n: own for n, own in record.items() if n != field})


def test_answers_given_elsewhere_are_compared(files: Path) -> None:
    (line,) = (one.line for one in ALL if one.line.endswith("run=runs/own"))
    words = _script(shlex.split(line))
    assert words is not None
    done = run_captured(*words, folder=files)
    assert done.returncode == 0, done.stderr
    found = json.loads((files / "runs" / "own" / "results.json").read_text(encoding="utf-8"))
    rates = found["systems"]["base"]["adversarial"]
    assert (rates["total_hallu"]["rate"], rates["row_recall"]["rate"]) == (0, 1)
