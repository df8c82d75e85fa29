"""Thoughts in lists: every list follows from the one before it and from the query."""

from __future__ import annotations

import json

import pytest

from tablemend.config import parse
from tablemend.records import Example
from tablemend.tasks.tablehallu import small_world
from tablemend.tasks.tablehallu.engine import examples
from tablemend.tasks.tablehallu.prompts import NOTHING, NoListing, listing, target
from tablemend.tasks.tablehallu.settings import Synthesis
from tablemend.tasks.tablehallu.verification import meets

SETS = {
    "pool": ["source=pool", "n=40", "seed=8"],
    "real": ["recipe=wikipedia-data", "source=data_gen/tables", "n=80", "distractors=real"],
}


@pytest.fixture(scope="module", params=[*SETS])
def made(request: pytest.FixtureRequest) -> list[Example]:
    return list(examples(parse(Synthesis, SETS[request.param])))


def items(line: str) -> list[str]:
    listed = line.split(": ", 1)[1]
    return [] if listed == NOTHING else listed.split(" | ")


def test_a_thought_to_the_letter() -> None:
    example = small_world.example(seed=1, index=1)
    lists = [
        "Year: 2024 Rin Sem | 2024 Cem Bru | 2021 Bor Mak | 2024 Wel Rek | 2019 Cem Bru | "
        "2021 Gal Dan | 2020 Gal Dan | 2019 Wel Rek | 2019 Dor Lod | 2020 Wel Rek",
        "2024: 2024 Rin Sem | 2024 Cem Bru | 2024 Wel Rek",
        "Fans: 6 Rin Sem | 2 Cem Bru | 9 Wel Rek",
        "Fans, ascending: 2 Cem Bru | 6 Rin Sem | 9 Wel Rek",
    ]
    assert listing(example).split("\n") == lists
    lists[0] = "Year: 2024 Rin Sem | 2024 Cem Bru | 2024 Wel Rek"
    written = target(example, "clean", "list")
    assert written.startswith("\n".join(["<think>", *lists, "</think>", "", "####"]))


def test_lists_are_filtered_and_sorted(made: list[Example]) -> None:
    seen = set()
    for example in made:
        lines = listing(example).split("\n")
        column, order = example.constraints.sort_column, example.constraints.sort_order
        assert lines[-1].startswith(f"{column}, {order}: ")
        cells = example.gold_table.column(column)
        ordered = items(lines[-1])
        assert len(ordered) == len(cells) and all(map(str.startswith, ordered, cells))
        every, kept = items(lines[0]), items(lines[1])
        places = iter(every)
        assert all(one in places for one in kept)  # in the same order
        if len(example.constraints.conditions) > 1:
            continue
        (condition,) = example.constraints.conditions
        names = {fact.entity for fact in example.facts if fact.violates in (None, condition.column)}
        for one in every:
            values = [one[: -len(name) - 1] for name in names if one.endswith(f" {name}")]
            # a row by its name alone is asked for by that
            assert any(meets(value, condition) for value in values or [one]) == (one in kept), one
        seen.add((condition.low is None, condition.high is None))
    # no low end, no high end; real rows alone make no groups by category here
    open_ends = {(False, True), (True, False)}
    categories = {(True, True)} if made[0].source == "pool" else set()
    assert open_ends | categories < seen


def test_only_the_context_s_own_rows_are_listed(made: list[Example]) -> None:
    for example in made:
        every, kept = map(items, listing(example, "clean").split("\n")[:2])
        assert every == kept
        assert sorted(kept) == sorted(items(listing(example).split("\n")[1]))


@pytest.mark.parametrize("mark", ["|", "\\n"])
def test_a_value_with_a_mark_of_the_lists_has_no_thought(mark: str) -> None:
    text = json.dumps(small_world.example(seed=1, index=1).to_json())
    marked = Example.from_json(json.loads(text.replace("Rin Sem", f"Rin{mark}Sem")))
    with pytest.raises(NoListing, match=r"a value with a line break"):
        listing(marked)
