"""Tables under other names and numbers: nothing of the old ones is left but what a column is."""

from __future__ import annotations

import re
from pathlib import Path
from random import Random

import pytest
from tokenizers import Tokenizer
from tokenizers.models import WordLevel

from tablemend.config import parse
from tablemend.datasets.tablehallu.program_engine import examples
from tablemend.datasets.tablehallu.renaming import Renaming
from tablemend.datasets.tablehallu.settings import Synthesis
from tablemend.datasets.tablehallu.sources import SourceTable
from tablemend.datasets.vocabulary import Vocabulary
from tablemend.records import Example
from tablemend.tables.table import Table
from tests.support.scripts import run_script
from tests.unit.datasets.tablehallu.test_engine import SHIPS, write_tables

STARTS, ENDS = "Qua Zeb Oka Ser Tap Vic Wom Xer".split(), "gga u pi val ir una bat us".split()
WORDS = [f"{start}{end}" for start in STARTS for end in ENDS]
SETTINGS = ["n=12", "shape.min_rows=3", "shape.max_rows=4", "shape.min_columns=3"]


@pytest.fixture
def model(tmp_path: Path) -> str:
    """A folder with the tokenizer of a model."""
    tokens = [*(f"Ġ{word}" for word in WORDS), "ing", "ero", "<s>"]
    vocabulary = {token: place for place, token in enumerate(tokens)}
    Tokenizer(WordLevel(vocabulary, unk_token="<s>")).save(str(tmp_path / "tokenizer.json"))
    return str(tmp_path)


def make(folder: Path, *tokens: str) -> list[Example]:
    source = write_tables(folder / "tables.jsonl", SHIPS)
    return list(examples(parse(Synthesis, [f"source={source}", *SETTINGS, *tokens])))


@pytest.mark.parametrize("distractors", ["real", "extended"])
def test_an_example_has_other_names_throughout(
    tmp_path: Path, model: str, distractors: str
) -> None:
    plain, made = make(tmp_path), make(tmp_path, f"rename={model}", f"distractors={distractors}")
    assert len(made) == 12
    # the same table to the splits, whatever it is called
    assert {one.source_hash for one in made} == {plain[0].source_hash}
    starts = "|".join(word[:2] for word in WORDS)
    new = re.compile(rf"{'|'.join(WORDS)}|(?:{starts})[A-Za-z]*?(?:ing|ero)")
    old = {word for row in SHIPS.rows for cell in row for word in re.findall("[A-Z][a-z]+", cell)}
    seen, every = set(), list[str]()
    for example in made:
        words = [w for fact in example.facts for w in re.findall("[A-Z][a-z]+", fact.entity)]
        assert all(new.fullmatch(word) or word in old for word in words)
        every += words
        seen.add(frozenset(words))
        ships = {fact.entity for fact in example.facts if len(fact.entity.split()) == 2}
        # the word of all ships is still that of all, another one each time
        assert len({ship.split()[0] for ship in ships}) <= 1
        years = {fact.value for fact in example.facts if fact.column == "Year"}
        if distractors == "real":
            assert years <= {row[1] for row in SHIPS.rows}
    assert len(seen) > 6 and sum(word in old for word in every) < len(every) / 2
    assert made == make(tmp_path, f"rename={model}", f"distractors={distractors}")


def test_numbers_get_other_digits_and_times_stay() -> None:
    rows = [
        ["The Red Door", "1,234,567", "3 May 2011", "2011"],
        ["A Red Sea", "9,876,543", "12 June 2012", "2012"],
        ["Blue", "4,000,000", "1 March 2013", "2013"],
    ]
    table = Table.of(["Film", "Gross", "Released", "Year"], rows, "Films of The Red Sea")
    read = SourceTable(table, "Films of The Red Sea", "films", "arts", "", "here")
    grosses = set()
    for seed in range(20):
        renaming = Renaming(Vocabulary(tuple(WORDS), ("ing", "ero")), (), Random(seed))
        made = renaming.table(read).table
        assert made.columns == table.columns
        for column in ("Released", "Year"):
            assert sorted(made.column(column), key=str) == sorted(table.column(column), key=str)
        grosses.add(made.column("Gross"))
        assert all(re.fullmatch(r"[1-9],\d{3},\d{3}", str(cell)) for cell in made.column("Gross"))
        films = sorted(map(str, made.column("Film")), key=len)
        assert not any("Red" in film for film in films)
        assert sum(renaming.name("Red") in film.split() for film in films) == 2
        assert renaming.name("The Red Sea") in made.title and made.title.startswith("Films of")
    assert len(grosses) > 6  # and not only in other places


@pytest.mark.parametrize(
    ("tokens", "said"),
    [
        (["source=pool", "rename=MODEL"], "rename: the topic pool has names without end"),
        (["source=small-world", "rename=MODEL"], "rename: the small world has no such setting"),
        (["source=data_gen/tables", "rename=/nowhere"], "there is no /nowhere/tokenizer.json"),
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
    assert not list(out.rglob("*.jsonl"))
