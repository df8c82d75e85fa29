"""The program engine: typing, groups, made-up rows, blanks, sentences, queries."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pytest

from tablemend.config import parse
from tablemend.datasets.source_tables.columns import (
    Unusable,
    clean_cell,
    read_number,
    type_table,
)
from tablemend.datasets.source_tables.names import (
    FAMILY,
    GIVEN,
    TOWNS,
    distinct_names,
    is_like,
)
from tablemend.datasets.source_tables.sources import open_source
from tablemend.datasets.splits import split_of
from tablemend.detector.algorithm import detect_errors
from tablemend.detector.keys import primary_key
from tablemend.detector.query import SortRule
from tablemend.errors import TablemendError
from tablemend.records import Example
from tablemend.tables.table import Table
from tablemend.tasks.tablehallu.contexts import Part
from tablemend.tasks.tablehallu.dataset import RecordMaker
from tablemend.tasks.tablehallu.engine import (
    Engine,
    examples,
    find_tables,
    open_maker,
)
from tablemend.tasks.tablehallu.groups import GroupMaker, RejectedDraw
from tablemend.tasks.tablehallu.rows import RowMaker
from tablemend.tasks.tablehallu.sentences import RowVerbaliser
from tablemend.tasks.tablehallu.settings import Shape, Synthesis, Types
from tablemend.tasks.tablehallu.verification import verify
from tablemend.values.text import count_tokens

SHIPS = Table.of(
    ["Ship", "Year", "Length", "Builder", "Home Port", "Crew"],
    [
        [
            f"Mary {name}",
            str(1950 + 10 * i % 23),
            f"{40 + 21 * i % 37} m",
            builder,
            port,
            str(11 + 35 * i % 83),
        ]
        for i, (name, builder, port) in enumerate(
            zip(
                "Alder Birch Cedar Dogwood Elm Fir Gorse Hazel Ivy Juniper Kelp Larch".split(),
                "Ames Boyd Carr Dunn Ely Ford Gray Hart Inge Judd Kerr Lowe".split(),
                ("Bergen Cadiz Dover " * 4).split(),
                strict=True,
            )
        )
    ],
    "ships of the northern fleet",
)


def settings(*tokens: str) -> Synthesis:
    return parse(Synthesis, tokens)


def write_tables(path: Path, *tables: Table) -> Path:
    records = [{"header": t.columns, "rows": t.rows, "title": t.title} for t in tables]
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    return path


def assert_gold_is_right(example: Example) -> None:
    """In the eyes of the detector."""
    table, rule = example.gold_table, SortRule.of(example.constraints)
    found = detect_errors(table, table, example.adversarial_context, rule)
    assert not found.unscored
    assert not found.findings, (table, found.findings)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1,234.5", (1234.5, "", "")),
        ("$ 5,735", (5735.0, "$", "")),
        ("(1,774)", (-1774.0, "", "")),
        ("(35)%", (-35.0, "", "%")),
        ("66.44%", (66.44, "", "%")),
        ("45 km", (45.0, "", "km")),
        ("\u22123", (-3.0, "", "")),
        ("5 million", (5.0, "", "million")),
        ("007", None),
        ("1st", None),
        ("12,34", None),
        ("(12", None),
        ("3-5", None),
        ("+12.535", (12.535, "", "")),
    ],
)
def test_numbers_are_read_only_where_they_are_clear(text: str, value: Any) -> None:
    assert read_number(text) == value


@pytest.mark.parametrize(
    ("cell", "clean"),
    [
        ("Paris[1]", "Paris"),
        ("Paris[note 3] ", "Paris"),
        ("12\u2020", "12"),
        ("a\nb", "a b"),
        ("\u2014", None),
        ("n / a", None),
        ("", None),
        ("0", "0"),
    ],
)
def test_cells_are_cleaned_only_where_that_is_safe(cell: str, clean: str | None) -> None:
    assert clean_cell(cell) == clean


@pytest.mark.parametrize(
    ("table", "reason"),
    [
        (Table.of(["A"], [["x"]] * 5), "only one column"),
        (Table.of(["A", "B", "C", "D"], [["x", "1", "2", "3"]]), "too few rows"),
        (
            Table.of(["A", "B", "C", "D"], [[str(i), "1", "2", "3"] for i in range(9)]),
            "no column that names entities",
        ),
        (
            Table.of(["Name", "B"], [[f"Ship {name}", "1"] for name in "abcdefgh"]),
            "too few usable columns",
        ),
    ],
)
def test_an_unusable_table_says_why(table: Table, reason: str) -> None:
    with pytest.raises(Unusable, match=reason):
        type_table(table)


def test_a_sum_is_found_so_that_no_part_of_it_is_blanked() -> None:
    medals = Table.of(
        ["Nation", "Gold", "Silver", "Bronze", "Total"],
        [
            [name, str(i), str(2 * i % 5), str(i * i % 7), str(i + 2 * i % 5 + i * i % 7)]
            for i, name in enumerate("Norway Kenya Chile Japan Italy Peru Ghana Fiji".split())
        ],
    )
    assert (4, (1, 2, 3)) in [(f.total, f.parts) for f in type_table(medals).formulas]


@pytest.mark.parametrize(
    ("name", "similar"),
    [
        ("Bernard Hinaul", True),
        ("bernard-hinault", True),
        ("Bernard", True),
        ("Bernard Thevenet", False),
        ("Round 8", True),
        ("Calbek", False),
        ("Dalbik", True),
        ("Dalbeks", True),
        ("Dabek", True),
        ("Dablek", True),
        ("Dolbak", False),
    ],
)
def test_similar_names(name: str, similar: bool) -> None:
    known = ["Bernard Hinault", "Round 7", "Dalbek"]
    assert (distinct_names([*known, name]) == known) is (similar or name in known)


@pytest.mark.parametrize("source", ["pool", "small-world"])
def test_gold_is_right_and_every_fact_is_where_it_is_recorded(source: str) -> None:
    for example in examples(settings(f"source={source}", "n=24", "seed=4")):
        assert_gold_is_right(example)
        clean, adversarial = example.gold_context, example.adversarial_context
        for fact in example.facts:
            start, end, first, last = fact.adversarial
            assert adversarial[start:end] == fact.value and first <= start < end <= last
            assert fact.entity in adversarial[first:last]
            assert (fact.clean is None) == (fact.violates is not None)
            if fact.clean is not None:
                start, end, clean_first, clean_last = fact.clean
                assert clean[start:end] == fact.value
                assert clean[clean_first:clean_last] == adversarial[first:last]
        names = {fact.entity for fact in example.facts}
        if source == "pool":
            assert len(distinct_names(names)) == len(names)
            assert primary_key(example.gold_table) == 0


def test_twins_from_another_year_hide_what_is_blank() -> None:
    twins = 0
    for example in examples(settings("source=pool", "n=48", "seed=1")):
        gold = {fact.entity for fact in example.facts if fact.violates is None}
        hidden = {
            (row[0], column)
            for row in example.gold_table.rows
            for column, cell in zip(example.gold_table.columns, row, strict=True)
            if cell is None
        }
        for fact in example.facts:
            if fact.violates is not None and fact.entity in gold:
                twins += 1
                assert (fact.entity, fact.column) not in hidden
    assert twins > 10


@pytest.mark.parametrize(
    ("difficulty", "groups"), [("paper", 5), ("easy", 10), ("medium", 20), ("hard", 30)]
)
def test_difficulty_is_the_number_of_groups(difficulty: str, groups: int) -> None:
    wanted = settings("source=pool", "n=6", f"difficulty={difficulty}", "few=0", "queries=1")
    for example in examples(wanted):
        assert len({*example.groups}) + 1 in (groups, groups + (groups == 5))
        got = len(example.adversarial_context) / len(example.gold_context)
        assert 0.7 * groups <= got <= 1.5 * groups


@pytest.mark.parametrize(
    ("text", "pieces"),
    [
        (
            "In 1984, the Dalbek had a crew of 1,234.5 m.",
            "In/ /1/9/8/4/,/ the/ Dal/bek/ had/ a/ crew/ of/ /1/,/2/3/4/./5/ m/.",
        ),
        (
            "Kelora ended 2019 with $ 5,735 (35.2%).",
            "Kel/ora/ ended/ /2/0/1/9/ with/ $/ /5/,/7/3/5/ (/3/5/./2/%).",
        ),
    ],
)
def test_tokens_are_counted_as_qwen_counts_them(text: str, pieces: str) -> None:
    """The pieces are those of Qwen's own vocabulary."""
    true = pieces.split("/")
    assert "".join(true) == text
    assert len(true) <= count_tokens(text) <= 1.2 * len(true)
    assert 1.3 * len(text.split()) < 0.8 * len(true)  # what words alone would say


def test_what_would_be_too_long_is_drawn_again_at_the_same_difficulty() -> None:
    given = ["source=pool", "n=12", "difficulty=mixed", "queries=1", "few=0"]
    free = list(examples(settings(*given)))
    lengths = [count_tokens(example.adversarial_context) for example in free]
    most = max(lengths) - 500
    maker = open_maker(settings(*given, f"max_tokens={most}"))
    made = [example for number in range(12) for example in maker.make(number)]
    assert max(count_tokens(example.adversarial_context) for example in made) <= most
    assert [e.difficulty for e in made] == [e.difficulty for e in free]
    assert maker.rejected["longer than max_tokens"]


def test_a_city_stays_in_its_country_where_countries_are_scopes() -> None:
    countries = (
        "France Japan Chile Kenya Norway Spain Peru Egypt India Italy Ghana Nepal Cuba".split()
    )
    rows = [
        [f"{town} Museum", f"{(c := countries[n % 13])}ville", c, str(1900 + 3 * n), str(90 + n)]
        for n, town in enumerate(TOWNS[:24])
    ]
    table = Table.of(["Museum", "City", "Country", "Opened", "Rooms"], rows)
    said = [
        row.cells[1:3]
        for part in parts_of(table, 40, names=[f"{name} Gallery" for name in FAMILY[:90]])
        for row in part.rows
        if row.made_up and {1, 2} <= {*part.stated} and row.cells[1]
    ]
    assert len(said) > 20
    assert all(city == f"{country}ville" for city, country in said)


@pytest.mark.parametrize("source", ["pool", "data_gen/tables"])
def test_max_tokens_that_are_enough_are_named(source: str) -> None:
    """However few contexts are asked for."""
    given = settings(f"source={source}", "n=1", "max_tokens=50", "queries=1")
    usable = (
        []
        if source == "pool"
        else find_tables(open_source(given.source, given, given.seed), given)[0]
    )
    with pytest.raises(TablemendError, match=r"set max_tokens=\d+ \(the shortest") as refused:
        RecordMaker(given, usable)(0)
    found = re.search(r"max_tokens=(\d+)", str(refused.value))
    assert found
    wider = open_maker(given.model_copy(update={"max_tokens": int(found[1])}), usable)
    assert wider.make(0)


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ([], r'5 groups of 6 rows: "County" makes 3\); some are by .*max_rows=4 .*=real'),
        (["difficulty=hard"], r'30 .* "County" makes 3\); some are by .* difficulty=paper dist'),
        (["distractors=real"], r'by "County" they have 4, 4\); some are by shape.min_rows=3'),
    ],
)
def test_a_table_that_is_too_small_is_told_what_it_has(
    more: list[str], said: str, tmp_path: Path
) -> None:
    counties = ("Kent", "Devon", "Essex")
    rows = [[f"{town} Rovers", counties[n % 3], f"a{n} b"] for n, town in enumerate(TOWNS[:12])]
    table = Table.of(["Club", "County", "Ground"], rows)
    path = write_tables(tmp_path / "clubs.jsonl", table)
    with pytest.raises(TablemendError, match=said):
        open_maker(settings(f"source={path}", "shape.min_columns=3", *more))


def test_real_distractors_are_rows_of_the_table(tmp_path: Path) -> None:
    path = write_tables(tmp_path / "ships.jsonl", SHIPS)
    names = set(SHIPS.column("Ship"))
    small = "shape.min_rows=2", "shape.max_rows=3"
    for example in examples(settings(f"source={path}", "n=20", "distractors=real", *small)):
        assert {fact.entity for fact in example.facts} <= names
        assert example.source == "ships.jsonl:1"
        assert example.source_hash == SHIPS.content_hash()


def test_an_example_depends_on_its_number_alone(tmp_path: Path) -> None:
    shuffled = [
        Table.of(SHIPS.columns, [(f"{row[0]} {i}", *row[1:]) for row in SHIPS.rows])
        for i in range(3)
    ]
    path = write_tables(tmp_path / "ships.jsonl", SHIPS, *shuffled)
    small = ["shape.min_rows=2", "shape.max_rows=3"]
    given = ["n=12", "shares={train: 1.0, validation: 0, test: 0}", *small]
    wanted = settings(f"source={path}", *given)
    in_order = list(examples(wanted))
    numbers = list(range(12))
    Random(3).shuffle(numbers)
    maker = open_maker(wanted)
    by_number = {number: maker.make(number) for number in numbers}
    assert [made for number in range(12) for made in by_number[number]] == in_order
    assert len({example.id for example in in_order}) == len(in_order) >= 10
    assert list(examples(wanted.model_copy(update={"seed": 1}))) != in_order


@pytest.mark.parametrize(
    ("name", "usable", "fewest", "smaller"),
    [
        ("wikitablequestions", 130, 58, ("shape.min_rows=3", "shape.max_rows=4")),
        ("finqa", 25, 50, ("shape.min_rows=2", "shape.min_columns=3", "distractors=real")),
    ],
)
def test_real_tables_give_verified_examples(
    name: str,
    usable: int,
    fewest: int,
    smaller: tuple[str, ...],
    shared_data: Callable[[str], list[dict[str, Any]]],
    tmp_path: Path,
) -> None:
    records = shared_data(name)
    path = tmp_path / f"{name}.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    wanted = settings(f"source={path}", "n=60", "seed=7", *smaller)
    source = open_source(wanted.source, wanted, wanted.seed)
    tables, _ = find_tables(source, wanted)
    assert len(tables) >= usable
    engine = Engine(wanted, source, tables)
    made = [example for number in range(60) for example in engine.make(number)]
    assert len(made) >= fewest
    for example in made:
        assert verify(example) is None
        assert Example.from_json(json.loads(json.dumps(example.to_json()))) == example
        assert_gold_is_right(example)
        assert primary_key(example.gold_table) == 0


TERMS = Table.of(
    ["Mayor", "From", "To", "Turnout (%)", "Rank", "Party", "Deputy"],
    [
        [f"{given} Stone", str(year), str(year + 4), f"{99.9 - i}", str(i + 1), party, deputy]
        for i, (given, year, party, deputy) in enumerate(
            zip(
                "Ada Bea Cleo Dora Edna Fay Gwen Hope Ines Joan Kate Lily".split(),
                range(1970, 2018, 4),
                ("Green Red " * 6).split(),
                "Abel Bert Carl Dirk Emil Fred Gert Hans Ivan Jens Karl Lars".split(),
                strict=True,
            )
        )
    ],
)


def part_of(table: Table, seed: int, rows: int = 3, groups: int = 5, names: Any = ()) -> Part:
    """The rows of a table in groups."""
    typed = type_table(table)
    maker = RowMaker(typed, names)
    return Part(
        maker,
        GroupMaker(maker, True),
        RowVerbaliser(typed, ()),
        groups,
        (rows, rows),
        False,
        Shape(min_rows=rows, max_rows=rows),
        Types().model_dump(exclude={"entity"}),
        True,
        True,
        Random(seed),
    )


def parts_of(table: Table, count: int, **given: Any) -> list[Part]:
    found = []
    for seed in range(count):
        try:
            found.append(part_of(table, seed, **given))
        except RejectedDraw:
            continue
    return found


def test_made_up_rows_could_be_real() -> None:
    names = [f"{given} {town}" for given, town in zip(GIVEN, TOWNS, strict=False)][:60]
    found = parts_of(TERMS, 60, rows=4, names=["Ulla Berg", "Vera Dahl", *names])
    assert len(found) > 30
    stated, made_up = set[str](), 0
    for part in found:
        columns = part.typed.table.columns
        stated.update(columns[c] for c in part.stated)
        entities = [row.cells[0] for row in part.rows]
        assert len({*entities}) == len(entities) == 4 * part.count
        ranks = [row.orders[4] for row in part.rows]
        for row in part.rows:
            made_up += row.made_up
            _, start, end, turnout, *_ = row.orders
            if 1 in part.stated and 2 in part.stated and start and end:
                assert start <= end
            if 3 in part.stated and turnout:
                assert 0 <= turnout <= 100
            if row.made_up and 5 in part.stated:
                assert row.cells[5] in ("Green", "Red")
            if row.made_up and 6 in part.stated:
                assert row.cells[6] is None  # every deputy is there once
        if 4 in part.stated:
            assert len({*ranks}) == len(ranks)
    assert made_up > 100
    # All of them say the same order.
    assert len({"From", "To", "Turnout (%)", "Rank"} & stated) == 1


def test_names_that_run_out_are_said() -> None:
    with pytest.raises(RejectedDraw, match="too few rows and names of its kind"):
        part_of(TERMS, 0, rows=6, names=["Ulla Berg"])


def test_names_are_borrowed_within_a_split_from_tables_of_the_same_kind(tmp_path: Path) -> None:
    tables = [
        Table.of(
            ["Ship", "Year", "Length", "Crew"],
            [
                [
                    TOWNS[12 * n + i],
                    str(1950 + 7 * i % 41),
                    f"{40 + 13 * i % 61} m",
                    str(9 + 5 * i % 37),
                ]
                for i in range(12)
            ],
        )
        for n in range(6)
    ]
    path = write_tables(tmp_path / "ships.jsonl", SHIPS, *tables)
    sizes = ("shape.min_rows=3", "shares.train=0.5", "shares.test=0.4")
    wanted = settings(f"source={path}", "n=14", *sizes)
    source = open_source(wanted.source, wanted, wanted.seed)
    usable, _ = find_tables(source, wanted)
    split = {table.place.where: split_of(table.source_hash, wanted.shares) for table in usable}
    homes = {
        name: f"ships.jsonl:{n + 2}" for n, t in enumerate(tables) for name in t.column("Ship")
    }
    borrowed = 0
    for example in examples(wanted):
        for name in {fact.entity for fact in example.facts} & homes.keys():
            assert split[homes[name]] == split[example.source]
            borrowed += homes[name] != example.source
    assert borrowed > 20


FIELDS: dict[str, tuple[list[str], str, str]] = {
    "Swimming at the Lowland Games": (
        ["Name", "Lane", "Time", "Nationality", "Notes"],
        "Nation",
        "",
    ),
    "Locomotives of the mountain railway": (
        ["Name", "Builder", "Works Number", "Weight", "Notes"],
        "Works",
        "Engine",
    ),
}


def fields_of(tables: int) -> list[Table]:
    """Tables of two fields that share the headers "Name" and "Notes"; names do not repeat."""
    found = []
    for field, (title, (columns, kind, word)) in enumerate(FIELDS.items()):
        for n in range(tables):
            rng = Random(10 * n + field)
            names = rng.sample(FAMILY[200 * field : 200 * field + 200], 24)
            rows = [
                [
                    f"{name} {word}".strip() if word else f"{rng.choice(GIVEN)} {name}",
                    f"{kind} {rng.randint(1, 6)}" if field else str(rng.randint(1, 99)),
                    f"{rng.uniform(20, 90):.2f}",
                    f"{kind} {rng.randint(1, 6)}" if not field else f"{rng.randint(20, 90)} t",
                    f"{word or 'Swimmer'} remark {rng.randint(1, 999)}",
                ]
                for name in names
            ]
            found.append(Table.of(columns, rows, title))
    return found


@pytest.mark.parametrize("difficulty", ["paper", "easy"])
def test_made_up_rows_never_borrow_from_another_field(difficulty: str, tmp_path: Path) -> None:
    path = write_tables(tmp_path / "fields.jsonl", *fields_of(6))
    everything = "shares={train: 1.0, validation: 0, test: 0}"
    wanted = settings(f"source={path}", "n=24", f"difficulty={difficulty}", everything)
    made_up = Counter[str]()
    for example in examples(wanted):
        is_engine = "Locomotives" in example.topic
        for fact in example.facts:
            assert ("Engine" in fact.entity) == is_engine
            if fact.column == "Notes":
                assert fact.value.startswith("Engine" if is_engine else "Swimmer")
        made_up[example.topic] += len({f.entity for f in example.facts if f.violates})
    assert len(made_up) == 2 and min(made_up.values()) > 100


def test_what_follows_from_other_columns_is_not_stated_beside_made_up_rows() -> None:
    names = "Norway Kenya Chile Japan Italy Peru Ghana Fiji Malta Nepal".split()
    medals = Table.of(
        ["Nation", "Gold", "Silver", "Total", "Price", "Value", "From", "To"],
        [
            [name, str(g), str(s), str(g + s), str(p), f"{g * p:,}", str(1950 + s), str(1954 + s)]
            for i, name in enumerate(names)
            for g, s, p in [(3 + i % 4, 2 * i + 1, 100 + 7 * i)]
        ],
    )
    maker = RowMaker(type_table(medals), TOWNS)
    free = {*maker.free}
    for linked in ((1, 2, 3), (1, 4, 5), (6, 7), (2, 6)):
        assert not {*linked} <= free


def test_an_entity_stays_what_it_is_at_other_times() -> None:
    countries = "Norway Kenya Chile Japan".split()
    table = Table.of(
        ["Team", "Season", "Country", "Points", "Coach"],
        [
            [f"Team {chr(65 + n)}{chr(75 + n)}", str(2000 + year), countries[n % 4],
             str(20 + 7 * n + 3 * year % 11), f"Coach {(n + year) % 3}"]
            for n in range(6)
            for year in (n % 3, 4 + n % 2)
        ],
    )  # fmt: skip
    for part in parts_of(table, 30):
        if 2 in part.stated:
            of: dict[str, set[Any]] = {}
            for row in part.rows:
                of.setdefault(row.cells[0] or "", set()).add(row.cells[2])
            assert all(len(said) == 1 for said in of.values())
        assert len({(row.cells[0], row.cells[1]) for row in part.rows}) == len(part.rows)
        real = {row[:2] for row in table.rows}
        assert not any(row.made_up and row.cells[:2] in real for row in part.rows)


@pytest.mark.parametrize(
    ("rows", "kept"),
    [
        ([["Nation", "Gold", "Silver", "1"], ["Europe"] * 4, ["Asia", None, None, None]], 0),
        ([["Oman", "1", "2", "1999"], ["Oman", "3", "2", "2003"]], 2),
        ([["Oman", "1", "2", "1999"], ["Oman", "3", "2", "1999"]], 0),
        ([["Oman", "1", "2", "1999"], ["Oman", "3", "2", None]], 1),
    ],
    ids=["headers and sections", "two years", "one year twice", "no year"],
)
def test_rows_that_say_nothing_or_contradict_are_left_out(rows: list[Any], kept: int) -> None:
    nations = "Norway Kenya Chile Japan Italy Peru".split()
    body = [[name, str(i), str(i * i % 5), str(1990 + 2 * i)] for i, name in enumerate(nations)]
    typed = type_table(Table.of(["Nation", "Gold", "Silver", "Year"], [*body, *rows]))
    assert len(typed.table.rows) - len(body) == kept
    assert typed.distinguishing == ((3,) if kept == 2 else ())


def test_a_day_of_no_year_is_a_date_and_no_number() -> None:
    rows = [[f"Club {name}", f"{7 + 3 * i} october", f"({i})"] for i, name in enumerate("ABCDEF")]
    typed = type_table(Table.of(["Club", "Day", "Grid"], rows), 2)
    assert [column.kind for column in typed.columns] == ["name", "date", "text"]


@pytest.mark.parametrize(
    ("one", "other", "like"),
    [
        ("Hard (i)", "Hard", True),
        ("right wing", "wing", True),
        ("Smith and Jones", "Jones", True),
        ("World War II", "World War 2", True),
        ("Clay", "Hard", False),
        ("North", "South", False),
    ],
)
def test_values_of_a_distractor_that_could_be_meant(one: str, other: str, like: bool) -> None:
    assert is_like(one, other) is like


def test_no_blank_can_be_worked_out() -> None:
    names = "Ada Bea Cleo Dora Edna Fay Gwen Hope Ines Joan Kate Lily".split()
    cities = [("Paris", "France"), ("Rome", "Italy"), ("Oslo", "Norway"), ("Bonn", "Germany")]
    table = Table.of(
        ["Driver", "Stage", "Points", "Bonus", "Total", "City", "Country", "Car"],
        [
            [name, str(i), str(p), str(b), str(p + b), *cities[i % 4], f"Car {i * i}"]
            for i, name in enumerate(names)
            for p, b in [(i * 37 % 50, i * 11 % 7)]
        ],
    )
    blanked = set[int]()
    for part in parts_of(table, 200, rows=2, groups=5):
        for made, cells in zip(part.rows, part.typed.table.rows, strict=True):
            for column in part.columns:
                if cells[column] is not None or made.cells[column] is None:
                    continue
                beside = next(
                    ({*group} for group in ((2, 3, 4), (5, 6)) if column in group), {0, -1}
                )
                assert column != 1 and not beside <= {*part.stated}
                blanked.add(column)
    assert blanked >= {3, 4, 5, 6}  # points and total go together: contexts are sorted by points
