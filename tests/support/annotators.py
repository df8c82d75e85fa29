"""Data sets and answer files for the tests of human verification."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from tablemend.annotation.page import STEPS, Data
from tablemend.cli.app import main
from tablemend.datasets.build import lines_file
from tablemend.records import Example
from tablemend.runs import to_line

Choices = dict[str, dict[str, str | None]]
"""example -> step -> answer"""
SEVERAL = 40


def write_data(folder: Path, examples: Iterable[Example]) -> Path:
    folder.mkdir(parents=True)
    with lines_file(folder / "test.jsonl") as write:
        for example in examples:
            write(to_line(example.to_json()))
    return folder


def all_answers(data: Data, choice: str | None = "yes") -> Choices:
    return {name: dict.fromkeys(STEPS, choice) for name in data.examples}


def write_answers(path: Path, of: Data, by: str, choices: Choices, **changes: Any) -> Path:
    """What the page downloads."""
    answers = [
        {"example": name, "step": step, "answer": choice, "note": ""}
        for name, steps in choices.items()
        for step, choice in steps.items()
    ]
    record = {
        "format": "tablemend-annotation",
        "version": 1,
        "data": of.hash,
        "source": of.source,
        "split": of.split,
        "annotator": by,
        "answers": answers,
    }
    path.write_text(json.dumps({**record, **changes}), encoding="utf-8")
    return path


def refusal(capsys: pytest.CaptureFixture[str], *arguments: str | Path) -> str:
    """The one line with which a command is refused."""
    assert main(["annotate", *map(str, arguments)]) == 2
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 1 and lines[0].startswith("error: ")
    return lines[0]
