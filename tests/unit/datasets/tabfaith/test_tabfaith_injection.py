"""Injected errors: exact places, named types, false beyond doubt, never two in one place."""

from __future__ import annotations

import re
from collections import Counter
from itertools import pairwise
from random import Random
from typing import NamedTuple

import pytest

from tablemend.datasets.tabfaith.domains import DOMAINS, domain_table
from tablemend.datasets.tabfaith.edits import MIX
from tablemend.datasets.tabfaith.injection import Injector, Unfaithful, inject
from tablemend.datasets.tabfaith.lookup import read_stated
from tablemend.datasets.tabfaith.recomputation import Recomputation
from tablemend.datasets.tabfaith.sheet import Unverbalisable
from tablemend.datasets.tabfaith.summary import InjectedError, Role, Summary
from tablemend.datasets.tabfaith.verbaliser import Verbaliser, verbalise
from tablemend.datasets.tablehallu.topics import make_table
from tablemend.records import CLAIM_ERRORS
from tablemend.tables.table import Table
from tablemend.values.periods import read_period


class Case(NamedTuple):
    """A summary with one error."""

    table: Table
    summary: Summary
    injected: Unfaithful

    @property
    def error(self) -> InjectedError:
        (error,) = self.injected.errors
        return error

    @property
    def role(self) -> Role:
        """Of the wrong words, in the first claim that they make false."""
        fact = self.injected.facts[self.error.facts[0]]
        places = {(part.start, part.end): part.role for part in fact.parts}
        return places[self.error.start, self.error.end]


def tables(seed: int, n: int) -> list[Table]:
    return [
        make_table(seed, number).table
        if domain == "general"
        else domain_table(domain, seed, number)
        for domain in DOMAINS
        for number in range(n)
    ]


@pytest.fixture(scope="module")
def cases() -> dict[str, list[Case]]:
    """Errors of each type, one a summary."""
    found: dict[str, list[Case]] = {type: [] for type in CLAIM_ERRORS}
    for number, table in enumerate(tables(8, 18)):
        try:
            verbaliser = Verbaliser(table)
            summary = verbaliser.summarise(Random(number))
        except Unverbalisable:
            continue
        injector = Injector(summary, verbaliser)
        for type in CLAIM_ERRORS:
            injected = injector.inject([type], Random(f"{number}{type}"))
            if injected is not None:
                found[type].append(Case(table, summary, injected))
    return found


def undone(injected: Unfaithful) -> str:
    """The faithful text, from the errors alone."""
    text = injected.text
    for error in reversed(injected.errors):
        assert text[error.start : error.end] == error.text
        text = text[: error.start] + error.original + text[error.end :]
    return text


def truths(table: Table, injected: Unfaithful) -> list[bool | None]:
    recomputation = Recomputation(table)
    return [
        recomputation.holds(fact.operation, {part.role: part.text for part in fact.parts})
        for fact in injected.facts
    ]


@pytest.mark.parametrize("type", CLAIM_ERRORS)
def test_one_error_is_undone_by_its_own_record(cases: dict[str, list[Case]], type: str) -> None:
    assert len(cases[type]) >= 20
    for case in cases[type]:
        error, injected = case.error, case.injected
        assert error.type == type and error.text != error.original
        assert undone(injected) == case.summary.text != injected.text
        for index, truth in enumerate(truths(case.table, injected)):
            made_up = type == "TMP" and truth is None  # a period that the table has nowhere
            assert (truth is False or made_up) if index in error.facts else truth is True
        for fact in injected.facts:
            for part in fact.parts:
                assert injected.text[part.start : part.end] == part.text


def test_wrong_numbers_match_no_cell_and_are_off_by_7_to_110_percent(
    cases: dict[str, list[Case]],
) -> None:
    for case in cases["NUM"]:
        one, other = read_stated(case.error.original), read_stated(case.error.text)
        assert one is not None and other is not None
        fact = case.injected.facts[case.error.facts[0]]
        if fact.operation == "value":
            assert not Recomputation(case.table).lookup.has_number(other.value)
        if fact.operation == "count":
            assert case.error.text.isdigit() == case.error.original.isdigit()
            assert "column" not in {part.role for part in fact.parts} or (
                1 < other.value <= len(case.table.rows)
            )
        if not case.error.original.isalpha():
            assert 0.0699 <= abs(one.value - other.value) / abs(one.value) <= 1.1001, case.error


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


@pytest.mark.parametrize("type", ["REL", "ATT"])
def test_no_unit_or_scale_gives_an_error_away(cases: dict[str, list[Case]], type: str) -> None:
    checked = 0
    for case in cases[type]:
        error, lookup = case.error, Recomputation(case.table).lookup
        for index in error.facts:
            fact, before = case.injected.facts[index], case.summary.facts[index]
            if before.kind in ("attribute", "temporal"):
                continue  # a text has no unit
            checked += 1
            if case.role == "value":
                assert beside_digits(error.text) == beside_digits(error.original), error
                stated = read_stated(error.text)
                assert stated is not None
                assert stated.hedge or lookup.has_number(abs(stated.value)), error
                continue
            cell = lookup.cell({part.role: part.text for part in fact.parts})
            assert cell is not None
            assert around(case.table, *cell) == around(case.table, *before.cells[0]), error
    assert checked >= 15


def test_wrong_periods_are_of_the_same_sort(cases: dict[str, list[Case]]) -> None:
    for case in cases["TMP"]:
        one, other = read_period(case.error.text), read_period(case.error.original)
        assert (one is None) == (other is None)
        if one is not None and other is not None:
            assert one.grain == other.grain and one.iso != other.iso


def test_an_entity_that_a_later_sentence_takes_up_is_not_exchanged(
    cases: dict[str, list[Case]],
) -> None:
    for case in cases["ATT"]:
        carried = {
            part.start
            for fact in case.summary.facts
            for part in fact.parts
            if part.start < fact.sentence.start
        }
        assert case.error.start not in carried


def test_up_to_five_errors_never_share_a_place_or_a_claim() -> None:
    sizes: Counter[int] = Counter()
    for number, table in enumerate(tables(5, 3)):
        summary = verbalise(table, f"k{number}", (4, 5))
        for count in (1, 3, 5):
            injected = inject(summary, table, number, count=count)
            if injected is None:
                continue
            sizes[count] += 1
            assert len(injected.errors) == count and undone(injected) == summary.text
            assert all(one.end < other.start for one, other in pairwise(injected.errors))
            hit = [index for error in injected.errors for index in error.facts]
            assert len(hit) == len(set(hit))
            for index, truth in enumerate(truths(table, injected)):
                assert (truth is True) == (index not in hit)
    assert sizes[1] >= 10 and sizes[3] >= 8 and sizes[5] >= 3


def test_types_are_drawn_by_the_papers_mix_and_by_the_seed() -> None:
    drawn: Counter[str] = Counter()
    for number in range(40):
        table = domain_table("financial", 11, number)
        verbaliser = Verbaliser(table)
        injector = Injector(verbaliser.summarise(Random(number), (4, 5)), verbaliser)
        injected = injector.inject_mixed(2, Random(f"mix{number}"))
        assert injected == injector.inject_mixed(2, Random(f"mix{number}"))
        drawn.update(error.type for error in injected.errors if injected)  # type: ignore[union-attr]
    assert sum(MIX.values()) == pytest.approx(100)
    assert drawn.most_common(1)[0][0] == "NUM" and set(drawn) == set(CLAIM_ERRORS)


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
    for seed in range(20):
        try:
            summary = verbalise(table, seed)
        except Unverbalisable:
            continue
        checked += 1
        for injected in (
            inject(summary, table, seed, ["REL"]),
            inject(summary, table, seed, ["ATT"]),
        ):
            if injected is not None:
                fact = injected.facts[injected.errors[0].facts[0]]
                assert fact.kind == "attribute"  # only the cities differ
    assert checked >= 5
