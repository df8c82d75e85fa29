"""Answer tables mended by program, from context and query alone."""

from __future__ import annotations

import random

import pytest

from tablemend.config import Source
from tablemend.detector.algorithm import detect_errors
from tablemend.detector.query import SortRule
from tablemend.mitigations.repair_table import repair_answer, repair_table
from tablemend.records import Example
from tablemend.tables.extract import extract_table
from tablemend.tables.table import Table
from tablemend.tasks.tablehallu import small_world
from tablemend.tasks.tablehallu.engine import examples as make_examples
from tablemend.tasks.tablehallu.prompts import OutputFormat, answer
from tablemend.tasks.tablehallu.settings import Synthesis
from tablemend.tasks.tablehallu.task import read_examples
from tests.support import llm_kernels
from tests.support.injected import EDITS, with_cell

CONTEXT = """In 2029, Pon Wok carried 8 sails, 7 guns and masts of pine.
In 2029, Sul Dan carried 6 sails and 2 guns.
In 2020, Fen Dek carried 7 guns, masts of larch and 3 sails.
In 2029, Fen Dek carried 7 sails, masts of cedar and 2 guns."""
QUERY = (
    'Tabulate the ships in 2029: columns "Sails", "Ship", "Guns", "Mast" in this sequence, rows '
    'sorted by "Sails" in ascending order.'
)
COLUMNS = ("Sails", "Ship", "Guns", "Mast")
GOLD = Table.of(
    COLUMNS,
    [["6", "Sul Dan", "2", None], ["7", "Fen Dek", "2", "cedar"], ["8", "Pon Wok", "7", "pine"]],
)


def repaired(table: Table) -> Table:
    return repair_table(table, CONTEXT, QUERY)[0]


def test_a_faithful_answer_is_the_same_object() -> None:
    table, found = repair_table(GOLD, CONTEXT, QUERY)
    assert table is GOLD and found.edits == () == found.undone
    assert found.before is found.after


def test_every_edit_says_what_where_and_why() -> None:
    rows = [*with_cell(GOLD, 1, 3, "larch").rows, ("3", "Fen Dek", "7", "larch")]
    table, found = repair_table(Table.of(COLUMNS, rows), CONTEXT, QUERY)
    assert table == GOLD
    edits = {(edit.row, edit.column): edit for edit in found.edits}
    assert edits.keys() == {(1, "Mast"), (3, None)}
    cell, row = edits[1, "Mast"], edits[3, None]
    assert (cell.old, cell.new, cell.type) == ("larch", "cedar", "ATT")
    assert "'Mast'" in cell.reason and "cedar" in cell.reason
    assert row.old == "3 | Fen Dek | 7 | larch" and row.new is None and "Fen Dek" in row.reason
    assert not [one for one in found.after.verdicts if one.wrong]


@pytest.mark.parametrize(
    ("answer_table", "kind"),
    [
        (Table.of(COLUMNS, [*GOLD.rows, ("3", "Fen Dek", "7", "larch")]), "another time"),
        (Table.of(COLUMNS, [*GOLD.rows, GOLD.rows[0]]), "repeated"),
        (Table.of(COLUMNS, [*GOLD.rows, ("3", "Ublidane Frox", "7", "larch")]), "invented"),
        (with_cell(GOLD, 2, 2, "9"), "number"),
        (with_cell(GOLD, 2, 3, None), "left out"),
        (Table.of(COLUMNS, GOLD.rows[::-1]), "order"),
        (Table.of(COLUMNS[::-1], [row[::-1] for row in GOLD.rows]), "columns"),
        (Table.of(["Sails", "Ship", "Guns", "Mast of"], GOLD.rows), "name of a column"),
        (Table.of([*COLUMNS, "Year"], [(*row, "2029") for row in GOLD.rows]), "column too many"),
    ],
)
def test_each_error_is_mended(answer_table: Table, kind: str) -> None:
    assert repaired(answer_table) == GOLD, kind


def test_a_sentence_that_gives_no_attribute_makes_no_room_for_a_second_row() -> None:
    context = f"In 2029, Fen Dek was the flagship.\n{CONTEXT}"
    table = Table.of(COLUMNS, [*GOLD.rows, ("3", "Fen Dek", "7", "larch")])
    mended, found = repair_table(table, context, QUERY)
    assert mended == GOLD
    assert [edit.old for edit in found.edits if edit.new is None] == ["3 | Fen Dek | 7 | larch"]


@pytest.mark.parametrize("output", ["markdown", "json", "latex"])
def test_the_answers_format_and_surroundings_stay(output: OutputFormat) -> None:
    wrong = with_cell(with_cell(GOLD, 1, 3, "larch"), 0, 2, "3")
    text = f"I checked it.\n\n{answer(wrong, output)}\n\nThat is all."
    found = repair_answer(text, CONTEXT, QUERY, output)
    assert found.text.startswith("I checked it.\n\n####\n") and found.text.endswith("That is all.")
    read = extract_table(found.text, output)
    assert read.format == output and read.table is not None
    assert detect_errors(read.table, GOLD, CONTEXT).findings == ()
    assert len(found.edits) == 2
    unchanged = f"So: {answer(GOLD, output)}"
    assert repair_answer(unchanged, CONTEXT, QUERY, output).text == unchanged


@pytest.mark.parametrize("text", ["", "I cannot say.", "#### {", "| a |\n|---|", "[]"])
def test_an_answer_without_a_table_stays(text: str) -> None:
    found = repair_answer(text, CONTEXT, QUERY)
    assert found.text == text and found.edits == ()
    assert found.before is not None
    if "|" not in text:
        assert found.before.notes


def test_a_table_of_which_no_row_belongs_keeps_its_rows() -> None:
    query = QUERY.replace("2029", "1950")
    assert len(repair_table(GOLD, CONTEXT, query)[0].rows) == 3


@pytest.fixture(scope="module")
def examples() -> list[Example]:
    """Of two rows or more: what a column's cells stand beside is learnt from its other cells."""
    size = small_world.Size(rows=(2, 3), none=0.0)
    settings = Synthesis.model_validate({"n": 4, "seed": 4})
    made = [*small_world.examples(seed=6, n=24, size=size), *make_examples(settings)]
    return [one for one in made if len(one.gold_table.rows) > 1]


PLANTS = """Alba Dam, commissioned in 1961, employs 140 people. It lies in Lunel
and supplies 20 towns.
Located in Hamar, Sella Dam employs 87 people. It was commissioned in 1974.
Commissioned in 1980, Orla Dam lies in Torp. It employs 55 people.
The ship Dana Dream carries 300 guests."""
PLANT_COLUMNS = ("Dam", "Start", "Staff", "Place")
PLANT_ROWS = [
    ("Alba Dam", "1961", "140", "Lunel"),
    ("Sella Dam", "1974", "87", "Hamar"),
    ("Orla Dam", "1980", "55", "Torp"),
]


@pytest.mark.parametrize(
    ("row", "column", "wrong"),
    [(1, 2, "88"), (1, 2, "140"), (0, 2, None), (1, 1, None), (2, 3, None), (2, 3, "Lunel")],
)
def test_words_that_stand_beside_a_columns_cells_are_its_words(
    row: int, column: int, wrong: str | None
) -> None:
    gold = Table.of(PLANT_COLUMNS, PLANT_ROWS)
    table, done = repair_table(gold, PLANTS)
    assert table is gold and not done.edits
    assert repair_table(with_cell(gold, row, column, wrong), PLANTS)[0] == gold


def test_words_without_a_majority_of_cells_teach_nothing() -> None:
    # Of what the context says of each name the answer has the cells of another.
    shifted = [(name, *PLANT_ROWS[(n + 1) % 3][1:]) for n, (name, *_) in enumerate(PLANT_ROWS)]
    _, done = repair_table(Table.of(PLANT_COLUMNS, shifted), PLANTS)
    assert not [edit for edit in done.edits if edit.new]


def test_a_value_that_nothing_states_stays_and_is_flagged() -> None:
    wrong = with_cell(GOLD, 0, 3, "oak")
    table, done = repair_table(wrong, CONTEXT, QUERY)
    assert table is wrong and not done.edits
    assert [one.claim.column for one in done.before.verdicts if one.wrong] == ["Mast"]


def test_a_row_stays_whose_own_cell_meets_the_query() -> None:
    context = CONTEXT.replace("In 2029, Sul Dan", "In 2020, Sul Dan")
    table = Table.of(["Ship", "Year", "Guns"], [["Pon Wok", "2029", "7"], ["Sul Dan", "2029", "2"]])
    query = "List the ships in 2029 with Ship, Year and Guns."
    assert len(repair_table(table, context, query)[0].rows) == 2
    gone = Table.of(["Ship", "Year", "Guns"], [["Pon Wok", "2029", "7"], ["Sul Dan", "2020", "2"]])
    assert repair_table(gone, context, query)[0].rows == gone.rows[:1]


def test_what_the_sentences_of_a_row_state_is_neither_replaced_nor_filled_in_twice() -> None:
    text = """Alba Dam has a staff of 140 and a rank of 3. Sella Dam has a staff of 87 and a rank
of 9. Orla Dam has a staff of 55 and a rank of 4."""
    columns = ("Dam", "Staff", "Rank")
    right = Table.of(columns, [("Alba Dam", "140", "3"), ("Sella Dam", "87", "9")])
    # "3" is Alba's rank: whether it is its staff, too, is left open
    same = with_cell(right, 0, 1, "3")
    assert repair_table(same, text)[0] is same
    assert repair_table(with_cell(right, 0, 1, "87"), text)[0] == right
    place = "Alba Dam (Lunel) has a crew of Lunel men. Sella Dam (Hamar) has a crew of Hamar men."
    blank = Table.of(
        ("Dam", "Place", "Crew"), [("Alba Dam", "Lunel", None), ("Sella Dam", "Hamar", None)]
    )
    assert repair_table(blank, place)[0] is blank


FARMS = """In 2017, Bem Kif kept 8 barns, a fence of ash and a yellow gate.
In 2020, Fal Lem had 9 barns, a fence of birch and a white gate.
In 2011, Mol Lan kept 4 barns, a green gate and a light brown fence."""


def test_words_in_small_letters_are_read_where_the_wording_of_their_column_is_learned() -> None:
    rows = [("8", "Bem Kif", "green"), ("9", "Fal Lem", "white"), ("4", "Mol Lan", "green")]
    table, mended = repair_table(Table.of(["Barns", "Farm", "Gate"], rows), FARMS)
    assert table.rows[0] == ("8", "Bem Kif", "yellow") and len(mended.edits) == 1


def test_words_before_a_value_tell_nothing_where_its_column_is_named_behind_it() -> None:
    text = """Tem Rim counted 8 mills, a green flag and 8 wells.
Lam Gen counted 4 wells, a blue flag and 3 mills.
Nor Yan counted 2 wells and a green flag."""
    rows = [("2", "Nor Yan", "-"), ("4", "Lam Gen", "3"), ("8", "Tem Rim", "8")]
    assert not repair_table(Table.of(["Wells", "Town", "Mills"], rows), text)[1].edits


KINDS = [
    "row repeated", "row invented", "key invented", "cell distorted", "cell emptied",
    "columns swapped",
]  # fmt: skip


def hallucinated(name: str, examples: list[Example]) -> tuple[int, int]:
    """How many answers with such an edit are wrong, before and after; none is made worse."""
    before = after = 0
    for number, example in enumerate(examples):
        edited = EDITS[name][1](example.gold_table, random.Random(number))
        if edited is None:
            continue
        context, order = example.adversarial_context, SortRule.of(example.constraints)
        mended = repair_table(edited, context, example.query)[0]
        one = detect_errors(edited, example.gold_table, context, order)
        other = detect_errors(mended, example.gold_table, context, order)
        before += one.hallucinated
        after += other.hallucinated
        assert (other.share("row_recall") or 0) >= (one.share("row_recall") or 0)
        assert len(other.findings) <= len(one.findings)
    return before, after


@pytest.mark.parametrize("name", KINDS)
def test_injected_errors_are_mended_and_nothing_is_damaged(
    name: str, examples: list[Example]
) -> None:
    before, after = hallucinated(name, examples)
    most = 0.15 if name == "cell emptied" else 0.1  # what no one sentence states stays empty
    assert before >= 8 and after <= most * before


@pytest.mark.parametrize("name", KINDS)
def test_a_single_row_is_mended_by_what_the_query_and_its_own_words_tell(name: str) -> None:
    """Cells that are not there teach nothing: what was emptied stays so, or is found by luck."""
    size = small_world.Size(rows=(1, 1), even=1.0, none=0.2)
    before, after = hallucinated(name, list(small_world.examples(seed=6, n=40, size=size)))
    most = {"cell emptied": 1.0, "cell distorted": 0.25}.get(name, 0.1)
    assert before >= 8 and after <= most * before


@pytest.mark.parametrize("year", ["in 2004", "since 1998", "by the spring of 2010", "2001-built"])
def test_a_year_fills_no_column_of_counts(year: str) -> None:
    text = f"""Alba took 4 boats. Sella took 3 boats. Orla took 6 boats.
Jamaica took the large type, {year} like others. Torp took 2 boats."""
    rows = [("Alba", "4"), ("Sella", "3"), ("Orla", "6"), ("Jamaica", None), ("Torp", "2")]
    table = Table.of(("Nation", "Boats"), rows)
    after, done = repair_table(table, text)
    assert after is table and not done.edits


def test_gold_tables_of_natural_texts_are_left_alone() -> None:
    found = read_examples(Source(source="data_gen/natural", split="validation"))
    assert len(found) == 80
    for one in found:
        assert not repair_table(one.gold_table, one.adversarial_context, one.query)[1].edits


def test_gold_tables_are_left_alone(examples: list[Example]) -> None:
    for example in (*examples, *small_world.examples(seed=6, n=20)):
        _, done = repair_table(example.gold_table, example.adversarial_context, example.query)
        assert not done.edits
    for case in llm_kernels.CASES:
        assert not repair_table(case.draft.table, case.draft.context, case.query)[1].edits


def test_two_columns_of_one_header_are_no_crash() -> None:
    # SmolLM2 with two demonstrations writes such tables
    twice = Table.of(("Ship", "Guns", "Ship"), [["Sul Dan", "2", "Sul Dan"], ["Fen Dek", "2", "x"]])
    table, _ = repair_table(twice, CONTEXT, QUERY)
    assert {row[0] for row in table.rows} <= {"Sul Dan", "Fen Dek"}


def test_rows_that_are_none_of_those_listed_are_dropped() -> None:
    query = (
        'Tabulate the ships Sul Dan, Pon Wok and Fen Dek: columns "Ship", "Guns", rows sorted by '
        '"Ship" in ascending order.'
    )
    listed = Table.of(("Ship", "Guns"), [["Fen Dek", "2"], ["Pon Wok", "7"], ["Sul Dan", "2"]])
    context = f"{CONTEXT}\nIn 2029, Ral Tos carried 4 guns."
    assert repair_table(listed, context, query)[0] is listed
    more = Table.of(listed.columns, [*listed.rows[:2], ("Ral Tos", "4"), listed.rows[2]])
    table, found = repair_table(more, context, query)
    assert table == listed
    assert [edit.row for edit in found.edits] == [2]
    # one row of two names is none: "the museums of Washington, D.C."
    two = query.replace("Sul Dan, Pon Wok and Fen Dek", "of Sul Dan, Ral Tos")
    assert len(repair_table(listed, context, two)[0].rows) == len(listed.rows)
    # names that no row has are no list of rows
    places = query.replace("Sul Dan, Pon Wok and Fen Dek", "between Rome, Oslo and Bergen")
    sailed = f"{context}\nAll sail between Rome, Oslo and Bergen."
    assert len(repair_table(more, sailed, places)[0].rows) == len(more.rows)


def test_a_table_of_which_no_row_belongs_is_emptied_where_others_do() -> None:
    context = "\n".join(
        f"The swimmer {name} started in lane {lane}."
        for name, lane in zip(
            ("Ana Kow", "Bel Tor", "Cid Ram", "Dov Lis"), (1, 2, 7, 8), strict=True
        )
    )
    query = 'List the swimmers in lanes {}: columns "Name", "Lane", sorted by "Lane", ascending.'
    wrong = Table.of(("Name", "Lane"), [["Cid Ram", "7"], ["Dov Lis", "8"]])
    assert repair_table(wrong, context, query.format("1 to 4"))[0].rows == ()
    # nobody is in these lanes: the query may have been misread
    assert repair_table(wrong, context, query.format("3 to 5"))[0] == wrong
