"""What an answer took in of the distractors, and its relation to what it should say."""

from __future__ import annotations

from random import Random

import pytest

from tablemend.config import parse
from tablemend.records import (
    RELATIONS,
    Condition,
    Constraints,
    Example,
    Fact,
    Finding,
    Judgement,
    Mention,
    Share,
)
from tablemend.tables.table import Table
from tablemend.tasks.tabfaith.task import TableSummary
from tablemend.tasks.tablehallu import prompts, small_world
from tablemend.tasks.tablehallu.engine import examples
from tablemend.tasks.tablehallu.injected_errors import INJECTED_ERRORS
from tablemend.tasks.tablehallu.scoring import taken_in
from tablemend.tasks.tablehallu.settings import Synthesis, types_of
from tablemend.tasks.tablehallu.task import TableGeneration
from tablemend.tasks.task import Submission

GOLD = {"Ship": "Ada", "Year": "1990", "Crew": "12", "Port": "Oslo"}
PLACE = Mention(0, 1, 0, 1)


def example(conditions: list[Condition], *rows: tuple[dict[str, str], str]) -> Example:
    """One gold row, and distractor rows: what they change, and the column they violate."""
    facts = [Fact(0, "Ada", c, v, None, PLACE, PLACE) for c, v in GOLD.items()]
    for number, (changed, violates) in enumerate(rows):
        cells = {**GOLD, **changed}
        facts += [
            Fact(number, cells.get("Ship", "Eddystone"), c, v, violates, None, PLACE)
            for c, v in cells.items()
        ]
    constraints = Constraints((), None, "Year", "ascending", tuple(conditions))
    table = Table.of(list(GOLD), [list(GOLD.values())])
    texts = ("ships", "", "", "", constraints, table, "", "", "easy", tuple(facts), "", "", "", 0)
    return Example(*texts)


YEAR, CREW = Condition("Year", "1985", "1992"), Condition("Crew", "10", "20")
PORT, KIND = Condition("Port", values=("Oslo",)), Condition("Flag", values=("red",))


@pytest.mark.parametrize(
    ("conditions", "changed", "violates", "type"),
    [
        ([YEAR], {"Year": "1995"}, "Year", "temporal"),
        ([Condition("Year", "1985-01-02", None)], {"Year": "1 May 1980"}, "Year", "temporal"),
        ([CREW], {"Crew": "1,950"}, "Crew", "numerical"),
        ([PORT], {"Port": "Bergen"}, "Port", "geographic"),
        ([KIND], {"Flag": "blue"}, "Flag", "categorical"),
        ([YEAR, PORT], {"Year": "1995", "Port": "Bergen"}, "Port", "both"),
        ([YEAR, PORT], {"Lighthouse": "Eddystone"}, "Lighthouse", "entity"),
    ],
)
def test_types(
    conditions: list[Condition], changed: dict[str, str], violates: str, type: str
) -> None:
    assert types_of(example(conditions, (changed, violates))) == {0: type}


def found(kind: str, column: str | None, got: str) -> Finding:
    return Finding(kind, 0, column, None, got, "")


@pytest.mark.parametrize(
    ("finding", "taken"),
    [
        (found("out_of_range", None, "Bea"), {"temporal"}),
        (found("out_of_range", None, "Cleo"), {"both"}),
        (found("out_of_range", None, "Ada"), {"temporal"}),
        (found("attribute", "Port", "Bergen"), {"both"}),
        (found("attribute", "Crew", "12"), set()),
        (found("attribute", "Crew", "99"), set()),
        (found("entity_fabrication", None, "Dora"), set()),
    ],
)
def test_what_an_answer_took_in(finding: Finding, taken: set[str]) -> None:
    rows = (
        ({"Ship": "Bea", "Year": "1995"}, "Year"),
        ({"Year": "1999", "Crew": "14"}, "Year"),
        ({"Ship": "Cleo", "Year": "1999", "Port": "Bergen"}, "Port"),
    )
    shares = taken_in(example([YEAR, PORT], *rows), [finding])
    wanted = {f"distractor_{type}": Share(int(type in taken), 1) for type in ("temporal", "both")}
    assert shares == wanted


def test_rows_of_a_second_table_say_what_they_are_about() -> None:
    """So do the others of such an example: nobody can tell them by that."""
    made = list(examples(parse(Synthesis, ("source=pool", "n=24", "distractor_types.entity=3"))))
    types = [set(types_of(example).values()) for example in made]
    assert sum("entity" in found for found in types) > 8
    for example, found in zip(made, types, strict=True):
        if "entity" not in found:
            continue
        key = example.gold_table.columns[0]
        kinds = {
            f.violates
            for n, t in types_of(example).items()
            if t == "entity"
            for f in example.facts
            if f.row == n and f.violates
        }
        assert len(kinds) == 1 and key not in kinds
        for fact in example.facts:
            kind = fact.violates if fact.violates in kinds else key
            start, end = fact.adversarial[2:]
            assert kind and kind.lower() in example.adversarial_context[start:end].lower()


@pytest.mark.parametrize("left_out", ["temporal", "numerical", "categorical", "entity", "both"])
def test_a_type_can_be_left_out(left_out: str) -> None:
    tokens = ["source=pool", "n=16", f"distractor_types.{left_out}=0"]
    if left_out not in ("both", "entity"):  # pairs of columns have distractors of each
        tokens.append("distractor_types.both=0")
    types = [type for e in examples(parse(Synthesis, tokens)) for type in types_of(e).values()]
    assert left_out not in types and len({*types}) > 2


TASK = TableGeneration()
SAMPLE = next(one for n in range(50) if len((one := small_world.example(3, n)).gold_table.rows) > 2)
TABLE = SAMPLE.gold_table


def _relation(table: Table | str) -> str | None:
    text = table if isinstance(table, str) else prompts.answer(table)
    with TASK.scorer() as scorer:
        (said,) = scorer.score([Submission(SAMPLE, "adversarial", text)])
    return TASK.relation(said)


def test_a_table_is_a_conjunction_of_its_cells() -> None:
    key = next(one.column for one in SAMPLE.facts if one.entity == one.value)
    place = TABLE.columns.index(key)
    made_up = ["Zzyx Qqat" if n == place else "9" for n in range(len(TABLE.columns))]
    listed = {row[place] for row in TABLE.rows}
    distractor = next(one.entity for one in SAMPLE.facts if one.entity not in listed)
    beside = [distractor if n == place else None for n in range(len(TABLE.columns))]
    filled = next(n for n, cell in enumerate(TABLE.rows[0]) if cell and n != place)
    other = list(TABLE.rows[0])
    other[filled] = "77"
    emptied = list(TABLE.rows[0])
    emptied[filled] = None
    rest = TABLE.rows[1:]
    assert _relation(TABLE) == "well_matched"
    assert _relation(Table.of(TABLE.columns, rest)) == "too_weak"
    assert _relation(Table.of(TABLE.columns, [emptied, *rest])) == "too_weak"
    assert _relation(Table.of(TABLE.columns, [*TABLE.rows, made_up])) == "too_strong"
    assert _relation(Table.of(TABLE.columns, [*rest, beside])) == "independent"
    assert _relation(Table.of(TABLE.columns, [*rest, made_up])) == "independent"
    assert _relation(Table.of(TABLE.columns, [other, *rest])) == "contradictory"
    assert _relation("I cannot say.") == "not_well_formed"
    assert _relation(Table.of(TABLE.columns, ())) == "tautologous"


def test_every_injected_error_has_a_relation_that_fits_it() -> None:
    wanted = {
        "format_error": {"not_well_formed"},
        "out_of_range": {"too_strong"},
        "order_mismatch": {"well_matched"},
        "attribute": {"contradictory", "too_weak"},
        "blank_filling": {"too_strong"},
        "entity_fabrication": {"too_strong"},
    }
    seen = set()
    for number in range(30):
        sample = small_world.example(5, number)
        for injection in INJECTED_ERRORS.values():
            edited = injection.make(sample, Random(number))
            if edited is None:
                continue
            text = prompts.answer(edited)
            with TASK.scorer() as scorer:
                (said,) = scorer.score([Submission(sample, "adversarial", text)])
            found = TASK.relation(said)
            assert found in RELATIONS and found in wanted[injection.type], (injection.type, text)
            seen.add(injection.type)
    assert seen == set(wanted)


@pytest.mark.parametrize(
    ("types", "coverage", "wanted"),
    [
        ((), (3, 3), "too_weak"),
        ((), (2, 3), None),
        (("NUM",), (2, 3), "contradictory"),
        (("ATT",), (3, 3), "independent"),
        (("ATT",), (2, 3), None),
        (("ATT", "CMP"), (3, 3), "contradictory"),
    ],
)
def test_a_summary_says_a_part_of_its_table(
    types: tuple[str, ...], coverage: tuple[int, int], wanted: str | None
) -> None:
    findings = tuple(Finding(type, None, None, None, "x", "") for type in types)
    judgement = Judgement(findings, {"coverage": Share(*coverage)})
    assert TableSummary().relation(judgement) == wanted
    assert TableSummary().relation(Judgement(unscored="no answer")) is None
    assert TableSummary().relation(Judgement(abstained=True)) == "tautologous"
