"""The verification: it accepts what the engine makes and names each injected violation."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from itertools import chain

import pytest

from tablemend.config import parse
from tablemend.datasets.source_tables.columns import words_of
from tablemend.records import Condition, Example, Fact, Mention
from tablemend.tables.table import Table
from tablemend.tasks.tablehallu.engine import INVALID, examples, open_maker
from tablemend.tasks.tablehallu.settings import Synthesis
from tablemend.tasks.tablehallu.verification import entity_column, rows_of, verify


@pytest.fixture(scope="module")
def example() -> Example:
    """One with a scope outside the key, sorted by a number, and a single condition."""
    for candidate in examples(parse(Synthesis, ["source=pool", "n=200", "seed=5"])):
        conditions = candidate.constraints.conditions
        gold = [fact.entity for fact in candidate.facts if fact.violates is None]
        repeated = any(fact.entity in gold for fact in candidate.facts if fact.violates is not None)
        low, high = conditions[0].low, conditions[0].high
        if len(conditions) == 1 and high and low and "-" not in low and not repeated:
            return candidate
    raise AssertionError("no such example in the stream")


def edited(example: Example, **changes: object) -> Example:
    return replace(example, id="", **changes)  # type: ignore[arg-type]


def gold_index(example: Example, *, blank_row: bool = False) -> int:
    """A gold fact outside key, sort and scope."""
    constraints = example.constraints
    fixed = {constraints.sort_column, example.gold_table.columns[0]}
    fixed |= {condition.column for condition in constraints.conditions}
    return next(
        index
        for index, fact in enumerate(example.facts)
        if fact.violates is None
        and fact.column not in fixed
        and (not blank_row or None in example.gold_table.rows[fact.row])
    )


def blank_of(example: Example) -> tuple[int, str, str]:
    for row, cells in enumerate(example.gold_table.rows):
        for column, cell in zip(example.gold_table.columns, cells, strict=True):
            if cell is None:
                return row, str(cells[0]), column
    raise AssertionError


def append_sentence(example: Example, text: str, facts: list[tuple[str, str]], row: int) -> Example:
    """A recorded distractor sentence at the end of the adversarial context."""
    start = len(example.adversarial_context) + 1
    entity = text.split(" has ")[0]
    added = []
    for column, value in facts:
        at = start + text.index(value)
        place = Mention(at, at + len(value), start, start + len(text))
        violates = example.constraints.conditions[0].column
        added.append(Fact(row, entity, column, value, violates, None, place))
    return edited(
        example,
        adversarial_context=f"{example.adversarial_context} {text}",
        facts=(*example.facts, *added),
    )


def fact_missing(example: Example) -> Example:
    index = gold_index(example)
    table = example.gold_table
    fact = example.facts[index]
    rows = [list(row) for row in table.rows]
    rows[fact.row][table.columns.index(fact.column)] = None
    # The blank of another cell is filled, so that only the stated blank is wrong.
    return edited(example, gold_table=Table.of(table.columns, rows))


def stated_twice(example: Example) -> Example:
    fact = example.facts[gold_index(example)]
    return edited(example, facts=(*example.facts, fact))


def blank_stated_by_a_twin(example: Example) -> Example:
    _, entity, column = blank_of(example)
    condition = example.constraints.conditions[0]
    text = f"{entity} has 9999999999 and Zorvex."
    return append_sentence(
        example, text, [(condition.column, "9999999999"), (column, "Zorvex")], row=9999
    )


def distractor_in_scope(example: Example) -> Example:
    condition = example.constraints.conditions[0]
    value = next(
        fact.value
        for fact in example.facts
        if fact.violates is None and fact.column == condition.column
    )
    text = f"Zimbaloo Kext has {value}."
    return append_sentence(example, text, [(condition.column, value)], row=9999)


def distractor_without_scope(example: Example) -> Example:
    text = "Zimbaloo Kext has 9999999999."
    column = next(
        column
        for column in example.gold_table.columns
        if column != example.constraints.conditions[0].column
    )
    return append_sentence(example, text, [(column, "9999999999")], row=9999)


def gold_out_of_scope(example: Example) -> Example:
    condition = example.constraints.conditions[0]
    narrow = Condition(condition.column, low="9999999998", high="9999999999")
    constraints = replace(example.constraints, conditions=(narrow,))
    return edited(example, constraints=constraints)


def order_reversed(example: Example) -> Example:
    order = "descending" if example.constraints.sort_order == "ascending" else "ascending"
    constraints = replace(example.constraints, sort_order=order)
    query = example.query.replace(example.constraints.sort_order, order)
    return edited(example, constraints=constraints, query=query)


def columns_swapped_in_the_query(example: Example) -> Example:
    first, second = example.gold_table.columns[:2]
    query = example.query.replace(f'"{first}"', "@").replace(f'"{second}"', f'"{first}"')
    return edited(example, query=query.replace("@", f'"{second}"'))


INJECTED: dict[Callable[[Example], Example], str] = {
    fact_missing: "gold fact differs from its cell",
    stated_twice: "gold fact stated twice",
    blank_stated_by_a_twin: "blank attribute stated for its entity",
    distractor_in_scope: "distractor in scope",
    distractor_without_scope: "distractor's scope not stated",
    gold_out_of_scope: "gold row out of scope",
    order_reversed: "rows not in the declared order",
    columns_swapped_in_the_query: "columns not listed in order in the query",
}


@pytest.mark.parametrize("inject", INJECTED, ids=lambda inject: inject.__name__)
def test_an_injected_error_is_named(example: Example, inject: Callable[[Example], Example]) -> None:
    assert verify(example) is None
    assert verify(inject(example)) == INJECTED[inject]


SOURCES = {
    "small world": ["source=small-world", "n=200"],
    "pool": ["source=pool", "n=25"],
    "tables": ["source=data_gen/tables", "n=60", "shape.min_rows=2"],
    "real rows": ["source=data_gen/tables", "n=50", "distractors=real", "shape.min_rows=2"],
    "long": ["source=pool", "n=4", "difficulty=easy"],
    "arithmetic": ["source=pool", "n=6", "arithmetic=true"],
}


@pytest.fixture(scope="module", params=[*SOURCES])
def every_query(request: pytest.FixtureRequest) -> list[list[Example]]:
    """By context: the queries for all of its groups."""
    tokens = [*SOURCES[request.param], "seed=1"]
    maker = open_maker(parse(Synthesis, [*tokens, "queries=99"]))
    made = [maker.make(number) for number in range(parse(Synthesis, tokens).n)]
    assert not any(reason.startswith(INVALID) for reason in maker.rejected)
    one = open_maker(parse(Synthesis, [*tokens, "queries=1"]))
    for number, asked in enumerate(made):
        texts = {example.adversarial_context for example in one.make(number)}
        assert texts == {example.adversarial_context for example in asked}
    return [asked for asked in made if asked]


def test_no_context_is_refused_for_what_is_asked(every_query: list[list[Example]]) -> None:
    """The fixture draws all groups and one: the same contexts come of it, and none is refused."""
    assert sum(map(len, every_query)) >= 2 * len(every_query) > 0
    assert not any(map(verify, chain.from_iterable(every_query)))


def test_nothing_is_said_beside_the_recorded_sentences(every_query: list[list[Example]]) -> None:
    for example in chain.from_iterable(every_query):
        for context in ("clean", "adversarial"):
            places = (getattr(fact, context) for fact in example.facts)
            spans = sorted({place[2:] for place in places if place})
            text = example.context(context)
            ends = [0, *(end for _, end in spans)]
            between = [
                text[end:start].strip()
                for end, (start, _) in zip(ends, [*spans, (None, 0)], strict=True)
            ]
            assert not any(between[1:])
            names = {words_of(fact.entity) for fact in example.facts}
            assert not any(name in words_of(between[0]) for name in names)


def test_queries_name_no_gold_cell_beside_their_scope(every_query: list[list[Example]]) -> None:
    for example in chain.from_iterable(every_query):
        key = entity_column(example)
        asked = {condition.column for condition in example.constraints.conditions}
        said = words_of(
            " ".join(value for c in example.constraints.conditions for value in c.values)
        )
        names = [cell for cell in example.gold_table.column(key) if cell and key not in asked]
        query = words_of(re.sub(r'"[^"]*"', "|", example.query))
        for name in map(words_of, names):
            assert name not in query or name in said, example.query


def test_no_other_cell_of_a_row_names_what_is_blank(every_query: list[list[Example]]) -> None:
    """ "Voice role" beside the blank role."""
    for example in chain.from_iterable(every_query):
        for row, facts in rows_of(example, gold=True).items():
            cells = dict(zip(example.gold_table.columns, example.gold_table.rows[row], strict=True))
            said = [words_of(fact.value) for fact in facts if fact.value != fact.entity]
            blank = [words_of(column) for column, cell in cells.items() if cell is None]
            assert not any(column in value for column in blank for value in said)
