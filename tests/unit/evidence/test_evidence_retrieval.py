"""The cells and sentences that have most to do with a claim."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Callable
from typing import Any

from tablemend.evidence.source import Source, retrieve_cells, retrieve_sentences
from tablemend.tables.table import Table

CLUBS = Table.of(
    ["Club", "Points", "Attendance"],
    [["Lions", "41", "12,500"], ["Bears", "38", "9,800"], ["Wolves", "41", "-"]],
)
SALES = Table.of(["", "2019", "2018"], [["Software", "120824", "98500"]], "(in millions)")
TEXT = "The Lions won the league. Bears drew 9,800 people a match. Dr. Venn coached them."


def test_a_cell_is_found_by_its_row_and_its_column() -> None:
    found = retrieve_cells("The Bears scored 40 points.", Source((CLUBS,)))
    assert (found[0].row, found[0].column) == (1, 1)
    assert found[0].text == 'Row "Bears", Column "Points": 38'
    assert len(found) == 3


def test_a_number_is_found_in_another_scale() -> None:
    best = retrieve_cells("It came to $120.8 billion.", Source((CLUBS, SALES)))[0]
    assert (best.table, best.row, best.column) == (1, 0, 1)


def test_blanks_are_no_evidence_and_nothing_is_found_for_foreign_words() -> None:
    source = Source((CLUBS,))
    assert all(cell.text[-1] != "-" for cell in retrieve_cells("Wolves attendance", source, 9))
    assert retrieve_cells("Quarterly churn fell.", source) == ()
    assert retrieve_cells("", source) == ()
    assert retrieve_cells("Lions", source, 0) == ()


def test_sources_with_fewer_cells_than_are_asked_for() -> None:
    assert len(retrieve_cells("x 1", Source((Table.of(["x"], [["1"]]),)), 3)) == 1
    assert retrieve_cells("x", Source((Table.of(["x"], []),))) == ()
    assert retrieve_cells("x", Source()) == retrieve_sentences("x", Source()) == ()


def test_sentences_have_their_place() -> None:
    (best, *_) = retrieve_sentences("Attendance of the Bears: 9800", Source(text=TEXT))
    assert best.start is not None and best.table is None
    assert TEXT[best.start : best.end] == best.text == "Bears drew 9,800 people a match."


def test_equal_scores_come_in_the_tables_order() -> None:
    table = Table.of(["a", "b"], [["name", "5"]] * 30)
    assert [cell.row for cell in retrieve_cells("it was 5", Source((table,)))] == [0, 1, 2]


def test_retrieval_prints_nothing_and_the_library_is_loaded_at_first_use() -> None:
    program = (
        "import sys\n"
        "from tablemend.evidence.source import retrieve_cells\n"
        "from tablemend.evidence.source import Source\n"
        "from tablemend.tables.table import Table\n"
        "assert 'bm25s' not in sys.modules\n"
        "source = Source((Table.of(['b'], [['x'], ['y']]),))\n"
        "assert len(retrieve_cells('b x', source, 5)) == 2\n"
    )
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (run.returncode, run.stdout, run.stderr) == (0, "", "")


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
                found = retrieve_cells(item["sub_sentence"], source)
                hits += any(((cell.row or 0) + 1, cell.column) in wanted for cell in found)
                total += 1
    assert total > 80
    assert hits > 0.78 * total
