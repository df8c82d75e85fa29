"""The small world and the skills that the embedded base practises on it."""

from __future__ import annotations

import json
import re
from hashlib import sha256
from random import Random
from typing import Any

import pytest

from tablemend.records import Example
from tablemend.tasks.tablehallu.prompts import quotation
from tablemend.tasks.tablehallu.small_world import ENGINE, SCOPE_COLUMN, Size, example, examples
from tiny_base import skills
from tiny_base.config import Skills, World

ASKED = Size(none=0.0)
"""Every query is for a year of the context, as in practice."""


def test_same_seed_gives_same_bytes_and_other_seed_other_ones() -> None:
    first = [one.to_json() for one in examples(seed=4, n=20)]
    assert first == [example(4, index).to_json() for index in range(20)]
    both = [*examples(4, 50), *examples(5, 50)]
    assert len({one.adversarial_context for one in both}) == 100


def test_the_stream_changes_only_with_its_version() -> None:
    """Bases and data sets name the version alone: another stream needs another one."""
    stream = [*examples(4, 20), *examples(4, 20, queries=2)]
    records = [one.to_json() for one in stream]
    digest = sha256(json.dumps(records, sort_keys=True).encode()).hexdigest()
    golden = "125860a141435372c98d007eb7da1e20ed1c7496495d8b6289db80e41f602fef"
    assert (ENGINE, digest) == ("small-world/5", golden)


def test_twins_are_an_entity_of_another_year_again() -> None:
    """Where each row that can be a twin is one, the distractors are the entities in scope."""
    size = Size(rows=(2, 2), even=1.0, twins=1.0, none=0.0)
    for one in examples(seed=1, n=50, size=size):
        gold = {fact.entity for fact in one.facts if fact.violates is None}
        year = one.constraints.numerical_range
        others = [fact for fact in one.facts if fact.violates is not None]
        assert {fact.entity for fact in others} == gold
        years = {(f.entity, f.value) for f in others if f.column == SCOPE_COLUMN}
        assert len(years) == 6
        assert year not in {value for _, value in years}


def _rows_of(record: Example) -> dict[tuple[str, str], dict[str, str]]:
    """(entity, year) -> column -> value, read back from the adversarial context's facts."""
    rows: dict[tuple[bool, int], dict[str, str]] = {}
    for fact in record.facts:
        rows.setdefault((fact.violates is None, fact.row), {})[fact.column] = fact.value
    (key,) = skills.KEYS & set(record.gold_table.columns)
    return {(row[key], row[SCOPE_COLUMN]): row for row in rows.values()}


def _years_asked(exercise: skills.Practice) -> list[str]:
    return re.findall(r"\b20\d\d\b", exercise.messages[0]["content"].rsplit("Query:", 1)[1])


def test_every_skill_answers_truly() -> None:
    rng = Random(0)
    for record in examples(seed=2, n=60, size=ASKED):
        rows = _rows_of(record)
        quote = skills.quote(record, rng)
        years = _years_asked(quote)
        quoted = quote.target.split("\n")
        assert len(quoted) == len(set(quoted)) == sum(when in years for _, when in rows)
        assert all(line in record.adversarial_context for line in quoted)
        lines = record.adversarial_context.split("\n")
        assert quoted == [line for year in years for line in lines if line[3:7] == year]
        listing = skills.list_entities(record, rng)
        groups = listing.target.removeprefix("They are ").rstrip(".").split("; ")
        for year, group in zip(_years_asked(listing), groups, strict=True):
            stated = [line for line in lines if line[3:7] == year]
            names = [n for line in stated for n, when in rows if when == year and f", {n} " in line]
            assert group.split(", ") == names
            assert len(names) == sum(when == year for _, when in rows)
        asked = skills.look_up(record, rng)
        question = asked.messages[0]["content"].rsplit("Look up: ", 1)[1].rstrip(".")
        answers = asked.target.removeprefix("Found: ").rstrip(".").split(", ")
        for part, answer in zip(question.split(", "), answers, strict=True):
            column, _, where = part.partition(" of ")
            name, _, when = where.partition(" in ")
            row = _rows_of(record)[name, when]
            assert row.get(column.strip('"'), "-") == answer
        ranked = skills.sort(record, rng)
        descending = "descending" in ranked.messages[0]["content"]
        given = ranked.messages[0]["content"].rsplit(" order: ", 1)[1].rstrip(".").split("; ")
        parts = ranked.target.removeprefix("Sorted: ").rstrip(".").split("; ")
        for question, part in zip(given, parts, strict=True):
            asked_pairs = [entry.rsplit(" ", 1) for entry in question.split(", ")]
            pairs = [entry.split(" ", 1) for entry in part.split(", ")]
            assert sorted(pairs) == sorted([value, name] for name, value in asked_pairs)
            values = [int(value) for value, _ in pairs]
            assert values == sorted(values, reverse=descending)


def test_every_skill_has_a_share_in_the_recipe_and_the_reverse() -> None:
    assert set(Skills.model_fields) == set(skills.SKILLS)


WORLD = {"groups": 20, "rows": (1, 2), "attributes": (2, 4), "twins": 0.5, "descending": 0.0}


@pytest.mark.parametrize(
    "bounds",
    [
        {"groups": 2, "rows": (1, 1), "attributes": (2, 2), "twins": 0.0},
        {"groups": 2, "rows": (1, 1), "attributes": (2, 2), "twins": 1.0},
        {"groups": 20, "rows": (1, 1), "attributes": (4, 4), "twins": 1.0},
        {"groups": 20, "rows": (2, 2), "attributes": (4, 4), "twins": 0.0},
        {"groups": 5, "rows": (8, 8), "attributes": (2, 4), "twins": 0.0},
        {"groups": 5, "rows": (1, 8), "attributes": (2, 4), "twins": 1.0},
    ],
)
def test_the_widest_and_the_smallest_world_can_be_made(bounds: dict[str, Any]) -> None:
    world = World.model_validate(WORLD | bounds)
    for one in examples(seed=7, n=20, size=Size(**world.model_dump(), none=0.0)):
        low, high = world.rows
        assert low <= len(one.gold_table.rows) <= high
        assert len({year for _, year in _rows_of(one)}) == world.groups


def test_practice_asks_for_no_year_that_no_row_has() -> None:
    """There is no text to copy, to quote or to write a table from; all else is the same."""
    shares = dict.fromkeys(skills.SKILLS, 1.0)
    asked = [
        [skills.practice(0, n, shares, Size(none=none)) for n in range(200)] for none in (0, 1)
    ]
    assert asked[0] == asked[1]
    for exercise in asked[1]:
        assert exercise.target.strip()
        assert "Context:\n\n" not in exercise.messages[0]["content"]


def test_no_exercise_is_a_table_from_an_adversarial_context() -> None:
    shares = dict.fromkeys(skills.SKILLS, 1.0)
    kinds = set()
    for index in range(300):
        exercise = skills.practice(0, index, shares, Size())
        record = example(skills.PRACTICE_SEED, index, ASKED)
        kinds.add(exercise.skill)
        text = exercise.messages[0]["content"]
        if exercise.skill in ("table", "plain_table", "quoted_table", "repeat"):
            assert record.gold_context in text
            assert record.adversarial_context not in text
        else:
            assert "####" not in exercise.target
            assert "|" not in exercise.target
    assert kinds == set(skills.SKILLS)


def test_quoted_tables_quote_with_thinking_on() -> None:
    record = example(2, 0, ASKED)
    exercise = skills.quoted_table(record, Random(0))
    assert exercise.thinking == "quote"
    assert exercise.target.startswith(f"<think>\n{record.gold_context}\n</think>\n\n####")


def test_quotation_states_every_gold_fact_and_no_other() -> None:
    for record in examples(seed=6, n=50):
        text = quotation(record, "adversarial")
        sentences = set(text.split("\n"))
        for fact in record.facts:
            mention = fact.adversarial
            whole = record.adversarial_context[mention.sentence_start : mention.sentence_end]
            assert (whole in sentences) == (fact.violates is None)
