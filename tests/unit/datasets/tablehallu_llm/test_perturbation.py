"""Perturbing kernels that no program made."""

from __future__ import annotations

import hashlib
import re
from collections import defaultdict
from dataclasses import replace
from random import Random

import pytest

from tablemend.config import parse
from tablemend.datasets.tablehallu.columns import MONTHS, words_of
from tablemend.datasets.tablehallu.engine import EXPANSION, examples
from tablemend.datasets.tablehallu.kernel import Rejected
from tablemend.datasets.tablehallu.names import NameGuard
from tablemend.datasets.tablehallu.settings import Difficulty, Synthesis
from tablemend.datasets.tablehallu.verification import meets
from tablemend.datasets.tablehallu_llm.perturbation import (
    Perturbation,
    perturb_kernel,
    with_entity_condition,
)
from tablemend.datasets.tablehallu_llm.pieces import split_pieces
from tablemend.datasets.tablehallu_llm.violations import find_violator
from tablemend.detector.keys import primary_key
from tablemend.records import Condition, Fact
from tablemend.tables.table import Table
from tablemend.values.sentences import sentence_spans
from tests.support.prose_kernels import MAKERS, ProseKernel, free_text, kernels, panel, percents

MANY = kernels(154)


def perturb(kernel: ProseKernel, difficulty: Difficulty = "easy", seed: int = 0) -> Perturbation:
    return perturb_kernel(kernel.table, kernel.constraints, kernel.context, difficulty, seed)


def with_conditions(kernel: ProseKernel, *conditions: Condition) -> ProseKernel:
    return replace(kernel, constraints=replace(kernel.constraints, conditions=conditions))


def fails(value: str | None, condition: Condition) -> bool:
    """An independent reading of a condition: as verification reads it, else by years."""
    if value is None:
        return False
    if condition.values:
        return value.casefold() not in {v.casefold() for v in condition.values}
    if (met := meets(value, condition)) is not None:
        return not met
    years = [int(year) for year in re.findall(r"\d{4}", value)]
    month = next((n for n, m in enumerate(MONTHS, 1) if value.startswith(m[:3])), None)
    place = f"{years[0]}-{month:02}" if month else str(years[0])
    return not (condition.low or "")[: len(place)] <= place <= (condition.high or "9")[: len(place)]


def violation(kernel: ProseKernel, made: Perturbation, difficulty: Difficulty) -> str | None:
    """What is wrong with a perturbation, scored from the kernel and the result alone."""
    table, context = kernel.table, made.context
    conditions = kernel.constraints.conditions
    expansion = len(context) / len(kernel.context)
    if not EXPANSION[difficulty] <= expansion <= EXPANSION[difficulty] + 2:
        return f"{expansion:.1f} times as long"
    position = 0
    kept = []
    for start, end in sentence_spans(kernel.context):
        position = context.find(kernel.context[start:end], position)
        if position < 0:
            return "a gold sentence is missing or out of order"
        kept.append((position, position + end - start))
        position += end - start
    key = primary_key(table)
    gold: dict[str, list[tuple[str | None, ...]]] = defaultdict(list)
    for row in table.rows:
        gold[row[key] or ""].append(row)
    guard = NameGuard(gold)
    rows: dict[int, list[Fact]] = defaultdict(list)
    spans = set(kept)
    for fact in made.facts:
        start, end, first, last = fact.adversarial
        if context[start:end] != fact.value or not first <= start < end <= last:
            return "a fact is not at its place"
        if fact.clean is not None or fact.entity not in context[first:last]:
            return "a fact without its entity, or with a place in the gold context"
        rows[fact.row].append(fact)
        spans.add((first, last))
    end = 0
    for first, last in sorted(spans):
        if context[end:first].strip():
            return "words that are neither gold nor recorded"
        end = last
    blocks = sorted((first, last in {e for _, e in kept}) for first, last in spans)
    if not any(is_gold for _, is_gold in blocks[len(blocks) // 2 :]):
        return "the gold sentences stand in the first half"
    for facts in rows.values():
        values = {fact.column: fact.value for fact in facts}
        entity = facts[0].entity
        if len(values) < len(facts) or len({fact.entity for fact in facts}) > 1:
            return "a row with a value twice"
        broken = [c.column for c in conditions if fails(values.get(c.column), c)]
        if facts[0].violates not in broken:
            return f"a row of {values} in scope"
        if entity not in gold:
            if guard.is_similar(entity) or words_of(entity) in words_of(kernel.context):
                return "a name like a gold one"
            continue
        blank = {
            c for row in gold[entity] for c, v in zip(table.columns, row, strict=True) if v is None
        }
        if blank & set(values):
            return "a blank is stated"
        text = words_of(" ".join(context[f.adversarial[2] : f.adversarial[3]] for f in facts))
        if any(words_of(column) in text for column in blank):
            return "a blank is named"
        if len({fact.adversarial[2] for fact in facts}) > 1:
            return "a gold entity in a sentence that does not say its time"
        is_plain = any(meets(values.get(c.column), c) is False for c in conditions)
        if max(map(len, gold.values())) < 2 or not is_plain:
            return "a second value for a gold entity"
        if {entity} != {e for e in gold if words_of(e) in text}:
            return "another gold entity in a distractor"
    return None


@pytest.mark.parametrize("number", range(len(MAKERS)), ids=lambda n: MAKERS[n].__name__)
def test_prose_kernels_are_perturbed_within_all_rules(number: int) -> None:
    for kernel in MANY[number :: len(MAKERS)]:
        assert violation(kernel, perturb(kernel), "easy") is None, kernel.context


@pytest.mark.parametrize("difficulty", ["medium", "hard"])
def test_every_length_is_reached(difficulty: Difficulty) -> None:
    for kernel in MANY[: len(MAKERS)]:
        assert violation(kernel, perturb(kernel, difficulty), difficulty) is None


def test_kernels_of_the_program_engine_are_perturbed_within_all_rules() -> None:
    tokens = ["source=pool", "n=80", "seed=7", "shape.min_rows=5", "difficulty=easy"]
    made = 0
    for example in examples(parse(Synthesis, tokens)):
        kernel = ProseKernel(
            "engine", example.gold_table, example.constraints, example.gold_context
        )
        try:
            assert violation(kernel, perturb(kernel), "easy") is None, example.query
            made += 1
        except Rejected as reason:
            assert "categories" in str(reason)
    assert made >= 72


def test_the_bytes_are_the_same_on_any_machine() -> None:
    digest = hashlib.sha256()
    for kernel in kernels(len(MAKERS), seed=3):
        made = perturb(kernel, "medium")
        digest.update(f"{made.context}{made.facts}".encode())
    assert digest.hexdigest()[:16] == "1e57c9215fcfc95d"


def test_firms_in_other_years_stand_in_a_panel_but_not_beside_their_blanks() -> None:
    kernel = panel(Random(3))
    made = perturb(kernel)
    (blank,) = [row for row in kernel.table.rows if None in row]
    others = [fact for fact in made.facts if fact.entity == blank[0]]
    assert others
    assert {fact.column for fact in others} == {
        "Company", "Year", "Vehicles Delivered", "Headquarters",
    }  # fmt: skip
    assert {fact.value for fact in others if fact.column == "Headquarters"} == {blank[4]}


def test_no_share_exceeds_a_hundred_percent() -> None:
    made = perturb(percents(Random(1)), "hard")
    shares = [float(fact.value[:-1]) for fact in made.facts if fact.column == "Literacy"]
    assert shares and min(shares) > 0 and max(shares) < 80


KERNEL = panel(Random(1))
FREE = free_text(Random(1))


@pytest.mark.parametrize(
    ("kernel", "reason"),
    [
        (FREE, "no condition that a program can break: categories of which no other is known"),
        (with_conditions(KERNEL), "no condition"),
        (with_conditions(KERNEL, Condition("Year")), "a condition without an end or a value"),
        (with_conditions(KERNEL, Condition("Year", "1901", "1902")), "gold cells do not meet"),
        (with_conditions(KERNEL, Condition("Year", "soon", None)), "that cannot be read"),
        (with_conditions(KERNEL, Condition("Company", values=("X",))), "does not list its"),
        (with_conditions(KERNEL, Condition("Company", "1", "2")), "does not list its"),
        (with_conditions(KERNEL, Condition("Headquarters", values=("X",))), "are not among"),
        (
            with_conditions(KERNEL, Condition("Operating Margin", "-90 km", "90 km")),
            "a range whose unit differs from its column's",
        ),
        (replace(KERNEL, context="One sentence."), "a context in one piece"),
        (
            replace(KERNEL, table=replace(KERNEL.table, columns=("A", "{e}", "B", "C", "D"))),
            "a header that cannot stand in a sentence",
        ),
        (
            with_conditions(KERNEL, Condition("{v}", "1", "2")),
            "a condition whose column cannot stand in a sentence",
        ),
        (
            replace(KERNEL, table=Table.of(["Year", "Sum"], [["2001", "5"], ["2002", None]])),
            "no column that names the entities",
        ),
    ],
)
def test_what_a_program_cannot_perturb_is_rejected_with_the_reason(
    kernel: ProseKernel, reason: str
) -> None:
    with pytest.raises(Rejected, match=re.escape(reason)):
        perturb(kernel)


def test_listed_entities_are_a_condition_that_a_fresh_name_breaks() -> None:
    free = replace(FREE, constraints=replace(FREE.constraints, conditions=()))
    names = tuple(name for name in free.table.column("Player") if name)
    scope = replace(free.constraints, entity_scope=(*names, "players"))
    constraints = with_entity_condition(free.table, scope)
    assert constraints.conditions == (Condition("Player", values=names),)
    kernel = replace(free, constraints=constraints)
    made = perturb(kernel)
    assert violation(kernel, made, "easy") is None
    assert {fact.violates for fact in made.facts} == {"Player"}
    assert with_entity_condition(free.table, free.constraints) == free.constraints


@pytest.mark.parametrize(
    ("low", "high", "cells", "pattern"),
    [
        ("2019", "2021", ["2019", "2021"], r"(?:19|20)\d\d"),
        ("2019", "2021", ["FY2019", "FY2020"], r"FY(?:19|20)\d\d"),
        ("2018", "2020", ["2018-19", "2020-21"], r"(?:19|20)\d\d-\d\d"),
        ("2018", "2020", ["2018/2019"], r"(?:19|20)\d\d/(?:19|20)\d\d"),
        ("2020-01-01", "2020-12-31", ["3 May 2020", "29 February 2020"], r"\d+ \w+ (?:19|20)\d\d"),
        ("2020-01-01", None, ["2020 - 03 - 04"], r"(?:19|20)\d\d - \d\d - \d\d"),
        ("2020-01-01", None, ["Sept. 04, 2020"], r"Sept\. \d\d, (?:19|20)\d\d"),
        ("2020-03", "2020-08", ["Mar 2020", "Aug 2020"], r"[A-Z][a-z]{2} (?:19|20)\d\d"),
        ("2020-01-01", "2020-12-31", ["Q1 2020", "Q4 2020"], r"Q[14] (?:19|20)\d\d"),
        ("1,000", "5,000", ["1,200", "4,800", "999.5"][:2], r"\d{1,2},?\d*"),
        ("$1.5 million", None, ["$1.6 million"], r"\$\d\.\d million"),
        (None, "30%", ["12%", "29%"], r"\d{2,3}%"),
        ("5", "9", ["5.5 km", "8.25 km"], r"\d+\.\d+ km"),
        ("-5", "5", ["-3", "4"], r"-?\d+"),
        ("2030", None, ["2031"], r"(?:19|20)\d\d"),
        (None, "2026", ["2020"], r"(?:19|20)\d\d"),
    ],
)
def test_values_out_of_range_are_written_like_the_cells(
    low: str | None, high: str | None, cells: list[str], pattern: str
) -> None:
    condition = Condition("Mark", low, high)
    violator = find_violator(condition, cells, Random(0))
    assert not isinstance(violator, str), violator
    rng = Random(1)
    for reach in range(40):
        value = violator.draw(rng, reach)
        assert value is not None and re.fullmatch(pattern, value), value
        assert fails(value, condition), value
        season = re.fullmatch(r"\d\d(\d\d)-(\d\d)", value)
        assert season is None or int(season[2]) == (int(season[1]) + 1) % 100


@pytest.mark.parametrize(
    ("low", "high", "cells"),
    [
        ("2,000", None, ["1.2 billion"]),
        ("2020-13-45", None, ["3 May 2020"]),
        ("2020-02-30", None, ["3 May 2020"]),
        ("a", "b", ["1"]),
    ],
)
def test_what_is_read_in_two_ways_is_not_broken(
    low: str | None, high: str | None, cells: list[str]
) -> None:
    assert isinstance(find_violator(Condition("Mark", low, high), cells, Random(0)), str)


def test_sentences_that_lean_on_another_stay_with_it() -> None:
    text = (
        "The decade was lively. Alba opened in 1999. It cost $3 million. In the same year Brona "
        "opened. By contrast, Corin waited until 2004. Corin cost $5 million.\n\n"
        "Its owner is Dr. Ode. The firm Estra followed. This Is It opened last."
    )
    names = ("Alba", "Brona", "Corin", "Estra", "This Is It")
    pieces = split_pieces(text, {name: [] for name in names})
    assert [text[piece.start : piece.end].replace("\n\n", " ") for piece in pieces] == [
        "The decade was lively.",
        "Alba opened in 1999. It cost $3 million. In the same year Brona opened. By contrast, "
        "Corin waited until 2004.",
        "Corin cost $5 million. Its owner is Dr. Ode. The firm Estra followed.",
        "This Is It opened last.",
    ]
    people = {"Elena Vasquez": [], "Ian First": [], "Dr. Ana Holm": [], "Ole Holm": []}
    told = "Vasquez won in 1999. First, there was a vote. Holm lost. Then Ian First came."
    assert [sorted(piece.names) for piece in split_pieces(told, people)] == [
        ["Elena Vasquez", "Ian First"]
    ]
    panel_pieces = split_pieces(
        "Alba made 5 in 2001. Alba sold 4. In 2002, Alba made 9.", {"Alba": ["2001", "2002"]}
    )
    assert len(panel_pieces) == 2
