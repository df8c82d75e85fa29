"""The cells and sentences that have most to do with a claim."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from tablemend.evidence.source import Source
from tablemend.tables.table import Table

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
