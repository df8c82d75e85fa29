"""Injected errors: exact places, named types, false beyond doubt, never two in one place."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from random import Random
from typing import Any, get_args

import pytest

from tablemend.datasets.tabfaith.domains import domain_table
from tablemend.datasets.tabfaith.injection import MIX, Injector, Unfaithful, inject
from tablemend.datasets.tabfaith.lookup import read_stated
from tablemend.datasets.tabfaith.periods import read_period
from tablemend.datasets.tabfaith.recomputation import Recomputation
from tablemend.datasets.tabfaith.sheet import Unverbalisable
from tablemend.datasets.tabfaith.summary import Summary
from tablemend.datasets.tabfaith.verbaliser import Verbaliser, verbalise
from tablemend.datasets.tablehallu.sources import find_table
from tablemend.datasets.tablehallu.topics import make_table
from tablemend.records import ClaimError
from tablemend.tables.table import Table, TableError

TYPES: tuple[ClaimError, ...] = get_args(ClaimError)


def tables() -> list[Table]:
    found = [
        domain_table(d, 5, n) for d in ("financial", "clinical", "operations") for n in range(15)
    ]
    return found + [make_table(5, number).table for number in range(15)]


def undone(injected: Unfaithful) -> str:
    """The faithful text, from the errors alone."""
    text = injected.text
    for error in reversed(injected.errors):
        assert text[error.start : error.end] == error.text
        text = text[: error.start] + error.original + text[error.end :]
    return text


def truths(table: Table, injected: Unfaithful) -> list[bool | None]:
    judge = Recomputation(table)
    return [
        judge.holds(fact.operation, {part.role: part.text for part in fact.parts})
        for fact in injected.facts
    ]


def injected_ones(type: ClaimError) -> list[tuple[Table, Summary, Unfaithful]]:
    found = []
    for number, table in enumerate(tables()):
        summary = verbalise(table, number)
        injected = inject(summary, table, number, [type])
        if injected is not None:
            found.append((table, summary, injected))
    return found


@pytest.mark.parametrize("type", TYPES)
def test_one_error_of_each_type_is_undone_by_its_own_record(type: ClaimError) -> None:
    found = injected_ones(type)
    assert len(found) >= 12
    for table, summary, injected in found:
        (error,) = injected.errors
        assert error.type == type and error.text != error.original
        assert undone(injected) == summary.text != injected.text
        scored = truths(table, injected)
        for index, truth in enumerate(scored):
            made_up = type == "TMP" and truth is None  # a period that the table has nowhere
            assert (truth is False or made_up) if index in error.facts else truth is True
        for fact in injected.facts:
            for part in fact.parts:
                assert injected.text[part.start : part.end] == part.text


def test_wrong_numbers_match_no_cell() -> None:
    for table, _, injected in injected_ones("NUM"):
        (error,) = injected.errors
        stated = read_stated(error.text)
        assert stated is not None
        if injected.facts[error.facts[0]].operation == "value":
            assert not Recomputation(table).lookup.has_number(stated.value)


def test_wrong_values_of_relational_errors_stand_in_the_table() -> None:
    for table, _, injected in injected_ones("REL"):
        (error,) = injected.errors
        fact = injected.facts[error.facts[0]]
        stated = read_stated(error.text)
        part = next(
            part for part in fact.parts if (part.start, part.end) == (error.start, error.end)
        )
        if part.role == "value" and stated is not None and not stated.hedge:
            assert Recomputation(table).lookup.has_number(abs(stated.value)), error
        else:
            assert part.role in ("column", "value")


DOMAINS = ("general", "financial", "clinical", "operations")


def many(domain: Any, tried: int, *types: ClaimError) -> list[tuple[Table, Summary, Unfaithful]]:
    """One error of each type in as many summaries of a domain as have room for it."""
    found = []
    for number in range(tried):
        table = make_table(8, number).table
        if domain != "general":
            table = domain_table(domain, 8, number)
        try:
            verbaliser = Verbaliser(table)
            summary = verbaliser.summarise(Random(number))
        except Unverbalisable:
            continue
        injector = Injector(summary, verbaliser)
        for type in types:
            injected = injector.inject([type], Random(f"{number}{type}"))
            if injected is not None:
                found.append((table, summary, injected))
    return found


def beside_digits(text: str) -> str:
    """What a number has around its digits, without a hedge."""
    hedge = r"(?i)^(?:about|roughly|approximately|around|nearly|almost|just \w+|over|more than)"
    return re.sub(r"[\d.,+-]", "", re.sub(hedge, "", text)).strip()


def around(table: Table, row: int, column: int) -> tuple[str, ...]:
    """Unit and scale of a cell: its own, those of its header and of the unit column."""
    header = re.sub(r"^[^(]*", "", table.columns[column])
    units = [i for i, name in enumerate(table.columns) if name == "Unit"]
    cell = beside_digits(table.rows[row][column] or "")
    return (cell, header, *(table.rows[row][i] or "" for i in units))


@pytest.mark.parametrize("domain", DOMAINS)
def test_no_unit_or_scale_gives_an_error_away(domain: str) -> None:
    checked: Counter[str] = Counter()
    for table, summary, injected in many(domain, 75, "REL", "ATT"):
        (error,) = injected.errors
        judge = Recomputation(table)
        for index in error.facts:
            fact, before = injected.facts[index], summary.facts[index]
            role = next(p.role for p in fact.parts if (p.start, p.end) == (error.start, error.end))
            if before.kind in ("attribute", "temporal"):
                continue  # a text has no unit
            checked[error.type] += 1
            if role == "value":
                assert beside_digits(error.text) == beside_digits(error.original), error
                continue
            cell = judge.lookup.cell({part.role: part.text for part in fact.parts})
            assert cell is not None
            assert around(table, *cell) == around(table, *before.cells[0]), (injected.text, error)
    assert checked["REL"] >= 40 and checked["ATT"] >= 15


@pytest.mark.parametrize("domain", DOMAINS)
def test_wrong_numbers_are_off_by_7_to_110_percent_as_printed(domain: str) -> None:
    checked = 0
    for _, _, injected in many(domain, 60, "NUM"):
        (error,) = injected.errors
        one, other = read_stated(error.original), read_stated(error.text)
        assert one is not None and other is not None
        if error.original.isalpha():
            assert error.text.isalpha()  # a count in words stays one
            continue
        checked += 1
        assert 0.0699 <= abs(one.value - other.value) / abs(one.value) <= 1.1001, error
    assert checked >= 35


def test_injected_counts_are_possible() -> None:
    checked = 0
    for domain in DOMAINS:
        for table, _, injected in many(domain, 60, "NUM"):
            (error,) = injected.errors
            fact = injected.facts[error.facts[0]]
            if fact.operation != "count":
                continue
            checked += 1
            counts = {
                bool(other.part("column")): read_stated(part.text)
                for other in injected.facts
                if other.operation == "count"
                and other.sentence == fact.sentence
                and (part := other.part("value")) is not None
            }
            some, whole = counts.get(True), counts.get(False)
            if some is not None:
                assert 1 < some.value <= (len(table.rows) if whole is None else whole.value - 1)
            assert error.text.isdigit() == error.original.isdigit()
    assert checked >= 15


def test_wrong_periods_are_of_the_same_sort() -> None:
    for _, _, injected in injected_ones("TMP"):
        (error,) = injected.errors
        one, other = read_period(error.text), read_period(error.original)
        assert (one is None) == (other is None)
        if one is not None and other is not None:
            assert one.grain == other.grain and one.iso != other.iso


def test_up_to_five_errors_never_share_a_place_or_a_claim() -> None:
    sizes: Counter[int] = Counter()
    for number, table in enumerate(tables()[::2]):
        summary = verbalise(table, f"k{number}", (4, 5))
        for count in range(1, 6):
            injected = inject(summary, table, number, count=count)
            if injected is None:
                continue
            sizes[count] += 1
            assert len(injected.errors) == count
            assert undone(injected) == summary.text
            for before, after in zip(injected.errors, injected.errors[1:], strict=False):
                assert before.end < after.start
            hit = [index for error in injected.errors for index in error.facts]
            assert len(hit) == len(set(hit))
            scored = truths(table, injected)
            assert all(truth is True for i, truth in enumerate(scored) if i not in hit)
            assert all(scored[i] is not True for i in hit)
    assert sizes[1] >= 28 and sizes[3] >= 22 and sizes[5] >= 10


def test_types_are_drawn_by_the_papers_mix() -> None:
    drawn: Counter[str] = Counter()
    for number in range(60):
        table = domain_table("financial", 11, number)
        verbaliser = Verbaliser(table)
        summary = verbaliser.summarise(Random(number), (4, 5))
        injector = Injector(summary, verbaliser)
        injected = injector.inject_mixed(2, Random(f"mix{number}"))
        if injected is not None:
            drawn.update(error.type for error in injected.errors)
    assert sum(MIX.values()) == pytest.approx(100)
    assert [type for type, _ in drawn.most_common(1)] == ["NUM"]
    assert set(drawn) == set(TYPES)


def test_the_same_seed_plants_the_same_errors() -> None:
    table = domain_table("operations", 1, 1)
    summary = verbalise(table, 1)
    assert inject(summary, table, 4, count=2) == inject(summary, table, 4, count=2)
    assert len({inject(summary, table, seed, count=1).text for seed in range(12)}) > 5  # type: ignore[union-attr]


def test_a_summary_without_room_gives_none() -> None:
    rows = [["Alba", "Lyon"], ["Borea", "Graz"], ["Corvo", "Porto"]]
    table = Table.of(["Club", "City"], rows)
    summary = verbalise(table, 0)
    assert inject(summary, table, 0, ["NUM"]) is None
    assert inject(summary, table, 0, ["TMP"]) is None
    assert inject(summary, table, 0, count=5) is None


def test_accidental_truth_is_refused() -> None:
    """Every club has 5 cups: no value and no name can be exchanged without staying true."""
    rows = [["Alba", "5", "Lyon"], ["Borea", "5", "Graz"], ["Corvo", "5", "Porto"]]
    table = Table.of(["Club", "Cups", "City"], rows)
    checked = 0
    for seed in range(40):
        try:
            summary = verbalise(table, seed)
        except Unverbalisable:
            continue
        checked += 1
        for type in ("REL", "ATT"):
            injected = inject(summary, table, seed, [type])
            if injected is not None:
                fact = injected.facts[injected.errors[0].facts[0]]
                assert fact.kind == "attribute"  # only the cities differ
    assert checked >= 10


def test_an_entity_that_a_later_sentence_takes_up_is_not_exchanged() -> None:
    checked = 0
    for number in range(120):
        table = domain_table("operations", 2, number)
        summary = verbalise(table, number)
        carried = {
            part.start
            for fact in summary.facts
            for part in fact.parts
            if part.start < fact.sentence.start
        }
        injected = inject(summary, table, number, ["ATT"])
        if not carried or injected is None:
            continue
        checked += 1
        (error,) = injected.errors
        assert error.start not in carried
    assert checked >= 10


def test_real_tables_take_errors(shared_data: Callable[[str], list[dict[str, Any]]]) -> None:
    made: Counter[str] = Counter()
    for number, record in enumerate(shared_data("wikitablequestions")[:60]):
        try:
            table = find_table(record)
            summary = verbalise(table, number)
        except (Unverbalisable, TableError):
            continue
        made["summaries"] += 1
        injected = inject(summary, table, number, count=2)
        if injected is not None:
            made["injected"] += 1
            assert undone(injected) == summary.text
    assert made["injected"] >= 0.9 * made["summaries"] > 30
