"""What every data set's card is made of."""

from __future__ import annotations

import pytest
import yaml
from pydantic import Field

from tablemend.config import Section
from tablemend.datasets.card import command_of, table_of, write_card
from tablemend.records import Example


class Settings(Section):
    n: int = 1
    name: str | None = "a"
    inner: dict[str, int] = Field(default_factory=dict)
    flags: list[bool] = Field(default_factory=list)


def test_a_card_has_a_head_for_programs_and_parts_for_people() -> None:
    datasets = pytest.importorskip("datasets")
    card = write_card(
        ["# Title", "", "Text."],
        categories=["text-generation"],
        tags=["tables"],
        files={"test": "test.jsonl"},
        record=Example,
    )
    _, text, body = card.split("---\n")
    head = yaml.safe_load(text)
    assert head["configs"][0]["data_files"] == [{"split": "test", "path": "test.jsonl"}]
    assert body == "\n# Title\n\nText.\n"
    found = datasets.Features._from_yaml_list(head["dataset_info"]["features"])
    assert found["gold_table"]["rows"] == datasets.List(datasets.List(datasets.Value("string")))
    assert found["facts"].feature["clean"] == datasets.List(datasets.Value("int64"))
    assert found["constraints"]["conditions"].feature["low"] == datasets.Value("string")
    assert found["seed"] == datasets.Value("int64")


def test_tables_escape_bars_and_are_nothing_without_rows() -> None:
    assert table_of("a | b", {}) == ""
    assert (
        table_of("a | b | c", {"x|y": (1, 2)})
        == "| a | b | c |\n|---|---:|---:|\n| x\\|y | 1 | 2 |"
    )


def test_a_command_names_what_differs_from_the_defaults() -> None:
    settings = Settings(n=2, name=None, inner={"k": 3}, flags=[True])
    line = command_of("x.py", settings, {"seed": 1}, left_out=["n"])
    assert line == "```\npython data_gen/x.py seed=1 name=null inner.k=3 'flags=[true]'\n```"
