"""Where the engine's tables come from: records, files that are bad, data sets of the Hub."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import datasets
import pytest

from tablemend.config import ConfigError, parse
from tablemend.datasets.source_tables.sources import UNKNOWN, domain_of, make_table, open_source
from tablemend.errors import TablemendError
from tablemend.tables.jsontable import find_table
from tablemend.tables.read import write_table
from tablemend.tables.table import TableError
from tablemend.tasks.tablehallu.engine import SkippedTable, examples, find_tables
from tablemend.tasks.tablehallu.settings import Synthesis

TABLE = make_table(0, 0).table


def settings(*tokens: str) -> Synthesis:
    return parse(Synthesis, tokens)


@pytest.mark.parametrize(
    "record",
    [
        {"header": ["a", "b"], "rows": [["1", "2"]], "headers": "Section"},
        {"table": [["a", "b"], ["1", "2"]]},
        {"table": {"uid": "x", "table": [["a", "b"], [1, 2]]}},
        {"table": {"columns": ["a", "b"], "data": [[1, 2]]}},
        {"table_array": [["a", "b"], ["1", "2"]]},
        {"table_column_names": ["a", "b"], "table_content_values": [["1", "2"]]},
        {"table": {"title": "T", "texts": [["a", "b"], ["1", "2"]]}},
        {"table_html": "<table><tr><th>a<th>b<tr><td>1<td>2</table>"},
        {"raw_table": "<TABLE>\n<S>  <C>\na    b\n1    2\n</TABLE>"},
        {"table": [[{"value": "a"}, {"value": "b"}], [{"value": "1"}, {"value": "2"}]]},
        [{"a": 1, "b": 2}],
        {"data": [{"a": "1", "b": "2"}]},
    ],
)
def test_tables_are_found_in_records_of_any_shape(record: Any) -> None:
    table = find_table(record)
    assert (table.columns, table.rows) == (("a", "b"), (("1", "2"),))


@pytest.mark.parametrize(
    ("record", "reason"),
    [
        ({"text": "no table"}, "no table"),
        (7, "no table"),
        ({"table": [["a", "b"], ["1"]]}, "ragged: row 1 has 1 cells"),
        ({"table": [["a", "b"], [["x"], "2"]]}, "neither text nor number"),
    ],
)
def test_a_record_without_a_table_says_why(record: Any, reason: str) -> None:
    with pytest.raises(TableError, match=reason):
        find_table(record)


def test_bad_input_is_reported_per_file_and_passed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    good = write_table(TABLE, "csv")
    files = {
        "good.csv": good,
        "copy.csv": good,
        "ragged.csv": "a,b\n1,2,3\n",
        "narrow.csv": "a\n1\n2\n",
        "empty.csv": "",
        "twice.csv": "a,a,b,c\n" + "x,y,z,w\n" * 6,
        "flat.csv": "name,b,c,d\n" + "".join(f"Unit {c},same,same,same\n" for c in "abcdefgh"),
        "broken.jsonl": '{"header": ["a"\n\n[]\n',
        "deep.jsonl": '{"table": ' + "[" * 100_000 + "]" * 100_000 + "}\n",
        "surrogate.jsonl": json.dumps({"table": [["a", "b"], ["\ud800", "x"]]}) + "\n",
        "locked.csv": good,
        "locked.jsonl": "{}\n",
    }
    for name, text in files.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    (tmp_path / "latin.csv").write_bytes(b"a,b\n\xe9,1\n")
    (tmp_path / "dangling.csv").symlink_to(tmp_path / "nowhere")
    (tmp_path / "loop.jsonl").symlink_to(tmp_path / "loop.jsonl")
    (tmp_path / "folder.csv").mkdir()
    os.mkfifo(tmp_path / "pipe.csv")
    open_path = Path.open

    def locked(path: Path, *args: Any, **options: Any) -> Any:  # a superuser may read everything
        if path.stem == "locked":
            raise PermissionError(13, "Permission denied", str(path))
        return open_path(path, *args, **options)

    monkeypatch.setattr(Path, "open", locked)
    wanted = settings(f"source={tmp_path}")
    usable, passed_over = find_tables(open_source(wanted.source, wanted, wanted.seed), wanted)
    skipped = {entry.where: entry.reason for entry in passed_over}
    assert len(usable) == 1
    assert skipped.keys() == {
        "good.csv", "ragged.csv", "narrow.csv", "empty.csv", "twice.csv", "flat.csv", "latin.csv",
        "broken.jsonl:1", "broken.jsonl:3", "deep.jsonl:1", "surrogate.jsonl:1", "locked.csv",
        "locked.jsonl", "dangling.csv", "loop.jsonl", "folder.csv", "pipe.csv",
    }  # fmt: skip
    assert skipped["good.csv"] == "the same table as an earlier one"
    assert "cells" in skipped["ragged.csv"]
    assert skipped["narrow.csv"] == "only one column"
    assert skipped["latin.csv"] == "not UTF-8 text (byte 4); save it as UTF-8"
    assert skipped["broken.jsonl:1"] == "not a line of JSON"
    assert skipped["deep.jsonl:1"] == "nested too deeply"
    assert "U+D800" in skipped["surrogate.jsonl:1"]
    assert skipped["locked.csv"] == "cannot be read (Permission denied)"
    assert skipped["locked.jsonl"] == "not readable: Permission denied"
    assert skipped["dangling.csv"] == skipped["loop.jsonl"] == "a link to nothing"
    assert skipped["folder.csv"] == skipped["pipe.csv"] == "not a regular file"


def test_every_table_of_a_page_is_one_of_the_source(tmp_path: Path) -> None:
    (tmp_path / "page.html").write_text(write_table(TABLE, "html") * 2 + "<table><tr>", "utf-8")
    (tmp_path / "one.html").write_text(write_table(TABLE, "html"), encoding="utf-8")
    (tmp_path / "three.html").write_text(write_table(TABLE, "html") * 3, encoding="utf-8")
    source = open_source(str(tmp_path), settings())
    places = list(source.places())
    assert [place.where for place in places] == [
        "one.html", "page.html", "three.html#1", "three.html#2", "three.html#3",
    ]  # fmt: skip
    with pytest.raises(TableError, match=r"^the HTML table is cut off$"):
        source.read(places[1])
    assert source.read(places[4]).table.rows == TABLE.rows


@pytest.mark.parametrize(
    ("title", "columns", "domain"),
    [
        ("Electoral district of Hammond", ("Party", "Candidate", "Votes"), "History & Politics"),
        ("", ("Year", "Film", "Role", "Notes"), "Arts & Entertainment"),
        ("1930 Rome Grand Prix", ("No", "Drivers", "Engine"), "Sports & Leisure"),
        ("Mudanjiang", ("Name", "Hanzi"), UNKNOWN),
        ("", ("Film", "River"), UNKNOWN),  # two domains have as many words
    ],
)
def test_words_of_title_and_header_give_the_domain(
    title: str, columns: tuple[str, ...], domain: str
) -> None:
    assert domain_of(title, columns)[1] == domain


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Any, ...]]:
    """The calls to a ``load_dataset`` that gives a small local data set."""
    calls: list[tuple[Any, ...]] = []
    rows = [
        {"table": {"header": list(TABLE.columns), "rows": [list(r) for r in TABLE.rows]}},
        {"table": {"header": ["a"], "rows": [["1"]]}},
    ]

    def load(name: str, config: str | None = None, **options: Any) -> datasets.Dataset:
        calls.append((name, config, options))
        if name == "nobody/nothing":
            raise datasets.exceptions.DatasetNotFoundError("no such data set\nand more")
        if config == "nameless":
            raise ValueError
        return datasets.Dataset.from_list(rows)

    monkeypatch.setattr(datasets, "load_dataset", load)
    return calls


def test_a_data_set_of_the_hub_is_a_source(hub: list[tuple[Any, ...]]) -> None:
    wanted = settings(
        "source=hub:owner/ships", "n=4", "dataset_split=test", "dataset_config=old",
        "dataset_revision=abc123",
    )  # fmt: skip
    source = open_source(wanted.source, wanted, wanted.seed)
    assert hub == [("owner/ships", "old", {"split": "test", "revision": "abc123"})]
    assert find_tables(source, wanted)[1] == [SkippedTable("owner/ships:2", "only one column")]
    made = list(examples(wanted))
    assert len(made) == 4
    assert {(e.source, e.domain) for e in made} == {("owner/ships:1", "Technology & Business")}


def test_a_data_set_that_does_not_load_is_refused_in_one_line(hub: list[tuple[Any, ...]]) -> None:
    with pytest.raises(TablemendError, match=r"^source=hub:nobody/nothing, .*: no such data set$"):
        open_source("hub:nobody/nothing", settings())
    with pytest.raises(TablemendError, match=r"ValueError$"):
        open_source(
            "hub:owner/ships", settings("source=hub:owner/ships", "dataset_config=nameless")
        )
    with pytest.raises(ConfigError, match="dataset_revision: only a `hub:` source has one"):
        settings("source=pool", "dataset_revision=abc123")
