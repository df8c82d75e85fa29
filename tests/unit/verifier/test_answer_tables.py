"""Answer tables verified against a context and a query, without a gold table."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest

from tablemend.evidence.source import Source
from tablemend.mitigations.repair_table import repair_answer, repair_table
from tablemend.records import Example, Verdict
from tablemend.tables.read import read_table, write_table
from tablemend.tables.table import Table
from tablemend.tasks.tablehallu import small_world
from tablemend.tasks.tablehallu.engine import examples as make_examples
from tablemend.tasks.tablehallu.settings import Synthesis
from tablemend.verifier.answer_table.verify import verify_answer_claims
from tablemend.verifier.extraction import answer_claims
from tablemend.verifier.staf import verify_documents
from tests.support import llm_kernels
from tests.support.growth import assert_growth
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


SHIPS = "In 2019, Fen Dek had 6 guns. In 2029, Fen Dek had 2 guns. In 2029, Lor Im had 5 guns."
TOWNS = "South Marn has 5 schools. Marn has 8 schools. Orla has 3 schools. Vey has 9 schools."
STAFF = "Alba employs 12 people. Orla, a firm with a staff of 9, is old. In Brask, 5 men work."
SALES = "Orvo sold 30 bikes. Lund sold 12 bikes."
REGIONS = "North had sales of 120. West had sales of 80. South had sales of 140. It fell."
CASES = [
    # answer, context, query, cell (row, column; None: the row), verdict, error, expected
    ("Alba|1995|62.5|Corran; Sella|1998|71|Vey", CONTEXT, QUERY, (1, 1), "contradicted TMP 1999"),
    ("Alba|1999|62.5|Corran; Sella|1999|71|Vey", CONTEXT, QUERY, (0, 1), "contradicted REL 1995"),
    ("Alba|1995|62.5|Corran; Nimbra|2012||Vey", CONTEXT, QUERY, (1, None), "contradicted TMP"),
    ("Alba|1995|62.5|Corran; Ublidane|1999||", CONTEXT, QUERY, (1, None), "not_in_source ATT"),
    ("Alba|1995|62.5|Corran; Nimbra|2012||Vey", CONTEXT, "", (1, None), "supported"),
    ("Alba|1995|62.5|Corran; Sella|1999|88.4|Vey", CONTEXT.replace(" The length of the", ""), QUERY,
     (1, 2), "not_in_source NUM"),
    ("Alba|1995|99|Corran; Sella|1999|71|Vey", CONTEXT,
     QUERY + ' The column "Length (m)" is the sum of two other columns.', (0, 2), "unscored"),
    ("Ship|Guns; Fen Dek|6; Lor Im|5", SHIPS, "", (0, 1), "supported"),
    ("Ship|Guns; Fen Dek|6; Lor Im|5", SHIPS, "Make a table of the ships in 2029.", (0, 1),
     "contradicted NUM 2"),
    ("Town|Schools; Marn|5; Orla|3; Vey|9", TOWNS, "", (0, 1), "contradicted NUM 8"),
    # a sentence that begins with a name of one word is nobody else's, in the answer or not
    ("Region|Sales; North|120; West|140", REGIONS, "", (1, 1), "contradicted NUM 80"),
    ("Region|Sales; North|120; West|140", REGIONS.replace("sales of 80", "few sales"), "", (1, 1),
     "unscored"),
    ("Shop|Bikes; Orvo|30; Lund|12; Total|42", SALES, "", (2, None), "unscored"),
    ("Shop|Bikes; Orvo|30; Lund|12; Brask|42", SALES, "", (2, None), "not_in_source ATT"),
    ("Shop|Bikes; Orvo|30; Lund|12; U.S.|42", SALES, "", (2, None), "unscored"),
    ("Shop|Bikes; Orvo|30; L. Lund|12", SALES.replace("Lund", "Lia Lund"), "",
     (1, None), "unscored"),
    ("Shop|Share; Orvo|71; Lund|29", SALES, "", (0, 1), "unscored"),
    ("Ship|Year; Ama|1971; Bel|1973", "Ama was built in 1971. Bel was built two years later.",
     "", (1, 1), "unscored"),
    ("Ship|Year; Ama|1971; Bel|1973", "Ama was built in 1971. Bel was built in 1975.", "",
     (1, 1), "contradicted TMP 1975"),
    ("Ship|Year|Guns; Ama|2031|6; Bel|2031|7", "It was held in 2031. Ama had 6 guns. Bel had 7.",
     "", (0, 1), "unscored"),
    # a year is nobody's name; "the match against E" is E
    ("Acid|Discoverer|Year; Bol|Ada Ek|1931; Cel|Jo Ruud|1950",
     "Bol was discovered in 1931 by Ada Ek. Cel was discovered in 1950 by Jo Ruud.", "", (0, 2),
     "supported"),
    ("Rival|Result; Vey|lost; Orla|won",
     "The result of the match against Vey was lost. The result of the match against Orla was won.",
     "", (0, 1), "supported"),
    # a last name that two share, or "the player" under "Name", carries on from the sentence before
    ("Player|Goals; Ada Lund|3; Bo Lund|5", "Ada Lund won 7 caps. Lund scored 3 goals. "
     "Bo Lund won 9 caps. Lund scored 6 goals.", "", (1, 1), "contradicted NUM 6"),
    ("Player|Goals; Ada Lund|3; Bo Lund|5", "Ada Lund scored 3 goals. Vey won. Lund scored 6.",
     "", (0, 1), "supported"),
    ("Name|Goals; Ada Lund|3; Bo Ek|5; Cy Orn|8", "Ada Lund won 7 caps. The player scored 3 goals. "
     "Bo Ek won 9 caps. The player scored 6 goals. Cy Orn scored 8 goals.", "", (1, 1),
     "contradicted NUM 6"),
    # what stands in brackets behind names, row after row, is one column's
    ("Film|Made in|Length; Oma|1971|90; Bela|1974|95; Ciro|1980|80",
     "Oma (1971) has a length of 90. Bela (1973) has a length of 95. Ciro (1980) is of length 80.",
     "", (1, 1), "contradicted TMP 1973"),
    ("Field|Value; born|12 March 1861; place|Halden; died|3 May 1934",
     "Ada Brevik (born 12 March 1861) was a painter from Halden.", "", (0, 1), "supported"),
    ("Field|Value; born|12 March 1861; place|Halden; died|3 May 1934",
     "Ada Brevik (born 12 March 1861) was a painter from Halden.", "", (2, 1), "not_in_source TMP"),
]  # fmt: skip


@pytest.mark.parametrize(("answer", "context", "query", "cell", "expected"), CASES)
def test_verdicts(
    answer: str, context: str, query: str, cell: tuple[int, int | None], expected: str
) -> None:
    lines = [[part or None for part in line.split("|")] for line in answer.split("; ")]
    columns = list(COLUMNS) if len(lines[0]) == 4 else [str(name) for name in lines.pop(0)]
    row, column = cell
    found = verdicts(Table.of(columns, lines), context, query)
    one = found[row, None if column is None else columns[column]]
    said = [one.verdict, *([one.error_type] if one.error_type else []), *one.expected]
    assert " ".join(said) == expected, one.reason


@pytest.mark.parametrize(
    ("rows", "context", "mended"),
    [
        # stated of another row: which of the two is wrong is not decided
        ("North|120; West|140", REGIONS, "North|120; West|140"),
        ("Alba|12; Orla|7", "Alba won 12 games in Lund. Orla won 9 games.", "Alba|12; Orla|9"),
        (
            "Lamp|$20; Desk|$99",
            "The Lamp costs $20. The Desk costs $120.",
            "Lamp|$20; Desk|$120",
        ),
        ("Alba|12; Orla|7", "Alba won 12 games. Orla has 9 players.", "Alba|12; Orla|7"),
        # the one number that is no cell's, where those of all other rows are
        ("Alba|12; Orla|9; Brask|7", STAFF, "Alba|12; Orla|9; Brask|5"),
        ("Alba|12; Orla|9; Brask|", STAFF, "Alba|12; Orla|9; Brask|5"),
        ("Alba|12; Orla|9; Brask|", f"{STAFF} Brask has 3 shops.", "Alba|12; Orla|9; Brask|"),
        ("Alba|12; Orla|; Brask|", STAFF, "Alba|12; Orla|; Brask|"),
    ],
)
def test_one_plain_value_takes_the_place_of_a_wrong_one(
    rows: str, context: str, mended: str
) -> None:
    cells = [row.split("|") for row in rows.split("; ")]
    found, _ = repair_table(Table.of(["Name", "Sales"], cells), context)
    assert "; ".join("|".join(cell or "" for cell in row) for row in found.rows) == mended


@pytest.mark.parametrize(
    ("table", "query", "note"),
    [
        (Table.of(COLUMNS, []), "", "no filled row"),
        (Table.of(("Ferry", "Launched", "Launched"), [["Alba", "1995", "9"]]), "", "'Launched'"),
        (GOLD, "List the ferries.", "no list of columns"),
    ],
)
def test_odd_answers_are_noted_in_one_line(table: Table, query: str, note: str) -> None:
    found = verify_documents([(table, Source(text=CONTEXT, query=query))])[0]
    (said,) = found.notes
    assert note in said and "\n" not in said
    assert not [one for one in found.verdicts if one.wrong]


def invented() -> list[Example]:
    settings = Synthesis.model_validate({"n": 8, "seed": 3})
    return [*small_world.examples(seed=5, n=60), *make_examples(settings)]


def test_gold_tables_are_clean() -> None:
    cells = rows = open_cells = open_rows = 0
    for example in invented():
        found = verdicts(example.gold_table, example.adversarial_context, example.query)
        assert not [one for one in found.values() if one.wrong], example.query
    for case in llm_kernels.CASES:
        found = verdicts(case.draft.table, case.draft.context, case.query)
        assert not [one for one in found.values() if one.wrong], case.query
        for one in found.values():
            is_row, is_open = one.claim.column is None, one.verdict == "unscored"
            cells, open_cells = cells + (not is_row), open_cells + (is_open and not is_row)
            rows, open_rows = rows + is_row, open_rows + (is_open and is_row)
    assert cells > 700 and open_cells < 0.05 * cells
    assert rows > 120 and open_rows < 0.4 * rows  # conditions in free words, named as not read


@pytest.mark.parametrize(
    "name", ["row repeated", "row invented", "key invented", "cell distorted", "blank filled"]
)
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
    assert tried > 40 and missed <= 0.025 * tried


ODD = [
    "|A|\n|---|\n|x|",
    "|Ferry|Note|\n|---|---|\n|Alba|" + "x" * 10_000 + "|",
    "|Ferry|Note|\n|---|---|\n|<b>Alba</b>|& \\\\|",
    "|船|年|\n|---|---|\n|アルバ|一九九五|",
    "|1|2|\n|---|---|\n|5|6|\n|7|8|",
]


@pytest.mark.parametrize("answer", ODD)
@pytest.mark.parametrize("context", ["", " \n", CONTEXT, "!!! ... ??", "アルバ。" * 50])
def test_odd_tables_have_verdicts(answer: str, context: str) -> None:
    document = answer_claims(read_table(answer), QUERY)
    found = verify_answer_claims(document, Source(text=context))
    assert [one.claim for one in found] == list(document.claims)
    assert context.strip() or {one.verdict for one in found} <= {"unscored"}


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

    assert_growth(verifying, 200, 1200, below=18)  # linear is 6, squared 36


@pytest.mark.parametrize("where", ["context", "repaired", "query"])
@pytest.mark.parametrize("character", ["'", "\u00bd", "A-", "1 "])
def test_one_character_takes_linear_time(where: str, character: str) -> None:
    table = Table.of(["Team", "Points"], [["Alba", "41"], ["Sella", "37"]])

    def run(count: int) -> Callable[[], object]:
        text = character * (count // len(character))
        if where == "repaired":
            return lambda: repair_answer(write_table(table, "markdown"), text)
        if where == "query":
            return lambda: verify_documents([(table, Source(text="Alba 41", query=text))])[0]
        return lambda: verify_documents([(table, Source(text=text))])[0]

    assert_growth(run, 1000, 6000, below=18)  # linear is 6, squared 36


def test_a_wrong_cell_is_the_only_one() -> None:
    found = verdicts(with_cell(GOLD, 1, 1, "1998"))
    assert [place for place, one in found.items() if one.wrong] == [(1, "Launched")]
