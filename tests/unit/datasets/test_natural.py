"""The test set in natural English: what is committed is what its texts make, and nothing leaks."""

from __future__ import annotations

import json
from collections.abc import Callable
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

import pytest

from tablemend.errors import TablemendError

ROOT = Path(__file__).parents[3]
FOLDER = ROOT / "data_gen" / "natural"
_SPEC = spec_from_file_location("natural", FOLDER / "build.py")
assert _SPEC and _SPEC.loader
natural = module_from_spec(_SPEC)
_SPEC.loader.exec_module(natural)

RECORDS = [json.loads(line) for line in (FOLDER / "contexts.jsonl").read_text("utf-8").splitlines()]


@pytest.mark.parametrize("split", natural.SPLITS)
def test_the_examples_are_those_of_the_texts(split: str) -> None:
    made = [
        one.to_json()
        for record in RECORDS
        if record["split"] == split
        for one in natural.examples_of(record)
    ]
    lines = (FOLDER / f"{split}.jsonl").read_text("utf-8").splitlines()
    assert [json.loads(line) for line in lines] == json.loads(json.dumps(made))
    assert len({one["adversarial_context"] for one in made}) == len(made) / 2


def test_no_table_is_in_two_splits_or_in_the_tables_of_the_repository() -> None:
    tables = {split: set[str]() for split in natural.SPLITS}
    for record in RECORDS:
        tables[record["split"]].add(record["source_hash"])
    assert not tables["validation"] & tables["test"]
    lines = (ROOT / "data_gen" / "tables" / "wikipedia.jsonl").read_text("utf-8").splitlines()
    known = [{cell for row in json.loads(line)["rows"] for cell in row if cell} for line in lines]
    for record in RECORDS:
        if record["split"] == "test":
            rows = [set(row.values()) for row in record["rows"] if len(row) > 2]
            assert not any(sum(row <= one for row in rows) >= 3 for one in known), record["id"]


def test_a_text_has_no_cell_that_its_row_leaves_out() -> None:
    for record in RECORDS:
        for row in record["read"]:
            assert set(row) <= set(record["columns"])
        assert len(record["read"]) == len(record["rows"])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda one: one["read"][0].pop(next(iter(one["read"][0]))), "another table"),
        (lambda one: one["read"].pop(), "another table"),
        (lambda one: one["queries"][0]["gold"].pop(), "meet the query"),
        (lambda one: one["queries"][0]["gold"].reverse(), "order"),
        (lambda one: one["queries"][0].update(query="A table, please."), "columns not listed"),
    ],
)
def test_what_does_not_agree_is_refused(change: Callable[[Any], object], message: str) -> None:
    record = json.loads(json.dumps(RECORDS[1]))
    change(record)
    with pytest.raises(TablemendError, match=message):
        list(natural.examples_of(record))


def test_there_is_no_clean_context() -> None:
    example = next(natural.examples_of(RECORDS[0]))
    with pytest.raises(TablemendError, match="no clean context"):
        example.context("clean")
