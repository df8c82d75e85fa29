"""Exercises in sorting and filtering: every line is right, and the thought of a target as well."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tokenizers import Tokenizer
from tokenizers.models import WordLevel

from exercises import Exercises, make_exercises
from tablemend.config import parse
from tablemend.detector.query import is_sorted
from tablemend.errors import TablemendError
from tablemend.records import Example
from tablemend.runs import read_jsonl, write_jsonl
from tablemend.tasks.sources import Chat
from tablemend.tasks.tablehallu import small_world
from tablemend.tasks.tablehallu.engine import examples
from tablemend.tasks.tablehallu.prompts import target
from tablemend.tasks.tablehallu.settings import Synthesis
from tests.support.scripts import run_script

LINE = re.compile(r"\d\. (\w+)(?: (from \S+|up to \S+|\S+ to \S+))?, (ascending|descending): (.*)")


WORDS = (("Ġ", "Quagga"), ("▁", "Zebu"), ("", "Inside"), ("Ġ", "xlower"), ("", "x"))


def number(text: str) -> float:
    return float(text.replace(",", ""))


def in_range(said: str, value: float) -> bool:
    if said.startswith("from "):
        return value >= number(said.removeprefix("from "))
    if said.startswith("up to "):
        return value <= number(said.removeprefix("up to "))
    low, high = map(number, said.split(" to "))
    return low <= value <= high


@pytest.fixture(scope="module")
def made() -> list[Example]:
    return list(examples(parse(Synthesis, ["source=pool", "n=40", "seed=8"])))


def test_every_line_is_sorted_and_holds_what_is_in_range(
    tmp_path: Path, made: list[Example]
) -> None:
    write_jsonl(tmp_path / "train.jsonl", [one.to_json() for one in made])
    out = tmp_path / "exercises.jsonl"
    settings = Exercises(source=str(tmp_path), n=60, out=str(out))
    make_exercises(settings)
    chats = [Chat.of(record) for record in read_jsonl(out)]
    assert len(chats) == 60
    seen = set()
    for chat in chats:
        (asked,) = chat.messages
        lines = asked["content"].splitlines()[1:]
        for line, told in zip(lines, chat.answer.splitlines(), strict=True):
            match = LINE.fullmatch(line)
            assert match is not None, line
            said, order, given = match[2], match[3], match[4].split(" | ")
            kept = told.split(". ", 1)[1].split(" | ")
            wanted = [one for one in given if said is None or in_range(said, number(one))]
            assert sorted(kept) == sorted(wanted) and is_sorted(kept, order)  # type: ignore[arg-type]
            seen.add((said and said.split()[0] in ("from", "up"), kept[0][0].isalpha()))
    assert seen == {(None, True), (None, False), (True, False), (False, False)}
    make_exercises(settings)
    assert [Chat.of(record) for record in read_jsonl(out)] == chats


def test_rows_are_filtered_by_a_number_or_by_words(tmp_path: Path, made: list[Example]) -> None:
    write_jsonl(tmp_path / "train.jsonl", [one.to_json() for one in made])
    out = tmp_path / "exercises.jsonl"
    make_exercises(Exercises(source=str(tmp_path), n=60, rows=0.5, out=str(out)))
    chats = [Chat.of(record) for record in read_jsonl(out)]
    seen, rows = set(), 0
    for chat in chats:
        head, *lines = chat.messages[0]["content"].splitlines()
        if head != "Keep what is in the range.":
            continue
        rows += 1
        for line, said, told in zip(lines[::2], lines[1::2], chat.answer.splitlines(), strict=True):
            given = line.split(": ", 1)[1].split(" | ")
            head, kept = told.split(". ", 1)[1].split(": ", 1)
            assert head == said and 6 <= len(given) <= 18
            values = [one.split(" ", 1)[0] for one in given]
            if others := said.removeprefix("other than ") != said:
                wanted = [v not in said.removeprefix("other than ").split(" or ") for v in values]
            elif said[0].isupper():
                wanted = [value in said.split(" or ") for value in values]
            else:
                wanted = [in_range(said, number(value)) for value in values]
            assert kept.split(" | ") == [
                g for g, is_kept in zip(given, wanted, strict=True) if is_kept
            ]
            seen.add((others, said.split(" ")[0] if said[0].islower() else said[0].isupper()))
            seen.add((others, " to " in said))
    assert 15 < rows < 45
    assert {(True, "other"), (False, True), (False, "from"), (False, "up")} < seen


def test_words_of_a_tokenizer_are_sorted_too(tmp_path: Path, made: list[Example]) -> None:
    write_jsonl(tmp_path / "train.jsonl", [one.to_json() for one in made])
    vocabulary = {f"{space}{word}": place for place, (space, word) in enumerate(WORDS)}
    Tokenizer(WordLevel(vocabulary, unk_token="x")).save(str(tmp_path / "tokenizer.json"))
    out = tmp_path / "exercises.jsonl"
    values = {"source": str(tmp_path), "n": 60, "names": 1, "out": str(out)}
    make_exercises(Exercises(**values))
    assert not re.search("Quagga|Zebu", out.read_text("utf-8"))
    make_exercises(Exercises(**values, tokenizer=str(tmp_path)))
    text = out.read_text("utf-8")
    assert re.search("Quagga", text) and re.search("Zebu", text)
    assert not re.search("Inside|Xlower", text)
    with pytest.raises(TablemendError, match=r"tokenizer: there is no .*/no/tokenizer.json"):
        make_exercises(Exercises(**values, tokenizer=str(tmp_path / "no")))
    Tokenizer(WordLevel({"Quagga": 0}, unk_token="Quagga")).save(str(tmp_path / "tokenizer.json"))
    with pytest.raises(TablemendError, match="has no words behind a space"):
        make_exercises(Exercises(**values, tokenizer=str(tmp_path)))
    (tmp_path / "tokenizer.json").write_text("{broken")
    with pytest.raises(TablemendError, match=r"tokenizer: .*/tokenizer.json cannot be read"):
        make_exercises(Exercises(**values, tokenizer=str(tmp_path)))


def test_the_thought_ends_with_the_rows_in_order(made: list[Example]) -> None:
    for example in made:
        quoted, sorted_ = (
            target(example, "adversarial", thinking) for thinking in ("quote", "quote-then-sort")
        )
        if not example.gold_table.rows:  # nothing to quote, nothing to sort
            assert sorted_ == quoted
            continue
        thought, table = sorted_.split("\n</think>")
        thought, line = thought.rsplit("\n", 1)
        assert f"{thought}\n</think>{table}" == quoted
        column, order = example.constraints.sort_column, example.constraints.sort_order
        head, rows = line.split(": ", 1)
        assert head == f"{column}, {order}"
        cells = example.gold_table.column(column)
        for row, cell, gold in zip(rows.split(" | "), cells, example.gold_table.rows, strict=True):
            assert row == (gold[0] if cell in (None, gold[0]) else f"{cell} {gold[0]}")


def test_a_set_that_is_not_there_or_too_small_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_script("benchmarks/exercises.py", [f"source={tmp_path}/none"], monkeypatch) == 2
    assert "(python data_gen/tablehallu.py" in capsys.readouterr().err
    (tmp_path / "train.jsonl").write_text('{"a": 1}\n')
    assert run_script("benchmarks/exercises.py", [f"source={tmp_path}"], monkeypatch) == 2
    assert "train.jsonl: record 1 is no tablemend example" in capsys.readouterr().err
    write_jsonl(tmp_path / "train.jsonl", [small_world.example(seed=1, index=0).to_json()])
    words = {f"Ġ{letter}word": place for place, letter in enumerate("ABCDEFGx")}
    Tokenizer(WordLevel(words, unk_token="Ġxword")).save(str(tmp_path / "tokenizer.json"))
    for tokenizer in (None, str(tmp_path)):
        with pytest.raises(TablemendError, match="no table names 6 rows: give a larger set"):
            make_exercises(
                Exercises(source=str(tmp_path), tokenizer=tokenizer, out=str(tmp_path / "out"))
            )
