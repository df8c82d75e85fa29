"""A small data set, and what a refused command says."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from tablemend.records import Example
from tablemend.tasks.tablehallu import small_world
from tests.support.annotators import SEVERAL, refusal, write_data


@pytest.fixture(scope="module")
def examples() -> list[Example]:
    return list(small_world.examples(seed=3, n=SEVERAL))


@pytest.fixture
def folder(tmp_path: Path, examples: list[Example]) -> Path:
    return write_data(tmp_path / "data", examples)


@pytest.fixture
def refused(capsys: pytest.CaptureFixture[str]) -> Callable[..., str]:
    return partial(refusal, capsys)
