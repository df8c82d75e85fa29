"""The published figures are whole, and add up where the papers' do."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

from tablemend.reproduction.papers import (
    PAPERS,
    PublishedTable,
    items_file,
    paper_of,
    published,
)
from tablemend.reproduction.writing import tables_of_page

ROOT = Path(__file__).parents[3]
CELLS = {  # rows and columns of every table and figure, as in the papers
    "tablehallu": {
        **{"table 1": (14, 7), "table 2": (6, 3), "table 3": (9, 3), "table 4": (5, 3)},
        **{"figure 3": (1, 4), "figure 4": (2, 2), "figure 5": (3, 2), "figure 6": (0, 0)},
        **{"figure 7": (1, 1), "figure 8": (2, 1), "figure 9": (3, 1)},
    },
    "tabfaith": {
        **{"table 1": (6, 4), "table 2": (6, 2), "table 3": (6, 6), "figure 1": (2, 2)},
        **{"figure 2": (3, 1), "figure 3": (5, 1), "section C": (4, 1), "section 5": (2, 1)},
    },
    "faith": {"table 1": (5, 3), "table 2": (5, 2), "table 3": (16, 14)},
    "torr": {
        **{"table 2": (14, 12), "figure 3": (0, 0), "figure 4": (2, 2), "figure 5": (0, 0)},
        "section 4": (3, 1),
    },
}


def places(paper: str) -> list[str]:
    return list(dict.fromkeys(one.place for one in published(paper)[1]))


def only(paper: str, place: str) -> PublishedTable:
    (found,) = [one for one in published(paper)[1] if one.place == place]
    return found


def column(table: PublishedTable, name: str) -> dict[str, float]:
    return {row: float(value) for row, col, value in table.cells() if col == name}


@pytest.mark.parametrize("paper", CELLS)
def test_every_table_has_all_its_cells(paper: str) -> None:
    assert places(paper) == list(CELLS[paper])
    for place, (rows, columns) in CELLS[paper].items():
        assert len(list(only(paper, place).cells())) == rows * columns, place
        assert len(only(paper, place).rows or {}) == rows


def test_the_logical_annotation_has_the_tables_of_its_own_task() -> None:
    found = places("logic-annotation")
    assert {f"table {number}" for number in (4, 5, 6, 7, 11, 12, 13)} <= set(found)


@pytest.mark.parametrize("paper", PAPERS)
def test_every_published_place_is_made_again(paper: str) -> None:
    assert set(places(paper)) - {"table 14"} == set(paper_of(paper).items)


def test_averages_are_those_of_the_rows() -> None:
    table = only("tablehallu", "table 1")
    for name in table.head[1:]:
        values = column(table, name)
        average = values.pop("Avg.")
        assert sum(values.values()) / 13 == pytest.approx(average, abs=0.011), name
    table = only("tabfaith", "table 3")
    for name in table.head[1:]:
        values = column(table, name)
        average = values.pop("Average")
        assert sum(values.values()) / 5 == pytest.approx(average, abs=0.0011), name


def test_the_same_model_has_the_same_rates_in_two_tables() -> None:
    one, other = only("tablehallu", "table 2"), only("tablehallu", "table 4")
    assert (one.rows or {})["Qwen3-8B, thinking on"] == (other.rows or {})["Base"]
    total = column(only("tablehallu", "table 1"), "TotalHallu")
    assert total["Qwen3-32B"] == column(one, "Total Hallu")["Qwen3-32B, thinking on"]


def test_sums_and_gains_add_up() -> None:
    table = only("tabfaith", "table 1")
    for name in ("ToTTo", "TabSum-Ent", "Total"):
        values = column(table, name)
        assert values.pop("Total") == sum(values.values())
    for a, b, total, _ in list((table.rows or {}).values()):
        assert float(a) + float(b) == float(total)  # type: ignore[arg-type]
    for values in (only("tabfaith", "table 3").rows or {}).values():
        base, cave, gain, base_2, cave_2, gain_2 = (float(one) for one in values)  # type: ignore[arg-type]
        assert cave - base == pytest.approx(gain, abs=0.0011)
        assert cave_2 - base_2 == pytest.approx(gain_2, abs=0.0011)
    for yes, no, total in (only("faith", "table 1").rows or {}).values():
        assert float(yes) + float(no) == float(total)  # type: ignore[arg-type]


def test_torrs_performance_is_the_mean_of_the_sets() -> None:
    for label, (p, _, *sets) in (only("torr", "table 2").rows or {}).items():
        assert len(sets) == 10
        mean = sum(float(one) for one in sets) / 10  # type: ignore[arg-type]
        assert mean == pytest.approx(float(p), abs=0.0101), label  # type: ignore[arg-type]


def test_every_published_model_says_what_it_needs() -> None:
    for paper, place in (("tablehallu", "table 1"), ("faith", "table 3"), ("torr", "table 2")):
        labels = {label.partition(",")[0] for label in only(paper, place).rows or {}}
        assert labels - {"Avg."} <= items_file()["models"].keys()


def test_data_commands_are_valid(monkeypatch: pytest.MonkeyPatch) -> None:
    from tablemend.config import parse
    from tablemend.tasks.faith.data import FaithSet
    from tablemend.tasks.tabfaith.data import TabFaith
    from tablemend.tasks.tablehallu.settings import Synthesis
    from tablemend.tasks.torr.data import TorrSet

    monkeypatch.chdir(ROOT)
    kinds = {"tablehallu": Synthesis, "tabfaith": TabFaith, "faith": FaithSet, "torr": TorrSet}
    for folder, (script, *settings) in items_file()["data"].items():
        config = parse(kinds[script], [*settings, f"out={folder}"])  # type: ignore[type-var]
        assert config.out == folder  # type: ignore[attr-defined]
        assert (ROOT / "data_gen" / f"{script}.py").is_file()


MEASURED = yaml.safe_load((ROOT / "results" / "reproduced.yaml").read_text(encoding="utf-8"))


def test_the_page_is_what_the_data_make_of_it() -> None:
    text = (ROOT / "results" / "reproduced.md").read_text(encoding="utf-8")
    for paper, made in tables_of_page(MEASURED).items():
        assert f"<!-- figures: {paper} -->\n\n{made}\n\n<!-- end -->" in text, (
            "write it again: python eval/reproduce.py page=results/reproduced.md"
        )


def test_what_is_said_to_be_measured_stands_on_the_page_that_is_named() -> None:
    for paper, found in MEASURED.items():
        for place, own in found.items():
            assert place in paper_of(paper).items
            page = (ROOT / own["page"]).read_text(encoding="utf-8").replace(",", "")
            for number in re.findall(
                r"(?<![\w-])\d+(?:\.\d+)?(?![\w-])", own["ours"].replace(",", "")
            ):
                assert re.search(rf"(?<![\d.]){re.escape(number)}(?!\d)", page), (place, number)
