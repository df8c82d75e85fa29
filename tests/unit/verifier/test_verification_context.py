"""Answer tables verified against a context and a query, without a gold table."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest

from tablemend.claims.answers import answer_claims
from tablemend.datasets.tablehallu import small_world
from tablemend.datasets.tablehallu.engine import examples as make_examples
from tablemend.datasets.tablehallu.settings import Synthesis
from tablemend.evidence.source import Source
from tablemend.faithfulness.staf import verify_answer
from tablemend.mitigations.repair_table import repair_answer
from tablemend.records import Example, Verdict
from tablemend.tables.table import Table
from tablemend.tables.write import write_table
from tablemend.verifier.context import verify_answer_claims
from tests.support import llm_kernels
from tests.support.growth import growth
from tests.support.injected import EDITS, with_cell

CONTEXT = """The Alba is a ferry that was launched in 1995. She is 62.5 m long, and her home port is
Corran. The Sella was launched in 1999; her home port is Vey. The length of the Sella is 71 m.

The Nimbra was launched in 2012. It carries 1,150 passengers, and its home port is Vey."""
QUERY = (
    "Make a table of the ferries that were launched from 1990 to 2005. The columns should be, in "
    'order, "Ferry", "Launched", "Length (m)" and "Home Port". Sort by "Launched" in ascending '
    "order."
)
COLUMNS = ("Ferry", "Launched", "Length (m)", "Home Port")
GOLD = Table.of(COLUMNS, [["Alba", "1995", "62.5", "Corran"], ["Sella", "1999", "71", "Vey"]])


def verdicts(
    table: Table, context: str = CONTEXT, query: str = QUERY
) -> dict[tuple[int | None, str | None], Verdict]:
    found = verify_answer_claims(answer_claims(table, query), Source(text=context))
    return {(verdict.claim.row, verdict.claim.column): verdict for verdict in found}


def test_what_the_context_says_is_supported_with_its_sentence() -> None:
    found = verdicts(GOLD)
    assert {verdict.verdict for verdict in found.values()} == {"supported"}
    evidence = found[1, "Length (m)"].evidence[0]
    assert CONTEXT[evidence.start : evidence.end] == "The length of the Sella is 71 m."
    assert found[0, "Length (m)"].evidence[0].text.startswith("She is 62.5 m long")


def test_another_value_is_contradicted_with_the_one_that_is_meant() -> None:
    found = verdicts(with_cell(GOLD, 1, 1, "1998"))
    assert (found[1, "Launched"].verdict, found[1, "Launched"].error_type) == (
        "contradicted",
        "TMP",
    )
    assert found[1, "Launched"].expected == ("1999",)
    assert all(not one.wrong for place, one in found.items() if place != (1, "Launched"))


def test_the_value_of_another_entity_is_relational() -> None:
    verdict = verdicts(with_cell(GOLD, 0, 1, "1999"))[0, "Launched"]
    assert (verdict.verdict, verdict.error_type) == ("contradicted", "REL")
    assert verdict.expected == ("1995",)


def test_what_nothing_says_is_not_in_the_source() -> None:
    found = verdicts(with_cell(GOLD, 1, 2, "88.4"), CONTEXT.replace(" The length of the", ""))
    assert found[1, "Length (m)"].verdict == "not_in_source"
    assert found[1, "Length (m)"].error_type == "NUM"


def test_rows_out_of_scope_and_of_nobody() -> None:
    rows = [*GOLD.rows, ("Nimbra", "2012", None, "Vey"), ("Ublidane", "1999", None, None)]
    found = verdicts(Table.of(COLUMNS, rows))
    assert (found[2, None].verdict, found[2, None].error_type) == ("contradicted", "TMP")
    assert "2012" in found[2, None].reason and "1990 to 2005" in found[2, None].reason
    assert (found[3, None].verdict, found[3, None].error_type) == ("not_in_source", "ATT")
    assert found[0, None].verdict == found[1, None].verdict == "supported"


def test_without_a_query_every_named_row_belongs() -> None:
    table = Table.of(COLUMNS, [*GOLD.rows, ("Nimbra", "2012", None, "Vey")])
    assert verdicts(table, query="")[2, None].verdict == "supported"


def test_a_column_to_be_worked_out_is_unscored() -> None:
    query = QUERY + ' The column "Length (m)" is the sum of two other columns.'
    assert verdicts(with_cell(GOLD, 0, 2, "99"), query=query)[0, "Length (m)"].verdict == "unscored"


@pytest.mark.parametrize(
    ("query", "missing"),
    [("", "in 2019"), ("Make a table of the ships in 2029.", "")],
)
def test_the_same_entity_at_another_time_is_another_record(query: str, missing: str) -> None:
    context = (
        "In 2019, Fen Dek had 6 guns. In 2029, Fen Dek had 2 guns. In 2029, Lor Im had 5 guns."
    )
    table = Table.of(["Ship", "Guns"], [["Fen Dek", "6"], ["Lor Im", "5"]])
    verdict = verdicts(table, context, query)[0, "Guns"]
    if missing:
        assert verdict.verdict == "supported"
    else:
        assert (verdict.verdict, verdict.expected) == ("contradicted", ("2",))


def test_a_longer_name_is_not_the_shorter_one() -> None:
    context = "South Marn has 5 schools. Marn has 8 schools. Orla has 3 schools. Vey has 9 schools."
    table = Table.of(["Town", "Schools"], [["Marn", "5"], ["Orla", "3"], ["Vey", "9"]])
    found = verdicts(table, context, "")
    assert (found[0, "Schools"].verdict, found[0, "Schools"].expected) == ("contradicted", ("8",))


def test_an_info_box_is_looked_up_in_the_whole_text() -> None:
    context = "Ada Brevik (born 12 March 1861) was a painter from Halden."
    rows = [["born", "12 March 1861"], ["place", "Halden"], ["died", "3 May 1934"]]
    found = verdicts(Table.of(["Field", "Value"], rows), context, "")
    names = [found[row, "Value"].verdict for row in range(3)]
    assert names == ["supported", "supported", "not_in_source"]


def invented() -> list[Example]:
    settings = Synthesis.model_validate({"n": 12, "seed": 3})
    return [*small_world.examples(seed=5, n=40), *make_examples(settings)]


def test_gold_tables_are_clean() -> None:
    claims = 0
    for example in invented():
        found = verdicts(example.gold_table, example.adversarial_context, example.query)
        assert not [one for one in found.values() if one.wrong], example.query
        claims += len(found)
    assert claims > 500


def test_gold_tables_in_prose_are_clean() -> None:
    cells, rows, open_cells, open_rows = 0, 0, 0, 0
    for case in llm_kernels.CASES:
        found = verdicts(case.draft.table, case.draft.context, case.query)
        assert not [one for one in found.values() if one.wrong], case.query
        for one in found.values():
            is_row, is_open = one.claim.column is None, one.verdict == "unscored"
            cells, open_cells = cells + (not is_row), open_cells + (is_open and not is_row)
            rows, open_rows = rows + is_row, open_rows + (is_open and is_row)
    assert cells > 700 and open_cells < 0.05 * cells
    assert rows > 120 and open_rows < 0.4 * rows  # conditions in free words, named as not read


PLANTED = ["row repeated", "row invented", "key invented", "cell distorted", "blank filled"]


@pytest.mark.parametrize("name", PLANTED)
def test_injected_errors_are_found(name: str) -> None:
    kind, edit = EDITS[name]
    is_row = kind in ("out_of_range", "entity_fabrication")
    tried = missed = 0
    for number, example in enumerate(invented()):
        edited = edit(example.gold_table, random.Random(number))
        if edited is None:
            continue
        tried += 1
        found = verdicts(edited, example.adversarial_context, example.query)
        wrong = [place for place, one in found.items() if one.wrong]
        missed += not any((column is None) == is_row for _, column in wrong)
    assert tried > 40 and missed <= 0.02 * tried


ODD: list[Callable[[], Table]] = [
    lambda: Table.of(["A"], [["x"]]),
    lambda: Table.of(["A", "A"], [["Alba", "1995"]]),
    lambda: Table.of(["", " "], [[None, "1995"], ["Alba", None]]),
    lambda: Table.of(["Ferry", "Note"], [["Alba", "x" * 10_000]]),
    lambda: Table.of(["Ferry", "Note"], [["<b>Alba</b>", "& \\ | \x00"]]),
    lambda: Table.of(["船", "年"], [["アルバ", "一九九五"]]),
    lambda: Table.of(["1", "2"], [["5", "6"], ["7", "8"]]),
]


@pytest.mark.parametrize("make", ODD)
@pytest.mark.parametrize("context", ["", " \n", CONTEXT, "!!! ... ??", "アルバ。" * 50])
def test_odd_tables_have_verdicts(make: Callable[[], Table], context: str) -> None:
    table = make()
    document = answer_claims(table, QUERY)
    found = verify_answer_claims(document, Source(text=context))
    assert [one.claim for one in found] == list(document.claims)
    if not context.strip():
        assert {one.verdict for one in found} <= {"unscored"}


@pytest.mark.parametrize("name", ["Player {}", "Player One"])
def test_large_answers_take_linear_time(name: str) -> None:
    def verifying(count: int) -> Callable[[], object]:
        rng = random.Random(0)
        rows, said = [], []
        for number in range(count):
            row = [name.format(number), str(rng.randint(0, 50)), rng.choice(("red", "blue"))]
            rows.append(row)
            said.append(
                f"In {1990 + number % 30}, {row[0]} had {row[1]} points and a {row[2]} hat."
            )
        document = answer_claims(Table.of(["Player", "Points", "Hat"], rows), "")
        source = Source(text=" ".join(said))
        return lambda: verify_answer_claims(document, source)

    assert growth(verifying, 300, 1800) < 18  # linear is 6, squared 36


@pytest.mark.parametrize(
    ("function", "character"),
    [
        ("verify", "'"),
        ("verify", "\u00bd"),
        ("verify", "A-"),
        ("repair", "'"),
        ("repair", "\u00bd"),
        ("query", "1 "),
    ],
)
def test_a_context_or_query_of_one_character_takes_linear_time(
    function: str, character: str
) -> None:
    table = Table.of(["Team", "Points"], [["Alba", "41"], ["Sella", "37"]])

    def run(count: int) -> Callable[[], object]:
        text = character * (count // len(character))
        if function == "repair":
            return lambda: repair_answer(write_table(table, "markdown"), text)
        if function == "query":
            return lambda: verify_answer(table, Source(text="Alba 41"), text)
        return lambda: verify_answer(table, Source(text=text))

    assert growth(run, 1000, 6000) < 18  # linear is 6, squared 36
