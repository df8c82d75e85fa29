"""Sources: of tables, JSON documents, lists and prose in files; and what is found in them."""

from __future__ import annotations

import ast
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tablemend.errors import TablemendError
from tablemend.evidence.files import MAX_DEPTH, document_tables, load_source, read_source
from tablemend.evidence.source import Source
from tablemend.tables.table import Table

MATCH = {
    "league": {"id": 72, "name": "Serie B", "logo": "https://example.org/72.png"},
    "homeTeam": {"name": "Brusque", "id": 1},
    "awayTeam": {"name": "Mirassol", "id": 2},
    "goals": {"home": 3, "away": 1},
    "score": {"halftime": {"home": 1, "away": 0}, "extratime": {"home": None, "away": None}},
    "startTimestamp": 1701189000,
    "kickoff": "2024-04-24T17:30:00+00:00",
    "events": [
        {"time": {"elapsed": 8}, "player": {"id": 9, "name": "Rodolfo"}, "detail": "Goal"},
        {"time": {"elapsed": 38, "extra": 2}, "player": {"name": "Alex"}, "detail": "Card"},
    ],
}
PHONE = {
    "name": "XP6",
    "specs": [
        {"category": "Body", "entries": [{"name": "Weight", "value": "270 g"}]},
        {"category": "Sound", "entries": [{"name": "Jack", "value": "Yes"}, {"name": "FM"}]},
    ],
    "colors": ["black", "red"],
}
WEATHER = {
    "city": {"name": "Hof", "country": "DE"},
    "units": {"temp": "°C", "wind": "m/s"},
    "list": [
        {"main": {"temp": 6.39}, "weather": [{"main": "Rain"}], "wind": {"speed": 8.1, "deg": 75}},
        {"main": {"temp": 5.71}, "weather": [{"main": "Snow"}], "wind": {"speed": 8.0, "deg": 70}},
    ],
}


def named(tables: tuple[Table, ...]) -> dict[tuple[str, ...], tuple[Any, ...]]:
    return {table.columns: table.rows for table in tables}


def test_the_two_sides_of_a_match_are_the_rows_of_one_table() -> None:
    lone, sides, events = document_tables(MATCH)
    assert sides.columns == ("team name", "side", "goals", "score halftime")
    assert sides.rows == (("Brusque", "home", "3", "1"), ("Mirassol", "away", "1", "0"))
    assert lone.rows == (
        ("league name", "Serie B"),
        ("kickoff", "2024-04-24"),
        ("kickoff time", "17:30"),
    )
    assert events.columns == ("time elapsed", "player name", "detail", "time extra")
    assert events.rows[1] == ("38", "Alex", "Card", "2")
    assert events.title == "Serie B: events"


def test_lists_in_lists_begin_with_what_names_their_row() -> None:
    tables = named(document_tables(PHONE))
    assert tables[("attribute", "value")] == (("name", "XP6"), ("colors", "black; red"))
    assert tables[("specs category", "name", "value")] == (
        ("Body", "Weight", "270 g"),
        ("Sound", "Jack", "Yes"),
        ("Sound", "FM", None),
    )


def test_units_of_the_document_stand_in_the_headers() -> None:
    _, forecast = document_tables(WEATHER)
    assert forecast.columns == ("main temp (°C)", "weather main", "wind speed (m/s)", "wind deg")
    assert forecast.rows[0] == ("6.39", "Rain", "8.1", "75")


def test_objects_of_one_shape_are_rows() -> None:
    (table,) = document_tables({"north": {"sales": 5, "staff": 2}, "south": {"sales": 6}})
    assert table.columns == ("", "sales", "staff")
    assert table.rows == (("north", "5", "2"), ("south", "6", None))


@pytest.mark.parametrize(
    ("data", "columns", "rows"),
    [
        ([{"a": 1}, {"b": True}], ("a", "b"), (("1", None), (None, "true"))),
        ([["x", 1], ["y", 2]], ("1", "2"), (("x", "1"), ("y", "2"))),
        (["x", "y"], ("attribute", "value"), (("value", "x; y"),)),
        ({"a": {"b": {"c": 1.5}}}, ("attribute", "value"), (("a b c", "1.5"),)),
    ],
)
def test_small_documents(data: Any, columns: tuple[str, ...], rows: tuple[Any, ...]) -> None:
    (table,) = document_tables(data)
    assert (table.columns, table.rows) == (columns, rows)


@pytest.mark.parametrize("data", [{}, [], 5, {"a": None}, {"id": 3}, {"a": []}])
def test_documents_without_a_value_are_refused(data: Any) -> None:
    with pytest.raises(TablemendError, match="JSON document"):
        document_tables(data)


def test_a_document_nested_too_deeply_is_refused() -> None:
    data: dict[str, Any] = {"x": 1}
    for _ in range(MAX_DEPTH + 5):
        data = {"a": data}
    for shape in (data, [data, data]):
        with pytest.raises(TablemendError, match="deeper"):
            document_tables(shape)


def _values(data: Any) -> set[str]:
    if isinstance(data, dict):
        return set().union(*map(_values, data.values())) if data else set()
    if isinstance(data, list):
        return set().union(*map(_values, data)) if data else set()
    return {" ".join(str(data).split())} if data not in (None, "") else set()


def test_nothing_of_real_documents_is_lost_but_identifiers_and_links(
    shared_data: Callable[[str], list[dict[str, Any]]],
) -> None:
    domains = set()
    for record in shared_data("d2t_span_annotation")[::3]:
        domains.add(record["domain"])
        tables = document_tables(record["data"])
        cells = {cell for table in tables for row in table.rows for cell in row if cell}
        joined = " ".join(sorted(cells))
        lost = {
            value
            for value in _values(record["data"])
            if value not in joined
            and not value.startswith("http")
            and value not in ("True", "False")
        }
        # What is left are identifiers, time stamps, and moments that were parted in two.
        assert all(
            value.isdigit() or "T" in value or ":" in value or "_" in value for value in lost
        )
    assert len(domains) == 3


def test_comment_lines_above_csv_state_title_and_unit() -> None:
    text = "# country: Denmark\n# title: Tests\n# unit: people\ndate,value\n2020-12-18,5\n"
    (table,) = read_source(text).tables
    assert table.title == "Tests. country: Denmark"
    assert table.columns == ("date", "Tests (people)")
    assert read_source("a,b\n1,2\n").tables[0].title == ""


def test_attribute_lists() -> None:
    (table,) = read_source("Ratlam State\n---\n- instance of: country\n- see: x: y\n").tables
    assert table.title == "Ratlam State"
    assert table.rows == (("instance of", "country"), ("see", "x: y"))


@pytest.mark.parametrize(
    ("name", "text", "tables", "prose"),
    [
        ("a.csv", "x,y\n1,2\n", 1, ""),
        ("a.tsv", "x\ty\n1\t2\n", 1, ""),
        ("a.json", '[{"x": 1.50}]', 1, ""),
        ("b.json", json.dumps(PHONE), 2, ""),
        ("a.jsonl", '{"x": {"y": 1}}\n\n{"x": {"y": 2}}\n', 1, ""),
        (
            "a.html",
            "<p>t</p><table><tr><td>x</td></tr></table><table><tr><td>y</td></table>",
            2,
            "",
        ),
        (
            "a.md",
            "Before.\n\n| x | y |\n|---|---|\n| 1 | 2 |\n\nAfter.\n",
            1,
            "Before.\n\n\n\nAfter.",
        ),
        ("b.md", "Only prose, no table.\n", 0, "Only prose, no table.\n"),
        ("a.txt", "The Lions won, 3 to 1.\n", 0, "The Lions won, 3 to 1.\n"),
        ("b.txt", "X\n- a: 1\n- b: 2\n", 1, ""),
        ("a", "x,y\n1,2\n", 1, ""),
    ],
)
def test_files(tmp_path: Path, name: str, text: str, tables: int, prose: str) -> None:
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    source = load_source(path)
    assert (len(source.tables), source.text) == (tables, prose)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.csv", b"", "the file is empty"),
        ("a.csv", b"x,y\n1,2,3\n", "CSV line 2 has 3 cells"),
        ("a.json", b'{"a": ', "JSON"),
        ("a.json", b"[]", "empty"),
        ("a.json", b"5", "single value"),
        ("a.jsonl", b'{"a": 1}\n{"a": \n', "the JSON cannot be read: Expecting value: line 1"),
        ("a.txt", b"\x00\x01", "binary"),
        ("a.html", b"<p>no table</p>", "no HTML table"),
        ("a.json", b"[" * 100_000, "nested too deeply"),
        ("a.json", rb'{"a": {"b": "x \ud800"}, "c": 1}', r"U\+D800, half of a pair"),
        ("a.json", rb'[{"a": "x \udc80"}]', r"U\+DC80, half of a pair"),
        ("a.jsonl", rb'{"a \ud800": 1}', r"U\+D800, half of a pair"),
    ],
)
def test_what_cannot_be_read_is_refused_in_one_line(
    tmp_path: Path, name: str, content: bytes, message: str
) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(TablemendError, match=message) as caught:
        load_source(path)
    assert str(caught.value).startswith(str(path)) and "\n" not in str(caught.value)


CLUBS = Table.of(
    ["Club", "Points", "Attendance"],
    [["Lions", "41", "12,500"], ["Bears", "38", "9,800"], ["Wolves", "41", "-"]],
)
SALES = Table.of(["", "2019", "2018"], [["Software", "120824", "98500"]], "(in millions)")
TEXT = "The Lions won the league. Bears drew 9,800 people a match. Dr. Venn coached them."


def test_a_cell_is_found_by_its_row_its_column_and_its_value_in_another_scale() -> None:
    source = Source((CLUBS, SALES))
    found = source.find_cells("The Bears scored 40 points.")
    assert (found[0].row, found[0].column, len(found)) == (1, 1, 3)
    assert found[0].text == 'Row "Bears", Column "Points": 38'
    best = source.find_cells("It came to $120.8 billion.")[0]
    assert (best.table, best.row, best.column) == (1, 0, 1)


def test_blanks_are_no_evidence_and_nothing_is_found_for_foreign_words() -> None:
    source = Source((CLUBS,))
    assert all(cell.text[-1] != "-" for cell in source.find_cells("Wolves attendance", 9))
    for statement, k in (("Quarterly churn fell.", 3), ("", 3), ("Lions", 0)):
        assert source.find_cells(statement, k) == []
    assert len(Source((Table.of(["x"], [["1"]]),)).find_cells("x 1")) == 1
    assert Source((Table.of(["x"], []),)).find_cells("x") == []
    assert Source().find_cells("x") == Source().find_sentences("x") == []


def test_sentences_have_their_place() -> None:
    (best, *_) = Source(text=TEXT).find_sentences("Attendance of the Bears: 9800")
    assert best.start is not None and best.table is None
    assert TEXT[best.start : best.end] == best.text == "Bears drew 9,800 people a match."


def test_equal_scores_come_in_the_tables_order() -> None:
    source = Source((Table.of(["a", "b"], [["name", "5"]] * 30),))
    assert [cell.row for cell in source.find_cells("it was 5")] == [0, 1, 2]


def test_people_linked_one_of_the_top_three_cells_in_most_sentences(
    shared_data: Callable[[str], list[dict[str, Any]]],
) -> None:
    hits = total = 0
    for record in shared_data("hitab")[:60]:
        texts = record["table"]["texts"]
        source = Source((Table.of(texts[0], texts[1:], record["table"]["title"]),))
        for item in record["items"]:
            links = item["linked_cells"]["quantity_link"].values()
            wanted = {ast.literal_eval(place) for cells in links for place in cells}
            if wanted:
                found = source.find_cells(item["sub_sentence"])
                hits += any(((cell.row or 0) + 1, cell.column) in wanted for cell in found)
                total += 1
    assert total > 80
    assert hits > 0.78 * total
