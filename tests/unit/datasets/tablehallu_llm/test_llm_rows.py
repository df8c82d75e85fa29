"""Calls of models with every example, and rows as lines: what is written is read back."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import pytest

from tablemend.config import Source
from tablemend.datasets.tablehallu import small_world
from tablemend.datasets.tablehallu.files import EXAMPLE, encode, example_file
from tablemend.datasets.tablehallu_llm.rows import Rejection, Row
from tablemend.records import Call, Example
from tablemend.tasks.sources import read_examples

CALLS = (
    Call("kernel", 0, "kernel/1", "openai:gpt-4.1", 812, 633, "stop", "rejected"),
    Call("kernel", 1, "kernel/1", "openai:gpt-4.1", 1544, 640, "length", "unreadable"),
    Call("verify_kernel", 0, "verify_kernel/2", "hf:Qwen/Qwen3", 900, 71, "stop", "accepted"),
)


@pytest.fixture(scope="module")
def plain() -> Example:
    return next(small_world.examples(seed=3, n=1))


@pytest.fixture(scope="module")
def called(plain: Example) -> Example:
    return dataclasses.replace(plain, calls=CALLS)


def test_an_example_of_before_has_no_calls(plain: Example) -> None:
    data = plain.to_json()
    assert data.pop("calls") == []
    assert Example.from_json(data) == plain


def test_calls_are_written_and_read_back(plain: Example, called: Example, tmp_path: Path) -> None:
    with example_file(tmp_path / "test.jsonl") as write:
        for example in (plain, called):
            write(encode(example))
    assert read_examples(Source(source=str(tmp_path / "test.jsonl"))) == [plain, called]


def test_the_card_names_every_field(called: Example) -> None:
    assert list(EXAMPLE) == list(Example.__slots__)
    assert list(EXAMPLE["calls"][0]) == [*Call._fields]
    assert json.loads(encode(called)) == json.loads(json.dumps(called.to_json()))


def test_a_row_comes_back(called: Example) -> None:
    rejections = (Rejection("kernel", "no null", 'no cell is null {"a"}\nsaid so', 0),)
    for row in (Row(7, called, rejections, CALLS), Row(8, None, rejections, ()), Row(9, None)):
        assert Row.from_json(json.loads(json.dumps(row.to_json()))) == row
