"""Tables under other names: nothing of the old ones is left but what a column is."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from random import Random

import pytest
from tokenizers import Tokenizer
from tokenizers.models import WordLevel

from tablemend.config import parse
from tablemend.datasets.source_tables.columns import type_table
from tablemend.datasets.source_tables.names import GIVEN
from tablemend.datasets.source_tables.renaming import Renaming, Vocabulary, read_words
from tablemend.datasets.source_tables.sources import SourceTable
from tablemend.errors import TablemendError
from tablemend.records import Example
from tablemend.tables.table import Table
from tablemend.tasks.tablehallu.dataset import make_dataset
from tablemend.tasks.tablehallu.engine import examples
from tablemend.tasks.tablehallu.settings import Synthesis
from tests.support.scripts import run_script
from tests.unit.tasks.tablehallu.test_engine import SHIPS, write_tables

STARTS, ENDS = "Qua Zeb Oka Ser Tap Vic Wom Xer".split(), "gga u pi val ir una bat us".split()
WORDS = [f"{start}{end}" for start in STARTS for end in ENDS]
SETTINGS = ["n=12", "shape.min_rows=2", "shape.max_rows=2", "shape.min_columns=3", "queries=1"]


@pytest.fixture
def model(tmp_path: Path) -> str:
    """A folder with the tokenizer of a model."""
    tokens = [*(f"Ġ{word}" for word in WORDS), "ing", "ero", "<s>"]
    vocabulary = {token: place for place, token in enumerate(tokens)}
    Tokenizer(WordLevel(vocabulary, unk_token="<s>")).save(str(tmp_path / "tokenizer.json"))
    return str(tmp_path)


def make(source: Path, *tokens: str) -> list[Example]:
    return list(examples(parse(Synthesis, [f"source={source}", *SETTINGS, *tokens])))


@pytest.mark.parametrize("distractors", ["real", "extended"])
@pytest.mark.parametrize("case", [str, str.lower])
def test_an_example_has_other_names_throughout(
    tmp_path: Path, model: str, distractors: str, case: Callable[[str], str]
) -> None:
    # a table gives another of its kind the names of its ships
    tables = [SHIPS, replace(SHIPS, rows=tuple(("Lady " + r[0], *r[1:]) for r in SHIPS.rows))]
    rows = [[[case(cell) for cell in row] for row in table.rows] for table in tables]
    source = write_tables(tmp_path / "ships.jsonl", *map(partial(Table.of, SHIPS.columns), rows))
    made = make(source, f"rename={model}", f"distractors={distractors}")
    assert len(made) == 12
    # to the splits they are what they were
    assert {one.source_hash for one in made} <= {one.source_hash for one in make(source)}
    starts = "|".join(sorted({word[:n] for word in WORDS for n in (2, 3, 4, 5, 6)}))
    new = re.compile(rf"{'|'.join(WORDS)}|(?:{starts})(?:ing|ero){{1,2}}")
    old = {word for row in SHIPS.rows for cell in row for word in re.findall("[A-Z][a-z]+", cell)}
    old |= {"Lady", "Port"}
    seen, every = set(), list[str]()
    for example in made:
        words = [w for fact in example.facts for w in re.findall("[A-Z][a-z]+", fact.entity)]
        unknown = [word for word in words if not new.fullmatch(word) and word not in old | {*GIVEN}]
        assert not unknown
        every += (word for word in words if word not in GIVEN)
        seen.add(frozenset(words))
        years = {fact.value for fact in example.facts if fact.column == "Year"}
        if distractors == "real":
            assert years <= {row[1] for row in SHIPS.rows}
    assert len(seen) > 6 and sum(word in old for word in every) < len(every) / 2
    assert made == make(source, f"rename={model}", f"distractors={distractors}")


ROWS = [
    ["1. The Red Door", "1,234,567", "3 May 2011", "Susan Park", "Three, Unknown"],
    ["2. A Red Sea", "9,876,543", "12 June 2012", "Karin Park", "Total"],
    ["3. Blue días", "4,000,000", "1 March 2013", "Isabel Sea", "None"],
    ["Total", "15,111,110", "2013", "-", "Average"],
]


def test_what_means_something_stays() -> None:
    table = Table.of(["Film", "Gross", "Released", "Director", "Notes"], ROWS, "Films of a Red Sea")
    read = SourceTable(table, "Films of a Red Sea", "films", "arts", "", "here")
    typed = type_table(table, 2, 2)
    assert len(typed.table.rows) == 3
    titles = set()
    for seed in range(20):
        renaming = Renaming(Vocabulary(tuple(WORDS), ("ing", "ero")), (), Random(seed))
        made = renaming.table(read, typed)
        assert made.table.columns == table.columns and made.key == typed.key
        for column in ("Gross", "Released"):
            was = typed.table.column(column)
            assert sorted(map(str, made.table.column(column))) == sorted(map(str, was))
        films = [*map(str, made.table.column("Film"))]
        assert not any("Red" in film for film in films) and "días" in " ".join(films)
        assert sum(renaming.name("Red") in film.split() for film in films) == 2
        assert made.topic == made.table.title == f"Films of a {renaming.name('Red Sea')}"
        # persons stay persons
        assert all(str(name).split()[0] in GIVEN for name in made.table.column("Director"))
        notes = " ".join(map(str, made.table.column("Notes")))
        assert {"Three", "Total"} <= {*re.findall("[A-Z][a-z]+", notes)}
        titles.add(made.topic)
    assert len(titles) > 10


def test_words_that_mean_something_do_not_stand_for_others(model: str) -> None:
    tokens = {f"Ġ{word}": n for n, word in enumerate(["Total", "None", "May", "Seven", "Quagga"])}
    Tokenizer(WordLevel(tokens, unk_token="ĠMay")).save(f"{model}/tokenizer.json")
    assert read_words(model) == (("Quagga",), ())
    renaming = Renaming(read_words(model), (), Random(1))
    assert renaming.name("Mart Alder, May 5") == "Quagga Quagga, May 5"
    Tokenizer(WordLevel({"ĠTotal": 0}, unk_token="ĠTotal")).save(f"{model}/tokenizer.json")
    with pytest.raises(TablemendError, match=r"rename: no word of .* can be a name"):
        read_words(model)


@pytest.mark.parametrize(
    ("tokens", "said"),
    [
        (["source=pool", "rename=MODEL"], "rename: the topic pool has names without end"),
        (["source=small-world", "rename=MODEL"], "rename: the small world has no such setting"),
        (
            ["source=data_gen/tables", "rename=/nowhere", "workers=2"],
            "rename: there is no /nowhere/tokenizer.json: name the folder of a model",
        ),
    ],
)
def test_what_cannot_be_renamed_is_refused(
    tokens: list[str],
    said: str,
    model: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    given = [token.replace("MODEL", model) for token in tokens]
    out = tmp_path / "out"
    assert run_script("data_gen/tablehallu.py", [*given, f"out={out}"], monkeypatch) == 2
    assert said in capsys.readouterr().err
    assert not out.exists()


def test_the_card_says_so(tmp_path: Path, model: str) -> None:
    source = write_tables(tmp_path / "ships.jsonl", SHIPS)
    tokens = [f"source={source}", *SETTINGS, f"rename={model}", f"out={tmp_path / 'made'}"]
    make_dataset(parse(Synthesis, [*tokens, "shares={train: 1, validation: 0, test: 0}"]), repr)
    assert "names are exchanged for others" in (tmp_path / "made/README.md").read_text("utf-8")
