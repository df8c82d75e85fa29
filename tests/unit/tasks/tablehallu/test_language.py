"""How tables are spoken of: names, units, capitals, subjects, queries, scopes, paragraphs."""

from __future__ import annotations

import re
from datetime import date
from random import Random

import pytest

from tablemend.config import parse
from tablemend.datasets.source_tables.columns import Column, is_whole, type_table
from tablemend.datasets.source_tables.names import with_capital
from tablemend.detector.query import SortRule, columns_from_query, sort_rule_from_query
from tablemend.records import Condition, Example
from tablemend.tables.table import Table
from tablemend.tasks.tablehallu import query
from tablemend.tasks.tablehallu.engine import examples
from tablemend.tasks.tablehallu.groups import Bound
from tablemend.tasks.tablehallu.labels import labels_of
from tablemend.tasks.tablehallu.query import Subject, subject_of
from tablemend.tasks.tablehallu.sentences import RowVerbaliser
from tablemend.tasks.tablehallu.settings import Synthesis


@pytest.fixture(scope="module")
def stream() -> list[Example]:
    return list(examples(parse(Synthesis, ["source=pool", "n=120", "seed=2"])))


@pytest.mark.parametrize(
    ("header", "said"),
    [
        ("Funding (USD Million)", ("funding", "", " million USD")),
        ("Prize ($)", ("prize", "$", "")),
        ("Area (km\u00b2)", ("area", "", " km\u00b2")),
        ("Population (2006)", ("population", "", " in 2006")),
        ("#", ("number", "", "")),
        ("Gold", ("gold medals", "", "")),
        ("Seat (map)", ("seat", "", "")),
        ("Win %", ("win percentage", "", "%")),
        ("Density (per km2)", ("density", "", " per km\u00b2")),
        ("Train No.", ("train number", "", "")),
        ("No. of Titles", ("titles", "", "")),
        ("# Wins", ("wins", "", "")),
        ("Number games played", ("games played", "", "")),
        ("Drawn", ("draws", "", "")),
        ("City/Location", ("city or location", "", "")),
    ],
)
def test_headers_are_spoken_without_their_units(header: str, said: tuple[str, str, str]) -> None:
    assert labels_of([Column(header, "number")])[0][:3] == said


SHOWS = [f"Show {letter}" for letter in "ABCDEFGH"]


def say(header: str, cells: list[str], key: str = "Act", names: list[str] = SHOWS) -> set[str]:
    """All that is said of the first row of a table with two columns."""
    rows = list(zip(names, cells, strict=True))
    typed = type_table(Table.of((key, header), rows), min_columns=2)
    speaker = RowVerbaliser(typed, ())
    said = set()
    for seed in range(60):
        (sentence,) = speaker.state(typed.table.rows[0], [[1]], Random(seed)).sentences
        for column, value, start, end in sentence.stated:
            assert sentence.text[start:end] == value == typed.table.rows[0][column == header]
        assert len(sentence.stated) == 2 and ".." not in sentence.text
        said.add(sentence.text.replace("Show A", "E"))
    return said


NUMBERS = [str(n * n + 2) for n in range(1, 9)]
WORDS = "Rice Duke Yale Brown Drake Baylor Tulane Temple".split()


@pytest.mark.parametrize(
    ("header", "cells", "some", "none"),
    [
        ("Number games played", NUMBERS, "E played 3 games.", "number games"),
        ("Matches lost", NUMBERS, "E lost 3 matches.", "number matches"),
        ("Innings pitched", NUMBERS, "E pitched 3 innings.", "pitched of 3"),
        ("Total runs", NUMBERS, "E has a total of 3 runs.", "total runs of"),
        ("Drawn", ["0", *NUMBERS[1:]], "E has 0 draws.", "times"),
        ("Train No.", NUMBERS, "E has the train number 3.", "No."),
        ("Notes", ["5.81 m SB", *WORDS[1:]], "E is listed as 5.81 m SB.", "note 5"),
        ("Bronze", WORDS, "E saw Rice take bronze.", "medals"),
        (
            "Open cup",
            ["Did not enter", *WORDS[1:]],
            'E is marked "Did not enter" for the',
            "was Did",
        ),
        ("College", WORDS, "E has Rice as the college.", "the college Rice"),
        ("2006 - 10", NUMBERS, "E recorded 3 in 2006-10.", '"'),
        ("1st (m)", NUMBERS, 'E has 3 under "1st (m)".', "shows"),
        ("Ending with", NUMBERS, 'E has 3 under "Ending with".', "ending"),
        (
            "Left office",
            [f"{n} May 2001" for n in range(1, 9)],
            "E left office on 1 May 2001.",
            "{",
        ),
        ("Division", [f"Division {n}" for n in range(1, 9)], "in Division 1.", "division"),
        ("Party", [f"{word} Party" for word in WORDS], "to the Rice Party.", "Party party"),
        ("Label", [f"The {word} Masters" for word in WORDS], "on The", "the The"),
        ("Games played", [*NUMBERS[1:], "1"], "games.", " 1 games"),
        ("Year joined", [str(1990 + n) for n in range(8)], "E joined in 1990.", "{"),
    ],
)
def test_any_value_is_said_so_that_it_reads(
    header: str, cells: list[str], some: str, none: str
) -> None:
    said = say(header, cells)
    assert any(some in text for text in said), said
    assert not any(none in text for text in said), said


def test_a_date_alone_is_said_too() -> None:
    days = [f"{n} May 2001" for n in range(1, 9)]
    said = say("Date", days, "Race")
    assert all("1 May 2001" in text and "record." not in text for text in said)


GIVEN = "Ada Bill Carl Dan Earl Fred Greg Henry".split()
NAMES = [f"{given} {family}en" for given, family in zip(GIVEN, WORDS, strict=True)]
PLACES = [*["United States", "Netherlands", "Soviet Union", "Norway"] * 2]


@pytest.mark.parametrize(
    ("key", "names", "columns", "some", "none"),
    [
        # one person is no "they"; names have their article; one tense
        ("Player", NAMES, {"Country": PLACES, "Goals": NUMBERS, "Caps": NUMBERS},
         "the United States", r"\b[Tt]he[yi]r?\b|from United|had"),
        ("Name", NAMES, {"Nationality": PLACES, "Born": [str(1950 + n) for n in range(8)],
         "Height (m)": NUMBERS}, "Riceen stands 3 m tall", r"\b[Tt]he[yi]r?\b|had|stood"),
        ("Competition", [f"{n} Games" for n in WORDS], {"Year": [str(1990 + n) for n in range(8)],
         "Event": WORDS[::-1], "Position": [f"{n}th" for n in range(4, 12)]},
         "in 4th place|brought 4th", r"\b(?:is|has|brings)\b|its event"),
        ("Opponent", WORDS, {"Venue": ["Home", "Away"] * 4, "Attendance": NUMBERS,
         "Result": [f"{n}-1" for n in range(8)]}, "was played at Home", r"\(|listed|has"),
        ("Film", SHOWS, {"Year": [str(1990 + n) for n in range(8)], "Director": NAMES,
         "Role": WORDS}, r"\(1990\)", r"\bis\b|^In 1990"),
    ],
)  # fmt: skip
def test_rows_are_told_by_what_they_are(
    key: str, names: list[str], columns: dict[str, list[str]], some: str, none: str
) -> None:
    typed = type_table(Table.of((key, *columns), zip(names, *columns.values(), strict=True)), 2)
    speaker = RowVerbaliser(typed, ())
    texts = [
        passage.text
        for seed in range(60)
        for passage in speaker.state(typed.table.rows[0], [[1, 2, 3]], Random(seed)).sentences
    ]
    assert any(re.search(some, text) for text in texts), texts
    assert not [text for text in texts if re.search(none, text)]


def test_few_sentences_say_that_something_is_so() -> None:
    """Whatever the labels are: at most a fifth have the pattern "its X is Y"."""
    header = ("Act", "Hue", "Tone", "Heft", "Grade", "Pulls", "Span")
    rows = [
        (name, WORDS[i], WORDS[i - 1], *(str(i * k + k) for k in (3, 4, 5, 7)))
        for i, name in enumerate(SHOWS)
    ]
    typed = type_table(Table.of(header, rows))
    speaker, so = (
        RowVerbaliser(typed, ()),
        re.compile(r"\b(?:its|whose|the) [^,.]{1,40}? (?:is|are) ", re.I),
    )
    texts = [
        sentence
        for seed in range(40)
        for row in typed.table.rows
        for passage in speaker.state(row, [[*range(1, 7)]], Random(seed)).sentences
        for sentence in passage.text.split(". ")
    ]
    assert sum(so.search(text) is not None for text in texts) <= 0.2 * len(texts)


@pytest.mark.parametrize(
    ("header", "kind", "changes", "said"),
    [
        ("Country", "category", {"values": ("United States",)}, "from the United States"),
        ("Spike", "number", {"low": 4.0}, "(?:at least 4|4 or more|more than 3) in spike"),
        ("Draws", "number", {"low": 3.0, "high": 4.0}, "with 3 or 4 draws"),
        ("Position", "category", {"values": ("lock",)}, "whose position is lock"),
        ("Date", "date", {"low": float(date(2011, 9, 26).toordinal())}, "date is .* or later"),
        ("Draws", "number", {"high": 0.0}, "no draws|without draws"),
        ("Closing date", "date", {"high": float(date(2011, 9, 26).toordinal())}, "2011 or earlier"),
        ("Country", "category", {"values": ("Chile",)}, "from Chile"),
        ("Venue", "category", {"values": ("Oslo",)}, "held at Oslo|venue"),
    ],
)
def test_conditions_are_said_by_what_they_are_of(
    header: str, kind: str, changes: dict[str, object], said: str
) -> None:
    rows = [(name, f"{n}") for n, name in enumerate(SHOWS)]
    typed = type_table(Table.of(("Act", header), rows), min_columns=2)
    (_, label) = labels_of([Column("Act", "name"), Column(header, kind)])  # type: ignore[arg-type]
    condition = Condition(header, values=changes.get("values", ()))  # type: ignore[arg-type]
    bound = Bound(1, kind, condition, **changes)  # type: ignore[arg-type]
    for seed in range(9):
        args = bound, typed, label, "acts", RowVerbaliser(typed, ()), Random(seed)
        assert re.search(said, query._phrase_bound(*args))


@pytest.mark.parametrize(
    ("small", "name"),
    [
        ("st louis cardinals", "St Louis Cardinals"),
        ("sporting de gij\u00f3n", "Sporting de Gij\u00f3n"),
        ("frank o'rourke", "Frank O'Rourke"),
        ("women 's british open", "Women's British Open"),
        ("1995 - 96 fa cup", "1995-96 FA Cup"),
        ("bradford city a.f.c.", "Bradford City A.F.C."),
    ],
)
def test_names_in_small_letters_get_their_capitals_back(small: str, name: str) -> None:
    assert with_capital(small) == name


@pytest.mark.parametrize(
    ("title", "subject"),
    [
        ("none", Subject("ships")),
        ("203-csv/12.csv", Subject("ships")),
        ("Port", Subject("ships")),
        ("Bergen", Subject("ships")),
        ("2003 Sydney Regatta", Subject("ships", "2003 Sydney Regatta")),
        ("2003 Sydney Race", Subject("ships", "2003 Sydney Race")),
        ("List of ships in Sydney", Subject("ships", "List of ships in Sydney")),
        ("List of storms", Subject("ships", "List of storms")),
    ],
)
def test_a_title_is_used_where_it_is_a_name(title: str, subject: Subject) -> None:
    rows = [
        [f"Mary {name}", "Bergen", *map(str, (i * i, 3 * i, 7 * i))]
        for i, name in enumerate("Alder Birch Cedar Elm Fir Gorse Hazel Ivy".split())
    ]
    typed = type_table(Table.of(["Ship", "Port", "Crew", "Guns", "Sails"], rows, title))
    assert subject_of(typed, "", RowVerbaliser(typed, ())) == subject


def test_every_phrasing_of_a_query_is_read_by_the_detector(stream: list[Example]) -> None:
    columns = ("Ship", "Home Port", "Length (m)")
    slots = {"rows": "the ships from Bergen", "text": 'the page "2003 Sydney Race"'}
    assert len(set(query.WORDS["wholes"])) >= 40
    for order in ("ascending", "descending"):
        for whole in query.WORDS["wholes"]:
            text = whole.format(
                **slots, columns=query.list_columns(columns), sort='"Home Port"', order=order
            )
            assert columns_from_query(text) == columns, text
            assert sort_rule_from_query(text, columns) == SortRule("Home Port", order), text
    for example in stream:
        rule = SortRule.of(example.constraints)
        assert columns_from_query(example.query) == example.gold_table.columns
        assert sort_rule_from_query(example.query, example.gold_table.columns) == rule


def test_conditions_of_every_kind_are_drawn(stream: list[Example]) -> None:
    conditions = [c for example in stream for c in example.constraints.conditions]
    assert any(c.values for c in conditions) and any(c.low or c.high for c in conditions)
    assert any("-" in (c.low or "") for c in conditions)  # of dates
    assert {len(example.constraints.conditions) for example in stream} == {1, 2}


@pytest.mark.parametrize("header", ["Date", "Opened", "Report year"])
def test_one_day_is_a_scope_that_can_be_said(header: str) -> None:
    staff = (410, 95, 730, 260, 155, 880, 345, 620)
    rows = [(f"Plant {n}", f"2024-03-{n:02}", str(staff[n - 1])) for n in range(1, 9)]
    typed = type_table(Table.of(("Plant", header, "Staff"), rows), min_columns=2)
    label = labels_of(typed.columns)[1]
    day = float(date(2024, 3, 5).toordinal())
    condition = Condition(header, values=("2024-03-05",))
    bound = Bound(1, "date", condition, low=day, high=day, values=frozenset())
    args = bound, typed, label, "plants", RowVerbaliser(typed, ())
    said = {query._phrase_bound(*args, Random(n)) for n in range(9)}
    when = "whose date is" if header == "Date" else "on"  # no "plants on 5 March"
    assert said and all(f"{when} 5 March 2024" in one for one in said)


def test_both_contexts_open_alike(stream: list[Example]) -> None:
    for example in stream:
        if not example.gold_table.rows:
            continue
        first = min(fact.clean.sentence_start for fact in example.facts if fact.clean)
        opening = example.gold_context[:first]
        assert example.adversarial_context.startswith(opening)
        assert opening == "" or re.fullmatch(r"[^\n]+\n\n", opening)


def test_sizes_are_those_of_the_paper_by_default(stream: list[Example]) -> None:
    """Of tables (Figure 5 and Appendix E); contexts are shorter than those of Figure 4."""
    usual = [example for example in stream if len(example.gold_table.rows) > 1]
    assert len(usual) > 0.85 * len(stream)
    for example in usual:
        table = example.gold_table
        assert 5 <= len(table.rows) <= 6 and 4 <= len(table.columns) <= 7
    gold = sorted(len(example.gold_context) for example in usual)
    long = sorted(len(example.adversarial_context) for example in stream)
    tenth = len(usual) // 10
    assert gold[tenth] > 400 and gold[-tenth] < 2000
    assert long[tenth] > 2000 and long[-tenth] < 10_000


@pytest.mark.parametrize(("written", "whole"), [("{}", True), ("{}.0", False)])
def test_numbers_are_whole_where_they_are_written_so(written: str, whole: bool) -> None:
    """Made-up rows of "50.0" have decimals: "below 80" is not "79 or less" there."""
    rows = [[f"Town {name}", written.format(10 + 7 * n)] for n, name in enumerate("ABCDEFGH")]
    typed = type_table(Table.of(["Town", "Money"], rows), 2, 3)
    assert is_whole(typed, 1) is whole
