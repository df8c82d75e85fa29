"""Faithful summaries and errors injected in them: places, truth, types, and what is not said."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from itertools import pairwise
from random import Random
from typing import Any, NamedTuple

import pytest

from tablemend.datasets.source_tables.sources import make_table
from tablemend.programs.execute import check
from tablemend.programs.program import Rows, Value
from tablemend.programs.speaker import Unsayable
from tablemend.records import CLAIM_ERRORS
from tablemend.tables.jsontable import find_table
from tablemend.tables.table import Table, TableError
from tablemend.tasks.tabfaith.data import MIX
from tablemend.tasks.tabfaith.domains import SYNTHETIC
from tablemend.tasks.tabfaith.summaries import Fact, InjectedError, Summary, Verbaliser, inject
from tablemend.values.text import sentence_spans

CLUBS = Table.of(
    ["Club", "City", "Founded", "Points", "Revenue (USD million)", "Win rate"],
    [
        ["Alba", "Lyon", "1901", "41", "5.2", "52.5%"],
        ["Borea", "Graz", "1955", "38", "12.4", "48%"],
        ["Corvo", "Porto", "1923", "27", "3.1", "33.3%"],
        ["Dorna", "Lyon", "1987", "30", "7.7", "40%"],
        ["Esker", "Bergen", "1910", "12", "9.9", "21.5%"],
        ["Total", None, None, "148", "38.3", None],
    ],
)
YEARS = Table.of(
    ["Metric", "2019", "2020", "2021", "2022"],
    [
        ["Sales", "$100 million", "$110 million", "$121 million", "$150 million"],
        ["Costs", "$90 million", "$80 million", "$95 million", "$90 million"],
    ],
)


class Case(NamedTuple):
    """A summary and the same with one error."""

    verbaliser: Verbaliser
    summary: Summary
    injected: Summary

    @property
    def error(self) -> InjectedError:
        (error,) = self.injected.errors
        return error


def tables(seed: int, n: int) -> list[Table]:
    made = [make(seed, i) for make in SYNTHETIC.values() for i in range(n)]
    return [CLUBS, YEARS, *made, *(make_table(seed, number).table for number in range(n))]


@pytest.fixture(scope="module")
def summaries() -> list[tuple[Verbaliser, Summary]]:
    found = []
    for number, table in enumerate(tables(8, 20)):
        try:
            verbaliser = Verbaliser(table)
            found.append((verbaliser, verbaliser.summarise(Random(number))))
        except Unsayable:
            continue
    assert len(found) > 50
    return found


@pytest.fixture(scope="module")
def cases(summaries: list[tuple[Verbaliser, Summary]]) -> dict[str, list[Case]]:
    """Errors of each type, one a summary."""
    found: dict[str, list[Case]] = {type: [] for type in CLAIM_ERRORS}
    for number, (verbaliser, summary) in enumerate(summaries):
        for type in CLAIM_ERRORS:
            if injected := inject(summary, verbaliser, [{type: 1.0}], Random(f"{number}{type}")):
                found[type].append(Case(verbaliser, summary, injected))
    return found


def is_true(fact: Fact, verbaliser: Verbaliser) -> bool | None:
    return check(fact.statement, verbaliser.speaker(fact.turned).table).holds


def undone(injected: Summary) -> str:
    """The faithful text, from the errors alone."""
    text = injected.text
    for error in reversed(injected.errors):
        assert text[error.start : error.end] == error.text
        text = text[: error.start] + error.original + text[error.end :]
    return text


def test_no_comparison_prints_all_that_it_compares(
    summaries: list[tuple[Verbaliser, Summary]], cases: dict[str, list[Case]]
) -> None:
    """Only the table decides: "The year of X (1987) was later than that of Y (1985)" needs none."""
    injected = [case.injected for own in cases.values() for case in own]
    compared = 0
    for summary in [summary for _, summary in summaries] + injected:
        printed: set[tuple[int, int]] = set()
        for fact in summary.facts:
            program = fact.statement.program
            if isinstance(program, Value) and isinstance(program.rows, Rows):
                printed |= {*fact.cells}
        others = [fact for fact in summary.facts if not isinstance(fact.statement.program, Value)]
        compared += sum(len(fact.cells) == 2 for fact in others)
        assert not any(printed.issuperset(fact.cells) for fact in others), summary.text
    assert compared > 100


def test_values_in_names_are_printed_too() -> None:
    cups = Table.of(
        ["Cup", "Year", "Goals"],
        [[f"Cup of {year}", str(year), str(goals)] for year, goals in ((1998, 12), (2002, 31))],
    )
    for seed in range(40):
        try:
            text = Verbaliser(cups).summarise(Random(seed), (1, 2)).text
        except Unsayable:
            continue
        assert "later" not in text and "earlier" not in text, text


NO_ENTITIES = (
    "Majority|Labour majority|Turnout|Voter turnout|Swing|Labour hold|Green Party gain from Labour"
    "|Registered electors|Invalid/blank votes|Total rejected ballots|Valid votes|Votes cast|Quota"
    "|Others|Write-in candidate|Source: AEC|Notes|N/A|Rest day|Margin of victory|Plurality"
    "|Constituency abolished|Electorate|Vacant|Informal votes|Registered voters/turnout"
)


@pytest.mark.parametrize("name", [*NO_ENTITIES.split("|"), "Spread over three"])
def test_rows_that_span_the_table_are_no_entities(name: str) -> None:
    party = name if name == "Spread over three" else "-"
    rows = [["Ada Ito", "Green", "Coast", "9,319"], ["Bo Lund", "Labour", "Hills", "8,101"]]
    rows += [["Cy Roe", "Liberal", "Coast", "2,204"], [name, party, party, "1,218"]]
    votes = Table.of(["Candidate", "Party", "Home", "Votes"], rows)
    for seed in range(12):
        text = Verbaliser(votes).summarise(Random(seed), (1, 3)).text
        assert name not in text and "1,218" not in text, text


def test_names_that_only_begin_like_these_are_entities() -> None:
    names = ["Gainsborough", "The Others", "Swing Time", "Majority Rule", "Key West", "Blank Space"]
    rows = [[name, str(40 + 3 * place)] for place, name in enumerate(names)]
    (speaker,) = Verbaliser(Table.of(["Title", "Points"], rows)).speakers
    assert [speaker.name(row) for row in speaker.rows] == names and speaker.whole


def test_every_part_and_number_stands_where_a_fact_says_and_every_fact_is_true(
    summaries: list[tuple[Verbaliser, Summary]],
) -> None:
    for verbaliser, summary in summaries:
        spans = sentence_spans(summary.text)
        assert 2 <= len(spans) <= 5
        covered = set[int]()
        for fact in summary.facts:
            assert is_true(fact, verbaliser)
            assert fact.sentence in spans and 0 <= fact.focus < len(fact.parts)
            assert len({part.role for part in fact.parts}) == len(fact.parts)
            for part in fact.parts:
                assert part.text == summary.text[part.start : part.end] != ""
                covered |= set(range(part.start, part.end))
            assert Fact.from_json(fact.to_json()) == fact
        assert {fact.sentence for fact in summary.facts} == set(spans)
        bare = "".join(" " if i in covered else c for i, c in enumerate(summary.text))
        assert not any(character.isdigit() for character in bare), summary.text


def test_all_operators_and_kinds_of_claims_are_said(
    summaries: list[tuple[Verbaliser, Summary]],
) -> None:
    facts = [fact for _, summary in summaries for fact in summary.facts]
    operators = {type(fact.statement.program).__name__ for fact in facts}
    assert operators >= set(
        "Value Compare Difference Change Ratio Count Quantifier Aggregate Between Trend".split()
    )
    kinds = {fact.kind for fact in facts}
    assert kinds == {"numeric", "relational", "comparative", "temporal", "attribute"}


@pytest.mark.parametrize(
    ("rows", "reason"),
    [
        ([["Alba", "41"]], "fewer than two rows"),
        ([["Alba", "41"], ["Alba", "38"]], "a name of their own"),
        ([["Alba", ""], ["Borea", ""]], "no column"),
        ([["a" * 10_000, "1"], ["b" * 10_000, "2"]], "a name of their own"),
        ([[f"Club {n}", str(n * 7)] for n in range(10_000)], "more than 400 rows"),
    ],
)
def test_tables_of_which_little_can_be_said_say_why(rows: list[list[str]], reason: str) -> None:
    with pytest.raises(Unsayable, match=reason):
        Verbaliser(Table.of(["Club", "Points"], rows)).summarise(Random(0))


def test_real_tables_can_be_summarised(shared_data: Callable[[str], list[dict[str, Any]]]) -> None:
    made = failed = 0
    for number, record in enumerate(shared_data("wikitablequestions")[:30]):
        try:
            Verbaliser(find_table(record)).summarise(Random(number))
            made += 1
        except (Unsayable, TableError):
            failed += 1
    assert made >= 3 * failed


@pytest.mark.parametrize("type", CLAIM_ERRORS)
def test_one_error_is_undone_by_its_own_record(cases: dict[str, list[Case]], type: str) -> None:
    assert len(cases[type]) >= 20
    for case in cases[type]:
        error, injected = case.error, case.injected
        assert error.type == type and error.text != error.original and error.facts
        assert undone(injected) == case.summary.text != injected.text
        for index, fact in enumerate(injected.facts):
            assert is_true(fact, case.verbaliser) is (index not in error.facts)
            for part in fact.parts:
                assert injected.text[part.start : part.end] == part.text


def test_wrong_numbers_match_no_cell_and_are_off_by_7_to_110_percent(
    cases: dict[str, list[Case]],
) -> None:
    for case in cases["NUM"]:
        digits = [re.search(r"\d[\d,.]*", t) for t in (case.error.original, case.error.text)]
        one, other = (match and float(match[0].rstrip(".").replace(",", "")) for match in digits)
        if one and other:
            assert 0.0699 <= abs(one - other) / one <= 1.1001, case.error
        fact = case.injected.facts[case.error.facts[0]]
        if isinstance(fact.statement.program, Value):
            cells = case.verbaliser.speaker(fact.turned).table.cells
            assert case.error.text not in {cell.text for row in cells for cell in row}


def test_up_to_five_errors_never_share_a_sentence_or_a_claim() -> None:
    sizes: Counter[int] = Counter()
    for number, table in enumerate(tables(5, 3)):
        verbaliser = Verbaliser(table)
        summary = verbaliser.summarise(Random(number), (4, 5))
        for count in (1, 3, 5):
            injected = inject(summary, verbaliser, [MIX] * count, Random(number))
            if injected is None:
                continue
            sizes[count] += 1
            assert len(injected.errors) == count and undone(injected) == summary.text
            assert all(one.end < other.start for one, other in pairwise(injected.errors))
            hit = [index for error in injected.errors for index in error.facts]
            assert len(hit) == len(set(hit))
            assert (
                len({injected.facts[error.facts[0]].sentence for error in injected.errors}) == count
            )
            for index, fact in enumerate(injected.facts):
                assert is_true(fact, verbaliser) is (index not in hit)
    assert sizes[1] >= 10 and sizes[3] >= 8 and sizes[5] >= 3
