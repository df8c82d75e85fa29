"""Nearly the same kernels, found on disk."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from random import Random

import pytest

from tablemend.datasets.tablehallu.names import invent_word
from tablemend.datasets.tablehallu_llm.duplicates import THRESHOLD, KernelIndex, likeness
from tablemend.errors import FULL_DISK, TablemendError
from tablemend.tables.table import Table
from tests.support.files import file_size_limit
from tests.support.llm_kernels import CASES

TABLES = [case.draft.table for case in CASES]
FERRIES = TABLES[0]


def with_rows(table: Table, rows: list[list[str | None]]) -> Table:
    return Table.of(table.columns, rows)


def edits(table: Table, rng: Random) -> dict[str, Table]:
    """What a second draw of one kernel looks like."""
    rows = [list(row) for row in table.rows]
    one = [list(row) for row in rows]
    one[rng.randrange(len(one))][rng.randrange(1, len(table.columns))] = "Quorvex"
    blank = [list(row) for row in rows]
    blank[rng.randrange(len(blank))][rng.randrange(1, len(table.columns))] = None
    order = list(range(len(table.columns)))
    rng.shuffle(order)
    return {
        "the same": table,
        "one cell changed": with_rows(table, one),
        "one cell emptied": with_rows(table, blank),
        "rows reordered": with_rows(table, rows[::-1]),
        "column renamed": Table.of(("Name", *table.columns[1:]), rows),
        "columns reordered": Table.of(
            [table.columns[i] for i in order], [[row[i] for i in order] for row in rows]
        ),
        "row left out": with_rows(table, rows[:-1]),
        "spelled otherwise": with_rows(
            table, [[cell and cell.upper().replace(",", "") for cell in row] for row in rows]
        ),
    }


def others(table: Table, rng: Random) -> dict[str, Table]:
    """Tables of the same topic that are not the same."""
    renamed = [[invent_word(rng), *row[1:]] for row in table.rows]
    fresh = [
        [row[0], *(cell and f"{rng.randrange(9000)}" for cell in row[1:])] for row in table.rows
    ]
    half = [
        [invent_word(rng), *(f"{rng.randrange(9000)}" for _ in row[1:])] if i % 2 else list(row)
        for i, row in enumerate(table.rows)
    ]
    return {
        "other entities and values": with_rows(
            table, [[*name[:1], *row[1:]] for name, row in zip(renamed, fresh, strict=True)]
        ),
        "same entities, other values": with_rows(table, fresh),
        "half of the rows": with_rows(table, half),
    }


@pytest.mark.parametrize("number", range(len(TABLES)))
def test_edits_are_found_and_others_are_not(number: int, tmp_path: Path) -> None:
    rng = Random(number)
    with KernelIndex(tmp_path / "kernels") as index:
        for place, table in enumerate(TABLES):
            assert index.add_or_find(f"kernel {place}", table) is None
        for name, table in edits(TABLES[number], rng).items():
            found = index.add_or_find(f"{name} of {number}", table)
            assert found == f"kernel {number}", name
        for name, table in others(TABLES[number], rng).items():
            assert index.add_or_find(f"{name} of {number}", table) is None, name


def test_the_most_similar_earlier_kernel_is_named(tmp_path: Path) -> None:
    rows = [list(row) for row in FERRIES.rows]
    far = [[*row[:3], f"Port {number}", *row[4:]] for number, row in enumerate(rows)]
    near = [list(row) for row in rows]
    near[0][4] = "451"
    with KernelIndex(tmp_path / "kernels") as index:
        assert index.add_or_find("far", with_rows(FERRIES, far)) is None
        assert likeness(with_rows(FERRIES, far), with_rows(FERRIES, near)) < THRESHOLD
        assert index.add_or_find("near", with_rows(FERRIES, near)) is None
        assert index.add_or_find("again", FERRIES) == "near"


def test_an_index_goes_on_where_it_was_closed(tmp_path: Path) -> None:
    path = tmp_path / "kernels"
    with KernelIndex(path) as index:
        assert index.add_or_find("a", FERRIES) is None
        assert index.add_or_find("a", FERRIES) is None
    with KernelIndex(path) as index:
        assert index.add_or_find("b", FERRIES) == "a"
        assert index.add_or_find("c", TABLES[1]) is None
    assert list(tmp_path.iterdir()) == [path]


def test_a_table_without_values_is_nobodys_duplicate(tmp_path: Path) -> None:
    empty = Table.of(["A", "B"], [[None, None]])
    single = Table.of(["A", "B"], [["x", None]])
    with KernelIndex(tmp_path / "kernels") as index:
        assert [index.add_or_find(id, empty) for id in "ab"] == [None, None]
        assert [index.add_or_find(id, single) for id in "cd"] == [None, "c"]


def test_the_same_is_found_on_every_run(tmp_path: Path) -> None:
    """Hashing must not depend on the process."""
    program = (
        "import tablemend.datasets.tablehallu_llm.duplicates as d\n"
        "from tablemend.tables.table import Table\n"
        "t = Table.of(['A', 'B', 'C'], [[f'{i}{j}x' for j in range(3)] for i in range(4)])\n"
        "print(d._hash_bands(d._hash_pairs(t))[:3])"
    )
    said = {
        subprocess.run(
            [sys.executable, "-c", program],
            env={"PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(said) == 1 and "[" in said.pop()


def test_a_file_of_something_else_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "kernels"
    path.write_text("not a database, but long enough to be taken for one\n" * 20)
    with pytest.raises(TablemendError, match=r"kernels cannot be used .*: delete it"):
        KernelIndex(path)


def test_a_full_disk_is_called_one(tmp_path: Path) -> None:
    index = KernelIndex(tmp_path / "kernels")
    rng = Random(1)
    with file_size_limit(64 * 1024), pytest.raises(OSError) as caught:
        for number in range(5000):
            rows = [[invent_word(rng) for _ in range(6)] for _ in range(6)]
            index.add_or_find(str(number), Table.of(list("abcdef"), rows))
        index.close()
    assert caught.value.errno in FULL_DISK
